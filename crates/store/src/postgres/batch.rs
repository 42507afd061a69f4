//! Runs a batch of jobs as one transaction and answers them after its commit.
//!
//! Owns the writing connection and what becomes of a batch whose connection breaks: its jobs are in
//! doubt until they are looked for over the next one. Chunks that were acknowledged before a sync
//! are kept until one, and written again should the server have crashed in between.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout};
use tokio_postgres::Error;

use super::address::Address;
use super::error::{closed, is_passing, is_refusal, may_be_of_one_job, told};
use super::link::in_one_go;
use super::lock::{Held, Session};
use super::work::{Job, Outcome, Work};
use super::writer::{PATIENCE, Queue};
use crate::{Append, StoreError};

/// How long a transaction may take before its connection counts as broken.
const BATCH_LIMIT: Duration = Duration::from_secs(20);
/// How long jobs in doubt wait for the database: a restart or a failover takes less.
const DOUBT_PATIENCE: Duration = Duration::from_secs(60);
/// Pause before the next try to connect, doubled each time.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
/// Longest pause between two tries.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// Times that one batch may lose its connection or meet another writer before it is given up.
const MAX_TRIES: u32 = 5;
/// Bytes of acknowledged chunks that may wait for a sync.
const MAX_UNSYNCED_BYTES: usize = 1024 * 1024;

/// Why a transaction was not answered.
enum Failure {
    /// The server undid it.
    Refused(Error),
    /// Nobody knows.
    Lost(String),
}

/// Runs batches over one connection at a time.
pub(super) struct Batches {
    address: Address,
    held: Option<Held>,
    /// The last session that wrote.
    session: Session,
    epoch: u64,
    /// Chunks acknowledged since the last sync.
    unsynced: Vec<Append>,
    unsynced_bytes: usize,
    /// Changes of which their callers know only that the database was away. They may have been
    /// done, and are looked for when they are asked for again.
    in_doubt: HashMap<Arc<str>, Append>,
    /// Set when another gateway took the database: nothing is written after that.
    broken: Option<StoreError>,
}

impl Batches {
    pub(super) fn new(address: Address, held: Held, epoch: u64) -> Self {
        Self {
            address,
            session: held.session.clone(),
            held: Some(held),
            epoch,
            unsynced: Vec::new(),
            unsynced_bytes: 0,
            in_doubt: HashMap::new(),
            broken: None,
        }
    }

    /// Runs a batch, first what needs no sync, so that it is not held back by one.
    pub(super) async fn run(&mut self, mut batch: Vec<Job>, queue: &mut Queue) {
        let full = self.unsynced_bytes > MAX_UNSYNCED_BYTES;
        let is_quiet = |job: &Job| job.work.needs_no_sync_of_its_own();
        if batch.iter().all(is_quiet) {
            return self.commit(batch, full, queue).await;
        }
        // A job stays behind an earlier one for the same task.
        let mut behind: HashSet<String> = HashSet::new();
        let early: Vec<Job> = if batch.iter().any(|job| job.work.needs_no_sync()) {
            let is_early = |job: &mut Job| {
                let task = job.work.task();
                let early =
                    job.work.needs_no_sync() && task.is_none_or(|task| !behind.contains(task));
                if let Some(task) = task.filter(|_| !early) {
                    behind.insert(task.to_owned());
                }
                early
            };
            batch.extract_if(.., is_early).collect()
        } else {
            Vec::new()
        };
        self.commit(early, full, queue).await;
        self.commit(batch, true, queue).await;
    }

