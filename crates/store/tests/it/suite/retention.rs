//! What goes when there is too much, and what stays.

use nuncio_store::{Conversation, Created, PostgresOptions, SqliteOptions, Store, StoreError};
use nuncio_wire::TaskState;
use std::time::{SystemTime, UNIX_EPOCH};

use super::push::{config, delivered, step};
use crate::samples::{append, finished, list, new_task, status, try_read};
use crate::stores::TestStore;

fn now() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_millis() as i64
}

async fn ids(store: &dyn Store) -> Vec<String> {
    let page = store.list_tasks(list(1000)).await.unwrap();
    let mut ids: Vec<_> = page.tasks.iter().map(|task| task.id.to_string()).collect();
    ids.sort();
    ids
}

async fn retire(store: &dyn Store) -> usize {
    let mut gone = 0;
    loop {
        match store.enforce_retention().await.unwrap() {
            0 => return gone,
            more => gone += more,
        }
    }
}

#[tokio::test]
async fn memory_takes_the_task_that_ended_first() {
    let store = TestStore::memory_for(3);
    store.create_task(new_task("live")).await.unwrap();
    finished(&*store, "b", 2).await;
    finished(&*store, "a", 1).await;
    finished(&*store, "c", 3).await;
    assert_eq!(ids(&*store).await, ["a", "c", "live"]);
    store.create_task(new_task("d")).await.unwrap();
    assert_eq!(ids(&*store).await, ["c", "d", "live"]);
    assert_eq!(store.enforce_retention().await, Ok(0));
}

#[tokio::test]
async fn memory_refuses_when_all_are_unfinished() {
    let store = TestStore::memory_for(2);
    store.create_task(new_task("a")).await.unwrap();
    store.create_task(new_task("b")).await.unwrap();
    assert_eq!(
        store.create_task(new_task("c")).await,
        Err(StoreError::Full { max: 2 })
    );
    // A repeat needs no place.
    let mut again = new_task("a2");
    again.repeat = new_task("a").repeat;
    assert_eq!(
        store.create_task(again).await,
        Ok(Created::Repeated("a".to_owned()))
    );
    store
        .append(append("a", 1, vec![status("a", TaskState::Completed, 9)]))
        .await
        .unwrap();
    store.create_task(new_task("c")).await.unwrap();
    assert_eq!(ids(&*store).await, ["b", "c"]);
    // One that was discarded gives its place back once.
    store
        .append(append("c", 1, vec![status("c", TaskState::Failed, 9)]))
        .await
        .unwrap();
    store.discard_task("c").await.unwrap();
    store.create_task(new_task("d")).await.unwrap();
    assert_eq!(
        store.create_task(new_task("e")).await,
        Err(StoreError::Full { max: 2 })
    );
}

