//! Recent tasks in memory, so that a task that is worked on is read without asking the file.
//!
//! The file is the truth: a task appears or moves on here only after its commit, and while a
//! commit may be under way its readers are sent to the file. So nobody sees what may be undone,
//! and no reader sees a version go back.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use super::events::Position;
use crate::held::{Head, Index, Progress};
use crate::{Change, Include, NewTask, StoredEvent, TaskRecord, Visibility};

/// A bigger task is read from the file, so that one does not push out all others.
const MAX_TASK_BYTES: usize = 256 * 1024;
/// What a task takes besides its JSON, about.
const TASK_OVERHEAD_BYTES: usize = 512;

/// The recent tasks, as readers see them.
pub(super) struct Recent {
    hashing: RandomState,
    tasks: Index<Arc<RecentTask>>,
    /// Of all tasks together.
    max_bytes: usize,
}

pub(super) struct RecentTask {
    head: Head,
    row: i64,
    state: Mutex<State>,
}

struct State {
    progress: Progress,
    messages: u32,
    artifacts: u32,
    bytes: usize,
    /// A commit that changes the task may be under way: the file must be asked.
    in_doubt: bool,
}

impl Recent {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self {
            hashing: RandomState::new(),
            tasks: Index::new(),
            max_bytes,
        }
    }

    /// What there is to say about the task without asking the file; the inner `None`: it is not
    /// visible.
    pub(super) fn read(
        &self,
        id: &str,
        visibility: &Visibility,
        include: Include,
    ) -> Option<Option<TaskRecord>> {
        let task = self.find(id)?;
        let state = task.state.lock();
        if state.in_doubt {
            return None;
        }
        let visible = visibility.covers(&task.head.agent, &task.head.owner);
        Some(visible.then(|| state.progress.read(&task.head, include)))
    }

    pub(super) fn events(&self, id: &str, after: u64, limit: usize) -> Option<Vec<StoredEvent>> {
        let task = self.find(id)?;
        let state = task.state.lock();
        (!state.in_doubt).then(|| state.progress.events(after, limit))
    }

    fn find(&self, id: &str) -> Option<Arc<RecentTask>> {
        let hash = self.hashing.hash_one(id);
        self.tasks
            .lock(hash)
            .find(hash, |task| *task.head.id == *id)
            .map(Arc::clone)
    }

    fn insert(&self, task: Arc<RecentTask>) {
        let hash = self.hashing.hash_one(&*task.head.id);
        self.tasks.lock(hash).insert(hash, task);
    }

    fn remove(&self, id: &str) {
        let hash = self.hashing.hash_one(id);
        self.tasks
            .lock(hash)
            .remove(hash, |task| *task.head.id == *id);
    }
}

/// The writer's side: what to change once the commit is through.
pub(super) struct RecentWriter {
    recent: Arc<Recent>,
    /// Oldest first.
    order: VecDeque<Arc<RecentTask>>,
    bytes: usize,
    waiting: Vec<Waiting>,
}

enum Waiting {
    Created(Box<NewTask>, i64),
    Changed(Arc<str>, Vec<Change>),
}

impl RecentWriter {
    pub(super) fn new(recent: Arc<Recent>) -> Self {
        Self {
            recent,
            order: VecDeque::new(),
            bytes: 0,
            waiting: Vec::new(),
        }
    }

    /// Where a task stands, unless the file must be asked. From here to the end of the commit
    /// readers are sent to the file.
    pub(super) fn begin_change(&self, id: &str) -> Option<Position> {
        let task = self.recent.find(id)?;
        let mut state = task.state.lock();
        if std::mem::replace(&mut state.in_doubt, true) {
            return None; // changed in this batch already
        }
        Some(Position {
            row: task.row,
            version: state.progress.version,
            lease_epoch: state.progress.lease_epoch,
            state: state.progress.state,
            messages: state.messages,
            artifacts: state.artifacts,
        })
    }

    pub(super) fn created(&mut self, new: Box<NewTask>, row: i64) {
        self.waiting.push(Waiting::Created(new, row));
    }

    /// Also says that a task was found and left as it is: then without changes.
    pub(super) fn changed(&mut self, task: Arc<str>, changes: Vec<Change>) {
        self.waiting.push(Waiting::Changed(task, changes));
    }

    /// The task is being deleted.
    pub(super) fn deleted(&mut self, id: &str) {
        self.recent.remove(id);
        let made =
            |waiting: &Waiting| matches!(waiting, Waiting::Created(new, _) if *new.id == *id);
        self.waiting.retain(|waiting| !made(waiting));
    }

    /// The commit is through.
    pub(super) fn committed(&mut self) {
        for waiting in std::mem::take(&mut self.waiting) {
            match waiting {
                Waiting::Created(new, row) => self.insert(*new, row),
                Waiting::Changed(task, changes) => self.change(&task, changes),
            }
        }
        while self.bytes > self.recent.max_bytes
            && let Some(oldest) = self.order.pop_front()
        {
            self.recent.remove(&oldest.head.id);
            self.bytes -= oldest.state.lock().bytes;
        }
    }

    /// The batch was undone. What it touched is read from the file from now on.
    pub(super) fn undone(&mut self) {
        for waiting in self.waiting.drain(..) {
            if let Waiting::Changed(task, _) = waiting {
                self.recent.remove(&task);
            }
        }
    }

    fn insert(&mut self, new: NewTask, row: i64) {
        let json = new.message.len() + new.metadata.as_ref().map_or(0, |data| data.len());
        let bytes = TASK_OVERHEAD_BYTES + json;
        if bytes > MAX_TASK_BYTES.min(self.recent.max_bytes) {
            return;
        }
        let head = Head::of(&new);
        let progress = Progress::of(new);
        let state = State {
            progress,
            messages: 1,
            artifacts: 0,
            bytes,
            in_doubt: false,
        };
        let task = Arc::new(RecentTask {
            head,
            row,
            state: Mutex::new(state),
        });
        self.bytes += bytes;
        self.order.push_back(Arc::clone(&task));
        self.recent.insert(task);
    }

    fn change(&mut self, id: &str, changes: Vec<Change>) {
        let Some(task) = self.recent.find(id) else {
            return;
        };
        let mut state = task.state.lock();
        let before = state.bytes;
        for change in &changes {
            state.bytes += change.json().len();
            match change {
                Change::Status { .. } => {}
                Change::Artifact { .. } => state.artifacts += 1,
                Change::Message { .. } => state.messages += 1,
            }
        }
        self.bytes += state.bytes - before;
        state.progress.take(changes);
        state.in_doubt = false;
        let too_big = state.bytes > MAX_TASK_BYTES;
        drop(state);
        if too_big {
            self.recent.remove(id);
        }
    }
}
