//! When two sends are the same send.

use nuncio_store::{Created, NewTask, StoreError};
use nuncio_wire::TaskState;
use std::collections::HashSet;

use crate::samples::{append, list, new_task, status};
use crate::stores::TestStore;

on_every_store!(
    without_a_key_a_running_task_is_joined,
    without_a_key_an_interrupted_task_is_joined_again_when_it_runs,
    without_a_key_other_payloads_make_tasks,
    with_a_key_the_first_task_is_named_whatever_its_state,
    a_key_with_another_payload_is_refused,
    an_expired_key_is_forgotten,
    owners_and_agents_never_meet,
    many_identical_sends_at_once_make_one_task,
);

/// A send of message `m`, told apart by the id it would give its task.
fn send(id: &str, key: Option<&str>, payload: u8) -> NewTask {
    let mut new = new_task(id);
    new.repeat.message_id = "m".to_owned();
    new.repeat.key = key.map(str::to_owned);
    new.repeat.payload_hash = [payload; 32];
    new
}

fn repeated(id: &str) -> Created {
    Created::Repeated(id.to_owned())
}

async fn without_a_key_a_running_task_is_joined(store: &TestStore) {
    assert_eq!(
        store.create_task(send("t1", None, 1)).await.unwrap(),
        Created::New
    );
    assert_eq!(
        store.create_task(send("t2", None, 1)).await.unwrap(),
        repeated("t1")
    );
    store
        .append(append("t1", 1, vec![status("t1", TaskState::Working, 2)]))
        .await
        .unwrap();
    assert_eq!(
        store.create_task(send("t3", None, 1)).await.unwrap(),
        repeated("t1")
    );
    store
        .append(append("t1", 2, vec![status("t1", TaskState::Completed, 3)]))
        .await
        .unwrap();
    assert_eq!(
        store.create_task(send("t4", None, 1)).await.unwrap(),
        Created::New
    );
    assert_eq!(
        store.create_task(send("t5", None, 1)).await.unwrap(),
        repeated("t4")
    );
    assert_eq!(store.list_tasks(list(10)).await.unwrap().total, 2);
}

async fn without_a_key_an_interrupted_task_is_joined_again_when_it_runs(store: &TestStore) {
    store.create_task(send("t1", None, 1)).await.unwrap();
    let wait = vec![status("t1", TaskState::InputRequired, 2)];
    store.append(append("t1", 1, wait)).await.unwrap();
    assert_eq!(
        store.create_task(send("t2", None, 1)).await.unwrap(),
        Created::New
    );
    store
        .append(append("t1", 2, vec![status("t1", TaskState::Working, 3)]))
        .await
        .unwrap();
    assert_eq!(
        store.create_task(send("t3", None, 1)).await.unwrap(),
        repeated("t1")
    );
    store
        .append(append("t1", 3, vec![status("t1", TaskState::Failed, 4)]))
        .await
        .unwrap();
    assert_eq!(
        store.create_task(send("t3", None, 1)).await.unwrap(),
        repeated("t2")
    );
    store
        .append(append("t2", 1, vec![status("t2", TaskState::Canceled, 5)]))
        .await
        .unwrap();
    assert_eq!(
        store.create_task(send("t3", None, 1)).await.unwrap(),
        Created::New
    );
}

async fn without_a_key_other_payloads_make_tasks(store: &TestStore) {
    for (id, payload) in [("t1", 1), ("t2", 2), ("t3", 3)] {
        assert_eq!(
            store.create_task(send(id, None, payload)).await.unwrap(),
            Created::New
        );
    }
    let mut other = send("t4", None, 1);
    other.repeat.message_id = "n".to_owned();
    assert_eq!(store.create_task(other).await.unwrap(), Created::New);
}

async fn with_a_key_the_first_task_is_named_whatever_its_state(store: &TestStore) {
    assert_eq!(
        store.create_task(send("t1", Some("k"), 1)).await.unwrap(),
        Created::New
    );
    assert_eq!(
        store.create_task(send("t2", Some("k"), 1)).await.unwrap(),
        repeated("t1")
    );
    store
        .append(append("t1", 1, vec![status("t1", TaskState::Completed, 2)]))
        .await
        .unwrap();
    assert_eq!(
        store.create_task(send("t3", Some("k"), 1)).await.unwrap(),
        repeated("t1")
    );
    // Another key is another send, though all else is the same.
    assert_eq!(
        store.create_task(send("t4", Some("l"), 1)).await.unwrap(),
        Created::New
    );
    // A send with a key never joins by its message alone; one without a key may.
    assert_eq!(
        store.create_task(send("t5", Some("n"), 1)).await.unwrap(),
        Created::New
    );
    assert_eq!(
        store.create_task(send("t6", None, 1)).await.unwrap(),
        repeated("t4")
    );
}

async fn a_key_with_another_payload_is_refused(store: &TestStore) {
    store.create_task(send("t1", Some("k"), 1)).await.unwrap();
    let conflict = Err(StoreError::RepeatConflict);
    assert_eq!(store.create_task(send("t2", Some("k"), 2)).await, conflict);
    store
        .append(append("t1", 1, vec![status("t1", TaskState::Failed, 2)]))
        .await
        .unwrap();
    assert_eq!(store.create_task(send("t2", Some("k"), 2)).await, conflict);
    assert_eq!(store.list_tasks(list(10)).await.unwrap().total, 1);
}

async fn an_expired_key_is_forgotten(store: &TestStore) {
    let mut old = send("t1", Some("k"), 1);
    old.repeat.key_expires_millis = 1;
    store.create_task(old).await.unwrap();
    assert_eq!(
        store.create_task(send("t2", Some("k"), 2)).await.unwrap(),
        Created::New
    );
    assert_eq!(
        store.create_task(send("t3", Some("k"), 2)).await.unwrap(),
        repeated("t2")
    );
}

async fn owners_and_agents_never_meet(store: &TestStore) {
    let mut number = 0;
    for key in [None, Some("k")] {
        // The last two would be one if the parts of a name ran together.
        let names = [("a", "x"), ("b", "x"), ("a", "y"), ("ab", "c"), ("a", "bc")];
        for (agent, owner) in names {
            number += 1;
            let mut new = send(&format!("t{number}"), key, 1);
            (new.agent, new.owner) = (agent.into(), owner.into());
            assert_eq!(
                store.create_task(new).await.unwrap(),
                Created::New,
                "{agent} {owner}"
            );
        }
    }
}

async fn many_identical_sends_at_once_make_one_task(store: &TestStore) {
    for key in [None, Some("k")] {
        let sends: Vec<_> = (0..64)
            .map(|number| {
                let store = store.shared();
                let new = send(&format!("t{number}-{key:?}"), key, key.is_some().into());
                tokio::spawn(async move {
                    let id = new.id.to_string();
                    let created = store.create_task(new).await.unwrap();
                    // Whoever is told of a task finds it.
                    let named = match created {
                        Created::New => id,
                        Created::Repeated(first) => first,
                    };
                    crate::samples::read(&*store, &named).await;
                    named
                })
            })
            .collect();
        let mut named = HashSet::new();
        for send in sends {
            named.insert(send.await.unwrap());
        }
        assert_eq!(named.len(), 1, "{named:?}");
    }
    assert_eq!(store.list_tasks(list(10)).await.unwrap().total, 2);
}
