//! Tasks made, read, seen and not seen.

use bytes::Bytes;
use nuncio_store::{Include, StoreError, Visibility};
use nuncio_wire::TaskState;
use nuncio_wire::dialects::Dialect;

use crate::samples::{
    AGENT, OWNER, append, artifact, finished, message, new_task, read, status, try_read,
};
use crate::stores::TestStore;

on_every_store!(
    a_task_is_read_as_it_was_made,
    bytes_survive_exactly,
    texts_of_any_length_and_character_survive,
    what_is_not_visible_is_not_there,
    the_newest_task_of_an_alias_is_found,
    one_id_makes_one_task,
    history_is_limited_from_its_end,
    the_task_of_the_protocol_is_read,
    unfinished_tasks_are_found_oldest_first,
    a_discarded_task_leaves_nothing,
);

async fn a_task_is_read_as_it_was_made(store: &TestStore) {
    let mut new = new_task("t1");
    new.dialect = Dialect::V0_3;
    new.alias = Some("mine".to_owned());
    new.metadata = Some(r#"{"n":12345678901234567890}"#.into());
    store.create_task(new.clone()).await.unwrap();
    let task = read(&**store, "t1").await;
    assert_eq!(
        (&*task.id, &*task.agent, &*task.owner),
        ("t1", AGENT, OWNER)
    );
    assert_eq!(task.context_id, new.context_id);
    assert_eq!(task.dialect, Dialect::V0_3);
    assert_eq!(task.alias.as_deref(), Some("mine"));
    assert_eq!(
        (task.state, task.version, task.lease_epoch),
        (TaskState::Submitted, 1, 0)
    );
    assert_eq!((task.status, task.status_millis), (new.status, 1000));
    assert_eq!(task.metadata, new.metadata);
    assert_eq!(task.history, [new.message]);
    assert_eq!(task.artifacts, Some(vec![]));
    assert_eq!(store.events("t1", 0, 10).await.unwrap(), []);
    assert!(try_read(&**store, "t2").await.is_none());
}

async fn bytes_survive_exactly(store: &TestStore) {
    // The store does not look into JSON, so any bytes will do; big ones go where pages overflow.
    let odd: Bytes = (0..=255)
        .cycle()
        .take(3 * 1024 * 1024 + 7)
        .collect::<Vec<u8>>()
        .into();
    let mut new = new_task("t1");
    (new.message, new.status, new.metadata) = (odd.clone(), odd.slice(1..), Some(odd.slice(2..)));
    store.create_task(new).await.unwrap();
    let event = odd.slice(3..);
    let part = 5..event.len() - 5;
    let change = nuncio_store::Change::Artifact {
        artifact_id: "ä\u{1F600}".into(),
        append: false,
        event: event.clone(),
        artifact: part.clone(),
    };
    store.append(append("t1", 1, vec![change])).await.unwrap();
    let task = read(&**store, "t1").await;
    assert!(task.history == [odd.clone()], "message");
    assert!(task.status == odd.slice(1..), "status");
    assert!(task.metadata == Some(odd.slice(2..)), "metadata");
    assert!(
        task.artifacts.unwrap()[0].artifact == event.slice(part),
        "artifact"
    );
    assert!(
        store.events("t1", 0, 1).await.unwrap()[0].payload == event,
        "event"
    );
}

async fn texts_of_any_length_and_character_survive(store: &TestStore) {
    let texts = [
        "\0",
        "\u{1}0",
        "a\0b",
        "",
        "\u{1F600}\u{10FFFF}",
        &"long ".repeat(4000),
    ];
    for (number, text) in texts.into_iter().enumerate() {
        let id = format!("t{number}");
        let mut new = new_task(&id);
        new.context_id = text.into();
        new.alias = Some(text.to_owned());
        new.repeat.key = Some(text.to_owned());
        store.create_task(new.clone()).await.unwrap();
        let chunk = artifact(&id, text, false, "x");
        store.append(append(&id, 1, vec![chunk])).await.unwrap();
        let task = read(&**store, &id).await;
        assert_eq!(
            (&*task.context_id, task.alias.as_deref()),
            (text, Some(text))
        );
        let found = store.task_by_alias(text, &Visibility::default()).await;
        assert_eq!(found.unwrap(), Some(id.clone()), "{text:?}");
        let mut query = crate::samples::list(10);
        query.context_id = Some(text.to_owned());
        assert_eq!(store.list_tasks(query).await.unwrap().total, 1, "{text:?}");
        let again = store.create_task(new).await.unwrap();
        assert_eq!(again, nuncio_store::Created::Repeated(id));
        assert!(try_read(&**store, text).await.is_none());
    }
}

async fn what_is_not_visible_is_not_there(store: &TestStore) {
    let mut new = new_task("t1");
    new.alias = Some("alias".to_owned());
    store.create_task(new).await.unwrap();
    let cases = [
        (None, None, true),
        (Some(AGENT), None, true),
        (None, Some(OWNER), true),
        (Some(AGENT), Some(OWNER), true),
        (Some("other"), Some(OWNER), false),
        (Some(AGENT), Some("peer:bob"), false),
        (Some(""), None, false),
    ];
    for (agent, owner, seen) in cases {
        let visibility = Visibility {
            agent: agent.map(Into::into),
            owner: owner.map(Into::into),
        };
        let task = store.task("t1", &visibility, Include::ALL).await.unwrap();
        assert_eq!(task.is_some(), seen, "{visibility:?}");
        let alias = store.task_by_alias("alias", &visibility).await.unwrap();
        assert_eq!(alias.is_some(), seen, "{visibility:?}");
        let mut query = crate::samples::list(10);
        query.visibility = visibility;
        let page = store.list_tasks(query).await.unwrap();
        assert_eq!(
            (page.tasks.len(), page.total),
            (usize::from(seen), u64::from(seen))
        );
    }
}

async fn the_newest_task_of_an_alias_is_found(store: &TestStore) {
    for id in ["z-first", "a-second"] {
        let mut new = new_task(id);
        new.alias = Some("alias".to_owned());
        store.create_task(new).await.unwrap();
    }
    let anyone = Visibility::default();
    let found = store.task_by_alias("alias", &anyone).await.unwrap();
    assert_eq!(found.as_deref(), Some("a-second"));
    assert_eq!(
        store.task_by_alias("a-second", &anyone).await.unwrap(),
        None
    );
}

async fn one_id_makes_one_task(store: &TestStore) {
    store.create_task(new_task("t1")).await.unwrap();
    let mut again = new_task("t1");
    again.repeat.message_id = "other".to_owned();
    again.message = "{}".into();
    let error = store.create_task(again).await.unwrap_err();
    assert!(matches!(error, StoreError::Damaged(_)), "{error}");
    assert_eq!(read(&**store, "t1").await.history, [new_task("t1").message]);
    store.create_task(new_task("t2")).await.unwrap();
}

async fn history_is_limited_from_its_end(store: &TestStore) {
    store.create_task(new_task("t1")).await.unwrap();
    store
        .append(append("t1", 1, vec![message("two"), message("three")]))
        .await
        .unwrap();
    let first = new_task("t1").message;
    let (two, three) = (
        Bytes::from(r#"{"messageId":"two"}"#),
        Bytes::from(r#"{"messageId":"three"}"#),
    );
    let cases = [
        (None, vec![first.clone(), two.clone(), three.clone()]),
        (Some(0), vec![]),
        (Some(1), vec![three.clone()]),
        (Some(2), vec![two.clone(), three.clone()]),
        (Some(u32::MAX), vec![first, two, three]),
    ];
    for (history, expected) in cases {
        let include = Include {
            history,
            artifacts: false,
        };
        let task = store
            .task("t1", &Visibility::default(), include)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(
            (task.history, task.artifacts),
            (expected, None),
            "{history:?}"
        );
    }
}

async fn the_task_of_the_protocol_is_read(store: &TestStore) {
    let mut new = new_task("t1");
    new.metadata = Some(r#"{"big":12345678901234567890}"#.into());
    store.create_task(new).await.unwrap();
    let changes = vec![
        artifact("t1", "a", false, "hel"),
        artifact("t1", "a", true, "lo"),
        status("t1", TaskState::Completed, 2000),
    ];
    store.append(append("t1", 1, changes)).await.unwrap();
    let task = read(&**store, "t1").await.to_task().unwrap();
    assert_eq!(
        (task.id.as_str(), task.status.state),
        ("t1", TaskState::Completed)
    );
    assert_eq!(task.history[0].text(), "hello from t1");
    assert_eq!(task.artifacts().len(), 1);
    assert_eq!(task.artifacts()[0].parts[0].as_text(), Some("hello"));
}

async fn unfinished_tasks_are_found_oldest_first(store: &TestStore) {
    for id in ["c", "a", "b", "d"] {
        store.create_task(new_task(id)).await.unwrap();
    }
    store
        .append(append("a", 1, vec![status("a", TaskState::Failed, 9)]))
        .await
        .unwrap();
    store
        .append(append(
            "b",
            1,
            vec![status("b", TaskState::InputRequired, 9)],
        ))
        .await
        .unwrap();
    finished(&**store, "e", 5).await;
    let tasks = store.unfinished_tasks().await.unwrap();
    let ids: Vec<_> = tasks.iter().map(|task| (&*task.id, task.version)).collect();
    assert_eq!(ids, [("c", 1), ("b", 2), ("d", 1)]);
    assert_eq!(tasks[0].history, [new_task("c").message]);
    assert_eq!(tasks[0].artifacts, None);
}

async fn a_discarded_task_leaves_nothing(store: &TestStore) {
    let mut new = new_task("t1");
    new.alias = Some("alias".to_owned());
    store.create_task(new.clone()).await.unwrap();
    store.discard_task("t1").await.unwrap();
    store.discard_task("t1").await.unwrap();
    assert!(try_read(&**store, "t1").await.is_none());
    assert_eq!(
        store
            .task_by_alias("alias", &Visibility::default())
            .await
            .unwrap(),
        None
    );
    assert_eq!(
        store
            .list_tasks(crate::samples::list(9))
            .await
            .unwrap()
            .total,
        0
    );
    assert!(store.unfinished_tasks().await.unwrap().is_empty());
    let late = store.append(append("t1", 1, vec![message("late")])).await;
    assert_eq!(late, Err(StoreError::NotFound));
    // A repeat finds nothing to join, with a key or without.
    new.id = "t2".into();
    new.repeat.key = Some("key".to_owned());
    assert_eq!(
        store.create_task(new.clone()).await.unwrap(),
        nuncio_store::Created::New
    );
    store.discard_task("t2").await.unwrap();
    new.id = "t3".into();
    assert_eq!(
        store.create_task(new).await.unwrap(),
        nuncio_store::Created::New
    );
}
