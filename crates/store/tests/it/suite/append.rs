//! The one way to change a task.

use nuncio_store::{Durability, Segment, StoreError, StoredEvent};
use nuncio_wire::TaskState;

use crate::samples::{append, artifact, finished, message, new_task, read, status, try_read};
use crate::stores::TestStore;

on_every_store!(
    changes_raise_the_version_and_are_logged,
    a_stale_version_changes_nothing,
    another_lease_epoch_changes_nothing,
    a_final_state_is_final,
    nothing_comes_after_a_final_state_in_one_append,
    an_unknown_task_is_not_found,
    a_range_outside_its_event_is_refused,
    an_artifact_is_replaced_in_its_place,
    events_are_read_by_cursor,
    chunks_need_no_sync_and_are_seen,
    an_empty_append_checks_the_version,
    one_of_many_writers_wins,
    no_reader_sees_a_version_go_back,
);

async fn changes_raise_the_version_and_are_logged(store: &TestStore) {
    store.create_task(new_task("t1")).await.unwrap();
    let changes = vec![
        status("t1", TaskState::Working, 2000),
        message("more"),
        artifact("t1", "a", false, "text"),
        status("t1", TaskState::InputRequired, 3000),
    ];
    assert_eq!(
        store
            .append(append("t1", 1, changes.clone()))
            .await
            .unwrap(),
        4
    );
    let task = read(&**store, "t1").await;
    assert_eq!((task.state, task.version), (TaskState::InputRequired, 4));
    assert_eq!(
        (&*task.status, task.status_millis),
        (&br#"{"state":"TASK_STATE_INPUT_REQUIRED"}"#[..], 3000)
    );
    assert_eq!(task.history.len(), 2);
    let segment = br#"{"artifactId":"a","parts":[{"text":"text"}]}"#;
    assert_eq!(
        task.artifacts,
        Some(vec![Segment {
            append: false,
            artifact: segment[..].into()
        }])
    );
    let events = store.events("t1", 0, 10).await.unwrap();
    let states: Vec<_> = events
        .iter()
        .map(|event| (event.version, event.state))
        .collect();
    assert_eq!(
        states,
        [
            (2, Some(TaskState::Working)),
            (3, None),
            (4, Some(TaskState::InputRequired))
        ]
    );
    assert_eq!(events[1].payload, payload(&changes[2]));
}

fn payload(change: &nuncio_store::Change) -> bytes::Bytes {
    match change {
        nuncio_store::Change::Status { event, .. }
        | nuncio_store::Change::Artifact { event, .. } => event.clone(),
        nuncio_store::Change::Message { message } => message.clone(),
    }
}

async fn a_stale_version_changes_nothing(store: &TestStore) {
    store.create_task(new_task("t1")).await.unwrap();
    store
        .append(append("t1", 1, vec![status("t1", TaskState::Working, 2)]))
        .await
        .unwrap();
    let stale = Err(StoreError::Stale {
        version: 2,
        state: TaskState::Working,
    });
    for version in [0, 1, 3, u64::MAX - 10] {
        let late = vec![message("late"), status("t1", TaskState::Failed, 3)];
        assert_eq!(store.append(append("t1", version, late)).await, stale);
    }
    let task = read(&**store, "t1").await;
    assert_eq!(
        (task.version, task.state, task.history.len()),
        (2, TaskState::Working, 1)
    );
    assert_eq!(store.events("t1", 0, 10).await.unwrap().len(), 1);
}

async fn another_lease_epoch_changes_nothing(store: &TestStore) {
    store.create_task(new_task("t1")).await.unwrap();
    let mut other = append("t1", 1, vec![status("t1", TaskState::Working, 2)]);
    other.lease_epoch = 1;
    let stale = Err(StoreError::Stale {
        version: 1,
        state: TaskState::Submitted,
    });
    assert_eq!(store.append(other).await, stale);
    assert_eq!(read(&**store, "t1").await.version, 1);
}

async fn a_final_state_is_final(store: &TestStore) {
    let states = [
        TaskState::Completed,
        TaskState::Failed,
        TaskState::Canceled,
        TaskState::Rejected,
    ];
    for (number, state) in states.into_iter().enumerate() {
        let id = &format!("t{number}");
        store.create_task(new_task(id)).await.unwrap();
        store
            .append(append(id, 1, vec![status(id, state, 2)]))
            .await
            .unwrap();
        for change in [
            status(id, TaskState::Working, 3),
            status(id, state, 3),
            artifact(id, "a", false, "late"),
            message("late"),
        ] {
            let late = store.append(append(id, 2, vec![change])).await;
            assert_eq!(late, Err(StoreError::Stale { version: 2, state }));
        }
        let task = read(&**store, id).await;
        assert_eq!(
            (task.version, task.state, task.status_millis),
            (2, state, 2)
        );
    }
}

async fn nothing_comes_after_a_final_state_in_one_append(store: &TestStore) {
    store.create_task(new_task("t1")).await.unwrap();
    let changes = vec![
        status("t1", TaskState::Completed, 2),
        artifact("t1", "a", false, "late"),
    ];
    let refused = store.append(append("t1", 1, changes)).await;
    assert_eq!(
        refused,
        Err(StoreError::Stale {
            version: 2,
            state: TaskState::Completed
        })
    );
    assert_eq!(read(&**store, "t1").await.version, 1);
}

async fn an_unknown_task_is_not_found(store: &TestStore) {
    let change = vec![status("t1", TaskState::Working, 2)];
    assert_eq!(
        store.append(append("t1", 1, change)).await,
        Err(StoreError::NotFound)
    );
    assert_eq!(store.events("t1", 0, 10).await.unwrap(), []);
    assert!(try_read(&**store, "t1").await.is_none());
}

async fn a_range_outside_its_event_is_refused(store: &TestStore) {
    store.create_task(new_task("t1")).await.unwrap();
    let mut change = artifact("t1", "a", false, "text");
    if let nuncio_store::Change::Artifact {
        artifact, event, ..
    } = &mut change
    {
        artifact.end = event.len() + 1;
    }
    let refused = store
        .append(append("t1", 1, vec![change]))
        .await
        .unwrap_err();
    assert!(matches!(refused, StoreError::Damaged(_)), "{refused}");
    assert_eq!(read(&**store, "t1").await.version, 1);
}

async fn an_artifact_is_replaced_in_its_place(store: &TestStore) {
    store.create_task(new_task("t1")).await.unwrap();
    let changes = vec![
        artifact("t1", "a", false, "a1"),
        artifact("t1", "a", true, "a2"),
        artifact("t1", "b", false, "b1"),
        artifact("t1", "a", false, "a3"),
        // An agent that forgets to say that it starts an artifact.
        artifact("t1", "c", true, "c1"),
    ];
    store.append(append("t1", 1, changes)).await.unwrap();
    let changes = vec![
        artifact("t1", "a", true, "a4"),
        artifact("t1", "b", true, "b2"),
    ];
    store.append(append("t1", 6, changes)).await.unwrap();
    let task = read(&**store, "t1").await;
    let segments = task.artifacts.clone().unwrap();
    let texts: Vec<_> = segments
        .iter()
        .map(|segment| {
            let artifact: nuncio_wire::Artifact =
                serde_json::from_slice(&segment.artifact).unwrap();
            (
                segment.append,
                artifact.parts[0].as_text().unwrap().to_owned(),
            )
        })
        .collect();
    let expected = [
        (false, "a3"),
        (true, "a4"),
        (false, "b1"),
        (true, "b2"),
        (true, "c1"),
    ];
    assert_eq!(
        texts,
        expected.map(|(append, text)| (append, text.to_owned()))
    );
    // The log keeps what was replaced: a stream tells what happened.
    assert_eq!(store.events("t1", 0, 100).await.unwrap().len(), 7);
    let ids: Vec<_> = task
        .to_task()
        .unwrap()
        .artifacts()
        .iter()
        .map(|a| a.artifact_id.clone())
        .collect();
    assert_eq!(ids, ["a", "b", "c"]);
}

async fn events_are_read_by_cursor(store: &TestStore) {
    store.create_task(new_task("t1")).await.unwrap();
    let changes = (0..20)
        .map(|n| artifact("t1", "a", n > 0, &n.to_string()))
        .collect();
    assert_eq!(store.append(append("t1", 1, changes)).await.unwrap(), 21);
    let versions = |events: Vec<StoredEvent>| -> Vec<u64> {
        events.iter().map(|event| event.version).collect()
    };
    for (after, limit, expected) in [
        (0, 100, 2..22),
        (1, 3, 2..5),
        (2, 3, 3..6),
        (20, 3, 21..22),
        (21, 3, 0..0),
        (u64::MAX, 3, 0..0),
        (5, 0, 0..0),
    ] {
        let events = store.events("t1", after, limit).await.unwrap();
        assert_eq!(
            versions(events),
            expected.collect::<Vec<_>>(),
            "{after} {limit}"
        );
    }
}

async fn chunks_need_no_sync_and_are_seen(store: &TestStore) {
    store.create_task(new_task("t1")).await.unwrap();
    for version in 1..20 {
        let mut chunk = append("t1", version, vec![artifact("t1", "a", version > 1, "x")]);
        chunk.durability = Durability::Committed;
        assert_eq!(store.append(chunk).await.unwrap(), version + 1);
        assert_eq!(read(&**store, "t1").await.version, version + 1);
    }
    store
        .append(append(
            "t1",
            20,
            vec![status("t1", TaskState::Completed, 2)],
        ))
        .await
        .unwrap();
    assert_eq!(read(&**store, "t1").await.artifacts.unwrap().len(), 19);
}

async fn an_empty_append_checks_the_version(store: &TestStore) {
    store.create_task(new_task("t1")).await.unwrap();
    assert_eq!(store.append(append("t1", 1, vec![])).await, Ok(1));
    let stale = Err(StoreError::Stale {
        version: 1,
        state: TaskState::Submitted,
    });
    assert_eq!(store.append(append("t1", 2, vec![])).await, stale);
    finished(&**store, "t2", 5).await;
    let stale = Err(StoreError::Stale {
        version: 2,
        state: TaskState::Completed,
    });
    assert_eq!(store.append(append("t2", 2, vec![])).await, stale);
}

async fn one_of_many_writers_wins(store: &TestStore) {
    store.create_task(new_task("t1")).await.unwrap();
    for round in 0..10u64 {
        let writers: Vec<_> = (0..16)
            .map(|writer| {
                let store = store.shared();
                let chunk = artifact("t1", "a", true, &format!("{round}-{writer}"));
                tokio::spawn(
                    async move { store.append(append("t1", round + 1, vec![chunk])).await },
                )
            })
            .collect();
        let mut won = 0;
        for writer in writers {
            match writer.await.unwrap() {
                Ok(version) => {
                    assert_eq!(version, round + 2);
                    won += 1;
                }
                Err(error) => assert_eq!(
                    error,
                    StoreError::Stale {
                        version: round + 2,
                        state: TaskState::Submitted
                    }
                ),
            }
        }
        assert_eq!(won, 1);
    }
    assert_eq!(store.events("t1", 0, 100).await.unwrap().len(), 10);
}

async fn no_reader_sees_a_version_go_back(store: &TestStore) {
    const LAST: u64 = 300;
    store.create_task(new_task("t1")).await.unwrap();
    let readers: Vec<_> = (0..3)
        .map(|reader| {
            let store = store.shared();
            tokio::spawn(async move {
                let mut seen = 0;
                while seen < LAST {
                    // Each way to read a task must agree with what another has shown.
                    let page = store.list_tasks(crate::samples::list(10)).await.unwrap();
                    let listed = page.tasks[0].version;
                    let read = read(&*store, "t1").await.version;
                    let events = store.events("t1", read, 1000).await.unwrap();
                    let logged = events.last().map_or(read, |event| event.version);
                    assert!(
                        seen <= listed && listed <= read && read <= logged,
                        "reader {reader}"
                    );
                    seen = logged;
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    for version in 1..LAST {
        let mut chunk = append("t1", version, vec![artifact("t1", "a", version > 1, "x")]);
        if version % 2 == 0 {
            chunk.durability = Durability::Committed;
        }
        store.append(chunk).await.unwrap();
        // What was acknowledged is seen at once.
        assert_eq!(read(&**store, "t1").await.version, version + 1);
        tokio::task::yield_now().await;
    }
    for reader in readers {
        reader.await.unwrap();
    }
}