    /// Runs jobs in one transaction and answers them after its commit.
    async fn commit(&mut self, mut jobs: Vec<Job>, sync: bool, queue: &mut Queue) {
        for job in &mut jobs {
            job.in_doubt |= self.is_in_doubt(&job.work);
        }
        let mut deadline = Instant::now() + PATIENCE;
        let mut tries = 0;
        while !jobs.is_empty() {
            if let Err(error) = self.connect(deadline, queue).await {
                return self.give_up(jobs, &error);
            }
            tries += 1;
            let failure = match self.settle(&mut jobs).await {
                Ok(()) => match self.transaction(&jobs, sync).await {
                    Ok(outcomes) => return self.answer(jobs, outcomes, sync),
                    Err(failure) => failure,
                },
                Err(failure) => failure,
            };
            match failure {
                Failure::Lost(text) => {
                    tracing::warn!(error = text, "the connection to PostgreSQL broke");
                    self.held = None;
                    jobs.iter_mut().for_each(|job| job.in_doubt = true);
                    if tries == MAX_TRIES {
                        return self.give_up(jobs, &StoreError::Unavailable(text));
                    }
                    deadline = deadline.max(Instant::now() + DOUBT_PATIENCE);
                }
                Failure::Refused(error) if is_passing(&error) && tries < MAX_TRIES => {}
                Failure::Refused(error) if jobs.len() > 1 && may_be_of_one_job(&error) => {
                    for job in jobs {
                        Box::pin(self.commit(vec![job], sync, queue)).await;
                    }
                    return;
                }
                Failure::Refused(error) => {
                    tracing::error!(error = told(&error), "the store could not write");
                    let error = StoreError::from(error);
                    // Perhaps a standby: the next connection looks for the primary.
                    self.held = None;
                    return jobs
                        .into_iter()
                        .for_each(|job| job.answer(Err(error.clone())));
                }
            }
        }
    }

    /// Answers the jobs in doubt that were done, and takes them out.
    async fn settle(&mut self, jobs: &mut Vec<Job>) -> Result<(), Failure> {
        let link = match &self.held {
            Some(held) => &held.link,
            None => return Err(Failure::Lost("it is closed".to_owned())),
        };
        let mut open = Vec::with_capacity(jobs.len());
        let mut failure = None;
        for mut job in jobs.drain(..) {
            if !job.in_doubt || failure.is_some() {
                open.push(job);
                continue;
            }
            match timeout(BATCH_LIMIT, link.was_done(&job.work)).await {
                Ok(Ok(done)) => {
                    if let Work::Append(append) = &job.work {
                        self.in_doubt.remove(&append.task);
                    }
                    match done {
                        Some(outcome) => job.answer(Ok(outcome)),
                        None => {
                            job.in_doubt = false;
                            open.push(job);
                        }
                    }
                }
                Ok(Err(error)) => {
                    failure = Some(Failure::Lost(told(&error)));
                    open.push(job);
                }
                Err(_) => {
                    failure = Some(Failure::Lost("it does not answer".to_owned()));
                    open.push(job);
                }
            }
        }
        *jobs = open;
        failure.map_or(Ok(()), Err)
    }

    /// Sends everything at once and waits for all answers.
    async fn transaction(
        &mut self,
        jobs: &[Job],
        sync: bool,
    ) -> Result<Vec<Result<Outcome, StoreError>>, Failure> {
        type Answer = Result<Option<Result<Outcome, StoreError>>, Error>;
        let Some(held) = &self.held else {
            return Err(Failure::Lost("it is closed".to_owned()));
        };
        let link = &held.link;
        let say = |statements: &'static str| -> BoxFuture<'_, Answer> {
            async move { link.batch(statements).await.map(|()| None) }.boxed()
        };
        // A statement alone is a transaction of its own.
        let several = jobs.len() > 1 || !sync;
        let mut steps: Vec<BoxFuture<'_, Answer>> = Vec::with_capacity(jobs.len() + 2);
        if several {
            steps.push(say(if sync {
                "BEGIN"
            } else {
                "BEGIN; SET LOCAL synchronous_commit = off"
            }));
        }
        for job in jobs {
            steps.push(async move { link.run(&job.work).await.map(Some) }.boxed());
        }
        if several {
            steps.push(say("COMMIT"));
        }
        let answers = timeout(BATCH_LIMIT, in_one_go(steps))
            .await
            .map_err(|_| Failure::Lost("it does not answer".to_owned()))?;
        let mut outcomes = Vec::with_capacity(jobs.len());
        for answer in answers {
            match answer {
                Ok(outcome) => outcomes.extend(outcome),
                Err(error) if is_refusal(&error) => return Err(Failure::Refused(error)),
                Err(error) => return Err(Failure::Lost(told(&error))),
            }
        }
        Ok(outcomes)
    }

