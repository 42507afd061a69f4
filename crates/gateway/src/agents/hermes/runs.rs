//! The door `runs`: a run a turn, given what was said before; it is stopped when the turn is.
//!
//! A run that was begun is either heard to its end or stopped, whatever becomes of the turn.

use http::{HeaderMap, Method};
use nuncio_client::{ServiceReply, ServiceStream};
use nuncio_wire::RawJson;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;
use tokio_util::task::TaskTracker;

use super::api::{self, Api};
use super::approvals::{self, Suspended};
use super::{Hermes, MODEL, Opened, Outcome, conclude, record, sessions, silent, warm_up};
use crate::agents::completions::{Halt, as_metadata, content, tool_in_use};
use crate::agents::reply::{Heard, Reply, Source};
use crate::agents::{Turn, TurnEnd, TurnEvent, TurnEvents, fault, prompt};
use crate::config::HermesApprovals;

/// Where runs are.
const RUNS: &str = "v1/runs";
/// How long a run may take to be stopped: a cancelled turn is over within five seconds.
const STOP_LIMIT: Duration = Duration::from_secs(4);
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

impl Hermes {
    /// A turn by runs: again once if it said nothing at all.
    pub(super) async fn run_runs(&self, turn: Turn, events: &mut TurnEvents) -> TurnEnd {
        if let Some(suspended) = self.suspended.take(&turn.task_id) {
            return self.go_on(turn, suspended, events).await;
        }
        if self.config.approvals == HermesApprovals::Ask {
            match approvals::is_answer(&turn).await {
                Ok(false) => {}
                Ok(true) => return fault::failed(&turn, "what was to be approved is gone", ""),
                Err(Halt::Stopped) => return TurnEnd::Canceled,
                Err(Halt::Fault(reason, detail)) => return fault::failed(&turn, &reason, &detail),
            }
        }
        for attempt in 1.. {
            let mut run = match self.begin(&turn).await {
                Ok(begun) => begun,
                Err(Halt::Stopped) => return TurnEnd::Canceled,
                Err(Halt::Fault(reason, detail)) => return fault::failed(&turn, &reason, &detail),
            };
            let (end, may_repeat) = self.follow(&turn, &mut run, events).await;
            match end {
                Some(end) => return self.suspend_if_asked(&turn, run, end),
                None if attempt == 1 && may_repeat => {
                    drop(run);
                    if warm_up(&turn).await.is_err() {
                        return TurnEnd::Canceled;
                    }
                }
                None => break,
            }
        }
        silent(&turn)
    }

    /// Passes on what the caller said about a command, and hears the rest.
    async fn go_on(&self, turn: Turn, mut it: Suspended, events: &mut TurnEvents) -> TurnEnd {
        let allows = approvals::is_yes(&turn.message);
        it.run.turn = turn.clone();
        it.run.asked = None;
        match it.run.decide(allows).await {
            Ok(true) => {}
            // Hermes does not wait for ever.
            Ok(false) => {
                let text = "The answer came too late: the agent has gone on without the command.";
                it.run.next = Some(TurnEvent::Progress {
                    message: Some(turn.reply_text(text)),
                    metadata: None,
                });
            }
            Err(Halt::Stopped) => return TurnEnd::Canceled,
            Err(Halt::Fault(reason, detail)) => return fault::failed(&turn, &reason, &detail),
        }
        match self.follow(&turn, &mut it, events).await.0 {
            Some(end) => self.suspend_if_asked(&turn, it, end),
            None => silent(&turn),
        }
    }

    /// Keeps a run whose caller was asked something.
    fn suspend_if_asked(&self, turn: &Turn, it: Suspended, end: TurnEnd) -> TurnEnd {
        let Some(request) = it
            .run
            .asked
            .as_ref()
            .filter(|_| !turn.cancel.is_cancelled())
        else {
            return end;
        };
        let question = approvals::question(turn, request);
        self.suspended.keep(&turn.task_id, it);
        TurnEnd::InputRequired(question)
    }

