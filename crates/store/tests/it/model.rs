//! Random sequences against a simple model: every answer must be the model's.

use nuncio_store::{
    Append, Change, Created, Cursor, Durability, Include, ListQuery, SqliteOptions, Store,
    StoreError, Visibility,
};
use nuncio_wire::TaskState;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestRunner;

use crate::samples::{artifact, list, message, new_task, status};
use crate::stores::TestStore;

/// One call. Tasks are named by their number, so that many calls meet.
#[derive(Clone, Debug)]
enum Call {
    Create {
        owner: u8,
        message: u8,
        payload: u8,
        key: Option<u8>,
        alias: Option<u8>,
        millis: i64,
    },
    Append {
        task: Index,
        late: bool,
        changes: Vec<Kind>,
        committed: bool,
    },
    Discard {
        task: Index,
    },
    Read {
        task: Index,
        owner: Option<u8>,
        history: Option<u32>,
        artifacts: bool,
    },
    Events {
        task: Index,
        after: u64,
        limit: usize,
    },
    Alias {
        alias: u8,
        owner: Option<u8>,
    },
    List {
        owner: Option<u8>,
        state: Option<TaskState>,
        from: Option<i64>,
        size: u32,
    },
    Unfinished,
}

#[derive(Clone, Debug)]
enum Kind {
    Status(TaskState, i64),
    Artifact(u8, bool),
    Message,
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    prop::collection::vec(call(), 1..60)
}

fn call() -> impl Strategy<Value = Call> {
    let small = |most: u8| 0..most;
    let owner = || prop::option::of(0..2u8);
    prop_oneof![
        3 => (small(2), small(3), small(2), prop::option::of(small(2)), prop::option::of(small(2)), 0..9i64)
            .prop_map(|(owner, message, payload, key, alias, millis)| {
                Call::Create { owner, message, payload, key, alias, millis }
            }),
        6 => (any::<Index>(), prop::bool::weighted(0.1), prop::collection::vec(kind(), 0..4), any::<bool>())
            .prop_map(|(task, late, changes, committed)| {
                Call::Append { task, late, changes, committed }
            }),
        1 => any::<Index>().prop_map(|task| Call::Discard { task }),
        2 => (any::<Index>(), owner(), prop::option::of(0..4u32), any::<bool>())
            .prop_map(|(task, owner, history, artifacts)| {
                Call::Read { task, owner, history, artifacts }
            }),
        1 => (any::<Index>(), 0..8u64, 0..6usize)
            .prop_map(|(task, after, limit)| Call::Events { task, after, limit }),
        1 => (small(2), owner()).prop_map(|(alias, owner)| Call::Alias { alias, owner }),
        1 => (owner(), prop::option::of(state()), prop::option::of(0..9i64), 1..5u32)
            .prop_map(|(owner, state, from, size)| Call::List { owner, state, from, size }),
        1 => Just(Call::Unfinished),
    ]
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        3 => (state(), 0..9i64).prop_map(|(state, millis)| Kind::Status(state, millis)),
        3 => (0..3u8, any::<bool>()).prop_map(|(artifact, append)| Kind::Artifact(artifact, append)),
        1 => Just(Kind::Message),
    ]
}

fn state() -> impl Strategy<Value = TaskState> {
    prop_oneof![
        4 => Just(TaskState::Working),
        2 => Just(TaskState::InputRequired),
        1 => Just(TaskState::AuthRequired),
        1 => Just(TaskState::Completed),
        1 => Just(TaskState::Failed),
        1 => Just(TaskState::Canceled),
    ]
}

/// A task of the model: what was said of it, in order.
#[derive(Clone, Debug)]
struct Task {
    id: String,
    owner: String,
    message: u8,
    payload: u8,
    alias: Option<u8>,
    state: TaskState,
    millis: i64,
    version: u64,
    messages: usize,
    events: Vec<Change>,
}

#[derive(Default)]
struct Model {
    tasks: Vec<Task>,
    /// Owner, key, payload, task.
    keys: Vec<(String, u8, u8, String)>,
    made: usize,
}

fn owner_name(owner: u8) -> String {
    format!("peer:{owner}")
}

