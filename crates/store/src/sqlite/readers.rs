//! Threads that read, each with a connection of its own.

use parking_lot::{Condvar, Mutex};
use rusqlite::Connection;
use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use tokio::sync::oneshot;

use super::error::closed;
use crate::StoreError;

/// Statements that a connection keeps compiled: every one that is asked for often.
const CACHED_STATEMENTS: usize = 64;

type Read = Box<dyn FnOnce(&Connection) + Send>;

/// The reading threads and what waits for them.
pub(super) struct Readers {
    queue: Arc<Queue>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    reads: VecDeque<Read>,
    idle: usize,
    closed: bool,
}

impl Readers {
    pub(super) fn start(connections: Vec<Connection>) -> Result<Self, StoreError> {
        let mut readers = Self {
            queue: Arc::default(),
            threads: Vec::new(),
        };
        for connection in connections {
            connection.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
            let queue = Arc::clone(&readers.queue);
            let thread = thread::Builder::new()
                .name("store-reader".to_owned())
                .spawn(move || queue.work(&connection))
                .map_err(|error| StoreError::Open(format!("cannot start the store: {error}")))?;
            readers.threads.push(thread);
        }
        Ok(readers)
    }

    /// Runs `read` on one of the threads and waits for what it finds.
    ///
    /// The queue needs no bound: each entry is an open request, and those are bounded.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        self.queue.push(Box::new(move |connection| {
            let _ = answer.send(read(connection));
        }));
        answered.await.map_err(|_| closed())?
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.queue.waiting.lock().closed = true;
        self.queue.changed.notify_all();
        for thread in self.threads.drain(..) {
            // It panicked if this fails; there is nobody left to tell.
            let _ = thread.join();
        }
    }
}

impl Queue {
    fn push(&self, read: Read) {
        let mut waiting = self.waiting.lock();
        waiting.reads.push_back(read);
        let wake = waiting.idle > 0;
        drop(waiting);
        if wake {
            self.changed.notify_one();
        }
    }

    fn work(&self, connection: &Connection) {
        while let Some(read) = self.next() {
            read(connection);
        }
    }

    fn next(&self) -> Option<Read> {
        let mut waiting = self.waiting.lock();
        loop {
            if let Some(read) = waiting.reads.pop_front() {
                return Some(read);
            }
            if waiting.closed {
                return None;
            }
            waiting.idle += 1;
            self.changed.wait(&mut waiting);
            waiting.idle -= 1;
        }
    }
}
