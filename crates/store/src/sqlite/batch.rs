//! Runs a batch of jobs as one transaction and answers them after its commit.
//!
//! Owns when a commit syncs and what becomes of a batch that fails: it is undone whole. What a job
//! does to the rows is in [`super::tasks`], [`super::events`] and [`super::retention`].

use rusqlite::Connection;
use std::collections::HashSet;
use std::sync::Arc;
use tokio::sync::oneshot;

use super::error::{closed, is_failed_sync};
use super::events::AppendRows;
use super::open::write_meta;
use super::recent::{Recent, RecentWriter};
use super::tasks::CreateRows;
use super::{push, retention, sessions};
use crate::{
    Append, Conversation, Created, Durability, NewPushConfig, NewTask, PushAdvance, PushConfig,
    StoreError,
};

pub(super) type Answer<T> = oneshot::Sender<Result<T, StoreError>>;

/// Something to write, and who waits for it.
pub(super) enum Job {
    Create(Box<NewTask>, Answer<Created>),
    Append(Append, Answer<u64>),
    Retire {
        surplus: u64,
        days: u32,
        answer: Answer<usize>,
    },
    Discard {
        id: String,
        answer: Answer<()>,
    },
    PutPush {
        task: String,
        config: NewPushConfig,
        answer: Answer<PushConfig>,
    },
    DeletePush {
        task: String,
        id: String,
        answer: Answer<bool>,
    },
    AdvancePush(PushAdvance, Answer<bool>),
    KeepSession {
        of: Conversation,
        name: Option<String>,
        answer: Answer<()>,
    },
}

impl Job {
    /// How many bytes of JSON it brings.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Create(new, _) => {
                new.message.len() + new.metadata.as_ref().map_or(0, |m| m.len())
            }
            Self::Append(append, _) => append.bytes(),
            Self::PutPush { config, .. } => config.config.len(),
            Self::Retire { .. }
            | Self::Discard { .. }
            | Self::DeletePush { .. }
            | Self::AdvancePush(..)
            | Self::KeepSession { .. } => 0,
        }
    }

    /// Whether it may be answered before a sync.
    fn needs_no_sync(&self) -> bool {
        matches!(
            self,
            Self::Append(
                Append {
                    durability: Durability::Committed,
                    ..
                },
                _
            )
        )
    }

    /// Whether it may be answered before a sync, but is in no hurry to be.
    fn needs_no_sync_of_its_own(&self) -> bool {
        self.needs_no_sync() || matches!(self, Self::AdvancePush(..))
    }

    /// The task that it changes.
    fn task(&self) -> Option<&str> {
        match self {
            Self::Create(new, _) => Some(&new.id),
            Self::Append(append, _) => Some(&append.task),
            Self::Discard { id, .. } => Some(id),
            Self::PutPush { task, .. } | Self::DeletePush { task, .. } => Some(task),
            Self::AdvancePush(step, _) => Some(&step.task),
            Self::Retire { .. } | Self::KeepSession { .. } => None,
        }
    }

    fn refuse(self, error: StoreError) {
        // What nobody waits for any more is dropped.
        let _ = match self {
            Self::Create(_, answer) => answer.send(Err(error)).is_ok(),
            Self::Append(_, answer) => answer.send(Err(error)).is_ok(),
            Self::Retire { answer, .. } => answer.send(Err(error)).is_ok(),
            Self::Discard { answer, .. } => answer.send(Err(error)).is_ok(),
            Self::PutPush { answer, .. } => answer.send(Err(error)).is_ok(),
            Self::DeletePush { answer, .. } => answer.send(Err(error)).is_ok(),
            Self::AdvancePush(_, answer) => answer.send(Err(error)).is_ok(),
            Self::KeepSession { answer, .. } => answer.send(Err(error)).is_ok(),
        };
    }
}

/// A job that was run, with what its caller will hear if the commit succeeds.
enum Done {
    Create(Answer<Created>, Result<Created, StoreError>),
    Append(Answer<u64>, Result<u64, StoreError>),
    Retire(Answer<usize>, Result<usize, StoreError>),
    Nothing(Answer<()>, Result<(), StoreError>),
    PutPush(Answer<PushConfig>, Result<PushConfig, StoreError>),
    MovePush(Answer<bool>, Result<bool, StoreError>),
}

impl Done {
    /// Answers; what nobody waits for any more is dropped.
    fn answer(self, failed: Option<&StoreError>) {
        fn send<T>(answer: Answer<T>, result: Result<T, StoreError>, failed: Option<&StoreError>) {
            let _ = answer.send(failed.map_or(result, |error| Err(error.clone())));
        }
        match self {
            Self::Create(answer, result) => send(answer, result, failed),
            Self::Append(answer, result) => send(answer, result, failed),
            Self::Retire(answer, result) => send(answer, result, failed),
            Self::Nothing(answer, result) => send(answer, result, failed),
            Self::PutPush(answer, result) => send(answer, result, failed),
            Self::MovePush(answer, result) => send(answer, result, failed),
        }
    }
}

/// Runs batches on a connection.
pub(super) struct Batches<'c> {
    connection: &'c Connection,
    create: CreateRows<'c>,
    append: AppendRows<'c>,
    recent: RecentWriter,
    /// Whether commits sync now.
    syncing: bool,
    /// Set when the disk refused to sync: nothing is written after that.
    broken: Option<StoreError>,
}

impl<'c> Batches<'c> {
    pub(super) fn new(connection: &'c Connection, recent: Arc<Recent>) -> rusqlite::Result<Self> {
        Ok(Self {
            connection,
            recent: RecentWriter::new(recent),
            create: CreateRows::new(connection)?,
            append: AppendRows::new(connection)?,
            syncing: true,
            broken: None,
        })
    }

