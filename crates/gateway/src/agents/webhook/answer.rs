//! What an agent may post as its answer: text, or A2A's own objects as JSON.
//!
//! Reads what is there and judges nothing of it. User JSON stays as it is spelled.

use nuncio_wire::dialects::Dialect;
use nuncio_wire::{RawJson, StreamResponse};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::HashMap;

use crate::ids;

/// What was posted.
#[derive(Debug, PartialEq)]
pub(super) enum Answer {
    /// A text, which may begin with the marker of a question.
    Text(String),
    /// An event of A2A.
    Event(Box<StreamResponse>),
}

/// How a state of 1.0 is spelled.
const STATE_PREFIX: &str = "TASK_STATE_";
/// Members of which a 1.0 event has one.
const EVENT_MEMBERS: [&str; 4] = ["task", "message", "statusUpdate", "artifactUpdate"];

/// Reads a body. The error says what is wrong with it, for its sender.
pub(super) fn read(media_type: Option<&str>, body: &[u8]) -> Result<Answer, String> {
    let text = std::str::from_utf8(body).map_err(|_| "The body must be UTF-8.".to_owned())?;
    let answer = if is_json(media_type) {
        read_json(text)?
    } else {
        Answer::Text(text.to_owned())
    };
    match answer {
        Answer::Text(text) if text.trim().is_empty() => Err("There is no answer in it.".to_owned()),
        answer => Ok(answer),
    }
}

/// `application/json` and its kin. Whatever else it is called is text: senders seldom say what they send.
fn is_json(media_type: Option<&str>) -> bool {
    let essence = media_type.unwrap_or_default().split(';').next();
    let essence = essence.unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json" || essence.ends_with("+json")
}

fn read_json(text: &str) -> Result<Answer, String> {
    if let Ok(text) = serde_json::from_str::<String>(text) {
        return Ok(Answer::Text(text));
    }
    RawJson::parse(text).map_err(|error| format!("The body is not JSON: {error}"))?;
    let members: HashMap<String, &RawValue> = serde_json::from_str(text)
        .map_err(|_| "The body must be a text or one JSON object.".to_owned())?;
    let has = |name: &str| members.contains_key(name);
    if has("kind") {
        let read = Dialect::V0_3.read_event(text);
        return read.map_err(|error| error.message.into_owned()).map(event);
    }
    let is_event = EVENT_MEMBERS.iter().any(|name| {
        let value = members.get(*name);
        value.is_some_and(|value| value.get().starts_with('{'))
    });
    if is_event && !has("state") {
        return read_event(text);
    }
    if has("parts") {
        return read_message(text, &members);
    }
    if has("status") && (has("id") || has("artifacts")) {
        return read_task(text, &members);
    }
    if let Some(status) = members.get("status").filter(|it| it.get().starts_with('{')) {
        return read_status(status.get());
    }
    if has("state") {
        return read_status(text);
    }
    let said = members.get("text").map(|value| value.get());
    let said = said.and_then(|json| serde_json::from_str(json).ok());
    said.map(Answer::Text).ok_or_else(|| {
        "The body must be a text, or as JSON a Message, a Task, a status, a StreamResponse or an \
         object with a `text`."
            .to_owned()
    })
}

fn event((event, _): (StreamResponse, bool)) -> Answer {
    Answer::Event(Box::new(event))
}

fn read_event(text: &str) -> Result<Answer, String> {
    let read = serde_json::from_str(text);
    let read = read.map_err(|error| format!("The body is not an A2A event: {error}"))?;
    Ok(Answer::Event(Box::new(read)))
}

