//! The engine itself: what all its parts share, and reading tasks.
//!
//! Sending is in `submit`, running in `turn`, ending in `finish`, cancelling in `cancel`.

use futures_util::future::join_all;
use nuncio_store::{Conversation, Include, Store, StoreError, Visibility};
use nuncio_wire::dialects::Dialect;
use nuncio_wire::{A2aError, ErrorKind, Task};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::lanes::Lanes;
use super::live::LiveTask;
use super::live_tasks::LiveTasks;
use super::turn::STOP_LIMIT;
use crate::agents::Agents;
use crate::push::Push;
use crate::sessions::Session;

/// Runs the tasks of one gateway.
pub struct Engine {
    pub(super) store: Arc<dyn Store>,
    pub(super) agents: Arc<Agents>,
    pub(super) push: Arc<Push>,
    pub(super) live: Arc<LiveTasks>,
    pub(super) lanes: Lanes,
    /// Every spawned turn; shutdown waits for them.
    pub(super) turns: TaskTracker,
    /// Fires when the gateway stops: turns still running then are cut off and recovered at the
    /// next start.
    pub(super) stopping: CancellationToken,
    /// Fires when the store is beyond use: nothing may be acknowledged any more.
    pub(super) broken: CancellationToken,
    /// Fires when no turn runs any more: streams of tasks that go on after a restart end then.
    pub(super) over: CancellationToken,
}

impl Engine {
    /// An engine over this store, for these agents.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, agents: Arc<Agents>, push: Arc<Push>) -> Arc<Self> {
        Arc::new(Self {
            store,
            agents,
            push,
            live: Arc::new(LiveTasks::new()),
            lanes: Lanes::new(),
            turns: TaskTracker::new(),
            stopping: CancellationToken::new(),
            broken: CancellationToken::new(),
            over: CancellationToken::new(),
        })
    }

    /// The store behind the engine, for reads that need no engine.
    #[must_use]
    pub fn store(&self) -> &dyn Store {
        self.store.as_ref()
    }

    /// The session that an agent and an owner have in a context.
    pub(super) fn session(
        &self,
        agent: &Arc<str>,
        owner: &Arc<str>,
        context_id: &Arc<str>,
    ) -> Session {
        let of = Conversation {
            agent: agent.clone(),
            owner: owner.clone(),
            context_id: context_id.clone(),
        };
        Session::new(self.store.clone(), of)
    }

    /// The push notifications of the engine's tasks.
    #[must_use]
    pub fn push(&self) -> &Arc<Push> {
        &self.push
    }

    /// How many tasks are in motion: queued, running or watched.
    #[must_use]
    pub fn tasks_in_motion(&self) -> usize {
        self.live.len()
    }

    /// The task and the dialect it was made in, wherever it is, if the caller may see it.
    pub async fn read_task(
        &self,
        id: &str,
        visibility: &Visibility,
    ) -> Result<(Task, Dialect), A2aError> {
        if let Some(live) = self.live.get(id)
            && visibility.covers(&live.agent, &live.owner)
            && live.verdict().is_none()
        {
            return Ok((live.task(), live.dialect));
        }
        let record = self
            .store
            .task(id, visibility, Include::ALL)
            .await
            .map_err(store_error)?;
        let record = record.ok_or_else(|| A2aError::task_not_found(id))?;
        let mut task = record.to_task().map_err(store_error)?;
        // Only a list that was asked for artifacts says that there are none.
        task.artifacts = task.artifacts.filter(|artifacts| !artifacts.is_empty());
        Ok((task, record.dialect))
    }

    /// The task, to be watched by somebody who may see it.
    pub async fn watch_task(
        &self,
        id: &str,
        visibility: &Visibility,
    ) -> Result<Arc<LiveTask>, A2aError> {
        let live = self.live_task(id, visibility).await?;
        live.announce();
        Ok(live)
    }

    /// The task in motion; brought there from the store if it was at rest.
    pub(super) async fn live_task(
        &self,
        id: &str,
        visibility: &Visibility,
    ) -> Result<Arc<LiveTask>, A2aError> {
        if let Some(live) = self.live.get(id) {
            let visible = visibility.covers(&live.agent, &live.owner) && live.verdict().is_none();
            return if visible {
                Ok(live)
            } else {
                Err(A2aError::task_not_found(id))
            };
        }
        loop {
            let record = self.read_record(id, visibility).await?;
            let loaded = LiveTask::from_record(&self.live, &record).map_err(store_error)?;
            let live = self.live.insert(Arc::new(loaded));
            // Between the read and the insertion another holder may have come, moved the task and
            // gone. From the insertion on every change goes through `live`, so one look suffices.
            let again = self.read_record(id, visibility).await?;
            if again.version <= live.version() {
                return Ok(live);
            }
        }
    }

    async fn read_record(
        &self,
        id: &str,
        visibility: &Visibility,
    ) -> Result<nuncio_store::TaskRecord, A2aError> {
        let record = self
            .store
            .task(id, visibility, Include::ALL)
            .await
            .map_err(store_error)?;
        record.ok_or_else(|| A2aError::task_not_found(id))
    }

    /// Waits until the store is beyond use, as after a failed sync: whoever runs the gateway ends
    /// the process, and the next start finds what was acknowledged.
    pub async fn store_broken(&self) {
        self.broken.cancelled().await;
    }

    /// Returns when the last turn is over and the gateway ends.
    pub async fn stopped(&self) {
        self.over.cancelled().await;
    }

    /// Stops taking turns and waits for the running ones; those that are still running when
    /// `grace` is over are cut off.
    pub async fn shut_down(&self, grace: std::time::Duration) {
        self.turns.close();
        if tokio::time::timeout(grace, self.turns.wait())
            .await
            .is_err()
        {
            self.stopping.cancel();
            self.turns.wait().await;
        }
        let stops = self.agents.iter().map(|agent| agent.stop());
        if tokio::time::timeout(STOP_LIMIT, join_all(stops))
            .await
            .is_err()
        {
            tracing::warn!("an agent did not stop in time and was dropped");
        }
        self.over.cancel();
    }
}

/// Marks the refusal of a task id that its caller has used before.
pub const ID_IN_USE: &str = "idInUse";

/// What a caller is told when the store fails.
#[must_use]
pub fn store_error(error: StoreError) -> A2aError {
    match error {
        StoreError::Full { max } => {
            let text = format!("This gateway holds {max} unfinished tasks; try again later.");
            let mut refused = A2aError::new(ErrorKind::ResourceExhausted, text);
            refused.retry_after = Some(RETRY_AFTER_SECONDS);
            refused
        }
        StoreError::TooManyPushConfigs { max, of } => {
            let text = format!(
                "There are {max} push configurations of this {of}, which is all there may be; delete one first."
            );
            A2aError::new(ErrorKind::ResourceExhausted, text)
        }
        StoreError::RepeatConflict => A2aError::new(
            ErrorKind::IdempotencyConflict,
            "This idempotency key was used before with another payload; use a new key.",
        ),
        StoreError::AliasTaken => A2aError::new(
            ErrorKind::IdempotencyConflict,
            "You have a task with this id already; choose another one, or none.",
        )
        .with(ID_IN_USE, "true"),
        error => {
            tracing::error!(%error, "store");
            let text = "The task store cannot be used now; try again later.";
            let mut refused = A2aError::new(ErrorKind::Unavailable, text);
            refused.retry_after = Some(RETRY_AFTER_SECONDS);
            refused
        }
    }
}

/// What a caller is asked to wait when the store is full or away, in seconds.
const RETRY_AFTER_SECONDS: u32 = 5;
