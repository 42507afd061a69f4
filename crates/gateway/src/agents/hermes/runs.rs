//! The door `runs`: a run a turn, given what was said before; it is stopped when the turn is.
//!
//! A run that was begun is either heard to its end or stopped, whatever becomes of the turn.

use serde_json::{Value, json};

use super::approvals::{self, Suspended};
use super::run::{Run, Terms};
use super::{Hermes, MODEL, STOP_LIMIT, conclude, record, sessions, silent, warm_up};
use crate::agents::completions::{Halt, content};
use crate::agents::reply::Reply;
use crate::agents::{Turn, TurnEnd, TurnEvents, fault, prompt};
use crate::config::HermesApprovals;

/// What is said to an answer whose question is gone: the run ended with a restart, on either side, or
/// was stopped because it waited too long.
const GONE: &str = "What was to be approved is gone: it waited too long, or was lost in a restart. Send \
    the message again.";

impl Hermes {
    /// A turn by runs: again once if it said nothing at all.
    pub(super) async fn run_runs(&self, turn: Turn, events: &mut TurnEvents) -> TurnEnd {
        if let Some(suspended) = self.suspended.take(&turn.task_id) {
            return self.go_on(turn, suspended, events).await;
        }
        if self.config.approvals == HermesApprovals::Ask {
            match approvals::is_answer(&turn).await {
                Ok(false) => {}
                Ok(true) => return fault::lost(&turn, GONE),
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
        let decided = tokio::select! {
            biased;
            () = turn.cancel.cancelled() => Err(Halt::Stopped),
            decided = it.run.go_on(&turn, allows) => decided,
        };
        match decided {
            Ok(true) => {}
            Ok(false) => return fault::lost(&turn, GONE),
            Err(halt) => {
                it.run.stop().await;
                return match halt {
                    Halt::Stopped => TurnEnd::Canceled,
                    Halt::Fault(reason, detail) => fault::failed(&turn, &reason, &detail),
                };
            }
        }
        match self.follow(&turn, &mut it, events).await.0 {
            Some(end) => self.suspend_if_asked(&turn, it, end),
            None => silent(&turn),
        }
    }

    /// Keeps a run whose caller was asked something.
    fn suspend_if_asked(&self, turn: &Turn, it: Suspended, end: TurnEnd) -> TurnEnd {
        let asked = it.run.asked();
        let Some(request) = asked.filter(|_| !turn.cancel.is_cancelled()) else {
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
            let (history, name) = record::history(&self.api, turn, &opened).await?;
            Ok::<_, Halt>((opened, history, name))
        };
        let (opened, history, name) = tokio::select! {
            biased;
            () = turn.cancel.cancelled() => return Err(Halt::Stopped),
            prepared = prepare => prepared?,
        };
        // On its own, since what was asked for may begin whether it is waited for or not: a run that
        // nobody takes is stopped as soon as it is known.
        let start = self.start(turn, &name, history);
        let mut start = self.suspended.tracker().spawn(start);
        let mut run = tokio::select! {
            biased;
            started = &mut start => taken(started)?,
            () = turn.cancel.cancelled() => {
                if let Ok(Ok(Ok(mut run))) = tokio::time::timeout(STOP_LIMIT, &mut start).await {
                    run.stop().await;
                }
                return Err(Halt::Stopped);
            }
        };
        tokio::select! {
            biased;
            () = turn.cancel.cancelled() => {
                run.stop().await;
                return Err(Halt::Stopped);
            }
            listening = run.listen() => listening?,
        }
        self.remember(turn, &opened, &name).await?;
        Ok(Suspended {
            run,
            _place: opened.place,
        })
    }

    fn start(
        &self,
        turn: &Turn,
        session: &str,
        history: Vec<Value>,
    ) -> impl Future<Output = Result<Run, Halt>> + Send + use<> {
        let request = json!({
            "model": MODEL,
            "input": content::as_text(&self.parts(turn)),
            "session_id": session,
            "conversation_history": history,
            "instructions": prompt::about(turn),
        });
        let mut headers = self.memory_headers(turn);
        let key = sessions::idempotency_key(turn);
        super::api::insert(&mut headers, "idempotency-key", &key);
        let terms = Terms {
            api: self.api.clone(),
            approvals: self.config.approvals,
            limit: self.config.max_output_bytes,
            tracker: self.suspended.tracker().clone(),
        };
        Run::start(terms, turn.clone(), headers, request)
    }

    /// Hears a run until it ends or asks. Says how the turn ends, if anything was said, and whether
    /// nothing speaks against asking again.
    async fn follow(
        &self,
        turn: &Turn,
        it: &mut Suspended,
        events: &mut TurnEvents,
    ) -> (Option<TurnEnd>, bool) {
        let mut reply = Reply::of_model().within(self.config.max_output_bytes);
        let heard = tokio::select! {
            biased;
            () = turn.cancel.cancelled() => Err(Halt::Stopped),
            heard = reply.stream(&mut it.run, events) => heard,
        };
        if it.run.asked().is_some() && heard.is_ok() {
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

/// What came of a task that starts a run.
fn taken(started: Result<Result<Run, Halt>, tokio::task::JoinError>) -> Result<Run, Halt> {
    started
        .unwrap_or_else(|error| Err(Halt::fault("the agent's turn broke off", error.to_string())))
}
