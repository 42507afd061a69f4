//! The task that writes: gathers jobs, and keeps its connection.
//!
//! What waits is sent as one transaction in one round trip, by [`super::batch`]; a broken
//! connection is made again here, with the lock, before anything else is written.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::address::Address;
use super::batch::Batches;
use super::error::closed;
use super::lock::Held;
use super::work::{Job, Outcome, Work};
use crate::StoreError;

/// Jobs that may wait; whoever asks for more waits to be queued.
const MAX_QUEUED_JOBS: usize = 1024;
/// Jobs of one transaction: bounds how long the first of them waits, some 20 ms.
const MAX_BATCH_JOBS: usize = 128;
/// Events' bytes of one transaction, so that they do not pile up on their way.
const MAX_BATCH_BYTES: usize = 4 * 1024 * 1024;
/// How long a job may wait for a database that is away.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// What the task is told.
enum Order {
    Do(Job),
    Close(oneshot::Sender<Result<(), StoreError>>),
}

/// The way to the writing task.
pub(super) struct Writer {
    orders: mpsc::Sender<Order>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    pub(super) fn start(address: Address, held: Held, epoch: u64) -> Self {
        let (orders, queue) = mpsc::channel(MAX_QUEUED_JOBS);
        let queue = Queue {
            queue,
            waiting: VecDeque::new(),
        };
        let task = tokio::spawn(write(queue, Batches::new(address, held, epoch)));
        Self {
            orders,
            task: Mutex::new(Some(task)),
        }
    }

    /// Queues work and waits for its outcome.
    pub(super) async fn ask(&self, work: Work) -> Result<Outcome, StoreError> {
        let (answer, answered) = oneshot::channel();
        let job = Job {
            work,
            answer,
            asked: Instant::now(),
            in_doubt: false,
        };
        self.orders
            .send(Order::Do(job))
            .await
            .map_err(|_| closed())?;
        answered.await.map_err(|_| closed())?
    }

    /// Ends the task after what is queued before.
    pub(super) async fn close(&self) -> Result<(), StoreError> {
        let (answer, answered) = oneshot::channel();
        self.orders
            .send(Order::Close(answer))
            .await
            .map_err(|_| closed())?;
        let result = answered.await.map_err(|_| closed())?;
        let task = self.task.lock().take();
        if let Some(task) = task {
            // It panicked if this fails; what it said before stands.
            let _ = task.await;
        }
        result
    }
}

/// Runs until it is told to close or nobody is left to ask.
async fn write(mut queue: Queue, mut batches: Batches) {
    while let Some(first) = queue.next().await {
        let (batch, close) = queue.gather(first);
        batches.run(batch, &mut queue).await;
        if let Some(answer) = close {
            queue.queue.close();
            let _ = answer.send(batches.close(&mut queue).await);
            return;
        }
    }
}

/// What waits to be written.
pub(super) struct Queue {
    queue: mpsc::Receiver<Order>,
    /// Taken out of the queue while the database was away.
    waiting: VecDeque<Order>,
}

impl Queue {
    async fn next(&mut self) -> Option<Order> {
        match self.waiting.pop_front() {
            Some(order) => Some(order),
            None => self.queue.recv().await,
        }
    }

    /// Takes what waits, up to the bounds of a batch or a wish to close.
    fn gather(
        &mut self,
        first: Order,
    ) -> (Vec<Job>, Option<oneshot::Sender<Result<(), StoreError>>>) {
        let mut batch = Vec::new();
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
            next = if full {
                None
            } else {
                let waiting = self.waiting.pop_front();
                waiting.or_else(|| self.queue.try_recv().ok())
            };
        }
        (batch, None)
    }

    /// Waits while the database is away, and refuses those who have waited too long.
    pub(super) async fn pause(&mut self, pause: Duration, error: &StoreError) {
        sleep(pause).await;
        while let Ok(order) = self.queue.try_recv() {
            self.waiting.push_back(order);
        }
        let waiting = std::mem::take(&mut self.waiting);
        for order in waiting {
            match order {
                Order::Do(job) if job.asked.elapsed() >= PATIENCE => {
                    job.answer(Err(error.clone()));
                }
                order => self.waiting.push_back(order),
            }
        }
    }

    /// Whether nobody is left who could ask.
    pub(super) fn is_abandoned(&self) -> bool {
        self.queue.is_closed() && self.queue.is_empty() && self.waiting.is_empty()
    }
}
