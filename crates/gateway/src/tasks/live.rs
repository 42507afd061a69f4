//! A task in motion: its present view ([`super::view`]), its turn, who waits for it.
//!
//! Exists while a turn is queued or running or somebody watches. Everything in it was committed
//! before it got here; [`Writer`] is the one right to commit more.

use bytes::Bytes;
use nuncio_store::TaskRecord;
use nuncio_wire::dialects::Dialect;
use nuncio_wire::{A2aError, Message, Task, TaskState};
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::encode;
use super::live_tasks::LiveTasks;
use super::view::{Applied, View};
use crate::fleet::workers;

/// An event as subscribers get it.
#[derive(Clone, Debug)]
pub struct LiveEvent {
    /// The task's version it made.
    pub version: u64,
    /// JSON of the 1.0 `StreamResponse`.
    pub payload: Bytes,
    /// The state the task entered, for status events.
    pub state: Option<TaskState>,
}

/// How far a task is; a copy that waiters compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Progress {
    pub(super) version: u64,
    pub(super) state: TaskState,
    /// The task turned out to be no task: see [`Verdict`].
    pub(super) withdrawn: bool,
}

/// What came instead of a task.
#[derive(Clone, Debug)]
pub(super) enum Verdict {
    Answered(Arc<Message>),
    Refused(A2aError),
}

/// A task in motion.
pub struct LiveTask {
    /// The task's id.
    pub id: Arc<str>,
    /// The agent that does it.
    pub agent: Arc<str>,
    /// Whose it is.
    pub owner: Arc<str>,
    /// The conversation it belongs to.
    pub context_id: Arc<str>,
    /// The dialect it was made in.
    pub dialect: Dialect,
    table: Arc<LiveTasks>,
    view: Mutex<View>,
    progress: watch::Sender<Progress>,
    pub(super) writer: tokio::sync::Mutex<Writer>,
}

/// Which agent does a task, for whom, and in which dialect it was asked for.
pub(super) struct Whose {
    pub(super) agent: Arc<str>,
    pub(super) owner: Arc<str>,
    pub(super) dialect: Dialect,
}

/// The turn that is queued or running.
#[derive(Clone)]
pub(super) struct TurnControl {
    pub(super) cancel: CancellationToken,
    /// The caller asked for the end, so nothing but CANCELED may follow.
    pub(super) cancel_requested: bool,
}

/// The right to commit changes: what the next change is made against.
pub(super) struct Writer {
    pub(super) version: u64,
    pub(super) lease_epoch: u64,
}

impl LiveTask {
    /// A task that was just made, at version 1.
    pub(super) fn new(table: &Arc<LiveTasks>, whose: Whose, task: Task) -> Self {
        Self::at(table, whose, task, 1, 0)
    }

    /// A task read from the store.
    pub(super) fn from_record(
        table: &Arc<LiveTasks>,
        record: &TaskRecord,
    ) -> Result<Self, nuncio_store::StoreError> {
        let whose = Whose {
            agent: record.agent.clone(),
            owner: record.owner.clone(),
            dialect: record.dialect,
        };
        let mut task = record.to_task()?;
        task.artifacts = task.artifacts.filter(|artifacts| !artifacts.is_empty());
        let live = Self::at(table, whose, task, record.version, record.lease_epoch);
        live.view.lock().announced = true;
        Ok(live)
    }

    fn at(
        table: &Arc<LiveTasks>,
        whose: Whose,
        task: Task,
        version: u64,
        lease_epoch: u64,
    ) -> Self {
        let progress = Progress {
            version,
            state: task.status.state,
            withdrawn: false,
        };
        Self {
            id: task.id.as_str().into(),
            agent: whose.agent,
            owner: whose.owner,
            context_id: task.context_id.as_str().into(),
            dialect: whose.dialect,
            table: table.clone(),
            progress: watch::Sender::new(progress),
            writer: tokio::sync::Mutex::new(Writer {
                version,
                lease_epoch,
            }),
            view: Mutex::new(View::of(task, version)),
        }
    }

    /// The task as it stands.
    #[must_use]
    pub fn task(&self) -> Task {
        self.view.lock().task.clone()
    }