    /// Runs a batch, first what needs no sync, so that it is not held back by one.
    pub(super) fn run(&mut self, mut batch: Vec<Job>) {
        if !batch.iter().any(Job::needs_no_sync) {
            let sync = !batch.iter().all(Job::needs_no_sync_of_its_own);
            return self.commit(batch, sync);
        }
        // A job stays behind an earlier one for the same task.
        let mut behind: HashSet<String> = HashSet::new();
        let early: Vec<Job> = batch
            .extract_if(.., |job| {
                let task = job.task();
                let early = job.needs_no_sync() && task.is_none_or(|task| !behind.contains(task));
                if let Some(task) = task.filter(|_| !early) {
                    behind.insert(task.to_owned());
                }
                early
            })
            .collect();
        self.commit(early, false);
        self.commit(batch, true);
    }

    /// Runs jobs in one transaction and answers them after its commit.
    fn commit(&mut self, jobs: Vec<Job>, sync: bool) {
        if jobs.is_empty() {
            return;
        }
        if let Some(broken) = &self.broken {
            return jobs.into_iter().for_each(|job| job.refuse(broken.clone()));
        }
        let mut done = Vec::with_capacity(jobs.len());
        let result = self.transaction(jobs, sync, &mut done);
        for done in done {
            done.answer(result.as_ref().err());
        }
    }

    /// Leaves every job in `done`. On an error nothing is changed.
    fn transaction(
        &mut self,
        jobs: Vec<Job>,
        sync: bool,
        done: &mut Vec<Done>,
    ) -> Result<(), StoreError> {
        let mut failure = self.begin(sync).err();
        for job in jobs {
            let failure = &mut failure;
            done.push(match job {
                Job::Create(new, answer) => Done::Create(
                    answer,
                    attempt(failure, || self.create.run(new, &mut self.recent)),
                ),
                Job::Append(append, answer) => Done::Append(
                    answer,
                    attempt(failure, || self.append.run(append, &mut self.recent)),
                ),
                Job::Retire {
                    surplus,
                    days,
                    answer,
                } => Done::Retire(
                    answer,
                    attempt(failure, || {
                        retention::retire(self.connection, surplus, days, &mut self.recent).map(Ok)
                    }),
                ),
                Job::Discard { id, answer } => Done::Nothing(
                    answer,
                    attempt(failure, || {
                        retention::discard(self.connection, &id, &mut self.recent).map(Ok)
                    }),
                ),
                Job::PutPush {
                    task,
                    config,
                    answer,
                } => Done::PutPush(
                    answer,
                    attempt(failure, || push::put(self.connection, &task, &config)),
                ),
                Job::DeletePush { task, id, answer } => Done::MovePush(
                    answer,
                    attempt(failure, || {
                        push::delete(self.connection, &task, &id).map(Ok)
                    }),
                ),
                Job::AdvancePush(step, answer) => Done::MovePush(
                    answer,
                    attempt(failure, || push::advance(self.connection, &step).map(Ok)),
                ),
                Job::KeepSession { of, name, answer } => Done::Nothing(
                    answer,
                    attempt(failure, || {
                        sessions::keep(self.connection, &of, name.as_deref()).map(Ok)
                    }),
                ),
            });
        }
        let failure = failure.or_else(|| self.connection.execute_batch("COMMIT").err());
        match failure {
            None => {
                self.recent.committed();
                Ok(())
            }
            Some(error) => Err(self.undo(error)),
        }
    }

    fn begin(&mut self, sync: bool) -> rusqlite::Result<()> {
        if sync != self.syncing {
            // NORMAL leaves the log unsynced; the next commit under FULL syncs all of it.
            let level = if sync { "FULL" } else { "NORMAL" };
            self.connection.pragma_update(None, "synchronous", level)?;
            self.syncing = sync;
        }
        self.connection.execute_batch("BEGIN IMMEDIATE")
    }

    /// Undoes a batch that failed and says what its callers hear.
    fn undo(&mut self, error: rusqlite::Error) -> StoreError {
        tracing::error!(%error, "the store could not write");
        if !self.connection.is_autocommit()
            && let Err(error) = self.connection.execute_batch("ROLLBACK")
        {
            tracing::error!(%error, "the store could not undo what it wrote");
        }
        self.recent.undone();
        if is_failed_sync(&error) {
            let broken = StoreError::Damaged(
                "its disk failed to sync, so what it holds is in doubt; check the disk, then \
                 start nuncio again"
                    .to_owned(),
            );
            self.broken = Some(broken.clone());
            return broken;
        }
        error.into()
    }

    /// Marks a clean end and writes the log back.
    pub(super) fn close(&mut self, epoch: u64) -> Result<(), StoreError> {
        if let Some(broken) = &self.broken {
            return Err(broken.clone());
        }
        self.connection.pragma_update(None, "synchronous", "FULL")?;
        write_meta(self.connection, epoch, true)?;
        let busy: bool =
            self.connection
                .query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |row| row.get(0))?;
        if busy {
            tracing::info!("somebody reads the store: its log is written back at the next start");
        }
        Ok(())
    }
}

/// Runs a job unless the batch has failed already; what it would say is then never heard.
fn attempt<T>(
    failure: &mut Option<rusqlite::Error>,
    run: impl FnOnce() -> rusqlite::Result<Result<T, StoreError>>,
) -> Result<T, StoreError> {
    if failure.is_some() {
        return Err(closed());
    }
    run().unwrap_or_else(|error| {
        *failure = Some(error);
        Err(closed())
    })
}
