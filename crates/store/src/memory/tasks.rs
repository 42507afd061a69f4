//! Tasks of the memory store: made, found, forgotten.

use parking_lot::{Mutex, MutexGuard};
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::MemoryStore;
use super::push::Kept;
use super::repeats::{Send, is_running};
use crate::held::{Head, Progress, Shard};
use crate::{Created, Include, NewTask, StoreError, TaskRecord, Visibility};

/// A task: what never changes, and its progress behind a lock of its own.
pub(super) struct Task {
    pub(super) head: Head,
    /// Its place in the order of creation.
    pub(super) made: u64,
    /// Where it stands in the index of sends.
    pub(super) send_hash: u64,
    /// The key that made it.
    #[allow(clippy::box_collection)]
    // the many tasks without one keep place for a pointer only
    pub(super) key: Option<Box<String>>,
    pub(super) state: Mutex<State>,
}

/// What changes in a task of this store.
pub(super) struct State {
    pub(super) progress: Progress,
    /// Whoever set this takes the task out of the store; nothing is appended any more.
    pub(super) gone: bool,
    /// What a repeat would have to be equal to; gone once the task is finished.
    pub(super) send: Option<Box<Send>>,
    /// Where its events are pushed to.
    #[allow(clippy::box_collection)]
    // the many tasks without one keep place for a pointer only
    pub(super) push: Option<Box<Vec<Kept>>>,
}

/// The shard of a caller's id that nobody else may get meanwhile.
type LockedAlias<'a> = MutexGuard<'a, Shard<Arc<Task>>>;

impl MemoryStore {
    pub(super) fn create(&self, new: NewTask) -> Result<Created, StoreError> {
        let mut oldest = None;
        let created = self.create_locked(new, &mut oldest);
        // Only now: the oldest task may stand in a shard that was locked.
        if let Some(oldest) = oldest {
            self.forget(&oldest);
        }
        created
    }

    fn create_locked(
        &self,
        mut new: NewTask,
        oldest: &mut Option<Arc<Task>>,
    ) -> Result<Created, StoreError> {
        let send_hash = self.send_hash(&new);
        let mut key = self.lock_key(&new);
        if let Some(key) = &mut key
            && let Some(first) = key.first_task(&new)?
        {
            return Ok(Created::Repeated(first));
        }
        let mut alias = self.lock_alias(&new)?;
        let mut sends = self.sends.lock(send_hash);
        if key.is_none() {
            let same = sends.all(send_hash).filter(|task| task.has_sent(&new));
            if let Some(first) = same.min_by_key(|task| task.made) {
                return Ok(Created::Repeated(first.head.id.to_string()));
            }
        }
        let push = new.push_config.take();
        let open = push.as_ref().map(|_| self.open_configs.take(&new.owner, 0));
        let open = open.transpose()?;
        *oldest = self.take_place()?;
        let running = is_running(new.state);
        let push = push.map(|push| Box::new(vec![self.first_push(push, Some(new.status.clone()))]));
        let made = self.made.fetch_add(1, Relaxed);
        let task = Arc::new(Task::new(new, made, send_hash, push));
        self.insert(&task, &mut alias)?;
        if let Some(open) = open {
            open.keep();
        }
        if running {
            sends.insert(send_hash, Arc::clone(&task));
        }
        if let Some(key) = &mut key {
            key.insert(&task);
        }
        Ok(Created::New)
    }

