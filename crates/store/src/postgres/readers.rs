//! The connections that read.
//!
//! Each read is one statement, so several share a connection without waiting for each other, and
//! one that fails with its connection is simply asked again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use tokio::sync::{Mutex, Semaphore};
use tokio::time::{Instant, sleep, timeout};

use super::address::Address;
use super::error::{closed, told};
use super::link::Link;
use crate::StoreError;

/// Reads under way on one connection, the server doing one after the other.
const READS_PER_LINK: usize = 16;
/// How long a read may wait for a connection, or for the database to come back.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the server may take for one read.
const READ_LIMIT: Duration = Duration::from_secs(15);
/// Pause before a read is tried again, doubled each time.
const FIRST_PAUSE: Duration = Duration::from_millis(20);

pub(super) struct Readers {
    address: Address,
    links: Vec<Mutex<Option<Arc<Link>>>>,
    next: AtomicUsize,
    places: Semaphore,
}

impl Readers {
    /// Connections are made when they are first needed.
    pub(super) fn new(address: Address, links: usize) -> Self {
        let links: Vec<_> = (0..links.max(1)).map(|_| Mutex::new(None)).collect();
        Self {
            address,
            places: Semaphore::new(links.len() * READS_PER_LINK),
            links,
            next: AtomicUsize::new(0),
        }
    }

    /// Runs `read`, again after a connection that broke.
    pub(super) async fn read<T, F>(
        &self,
        read: impl Fn(Arc<Link>) -> F + Send + Sync,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>> + Send,
    {
        let place = timeout(PATIENCE, self.places.acquire()).await;
        let Ok(place) = place else {
            return Err(StoreError::Unavailable(
                "every connection to read with is busy".to_owned(),
            ));
        };
        let _place = place.map_err(|_| closed())?;
        let deadline = Instant::now() + PATIENCE;
        let mut pause = FIRST_PAUSE;
        loop {
            let error = match self.attempt(&read).await {
                Err(StoreError::Unavailable(error)) => error,
                answer => return answer,
            };
            if Instant::now() >= deadline {
                return Err(StoreError::Unavailable(error));
            }
            sleep(pause).await;
            pause *= 2;
        }
    }

    async fn attempt<T, F>(
        &self,
        read: impl Fn(Arc<Link>) -> F + Send + Sync,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>> + Send,
    {
        let slot = &self.links[self.next.fetch_add(1, Relaxed) % self.links.len()];
        let link = self.link(slot).await?;
        let answer = timeout(READ_LIMIT, read(Arc::clone(&link))).await;
        let answer = answer
            .unwrap_or_else(|_| Err(StoreError::Unavailable("it does not answer".to_owned())));
        if matches!(answer, Err(StoreError::Unavailable(_))) {
            // Perhaps the connection's fault: the next read gets another.
            let mut kept = slot.lock().await;
            if kept.as_ref().is_some_and(|kept| Arc::ptr_eq(kept, &link)) {
                *kept = None;
            }
        }
        answer
    }

    async fn link(&self, slot: &Mutex<Option<Arc<Link>>>) -> Result<Arc<Link>, StoreError> {
        let mut kept = slot.lock().await;
        if self.places.is_closed() {
            return Err(closed());
        }
        if let Some(link) = kept.as_ref().filter(|link| !link.is_closed()) {
            return Ok(Arc::clone(link));
        }
        let opened = timeout(PATIENCE, Link::open(&self.address)).await;
        let link = match opened {
            Ok(Ok(link)) => Arc::new(link),
            Ok(Err(error)) => return Err(StoreError::Unavailable(told(&error))),
            Err(_) => return Err(StoreError::Unavailable("it does not answer".to_owned())),
        };
        *kept = Some(Arc::clone(&link));
        Ok(link)
    }

    /// Ends the connections; later reads are refused.
    pub(super) async fn close(&self) {
        self.places.close();
        for slot in &self.links {
            *slot.lock().await = None;
        }
    }
}
