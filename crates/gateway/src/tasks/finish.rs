//! How a turn's end becomes a state, and the one way changes are committed.

use nuncio_store::{Append, Change, Durability, StoreError};
use nuncio_wire::{
    A2aError, Artifact, ErrorKind, Message, Metadata, Part, Role, TaskState, TaskStatus,
};
use std::sync::Arc;
use std::time::Duration;

use super::engine::{Engine, store_error};
use super::live::{LiveTask, Verdict};
use super::turn_events::Stopped;
use super::view::Applied;
use crate::agents::{TurnEnd, TurnEvent};
use crate::security::outbound;
use crate::{clock, ids};

use super::encode;

/// First pause before a commit is tried again while the store is away; doubles up to the last.
const FIRST_RETRY: Duration = Duration::from_millis(50);
/// Longest pause between two tries of a commit.
const LAST_RETRY: Duration = Duration::from_secs(5);

/// How a turn came to its end.
pub(super) enum Outcome {
    /// The backend said so, or the caller cancelled.
    Ended(TurnEnd),
    /// It took longer than its limit.
    TimedOut(Duration),
    /// The gateway stops; the next start decides what becomes of the task.
    CutOff,
}

impl Engine {
    /// Commits the turn's last events and its end in one transaction. True: the end that the backend
    /// gave is stored.
    pub(super) async fn finish(
        &self,
        live: &Arc<LiveTask>,
        outcome: Outcome,
        mut changes: Vec<(Change, Applied)>,
    ) -> bool {
        let is_canceled = live.cancel_requested();
        let is_given = matches!(outcome, Outcome::Ended(_)) && !is_canceled;
        if is_canceled {
            changes.clear();
            changes.push(Applied::status(
                live,
                status(TaskState::Canceled, None),
                None,
            ));
        } else {
            let Some(end) = self.decide(live, outcome).await else {
                self.close_turn(live).await;
                return false;
            };
            end.add_to(live, &mut changes);
        }
        if !self.commit_end(live, changes).await {
            self.close_turn(live).await;
            return false;
        }
        if live.state().is_terminal() && live.is_worker() {
            self.forget_worker(live).await;
        }
        if live.take_late_cancel() {
            self.cancel_now(live).await;
        }
        is_given
    }

    /// Forgets the turn; if somebody asked for its end and waits for it, the task ends now.
    pub(super) async fn close_turn(&self, live: &Arc<LiveTask>) {
        if live.end_turn() {
            self.cancel_now(live).await;
        }
    }

    /// The work is done: nobody comes back to the worker.
    pub(super) async fn forget_worker(&self, live: &LiveTask) {
        let session = self.session(&live.agent, &live.owner, &live.context_id);
        if let Some(agent) = self.agents.get(&live.agent) {
            agent.backend.forget(&session).await;
        }
        if let Err(error) = session.forget().await {
            tracing::warn!(%error, task = %live.id, "a worker's session is still noted");
        }
    }

    async fn cancel_now(&self, live: &LiveTask) {
        let canceled = Applied::status(live, status(TaskState::Canceled, None), None);
        if self.commit_end(live, vec![canceled]).await && live.is_worker() {
            self.forget_worker(live).await;
        }
    }

    async fn commit_end(&self, live: &LiveTask, changes: Vec<(Change, Applied)>) -> bool {
        let stored = self.commit(live, changes, Durability::Synced).await.is_ok();
        // Only a stopping gateway gives up here, and then the next start takes care of the task.
        if !stored {
            tracing::warn!(task = %live.id, "the end of a turn could not be stored");
        }
        stored
    }

    /// What the task becomes; `None`: nothing, it is no task after all or the gateway stops.
    async fn decide(&self, live: &Arc<LiveTask>, outcome: Outcome) -> Option<End> {
        let end = match outcome {
            Outcome::CutOff => return None,
            Outcome::TimedOut(limit) => {
                let text = format!("The agent did not finish within {} s.", limit.as_secs());
                return Some(End::failed(live, "turn_timeout", text));
            }
            Outcome::Ended(end) => end,
        };
        Some(match end {
            TurnEnd::Completed(message) => End::new(TaskState::Completed, message),
            TurnEnd::InputRequired(message) => End::new(TaskState::InputRequired, Some(message)),
            TurnEnd::AuthRequired(message) => End::new(TaskState::AuthRequired, Some(message)),
            TurnEnd::Rejected(message) => End::new(TaskState::Rejected, Some(message)),
            TurnEnd::Failed(text) => End::failed(live, "agent_failed", text),
            TurnEnd::FailedWith(message) => End::new(TaskState::Failed, Some(message)),
            TurnEnd::Canceled => End::new(TaskState::Canceled, None),
            TurnEnd::Answered(message) => {
                let message = Arc::new(message);
                if self
                    .withdraw(live, Verdict::Answered(message.clone()))
                    .await
                {
                    return None;
                }
                End::answered_late(&message)
            }
            TurnEnd::Refused(error) => {
                if self.withdraw(live, Verdict::Refused(error.clone())).await {
                    return None;
                }
                let text = error.message.into_owned();
                End::new(TaskState::Rejected, Some(said(live, text, "refused")))
            }
        })
    }