#[tokio::test]
async fn memory_forgets_key_and_alias_with_the_task() {
    let store = TestStore::memory_for(1);
    let mut new = new_task("a");
    new.alias = Some("alias".to_owned());
    new.repeat.key = Some("k".to_owned());
    store.create_task(new.clone()).await.unwrap();
    store
        .append(append("a", 1, vec![status("a", TaskState::Completed, 9)]))
        .await
        .unwrap();
    store.create_task(new_task("b")).await.unwrap();
    assert_eq!(
        store
            .task_by_alias("alias", &Default::default())
            .await
            .unwrap(),
        None
    );
    store
        .append(append("b", 1, vec![status("b", TaskState::Completed, 9)]))
        .await
        .unwrap();
    new.id = "c".into();
    assert_eq!(store.create_task(new).await.unwrap(), Created::New);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_keeps_its_bound_under_many_writers() {
    let store = TestStore::memory_for(50);
    let writers: Vec<_> = (0..8)
        .map(|writer| {
            let store = store.shared();
            tokio::spawn(async move {
                for number in 0..500 {
                    finished(&*store, &format!("{writer}-{number}"), number).await;
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!(ids(&*store).await.len(), 50);
}

#[tokio::test]
async fn sqlite_keeps_the_newest_and_all_that_is_unfinished() {
    let options = SqliteOptions {
        max_finished_tasks: 300,
        ..SqliteOptions::default()
    };
    keeps_the_newest_and_all_that_is_unfinished(&TestStore::sqlite_with(options)).await;
}

#[tokio::test]
async fn postgres_keeps_the_newest_and_all_that_is_unfinished() {
    let options = PostgresOptions {
        max_finished_tasks: 300,
        ..PostgresOptions::default()
    };
    let store = TestStore::postgres_with(options).await;
    keeps_the_newest_and_all_that_is_unfinished(&store).await;
}

/// In a store that keeps 300 finished tasks.
async fn keeps_the_newest_and_all_that_is_unfinished(store: &TestStore) {
    store.create_task(new_task("live")).await.unwrap();
    let start = now();
    for number in 0..600 {
        finished(&**store, &format!("{number:03}"), start + number).await;
    }
    assert_eq!(retire(&**store).await, 300);
    let left = ids(&**store).await;
    assert_eq!(left.len(), 301);
    assert_eq!((left[0].as_str(), left[300].as_str()), ("300", "live"));
    assert!(store.events("000", 0, 10).await.unwrap().is_empty());
}

#[tokio::test]
async fn sqlite_deletes_by_age_and_keeps_keys_until_they_expire() {
    let options = SqliteOptions {
        retention_days: 2,
        ..SqliteOptions::default()
    };
    deletes_by_age_and_keeps_keys_until_they_expire(&TestStore::sqlite_with(options)).await;
}

#[tokio::test]
async fn postgres_deletes_by_age_and_keeps_keys_until_they_expire() {
    let options = PostgresOptions {
        retention_days: 2,
        ..PostgresOptions::default()
    };
    let store = TestStore::postgres_with(options).await;
    deletes_by_age_and_keeps_keys_until_they_expire(&store).await;
}

/// In a store that keeps finished tasks for two days.
async fn deletes_by_age_and_keeps_keys_until_they_expire(store: &TestStore) {
    let day = 24 * 60 * 60 * 1000;
    for (id, age, key_life) in [
        ("old", 3 * day, day),
        ("forgotten", 3 * day, -1),
        ("new", day, 1),
    ] {
        let mut new = new_task(id);
        new.repeat.key = Some(id.to_owned());
        new.repeat.key_expires_millis = now() + key_life;
        store.create_task(new).await.unwrap();
        let end = status(id, TaskState::Completed, now() - age);
        store.append(append(id, 1, vec![end])).await.unwrap();
    }
    let mut live = new_task("live");
    live.status_millis = now() - 5 * day;
    store.create_task(live).await.unwrap();
    assert!(retire(&**store).await >= 3);
    assert_eq!(ids(&**store).await, ["live", "new"]);
    assert!(try_read(&**store, "old").await.is_none());
    // The work is not done a second time while the key lives.
    let mut again = new_task("again");
    again.repeat.key = Some("old".to_owned());
    assert_eq!(
        store.create_task(again.clone()).await,
        Ok(Created::Repeated("old".to_owned()))
    );
    again.repeat.key = Some("forgotten".to_owned());
    assert_eq!(store.create_task(again).await, Ok(Created::New));
}

#[tokio::test]
async fn sqlite_forgets_sessions_by_age() {
    let options = SqliteOptions {
        retention_days: 0,
        ..SqliteOptions::default()
    };
    forgets_sessions_by_age(&TestStore::sqlite_with(options)).await;
}

#[tokio::test]
async fn postgres_forgets_sessions_by_age() {
    let options = PostgresOptions {
        retention_days: 0,
        ..PostgresOptions::default()
    };
    forgets_sessions_by_age(&TestStore::postgres_with(options).await).await;
}

/// In a store that keeps nothing for longer than a moment.
async fn forgets_sessions_by_age(store: &TestStore) {
    let of = Conversation {
        agent: "a".into(),
        owner: "peer:x".into(),
        context_id: "c".into(),
    };
    let kept = store.keep_session(of.clone(), Some("s".to_owned()));
    kept.await.unwrap();
    let kept_millis = store.session(&of).await.unwrap().unwrap().kept_millis;
    while now() <= kept_millis {
        tokio::task::yield_now().await;
    }
    assert_eq!(retire(&**store).await, 1);
    assert_eq!(store.session(&of).await, Ok(None));
}

/// Ends a task whose receiver has not had its end yet.
async fn unsent(store: &dyn Store, id: &str, millis: i64) -> nuncio_store::PushAdvance {
    let mut new = new_task(id);
    new.push_config = Some(config("p", "u"));
    store.create_task(new).await.unwrap();
    let end = status(id, TaskState::Completed, millis);
    store.append(append(id, 1, vec![end])).await.unwrap();
    step(&store.push_configs(id).await.unwrap()[0], delivered(2))
}

#[tokio::test]
async fn memory_keeps_what_a_receiver_has_yet_to_get() {
    let store = TestStore::memory_for(3);
    let sent = unsent(&*store, "a", 1).await;
    finished(&*store, "b", 2).await;
    finished(&*store, "c", 3).await;
    finished(&*store, "d", 4).await;
    assert_eq!(ids(&*store).await, ["a", "c", "d"]);
    assert!(store.advance_push(sent).await.unwrap());
    finished(&*store, "e", 5).await;
    finished(&*store, "f", 6).await;
    finished(&*store, "g", 7).await;
    assert_eq!(ids(&*store).await, ["e", "f", "g"]);
}

#[tokio::test]
async fn sqlite_keeps_what_a_receiver_has_yet_to_get() {
    let options = SqliteOptions {
        retention_days: 1,
        max_finished_tasks: 1,
        ..SqliteOptions::default()
    };
    keeps_what_a_receiver_has_yet_to_get(&TestStore::sqlite_with(options)).await;
}

#[tokio::test]
async fn postgres_keeps_what_a_receiver_has_yet_to_get() {
    let options = PostgresOptions {
        retention_days: 1,
        max_finished_tasks: 1,
        ..PostgresOptions::default()
    };
    let store = TestStore::postgres_with(options).await;
    keeps_what_a_receiver_has_yet_to_get(&store).await;
}

/// In a store that keeps one finished task, for a day.
async fn keeps_what_a_receiver_has_yet_to_get(store: &TestStore) {
    let (old, new) = (
        unsent(&**store, "old", 1).await,
        unsent(&**store, "new", now()).await,
    );
    finished(&**store, "other", 2).await;
    finished(&**store, "newer", now() + 1).await;
    retire(&**store).await;
    assert_eq!(ids(&**store).await, ["new", "newer", "old"]);
    assert!(store.advance_push(old).await.unwrap());
    assert!(store.advance_push(new).await.unwrap());
    retire(&**store).await;
    assert_eq!(ids(&**store).await, ["newer"]);
}
