//! Tasks in an SQLite file: what was acknowledged survives the process and the loss of power.
//!
//! Owns the way a call takes: changes go to the one [`writer`] thread, which commits many at once;
//! reads are answered from [`recent`] tasks or by the [`readers`]. Never holds a connection across an await. Start with [`open`] for
//! the file and [`schema`] for the tables.

mod batch;
mod error;
mod events;
mod list;
mod open;
mod push;
mod readers;
mod recent;
mod repeats;
mod retention;
mod schema;
mod sessions;
mod tasks;
mod writer;

use async_trait::async_trait;
use std::path::Path;
use std::sync::Arc;

use crate::{
    Append, Conversation, Created, Include, KeptSession, ListQuery, NewPushConfig, NewTask, Page,
    PushAdvance, PushConfig, Store, StoreError, StoredEvent, TaskRecord, Visibility,
};
use batch::Job;
use readers::Readers;
use recent::Recent;
use writer::Writer;

/// How an [`SqliteStore`] behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqliteOptions {
    /// Most finished tasks that retention leaves, those that ended last. Default 100,000.
    pub max_finished_tasks: u64,
    /// Days after which retention deletes a finished task. Default 90.
    pub retention_days: u32,
    /// Threads that read. Default 2.
    pub readers: usize,
    /// Bytes of recent tasks that are kept in memory for reading; 0: every read asks the file.
    /// Default 16 MiB, some ten thousand small tasks.
    pub recent_bytes: usize,
    /// Most bytes of the database file, without its log (which takes some 20 MiB more). At the
    /// bound new tasks are refused as on a full disk. Default: no bound.
    pub max_bytes: Option<u64>,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            max_finished_tasks: 100_000,
            retention_days: 90,
            readers: 2,
            recent_bytes: 16 * 1024 * 1024,
            max_bytes: None,
        }
    }
}

/// Tasks in an SQLite file.
///
/// Dropping it without [`close`](Store::close) finishes what is queued, but counts as an unclean
/// stop. Both block until the writer has ended, so that the file can be opened again at once.
pub struct SqliteStore {
    writer: Writer,
    readers: Readers,
    recent: Arc<Recent>,
    epoch: u64,
    options: SqliteOptions,
}

impl SqliteStore {
    /// Opens the file, makes it and its directory if they are missing, and brings an older one up
    /// to date. Blocks: milliseconds, longer after an unclean stop, as the file is checked then.
    ///
    /// Errors: [`StoreError::Open`] with the reason and what to do.
    pub fn open(path: impl AsRef<Path>, options: SqliteOptions) -> Result<Self, StoreError> {
        let opened = open::open(path.as_ref(), &options)?;
        let readers = Readers::start(opened.readers)?;
        let recent = Arc::new(Recent::new(options.recent_bytes));
        let writer = Writer::start(
            opened.writer,
            Arc::clone(&recent),
            opened.epoch,
            opened.lock,
        )?;
        Ok(Self {
            writer,
            readers,
            recent,
            epoch: opened.epoch,
            options,
        })
    }
}

#[async_trait]
impl Store for SqliteStore {
    fn epoch(&self) -> u64 {
        self.epoch
    }

    async fn create_task(&self, task: NewTask) -> Result<Created, StoreError> {
        self.writer
            .ask(|answer| Job::Create(Box::new(task), answer))
            .await
    }

    async fn append(&self, append: Append) -> Result<u64, StoreError> {
        append.check()?;
        self.writer.ask(|answer| Job::Append(append, answer)).await
    }

    async fn task(
        &self,
        id: &str,
        visibility: &Visibility,
        include: Include,
    ) -> Result<Option<TaskRecord>, StoreError> {
        if let Some(known) = self.recent.read(id, visibility, include) {
            return Ok(known);
        }
        let (id, visibility) = (id.to_owned(), visibility.clone());
        self.readers
            .read(move |db| tasks::read_one(db, &id, &visibility, include))
            .await
    }

    async fn task_by_alias(
        &self,
        alias: &str,
        visibility: &Visibility,
    ) -> Result<Option<String>, StoreError> {
        let (alias, visibility) = (alias.to_owned(), visibility.clone());
        self.readers
            .read(move |db| tasks::by_alias(db, &alias, &visibility))
            .await
    }

    async fn list_tasks(&self, query: ListQuery) -> Result<Page, StoreError> {
        self.readers.read(move |db| list::read(db, &query)).await
    }

    async fn events(
        &self,
        task: &str,
        after: u64,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        if let Some(known) = self.recent.events(task, after, limit) {
            return Ok(known);
        }
        let task = task.to_owned();
        self.readers
            .read(move |db| events::read(db, &task, after, limit))
            .await
    }

    async fn statuses(&self, task: &str) -> Result<Vec<StoredEvent>, StoreError> {
        let task = task.to_owned();
        self.readers
            .read(move |db| events::read_statuses(db, &task))
            .await
    }

    async fn unfinished_tasks(&self) -> Result<Vec<TaskRecord>, StoreError> {
        self.readers.read(tasks::read_unfinished).await
    }

    async fn put_push_config(
        &self,
        task: &str,
        config: NewPushConfig,
    ) -> Result<PushConfig, StoreError> {
        let task = task.to_owned();
        self.writer
            .ask(|answer| Job::PutPush {
                task,
                config,
                answer,
            })
            .await
    }

    async fn push_configs(&self, task: &str) -> Result<Vec<PushConfig>, StoreError> {
        let task = task.to_owned();
        self.readers.read(move |db| push::read(db, &task)).await
    }

    async fn delete_push_config(&self, task: &str, id: &str) -> Result<bool, StoreError> {
        let (task, id) = (task.to_owned(), id.to_owned());
        self.writer
            .ask(|answer| Job::DeletePush { task, id, answer })
            .await
    }

    async fn advance_push(&self, step: PushAdvance) -> Result<bool, StoreError> {
        self.writer
            .ask(|answer| Job::AdvancePush(step, answer))
            .await
    }

    async fn pushing_tasks(&self) -> Result<Vec<Arc<str>>, StoreError> {
        self.readers.read(push::tasks).await
    }

    async fn troubled_push_configs(
        &self,
        after: u64,
        limit: usize,
    ) -> Result<Vec<PushConfig>, StoreError> {
        self.readers
            .read(move |db| push::troubled(db, after, limit))
            .await
    }

    async fn session(&self, of: &Conversation) -> Result<Option<KeptSession>, StoreError> {
        let of = of.clone();
        self.readers.read(move |db| sessions::read(db, &of)).await
    }

    async fn keep_session(&self, of: Conversation, name: Option<String>) -> Result<(), StoreError> {
        self.writer
            .ask(|answer| Job::KeepSession { of, name, answer })
            .await
    }

    async fn enforce_retention(&self) -> Result<usize, StoreError> {
        let keep = self.options.max_finished_tasks;
        let surplus = self
            .readers
            .read(move |db| retention::surplus(db, keep))
            .await?;
        let days = self.options.retention_days;
        self.writer
            .ask(|answer| Job::Retire {
                surplus,
                days,
                answer,
            })
            .await
    }

    async fn discard_task(&self, id: &str) -> Result<(), StoreError> {
        let id = id.to_owned();
        self.writer.ask(|answer| Job::Discard { id, answer }).await
    }

    async fn close(&self) -> Result<(), StoreError> {
        self.writer.close().await
    }
}
