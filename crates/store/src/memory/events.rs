//! The one way to change a task of the memory store.

use std::sync::Arc;

use super::MemoryStore;
use super::repeats::is_running;
use crate::{Append, Change, StoreError, StoredEvent};

impl MemoryStore {
    pub(super) fn apply(&self, append: Append) -> Result<u64, StoreError> {
        append.check()?;
        let task = self.find(&append.task).ok_or(StoreError::NotFound)?;
        let status = append
            .changes
            .iter()
            .any(|change| matches!(change, Change::Status { .. }));
        let mut sends = status.then(|| self.sends.lock(task.send_hash));
        let mut state = task.state.lock();
        if state.gone {
            return Err(StoreError::NotFound);
        }
        let progress = &mut state.progress;
        if progress.version != append.version
            || progress.lease_epoch != append.lease_epoch
            || progress.state.is_terminal()
        {
            return Err(StoreError::Stale {
                version: progress.version,
                state: progress.state,
            });
        }
        let before = progress.state;
        progress.take(append.changes);
        let (version, now) = (progress.version, progress.state);
        if now.is_terminal() {
            state.send = None;
        }
        drop(state);
        if let Some(sends) = &mut sends {
            if is_running(before) && !is_running(now) {
                sends.remove(task.send_hash, |other| Arc::ptr_eq(other, &task));
            } else if !is_running(before) && is_running(now) {
                sends.insert(task.send_hash, Arc::clone(&task));
            }
        }
        drop(sends);
        if now.is_terminal() {
            self.finished.lock().push(task);
        }
        Ok(version)
    }

    pub(super) fn events_of(&self, id: &str, after: u64, limit: usize) -> Vec<StoredEvent> {
        let Some(task) = self.find(id) else {
            return Vec::new();
        };
        task.state.lock().progress.events(after, limit)
    }
}
