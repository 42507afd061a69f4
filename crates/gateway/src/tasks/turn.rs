//! One turn from its place in the lane to its end.

use futures_util::FutureExt as _;
use nuncio_store::Durability;
use nuncio_wire::{TaskState, TaskStatus};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

use super::engine::Engine;
use super::finish::Outcome;
use super::lanes::{Permit, Place};
use super::live::LiveTask;
use super::turn_events::TurnEvents;
use super::view::Applied;
use crate::agents::{Agent, Gate, ServedAgent, Turn, TurnEnd};
use crate::clock;

/// How long a backend may take to stop its work once it was told to; it is dropped after that,
/// which stops the work too. Longer than any backend's own grace (kill after 5 s).
pub(super) const STOP_LIMIT: Duration = Duration::from_secs(15);

impl Engine {
    /// Runs the turn when its place comes up, and ends it.
    pub(super) async fn run_turn(
        self: Arc<Self>,
        live: Arc<LiveTask>,
        agent: Arc<ServedAgent>,
        turn: Turn,
        place: Place,
    ) {
        let cancel = turn.cancel.clone();
        let Some(permit) = self.wait_for_turn(&live, &agent, place, &cancel).await else {
            if turn.is_resumed && cancel.is_cancelled() {
                agent.backend.abandon(&turn.session, &turn.task_id).await;
            }
            return;
        };
        let mut events = TurnEvents::new(self.clone(), live.clone());
        agent.running.fetch_add(1, Ordering::Relaxed);
        let outcome = self
            .run_backend(agent.backend.as_ref(), &agent, turn, &mut events)
            .await;
        agent.running.fetch_sub(1, Ordering::Relaxed);
        let (changes, receipts) = events.into_parts();
        if self.finish(&live, outcome, changes).await {
            for receipt in receipts {
                // Whoever asked may have gone.
                let _ = receipt.send(());
            }
        }
        drop(permit);
    }

    /// Waits for the turn's place. `None`: it was cancelled on the way or the gateway stops; the
    /// task is taken care of.
    async fn wait_for_turn(
        &self,
        live: &Arc<LiveTask>,
        agent: &ServedAgent,
        place: Place,
        cancel: &CancellationToken,
    ) -> Option<Permit> {
        let place = match place {
            Place::Ready(permit) if agent.gate.now() != Gate::Paused => return Some(permit),
            place => place,
        };
        agent.waiting.fetch_add(1, Ordering::Relaxed);
        let begin = async {
            let permit = place.turn().await;
            agent.gate.lets_turns_begin().await;
            permit
        };
        let permit = tokio::select! {
            permit = begin => Some(permit),
            () = cancel.cancelled() => None,
            () = self.stopping.cancelled() => None,
        };
        agent.waiting.fetch_sub(1, Ordering::Relaxed);
        if permit.is_none() {
            if cancel.is_cancelled() {
                self.finish(live, Outcome::Ended(TurnEnd::Canceled), Vec::new())
                    .await;
            }
            return None;
        }
        if live.state() == TaskState::Submitted {
            let status = TaskStatus {
                state: TaskState::Working,
                message: None,
                timestamp: Some(clock::now()),
            };
            let change = vec![Applied::status(live, status, None)];
            // Recorded before the work starts: what may have run is never run again by itself.
            self.commit(live, change, Durability::Synced).await.ok()?;
        }
        permit
    }

    async fn run_backend(
        &self,
        backend: &dyn Agent,
        agent: &ServedAgent,
        turn: Turn,
        events: &mut TurnEvents,
    ) -> Outcome {
        let cancel = turn.cancel.clone();
        let run = AssertUnwindSafe(backend.run(turn, events)).catch_unwind();
        tokio::pin!(run);
        let limit = agent.limits.turn_timeout;
        let reason = tokio::select! {
            biased;
            end = &mut run => return Outcome::of(end),
            () = cancel.cancelled() => Outcome::Ended(TurnEnd::Canceled),
            () = tokio::time::sleep(limit) => Outcome::TimedOut(limit),
            () = self.stopping.cancelled() => Outcome::CutOff,
        };
        if matches!(reason, Outcome::CutOff) && backend.resumes() {
            return reason;
        }
        cancel.cancel();
        if tokio::time::timeout(STOP_LIMIT, &mut run).await.is_err() {
            tracing::warn!(agent = %agent.name, "backend did not stop in time and was dropped");
        }
        reason
    }
}

impl Outcome {
    fn of(end: Result<TurnEnd, Box<dyn std::any::Any + Send>>) -> Self {
        match end {
            Ok(end) => Self::Ended(end),
            Err(_) => {
                tracing::error!("backend panicked; see the message above");
                Self::Ended(TurnEnd::Failed(
                    "The agent failed inside the gateway.".to_owned(),
                ))
            }
        }
    }
}