    fn answer(&mut self, jobs: Vec<Job>, outcomes: Vec<Result<Outcome, StoreError>>, sync: bool) {
        if sync {
            self.unsynced.clear();
            self.unsynced_bytes = 0;
        }
        for (job, outcome) in jobs.into_iter().zip(outcomes) {
            if !sync
                && outcome.is_ok()
                && let Work::Append(append) = &job.work
            {
                self.unsynced_bytes += append.bytes();
                self.unsynced.push(append.clone());
            }
            job.answer(outcome);
        }
    }

    fn is_in_doubt(&self, work: &Work) -> bool {
        let Work::Append(append) = work else {
            return false;
        };
        self.in_doubt.get(&append.task).is_some_and(|before| {
            let jsons = |append: &Append| -> Vec<bytes::Bytes> {
                append.changes.iter().map(|it| it.json().clone()).collect()
            };
            before.version == append.version && jsons(before) == jsons(append)
        })
    }

    /// Tells the callers that the database is away, and remembers what may have been done.
    fn give_up(&mut self, jobs: Vec<Job>, error: &StoreError) {
        for job in jobs {
            if job.in_doubt
                && let Work::Append(append) = &job.work
            {
                self.in_doubt
                    .insert(Arc::clone(&append.task), append.clone());
            }
            job.answer(Err(error.clone()));
        }
    }

    /// Has a connection with the lock, or says why there is none by the deadline.
    async fn connect(&mut self, deadline: Instant, queue: &mut Queue) -> Result<(), StoreError> {
        let mut pause = FIRST_PAUSE;
        loop {
            if let Some(broken) = &self.broken {
                return Err(broken.clone());
            }
            if self.held.as_ref().is_some_and(|it| !it.link.is_closed()) {
                return Ok(());
            }
            self.held = None;
            let opened = Held::open_again(&self.address, &self.session);
            let text = match timeout(PATIENCE, opened).await {
                Ok(Ok(held)) => match self.resume(held).await {
                    Ok(()) => continue,
                    Err(error) => told(&error),
                },
                Ok(Err(text)) => text,
                Err(_) => "it does not answer".to_owned(),
            };
            let error = StoreError::Unavailable(text);
            if Instant::now() >= deadline || queue.is_abandoned() {
                return Err(error);
            }
            queue.pause(pause, &error).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Goes on over a new connection, unless another gateway was there in between.
    async fn resume(&mut self, held: Held) -> Result<(), Error> {
        let row = held.link.query_one("SELECT epoch FROM meta", &[]).await?;
        let epoch: i64 = row.try_get(0)?;
        if epoch.unsigned_abs() != self.epoch {
            tracing::error!("another nuncio has taken the database over");
            self.broken = Some(StoreError::Damaged(
                "another nuncio has taken the database over; stop one of the two".to_owned(),
            ));
            return Ok(());
        }
        // A server that crashed has lost what it had not synced.
        for append in &self.unsynced {
            let work = Work::Append(append.clone());
            if held.link.was_done(&work).await?.is_none()
                && let Err(error) = held.link.run(&work).await?
            {
                tracing::debug!(%error, task = %append.task, "a chunk needs no place any more");
            }
        }
        self.session = held.session.clone();
        self.held = Some(held);
        tracing::info!("connected to PostgreSQL again");
        Ok(())
    }

    /// Marks a clean end.
    pub(super) async fn close(&mut self, queue: &mut Queue) -> Result<(), StoreError> {
        self.connect(Instant::now() + PATIENCE, queue).await?;
        let held = self.held.take().ok_or_else(closed)?;
        let end = held.link.batch("UPDATE meta SET clean = true");
        let ended = timeout(PATIENCE, end).await;
        ended.map_err(|_| StoreError::Unavailable("it does not answer".to_owned()))??;
        Ok(())
    }
}
