//! A service behind an agent, played by the test: it takes each request in turn and says what comes
//! back, at once or piece by piece.

use bytes::Bytes;
use futures_util::stream;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::io;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::rig::LIMIT;

type Response = http::Response<BoxBody<Bytes, io::Error>>;

pub struct Service {
    pub base: String,
    asked: mpsc::UnboundedReceiver<Asked>,
}

/// A request that waits for its answer. Dropped without one, its connection breaks off.
pub struct Asked {
    pub line: String,
    pub headers: http::HeaderMap,
    pub raw: Bytes,
    pub body: Value,
    answer: oneshot::Sender<Response>,
}

/// A stream of events that the test feeds. Dropped, it ends.
pub struct Feed(mpsc::Sender<Result<Bytes, io::Error>>);

impl Service {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let (tell, asked) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let tell = tell.clone();
                tokio::spawn(async move {
                    let service = service_fn(move |request| take(request, tell.clone()));
                    let http = hyper::server::conn::http1::Builder::new();
                    // Ends with an error where a test breaks a connection off.
                    let _ = http.serve_connection(TokioIo::new(socket), service).await;
                });
            }
        });
        Self { base, asked }
    }

    /// The next request.
    pub async fn next(&mut self) -> Asked {
        let asked = timeout(LIMIT, self.asked.recv()).await;
        asked.expect("nothing is asked").expect("it runs")
    }

    /// The next request, which must be this one.
    pub async fn expect(&mut self, line: &str) -> Asked {
        let asked = self.next().await;
        assert_eq!(asked.line, line, "{}", asked.body);
        asked
    }

    /// Whether nothing was asked that was not taken yet.
    pub fn is_quiet(&self) -> bool {
        self.asked.is_empty()
    }
}

async fn take(
    request: http::Request<Incoming>,
    tell: mpsc::UnboundedSender<Asked>,
) -> Result<Response, io::Error> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let (answer, answered) = oneshot::channel();
    let asked = Asked {
        line: format!("{} {}", head.method, head.uri.path()),
        headers: head.headers,
        body: serde_json::from_slice(&body).unwrap_or_default(),
        raw: body,
        answer,
    };
    tell.send(asked).map_err(io::Error::other)?;
    answered.await.map_err(io::Error::other)
}

impl Asked {
    pub fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.map_or("", |value| value.to_str().unwrap())
    }

    /// Whether nobody waits for the answer any longer.
    pub fn is_given_up(&self) -> bool {
        self.answer.is_closed()
    }

    /// Waits until nobody waits for the answer any longer.
    pub async fn given_up(&mut self) {
        let closed = timeout(LIMIT, self.answer.closed()).await;
        closed.expect("still waited for");
    }

    /// Answers with JSON.
    pub fn json(self, status: u16, body: &Value) {
        self.bytes(status, &[], body.to_string().into());
    }

    /// Answers with whatever it is.
    pub fn bytes(self, status: u16, headers: &[(&'static str, &str)], body: Bytes) {
        let body = Full::new(body).map_err(|never: Infallible| match never {});
        let mut response = http::Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(*name, *value);
        }
        // It fails when nobody waits any longer, which is then what the test is about.
        let _ = self.answer.send(response.body(body.boxed()).unwrap());
    }

    /// Begins a stream.
    pub fn stream(self) -> Feed {
        self.stream_with(&[])
    }

    /// The same with headers.
    pub fn stream_with(self, headers: &[(&'static str, &str)]) -> Feed {
        let (feed, pieces) = mpsc::channel(1);
        let pieces = stream::unfold(pieces, async |mut pieces| {
            let piece: Result<Bytes, io::Error> = pieces.recv().await?;
            Some((piece.map(Frame::data), pieces))
        });
        let mut response = http::Response::builder().header("content-type", "text/event-stream");
        for (name, value) in headers {
            response = response.header(*name, *value);
        }
        let body = BodyExt::boxed(StreamBody::new(Box::pin(pieces)));
        let _ = self.answer.send(response.body(body).unwrap());
        Feed(feed)
    }
}

impl Feed {
    /// Sends bytes as they are; false: nobody listens any longer.
    pub async fn raw(&self, bytes: impl Into<Bytes>) -> bool {
        self.0.send(Ok(bytes.into())).await.is_ok()
    }

    /// Sends an event with this data.
    pub async fn data(&self, data: &Value) {
        assert!(
            self.raw(format!("data: {data}\n\n")).await,
            "nobody listens"
        );
    }

    /// Sends an event of this name.
    pub async fn event(&self, name: &str, data: &Value) {
        let event = format!("event: {name}\ndata: {data}\n\n");
        assert!(self.raw(event).await, "nobody listens");
    }

    /// A chunk of a chat completion.
    pub async fn says(&self, text: &str) {
        let choice = json!({"index": 0, "delta": {"content": text}, "finish_reason": null});
        self.data(&json!({"choices": [choice]})).await;
    }

    /// Ends a chat completion well.
    pub async fn done(self) {
        self.finish("stop", json!({})).await;
    }

    /// Ends a chat completion with this reason and further members of its last chunk.
    pub async fn finish(self, reason: &str, members: Value) {
        let mut chunk = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
        let chunk_members = chunk.as_object_mut().unwrap();
        chunk_members.extend(members.as_object().unwrap().clone());
        self.data(&chunk).await;
        self.raw("data: [DONE]\n\n").await;
    }

    /// Breaks the connection off.
    pub async fn break_off(self) {
        let _ = self.0.send(Err(io::Error::other("broken off"))).await;
    }

    /// Waits until nobody listens any longer.
    pub async fn closed(&self) {
        timeout(LIMIT, self.0.closed())
            .await
            .expect("still listened to");
    }
}

/// Parameters that send a text in a conversation, or to a task, with an id of its own.
pub fn said(text: &str, context: Option<&str>, task: Option<&str>) -> Value {
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let mut message = json!({"messageId": format!("said-{count}"), "role": "ROLE_USER", "parts": [{"text": text}]});
    if let Some(context) = context {
        message["contextId"] = context.into();
    }
    if let Some(task) = task {
        message["taskId"] = task.into();
    }
    json!({"message": message})
}

/// The text of all of a task's artifacts.
pub fn text_of(task: &Value) -> String {
    let artifacts = task["artifacts"].as_array().into_iter().flatten();
    let parts = artifacts.flat_map(|it| it["parts"].as_array().unwrap());
    parts.filter_map(|part| part["text"].as_str()).collect()
}

/// The text of a task's status.
pub fn status_text(task: &Value) -> &str {
    let text = &task["status"]["message"]["parts"][0]["text"];
    text.as_str().unwrap_or_default()
}
