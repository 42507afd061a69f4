//! The door `completions`: one streamed completion a turn, in a session that Hermes keeps.
//!
//! A cancel closes the connection. Hermes notices that between two calls of its model, so the turn may
//! still end there.

use http::{HeaderMap, Method};
use nuncio_client::ServiceReply;
use serde_json::{Value, json};

use super::{Hermes, MODEL, Opened, Outcome, api, record, sessions};
use crate::agents::completions::content::{self, Takes};
use crate::agents::completions::{Answer, Halt};
use crate::agents::reply::Reply;
use crate::agents::{Turn, TurnEvents, prompt};

/// Where completions are asked for.
const COMPLETIONS: &str = "v1/chat/completions";
/// Names the session; in an answer that is no stream, the one in which it goes on.
const SESSION_ID: &str = "x-hermes-session-id";

impl Hermes {
    /// Asks for a completion and hands over what is said.
    pub(super) async fn complete(
        &self,
        turn: &Turn,
        opened: &Opened,
        attempt: u32,
        reply: &mut Reply,
        events: &mut TurnEvents,
    ) -> Result<Outcome, Halt> {
        // The head of a stream is sent before the turn, so that it cannot tell of a new name: the
        // session's last name is asked for before each turn.
        let tip = match opened.is_known {
            true => record::tip(&self.api, &opened.name).await?,
            false => None,
        };
        let is_lost = opened.is_known && tip.is_none();
        let name = tip.as_deref().unwrap_or(&opened.name);
        let body = self.completion(turn, is_lost).await?;
        let mut headers = self.memory_headers(turn);
        api::insert(&mut headers, SESSION_ID, name);
        let key = format!("{}-{attempt}", sessions::idempotency_key(turn));
        api::insert(&mut headers, "idempotency-key", &key);
        let asked = self
            .api
            .stream(Method::POST, COMPLETIONS, headers, Some(&body));
        let limit = self.config.max_output_bytes;
        let mut answer = match asked.await? {
            ServiceReply::Stream(_, stream) => {
                self.remember(turn, opened, name).await?;
                Answer::streamed(turn, stream, limit)
            }
            ServiceReply::Answer(answer) if answer.status.is_success() => {
                let name = name_in(&answer.headers).unwrap_or(name);
                self.remember(turn, opened, name).await?;
                Answer::whole(turn, &answer.body, limit)?
            }
            ServiceReply::Answer(answer) => return Err(api::refused(&answer)),
        };
        reply.stream(&mut answer, events).await?;
        let ending = answer.ending();
        ending.log_usage(turn);
        match ending.fault() {
            Some((reason, detail)) => Err(Halt::Fault(reason, detail)),
            None => Ok(Outcome {
                about: ending.about(),
                may_repeat: !ending.used_tools,
            }),
        }
    }

    async fn completion(&self, turn: &Turn, is_lost: bool) -> Result<Value, Halt> {
        let mut system = prompt::about(turn);
        if is_lost {
            let said = record::ours(turn).await?;
            if !said.is_empty() {
                system = format!("{system}\n\n{}", prompt::recall(&said));
            }
        }
        let content = content::of_parts(&self.parts(turn), Takes::Images);
        Ok(json!({
            "model": MODEL,
            "stream": true,
            "messages": [
                { "role": "system", "content": system },
                { "role": "user", "content": content },
            ],
        }))
    }
}

/// What Hermes calls the session after a turn that was answered in one piece.
fn name_in(head: &HeaderMap) -> Option<&str> {
    let name = head.get(SESSION_ID).and_then(|value| value.to_str().ok());
    name.filter(|name| !name.is_empty())
}