    /// Starts a run. If the turn is cancelled meanwhile, the run is stopped as soon as it is known.
    async fn begin(&self, turn: &Turn) -> Result<Suspended, Halt> {
        let prepare = async {
            let opened = self.open(turn).await?;
            let history = record::history(&self.api, turn, &opened).await?;
            Ok::<_, Halt>((opened, history))
        };
        let (opened, history) = tokio::select! {
            biased;
            () = turn.cancel.cancelled() => return Err(Halt::Stopped),
            prepared = prepare => prepared?,
        };
        let mut start = Box::pin(self.start(turn, &opened, history));
        let mut run = tokio::select! {
            biased;
            started = &mut start => started?,
            () = turn.cancel.cancelled() => {
                if let Ok(Ok(mut run)) = tokio::time::timeout(STOP_LIMIT, &mut start).await {
                    run.stop().await;
                }
                return Err(Halt::Stopped);
            }
        };
        drop(start);
        tokio::select! {
            biased;
            () = turn.cancel.cancelled() => {
                run.stop().await;
                return Err(Halt::Stopped);
            }
            listening = run.listen() => listening?,
        }
        self.remember(turn, &opened, &opened.name).await?;
        Ok(Suspended {
            run,
            _place: opened.place,
        })
    }

    async fn start(&self, turn: &Turn, opened: &Opened, history: Vec<Value>) -> Result<Run, Halt> {
        let body = json!({
            "model": MODEL,
            "input": content::as_text(&self.parts(turn)),
            "session_id": opened.name,
            "conversation_history": history,
            "instructions": prompt::about(turn),
        });
        let mut headers = self.memory_headers(turn);
        let key = sessions::idempotency_key(turn);
        api::insert(&mut headers, "idempotency-key", &key);
        let asked = self.api.call(Method::POST, RUNS, headers, Some(&body));
        let started = api::json_of(&asked.await?)?;
        let id = started.get("run_id").and_then(Value::as_str);
        let id = id.filter(|id| {
            id.chars()
                .all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
        });
        let id = id.ok_or_else(|| api::unreadable("a run without an id"))?;
        Ok(Run {
            api: self.api.clone(),
            id: id.to_owned(),
            turn: turn.clone(),
            stream: None,
            pending: String::new(),
            next: None,
            end: None,
            asked: None,
            approvals: self.config.approvals,
            denies: false,
            used_tools: false,
            has_spoken: false,
            left: self.config.max_output_bytes,
            tracker: self.suspended.tracker().clone(),
        })
    }

    /// Hears a run until it ends or asks. Says how the turn ends, if anything was said, and whether
    /// nothing speaks against asking again.
    async fn follow(
        &self,
        turn: &Turn,
        it: &mut Suspended,
        events: &mut TurnEvents,
    ) -> (Option<TurnEnd>, bool) {
        let mut reply = Reply::of_model();
        let heard = tokio::select! {
            biased;
            () = turn.cancel.cancelled() => Err(Halt::Stopped),
            heard = reply.stream(&mut it.run, events) => heard,
        };
        if it.run.asked.is_some() && heard.is_ok() {
            reply.cut_off(events);
            return (Some(TurnEnd::Completed(None)), false);
        }
        if heard.is_err() {
            it.run.stop().await;
        }
        let answer = heard.and_then(|()| it.run.outcome());
        let may_repeat = matches!(&answer, Ok(outcome) if outcome.may_repeat);
        (conclude(turn, reply, answer, events), may_repeat)
    }
}

impl Run {
    fn path(&self, rest: &str) -> String {
        format!("{RUNS}/{}{rest}", self.id)
    }

    async fn listen(&mut self) -> Result<(), Halt> {
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

    /// Whether the decision came in time.
    async fn decide(&self, allows: bool) -> Result<bool, Halt> {
        let choice = if allows { "once" } else { "deny" };
        let body = json!({ "choice": choice });
        let path = self.path("/approval");
        let answer = self.api.ask(Method::POST, &path, Some(&body)).await?;
        if answer.status == http::StatusCode::CONFLICT {
            return Ok(false);
        }
        api::json_of(&answer).map(|_| true)
    }

    fn outcome(&mut self) -> Result<Outcome, Halt> {
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
            "approval.request" if self.approvals == HermesApprovals::Ask => {
                self.asked = serde_json::from_str(data).ok();
            }
            "approval.request" => {
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
