//! Tasks and changes to store.

use bytes::Bytes;
use nuncio_store::{Append, Change, Created, Durability, Include, ListQuery, NewTask, Repeat};
use nuncio_store::{Store, TaskRecord, Visibility};
use nuncio_wire::TaskState;
use nuncio_wire::dialects::Dialect;

pub(crate) const AGENT: &str = "echo";
pub(crate) const OWNER: &str = "peer:alice";
/// Far in the future, in milliseconds.
pub(crate) const LATER: i64 = 4_000_000_000_000;

/// A SUBMITTED task with one message, unlike every other.
pub(crate) fn new_task(id: &str) -> NewTask {
    let message = format!(
        r#"{{"messageId":"m-{id}","role":"ROLE_USER","parts":[{{"text":"hello from {id}"}}]}}"#
    );
    NewTask {
        id: id.into(),
        agent: AGENT.into(),
        owner: OWNER.into(),
        context_id: format!("c-{id}").into(),
        dialect: Dialect::V1,
        alias: None,
        alias_is_unique: false,
        state: TaskState::Submitted,
        status: r#"{"state":"TASK_STATE_SUBMITTED"}"#.into(),
        status_millis: 1000,
        message: message.into(),
        metadata: None,
        repeat: Repeat {
            key: None,
            key_expires_millis: LATER,
            message_id: format!("m-{id}"),
            payload_hash: [0; 32],
        },
        push_config: None,
    }
}

pub(crate) fn status(task: &str, state: TaskState, millis: i64) -> Change {
    let status = format!(r#"{{"state":"{state}"}}"#);
    let event = format!(r#"{{"statusUpdate":{{"taskId":"{task}","status":{status}}}}}"#);
    let start = event.find(&status).unwrap();
    Change::Status {
        state,
        event: event.into(),
        status: start..start + status.len(),
        millis,
    }
}

pub(crate) fn artifact(task: &str, artifact: &str, append: bool, text: &str) -> Change {
    let body = format!(r#"{{"artifactId":"{artifact}","parts":[{{"text":"{text}"}}]}}"#);
    let event = format!(
        r#"{{"artifactUpdate":{{"taskId":"{task}","artifact":{body},"append":{append}}}}}"#
    );
    let start = event.find(&body).unwrap();
    Change::Artifact {
        artifact_id: artifact.into(),
        append,
        event: event.into(),
        artifact: start..start + body.len(),
    }
}

pub(crate) fn message(text: &str) -> Change {
    Change::Message {
        message: Bytes::from(format!(r#"{{"messageId":"{text}"}}"#)),
    }
}

pub(crate) fn append(task: &str, version: u64, changes: Vec<Change>) -> Append {
    Append {
        task: task.into(),
        version,
        lease_epoch: 0,
        changes,
        durability: Durability::Synced,
    }
}

/// Makes a task and ends it at this time.
pub(crate) async fn finished(store: &dyn Store, id: &str, millis: i64) {
    assert_eq!(store.create_task(new_task(id)).await.unwrap(), Created::New);
    let change = status(id, TaskState::Completed, millis);
    assert_eq!(store.append(append(id, 1, vec![change])).await.unwrap(), 2);
}

pub(crate) async fn read(store: &dyn Store, id: &str) -> TaskRecord {
    try_read(store, id).await.expect("the task is there")
}

pub(crate) async fn try_read(store: &dyn Store, id: &str) -> Option<TaskRecord> {
    store
        .task(id, &Visibility::default(), Include::ALL)
        .await
        .unwrap()
}

pub(crate) fn list(page_size: u32) -> ListQuery {
    ListQuery {
        visibility: Visibility::default(),
        context_id: None,
        state: None,
        status_from_millis: None,
        page_size,
        after: None,
        include: Include::NOTHING,
    }
}
