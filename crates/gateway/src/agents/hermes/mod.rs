//! The `hermes` backend: a running Hermes agent, with its memory and its tools, answers.
//!
//! Two ways through its API server: `runs` (stopped when cancelled, approvals seen) and `completions`
//! (Hermes' own record of the session); and `plugin`, into a live chat of its gateway. Failures that
//! Hermes calls successes are told apart here.

mod api;
mod approvals;
mod completions;
mod plugin;
mod record;
mod run;
mod runs;
mod sessions;
mod skills;

use async_trait::async_trait;
use http::{HeaderMap, Method};
use nuncio_wire::AgentSkill;
use serde_json::Value;
use std::time::Duration;

use self::api::Api;
use self::approvals::Suspensions;
use super::completions::Halt;
use super::place::{Place, place};
use super::reply::{Reply, Said};
use super::{Agent, Turn, TurnEnd, TurnEvents, fault, prompt};
use crate::config::{HermesConfig, HermesDoor};
use crate::sessions::Session;
use nuncio_store::StoreError;
use nuncio_wire::{Metadata, Part};

/// What the plugin calls itself.
const PLUGIN_PLATFORM: &str = "nuncio";
/// The model that Hermes' API server calls itself.
const MODEL: &str = "hermes-agent";
/// How long a turn of Hermes may take to be stopped: a cancelled task is over within five seconds.
const STOP_LIMIT: Duration = Duration::from_secs(4);
/// How long an agent that said nothing is left alone before it is asked once more: an empty success
/// comes in the first seconds after its start.
const WARM_UP: Duration = Duration::from_secs(3);

/// A running Hermes agent.
#[derive(Debug)]
pub struct Hermes {
    config: HermesConfig,
    api: Api,
    /// Turns that wait for an approval.
    suspended: Suspensions,
}

/// The session that a turn goes on in.
struct Opened {
    name: String,
    /// Whether there was a turn in it before, so that it ought to be there.
    is_known: bool,
    /// Held until the turn is over.
    place: Place,
}

/// How a turn went, as far as the doors can tell.
struct Outcome {
    /// What is to be said about the answer.
    about: Option<Metadata>,
    /// Whether nothing speaks against asking again if nothing was said.
    may_repeat: bool,
}

impl Hermes {
    /// The agent that `config` names, whose secrets have been resolved.
    ///
    /// # Errors
    /// What is wrong with the address.
    pub fn new(config: &HermesConfig) -> Result<Self, String> {
        Ok(Self {
            api: Api::new(config)?,
            config: config.clone(),
            suspended: Suspensions::default(),
        })
    }

    /// The operator's live session, if the turn goes on there: work for a worker never does.
    fn live_session(&self, turn: &Turn) -> Option<&str> {
        self.config.live_session().filter(|_| !turn.is_worker)
    }

    /// Waits until the turn may run in its session.
    async fn open(&self, turn: &Turn) -> Result<Opened, Halt> {
        let lock = match self.live_session(turn) {
            Some(name) => name.to_owned(),
            None => sessions::own_name(turn),
        };
        let place = place(&self.api.peer(), &lock).await;
        let kept = match self.live_session(turn) {
            Some(name) => Some(name.to_owned()),
            None => turn.session.name().await.map_err(|error| unread(&error))?,
        };
        Ok(Opened {
            is_known: kept.is_some(),
            name: kept.unwrap_or(lock),
            place,
        })
    }

    /// Remembers what Hermes calls the session now. Where a pinned session goes on, Hermes is asked
    /// before each turn.
    async fn remember(&self, turn: &Turn, opened: &Opened, name: &str) -> Result<(), Halt> {
        let is_new = name != opened.name || !opened.is_known;
        if is_new && self.live_session(turn).is_none() {
            turn.session.keep(name).await.map_err(|error| {
                Halt::fault("the conversation could not be kept", error.to_string())
            })?;
        }
        Ok(())
    }

    /// Headers that say whose memory the turn may touch: the operator's own session has its own.
    fn memory_headers(&self, turn: &Turn) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if self.live_session(turn).is_none() {
            let scope = sessions::memory_scope(turn);
            api::insert(&mut headers, "x-hermes-session-key", &scope);
        }
        headers
    }

    /// What is asked. In a session that others read, too, it says first who asks.
    fn parts(&self, turn: &Turn) -> Vec<Part> {
        let headline = self.live_session(turn).map(|_| prompt::headline(turn));
        let headline = headline.map(Part::text).into_iter();
        headline.chain(turn.message.parts.iter().cloned()).collect()
    }

    async fn answer(
        &self,
        turn: &Turn,
        attempt: u32,
        reply: &mut Reply,
        events: &mut TurnEvents,
    ) -> Result<Outcome, Halt> {
        let opened = self.open(turn).await?;
        self.complete(turn, &opened, attempt, reply, events).await
    }

    /// A turn through `/v1/chat/completions`: again once if it said nothing at all.
    async fn run_completions(&self, turn: Turn, events: &mut TurnEvents) -> TurnEnd {
        for attempt in 1.. {
            let mut reply = Reply::of_model().within(self.config.max_output_bytes);
            let answer = tokio::select! {
                biased;
                () = turn.cancel.cancelled() => return TurnEnd::Canceled,
                answer = self.answer(&turn, attempt, &mut reply, events) => answer,
            };
            let may_repeat = matches!(&answer, Ok(outcome) if outcome.may_repeat);
            match conclude(&turn, reply, answer, events) {
                Some(end) => return end,
                None if attempt == 1 && may_repeat => {
                    if warm_up(&turn).await.is_err() {
                        return TurnEnd::Canceled;
                    }
                }
                None => break,
            }
        }
        silent(&turn)
    }
}