    /// The version the task stands at.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.view.lock().version
    }

    /// `{"task":…}` of the task as it stands, with at most this many messages of history.
    #[must_use]
    pub fn snapshot(&self, history: Option<u32>) -> LiveEvent {
        let view = self.view.lock();
        let state = Some(view.task.status.state);
        let payload = match history {
            None => encode::snapshot(&view.task),
            Some(_) => {
                let mut task = view.task.clone();
                task.limit_history(history);
                encode::snapshot(&task)
            }
        };
        LiveEvent {
            version: view.version,
            payload,
            state,
        }
    }

    /// The state the task is in.
    #[must_use]
    pub fn state(&self) -> TaskState {
        self.progress.borrow().state
    }

    /// Whether its conversation ends with it.
    pub(super) fn is_worker(&self) -> bool {
        workers::is_worker(self.view.lock().task.metadata.as_ref())
    }

    /// The task's first message: what opened it.
    pub(super) fn opening(&self) -> Option<Message> {
        self.view.lock().task.history.first().cloned()
    }

    pub(super) fn watch(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    /// Events after `cursor` from the tail. `None`: some of them are no longer here.
    pub(super) fn tail_after(&self, cursor: u64) -> Option<Vec<LiveEvent>> {
        self.view.lock().tail_after(cursor)
    }

    /// Takes committed changes into the view and wakes who waits. `version` is the one after them.
    pub(super) fn apply(&self, changes: Vec<Applied>, version: u64) {
        let mut view = self.view.lock();
        view.take(changes, version);
        let state = view.task.status.state;
        drop(view);
        self.progress.send_replace(Progress {
            version,
            state,
            withdrawn: false,
        });
    }

    /// Waits until the task is in a final state or waits for somebody, or turns out to be none.
    pub(super) async fn settled(&self, version: u64) -> Option<Verdict> {
        let mut progress = self.watch();
        // The sender lives in `self`, so waiting cannot fail.
        let settled = progress.wait_for(|progress| {
            let state = progress.state;
            progress.withdrawn
                || progress.version >= version && (state.is_terminal() || state.is_interrupted())
        });
        drop(settled.await);
        self.verdict()
    }

    /// Waits at most `limit` for a first event, or for the task turning out to be none; then the
    /// task counts as known.
    pub(super) async fn first_sign(&self, limit: std::time::Duration) -> Option<Verdict> {
        let mut progress = self.watch();
        let signed = progress.wait_for(|progress| progress.withdrawn || progress.version > 1);
        drop(tokio::time::timeout(limit, signed).await);
        self.announce()
    }

    /// Somebody is about to be told the task's id. Gives what came instead, if it is too late.
    pub(super) fn announce(&self) -> Option<Verdict> {
        let mut view = self.view.lock();
        if view.verdict.is_none() {
            view.announced = true;
        }
        view.verdict.clone()
    }

    /// Makes the task no task, unless somebody knows it already or it has events.
    pub(super) fn withdraw(&self, verdict: Verdict) -> bool {
        let mut view = self.view.lock();
        if view.announced || view.version > 1 {
            return false;
        }
        view.verdict = Some(verdict);
        let progress = Progress {
            version: view.version,
            state: view.task.status.state,
            withdrawn: true,
        };
        drop(view);
        self.progress.send_replace(progress);
        true
    }

    pub(super) fn verdict(&self) -> Option<Verdict> {
        self.view.lock().verdict.clone()
    }

    /// Registers a turn. `None` if one is queued or running already.
    pub(super) fn begin_turn(&self) -> Option<CancellationToken> {
        let mut view = self.view.lock();
        if view.turn.is_some() {
            return None;
        }
        let cancel = CancellationToken::new();
        view.turn = Some(TurnControl {
            cancel: cancel.clone(),
            cancel_requested: false,
        });
        Some(cancel)
    }

    /// Forgets the turn. True if its end was asked for and did not come: the task goes on being
    /// cancelable, so the caller who asked must be served now.
    pub(super) fn end_turn(&self) -> bool {
        let mut view = self.view.lock();
        let requested = view.turn.take().is_some_and(|turn| turn.cancel_requested);
        requested && !view.task.status.state.is_terminal()
    }

    /// Takes a request to cancel that came too late for the turn's end but not for the task.
    pub(super) fn take_late_cancel(&self) -> bool {
        let mut view = self.view.lock();
        let late = view.turn.as_ref().is_some_and(|turn| turn.cancel_requested)
            && view.task.status.state.is_interrupted();
        if late || view.task.status.state.is_terminal() {
            view.turn = None;
        }
        late
    }

    /// Asks the turn, if there is one, to end as CANCELED.
    pub(super) fn request_cancel(&self) -> bool {
        let mut view = self.view.lock();
        let Some(turn) = &mut view.turn else {
            return false;
        };
        turn.cancel_requested = true;
        turn.cancel.cancel();
        true
    }

    pub(super) fn cancel_requested(&self) -> bool {
        self.view
            .lock()
            .turn
            .as_ref()
            .is_some_and(|turn| turn.cancel_requested)
    }
}

impl Drop for LiveTask {
    fn drop(&mut self) {
        self.table.forget(&self.id);
    }
}
