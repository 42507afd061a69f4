//! One run of Hermes: heard to its end, asked, decided and stopped.
//!
//! Knows no session and no history: `runs.rs` begins runs and says what becomes of their turn.

use http::{HeaderMap, Method, StatusCode};
use nuncio_client::{ServiceReply, ServiceStream};
use nuncio_wire::RawJson;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;
use tokio_util::task::TaskTracker;

use super::api::{self, Api};
use super::{Outcome, STOP_LIMIT};
use crate::agents::completions::{Halt, as_metadata, tool_in_use};
use crate::agents::reply::{Heard, Source};
use crate::agents::{Turn, TurnEvent};
use crate::config::HermesApprovals;

/// Where runs are.
const RUNS: &str = "v1/runs";
/// The event of a run that wants a command to be approved, and its state from then on.
const APPROVAL: &str = "approval.request";
const WAITS_FOR_APPROVAL: &str = "waiting_for_approval";
/// How often a run is asked for that cannot be listened to.
const POLL_PERIOD: Duration = Duration::from_secs(1);

/// A run of Hermes. It is stopped when dropped before its end.
pub(super) struct Run {
    api: Api,
    id: String,
    turn: Turn,
    stream: Option<Box<ServiceStream>>,
    pending: String,
    next: Option<TurnEvent>,
    end: Option<End>,
    /// A request for approval that its caller is to decide.
    asked: Option<Value>,
    approvals: HermesApprovals,
    /// A request for approval is to be denied.
    denies: bool,
    used_tools: bool,
    has_spoken: bool,
    /// Bytes that may still be said.
    left: usize,
    tracker: TaskTracker,
}

/// How a run ended.
enum End {
    Completed(Option<RawJson>),
    Failed(String),
    Stopped,
}

/// What became of a decision about a command.
enum Heeded {
    InTime,
    /// The run has gone on without the command.
    TooLate,
    /// There is no such run: Hermes was started anew.
    NoRun,
}

/// An event of a run, or its state where it has to be asked for.
#[derive(Deserialize)]
struct Told {
    #[serde(default, alias = "status")]
    event: String,
    #[serde(default)]
    delta: Option<String>,
    #[serde(default)]
    output: Option<String>,
    #[serde(default)]
    usage: Option<RawJson>,
    #[serde(default)]
    error: Option<Value>,
    #[serde(default)]
    tool: Option<String>,
}

/// What a run is started with, beside what it is asked.
pub(super) struct Terms {
    pub(super) api: Api,
    pub(super) approvals: HermesApprovals,
    /// Bytes that it may say.
    pub(super) limit: usize,
    /// Where it is stopped when it is dropped.
    pub(super) tracker: TaskTracker,
}

impl Run {
    /// Starts a run of `turn`, which is asked for by this request.
    pub(super) async fn start(
        terms: Terms,
        turn: Turn,
        headers: HeaderMap,
        request: Value,
    ) -> Result<Self, Halt> {
        let asked = terms.api.call(Method::POST, RUNS, headers, Some(&request));
        let started = api::json_of(&asked.await?)?;
        let id = started.get("run_id").and_then(Value::as_str);
        let id = id.filter(|id| {
            id.chars()
                .all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
        });
        let id = id.ok_or_else(|| api::unreadable("a run without an id"))?;
        Ok(Self {
            id: id.to_owned(),
            api: terms.api,
            turn,
            stream: None,
            pending: String::new(),
            next: None,
            end: None,
            asked: None,
            approvals: terms.approvals,
            denies: false,
            used_tools: false,
            has_spoken: false,
            left: terms.limit,
            tracker: terms.tracker,
        })
    }

    /// What its caller is to approve.
    pub(super) fn asked(&self) -> Option<&Value> {
        self.asked.as_ref()
    }

