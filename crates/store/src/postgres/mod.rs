//! Tasks in a PostgreSQL database: what was acknowledged survives the gateway and, as far as the
//! server syncs, the loss of power.
//!
//! Owns the way a call takes: changes go to the one [`writer`], which sends many in one transaction
//! and one round trip; reads are one statement each on the [`readers`]' connections. One gateway at
//! a time uses a database ([`lock`]). Start with [`schema`] for the tables.

mod address;
mod batch;
mod error;
mod events;
mod link;
mod list;
mod lock;
mod push;
mod readers;
mod retention;
mod schema;
mod sessions;
mod tasks;
mod text;
mod tls;
mod work;
mod writer;

use async_trait::async_trait;
use std::fmt;
use std::sync::Arc;

use crate::{
    Append, Conversation, Created, Include, KeptSession, ListQuery, NewPushConfig, NewTask, Page,
    PushAdvance, PushConfig, Store, StoreError, StoredEvent, TaskRecord, Visibility,
};
use address::Address;
use lock::Held;
use readers::Readers;
use work::{Outcome, Work};
use writer::Writer;

/// Where a [`PostgresStore`] is and how it behaves. Debug output leaves out the URL and the password.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresOptions {
    /// `postgres://USER@HOST:PORT/DATABASE`; a directory as `host=` parameter means a Unix socket.
    pub url: String,
    /// The user's password, if the server asks for one.
    pub password: Option<String>,
    /// Most finished tasks that retention leaves, those that ended last. Default 100,000.
    pub max_finished_tasks: u64,
    /// Days after which retention deletes a finished task. Default 90.
    pub retention_days: u32,
    /// Connections that read; one more writes. Default 4.
    pub readers: usize,
}

impl PostgresOptions {
    /// Whether the URL can be one of a database, without asking for it.
    ///
    /// Errors: [`StoreError::Open`] with what to write instead; the URL is not repeated.
    pub fn check(&self) -> Result<(), StoreError> {
        Address::of(self).map(drop)
    }
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            url: String::new(),
            password: None,
            max_finished_tasks: 100_000,
            retention_days: 90,
            readers: 4,
        }
    }
}

impl fmt::Debug for PostgresOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresOptions")
            .field("max_finished_tasks", &self.max_finished_tasks)
            .field("retention_days", &self.retention_days)
            .field("readers", &self.readers)
            .finish_non_exhaustive()
    }
}

/// Tasks in a PostgreSQL database.
///
/// While the database is away, calls wait some seconds for it and then fail as
/// [`StoreError::Unavailable`]. A change whose answer was lost with its connection is looked for
/// when the connection is back, so that nothing is done twice and nothing acknowledged is lost.
/// Dropping the store without [`close`](Store::close) finishes what is queued, but counts as an
/// unclean stop.
pub struct PostgresStore {
    writer: Writer,
    readers: Readers,
    epoch: u64,
    options: PostgresOptions,
}

impl PostgresStore {
    /// Connects, makes the tables in the schema `nuncio` if they are missing and brings older ones
    /// up to date. Needs a Tokio runtime, in which its connections run.
    ///
    /// Errors: [`StoreError::Open`] with the reason and what to do, never with the password.
    pub async fn open(options: PostgresOptions) -> Result<Self, StoreError> {
        let address = Address::of(&options)?;
        if address.is_open_to_others() {
            tracing::warn!(
                store = address.shown,
                "tasks travel to the database unencrypted; `sslmode=verify-full` in [store] url encrypts"
            );
        }
        let held = Held::open(&address).await?;
        schema::migrate(&held.link, &address).await?;
        let refused = |error| schema::refuse(&address, &error);
        let begin = "UPDATE meta SET epoch = epoch + CASE WHEN clean THEN 0 ELSE 1 END, \
            clean = false RETURNING epoch";
        let row = held.link.query_one(begin, &[]).await.map_err(refused)?;
        let epoch = tasks::version_of(&row, 0).map_err(refused)?;
        held.prepare().await.map_err(refused)?;
        let readers = Readers::new(address.clone(), options.readers);
        Ok(Self {
            writer: Writer::start(address, held, epoch),
            readers,
            epoch,
            options,
        })
    }
}

#[async_trait]
impl Store for PostgresStore {
    fn epoch(&self) -> u64 {
        self.epoch
    }

    async fn create_task(&self, task: NewTask) -> Result<Created, StoreError> {
        match self.writer.ask(Work::Create(Box::new(task))).await? {
            Outcome::Created(created) => Ok(created),
            other => Err(other.unexpected()),
        }
    }

