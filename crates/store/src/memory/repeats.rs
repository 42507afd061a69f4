//! Recognises the repeat of a send (rules at [`Repeat`]).

use nuncio_wire::TaskState;
use parking_lot::MutexGuard;
use std::hash::BuildHasher;
use std::sync::Arc;

use super::MemoryStore;
use super::tasks::Task;
use crate::clock::now_millis;
use crate::held::Shard;
use crate::{NewTask, Repeat, StoreError};

/// What two sends without a key must have in common, besides agent and owner.
pub(super) struct Send {
    message_id: Box<str>,
    payload_hash: [u8; 32],
}

impl Send {
    /// Takes the message's id out of `repeat`.
    pub(super) fn of(repeat: &mut Repeat) -> Self {
        let message_id = std::mem::take(&mut repeat.message_id).into();
        Self {
            message_id,
            payload_hash: repeat.payload_hash,
        }
    }
}

/// The states in which a send without a key is recognised as a repeat.
pub(super) fn is_running(state: TaskState) -> bool {
    matches!(state, TaskState::Submitted | TaskState::Working)
}

impl Task {
    /// Whether this send is the one that made the task.
    pub(super) fn has_sent(&self, new: &NewTask) -> bool {
        let same = |send: &Send| {
            *send.message_id == *new.repeat.message_id
                && send.payload_hash == new.repeat.payload_hash
        };
        self.head.agent == new.agent
            && self.head.owner == new.owner
            && self.state.lock().send.as_deref().is_some_and(same)
    }

    fn key(&self) -> Option<&str> {
        self.key.as_deref().map(String::as_str)
    }
}

/// An idempotency key that made a task. It is forgotten with the task, or once it has expired and
/// comes again.
pub(super) struct UsedKey {
    task: Arc<Task>,
    payload_hash: [u8; 32],
    expires_millis: i64,
}

impl UsedKey {
    fn is(&self, agent: &str, owner: &str, key: &str) -> bool {
        *self.task.head.agent == *agent
            && *self.task.head.owner == *owner
            && self.task.key() == Some(key)
    }
}

/// One key, its shard locked.
pub(super) struct LockedKey<'a> {
    shard: MutexGuard<'a, Shard<UsedKey>>,
    hash: u64,
    payload_hash: [u8; 32],
    expires_millis: i64,
}

impl MemoryStore {
    pub(super) fn send_hash(&self, new: &NewTask) -> u64 {
        let Repeat {
            message_id,
            payload_hash,
            ..
        } = &new.repeat;
        self.hashing
            .hash_one((&*new.agent, &*new.owner, message_id, payload_hash))
    }

    /// Locks the send's key, if it has one.
    pub(super) fn lock_key(&self, new: &NewTask) -> Option<LockedKey<'_>> {
        let hash = self
            .hashing
            .hash_one((&*new.agent, &*new.owner, new.repeat.key.as_deref()?));
        Some(LockedKey {
            shard: self.keys.lock(hash),
            hash,
            payload_hash: new.repeat.payload_hash,
            expires_millis: new.repeat.key_expires_millis,
        })
    }

    /// Forgets the key that made this task, unless it has made another one since.
    pub(super) fn forget_key(&self, task: &Arc<Task>) {
        if let Some(key) = task.key() {
            let hash = self
                .hashing
                .hash_one((&*task.head.agent, &*task.head.owner, key));
            self.keys
                .lock(hash)
                .remove(hash, |used| Arc::ptr_eq(&used.task, task));
        }
    }
}

impl LockedKey<'_> {
    /// The task that this key made, if it still counts.
    pub(super) fn first_task(&mut self, new: &NewTask) -> Result<Option<String>, StoreError> {
        let key = new.repeat.key.as_deref().unwrap_or_default();
        let is = |used: &UsedKey| used.is(&new.agent, &new.owner, key);
        let Some(used) = self.shard.find(self.hash, is) else {
            return Ok(None);
        };
        if used.expires_millis <= now_millis() {
            self.shard.remove(self.hash, is);
            return Ok(None);
        }
        if used.payload_hash != self.payload_hash {
            return Err(StoreError::RepeatConflict);
        }
        Ok(Some(used.task.head.id.to_string()))
    }

    pub(super) fn insert(&mut self, task: &Arc<Task>) {
        let used = UsedKey {
            task: Arc::clone(task),
            payload_hash: self.payload_hash,
            expires_millis: self.expires_millis,
        };
        self.shard.insert(self.hash, used);
    }
}