fn visibility(owner: Option<u8>) -> Visibility {
    Visibility {
        agent: None,
        owner: owner.map(|owner| owner_name(owner).into()),
    }
}

impl Model {
    /// The id of a task: mostly one that is there.
    fn pick(&self, index: Index) -> String {
        let place = index.index(self.made + 1);
        self.tasks
            .get(place)
            .map_or_else(|| format!("t{place}"), |task| task.id.clone())
    }

    fn find(&mut self, id: &str) -> Option<&mut Task> {
        self.tasks.iter_mut().find(|task| task.id == id)
    }

    fn create(&mut self, new: Task, key: Option<u8>) -> Result<Created, StoreError> {
        if let Some(key) = key {
            let used = self
                .keys
                .iter()
                .find(|used| used.0 == new.owner && used.1 == key);
            match used {
                Some((_, _, payload, first)) if *payload == new.payload => {
                    return Ok(Created::Repeated(first.clone()));
                }
                Some(_) => return Err(StoreError::RepeatConflict),
                None => {
                    self.keys
                        .push((new.owner.clone(), key, new.payload, new.id.clone()));
                }
            }
        } else {
            let first = self.tasks.iter().find(|task| {
                (&task.owner, task.message, task.payload) == (&new.owner, new.message, new.payload)
                    && matches!(task.state, TaskState::Submitted | TaskState::Working)
            });
            if let Some(first) = first {
                return Ok(Created::Repeated(first.id.clone()));
            }
        }
        self.tasks.push(new);
        Ok(Created::New)
    }

    fn append(&mut self, append: &Append) -> Result<u64, StoreError> {
        let mut version = append.version;
        for (index, change) in append.changes.iter().enumerate() {
            version += u64::from(change.is_event());
            if let Change::Status { state, .. } = change
                && state.is_terminal()
                && index + 1 < append.changes.len()
            {
                return Err(StoreError::Stale {
                    version,
                    state: *state,
                });
            }
        }
        let task = self.find(&append.task).ok_or(StoreError::NotFound)?;
        if task.version != append.version || task.state.is_terminal() {
            return Err(StoreError::Stale {
                version: task.version,
                state: task.state,
            });
        }
        for change in &append.changes {
            match change {
                Change::Message { .. } => task.messages += 1,
                Change::Status { state, millis, .. } => {
                    (task.state, task.millis) = (*state, *millis);
                    task.events.push(change.clone());
                }
                Change::Artifact { .. } => task.events.push(change.clone()),
            }
        }
        task.version = version;
        Ok(version)
    }
}

impl Task {
    /// The artifacts' segments: each artifact where it was first started, from its last start on.
    fn segments(&self) -> Vec<(bool, bytes::Bytes)> {
        let mut artifacts: Vec<(&str, Vec<(bool, bytes::Bytes)>)> = Vec::new();
        for change in &self.events {
            let Change::Artifact {
                artifact_id,
                append,
                event,
                artifact,
            } = change
            else {
                continue;
            };
            let place = artifacts.iter().position(|(id, _)| **id == **artifact_id);
            let place = place.unwrap_or_else(|| {
                artifacts.push((artifact_id, Vec::new()));
                artifacts.len() - 1
            });
            if !append {
                artifacts[place].1.clear();
            }
            artifacts[place]
                .1
                .push((*append, event.slice(artifact.clone())));
        }
        artifacts
            .into_iter()
            .flat_map(|(_, segments)| segments)
            .collect()
    }

    fn is_seen_by(&self, owner: Option<u8>) -> bool {
        owner.is_none_or(|owner| owner_name(owner) == self.owner)
    }
}

