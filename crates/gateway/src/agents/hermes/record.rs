//! What was said in a session, as Hermes has it or, where it has lost it, as we do.

use http::{Method, StatusCode};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use std::collections::VecDeque;

use super::api::{self, Api};
use super::{Opened, unread};
use crate::agents::Turn;
use crate::agents::completions::Halt;
use crate::agents::completions::content::of_history;
use crate::sessions::transcript::{Budget, Utterance};

/// Most bytes of history that a turn is given: a tenth of what Hermes takes in a request (10 MB).
const MAX_HISTORY_BYTES: usize = 1024 * 1024;
/// Why a session ended that goes on under another name.
const COMPACTED: &str = "compression";
/// What is told of a conversation whose session is gone.
const RECALLED: Budget = Budget {
    bytes: 64 * 1024,
    utterances: 200,
};

/// The path of a session.
pub(super) fn path_of(name: &str) -> String {
    format!(
        "api/sessions/{}",
        utf8_percent_encode(name, NON_ALPHANUMERIC)
    )
}

/// The name under which the session goes on; `None`: Hermes does not know it.
///
/// A session that was compacted has ended, and Hermes stores what follows under another name. It tells
/// that name only with the session's messages.
pub(super) async fn tip(api: &Api, name: &str) -> Result<Option<String>, Halt> {
    let answer = api.ask(Method::GET, &path_of(name), None).await?;
    if answer.status == StatusCode::NOT_FOUND {
        return Ok(None);
    }
    let session = api::json_of(&answer)?;
    let end = session
        .pointer("/session/end_reason")
        .and_then(Value::as_str);
    if end != Some(COMPACTED) {
        return Ok(Some(name.to_owned()));
    }
    let rows = rows(api, name).await?;
    Ok(rows.map(|body| name_in(&body).unwrap_or(name).to_owned()))
}

/// What was said in the session, oldest first, as messages of text, and the name under which it goes on.
pub(super) async fn history(
    api: &Api,
    turn: &Turn,
    opened: &Opened,
) -> Result<(Vec<Value>, String), Halt> {
    let Some(body) = rows(api, &opened.name).await? else {
        let said = if opened.is_known {
            ours(turn).await?
        } else {
            Vec::new()
        };
        return Ok((of_history(&said).collect(), opened.name.clone()));
    };
    let rows = body.get("data").and_then(Value::as_array);
    let rows = rows.ok_or_else(|| api::unreadable("a list of messages without `data`"))?;
    let name = name_in(&body).unwrap_or(&opened.name);
    Ok((newest(rows).into(), name.to_owned()))
}

/// The messages of the session as it goes on; `None`: Hermes does not know it.
async fn rows(api: &Api, name: &str) -> Result<Option<Value>, Halt> {
    let path = format!("{}/messages", path_of(name));
    let answer = api.ask(Method::GET, &path, None).await?;
    if answer.status == StatusCode::NOT_FOUND {
        return Ok(None);
    }
    api::json_of(&answer).map(Some)
}

/// Whose messages they are: the last session in the chain that compaction made.
fn name_in(body: &Value) -> Option<&str> {
    let name = body.get("session_id").and_then(Value::as_str);
    name.filter(|name| !name.is_empty())
}

/// What we know of the conversation before this message.
pub(super) async fn ours(turn: &Turn) -> Result<Vec<Utterance>, Halt> {
    let said = turn.session.before(&turn.message.message_id, RECALLED);
    said.await.map_err(|error| unread(&error))
}

/// The rows that are speech; the oldest are left out when there is too much.
fn newest(rows: &[Value]) -> VecDeque<Value> {
    let mut history = VecDeque::new();
    let mut left = MAX_HISTORY_BYTES;
    for row in rows.iter().rev() {
        let role = row.get("role").and_then(Value::as_str);
        let Some(role @ ("user" | "assistant")) = role else {
            continue;
        };
        let text = text_of(row.get("content"));
        if text.is_empty() {
            continue;
        }
        let Some(rest) = left.checked_sub(text.len()) else {
            break;
        };
        left = rest;
        history.push_front(json!({ "role": role, "content": text }));
    }
    history
}

fn text_of(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn history_is_speech_alone_and_the_oldest_is_left_out() {
        let rows = json!([
            { "role": "user", "content": "hi" },
            { "role": "assistant", "content": null, "tool_calls": [] },
            { "role": "tool", "content": "42" },
            { "role": "assistant", "content": [{ "type": "text", "text": "yo" }] },
        ]);
        let history = newest(rows.as_array().unwrap());
        assert_eq!(
            Value::from_iter(history),
            json!([{ "role": "user", "content": "hi" }, { "role": "assistant", "content": "yo" }])
        );
        let long = json!({ "role": "user", "content": "x".repeat(MAX_HISTORY_BYTES / 2 + 1) });
        assert_eq!(newest(&[long.clone(), long]).len(), 1);
    }

    #[test]
    fn no_name_leads_out_of_the_sessions() {
        assert_eq!(path_of("a:b?c"), "api/sessions/a%3Ab%3Fc");
    }
}
