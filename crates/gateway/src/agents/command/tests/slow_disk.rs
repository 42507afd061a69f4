//! A disk that takes its time, or nothing at all for a while: the program waits, nothing is lost, and what
//! is kept in memory does not grow.

use async_trait::async_trait;
use nuncio_store::{
    Append, Conversation, Created, Include, KeptSession, ListQuery, MemoryOptions, MemoryStore,
    NewPushConfig, NewTask, Page, PushAdvance, PushConfig, Store, StoreError, StoredEvent,
    TaskRecord, Visibility,
};
use nuncio_wire::{StreamResponse, TaskState};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::{Notify, Semaphore};

use super::{Gateway, only_text, user};
use nuncio_wire::Part;

/// A store whose changes wait until the test lets them through.
struct SlowStore {
    inner: MemoryStore,
    /// As many changes may go through.
    gate: Semaphore,
    /// Somebody waits at the gate.
    waits: Notify,
    /// Changes that are refused before one is taken.
    refusals: AtomicUsize,
}

impl SlowStore {
    fn new(open: usize, refusals: usize) -> Arc<Self> {
        Arc::new(Self {
            inner: MemoryStore::new(MemoryOptions::default()),
            gate: Semaphore::new(open),
            waits: Notify::new(),
            refusals: AtomicUsize::new(refusals),
        })
    }
}

type Done<T> = Result<T, StoreError>;

#[async_trait]
impl Store for SlowStore {
    async fn append(&self, append: Append) -> Done<u64> {
        self.waits.notify_one();
        self.gate.acquire().await.unwrap().forget();
        let one_less = |left: usize| left.checked_sub(1);
        let (set, read) = (Ordering::Relaxed, Ordering::Relaxed);
        if self.refusals.fetch_update(set, read, one_less).is_ok() {
            return Err(StoreError::Unavailable(
                "no space left on device".to_owned(),
            ));
        }
        self.inner.append(append).await
    }

    fn epoch(&self) -> u64 {
        self.inner.epoch()
    }
    async fn create_task(&self, task: NewTask) -> Done<Created> {
        self.inner.create_task(task).await
    }
    async fn task(&self, id: &str, seen: &Visibility, what: Include) -> Done<Option<TaskRecord>> {
        self.inner.task(id, seen, what).await
    }
    async fn task_by_alias(&self, alias: &str, seen: &Visibility) -> Done<Option<String>> {
        self.inner.task_by_alias(alias, seen).await
    }
    async fn list_tasks(&self, query: ListQuery) -> Done<Page> {
        self.inner.list_tasks(query).await
    }
    async fn events(&self, task: &str, after: u64, limit: usize) -> Done<Vec<StoredEvent>> {
        self.inner.events(task, after, limit).await
    }
    async fn statuses(&self, task: &str) -> Done<Vec<StoredEvent>> {
        self.inner.statuses(task).await
    }
    async fn unfinished_tasks(&self) -> Done<Vec<TaskRecord>> {
        self.inner.unfinished_tasks().await
    }
    async fn put_push_config(&self, task: &str, config: NewPushConfig) -> Done<PushConfig> {
        self.inner.put_push_config(task, config).await
    }
    async fn push_configs(&self, task: &str) -> Done<Vec<PushConfig>> {
        self.inner.push_configs(task).await
    }
    async fn delete_push_config(&self, task: &str, id: &str) -> Done<bool> {
        self.inner.delete_push_config(task, id).await
    }
    async fn advance_push(&self, step: PushAdvance) -> Done<bool> {
        self.inner.advance_push(step).await
    }
    async fn pushing_tasks(&self) -> Done<Vec<Arc<str>>> {
        self.inner.pushing_tasks().await
    }
    async fn troubled_push_configs(&self, after: u64, limit: usize) -> Done<Vec<PushConfig>> {
        self.inner.troubled_push_configs(after, limit).await
    }
    async fn session(&self, of: &Conversation) -> Done<Option<KeptSession>> {
        self.inner.session(of).await
    }
    async fn keep_session(&self, of: Conversation, name: Option<String>) -> Done<()> {
        self.inner.keep_session(of, name).await
    }
    async fn enforce_retention(&self) -> Done<usize> {
        self.inner.enforce_retention().await
    }
    async fn discard_task(&self, id: &str) -> Done<()> {
        self.inner.discard_task(id).await
    }
    async fn close(&self) -> Done<()> {
        self.inner.close().await
    }
}

/// Bytes that a program says: many times what pipes and chunks hold.
const SAID: usize = 8_000_000;

#[tokio::test]
async fn a_program_waits_for_the_disk_and_makes_bigger_chunks_not_more() {
    let store = SlowStore::new(0, 0);
    let script = format!("yes | head -c {SAID}; echo > said");
    let gateway = Gateway::over(store.clone(), &script, |_| {});
    let disk = async {
        store.waits.notified().await;
        let has_said = gateway.dir.path().join("said");
        assert!(!has_said.exists(), "what nobody stored went somewhere");
        let mut changes = 0;
        loop {
            store.gate.add_permits(1);
            changes += 1;
            store.waits.notified().await;
            // The last of it fits into the pipe and into what was read.
            if has_said.exists() {
                store.gate.add_permits(Semaphore::MAX_PERMITS / 2);
                return changes;
            }
        }
    };
    let ((events, task), changes) = tokio::join!(gateway.stream(user(vec![Part::text("x")])), disk);
    assert_eq!(task.status.state, TaskState::Completed);
    assert_eq!(only_text(&task).len(), SAID);
    let chunk = |event: &StreamResponse| match event {
        StreamResponse::ArtifactUpdate(it) => it.artifact.parts[0].as_text().map(str::len),
        _ => None,
    };
    let chunks: Vec<usize> = events.iter().filter_map(chunk).collect();
    assert_eq!(chunks.iter().sum::<usize>(), SAID);
    assert!(chunks.iter().all(|it| *it <= 256 * 1024), "{chunks:?}");
    // Each change took all that had come until then, so there are few.
    assert!(changes < 2 * SAID / (32 * 1024), "{changes}");
}

#[tokio::test]
async fn a_disk_that_takes_nothing_for_a_while_fails_no_turn() {
    let store = SlowStore::new(Semaphore::MAX_PERMITS / 2, 3);
    let gateway = Gateway::over(store.clone(), "echo one; echo two", |_| {});
    let task = gateway.send_text("x").await;
    assert_eq!(task.status.state, TaskState::Completed, "{task:?}");
    assert_eq!(only_text(&task), "one\ntwo\n");
    assert_eq!(
        store.refusals.load(Ordering::Relaxed),
        0,
        "it was refused thrice"
    );
}