/// Makes the call on both and compares.
async fn check(store: &dyn Store, model: &mut Model, call: Call) {
    match call {
        Call::Create {
            owner,
            message,
            payload,
            key,
            alias,
            millis,
        } => {
            let task = Task {
                id: format!("t{}", model.made),
                owner: owner_name(owner),
                message,
                payload,
                alias,
                state: TaskState::Submitted,
                millis,
                version: 1,
                messages: 1,
                events: Vec::new(),
            };
            model.made += 1;
            check_create(store, model, task, key).await;
        }
        Call::Append {
            task,
            late,
            changes,
            committed,
        } => {
            let id = model.pick(task);
            let version = model.find(&id).map_or(1, |task| task.version) - u64::from(late);
            let changes = changes.into_iter().map(|kind| change(&id, kind)).collect();
            let durability = if committed {
                Durability::Committed
            } else {
                Durability::Synced
            };
            let task = id.as_str().into();
            let append = Append {
                task,
                version,
                lease_epoch: 0,
                changes,
                durability,
            };
            assert_eq!(store.append(append.clone()).await, model.append(&append));
        }
        Call::Discard { task } => {
            let id = model.pick(task);
            store.discard_task(&id).await.unwrap();
            model.tasks.retain(|task| task.id != id);
            model.keys.retain(|key| key.3 != id);
        }
        Call::Read {
            task,
            owner,
            history,
            artifacts,
        } => {
            let id = model.pick(task);
            check_read(store, model, &id, owner, Include { history, artifacts }).await;
        }
        Call::Events { task, after, limit } => {
            let id = model.pick(task);
            check_events(store, model, &id, after, limit).await;
        }
        Call::Alias { alias, owner } => {
            let found = store
                .task_by_alias(&alias.to_string(), &visibility(owner))
                .await
                .unwrap();
            let of = |task: &&Task| task.alias == Some(alias) && task.is_seen_by(owner);
            assert_eq!(
                found,
                model.tasks.iter().rfind(of).map(|task| task.id.clone())
            );
        }
        Call::List {
            owner,
            state,
            from,
            size,
        } => {
            let visibility = visibility(owner);
            let query = ListQuery {
                visibility,
                state,
                status_from_millis: from,
                ..list(size)
            };
            check_list(store, model, owner, query).await;
        }
        Call::Unfinished => {
            let found = store.unfinished_tasks().await.unwrap();
            let found: Vec<_> = found.iter().map(|task| (&*task.id, task.version)).collect();
            let unfinished = model.tasks.iter().filter(|task| !task.state.is_terminal());
            let expected: Vec<_> = unfinished.map(|task| (&*task.id, task.version)).collect();
            assert_eq!(found, expected);
        }
    }
}

fn change(id: &str, kind: Kind) -> Change {
    match kind {
        Kind::Status(state, millis) => status(id, state, millis),
        Kind::Artifact(number, append) => artifact(id, &format!("a{number}"), append, "x"),
        Kind::Message => message("more"),
    }
}

async fn check_create(store: &dyn Store, model: &mut Model, task: Task, key: Option<u8>) {
    let mut new = new_task(&task.id);
    new.owner = task.owner.as_str().into();
    new.alias = task.alias.map(|alias| alias.to_string());
    new.status_millis = task.millis;
    new.repeat.message_id = task.message.to_string();
    new.repeat.payload_hash = [task.payload; 32];
    new.repeat.key = key.map(|key| key.to_string());
    assert_eq!(store.create_task(new).await, model.create(task, key));
}

async fn check_read(
    store: &dyn Store,
    model: &mut Model,
    id: &str,
    owner: Option<u8>,
    include: Include,
) {
    let found = store.task(id, &visibility(owner), include).await.unwrap();
    let expected = model.find(id).filter(|task| task.is_seen_by(owner));
    let (Some(found), Some(expected)) = (&found, &expected) else {
        assert_eq!(found.is_some(), expected.is_some());
        return;
    };
    assert_eq!(
        (found.state, found.version, found.status_millis),
        (expected.state, expected.version, expected.millis)
    );
    let history = include
        .history
        .map_or(expected.messages, |most| most as usize);
    assert_eq!(found.history.len(), history.min(expected.messages));
    let segments = found.artifacts.as_ref().map(|segments| {
        segments
            .iter()
            .map(|part| (part.append, part.artifact.clone()))
            .collect::<Vec<_>>()
    });
    assert_eq!(segments, include.artifacts.then(|| expected.segments()));
}

async fn check_events(store: &dyn Store, model: &mut Model, id: &str, after: u64, limit: usize) {
    let found = store.events(id, after, limit).await.unwrap();
    let found: Vec<_> = found
        .into_iter()
        .map(|event| (event.version, event.payload))
        .collect();
    let events = model
        .find(id)
        .map(|task| task.events.as_slice())
        .unwrap_or_default();
    let numbered = (2..)
        .zip(events)
        .filter(|(version, _)| *version > after)
        .take(limit);
    let expected: Vec<_> = numbered
        .map(|(version, change)| match change {
            Change::Status { event, .. } | Change::Artifact { event, .. } => {
                (version, event.clone())
            }
            Change::Message { .. } => unreachable!("messages are no events"),
        })
        .collect();
    assert_eq!(found, expected);
}

