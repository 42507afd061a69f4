//! A scripted agent for tests: a small HTTP/1.1 server whose every byte the test decides.
//!
//! One handler answers all requests; what came in is kept to be looked at. Each answer closes its
//! connection. Free ports only.

#![allow(clippy::unwrap_used)] // a surprise in a helper ends the test
#![allow(dead_code)] // two test binaries use it, each another part

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A request as it came in. Header names are in lower case.
#[derive(Clone, Debug)]
pub struct Request {
    pub verb: String,
    pub path: String,
    pub query: String,
    pub headers: BTreeMap<String, String>,
    pub body: Value,
}

impl Request {
    /// The JSON-RPC method, empty for other requests.
    pub fn method(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }

    pub fn params(&self) -> &Value {
        &self.body["params"]
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

/// What the agent answers.
#[derive(Clone, Debug)]
pub struct Reply {
    head: String,
    /// Written and flushed one after the other.
    chunks: Vec<Vec<u8>>,
    /// Keep the connection open when all is written.
    hold: bool,
}

impl Reply {
    pub fn http(status: u16, headers: &[(&str, &str)], body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        let mut head = format!(
            "HTTP/1.1 {status} Mock\r\nContent-Length: {}\r\n",
            body.len()
        );
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        Self {
            head,
            chunks: vec![body],
            hold: false,
        }
    }

    pub fn json(status: u16, body: &Value) -> Self {
        Self::http(
            status,
            &[("Content-Type", "application/json")],
            body.to_string(),
        )
    }

    /// A JSON-RPC result.
    pub fn result(request: &Request, result: Value) -> Self {
        Self::json(
            200,
            &json!({"jsonrpc": "2.0", "id": request.body["id"], "result": result}),
        )
    }

    /// A JSON-RPC error with its `ErrorInfo`.
    pub fn error(request: &Request, code: i64, message: &str, reason: &str) -> Self {
        let info = json!({
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": reason, "domain": "a2a-protocol.org"
        });
        let error = json!({"code": code, "message": message, "data": [info]});
        Self::json(
            200,
            &json!({"jsonrpc": "2.0", "id": request.body["id"], "error": error}),
        )
    }

    /// A stream of these bytes, each chunk in its own packet, then the end of the connection.
    pub fn stream(chunks: Vec<Vec<u8>>) -> Self {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n".to_owned();
        Self {
            head,
            chunks,
            hold: false,
        }
    }

    /// A head, and then nothing for ever.
    pub fn silence() -> Self {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n".to_owned();
        Self {
            head,
            chunks: Vec::new(),
            hold: true,
        }
    }

    /// A stream of these events.
    pub fn events(request: &Request, events: &[Value]) -> Self {
        Self::stream(events.iter().map(|event| frame(request, event)).collect())
    }

    /// Keeps the connection open after the last byte.
    pub fn hold(self) -> Self {
        Self { hold: true, ..self }
    }

    pub fn not_found() -> Self {
        Self::json(404, &json!({"error": "not found"}))
    }
}

/// One SSE frame with a JSON-RPC result.
pub fn frame(request: &Request, event: &Value) -> Vec<u8> {
    let answer = json!({"jsonrpc": "2.0", "id": request.body["id"], "result": event});
    format!("data: {answer}\n\n").into_bytes()
}

type Handler = dyn Fn(&Request, &str) -> Reply + Send + Sync;

/// A running agent; it stops when it is dropped.
pub struct MockAgent {
    base: String,
    seen: Arc<Mutex<Vec<Request>>>,
    accepting: tokio::task::JoinHandle<()>,
}

impl Drop for MockAgent {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl MockAgent {
    /// Starts an agent on a free port of the loopback. The handler gets its base address.
    pub async fn start(handler: impl Fn(&Request, &str) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let handler: Arc<Handler> = Arc::new(handler);
        let accepting = tokio::spawn({
            let (base, seen) = (base.clone(), seen.clone());
            async move {
                while let Ok((stream, _)) = listener.accept().await {
                    let (base, seen, handler) = (base.clone(), seen.clone(), handler.clone());
                    tokio::spawn(async move { serve(stream, &base, &seen, &*handler).await });
                }
            }
        });
        Self {
            base,
            seen,
            accepting,
        }
    }

    /// An agent with the usual card; the handler answers its calls only.
    pub async fn with_card(
        card: impl Fn(&str) -> Value + Send + Sync + 'static,
        calls: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::start(
            move |request, base| match (request.verb.as_str(), request.path.as_str()) {
                ("GET", "/.well-known/agent-card.json") => Reply::json(200, &card(base)),
                ("POST", _) => calls(request),
                _ => Reply::not_found(),
            },
        )
        .await
    }

    pub fn base(&self) -> &str {
        &self.base
    }

    /// All requests so far.
    pub fn seen(&self) -> Vec<Request> {
        self.seen.lock().unwrap().clone()
    }

    /// The JSON-RPC calls so far.
    pub fn calls(&self) -> Vec<Request> {
        self.seen()
            .into_iter()
            .filter(|request| !request.method().is_empty())
            .collect()
    }
}

async fn serve(
    mut stream: TcpStream,
    base: &str,
    seen: &Mutex<Vec<Request>>,
    handler: &Handler,
) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let request = read_request(&mut stream).await?;
    seen.lock().unwrap().push(request.clone());
    let reply = handler(&request, base);
    stream
        .write_all(format!("{}Connection: close\r\n\r\n", reply.head).as_bytes())
        .await
        .ok()?;
    for chunk in reply.chunks {
        stream.write_all(&chunk).await.ok()?;
        stream.flush().await.ok()?;
        tokio::task::yield_now().await;
    }
    if reply.hold {
        // Until the other side goes.
        let _ = stream.read(&mut [0u8; 1]).await;
    }
    stream.shutdown().await.ok()
}

async fn read_request(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
        if !bytes[0].is_ascii_alphabetic() {
            // What servers of plain HTTP say to a TLS handshake.
            stream
                .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                .await
                .ok()?;
            return None;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
    let mut lines = head.lines();
    let mut words = lines.next()?.split(' ');
    let (verb, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length: usize = headers
        .get("content-length")
        .and_then(|it| it.parse().ok())
        .unwrap_or(0);
    let mut body = bytes.split_off(head_end + 4);
    while body.len() < length {
        if stream.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Some(Request {
        verb,
        path: path.to_owned(),
        query: query.to_owned(),
        headers,
        body,
    })
}

/// A 1.0 card whose one interface is `{base}/rpc`.
pub fn card(base: &str, streaming: bool) -> Value {
    json!({
        "name": "Mock", "description": "Answers as the test says", "version": "1.0.0",
        "supportedInterfaces": [
            {"url": format!("{base}/rpc"), "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        ],
        "capabilities": {"streaming": streaming},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "s", "name": "s", "description": "d", "tags": ["t"]}]
    })
}

/// A task in this state, with an artifact of this text unless it is empty.
pub fn task(state: &str, text: &str) -> Value {
    let mut task = json!({
        "id": "task-1", "contextId": "ctx-1", "status": {"state": format!("TASK_STATE_{state}")}
    });
    if !text.is_empty() {
        task["artifacts"] = json!([{"artifactId": "a", "parts": [{"text": text}]}]);
    }
    task
}

/// A status update of the same task.
pub fn status(state: &str) -> Value {
    json!({"statusUpdate": {
        "taskId": "task-1", "contextId": "ctx-1", "status": {"state": format!("TASK_STATE_{state}")}
    }})
}

/// A chunk of text of the same task's artifact.
pub fn chunk(text: &str, append: bool) -> Value {
    json!({"artifactUpdate": {
        "taskId": "task-1", "contextId": "ctx-1", "append": append,
        "artifact": {"artifactId": "a", "parts": [{"text": text}]}
    }})
}
