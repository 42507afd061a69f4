//! The table of tasks in motion, by id. Holds none of them alive.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::{Arc, Weak};

use super::live::LiveTask;

/// Shards of the table: enough that two cores seldom meet in one.
const SHARDS: usize = 64;

pub(super) struct LiveTasks {
    shards: Vec<Mutex<HashMap<Arc<str>, Weak<LiveTask>>>>,
    hasher: RandomState,
}

impl LiveTasks {
    pub(super) fn new() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            hasher: RandomState::new(),
        }
    }

    fn shard(&self, id: &str) -> &Mutex<HashMap<Arc<str>, Weak<LiveTask>>> {
        &self.shards[self.hasher.hash_one(id) as usize % SHARDS]
    }

    /// The task, if it is in motion.
    pub(super) fn get(&self, id: &str) -> Option<Arc<LiveTask>> {
        self.shard(id).lock().get(id).and_then(Weak::upgrade)
    }

    /// Puts the task there, unless it is there already; gives the one that is.
    pub(super) fn insert(&self, task: Arc<LiveTask>) -> Arc<LiveTask> {
        let mut shard = self.shard(&task.id).lock();
        if let Some(present) = shard.get(&task.id).and_then(Weak::upgrade) {
            return present;
        }
        shard.insert(task.id.clone(), Arc::downgrade(&task));
        task
    }

    /// Forgets a task that nobody holds any more; a successor under the same id stays.
    pub(super) fn forget(&self, id: &str) {
        let mut shard = self.shard(id).lock();
        if shard
            .get(id)
            .is_some_and(|present| present.strong_count() == 0)
        {
            shard.remove(id);
        }
    }

    /// How many tasks are in motion.
    pub(super) fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().len()).sum()
    }
}
