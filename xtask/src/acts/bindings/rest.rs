//! HTTP+JSON (specification 11): paths, queries, bodies, and errors as `google.rpc.Status`.

use bytes::Bytes;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};

use super::http::{self, Reply};
use super::sse::Frames;
use super::{Answer, Events, Item, Opened, Peer, Source, Trouble, as_json};
use crate::acts::checks::error::Refusal;
use crate::acts::corpus::Operation;

/// RFC 3986's unreserved characters stay as they are.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

pub(super) async fn call(
    peer: &Peer,
    operation: Operation,
    params: &Value,
) -> Result<Answer, Trouble> {
    read_answer(
        send(
            peer,
            operation,
            params,
            "application/a2a+json, application/json",
        )
        .await?,
    )
    .await
}

pub(super) async fn open(
    peer: &Peer,
    operation: Operation,
    params: &Value,
) -> Result<Opened, Trouble> {
    let reply = send(peer, operation, params, "text/event-stream").await?;
    let (status, headers) = (reply.status(), reply.headers());
    let kind = headers.get("content-type").map_or("", String::as_str);
    if kind.starts_with("text/event-stream") && status == 200 {
        let frames = Box::new(Frames::new(reply));
        return Ok(Opened::Stream(Box::new(Events {
            status,
            headers,
            source: Source::Sse(frames, read_event),
        })));
    }
    let answer = read_answer(reply).await?;
    if answer.refusal.is_none() {
        return Err(Trouble::Shape(format!(
            "neither a stream nor an error: {}",
            answer.root
        )));
    }
    Ok(Opened::Refused(answer))
}

async fn send(
    peer: &Peer,
    operation: Operation,
    params: &Value,
    accept: &str,
) -> Result<Reply, Trouble> {
    let (method, path, body) = request(operation, params);
    let bearer = peer.bearer();
    let mut more = vec![("Accept", accept)];
    if method == "POST" {
        more.push(("Content-Type", "application/a2a+json"));
    }
    let headers = peer.headers(&more, &bearer);
    let url = format!("{}{path}", peer.base);
    http::send(method, &url, &headers, body).await
}

/// Method, path with query, and body.
fn request(operation: Operation, params: &Value) -> (&'static str, String, Bytes) {
    let mut rest = params.as_object().cloned().unwrap_or_default();
    let mut take = |name: &str| {
        let value = rest.remove(name).unwrap_or_default();
        let text = value.as_str().unwrap_or_default();
        utf8_percent_encode(text, ESCAPED).to_string()
    };
    let (method, path) = match operation {
        Operation::SendMessage => ("POST", "/message:send".to_owned()),
        Operation::SendStreamingMessage => ("POST", "/message:stream".to_owned()),
        Operation::GetTask => ("GET", format!("/tasks/{}", take("id"))),
        Operation::ListTasks => ("GET", "/tasks".to_owned()),
        Operation::CancelTask => ("POST", format!("/tasks/{}:cancel", take("id"))),
        Operation::SubscribeToTask => ("POST", format!("/tasks/{}:subscribe", take("id"))),
        Operation::GetAgentCard | Operation::GetExtendedAgentCard => {
            ("GET", "/extendedAgentCard".to_owned())
        }
        Operation::CreatePushConfig => ("POST", configs(&take("taskId"))),
        Operation::ListPushConfigs => ("GET", configs(&take("taskId"))),
        Operation::GetPushConfig => {
            let all = configs(&take("taskId"));
            ("GET", format!("{all}/{}", take("id")))
        }
        Operation::DeletePushConfig => {
            let all = configs(&take("taskId"));
            ("DELETE", format!("{all}/{}", take("id")))
        }
    };
    if method == "POST" {
        let body = Bytes::from(Value::Object(rest).to_string());
        return (method, path, body);
    }
    (method, path + &query(&rest), Bytes::new())
}

fn configs(task: &str) -> String {
    format!("/tasks/{task}/pushNotificationConfigs")
}

fn query(fields: &Map<String, Value>) -> String {
    let mut query = String::new();
    for (name, value) in fields {
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        query.push(if query.is_empty() { '?' } else { '&' });
        query.push_str(&format!("{name}={}", utf8_percent_encode(&text, ESCAPED)));
    }
    query
}

async fn read_answer(reply: Reply) -> Result<Answer, Trouble> {
    let (status, headers) = (reply.status(), reply.headers());
    let body = reply.read().await?;
    if (300..400).contains(&status) {
        return Err(Trouble::Shape(format!("a redirect ({status})")));
    }
    let root = if body.is_empty() {
        Value::Null
    } else {
        as_json(&body)?
    };
    let refusal = (status >= 400).then(|| refusal(&root));
    Ok(Answer {
        status,
        headers,
        root: if refusal.is_some() { Value::Null } else { root },
        refusal,
    })
}

/// Reads an error body: `{"error": {code, status, message, details}}`.
pub(super) fn refusal(body: &Value) -> Refusal {
    let error = &body["error"];
    Refusal::of_status(error["message"].as_str(), error.get("details"))
}

fn read_event(frame: Value) -> Result<Item, Trouble> {
    const PAYLOADS: [&str; 4] = ["task", "message", "statusUpdate", "artifactUpdate"];
    if frame.get("error").is_some() {
        return Ok(Item::Refused(refusal(&frame)));
    }
    if PAYLOADS
        .iter()
        .filter(|name| frame.get(**name).is_some())
        .count()
        != 1
    {
        return Err(Trouble::Shape(format!(
            "an event without exactly one payload: {frame}"
        )));
    }
    Ok(Item::Event(frame))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn path_values_leave_the_payload_and_the_rest_goes_where_it_belongs() {
        let cases = [
            (
                Operation::GetTask,
                json!({"id": "a/b", "historyLength": 0}),
                "GET /tasks/a%2Fb?historyLength=0 ",
            ),
            (
                Operation::ListTasks,
                json!({"includeArtifacts": false}),
                "GET /tasks?includeArtifacts=false ",
            ),
            (
                Operation::CancelTask,
                json!({"id": "t"}),
                "POST /tasks/t:cancel {}",
            ),
            (
                Operation::CreatePushConfig,
                json!({"taskId": "t", "url": "u"}),
                "POST /tasks/t/pushNotificationConfigs {\"url\":\"u\"}",
            ),
            (
                Operation::DeletePushConfig,
                json!({"taskId": "t", "id": "c"}),
                "DELETE /tasks/t/pushNotificationConfigs/c ",
            ),
            (
                Operation::GetExtendedAgentCard,
                json!({}),
                "GET /extendedAgentCard ",
            ),
        ];
        for (operation, params, expected) in cases {
            let (method, path, body) = request(operation, &params);
            let body = String::from_utf8(body.to_vec()).unwrap();
            assert_eq!(format!("{method} {path} {body}"), expected);
        }
    }

    #[test]
    fn an_event_has_one_payload_or_is_an_error() {
        assert!(matches!(
            read_event(json!({"task": {}})),
            Ok(Item::Event(_))
        ));
        assert!(matches!(
            read_event(json!({"error": {"message": "m"}})),
            Ok(Item::Refused(_))
        ));
        for broken in [
            json!({}),
            json!({"task": {}, "message": {}}),
            json!({"jsonrpc": "2.0"}),
        ] {
            assert!(read_event(broken.clone()).is_err(), "{broken}");
        }
    }
}