    /// Goes on with the turn in which its caller answers; `allows` is what was decided. False: Hermes
    /// does not know the run any more.
    pub(super) async fn go_on(&mut self, turn: &Turn, allows: bool) -> Result<bool, Halt> {
        self.turn = turn.clone();
        self.asked = None;
        match self.decide(allows).await? {
            Heeded::InTime => {}
            Heeded::TooLate => {
                // Hermes does not wait for ever.
                let text = "The answer came too late: the agent has gone on without the command.";
                self.next = Some(TurnEvent::Progress {
                    message: Some(turn.reply_text(text)),
                    metadata: None,
                });
            }
            Heeded::NoRun => {
                self.end = Some(End::Stopped);
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn path(&self, rest: &str) -> String {
        format!("{RUNS}/{}{rest}", self.id)
    }

    /// Begins to hear it.
    pub(super) async fn listen(&mut self) -> Result<(), Halt> {
        let path = self.path("/events");
        let asked = self.api.stream(Method::GET, &path, HeaderMap::new(), None);
        match asked.await? {
            ServiceReply::Stream(_, stream) => self.stream = Some(stream),
            ServiceReply::Answer(answer) => return Err(api::refused(&answer)),
        }
        Ok(())
    }

    /// Stops the run and waits until it has stopped, for a moment.
    pub(super) async fn stop(&mut self) {
        if self.end.is_some() {
            return;
        }
        let stopping = async {
            ask_to_stop(&self.api, &self.id).await;
            // Nothing waits for its caller any longer.
            self.asked = None;
            // What is still said is not wanted; the end is.
            self.approvals = HermesApprovals::Deny;
            let mut lost = String::new();
            while let Ok(Heard::Text | Heard::Event(_)) = self.hear(&mut lost).await {
                lost.clear();
            }
        };
        if tokio::time::timeout(STOP_LIMIT, stopping).await.is_err() {
            tracing::warn!(run = self.id, "Hermes did not stop a run in time");
        }
        // It was asked: asking again does not help.
        self.end.get_or_insert(End::Stopped);
    }

    async fn decide(&self, allows: bool) -> Result<Heeded, Halt> {
        let choice = if allows { "once" } else { "deny" };
        let body = json!({ "choice": choice });
        let path = self.path("/approval");
        let answer = self.api.ask(Method::POST, &path, Some(&body)).await?;
        match answer.status {
            StatusCode::CONFLICT => Ok(Heeded::TooLate),
            StatusCode::NOT_FOUND => Ok(Heeded::NoRun),
            _ => api::json_of(&answer).map(|_| Heeded::InTime),
        }
    }

    /// How it ended.
    pub(super) fn outcome(&self) -> Result<Outcome, Halt> {
        match &self.end {
            Some(End::Completed(usage)) => {
                if let Some(usage) = usage {
                    let (agent, task) = (&self.turn.agent, &self.turn.task_id);
                    tracing::info!(%agent, %task, usage = %usage.get(), "model used");
                }
                Ok(Outcome {
                    about: usage.as_ref().map(as_metadata),
                    may_repeat: !self.used_tools,
                })
            }
            Some(End::Failed(error)) => Err(Halt::fault("the agent's turn failed", error)),
            Some(End::Stopped) | None => {
                Err(Halt::fault("the agent's turn was stopped on its side", ""))
            }
        }
    }

    fn take(&mut self, data: &str) -> Result<(), Halt> {
        let told: Told =
            serde_json::from_str(data).map_err(|error| api::unreadable(&error.to_string()))?;
        match told.event.as_str() {
            "message.delta" => self.say(told.delta.unwrap_or_default())?,
            "tool.started" => {
                self.used_tools = true;
                let tool = told.tool.unwrap_or_default();
                self.next = Some(tool_in_use(&self.turn, &tool));
            }
            APPROVAL | WAITS_FOR_APPROVAL if self.approvals == HermesApprovals::Ask => {
                self.asked = serde_json::from_str(data).ok();
            }
            APPROVAL | WAITS_FOR_APPROVAL => {
                tracing::info!(task = %self.turn.task_id, "a command was not approved");
                self.denies = true;
            }
            "run.completed" | "completed" => {
                // Where nothing was streamed the whole answer is here.
                if !self.has_spoken {
                    self.say(told.output.unwrap_or_default())?;
                }
                let usage = told.usage.filter(|usage| usage.get() != "null");
                self.end = Some(End::Completed(usage));
            }
            "run.failed" | "failed" => {
                let error = told.error.as_ref().map(ToString::to_string);
                self.end = Some(End::Failed(error.unwrap_or_default()));
            }
            "run.cancelled" | "cancelled" => self.end = Some(End::Stopped),
            _ => {}
        }
        Ok(())
    }

    fn say(&mut self, text: String) -> Result<(), Halt> {
        self.has_spoken |= !text.is_empty();
        self.left = self.left.checked_sub(text.len()).ok_or_else(|| {
            let reason = "the agent said more than it may and was stopped";
            Halt::fault(reason, "max_output_bytes")
        })?;
        self.pending.push_str(&text);
        Ok(())
    }

    /// Waits for the next event; where there are none any longer, asks for the run's state.
    async fn next(&mut self) -> Result<(), Halt> {
        let Some(stream) = &mut self.stream else {
            tokio::time::sleep(POLL_PERIOD).await;
            let answer = self.api.ask(Method::GET, &self.path(""), None).await?;
            if !answer.status.is_success() {
                return Err(api::refused(&answer));
            }
            let state = std::str::from_utf8(&answer.body);
            let state = state
                .map_err(|error| api::unreadable(&error.to_string()))?
                .to_owned();
            return self.take(&state);
        };
        match stream.next().await {
            Ok(Some(event)) => self.take(&event.data),
            Ok(None) if !self.has_spoken => {
                self.stream = None;
                Ok(())
            }
            Ok(None) => Err(Halt::fault("the agent's answer broke off", "end of events")),
            Err(error) => Err(Halt::fault("the agent's answer broke off", error.message)),
        }
    }
}

impl Source for Run {
    type Halt = Halt;

    async fn hear(&mut self, text: &mut String) -> Result<Heard, Halt> {
        loop {
            if !self.pending.is_empty() {
                text.push_str(&self.pending);
                self.pending.clear();
                return Ok(Heard::Text);
            }
            if let Some(event) = self.next.take() {
                return Ok(Heard::Event(event));
            }
            if self.end.is_some() || self.asked.is_some() {
                return Ok(Heard::End);
            }
            // Remembered until it is done, since this may be dropped and called again.
            if self.denies {
                self.decide(false).await?;
                self.denies = false;
            }
            self.next().await?;
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if self.end.is_none() {
            let (api, id) = (self.api.clone(), std::mem::take(&mut self.id));
            self.tracker
                .spawn(async move { ask_to_stop(&api, &id).await });
        }
    }
}

async fn ask_to_stop(api: &Api, id: &str) {
    let path = format!("{RUNS}/{id}/stop");
    // Refused when it has ended already, which is as good.
    if let Err(halt) = api.ask(Method::POST, &path, None).await {
        tracing::warn!(
            run = id,
            reason = super::in_full(halt),
            "a run could not be stopped"
        );
    }
}
