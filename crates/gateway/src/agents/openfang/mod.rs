//! The `openfang` backend: a live agent of a running OpenFang answers, told who asks.
//!
//! Two doors: a stream, which is stopped when cancelled, and a plain request, whose end ends the turn there.
//! OpenFang closes a stream without a word when its turn fails; `told` finds that out.

mod directory;
mod quiet;
mod told;

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use nuncio_client::{ClientError, HttpService, ServiceAnswer, ServiceReply};
use nuncio_wire::AgentSkill;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::json;
use std::time::Duration;

use self::quiet::Quiet;
use self::told::{Telling, Usage};
use super::completions::{Halt, as_metadata, content};
use super::place::place;
use super::reply::{Reply, Said};
use super::{Agent, Turn, TurnEnd, TurnEvents, fault, prompt};
use crate::config::OpenFangAgentConfig;

/// Bytes of a message that OpenFang takes (64 KiB).
const MAX_MESSAGE_BYTES: usize = 64 * 1024;
/// How long OpenFang may take to stop a turn.
const STOP_LIMIT: Duration = Duration::from_secs(4);
/// What is kept with a conversation whose caller the agent was told of.
const INTRODUCED: &str = "introduced";
/// How OpenFang begins what it says for an agent that said nothing.
const NOTHING_SAID: &str = "[The agent completed processing but returned no text response.";

/// A live agent of an OpenFang.
#[derive(Debug)]
pub struct OpenFang {
    config: OpenFangAgentConfig,
    service: HttpService,
    /// The id of the agent, as it was last known.
    id: Mutex<Option<String>>,
}

/// A turn that OpenFang works on, perhaps also when nobody listens any longer.
#[derive(Default)]
struct Begun(Option<String>);

/// An answer that came whole.
#[derive(Deserialize)]
struct Whole {
    #[serde(default)]
    response: String,
    #[serde(flatten)]
    usage: Usage,
}

impl OpenFang {
    /// The agent that `config` names, whose secrets have been resolved.
    #[must_use]
    pub fn new(config: &OpenFangAgentConfig) -> Self {
        let key = config.api_key.as_ref().and_then(|key| key.secret());
        Self {
            service: HttpService::new(config.base_url.url(), key.map(|key| key.expose())),
            config: config.clone(),
            id: Mutex::default(),
        }
    }

    async fn agent_id(&self) -> Result<String, Halt> {
        if let Some(id) = self.id.lock().clone() {
            return Ok(id);
        }
        let found = directory::find(&self.service, &self.config.agent).await?;
        *self.id.lock() = Some(found.id.clone());
        Ok(found.id)
    }

    /// What the agent is asked: in a session that others read, too, it says first who asks.
    async fn message(&self, turn: &Turn) -> Result<String, Halt> {
        let kept = turn.session.name().await;
        let is_introduced = kept.map_err(|error| unkept(&error))?.is_some();
        let about = (!is_introduced).then(|| format!("{}\n\n", prompt::about(turn)));
        Ok(format!(
            "{}{}\n{}",
            about.unwrap_or_default(),
            prompt::headline(turn),
            content::as_text(&turn.message.parts)
        ))
    }

    /// One turn: the id of the agent may be old, then it is looked for once more.
    async fn answer(
        &self,
        turn: &Turn,
        message: &str,
        begun: &mut Begun,
        reply: &mut Reply,
        events: &mut TurnEvents,
    ) -> Result<Usage, Halt> {
        let was_known = self.id.lock().is_some();
        let answer = self.ask(turn, message, begun).await?;
        let answer = match answer {
            ServiceReply::Answer(it) if it.status == StatusCode::NOT_FOUND && was_known => {
                *self.id.lock() = None;
                self.ask(turn, message, begun).await?
            }
            answer => answer,
        };
        let limit = self.config.max_output_bytes;
        match answer {
            ServiceReply::Stream(_, stream) => {
                let mut telling = Telling::new(turn, stream, limit);
                reply.stream(&mut telling, events).await?;
                // It has ended, well or not: there is nothing to be stopped.
                begun.0 = None;
                telling.ending()
            }
            ServiceReply::Answer(answer) if answer.status.is_success() => {
                begun.0 = None;
                let whole: Whole = serde_json::from_slice(&answer.body)
                    .map_err(|error| unreadable(&error.to_string()))?;
                if whole.response.len() > limit {
                    let reason = "the agent said more than it may";
                    return Err(Halt::fault(reason, "max_output_bytes"));
                }
                if !whole.response.starts_with(NOTHING_SAID) {
                    let (mut quiet, mut text) = (Quiet::default(), String::new());
                    quiet.hear(&whole.response, &mut text);
                    quiet.end(&mut text);
                    reply.hear(&text);
                }
                Ok(whole.usage)
            }
            ServiceReply::Answer(answer) => {
                begun.0 = None;
                if answer.status == StatusCode::NOT_FOUND {
                    *self.id.lock() = None;
                }
                Err(refused(&answer))
            }
        }
    }

    async fn ask(
        &self,
        turn: &Turn,
        message: &str,
        begun: &mut Begun,
    ) -> Result<ServiceReply, Halt> {
        let id = self.agent_id().await?;
        let name = turn
            .owner
            .split_once(':')
            .map_or(&*turn.owner, |(_, name)| name);
        let body = json!({ "message": message, "sender_id": &*turn.owner, "sender_name": name });
        let body = Bytes::from(body.to_string());
        let (post, no_headers) = (Method::POST, HeaderMap::new());
        let path = format!("api/agents/{id}/message");
        if !self.config.stream {
            // What ends first, the turn or this, ends the other.
            let limit = self.config.turn_timeout.get();
            let asked = self
                .service
                .call(post, &path, no_headers, Some(body), limit);
            return asked.await.map(ServiceReply::Answer).map_err(unreachable);
        }
        let (path, silence) = (format!("{path}/stream"), self.config.silence_timeout.get());
        begun.0 = Some(id);
        let asked = self
            .service
            .stream(post, &path, no_headers, Some(body), silence);
        asked.await.map_err(unreachable)
    }

