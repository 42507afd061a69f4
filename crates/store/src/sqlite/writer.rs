//! The one thread that writes, many changes to a commit.
//!
//! Owns the queue of jobs and which of them are committed together. What becomes of a batch is in
//! [`super::batch`].

use rusqlite::Connection;
use std::fs::File;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

use super::batch::{Answer, Batches, Job};
use super::error::closed;
use super::recent::Recent;
use crate::StoreError;

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

/// What the thread is told.
enum Order {
    Do(Job),
    Close(Answer<()>),
}

/// The way to the writing thread.
pub(super) struct Writer {
    orders: Option<mpsc::Sender<Order>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(
        connection: Connection,
        recent: Arc<Recent>,
        epoch: u64,
        lock: File,
    ) -> Result<Self, StoreError> {
        let (orders, queue) = mpsc::channel(MAX_QUEUED_JOBS);
        let (ready, is_ready) = std::sync::mpsc::channel();
        let thread = thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || {
                let closed = run(&connection, recent, queue, epoch, &ready);
                drop(connection);
                // Now another process may open the file, and only then may anybody be told so.
                drop(lock);
                if let Some((answer, outcome)) = closed {
                    let _ = answer.send(outcome);
                }
            })
            .map_err(|error| StoreError::Open(format!("cannot start the store: {error}")))?;
        let writer = Self {
            orders: Some(orders),
            thread: Some(thread),
        };
        is_ready.recv().map_err(|_| closed())??;
        Ok(writer)
    }

    /// Queues a job and waits for its answer.
    pub(super) async fn ask<T>(&self, job: impl FnOnce(Answer<T>) -> Job) -> Result<T, StoreError> {
        self.order(|answer| Order::Do(job(answer))).await
    }

    /// Ends the thread after what is queued before.
    pub(super) async fn close(&self) -> Result<(), StoreError> {
        self.order(Order::Close).await
    }

    async fn order<T>(&self, order: impl FnOnce(Answer<T>) -> Order) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let orders = self.orders.as_ref().ok_or_else(closed)?;
        orders.send(order(answer)).await.map_err(|_| closed())?;
        answered.await.map_err(|_| closed())?
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // It panicked if this fails; there is nobody left to tell.
            let _ = thread.join();
        }
    }
}

/// Works until the queue ends or somebody closes it; then gives what to tell them, and how.
fn run(
    connection: &Connection,
    recent: Arc<Recent>,
    mut queue: mpsc::Receiver<Order>,
    epoch: u64,
    ready: &std::sync::mpsc::Sender<Result<(), StoreError>>,
) -> Option<(Answer<()>, Result<(), StoreError>)> {
    let mut batches = match Batches::new(connection, recent) {
        Ok(batches) => {
            let _ = ready.send(Ok(()));
            batches
        }
        Err(error) => {
            let _ = ready.send(Err(error.into()));
            return None;
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
            let outcome = batches.close(epoch);
            return Some((answer, outcome));
        }
    }
    None
}

/// Takes what waits, up to the bounds of a batch or a wish to close.
fn gather(first: Order, queue: &mut mpsc::Receiver<Order>) -> (Vec<Job>, Option<Answer<()>>) {
    let mut batch = Vec::with_capacity(queue.len() + 1);
    let mut bytes = 0;
    let mut next = Some(first);
    while let Some(order) = next {
        match order {
            Order::Close(answer) => return (batch, Some(answer)),
            Order::Do(job) => {
                bytes += job.bytes();
                batch.push(job);
            }
        }
        let full = batch.len() == MAX_BATCH_JOBS || bytes >= MAX_BATCH_BYTES;
        next = if full { None } else { queue.try_recv().ok() };
    }
    (batch, None)
}