    /// Takes the task back before anybody was told of it.
    async fn withdraw(&self, live: &LiveTask, verdict: Verdict) -> bool {
        if !live.withdraw(verdict) {
            return false;
        }
        self.push.forget_task(&live.id);
        if let Err(error) = self.store.discard_task(&live.id).await {
            tracing::error!(%error, task = %live.id, "a withdrawn task stays in the store");
        }
        true
    }

    /// Commits changes, however long the store is away. Ends without them only when the task may
    /// not change any more or the gateway stops.
    pub(super) async fn commit(
        &self,
        live: &LiveTask,
        changes: Vec<(Change, Applied)>,
        durability: Durability,
    ) -> Result<(), Stopped> {
        if changes.is_empty() {
            return Ok(());
        }
        let (changes, applied): (Vec<_>, Vec<_>) = changes.into_iter().unzip();
        let mut writer = live.writer.lock().await;
        let mut pause = FIRST_RETRY;
        loop {
            let append = Append {
                task: live.id.clone(),
                version: writer.version,
                lease_epoch: writer.lease_epoch,
                changes: changes.clone(),
                durability,
            };
            match self.store.append(append).await {
                Ok(version) => {
                    writer.version = version;
                    live.apply(applied, version);
                    self.push.moved(&live.id);
                    return Ok(());
                }
                Err(StoreError::Unavailable(error)) => {
                    tracing::error!(%error, task = %live.id, "store away; trying again");
                }
                Err(StoreError::Damaged(error)) => {
                    tracing::error!(%error, task = %live.id, "the store is beyond use");
                    self.broken.cancel();
                    return Err(Stopped);
                }
                Err(error) => {
                    tracing::warn!(%error, task = %live.id, "change not taken");
                    return Err(Stopped);
                }
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => pause = (pause * 2).min(LAST_RETRY),
                () = self.stopping.cancelled() => return Err(Stopped),
            }
        }
    }

    /// Commits changes or says why not: where a caller waits who can try again.
    pub(super) async fn commit_once(
        &self,
        live: &LiveTask,
        changes: Vec<(Change, Applied)>,
        durability: Durability,
    ) -> Result<u64, A2aError> {
        let (changes, applied): (Vec<_>, Vec<_>) = changes.into_iter().unzip();
        let mut writer = live.writer.lock().await;
        let append = Append {
            task: live.id.clone(),
            version: writer.version,
            lease_epoch: writer.lease_epoch,
            changes,
            durability,
        };
        let version = self
            .store
            .append(append)
            .await
            .map_err(|error| match error {
                StoreError::Stale { state, .. } => {
                    let text = format!(
                        "Task {} moved on to {state}; read it and try again.",
                        live.id
                    );
                    A2aError::new(ErrorKind::UnsupportedOperation, text).with("taskId", &*live.id)
                }
                error => store_error(error),
            })?;
        writer.version = version;
        live.apply(applied, version);
        self.push.moved(&live.id);
        Ok(version)
    }
}

/// The status a turn ends in, and an artifact that belongs to it.
struct End {
    status: TaskStatus,
    artifact: Option<Artifact>,
}

impl End {
    fn new(state: TaskState, message: Option<Message>) -> Self {
        Self {
            status: status(state, message),
            artifact: None,
        }
    }

    fn failed(live: &LiveTask, reason: &str, text: String) -> Self {
        Self::new(TaskState::Failed, Some(said(live, text, reason)))
    }

    /// A direct answer after the caller was told of a task: the answer is the task's result.
    fn answered_late(message: &Message) -> Self {
        let artifact = Artifact::new("answer", message.parts.clone());
        Self {
            artifact: Some(artifact),
            ..Self::new(TaskState::Completed, None)
        }
    }

    fn add_to(mut self, live: &LiveTask, changes: &mut Vec<(Change, Applied)>) {
        if let Some(artifact) = self.artifact.take()
            && let TurnEvent::Artifact { artifact, .. } =
                outbound::release(TurnEvent::artifact(artifact))
        {
            let ids = (&*live.id, &*live.context_id);
            let (event, range) = encode::artifact_update(ids, &artifact, false, true, None);
            let change = Change::Artifact {
                artifact_id: artifact.artifact_id.as_str().into(),
                append: false,
                event: event.clone(),
                artifact: range,
            };
            changes.push((
                change,
                Applied::Artifact {
                    artifact,
                    append: false,
                    event,
                },
            ));
        }
        self.status.message = self.status.message.map(|mut message| {
            message.context_id = Some(live.context_id.to_string());
            message.task_id = Some(live.id.to_string());
            outbound::release_message(message)
        });
        changes.push(Applied::status(live, self.status, None));
    }
}

fn status(state: TaskState, message: Option<Message>) -> TaskStatus {
    TaskStatus {
        state,
        message,
        timestamp: Some(clock::now()),
    }
}

/// A text of the gateway about a task, with its reason for programs.
pub(super) fn said(live: &LiveTask, text: String, reason: &str) -> Message {
    let mut message = Message::new(ids::new_id(), Role::Agent, vec![Part::text(text)]);
    message.context_id = Some(live.context_id.to_string());
    message.task_id = Some(live.id.to_string());
    message.metadata = Metadata::parse(format!(r#"{{"reason":"{reason}"}}"#)).ok();
    message
}