    /// Stops a turn that goes on there although nobody listens.
    async fn stop_there(&self, turn: &Turn, begun: Begun) {
        let Some(id) = begun.0 else { return };
        let path = format!("api/agents/{id}/stop");
        let stopped = self
            .service
            .call(Method::POST, &path, HeaderMap::new(), None, STOP_LIMIT)
            .await;
        let problem = match stopped {
            Ok(answer) if answer.status.is_success() => return,
            Ok(answer) => answer.refusal(),
            Err(error) => error.message,
        };
        tracing::warn!(agent = %turn.agent, task = %turn.task_id, problem,
            "a turn that was given up may go on in OpenFang");
    }
}

fn unkept(error: &nuncio_store::StoreError) -> Halt {
    Halt::fault("the conversation could not be kept", error.to_string())
}

fn unreachable(error: ClientError) -> Halt {
    Halt::fault("the agent's server could not be reached", error.message)
}

/// A fault: what OpenFang sent makes no sense.
fn unreadable(detail: &str) -> Halt {
    let reason = "the agent's server answered in a way that cannot be read";
    Halt::fault(reason, detail)
}

/// A refusal, in words for the caller and for the log.
fn refused(answer: &ServiceAnswer) -> Halt {
    let reason = match answer.status {
        StatusCode::NOT_FOUND => "the agent is not there".to_owned(),
        StatusCode::TOO_MANY_REQUESTS => {
            "the agent has used up its quota; try again later".to_owned()
        }
        StatusCode::PAYLOAD_TOO_LARGE => "the message is larger than the agent takes".to_owned(),
        status => format!(
            "the agent's server refused the turn (HTTP {})",
            status.as_u16()
        ),
    };
    Halt::Fault(reason, answer.refusal())
}

/// All that is known of a fault, for the operator.
fn in_full(halt: Halt) -> String {
    match halt {
        Halt::Stopped => "stopped".to_owned(),
        Halt::Fault(reason, detail) if detail.is_empty() => reason,
        Halt::Fault(reason, detail) => format!("{reason}: {detail}"),
    }
}

#[async_trait]
impl Agent for OpenFang {
    async fn skills(&self) -> Result<Option<Vec<AgentSkill>>, String> {
        let advertised = self.config.advertised_tools.as_deref();
        let skills = directory::skills(&self.service, &self.config.agent, advertised).await;
        skills.map(Some).map_err(in_full)
    }

    async fn probe(&self) -> Result<String, String> {
        let peer = self.service.peer();
        let found = directory::find(&self.service, &self.config.agent).await;
        let found = found.map_err(|halt| format!("{peer}: {}", in_full(halt)))?;
        let (name, model) = (&found.name, &found.model_name);
        if found.ready == Some(false) {
            let state = &found.state;
            return Err(format!(
                "the agent `{name}` at {peer} is not ready (state {state}, model {model}): see its \
                 state and the key of its model in OpenFang"
            ));
        }
        Ok(format!("`{name}` is at {peer}, with the model {model}"))
    }

    async fn run(&self, turn: Turn, events: &mut TurnEvents) -> TurnEnd {
        let mut reply = Reply::of_model().within(self.config.max_output_bytes);
        // Held until a turn that is given up has been stopped: the next one would be stopped instead.
        let (mut begun, mut held) = (Begun::default(), None);
        let work = async {
            held = Some(place(&self.service.peer(), &self.config.agent).await);
            let message = self.message(&turn).await?;
            if message.len() > MAX_MESSAGE_BYTES {
                return Ok(None);
            }
            let answer = self.answer(&turn, &message, &mut begun, &mut reply, events);
            let usage = answer.await?;
            let kept = turn.session.keep(INTRODUCED).await;
            kept.map_err(|error| unkept(&error))?;
            Ok(Some(usage))
        };
        let answer = tokio::select! {
            biased;
            () = turn.cancel.cancelled() => Err(Halt::Stopped),
            answer = work => answer,
        };
        self.stop_there(&turn, begun).await;
        drop(held);
        conclude(&turn, reply, answer, events)
    }
}

/// Ends a turn; an answer of `None` was not asked for, since the message is too large.
fn conclude(
    turn: &Turn,
    reply: Reply,
    answer: Result<Option<Usage>, Halt>,
    events: &mut TurnEvents,
) -> TurnEnd {
    let usage = match answer {
        Ok(Some(usage)) => usage.json(),
        Ok(None) => {
            let text = format!(
                "The message is larger than the agent takes, which is {MAX_MESSAGE_BYTES} bytes of \
                 text with all files in it."
            );
            return TurnEnd::Rejected(turn.reply_text(text));
        }
        Err(Halt::Stopped) => return TurnEnd::Canceled,
        Err(Halt::Fault(reason, detail)) => {
            reply.cut_off(events);
            return fault::failed(turn, &reason, &detail);
        }
    };
    if let Some(usage) = &usage {
        tracing::info!(agent = %turn.agent, task = %turn.task_id, usage = usage.get(), "model used");
    }
    match reply.said_with(usage.as_ref().map(as_metadata), events) {
        Said::Answer => TurnEnd::Completed(None),
        Said::Question(text) => TurnEnd::InputRequired(turn.reply_text(text)),
        Said::Nothing => fault::failed(turn, "the agent answered with nothing", ""),
    }
}
