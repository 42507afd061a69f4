//! Push configurations of the memory store: they stand with their task.

use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::MemoryStore;
use super::tasks::{State, Task};
use crate::push::check_counts;
use crate::{NewPushConfig, PushAdvance, PushConfig, PushProgress, StoreError};

/// A configuration, without what its task knows.
pub(super) struct Kept {
    new: NewPushConfig,
    first_status: Option<Bytes>,
    number: u64,
    revision: u64,
    progress: PushProgress,
    /// It has had the last event of its task, or is off: no longer counts for its owner.
    done: bool,
}

/// How many configurations of each owner may still have something to send.
#[derive(Default)]
pub(super) struct OpenConfigs(Mutex<HashMap<Arc<str>, usize>>);

impl OpenConfigs {
    /// Takes a place beside `of_task` others of its task.
    pub(super) fn take(
        &self,
        owner: &Arc<str>,
        of_task: usize,
    ) -> Result<OpenPlace<'_>, StoreError> {
        let mut open = self.0.lock();
        let of_owner = open.get(owner).copied().unwrap_or(0);
        check_counts(of_task, of_owner)?;
        open.insert(Arc::clone(owner), of_owner + 1);
        drop(open);
        Ok(OpenPlace {
            configs: self,
            owner: Some(Arc::clone(owner)),
        })
    }

    /// Takes a place that nobody may refuse: the operator's.
    fn take_again(&self, owner: &Arc<str>) {
        *self.0.lock().entry(Arc::clone(owner)).or_default() += 1;
    }

    fn give_back(&self, owner: &str, places: usize) {
        let mut open = self.0.lock();
        if let Some(count) = open.get_mut(owner) {
            *count = count.saturating_sub(places);
            if *count == 0 {
                open.remove(owner);
            }
        }
    }
}

/// The place of a configuration about to be made; given back unless it was.
pub(super) struct OpenPlace<'a> {
    configs: &'a OpenConfigs,
    owner: Option<Arc<str>>,
}

impl OpenPlace<'_> {
    pub(super) fn keep(mut self) {
        self.owner = None;
    }
}

impl Drop for OpenPlace<'_> {
    fn drop(&mut self) {
        if let Some(owner) = &self.owner {
            self.configs.give_back(owner, 1);
        }
    }
}

impl MemoryStore {
    /// A configuration that has sent nothing; `status` is the one that its new task is made with.
    pub(super) fn first_push(&self, new: NewPushConfig, status: Option<Bytes>) -> Kept {
        Kept {
            new,
            first_status: status,
            number: 1 + self.configs_made.fetch_add(1, Relaxed),
            revision: 1,
            progress: PushProgress::default(),
            done: false,
        }
    }

    pub(super) fn put_push(&self, id: &str, new: NewPushConfig) -> Result<PushConfig, StoreError> {
        let task = self.find(id).ok_or(StoreError::NotFound)?;
        let mut state = task.state.lock();
        if state.gone {
            return Err(StoreError::NotFound);
        }
        let owner = &task.head.owner;
        let version = state.progress.version;
        let kept = state.push.get_or_insert_default();
        let place = match kept.iter().position(|kept| kept.is_same(&new)) {
            Some(place) if new.id_is_callers => {
                if kept[place].done {
                    self.open_configs.take(owner, 0)?.keep();
                }
                kept[place].replace(new, version);
                place
            }
            Some(place) => place,
            None => {
                self.open_configs.take(owner, kept.len())?.keep();
                let mut first = self.first_push(new, None);
                first.progress.delivered = version;
                kept.push(first);
                kept.len() - 1
            }
        };
        Ok(state.read_push(&task, place))
    }

    pub(super) fn pushes_of(&self, id: &str) -> Vec<PushConfig> {
        let Some(task) = self.find(id) else {
            return Vec::new();
        };
        let state = task.state.lock();
        (0..state.pushes().len())
            .map(|place| state.read_push(&task, place))
            .collect()
    }

    pub(super) fn delete_push(&self, task: &str, id: &str) -> bool {
        let Some(task) = self.find(task) else {
            return false;
        };
        let mut state = task.state.lock();
        let kept = state.push.as_deref_mut();
        let deleted = kept.and_then(|kept| {
            let place = kept.iter().position(|kept| *kept.new.id == *id)?;
            Some(kept.remove(place))
        });
        if deleted.as_ref().is_some_and(|kept| !kept.done) {
            self.open_configs.give_back(&task.head.owner, 1);
        }
        deleted.is_some()
    }

