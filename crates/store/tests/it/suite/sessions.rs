//! Sessions of backends, and what was said in a task.

use nuncio_store::Conversation;
use nuncio_wire::TaskState;

use crate::samples::{append, artifact, new_task, status};
use crate::stores::TestStore;

on_every_store!(
    a_session_is_kept_replaced_and_forgotten,
    conversations_never_share_a_session,
    only_statuses_are_read_as_such,
);

fn conversation(agent: &str, owner: &str, context_id: &str) -> Conversation {
    Conversation {
        agent: agent.into(),
        owner: owner.into(),
        context_id: context_id.into(),
    }
}

async fn name_of(store: &TestStore, of: &Conversation) -> Option<String> {
    store.session(of).await.unwrap().map(|kept| kept.name)
}

async fn keep(store: &TestStore, of: &Conversation, name: Option<&str>) {
    let kept = store.keep_session(of.clone(), name.map(str::to_owned));
    kept.await.unwrap();
}

async fn a_session_is_kept_replaced_and_forgotten(store: &TestStore) {
    let of = conversation("a", "peer:x", "c");
    assert_eq!(name_of(store, &of).await, None);
    keep(store, &of, Some("s\u{0}1")).await;
    let first = store.session(&of).await.unwrap().unwrap();
    assert_eq!(first.name, "s\u{0}1");
    keep(store, &of, Some("s2")).await;
    let second = store.session(&of).await.unwrap().unwrap();
    assert_eq!(second.name, "s2");
    assert!(second.kept_millis >= first.kept_millis && first.kept_millis > 0);
    keep(store, &of, None).await;
    keep(store, &of, None).await;
    assert_eq!(name_of(store, &of).await, None);
}

async fn conversations_never_share_a_session(store: &TestStore) {
    let all = [
        conversation("a", "peer:x", "c"),
        conversation("b", "peer:x", "c"),
        conversation("a", "peer:y", "c"),
        conversation("a", "peer:x", "d"),
        conversation("apeer:", "x", "c"),
    ];
    for (number, of) in all.iter().enumerate() {
        keep(store, of, Some(&format!("session {number}"))).await;
    }
    for (number, of) in all.iter().enumerate() {
        assert_eq!(name_of(store, of).await, Some(format!("session {number}")));
    }
}

async fn only_statuses_are_read_as_such(store: &TestStore) {
    store.create_task(new_task("t1")).await.unwrap();
    let changes = vec![
        artifact("t1", "a", false, "x"),
        status("t1", TaskState::Working, 2),
        artifact("t1", "a", true, "y"),
        status("t1", TaskState::InputRequired, 3),
    ];
    store.append(append("t1", 1, changes)).await.unwrap();
    let statuses = store.statuses("t1").await.unwrap();
    let states: Vec<_> = statuses.iter().filter_map(|event| event.state).collect();
    assert_eq!(states, [TaskState::Working, TaskState::InputRequired]);
    assert!(store.statuses("unknown").await.unwrap().is_empty());
}
