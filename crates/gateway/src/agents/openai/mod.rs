//! The `openai` backend: chat completions of any compatible endpoint, streamed.
//!
//! The conversation is ours: each request carries what was said before, as much as the budget takes.
//! No tools are offered. Dropping the turn closes the connection, which stops the model.

mod messages;

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, Method};
use nuncio_client::{HttpService, ServiceReply};
use serde_json::{Map, Value, json};
use std::time::Duration;

use super::completions::{Answer, Ending, Halt};
use super::reply::{Reply, Said};
use super::{Agent, Turn, TurnEnd, TurnEvents, fault, prompt};
use crate::config::OpenAiConfig;
use crate::sessions::transcript::Budget;

/// Where completions are asked for, below the base address.
const COMPLETIONS: &str = "chat/completions";
/// Where the models are listed, below the base address.
const MODELS: &str = "models";
/// How long an endpoint may take to list its models.
const PROBE_LIMIT: Duration = Duration::from_secs(10);
/// Most earlier messages that a request carries, whatever their size.
const MAX_HISTORY_MESSAGES: usize = 500;

/// A model behind an endpoint.
#[derive(Debug)]
pub struct OpenAi {
    config: OpenAiConfig,
    service: HttpService,
    /// The members of every request's body.
    fixed: Map<String, Value>,
}

impl OpenAi {
    /// The model that `config` names, whose secrets have been resolved.
    ///
    /// # Errors
    /// Which parameter has no JSON form.
    pub fn new(config: &OpenAiConfig) -> Result<Self, String> {
        let mut fixed = Map::new();
        for (name, value) in &config.parameters {
            let value = serde_json::to_value(value)
                .map_err(|error| format!("`parameters.{name}` has no JSON form: {error}"))?;
            fixed.insert(name.clone(), value);
        }
        fixed.insert("model".to_owned(), config.model.clone().into());
        fixed.insert("stream".to_owned(), true.into());
        let usage = json!({ "include_usage": true });
        fixed.entry("stream_options").or_insert(usage);
        let key = config.api_key.as_ref().and_then(|key| key.secret());
        Ok(Self {
            service: HttpService::new(config.base_url.url(), key.map(|key| key.expose())),
            config: config.clone(),
            fixed,
        })
    }

    /// The body of the request for a turn.
    async fn request(&self, turn: &Turn) -> Result<Bytes, Halt> {
        let budget = Budget::of_tokens(self.config.history_tokens, MAX_HISTORY_MESSAGES);
        let said = turn.session.before(&turn.message.message_id, budget).await;
        let said = said.map_err(|error| {
            let reason = "the conversation so far could not be read";
            Halt::Fault(reason.to_owned(), error.to_string())
        })?;
        let instructions = self.config.instructions.as_deref();
        let system = match instructions {
            Some(text) => format!("{text}\n\n{}", prompt::about(turn)),
            None => prompt::about(turn),
        };
        let mut body = self.fixed.clone();
        let messages = messages::of_turn(&system, &said, &turn.message);
        body.insert("messages".to_owned(), messages);
        Ok(serde_json::to_vec(&body)
            .expect("JSON values have a JSON form")
            .into())
    }

    async fn answer(
        &self,
        turn: &Turn,
        reply: &mut Reply,
        events: &mut TurnEvents,
    ) -> Result<Ending, Halt> {
        let request = self.request(turn).await?;
        let (headers, silence) = (HeaderMap::new(), self.config.silence_timeout.get());
        let asked = self
            .service
            .stream(Method::POST, COMPLETIONS, headers, Some(request), silence)
            .await;
        let limit = self.config.max_output_bytes;
        let mut answer = match asked.map_err(unreachable)? {
            ServiceReply::Stream(_, stream) => Answer::streamed(turn, stream, limit),
            ServiceReply::Answer(answer) if answer.status.is_success() => {
                Answer::whole(turn, &answer.body, limit)?
            }
            ServiceReply::Answer(answer) => {
                let status = answer.status.as_u16();
                let reason = format!("the model's endpoint refused the request (HTTP {status})");
                return Err(Halt::Fault(reason, answer.refusal()));
            }
        };
        reply.stream(&mut answer, events).await?;
        Ok(answer.ending())
    }
}

fn unreachable(error: nuncio_client::ClientError) -> Halt {
    let reason = "the model's endpoint could not be reached".to_owned();
    Halt::Fault(reason, error.message)
}

#[async_trait]
impl Agent for OpenAi {
    async fn probe(&self) -> Result<String, String> {
        let listed = self
            .service
            .call(Method::GET, MODELS, HeaderMap::new(), None, PROBE_LIMIT)
            .await
            .map_err(|error| error.message)?;
        if !listed.status.is_success() {
            return Err(format!("{}: {}", self.service.peer(), listed.refusal()));
        }
        let model = &self.config.model;
        let known = serde_json::from_slice::<Value>(&listed.body).ok();
        let known = known.as_ref().and_then(|list| list.get("data")?.as_array());
        let names = known.into_iter().flatten();
        let mut names = names.filter_map(|it| it.get("id")?.as_str());
        if known.is_some() && !names.any(|name| name == model) {
            return Err(format!("{} has no model `{model}`", self.service.peer()));
        }
        Ok(format!("{} has the model `{model}`", self.service.peer()))
    }

    async fn run(&self, turn: Turn, events: &mut TurnEvents) -> TurnEnd {
        let mut reply = Reply::of_model().within(self.config.max_output_bytes);
        let answer = tokio::select! {
            biased;
            () = turn.cancel.cancelled() => return TurnEnd::Canceled,
            answer = self.answer(&turn, &mut reply, events) => answer,
        };
        let ending = match answer {
            Ok(ending) => ending,
            Err(Halt::Stopped) => return TurnEnd::Canceled,
            Err(Halt::Fault(reason, detail)) => {
                reply.cut_off(events);
                return fault::failed(&turn, &reason, &detail);
            }
        };
        ending.log_usage(&turn);
        if let Some((reason, detail)) = ending.fault() {
            reply.cut_off(events);
            return fault::failed(&turn, &reason, &detail);
        }
        match reply.said_with(ending.about(), events) {
            Said::Answer => TurnEnd::Completed(None),
            Said::Question(text) => TurnEnd::InputRequired(turn.reply_text(text)),
            Said::Nothing => fault::failed(&turn, "the model answered with nothing", ""),
        }
    }
}
