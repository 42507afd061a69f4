//! What is posted to an agent's webhook: the message, who sent it, and where the answer is wanted.

use bytes::Bytes;
use nuncio_wire::Message;
use serde::Serialize;

use crate::agents::completions::content;
use crate::agents::{Turn, prompt};

/// The word by which receivers of several kinds of events know this one.
const EVENT_TYPE: &str = "a2a.message";

/// The body of a post. Receivers that fill templates find texts at the top.
#[derive(Serialize)]
struct Letter<'a> {
    event_type: &'static str,
    agent: &'a str,
    /// `peer:NAME`, `ip:ADDR`, `operator`.
    sender: &'a str,
    task_id: &'a str,
    context_id: &'a str,
    /// The line that should stand before the text where others read along.
    headline: String,
    /// The message as one text, with files that are text in it.
    text: String,
    /// What a model should be told of such messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    about: Option<String>,
    /// The message in A2A 1.0, with its files.
    message: &'a Message,
    #[serde(skip_serializing_if = "Option::is_none")]
    callback_url: Option<&'a str>,
}

/// The body of the post for a turn. Without an address nobody waits for an answer.
pub(super) fn of_turn(turn: &Turn, callback_url: Option<&str>) -> Bytes {
    let letter = Letter {
        event_type: EVENT_TYPE,
        agent: &turn.agent,
        sender: &turn.owner,
        task_id: &turn.task_id,
        context_id: &turn.context_id,
        headline: prompt::headline(turn),
        text: content::as_text(&turn.message.parts),
        about: callback_url.map(|_| prompt::about(turn)),
        message: &turn.message,
        callback_url,
    };
    serde_json::to_vec(&letter)
        .expect("texts and a message have a JSON form")
        .into()
}