/// Ends a turn whose answer is there; `None` if nothing was said.
fn conclude(
    turn: &Turn,
    reply: Reply,
    answer: Result<Outcome, Halt>,
    events: &mut TurnEvents,
) -> Option<TurnEnd> {
    match answer {
        Err(Halt::Stopped) => Some(TurnEnd::Canceled),
        Err(Halt::Fault(reason, detail)) => {
            reply.cut_off(events);
            Some(fault::failed(turn, &reason, &detail))
        }
        Ok(outcome) => match reply.said_with(outcome.about, events) {
            Said::Answer => Some(TurnEnd::Completed(None)),
            Said::Question(text) => Some(TurnEnd::InputRequired(turn.reply_text(text))),
            Said::Nothing => None,
        },
    }
}

/// Gives an agent that has just been started a moment; an error if the turn was cancelled meanwhile.
async fn warm_up(turn: &Turn) -> Result<(), ()> {
    tokio::select! {
        biased;
        () = turn.cancel.cancelled() => Err(()),
        () = tokio::time::sleep(WARM_UP) => Ok(()),
    }
}

fn silent(turn: &Turn) -> TurnEnd {
    fault::failed(turn, "the agent answered with nothing", "")
}

fn unread(error: &StoreError) -> Halt {
    Halt::fault(
        "the conversation so far could not be read",
        error.to_string(),
    )
}

#[async_trait]
impl Agent for Hermes {
    async fn skills(&self) -> Result<Option<Vec<AgentSkill>>, String> {
        let advertised = self.config.advertised_toolsets.as_deref();
        skills::ask(&self.api, advertised).await.map(Some)
    }

    async fn probe(&self) -> Result<String, String> {
        let peer = self.api.peer();
        let ask = async |path: &str| {
            let answer = self.api.ask(Method::GET, path, None).await?;
            api::json_of(&answer)
        };
        let for_operator = |halt: Halt| format!("{peer}: {}", in_full(halt));
        let health = ask("health").await.map_err(for_operator)?;
        let is_plugin = health.get("platform").and_then(Value::as_str) == Some(PLUGIN_PLATFORM);
        let feature = match self.config.door {
            HermesDoor::Completions => Some("chat_completions_streaming"),
            HermesDoor::Runs => Some("run_stop"),
            HermesDoor::Plugin => None,
        };
        match feature {
            None if !is_plugin => {
                return Err(format!(
                    "{peer} is not nuncio's plugin in Hermes, which the door `plugin` needs"
                ));
            }
            Some(_) if is_plugin => {
                return Err(format!(
                    "{peer} is nuncio's plugin in Hermes: set `door = \"plugin\"`"
                ));
            }
            Some(feature) => {
                let able = ask("v1/capabilities").await.map_err(for_operator)?;
                let features = able.pointer("/features");
                if features.and_then(|it| it.get(feature)) != Some(&Value::Bool(true)) {
                    return Err(format!(
                        "the Hermes at {peer} does not offer `{feature}`, which this door needs"
                    ));
                }
            }
            None => {}
        }
        let version = health.get("version").and_then(Value::as_str);
        Ok(format!(
            "Hermes {} at {peer}",
            version.unwrap_or("of an unknown version")
        ))
    }

    async fn abandon(&self, _: &Session, task_id: &str) {
        self.suspended.abandon(task_id).await;
    }

    async fn forget(&self, session: &Session) {
        // The operator's live session is never noted as a caller's.
        if let Ok(Some(name)) = session.name().await {
            if self.config.door == HermesDoor::Plugin {
                return self.forget_chat(&name).await;
            }
            let path = record::path_of(&name);
            if let Err(halt) = self.api.ask(Method::DELETE, &path, None).await {
                tracing::warn!(reason = in_full(halt), "a session could not be removed");
            }
        }
    }

    async fn stop(&self) {
        self.suspended.stop().await;
    }

    async fn run(&self, turn: Turn, events: &mut TurnEvents) -> TurnEnd {
        match self.config.door {
            HermesDoor::Completions => self.run_completions(turn, events).await,
            HermesDoor::Runs => self.run_runs(turn, events).await,
            HermesDoor::Plugin => self.run_plugin(turn, events).await,
        }
    }
}

/// All that is known of a fault, for the operator.
fn in_full(halt: Halt) -> String {
    match halt {
        Halt::Stopped => "stopped".to_owned(),
        Halt::Fault(reason, detail) if detail.is_empty() => reason,
        Halt::Fault(reason, detail) => format!("{reason}: {detail}"),
    }
}
