//! The one thread that writes, many changes to a commit.
//!
//! Owns when a change is durable: jobs that wait together are committed together, and nobody is
//! answered before the commit is synced. A batch that fails is undone whole. What a job does to
//! the rows is in [`super::tasks`], [`super::events`] and [`super::retention`].

use rusqlite::Connection;
use std::collections::HashSet;
use std::fs::File;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

use super::error::{closed, is_failed_sync};
use super::events::AppendRows;
use super::open::write_meta;
use super::recent::{Recent, RecentWriter};
use super::retention;
use super::tasks::CreateRows;
use crate::{Append, Created, Durability, NewTask, StoreError};

/// Jobs that may wait; whoever asks for more waits to be queued.
const MAX_QUEUED_JOBS: usize = 1024;
/// Jobs of one commit: bounds how long the first of them waits, some 10 ms.
const MAX_BATCH_JOBS: usize = 512;
/// A batch of this many jobs shows that many callers write at once: then the next batch waits for
/// [`GATHERING`], in which those that were just answered come back.
const BUSY_BATCH_JOBS: usize = 8;
/// Short beside a sync, long enough for an answered caller to ask again. At 64 callers it halves
/// the commits and takes a fifth off the processor time of each job.
const GATHERING: Duration = Duration::from_micros(50);
/// Events' bytes of one commit, so that big ones do not pile up in the log.
const MAX_BATCH_BYTES: usize = 16 * 1024 * 1024;

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
    Close(Answer<()>),
}

/// The way to the writing thread.
pub(super) struct Writer {
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(
        connection: Connection,
        recent: Arc<Recent>,
        epoch: u64,
        lock: File,
    ) -> Result<Self, StoreError> {
        let (jobs, queue) = mpsc::channel(MAX_QUEUED_JOBS);
        let (ready, is_ready) = std::sync::mpsc::channel();
        let thread = thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || {
                run(&connection, recent, queue, epoch, &ready);
                drop(connection);
                // Last of all: now another process may open the file.
                drop(lock);
            })
            .map_err(|error| StoreError::Open(format!("cannot start the store: {error}")))?;
        let writer = Self {
            jobs: Some(jobs),
            thread: Some(thread),
        };
        is_ready.recv().map_err(|_| closed())??;
        Ok(writer)
    }

    /// Queues a job and waits for its answer.
    pub(super) async fn ask<T>(&self, job: impl FnOnce(Answer<T>) -> Job) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let jobs = self.jobs.as_ref().ok_or_else(closed)?;
        jobs.send(job(answer)).await.map_err(|_| closed())?;
        answered.await.map_err(|_| closed())?
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // It panicked if this fails; there is nobody left to tell.
            let _ = thread.join();
        }
    }
}

fn run(
    connection: &Connection,
    recent: Arc<Recent>,
    mut queue: mpsc::Receiver<Job>,
    epoch: u64,
    ready: &std::sync::mpsc::Sender<Result<(), StoreError>>,
) {
    let mut batches = match Batches::new(connection, recent) {
        Ok(batches) => {
            let _ = ready.send(Ok(()));
            batches
        }
        Err(error) => {
            let _ = ready.send(Err(error.into()));
            return;
        }
    };
    let mut busy = false;
    while let Some(first) = queue.blocking_recv() {
        if busy {
            thread::sleep(GATHERING);
        }
        let (batch, close) = gather(first, &mut queue);
        busy = batch.len() >= BUSY_BATCH_JOBS;
        batches.run(batch);
        if let Some(answer) = close {
            queue.close();
            let _ = answer.send(batches.close(epoch));
            return;
        }
    }
}

/// Takes what waits, up to the bounds of a batch or a wish to close.
fn gather(first: Job, queue: &mut mpsc::Receiver<Job>) -> (Vec<Job>, Option<Answer<()>>) {
    let mut batch = Vec::with_capacity(queue.len() + 1);
    let mut bytes = 0;
    let mut next = Some(first);
    while let Some(job) = next {
        if let Job::Close(answer) = job {
            return (batch, Some(answer));
        }
        bytes += job.bytes();
        batch.push(job);
        let full = batch.len() == MAX_BATCH_JOBS || bytes >= MAX_BATCH_BYTES;
        next = if full { None } else { queue.try_recv().ok() };
    }
    (batch, None)
}

impl Job {
    fn bytes(&self) -> usize {
        match self {
            Self::Create(new, _) => {
                new.message.len() + new.metadata.as_ref().map_or(0, |m| m.len())
            }
            Self::Append(append, _) => append.bytes(),
            Self::Retire { .. } | Self::Discard { .. } | Self::Close(_) => 0,
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

    /// The task that it changes.
    fn task(&self) -> Option<&str> {
        match self {
            Self::Append(append, _) => Some(&append.task),
            Self::Discard { id, .. } => Some(id),
            _ => None,
        }
    }
}

/// A job that was run, with what its caller will hear if the commit succeeds.
enum Done {
    Create(Answer<Created>, Result<Created, StoreError>),
    Append(Answer<u64>, Result<u64, StoreError>),
    Retire(Answer<usize>, Result<usize, StoreError>),
    Discard(Answer<()>, Result<(), StoreError>),
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
            Self::Discard(answer, result) => send(answer, result, failed),
        }
    }
}

/// Runs batches on a connection.
struct Batches<'c> {
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
    fn new(connection: &'c Connection, recent: Arc<Recent>) -> rusqlite::Result<Self> {
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
    fn run(&mut self, mut batch: Vec<Job>) {
        if !batch.iter().any(Job::needs_no_sync) {
            return self.commit(batch, true);
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
        let mut done = Vec::with_capacity(jobs.len());
        let result = match self.broken.clone() {
            Some(error) => Err(error),
            None => self.transaction(jobs, sync, &mut done),
        };
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
                Job::Discard { id, answer } => Done::Discard(
                    answer,
                    attempt(failure, || {
                        retention::discard(self.connection, &id, &mut self.recent).map(Ok)
                    }),
                ),
                // Ends the loop of jobs and is never part of a batch.
                Job::Close(answer) => Done::Discard(answer, Err(closed())),
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
    fn close(&mut self, epoch: u64) -> Result<(), StoreError> {
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
