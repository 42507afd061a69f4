//! The door `plugin`: a turn in a chat of Hermes' own gateway, brought there by nuncio's plugin in it.
//!
//! The plugin finds out how the turn ended; a text alone is no answer. What it is asked and says is in
//! `integrations/hermes/nuncio-bridge/door.py`.

use http::{HeaderMap, Method};
use nuncio_client::{ServiceReply, ServiceStream};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

use super::{Hermes, Opened, Outcome, STOP_LIMIT, api, conclude, record, sessions, silent};
use crate::agents::completions::{Halt, content};
use crate::agents::reply::{Heard, Reply, Source};
use crate::agents::{Turn, TurnEnd, TurnEvents, prompt};

/// Where turns are asked for.
const TURNS: &str = "turn";
/// Longest turn that the plugin takes: a day.
const MAX_TURN: Duration = Duration::from_secs(24 * 60 * 60);

/// What the plugin says of a turn.
#[derive(Deserialize)]
struct Told {
    event: String,
    #[serde(default)]
    state: String,
    #[serde(default)]
    text: String,
}

/// A turn that the plugin was asked for. Dropped before its end, its connection closes, and the plugin
/// stops it.
struct ChatTurn {
    stream: Box<ServiceStream>,
    /// Bytes that may still be said.
    left: usize,
    has_ended: bool,
}

impl Hermes {
    /// A turn through the plugin. It is not repeated: the chat's owner would see it twice.
    pub(super) async fn run_plugin(&self, turn: Turn, events: &mut TurnEvents) -> TurnEnd {
        let mut reply = Reply::of_model();
        let id = sessions::idempotency_key(&turn);
        // Held until a turn that is given up has been stopped.
        let mut opened = None;
        let answer = tokio::select! {
            biased;
            () = turn.cancel.cancelled() => {
                self.stop_chat_turn(&id).await;
                return TurnEnd::Canceled;
            }
            answer = self.hear_chat_turn(&turn, &id, &mut opened, &mut reply, events) => answer,
        };
        conclude(&turn, reply, answer, events).unwrap_or_else(|| silent(&turn))
    }

    async fn hear_chat_turn(
        &self,
        turn: &Turn,
        id: &str,
        opened: &mut Option<Opened>,
        reply: &mut Reply,
        events: &mut TurnEvents,
    ) -> Result<Outcome, Halt> {
        let opened = opened.insert(self.open(turn).await?);
        let body = self.chat_turn(turn, id, opened).await?;
        let asked = self
            .api
            .stream(Method::POST, TURNS, HeaderMap::new(), Some(&body));
        let stream = match asked.await? {
            ServiceReply::Stream(_, stream) => stream,
            ServiceReply::Answer(answer) if answer.status.is_success() => {
                return Err(api::unreadable("no stream of events"));
            }
            ServiceReply::Answer(answer) => return Err(api::refused(&answer)),
        };
        self.remember(turn, opened, &opened.name).await?;
        let mut chat = ChatTurn {
            stream,
            left: self.config.max_output_bytes,
            has_ended: false,
        };
        reply.stream(&mut chat, events).await?;
        Ok(Outcome {
            about: None,
            may_repeat: false,
        })
    }

    async fn chat_turn(&self, turn: &Turn, id: &str, opened: &Opened) -> Result<Value, Halt> {
        let mut body = json!({
            "id": id,
            "peer": &*turn.owner,
            "text": content::as_text(&turn.message.parts),
            "about": prompt::about(turn),
            "timeout": self.config.turn_timeout.get().min(MAX_TURN).as_secs_f64(),
        });
        if let Some(session) = self.live_session(turn) {
            body["session"] = session.into();
            return Ok(body);
        }
        body["chat"] = opened.name.as_str().into();
        if opened.is_known {
            // Told to the model only if Hermes knows nothing of the chat any more.
            let said = record::ours(turn).await?;
            if !said.is_empty() {
                body["recall"] = prompt::recall(&said).into();
            }
        }
        Ok(body)
    }

    /// Has a turn stopped; returns when Hermes has let go of it, or could not be told in time.
    async fn stop_chat_turn(&self, id: &str) {
        let path = format!("{TURNS}/{id}/stop");
        let asked = self.api.ask(Method::POST, &path, None);
        // Refused when it has ended or never begun, which is as good.
        match tokio::time::timeout(STOP_LIMIT, asked).await {
            Ok(Ok(_)) => {}
            Ok(Err(halt)) => {
                let reason = super::in_full(halt);
                tracing::warn!(reason, "a turn of Hermes could not be stopped");
            }
            Err(_) => tracing::warn!("Hermes did not stop a turn in time"),
        }
    }

    /// Has a chat of nuncio's own removed from Hermes.
    pub(super) async fn forget_chat(&self, name: &str) {
        let name = utf8_percent_encode(name, NON_ALPHANUMERIC);
        let path = format!("chat/{name}");
        if let Err(halt) = self.api.ask(Method::DELETE, &path, None).await {
            let reason = super::in_full(halt);
            tracing::warn!(reason, "a chat could not be removed");
        }
    }
}

impl ChatTurn {
    /// What the end of the turn means.
    fn end(&mut self, told: Told, text: &mut String) -> Result<Heard, Halt> {
        self.has_ended = true;
        let fault = |reason: &str| Err(Halt::fault(reason, &told.text));
        match told.state.as_str() {
            "completed" if told.text.is_empty() => Ok(Heard::End),
            "completed" => {
                text.push_str(&told.text);
                Ok(Heard::Text)
            }
            "failed" => fault("the agent's turn failed"),
            "interrupted" => fault(
                "the agent was interrupted by another message in its chat; send the message again",
            ),
            "busy" => fault("the agent's chat was busy for too long; try again later"),
            "timeout" => fault("the agent did not finish in time and was stopped"),
            "canceled" => fault("the agent's turn was stopped on its side"),
            other => Err(api::unreadable(&format!("a turn with the state `{other}`"))),
        }
    }
}

impl Source for ChatTurn {
    type Halt = Halt;

    async fn hear(&mut self, text: &mut String) -> Result<Heard, Halt> {
        let broken = |detail: String| Halt::fault("the agent's answer broke off", detail);
        loop {
            if self.has_ended {
                return Ok(Heard::End);
            }
            let event = self.stream.next().await;
            let event = event.map_err(|error| broken(error.message))?;
            let event = event.ok_or_else(|| broken("end of events".to_owned()))?;
            let told: Told = serde_json::from_str(&event.data)
                .map_err(|error| api::unreadable(&error.to_string()))?;
            let is_end = told.event == "end";
            let bytes = if is_end {
                told.text.len()
            } else {
                event.data.len()
            };
            self.left = self.left.checked_sub(bytes).ok_or_else(|| {
                Halt::fault("the agent said more than it may", "max_output_bytes")
            })?;
            if is_end {
                return self.end(told, text);
            }
        }
    }
}
