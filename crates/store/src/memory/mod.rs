//! Tasks in memory: everything is lost with the process, nothing waits for anything.
//!
//! Owns the bound on tasks and the order of the locks: keys, then sends, then tasks, then one
//! task; the rest are leaves. No method yields. [`tasks`] makes, reads and lists tasks, [`events`]
//! changes them.

mod events;
mod finished;
mod list;
mod push;
mod repeats;
mod sessions;
mod tasks;

use async_trait::async_trait;
use parking_lot::Mutex;
use std::hash::RandomState;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize};

use crate::held::Index;
use crate::{
    Append, Conversation, Created, Include, KeptSession, ListQuery, NewPushConfig, NewTask, Page,
    PushAdvance, PushConfig, Store, StoreError, StoredEvent, TaskRecord, Visibility,
};
use finished::Queue;
use push::OpenConfigs;
use repeats::UsedKey;
use sessions::Sessions;
use tasks::Task;

/// How much a [`MemoryStore`] holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryOptions {
    /// Most tasks at once. The task that ended first makes place for a new one; when all are
    /// unfinished, new ones are refused with [`StoreError::Full`].
    pub max_tasks: usize,
}

impl Default for MemoryOptions {
    fn default() -> Self {
        Self { max_tasks: 1000 }
    }
}

/// Tasks in memory.
///
/// Bytes are kept as they are given, by reference count: a caller that hands in a small part of a
/// big buffer keeps the buffer alive until the task ends; what a finished task keeps is copied
/// into one buffer of its own.
pub struct MemoryStore {
    options: MemoryOptions,
    hashing: RandomState,
    /// Tasks by id.
    tasks: Index<Arc<Task>>,
    /// Tasks in SUBMITTED or WORKING by agent, owner, message id and payload.
    sends: Index<Arc<Task>>,
    /// Idempotency keys by agent, owner and key.
    keys: Index<UsedKey>,
    /// Tasks by the id that their caller chose.
    aliases: Index<Arc<Task>>,
    finished: Mutex<Queue<Arc<Task>>>,
    /// Tasks held, and places promised to tasks being made.
    held: AtomicUsize,
    /// Tasks ever made: their order.
    made: AtomicU64,
    /// Push configurations ever made: their order.
    configs_made: AtomicU64,
    open_configs: OpenConfigs,
    sessions: Sessions,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new(options: MemoryOptions) -> Self {
        Self {
            options,
            hashing: RandomState::new(),
            tasks: Index::new(),
            sends: Index::new(),
            keys: Index::new(),
            aliases: Index::new(),
            finished: Mutex::new(Queue::new()),
            held: AtomicUsize::new(0),
            made: AtomicU64::new(0),
            configs_made: AtomicU64::new(1),
            open_configs: OpenConfigs::default(),
            sessions: Sessions::default(),
        }
    }
}

#[async_trait]
impl Store for MemoryStore {
    /// Always 1: there is nothing to come back to.
    fn epoch(&self) -> u64 {
        1
    }

    async fn create_task(&self, task: NewTask) -> Result<Created, StoreError> {
        self.create(task)
    }

    async fn append(&self, append: Append) -> Result<u64, StoreError> {
        self.apply(append)
    }

    async fn task(
        &self,
        id: &str,
        visibility: &Visibility,
        include: Include,
    ) -> Result<Option<TaskRecord>, StoreError> {
        let task = self.find(id).filter(|task| task.is_visible(visibility));
        Ok(task.map(|task| task.read(include)))
    }

    async fn task_by_alias(
        &self,
        alias: &str,
        visibility: &Visibility,
    ) -> Result<Option<String>, StoreError> {
        Ok(self.by_alias(alias, visibility))
    }

    async fn list_tasks(&self, query: ListQuery) -> Result<Page, StoreError> {
        Ok(self.list(&query))
    }

    async fn events(
        &self,
        task: &str,
        after: u64,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        Ok(self.events_of(task, after, limit))
    }

    async fn statuses(&self, task: &str) -> Result<Vec<StoredEvent>, StoreError> {
        let events = self.events_of(task, 0, usize::MAX).into_iter();
        Ok(events.filter(|event| event.state.is_some()).collect())
    }

    async fn unfinished_tasks(&self) -> Result<Vec<TaskRecord>, StoreError> {
        Ok(self.unfinished())
    }

    async fn put_push_config(
        &self,
        task: &str,
        config: NewPushConfig,
    ) -> Result<PushConfig, StoreError> {
        self.put_push(task, config)
    }

    async fn push_configs(&self, task: &str) -> Result<Vec<PushConfig>, StoreError> {
        Ok(self.pushes_of(task))
    }

    async fn delete_push_config(&self, task: &str, id: &str) -> Result<bool, StoreError> {
        Ok(self.delete_push(task, id))
    }

    async fn advance_push(&self, step: PushAdvance) -> Result<bool, StoreError> {
        Ok(self.advance(&step))
    }

    async fn pushing_tasks(&self) -> Result<Vec<Arc<str>>, StoreError> {
        Ok(self.pushing())
    }

    async fn troubled_push_configs(
        &self,
        after: u64,
        limit: usize,
    ) -> Result<Vec<PushConfig>, StoreError> {
        Ok(self.troubled(after, limit))
    }

    /// Creation already keeps the bound, so there is nothing left to do.
    async fn session(&self, of: &Conversation) -> Result<Option<KeptSession>, StoreError> {
        Ok(self.sessions.read(of))
    }

    async fn keep_session(&self, of: Conversation, name: Option<String>) -> Result<(), StoreError> {
        self.sessions.keep(of, name);
        Ok(())
    }

    async fn enforce_retention(&self) -> Result<usize, StoreError> {
        Ok(0)
    }

    async fn discard_task(&self, id: &str) -> Result<(), StoreError> {
        self.discard(id);
        Ok(())
    }

    async fn close(&self) -> Result<(), StoreError> {
        Ok(())
    }
}
