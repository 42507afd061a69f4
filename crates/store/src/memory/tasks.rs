//! One task in memory: made, found, read, forgotten.

use bytes::Bytes;
use nuncio_wire::TaskState;
use nuncio_wire::dialects::Dialect;
use parking_lot::Mutex;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::MemoryStore;
use super::events::Log;
use super::repeats::{Send, is_running};
use crate::{Created, Include, NewTask, StoreError, TaskRecord, Visibility};

/// A task: what never changes, and its progress behind a lock of its own.
pub(super) struct Task {
    pub(super) id: Arc<str>,
    pub(super) agent: Arc<str>,
    pub(super) owner: Arc<str>,
    pub(super) context_id: Arc<str>,
    pub(super) dialect: Dialect,
    /// Its place in the order of creation.
    made: u64,
    /// Where it stands in the index of sends.
    pub(super) send_hash: u64,
    pub(super) labels: Option<Box<Labels>>,
    pub(super) progress: Mutex<Progress>,
}

/// Names that few tasks have.
pub(super) struct Labels {
    pub(super) alias: Option<String>,
    pub(super) key: Option<String>,
}

/// What changes in a task.
pub(super) struct Progress {
    pub(super) state: TaskState,
    pub(super) version: u64,
    pub(super) lease_epoch: u64,
    pub(super) status: Bytes,
    pub(super) status_millis: i64,
    pub(super) metadata: Option<Bytes>,
    pub(super) history: Vec<Bytes>,
    pub(super) log: Log,
    /// Whoever set this takes the task out of the store; nothing is appended any more.
    pub(super) gone: bool,
    /// What a repeat would have to be equal to; gone once the task is finished.
    pub(super) send: Option<Box<Send>>,
}

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
        new: NewTask,
        oldest: &mut Option<Arc<Task>>,
    ) -> Result<Created, StoreError> {
        let send_hash = self.send_hash(&new);
        let mut key = self.lock_key(&new);
        if let Some(key) = &mut key
            && let Some(first) = key.first_task(&new)?
        {
            return Ok(Created::Repeated(first));
        }
        let mut sends = self.sends.lock(send_hash);
        if key.is_none()
            && let Some(first) = sends
                .all(send_hash)
                .filter(|task| task.has_sent(&new))
                .min_by_key(|task| task.made)
        {
            return Ok(Created::Repeated(first.id.to_string()));
        }
        *oldest = self.take_place()?;
        let running = is_running(new.state);
        let task = Arc::new(Task::new(new, self.made.fetch_add(1, Relaxed), send_hash));
        self.insert(&task)?;
        if running {
            sends.insert(send_hash, Arc::clone(&task));
        }
        if let Some(key) = &mut key {
            key.insert(&task);
        }
        Ok(Created::New)
    }

    pub(super) fn find(&self, id: &str) -> Option<Arc<Task>> {
        let hash = self.hashing.hash_one(id);
        self.tasks
            .lock(hash)
            .find(hash, |task| *task.id == *id)
            .map(Arc::clone)
    }

    pub(super) fn by_alias(&self, alias: &str, visibility: &Visibility) -> Option<String> {
        let hash = self.hashing.hash_one(alias);
        let aliases = self.aliases.lock(hash);
        let newest = aliases.all(hash).rfind(|task| {
            task.alias() == Some(alias) && visibility.covers(&task.agent, &task.owner)
        });
        newest.map(|task| task.id.to_string())
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
        while let Some(oldest) = finished.pop() {
            // One that was discarded gave its place back already.
            if oldest.claim_removal() {
                return Ok(Some(oldest));
            }
        }
        Err(StoreError::Full {
            max: self.options.max_tasks,
        })
    }

    fn insert(&self, task: &Arc<Task>) -> Result<(), StoreError> {
        let hash = self.hashing.hash_one(&*task.id);
        let mut tasks = self.tasks.lock(hash);
        if tasks.find(hash, |other| other.id == task.id).is_some() {
            self.held.fetch_sub(1, Relaxed);
            return Err(StoreError::Damaged(format!(
                "there is a task {} already",
                task.id
            )));
        }
        tasks.insert(hash, Arc::clone(task));
        drop(tasks);
        if let Some(alias) = task.alias() {
            let hash = self.hashing.hash_one(alias);
            self.aliases.lock(hash).insert(hash, Arc::clone(task));
        }
        Ok(())
    }

    /// Takes a task out of every index.
    fn forget(&self, task: &Arc<Task>) {
        let is = |other: &Arc<Task>| Arc::ptr_eq(other, task);
        self.sends.lock(task.send_hash).remove(task.send_hash, is);
        let hash = self.hashing.hash_one(&*task.id);
        self.tasks.lock(hash).remove(hash, is);
        if let Some(alias) = task.alias() {
            let hash = self.hashing.hash_one(alias);
            self.aliases.lock(hash).remove(hash, is);
        }
        self.forget_key(task);
    }
}

impl Task {
    fn new(new: NewTask, made: u64, send_hash: u64) -> Self {
        let labels = (new.alias.is_some() || new.repeat.key.is_some()).then(|| {
            Box::new(Labels {
                alias: new.alias,
                key: new.repeat.key.clone(),
            })
        });
        Self {
            id: new.id,
            agent: new.agent,
            owner: new.owner,
            context_id: new.context_id,
            dialect: new.dialect,
            made,
            send_hash,
            labels,
            progress: Mutex::new(Progress {
                state: new.state,
                version: 1,
                lease_epoch: 0,
                status: new.status,
                status_millis: new.status_millis,
                metadata: new.metadata,
                history: vec![new.message],
                log: Log::default(),
                gone: false,
                send: Some(Box::new(Send::of(new.repeat))),
            }),
        }
    }

    pub(super) fn alias(&self) -> Option<&str> {
        self.labels.as_ref()?.alias.as_deref()
    }

    /// Whether it is the caller who has to take the task out of the store.
    fn claim_removal(&self) -> bool {
        !std::mem::replace(&mut self.progress.lock().gone, true)
    }

    fn is_finished(&self) -> bool {
        self.progress.lock().state.is_terminal()
    }

    pub(super) fn read(&self, include: Include) -> TaskRecord {
        self.read_locked(&self.progress.lock(), include)
    }

    /// Reads the task while its progress is locked.
    pub(super) fn read_locked(&self, progress: &Progress, include: Include) -> TaskRecord {
        let all = progress.history.len();
        let wanted = include.history.map_or(all, |most| all.min(most as usize));
        TaskRecord {
            id: Arc::clone(&self.id),
            agent: Arc::clone(&self.agent),
            owner: Arc::clone(&self.owner),
            context_id: Arc::clone(&self.context_id),
            dialect: self.dialect,
            alias: self.alias().map(str::to_owned),
            state: progress.state,
            version: progress.version,
            lease_epoch: progress.lease_epoch,
            status: progress.status.clone(),
            status_millis: progress.status_millis,
            metadata: progress.metadata.clone(),
            history: progress.history[all - wanted..].to_vec(),
            artifacts: include.artifacts.then(|| progress.log.segments()),
        }
    }
}