/// Reads all pages.
async fn check_list(store: &dyn Store, model: &Model, owner: Option<u8>, mut query: ListQuery) {
    let mut expected: Vec<(i64, &str)> = model
        .tasks
        .iter()
        .filter(|task| {
            task.is_seen_by(owner)
                && query.state.is_none_or(|state| state == task.state)
                && query
                    .status_from_millis
                    .is_none_or(|from| task.millis >= from)
        })
        .map(|task| (task.millis, task.id.as_str()))
        .collect();
    expected.sort_by(|a, b| b.cmp(a));
    let mut found = Vec::new();
    loop {
        let page = store.list_tasks(query.clone()).await.unwrap();
        assert_eq!(page.total, expected.len() as u64);
        found.extend(
            page.tasks
                .iter()
                .map(|task| (task.status_millis, task.id.to_string())),
        );
        let last = found.last().map(|(millis, id)| Cursor {
            status_millis: *millis,
            id: id.clone(),
        });
        match page.next {
            Some(next) => {
                assert_eq!(Some(&next), last.as_ref());
                query.after = Some(next);
            }
            None => break,
        }
    }
    let expected: Vec<_> = expected
        .iter()
        .map(|(millis, id)| (*millis, (*id).to_owned()))
        .collect();
    assert_eq!(found, expected);
}

fn run(store: &TestStore, calls: Vec<Call>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut model = Model::default();
        for call in calls {
            check(&**store, &mut model, call).await;
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn memory_answers_as_the_model(calls in calls()) {
        run(&TestStore::memory(), calls);
    }

    #[test]
    fn sqlite_answers_as_the_model(calls in calls()) {
        run(&TestStore::sqlite(), calls);
    }

    #[test]
    fn sqlite_answers_from_its_file_as_the_model(calls in calls()) {
        run(&TestStore::sqlite_file(), calls);
    }

    // Room for a few tasks, so that they come and go.
    #[test]
    fn sqlite_answers_as_the_model_when_recent_tasks_are_few(calls in calls()) {
        let options = SqliteOptions { recent_bytes: 3000, ..SqliteOptions::default() };
        run(&TestStore::sqlite_with(options), calls);
    }
}

/// Databases that sequences run on at the same time: each call is a round trip to the server, which
/// would wait for one client most of the time.
const POSTGRES_DATABASES: u32 = 8;
const POSTGRES_CASES: u32 = 1000 / POSTGRES_DATABASES;

/// Answers as the model, too.
#[test]
fn postgres_answers_as_the_model() {
    let databases = (0..POSTGRES_DATABASES).map(|_| std::thread::spawn(postgres_answers));
    let databases: Vec<_> = databases.collect();
    for database in databases {
        database.join().expect("the sequences ran as in the model");
    }
}

/// A part of the sequences on one database, which is emptied for each of them.
fn postgres_answers() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let (store, emptier, _session) = runtime.block_on(async {
        let store = TestStore::postgres().await;
        let url = store.database().url();
        let connected = tokio_postgres::connect(&url, tokio_postgres::NoTls).await;
        let (emptier, session) = connected.unwrap();
        (store, emptier, tokio::spawn(session))
    });
    // Quicker than TRUNCATE while there are few rows.
    let empty = "DELETE FROM nuncio.tasks; DELETE FROM nuncio.messages; \
        DELETE FROM nuncio.events; DELETE FROM nuncio.idempotency";
    let config = ProptestConfig {
        cases: POSTGRES_CASES,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let result = TestRunner::new(config).run(&calls(), |calls| {
        runtime.block_on(async {
            emptier.batch_execute(empty).await.unwrap();
            let mut model = Model::default();
            for call in calls {
                check(&*store, &mut model, call).await;
            }
        });
        Ok(())
    });
    result.unwrap();
    runtime.block_on(async { drop(store) });
}
