//! Lists tasks shard by shard, keeping only the page.
//!
//! No lock spans the scan: a task is seen as it stands when its turn comes, and one that is made
//! meanwhile may or may not be seen. Pages never overlap, as the cursor is a position in the order.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::sync::Arc;

use super::MemoryStore;
use super::tasks::Task;
use crate::held::Progress;
use crate::{Cursor, ListQuery, Page, TaskRecord};

/// A task that may be on the page. The greatest one stands last in the list.
struct Candidate(TaskRecord);

impl Candidate {
    fn position(&self) -> (i64, &str) {
        (self.0.status_millis, &self.0.id)
    }
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        Reverse(self.position()).cmp(&Reverse(other.position()))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.position() == other.position()
    }
}

impl Eq for Candidate {}

impl MemoryStore {
    pub(super) fn list(&self, query: &ListQuery) -> Page {
        let size = query.page_size as usize;
        let mut page: BinaryHeap<Candidate> = BinaryHeap::new();
        let (mut total, mut remaining) = (0, 0);
        let mut tasks: Vec<Arc<Task>> = Vec::new();
        for shard in self.tasks.shards() {
            tasks.extend(
                shard
                    .iter()
                    .filter(|task| query.may_match(task))
                    .map(Arc::clone),
            );
            drop(shard);
            for task in tasks.drain(..) {
                let progress = &task.state.lock().progress;
                if !query.matches(progress) {
                    continue;
                }
                total += 1;
                let position = (progress.status_millis, &*task.head.id);
                if query
                    .after
                    .as_ref()
                    .is_some_and(|after| position >= after.position())
                {
                    continue;
                }
                remaining += 1;
                let full = page.len() >= size;
                if !full || page.peek().is_some_and(|last| position > last.position()) {
                    page.push(Candidate(progress.read(&task.head, query.include)));
                    if full {
                        page.pop();
                    }
                }
            }
        }
        let tasks: Vec<_> = page
            .into_sorted_vec()
            .into_iter()
            .map(|found| found.0)
            .collect();
        let next = tasks
            .last()
            .filter(|_| remaining > tasks.len())
            .map(|last| Cursor {
                status_millis: last.status_millis,
                id: last.id.to_string(),
            });
        Page { tasks, total, next }
    }
}

impl Cursor {
    fn position(&self) -> (i64, &str) {
        (self.status_millis, &self.id)
    }
}

impl ListQuery {
    /// By what never changes in a task.
    fn may_match(&self, task: &Task) -> bool {
        task.is_visible(&self.visibility)
            && self
                .context_id
                .as_deref()
                .is_none_or(|context| *task.head.context_id == *context)
    }

    /// By what changes.
    fn matches(&self, progress: &Progress) -> bool {
        self.state.is_none_or(|state| state == progress.state)
            && self
                .status_from_millis
                .is_none_or(|from| progress.status_millis >= from)
    }
}