    async fn append(&self, append: Append) -> Result<u64, StoreError> {
        append.check()?;
        match self.writer.ask(Work::Append(append)).await? {
            Outcome::Version(version) => Ok(version),
            other => Err(other.unexpected()),
        }
    }

    async fn task(
        &self,
        id: &str,
        visibility: &Visibility,
        include: Include,
    ) -> Result<Option<TaskRecord>, StoreError> {
        self.readers
            .read(|link| async move { tasks::read_one(&link, id, visibility, include).await })
            .await
    }

    async fn task_by_alias(
        &self,
        alias: &str,
        visibility: &Visibility,
    ) -> Result<Option<String>, StoreError> {
        self.readers
            .read(|link| async move { tasks::by_alias(&link, alias, visibility).await })
            .await
    }

    async fn list_tasks(&self, query: ListQuery) -> Result<Page, StoreError> {
        let query = &query;
        self.readers
            .read(|link| async move { list::read(&link, query).await })
            .await
    }

    async fn events(
        &self,
        task: &str,
        after: u64,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        self.readers
            .read(|link| async move { events::read(&link, task, after, limit).await })
            .await
    }

    async fn statuses(&self, task: &str) -> Result<Vec<StoredEvent>, StoreError> {
        self.readers
            .read(|link| async move { events::read_statuses(&link, task).await })
            .await
    }

    async fn unfinished_tasks(&self) -> Result<Vec<TaskRecord>, StoreError> {
        self.readers
            .read(|link| async move { tasks::read_unfinished(&link).await })
            .await
    }

    async fn put_push_config(
        &self,
        task: &str,
        config: NewPushConfig,
    ) -> Result<PushConfig, StoreError> {
        let task = task.to_owned();
        match self.writer.ask(Work::PutPush { task, config }).await? {
            Outcome::Push(config) => Ok(*config),
            other => Err(other.unexpected()),
        }
    }

    async fn push_configs(&self, task: &str) -> Result<Vec<PushConfig>, StoreError> {
        self.readers
            .read(|link| async move { push::read(&link, task).await })
            .await
    }

    async fn delete_push_config(&self, task: &str, id: &str) -> Result<bool, StoreError> {
        let (task, id) = (task.to_owned(), id.to_owned());
        match self.writer.ask(Work::DeletePush { task, id }).await? {
            Outcome::Changed(deleted) => Ok(deleted),
            other => Err(other.unexpected()),
        }
    }

    async fn advance_push(&self, step: PushAdvance) -> Result<bool, StoreError> {
        match self.writer.ask(Work::AdvancePush(step)).await? {
            Outcome::Changed(moved) => Ok(moved),
            other => Err(other.unexpected()),
        }
    }

    async fn pushing_tasks(&self) -> Result<Vec<Arc<str>>, StoreError> {
        self.readers
            .read(|link| async move { push::tasks(&link).await })
            .await
    }

    async fn troubled_push_configs(
        &self,
        after: u64,
        limit: usize,
    ) -> Result<Vec<PushConfig>, StoreError> {
        self.readers
            .read(|link| async move { push::troubled(&link, after, limit).await })
            .await
    }

    async fn session(&self, of: &Conversation) -> Result<Option<KeptSession>, StoreError> {
        self.readers
            .read(|link| async move { sessions::read(&link, of).await })
            .await
    }

    async fn keep_session(&self, of: Conversation, name: Option<String>) -> Result<(), StoreError> {
        self.writer
            .ask(Work::KeepSession { of, name })
            .await
            .map(drop)
    }

    async fn enforce_retention(&self) -> Result<usize, StoreError> {
        let keep = tasks::int(self.options.max_finished_tasks);
        let surplus = self
            .readers
            .read(|link| async move { retention::surplus(&link, keep).await })
            .await?;
        let days = self.options.retention_days;
        match self.writer.ask(Work::Retire { surplus, days }).await? {
            Outcome::Deleted(deleted) => Ok(deleted),
            other => Err(other.unexpected()),
        }
    }

    async fn discard_task(&self, id: &str) -> Result<(), StoreError> {
        let id = id.to_owned();
        self.writer.ask(Work::Discard { id }).await.map(drop)
    }

    async fn close(&self) -> Result<(), StoreError> {
        let closed = self.writer.close().await;
        self.readers.close().await;
        closed
    }
}