/// A message alone, in 1.0 unless its role is spelled as before; an id is made where it has none.
fn read_message(text: &str, members: &HashMap<String, &RawValue>) -> Result<Answer, String> {
    let role = members.get("role").map(|role| role.get());
    let is_old = role.is_some_and(|role| !role.starts_with("\"ROLE_"));
    let mut missing = Vec::new();
    if !members.contains_key("messageId") {
        missing.push(("messageId", ids::new_id()));
    }
    if is_old {
        missing.push(("kind", "message".to_owned()));
        return read_json(&with(text, &missing));
    }
    if role.is_none() {
        missing.push(("role", "ROLE_AGENT".to_owned()));
    }
    read_event(&format!("{{\"message\":{}}}", with(text, &missing)))
}

/// A task alone; its ids are ours whatever it says.
fn read_task(text: &str, members: &HashMap<String, &RawValue>) -> Result<Answer, String> {
    #[derive(Deserialize)]
    struct Status {
        #[serde(default)]
        state: String,
    }
    let status = members.get("status").map(|status| status.get());
    let status: Option<Status> = status.and_then(|json| serde_json::from_str(json).ok());
    let is_old = status.is_some_and(|status| !status.state.starts_with(STATE_PREFIX));
    let mut missing = Vec::new();
    for name in ["id", "contextId"] {
        if !members.contains_key(name) {
            missing.push((name, ids::new_id()));
        }
    }
    if is_old {
        missing.push(("kind", "task".to_owned()));
        return read_json(&with(text, &missing));
    }
    read_event(&format!("{{\"task\":{}}}", with(text, &missing)))
}

/// A status alone: its message may be a text, its state may be spelled as in either generation.
fn read_status(text: &str) -> Result<Answer, String> {
    #[derive(Deserialize)]
    struct Status<'a> {
        state: String,
        #[serde(borrow, default)]
        message: Option<&'a RawValue>,
    }
    let status: Status<'_> =
        serde_json::from_str(text).map_err(|error| format!("The body is not a status: {error}"))?;
    let message = status.message.filter(|message| message.get() != "null");
    let message = message.map(|message| match serde_json::from_str(message.get()) {
        Ok(Value::String(text)) => json!({ "messageId": ids::new_id(), "role": "ROLE_AGENT",
            "parts": [{ "text": text }] })
        .to_string(),
        _ => message.get().to_owned(),
    });
    let (word, state) = (&status.state, status.state.to_ascii_uppercase());
    let state = match word.starts_with(STATE_PREFIX) {
        true => word.clone(),
        false => format!("{STATE_PREFIX}{}", state.replace('-', "_")),
    };
    let mut event = format!("{{\"state\":{}", Value::String(state));
    if let Some(message) = message {
        event.push_str(&format!(",\"message\":{message}"));
    }
    read_event(&format!("{{\"statusUpdate\":{{\"status\":{event}}}}}}}"))
}

