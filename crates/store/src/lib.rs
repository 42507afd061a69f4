//! Tasks, their event log, contexts and idempotency keys behind one trait.
//!
//! Owns what survives a crash and the promise about it ([`Store`]); never decides what a task does
//! next, that is the gateway's engine. One conformance suite (`tests/it`) holds every
//! implementation to the same promise. Read [`tasks`] and [`events`] for the model.

mod clock;
mod error;
pub mod events;
mod given_up;
mod held;
mod memory;
mod open;
mod postgres;
pub mod push;
mod sessions;
mod sqlite;
pub mod tasks;

use async_trait::async_trait;
use std::sync::Arc;

pub use error::StoreError;
pub use events::{Append, Change, Durability, StoredEvent};
pub use given_up::{GivenUp, MAX_GIVEN_UP};
pub use memory::{MemoryOptions, MemoryStore};
pub use open::{StoreOptions, open};
pub use postgres::{PostgresOptions, PostgresStore};
pub use push::{
    MAX_PUSH_CONFIGS_PER_OWNER, MAX_PUSH_CONFIGS_PER_TASK, NewPushConfig, PushAdvance, PushConfig,
    PushProgress,
};
pub use sessions::{Conversation, KeptSession};
pub use sqlite::{SqliteOptions, SqliteStore};
pub use tasks::{
    Created, Cursor, Include, ListQuery, NewTask, Page, Repeat, Segment, TaskRecord, Visibility,
};

/// What every store promises.
///
/// *Synced before visible*: when [`create_task`](Store::create_task) or a
/// [`Durability::Synced`] [`append`](Store::append) has returned, the change survives the loss of
/// power (memory: the life of the process). *One write path*: every change names the version and
/// lease epoch it was made against and changes nothing if either moved on. *A final state is
/// final*: no change is taken after it. No method holds a lock across I/O of its caller.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Number that rises with every start after an unclean stop. Part of SSE ids: a cursor from an
    /// older epoch may name events that were lost with unsynced chunks.
    fn epoch(&self) -> u64;

    /// Makes a task at version 1, its first message, its push configuration and its repeat record
    /// in one transaction.
    ///
    /// A repeat under the rules of [`Repeat`] makes nothing and names the first task. Errors:
    /// [`StoreError::RepeatConflict`], [`StoreError::AliasTaken`], [`StoreError::Full`], [`StoreError::TooManyPushConfigs`],
    /// [`StoreError::Unavailable`].
    async fn create_task(&self, task: NewTask) -> Result<Created, StoreError>;

    /// Applies the changes in order, in one transaction, and returns the task's new version (each
    /// change but [`Change::Message`] raises it by one).
    ///
    /// Errors: [`StoreError::Stale`] if the version or lease epoch moved on or the task is in a
    /// final state, [`StoreError::NotFound`], [`StoreError::Unavailable`]; nothing is changed then.
    async fn append(&self, append: Append) -> Result<u64, StoreError>;

    /// The task with this id, if `visibility` covers it. What is not visible is not there.
    async fn task(
        &self,
        id: &str,
        visibility: &Visibility,
        include: Include,
    ) -> Result<Option<TaskRecord>, StoreError>;

    /// The id of the task that its caller gave this alias (2025-04 dialect), newest first.
    async fn task_by_alias(
        &self,
        alias: &str,
        visibility: &Visibility,
    ) -> Result<Option<String>, StoreError>;

    /// One page, newest status first, equal times by id descending.
    async fn list_tasks(&self, query: ListQuery) -> Result<Page, StoreError>;

    /// Events of a task with a version above `after`, oldest first, at most `limit` of them.
    /// Empty for an unknown task: the caller has checked visibility before.
    async fn events(
        &self,
        task: &str,
        after: u64,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, StoreError>;

    /// The events of a task that changed its state or told of progress, oldest first. Empty for an
    /// unknown task: the caller has checked visibility before.
    async fn statuses(&self, task: &str) -> Result<Vec<StoredEvent>, StoreError>;

    /// Every task that is not in a final state, oldest first, with its whole history and without
    /// its artifacts: for recovery at start.
    async fn unfinished_tasks(&self) -> Result<Vec<TaskRecord>, StoreError>;

    /// Keeps a push configuration with a task, from its present version on. Allowed on a finished
    /// task, too. The rules of replacing and repeating are at [`NewPushConfig`].
    ///
    /// Errors: [`StoreError::NotFound`], [`StoreError::TooManyPushConfigs`],
    /// [`StoreError::Unavailable`].
    async fn put_push_config(
        &self,
        task: &str,
        config: NewPushConfig,
    ) -> Result<PushConfig, StoreError>;

    /// The push configurations of a task in the order they were registered, with how far each is.
    /// Empty for an unknown task: the caller has checked visibility before.
    async fn push_configs(&self, task: &str) -> Result<Vec<PushConfig>, StoreError>;

    /// Deletes a push configuration with its cursor; false if there was none.
    async fn delete_push_config(&self, task: &str, id: &str) -> Result<bool, StoreError>;

    /// Moves the cursor of a push configuration; false if it is gone or was replaced since it was
    /// read, or is not as the operator saw it. Survives the death of the process; after a loss of
    /// power an event may be sent again.
    async fn advance_push(&self, step: PushAdvance) -> Result<bool, StoreError>;

    /// Tasks with a push configuration that may still have something to send: for the start.
    async fn pushing_tasks(&self) -> Result<Vec<Arc<str>>, StoreError>;

    /// Push configurations that are off or failing or have given up a delivery, in the order they
    /// were registered: at most `limit` with a number above `after`.
    async fn troubled_push_configs(
        &self,
        after: u64,
        limit: usize,
    ) -> Result<Vec<PushConfig>, StoreError>;

    /// The session of its backend that a conversation goes on in, if one is kept.
    async fn session(&self, of: &Conversation) -> Result<Option<KeptSession>, StoreError>;

    /// Keeps what the backend calls a conversation; `None` forgets it. Sessions that were not kept
    /// for as long as retention keeps tasks go with them.
    async fn keep_session(&self, of: Conversation, name: Option<String>) -> Result<(), StoreError>;

    /// Deletes finished tasks beyond the store's retention, unless a push configuration has yet to
    /// send one of their events, sessions of their age, and idempotency keys that have expired, a
    /// bounded batch per call; returns how many went. Call again until it returns 0.
    async fn enforce_retention(&self) -> Result<usize, StoreError>;

    /// Deletes a task nobody was told of: its turn ended in a direct answer instead. A task that is
    /// not there is fine.
    async fn discard_task(&self, id: &str) -> Result<(), StoreError>;

    /// Ends cleanly: everything is synced and the epoch stays for the next start.
    async fn close(&self) -> Result<(), StoreError>;
}