    pub(super) fn advance(&self, step: &PushAdvance) -> bool {
        let Some(task) = self.find(&step.task) else {
            return false;
        };
        let mut state = task.state.lock();
        let ended = state.progress.state.is_terminal();
        let (version, gone) = (state.progress.version, state.gone);
        let mut kept = state.push.iter_mut().flat_map(|kept| kept.iter_mut());
        let Some(kept) = kept.find(|kept| *kept.new.id == *step.id) else {
            return false;
        };
        if kept.revision != step.revision || gone {
            return false;
        }
        if let Some(read) = &step.instead_of {
            if kept.progress != **read {
                return false;
            }
            kept.revision += 1;
        }
        let done = step.progress.off || (ended && !step.progress.is_pending(version));
        kept.progress = step.progress.clone();
        match (std::mem::replace(&mut kept.done, done), done) {
            (false, true) => self.open_configs.give_back(&task.head.owner, 1),
            (true, false) => self.open_configs.take_again(&task.head.owner),
            _ => {}
        }
        true
    }

    pub(super) fn pushing(&self) -> Vec<Arc<str>> {
        let mut tasks: Vec<Arc<Task>> = Vec::new();
        for shard in self.tasks.shards() {
            tasks.extend(shard.iter().map(Arc::clone));
        }
        tasks.sort_unstable_by_key(|task| task.made);
        let pushes = |task: &&Arc<Task>| {
            let state = task.state.lock();
            (0..state.pushes().len())
                .any(|place| !state.pushes()[place].done && !state.read_push(task, place).is_done())
        };
        tasks
            .iter()
            .filter(pushes)
            .map(|task| Arc::clone(&task.head.id))
            .collect()
    }

    pub(super) fn troubled(&self, after: u64, limit: usize) -> Vec<PushConfig> {
        let mut troubled = Vec::new();
        for shard in self.tasks.shards() {
            for task in shard.iter() {
                let state = task.state.lock();
                let wanted = |place: &usize| {
                    let kept = &state.pushes()[*place];
                    kept.number > after && kept.progress.is_troubled()
                };
                let places = (0..state.pushes().len()).filter(wanted);
                troubled.extend(places.map(|place| state.read_push(task, place)));
            }
        }
        troubled.sort_unstable_by_key(|config| config.number);
        troubled.truncate(limit);
        troubled
    }

    /// Gives back the places of a task that is being forgotten.
    pub(super) fn forget_pushes(&self, task: &Task) {
        let pushes = task.state.lock().push.take().unwrap_or_default();
        let open = pushes.iter().filter(|kept| !kept.done).count();
        if open > 0 {
            self.open_configs.give_back(&task.head.owner, open);
        }
    }
}

impl Kept {
    /// Whether `new` replaces or repeats this one.
    fn is_same(&self, new: &NewPushConfig) -> bool {
        if new.id_is_callers {
            self.new.id == new.id
        } else {
            self.new.dialect == new.dialect && self.new.config == new.config
        }
    }

    fn replace(&mut self, new: NewPushConfig, version: u64) {
        self.new = new;
        self.revision += 1;
        self.progress = self.progress.renewed(version);
        self.done = false;
    }
}

impl State {
    fn pushes(&self) -> &[Kept] {
        self.push.as_deref().map_or(&[], Vec::as_slice)
    }

    /// Whether a receiver has yet to get one of the task's events.
    pub(super) fn awaits_push(&self) -> bool {
        let version = self.progress.version;
        let mut pushes = self.pushes().iter();
        pushes.any(|kept| kept.progress.is_pending(version))
    }

    fn read_push(&self, task: &Task, place: usize) -> PushConfig {
        let kept = &self.pushes()[place];
        PushConfig {
            task: Arc::clone(&task.head.id),
            id: Arc::clone(&kept.new.id),
            owner: Arc::clone(&task.head.owner),
            dialect: kept.new.dialect,
            config: kept.new.config.clone(),
            first_status: kept.first_status.clone(),
            number: kept.number,
            revision: kept.revision,
            progress: kept.progress.clone(),
            task_version: self.progress.version,
            task_state: self.progress.state,
        }
    }
}
