//! A toy agent over JSON-RPC that answers well unless it was told how to answer badly.

use serde_json::{Value, json};
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use crate::acts::bindings::Peer;
use crate::acts::corpus::Transport;

/// The agent; it stops when it is dropped.
pub(super) struct Toy {
    address: SocketAddr,
    serving: JoinHandle<()>,
}

impl Drop for Toy {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Toy {
    pub(super) async fn start(damage: &'static str) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, damage));
            }
        });
        Self { address, serving }
    }

    pub(super) fn peer(&self) -> Peer {
        Peer {
            transport: Transport::Jsonrpc,
            base: format!("http://{}", self.address),
            card_url: format!("http://{}/.well-known/agent-card.json", self.address),
            version: "1.0".to_owned(),
            token: None,
        }
    }
}

async fn serve(mut stream: TcpStream, damage: &'static str) {
    let (head, body) = read_request(&mut stream).await;
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let answer = if head.starts_with("GET") {
        card(damage)
    } else {
        answer(&request, damage)
    };
    stream.write_all(answer.as_bytes()).await.unwrap();
    if damage == "stays-open" {
        std::future::pending::<()>().await;
    }
    stream.shutdown().await.ok();
    if request["method"] == "CreateTaskPushNotificationConfig" {
        push(&request["params"], damage).await;
    }
}

async fn read_request(stream: &mut TcpStream) -> (String, Vec<u8>) {
    let mut bytes = Vec::new();
    loop {
        let end = bytes.windows(4).position(|it| it == b"\r\n\r\n");
        if let Some(end) = end {
            let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
            let length = head.split("content-length: ").nth(1);
            let length = length.and_then(|it| it.lines().next()?.trim().parse().ok());
            if bytes.len() >= end + 4 + length.unwrap_or(0) {
                let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
                return (head, bytes.split_off(end + 4));
            }
        }
        let mut piece = [0; 4096];
        let count = stream.read(&mut piece).await.unwrap();
        assert!(count > 0, "the runner hung up within its request");
        bytes.extend_from_slice(&piece[..count]);
    }
}

fn http(status: u16, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status} x\r\nconnection: close\r\n{headers}\r\n{body}")
}

fn card(damage: &str) -> String {
    let mut card = json!({
        "name": "n", "description": "d", "version": "1", "capabilities": {},
        "supportedInterfaces": [{"url": "u", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "defaultInputModes": [], "defaultOutputModes": [], "skills": [],
    });
    if damage == "unknown-member" {
        card["kind"] = json!("card");
    }
    let etag = if damage == "no-etag" {
        ""
    } else {
        "etag: \"1\"\r\n"
    };
    http(200, etag, &card.to_string())
}

fn answer(request: &Value, damage: &str) -> String {
    let params = &request["params"];
    let id = params["id"].as_str().unwrap_or_default();
    match request["method"].as_str().unwrap_or_default() {
        "SendStreamingMessage" | "SubscribeToTask" if damage == "refuses" => {
            refused(request, -32004)
        }
        "SendStreamingMessage" => streamed(request, &events(), damage),
        "SubscribeToTask" => {
            let mut events = events();
            match damage {
                "other-events" => events[1]["artifactUpdate"]["artifact"]["name"] = json!("other"),
                "no-task-first" => drop(events.remove(0)),
                _ => {}
            }
            streamed(request, &events, damage)
        }
        "GetTask" if damage == "never-ends" => result(request, task("TASK_STATE_WORKING"), damage),
        "GetTask" if id == "known" || damage == "shows-all" => {
            result(request, task("TASK_STATE_COMPLETED"), damage)
        }
        "GetTask" if damage == "tells" && id.ends_with("ff") => refused(request, -32603),
        "GetTask" => refused(request, -32001),
        "CreateTaskPushNotificationConfig" => result(request, json!({"id": "c"}), damage),
        _ => result(
            request,
            json!({"task": task("TASK_STATE_COMPLETED")}),
            damage,
        ),
    }
}

fn task(state: &str) -> Value {
    json!({"id": "t", "contextId": "c", "status": {"state": state}})
}

fn events() -> Vec<Value> {
    let artifact = json!({"artifactId": "a", "parts": [{"text": "x"}]});
    let status = json!({"state": "TASK_STATE_COMPLETED"});
    vec![
        json!({"task": task("TASK_STATE_WORKING")}),
        json!({"artifactUpdate": {"taskId": "t", "contextId": "c", "artifact": artifact}}),
        json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": status}}),
    ]
}

fn result(request: &Value, mut result: Value, damage: &str) -> String {
    if damage == "underscores" {
        result["task"]["context_id"] = json!("c");
    }
    let mut body = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
    if damage == "other-id" {
        body["id"] = json!("other");
    }
    let kind = if damage == "plain-text" {
        "text/plain"
    } else {
        "application/json"
    };
    let status = if damage == "status-500" { 500 } else { 200 };
    http(
        status,
        &format!("content-type: {kind}\r\n"),
        &body.to_string(),
    )
}

fn error(request: &Value, code: i64) -> Value {
    let details = json!([{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "X"}]);
    let error = json!({"code": code, "message": "no such task", "data": details});
    json!({"jsonrpc": "2.0", "id": request["id"], "error": error})
}

fn refused(request: &Value, code: i64) -> String {
    http(
        200,
        "content-type: application/json\r\n",
        &error(request, code).to_string(),
    )
}

fn streamed(request: &Value, events: &[Value], damage: &str) -> String {
    let count = if damage == "unfinished" {
        events.len() - 1
    } else {
        events.len()
    };
    let mut body = String::new();
    for event in &events[..count] {
        let frame = json!({"jsonrpc": "2.0", "id": request["id"], "result": event});
        body += &format!("data: {frame}\n\n");
    }
    match damage {
        "ends-with-error" => body += &format!("data: {}\n\n", error(request, -32603)),
        "no-json" => body += "data: {\n\n",
        _ => {}
    }
    http(200, "content-type: text/event-stream\r\n", &body)
}

/// Delivers two events; one that fails is delivered again.
async fn push(config: &Value, damage: &str) {
    let url = config["url"].as_str().unwrap();
    let (host, path) = url
        .strip_prefix("http://")
        .unwrap()
        .split_once('/')
        .unwrap();
    let credentials = config["authentication"]["credentials"]
        .as_str()
        .unwrap_or("none");
    let credentials = if damage == "no-credentials" {
        "other"
    } else {
        credentials
    };
    for mut event in events().split_off(1) {
        match damage {
            "other-task" => event["artifactUpdate"]["taskId"] = json!("other"),
            "old-shape" => event["kind"] = json!("artifact-update"),
            _ => {}
        }
        let body = event.to_string();
        let kind = if damage == "plain-text" {
            "text/plain"
        } else {
            "application/json"
        };
        let request = format!(
            "POST /{path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {credentials}\r\n\
             content-type: {kind}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        loop {
            let mut stream = TcpStream::connect(host).await.unwrap();
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.unwrap();
            if answer.starts_with("HTTP/1.1 200") || damage == "gives-up" {
                break;
            }
        }
    }
}
