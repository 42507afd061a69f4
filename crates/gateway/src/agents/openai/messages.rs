//! A conversation in the shape of chat completions.

use nuncio_wire::Message;
use serde_json::{Value, json};

use crate::agents::completions::content::{self, Takes};
use crate::sessions::transcript::Utterance;

/// The `messages` of a request: instructions, what was said before, what is asked now.
pub(super) fn of_turn(system: &str, said: &[Utterance], message: &Message) -> Value {
    let mut messages = vec![json!({ "role": "system", "content": system })];
    messages.extend(content::of_history(said));
    let content = content::of_parts(&message.parts, Takes::Files);
    messages.push(json!({ "role": "user", "content": content }));
    Value::Array(messages)
}