/// A JSON object, which is not empty, with these members before its own.
fn with(object: &str, members: &[(&str, String)]) -> String {
    let mut text = String::from("{");
    for (name, value) in members {
        text.push_str(&format!("\"{name}\":{},", Value::String(value.clone())));
    }
    text.push_str(object.trim_start().strip_prefix('{').unwrap_or(object));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use nuncio_wire::TaskState;

    fn read_as(media_type: &str, body: &str) -> Result<Answer, String> {
        read(Some(media_type), body.as_bytes())
    }

    /// What kind of event it is, its state and its text.
    fn gist(body: &str) -> String {
        let Answer::Event(event) = read_as("application/json", body).unwrap() else {
            panic!("{body} is a text");
        };
        match *event {
            StreamResponse::Message(message) => format!("message {}", message.text()),
            StreamResponse::Task(task) => {
                let artifacts = task.artifacts.unwrap_or_default().len();
                format!("task {} {artifacts}", task.status.state)
            }
            StreamResponse::StatusUpdate(update) => {
                let text = update.status.message.map(|message| message.text());
                format!("{} {}", update.status.state, text.unwrap_or_default())
            }
            StreamResponse::ArtifactUpdate(update) => {
                format!("artifact {}", update.artifact.artifact_id)
            }
        }
    }

    #[test]
    fn whatever_is_not_called_json_is_text() {
        for media_type in [
            "text/plain; charset=utf-8",
            "application/x-www-form-urlencoded",
            "text/markdown",
        ] {
            let text = "{\"a\": 1}".to_owned();
            assert_eq!(read_as(media_type, &text), Ok(Answer::Text(text)));
        }
        assert_eq!(read(None, b"x"), Ok(Answer::Text("x".to_owned())));
        for body in [&b""[..], b" \n", b"\xff"] {
            assert!(read(None, body).is_err());
        }
    }

    #[test]
    fn a_text_may_be_json() {
        for body in ["\"hi\"", "{\"text\": \"hi\", \"other\": 1}"] {
            let text = Answer::Text("hi".to_owned());
            assert_eq!(read_as("Application/JSON; charset=utf-8", body), Ok(text));
        }
    }

    #[test]
    fn a2a_is_understood_in_its_shapes_and_generations() {
        for (body, expected) in [
            (r#"{"parts":[{"text":"a"}]}"#, "message a"),
            (
                r#"{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"a"}]}"#,
                "message a",
            ),
            (
                r#"{"role":"agent","parts":[{"kind":"text","text":"a"}]}"#,
                "message a",
            ),
            (
                r#"{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"a"}]}}"#,
                "message a",
            ),
            (r#"{"state":"completed"}"#, "TASK_STATE_COMPLETED "),
            (
                r#"{"state":"input-required","message":"which?"}"#,
                "TASK_STATE_INPUT_REQUIRED which?",
            ),
            (
                r#"{"status":{"state":"TASK_STATE_FAILED","message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"no"}]}}}"#,
                "TASK_STATE_FAILED no",
            ),
            (
                r#"{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}"#,
                "TASK_STATE_WORKING ",
            ),
            (
                r#"{"artifactUpdate":{"artifact":{"artifactId":"a","parts":[{"text":"x"}]}}}"#,
                "artifact a",
            ),
            (
                r#"{"id":"theirs","status":{"state":"completed"},"artifacts":[{"artifactId":"a","parts":[{"kind":"text","text":"x"}]}]}"#,
                "task TASK_STATE_COMPLETED 1",
            ),
            (
                r#"{"id":"theirs","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[]}"#,
                "task TASK_STATE_COMPLETED 0",
            ),
            (
                r#"{"kind":"status-update","taskId":"t","contextId":"c","final":true,"status":{"state":"rejected"}}"#,
                "TASK_STATE_REJECTED ",
            ),
        ] {
            assert_eq!(gist(body), expected, "{body}");
        }
    }

    #[test]
    fn what_is_none_of_it_is_refused_with_a_reason() {
        for body in [
            "{",
            "[]",
            "1",
            "{}",
            r#"{"a":1}"#,
            r#"{"text":1}"#,
            r#"{"state":"done"}"#,
            r#"{"state":1}"#,
            r#"{"parts":1}"#,
            r#"{"status":1}"#,
            r#"{"kind":"x"}"#,
            r#"{"statusUpdate":{}}"#,
        ] {
            let refused = read_as("application/json", body).unwrap_err();
            assert!(refused.contains("body") || !refused.is_empty(), "{body}");
        }
    }

    #[test]
    fn user_json_keeps_its_spelling() {
        let body = r#"{"parts":[{"data":{"n":9007199254740993.10}}],"metadata":{"k":1e400}}"#;
        let Ok(Answer::Event(event)) = read_as("application/json", body) else {
            panic!("no event");
        };
        let StreamResponse::Message(message) = *event else {
            panic!("no message");
        };
        let json = serde_json::to_string(&message).unwrap();
        assert!(
            json.contains("9007199254740993.10") && json.contains("1e400"),
            "{json}"
        );
        assert_eq!(TaskState::Completed.to_string(), "TASK_STATE_COMPLETED");
    }
}
