//! An A2A agent that the test plays behind a gateway: it takes each call in turn and says what comes
//! back.

use serde_json::{Value, json};

use crate::rig::{Rig, Store};
use crate::service::{Asked, Feed, Service};

/// The agent behind a gateway.
pub struct Peer {
    pub service: Service,
    card: Value,
}

impl Peer {
    /// An agent of 1.0 with these capabilities.
    pub async fn start(capabilities: Value) -> Self {
        let service = Service::start().await;
        let url = format!("{}/rpc", service.base);
        let interface = json!({"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"});
        let card = json!({"name": "peer", "description": "d", "version": "1", "skills": [],
            "supportedInterfaces": [interface], "capabilities": capabilities,
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"]});
        Self { service, card }
    }

    /// An agent that streams, and the gateway before it.
    pub async fn behind(settings: &str) -> (Rig, Self) {
        let peer = Self::start(json!({"streaming": true})).await;
        (peer.front(settings).await, peer)
    }

    /// A gateway before the agent.
    pub async fn front(&self, settings: &str) -> Rig {
        Rig::start(Store::Memory, &self.config(settings)).await
    }

    pub fn config(&self, settings: &str) -> String {
        let base = &self.service.base;
        let pace = match settings.contains("poll_interval") {
            true => "",
            false => "poll_interval = \"10ms\"",
        };
        format!("[agents.front]\nbackend = \"a2a\"\nurl = \"{base}\"\n{pace}\n{settings}\n")
    }

    /// Says this on its card from now on.
    pub fn says(&mut self, member: &str, value: Value) {
        self.card[member] = value;
    }

    /// Shows its card to the next caller, who must want it.
    pub async fn show(&mut self) {
        let asked = self.service.next().await;
        assert!(asked.line.starts_with("GET "), "{}", asked.line);
        asked.json(200, &self.card);
    }

    /// The next call, which must be this one. Who asks for the card gets it.
    pub async fn call(&mut self, method: &str) -> Asked {
        loop {
            let asked = self.service.next().await;
            if !asked.line.starts_with("GET ") {
                assert_eq!(asked.body["method"], method, "{}", asked.body);
                return asked;
            }
            asked.json(200, &self.card);
        }
    }

    /// The next call, which opens a stream.
    pub async fn stream(&mut self, method: &str) -> Talk {
        Talk::begin(self.call(method).await)
    }
}

/// A stream that the agent has begun.
pub struct Talk {
    id: Value,
    pub feed: Feed,
}

impl Talk {
    /// Answers a call with a stream.
    pub fn begin(asked: Asked) -> Self {
        let id = asked.body["id"].clone();
        let feed = asked.stream();
        Self { id, feed }
    }

    /// The next event.
    pub async fn event(&self, event: Value) {
        let frame = json!({"jsonrpc": "2.0", "id": self.id, "result": event});
        self.feed.data(&frame).await;
    }

    pub async fn task(&self, state: &str) {
        self.event(json!({"task": task(state, json!([]))})).await;
    }

    pub async fn status(&self, state: &str, text: &str) {
        let status = status(state, text);
        let update = json!({"taskId": THEIR_TASK, "contextId": THEIR_CONTEXT, "status": status});
        self.event(json!({"statusUpdate": update})).await;
    }

    pub async fn chunk(&self, text: &str, append: bool) {
        let artifact = json!({"artifactId": "a", "parts": [{"text": text}]});
        let update = json!({"taskId": THEIR_TASK, "contextId": THEIR_CONTEXT, "artifact": artifact, "append": append});
        self.event(json!({"artifactUpdate": update})).await;
    }
}

pub const THEIR_TASK: &str = "their-task";
pub const THEIR_CONTEXT: &str = "their-context";

/// The agent's task with these artifacts.
pub fn task(state: &str, artifacts: Value) -> Value {
    json!({"id": THEIR_TASK, "contextId": THEIR_CONTEXT, "status": {"state": format!("TASK_STATE_{state}")}, "artifacts": artifacts})
}

/// A status with a message.
pub fn status(state: &str, text: &str) -> Value {
    let id = format!("m-{text}");
    let message = json!({"messageId": id, "role": "ROLE_AGENT", "parts": [{"text": text}]});
    json!({"state": format!("TASK_STATE_{state}"), "message": message})
}

/// Answers a call.
pub fn answer(asked: Asked, result: Value) {
    end(asked, "result", result);
}

/// Refuses a call by the protocol's name.
pub fn refuse(asked: Asked, code: i32, reason: &str, text: &str) {
    let info = json!([{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "a2a-protocol.org"}]);
    end(
        asked,
        "error",
        json!({"code": code, "message": text, "data": info}),
    );
}

fn end(asked: Asked, member: &str, value: Value) {
    let answer = json!({"jsonrpc": "2.0", "id": asked.body["id"], member: value});
    let json = [("content-type", "application/json")];
    asked.bytes(200, &json, answer.to_string().into());
}