    /// Locks the id that the caller chose where nobody else may get it meanwhile.
    fn lock_alias(&self, new: &NewTask) -> Result<Option<LockedAlias<'_>>, StoreError> {
        let Some(alias) = new.alias.as_deref().filter(|_| new.alias_is_unique) else {
            return Ok(None);
        };
        let hash = self.hashing.hash_one(alias);
        let aliases = self.aliases.lock(hash);
        let is = |task: &Arc<Task>| {
            let head = &task.head;
            head.alias() == Some(alias) && head.agent == new.agent && head.owner == new.owner
        };
        if aliases.find(hash, is).is_some() {
            return Err(StoreError::AliasTaken);
        }
        Ok(Some(aliases))
    }

    pub(super) fn find(&self, id: &str) -> Option<Arc<Task>> {
        let hash = self.hashing.hash_one(id);
        self.tasks
            .lock(hash)
            .find(hash, |task| *task.head.id == *id)
            .map(Arc::clone)
    }

    pub(super) fn by_alias(&self, alias: &str, visibility: &Visibility) -> Option<String> {
        let hash = self.hashing.hash_one(alias);
        let aliases = self.aliases.lock(hash);
        let newest = aliases
            .all(hash)
            .rfind(|task| task.head.alias() == Some(alias) && task.is_visible(visibility));
        newest.map(|task| task.head.id.to_string())
    }

    pub(super) fn unfinished(&self) -> Vec<TaskRecord> {
        let mut tasks = Vec::new();
        for shard in self.tasks.shards() {
            tasks.extend(
                shard
                    .iter()
                    .filter(|task| !task.is_finished())
                    .map(Arc::clone),
            );
        }
        tasks.sort_unstable_by_key(|task| task.made);
        tasks
            .iter()
            .map(|task| {
                task.read(Include {
                    history: None,
                    artifacts: false,
                })
            })
            .collect()
    }

    pub(super) fn discard(&self, id: &str) {
        if let Some(task) = self.find(id)
            && task.claim_removal()
        {
            self.forget(&task);
            self.held.fetch_sub(1, Relaxed);
        }
    }

    /// Takes one of the places, if need be that of the task that ended first, which is returned to
    /// be forgotten.
    fn take_place(&self) -> Result<Option<Arc<Task>>, StoreError> {
        if self.held.fetch_add(1, Relaxed) < self.options.max_tasks {
            return Ok(None);
        }
        self.held.fetch_sub(1, Relaxed);
        let mut finished = self.finished.lock();
        // Those that a receiver still waits for go to the end of the queue.
        let mut waiting = Vec::new();
        let found = loop {
            match finished.pop() {
                Some(task) if task.awaits_push() => waiting.push(task),
                // One that was discarded gave its place back already.
                Some(task) if !task.claim_removal() => {}
                found => break found,
            }
        };
        waiting.into_iter().for_each(|task| finished.push(task));
        let full = StoreError::Full {
            max: self.options.max_tasks,
        };
        found.map(Some).ok_or(full)
    }

    fn insert(
        &self,
        task: &Arc<Task>,
        locked: &mut Option<LockedAlias<'_>>,
    ) -> Result<(), StoreError> {
        let hash = self.hashing.hash_one(&*task.head.id);
        let mut tasks = self.tasks.lock(hash);
        if tasks
            .find(hash, |other| other.head.id == task.head.id)
            .is_some()
        {
            self.held.fetch_sub(1, Relaxed);
            return Err(StoreError::Damaged(format!(
                "there is a task {} already",
                task.head.id
            )));
        }
        tasks.insert(hash, Arc::clone(task));
        drop(tasks);
        if let Some(alias) = task.head.alias() {
            let hash = self.hashing.hash_one(alias);
            match locked {
                Some(aliases) => aliases.insert(hash, Arc::clone(task)),
                None => self.aliases.lock(hash).insert(hash, Arc::clone(task)),
            }
        }
        Ok(())
    }

    /// Takes a task out of every index.
    fn forget(&self, task: &Arc<Task>) {
        let is = |other: &Arc<Task>| Arc::ptr_eq(other, task);
        self.sends.lock(task.send_hash).remove(task.send_hash, is);
        let hash = self.hashing.hash_one(&*task.head.id);
        self.tasks.lock(hash).remove(hash, is);
        if let Some(alias) = task.head.alias() {
            let hash = self.hashing.hash_one(alias);
            self.aliases.lock(hash).remove(hash, is);
        }
        self.forget_key(task);
        self.forget_pushes(task);
    }
}

impl Task {
    #[allow(clippy::box_collection)] // as in the state
    fn new(mut new: NewTask, made: u64, send_hash: u64, push: Option<Box<Vec<Kept>>>) -> Self {
        let head = Head::of(&new);
        let send = Some(Box::new(Send::of(&mut new.repeat)));
        let key = new.repeat.key.take().map(Box::new);
        let state = Mutex::new(State {
            progress: Progress::of(new),
            gone: false,
            send,
            push,
        });
        Self {
            head,
            made,
            send_hash,
            key,
            state,
        }
    }

    pub(super) fn is_visible(&self, visibility: &Visibility) -> bool {
        visibility.covers(&self.head.agent, &self.head.owner)
    }

    /// Whether it is the caller who has to take the task out of the store.
    fn claim_removal(&self) -> bool {
        !std::mem::replace(&mut self.state.lock().gone, true)
    }

    fn awaits_push(&self) -> bool {
        self.state.lock().awaits_push()
    }

    fn is_finished(&self) -> bool {
        self.state.lock().progress.state.is_terminal()
    }

    pub(super) fn read(&self, include: Include) -> TaskRecord {
        self.state.lock().progress.read(&self.head, include)
    }
}
