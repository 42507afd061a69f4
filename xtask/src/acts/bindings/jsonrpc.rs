//! JSON-RPC 2.0 over HTTP (specification 9).

use bytes::Bytes;
use serde_json::{Value, json};

use super::http::{self, Reply};
use super::sse::Frames;
use super::{Answer, Events, Item, Opened, Peer, Source, Trouble, as_json};
use crate::acts::checks::error::Refusal;
use crate::acts::corpus::Operation;

/// Of every request: each has a connection of its own.
const ID: &str = "acts-1";

pub(super) async fn call(
    peer: &Peer,
    operation: Operation,
    params: &Value,
) -> Result<Answer, Trouble> {
    let reply = send(peer, operation, params, "application/json").await?;
    read_answer(reply).await
}

pub(super) async fn open(
    peer: &Peer,
    operation: Operation,
    params: &Value,
) -> Result<Opened, Trouble> {
    let reply = send(peer, operation, params, "text/event-stream").await?;
    let headers = reply.headers();
    let kind = headers.get("content-type").map_or("", String::as_str);
    if !kind.starts_with("text/event-stream") {
        let answer = read_answer(reply).await?;
        if answer.refusal.is_none() {
            return Err(Trouble::Shape(format!(
                "neither a stream nor an error: {}",
                answer.root
            )));
        }
        return Ok(Opened::Refused(answer));
    }
    Ok(Opened::Stream(Box::new(Events {
        status: reply.status(),
        headers,
        source: Source::Sse(Box::new(Frames::new(reply)), read_envelope),
    })))
}

async fn send(
    peer: &Peer,
    operation: Operation,
    params: &Value,
    accept: &str,
) -> Result<Reply, Trouble> {
    let method = operation.method();
    let body = json!({"jsonrpc": "2.0", "id": ID, "method": method, "params": params});
    let bearer = peer.bearer();
    let headers = peer.headers(
        &[("Content-Type", "application/json"), ("Accept", accept)],
        &bearer,
    );
    http::send("POST", &peer.base, &headers, Bytes::from(body.to_string())).await
}

async fn read_answer(reply: Reply) -> Result<Answer, Trouble> {
    let (status, headers) = (reply.status(), reply.headers());
    let body = as_json(&reply.read().await?)?;
    let (root, refusal) = match read_envelope(body)? {
        Item::Event(result) => (result, None),
        Item::Refused(refusal) => (Value::Null, Some(refusal)),
    };
    Ok(Answer {
        status,
        headers,
        root,
        refusal,
    })
}

/// Result or error of an envelope that is as JSON-RPC 2.0 (section 5) has it.
fn read_envelope(mut body: Value) -> Result<Item, Trouble> {
    let wrong = |what: &str, body: &Value| Err(Trouble::Shape(format!("{what}: {body}")));
    if body["jsonrpc"] != "2.0" {
        return wrong("the envelope's `jsonrpc` is not 2.0", &body);
    }
    if body["id"] != ID {
        return wrong("the envelope has another id than the request", &body);
    }
    match (body.get("result").is_some(), body.get("error")) {
        (true, None) => Ok(Item::Event(body["result"].take())),
        (false, Some(error)) if error["code"].is_i64() && error["message"].is_string() => {
            Ok(Item::Refused(Refusal::of_jsonrpc(error)))
        }
        (false, Some(_)) => wrong("the error lacks code or message", &body),
        _ => wrong("not exactly one of result and error", &body),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_sound_envelope_is_read() {
        let good = json!({"jsonrpc": "2.0", "id": ID, "result": {"a": 1}});
        assert_eq!(read_envelope(good), Ok(Item::Event(json!({"a": 1}))));
        let refused =
            json!({"jsonrpc": "2.0", "id": ID, "error": {"code": -32001, "message": "m"}});
        assert!(matches!(read_envelope(refused), Ok(Item::Refused(_))));
        let broken = [
            json!({"id": ID, "result": 1}),
            json!({"jsonrpc": 2.0, "id": ID, "result": 1}),
            json!({"jsonrpc": "2.0", "id": 1, "result": 1}),
            json!({"jsonrpc": "2.0", "result": 1}),
            json!({"jsonrpc": "2.0", "id": ID}),
            json!({"jsonrpc": "2.0", "id": ID, "result": 1, "error": {"code": 1, "message": "m"}}),
            json!({"jsonrpc": "2.0", "id": ID, "error": {"message": "m"}}),
            json!({"jsonrpc": "2.0", "id": ID, "error": {"code": 1}}),
            json!([]),
        ];
        for envelope in broken {
            assert!(read_envelope(envelope.clone()).is_err(), "{envelope}");
        }
    }
}
