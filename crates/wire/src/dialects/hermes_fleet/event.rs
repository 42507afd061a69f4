//! What streams and webhooks of this dialect carry: status events with a name of their own, and
//! artifacts.
//!
//! A frame is a bare event without a JSON-RPC envelope. The final event comes once, with its text.

use serde::Serialize;

use super::error::write_bare;
use super::write::{Artifact, EventStatus};
use crate::bindings::sse::{EventId, write_named_frame};
use crate::dialects::v1;
use crate::error::A2aError;
use crate::event::{StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent};
use crate::json::Metadata;
use crate::message::Message;
use crate::task::{Task, TaskState, TaskStatus};

/// The name under which a stream tells of a state.
fn name_of(state: TaskState) -> &'static str {
    match state {
        TaskState::Submitted => "TaskSubmitted",
        TaskState::Working => "TaskStarted",
        TaskState::Completed => "TaskCompleted",
        TaskState::Failed => "TaskFailed",
        TaskState::Canceled => "TaskCanceled",
        TaskState::Rejected => "TaskRejected",
        TaskState::AuthRequired => "TaskAuthRequired",
        TaskState::InputRequired | TaskState::Unspecified => "TaskUpdated",
    }
}

const ARTIFACT: &str = "TaskArtifactUpdate";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StatusEvent<'a> {
    task_id: &'a str,
    context_id: &'a str,
    status: EventStatus<'a>,
    event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Metadata>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactEvent<'a> {
    context_id: &'a str,
    task_id: &'a str,
    artifact: Artifact<'a>,
    // Additions without which chunks could not be put together.
    #[serde(skip_serializing_if = "crate::json::is_false")]
    append: bool,
    #[serde(rename = "last_chunk", skip_serializing_if = "crate::json::is_false")]
    last_chunk: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Metadata>,
}

impl<'a> ArtifactEvent<'a> {
    fn of(event: &'a TaskArtifactUpdateEvent) -> Self {
        Self {
            context_id: &event.context_id,
            task_id: &event.task_id,
            artifact: Artifact::of(&event.artifact, 0),
            append: event.append,
            last_chunk: event.last_chunk,
            metadata: event.metadata.as_ref(),
        }
    }
}

fn status_event<'a>(
    (task_id, context_id): (&'a str, &'a str),
    status: &'a TaskStatus,
    metadata: Option<&'a Metadata>,
) -> StatusEvent<'a> {
    StatusEvent {
        task_id,
        context_id,
        status: EventStatus::of(status),
        event: name_of(status.state),
        metadata,
    }
}

fn of_update(event: &TaskStatusUpdateEvent) -> StatusEvent<'_> {
    let ids = (&*event.task_id, &*event.context_id);
    status_event(ids, &event.status, event.metadata.as_ref())
}

fn of_task(task: &Task) -> StatusEvent<'_> {
    status_event((&task.id, &task.context_id), &task.status, None)
}

/// A direct answer as the end of the task it would have had.
fn of_answer(message: &Message) -> (TaskStatus, &str, &str) {
    let status = TaskStatus {
        state: TaskState::Completed,
        message: Some(message.clone()),
        timestamp: None,
    };
    let id = message.task_id.as_deref().unwrap_or(&message.message_id);
    (
        status,
        id,
        message.context_id.as_deref().unwrap_or_default(),
    )
}

/// Appends the data of one event. A task is told by its status alone: see [`write_frames`].
pub(in crate::dialects) fn write_event(event: &StreamResponse, out: &mut Vec<u8>) {
    match event {
        StreamResponse::Task(task) => v1::write(&of_task(task), out),
        StreamResponse::StatusUpdate(update) => v1::write(&of_update(update), out),
        StreamResponse::ArtifactUpdate(update) => v1::write(&ArtifactEvent::of(update), out),
        StreamResponse::Message(message) => {
            let (status, task_id, context_id) = of_answer(message);
            v1::write(&status_event((task_id, context_id), &status, None), out);
        }
    }
}

fn name_of_event(event: &StreamResponse) -> &'static str {
    match event {
        StreamResponse::Task(task) => name_of(task.status.state),
        StreamResponse::StatusUpdate(update) => name_of(update.status.state),
        StreamResponse::ArtifactUpdate(_) => ARTIFACT,
        StreamResponse::Message(_) => name_of(TaskState::Completed),
    }
}

/// Appends an event as server-sent events. A whole task that goes on becomes its status and its
/// artifacts so far; the last frame alone has the id, so that whoever resumes has had them all.
pub fn write_frames(id: Option<EventId>, event: &StreamResponse, out: &mut Vec<u8>) {
    let known: Vec<StreamResponse> = match event {
        StreamResponse::Task(task) if !task.status.state.is_terminal() => artifacts_of(task),
        _ => Vec::new(),
    };
    let count = known.len();
    for (index, event) in std::iter::once(event).chain(&known).enumerate() {
        let id = id.filter(|_| index == count);
        write_named_frame(id, Some(name_of_event(event)), out, |out| {
            write_event(event, out);
        });
    }
}

fn artifacts_of(task: &Task) -> Vec<StreamResponse> {
    let update = |artifact: &crate::Artifact| TaskArtifactUpdateEvent {
        task_id: task.id.clone(),
        context_id: task.context_id.clone(),
        artifact: artifact.clone(),
        append: false,
        last_chunk: false,
        metadata: None,
    };
    let updates = task.artifacts().iter().map(update);
    updates.map(StreamResponse::ArtifactUpdate).collect()
}

/// Appends the frame by which a stream tells of an error.
pub fn write_error_frame(error: &A2aError, out: &mut Vec<u8>) {
    write_named_frame(None, Some("error"), out, |out| write_bare(error, out));
}

/// Appends the body that a webhook gets for an event.
pub fn write_notification(event: &StreamResponse, out: &mut Vec<u8>) {
    #[derive(Serialize)]
    struct Wrapped<'a> {
        artifact_update: ArtifactEvent<'a>,
    }
    match event {
        StreamResponse::ArtifactUpdate(update) => v1::write(
            &Wrapped {
                artifact_update: ArtifactEvent::of(update),
            },
            out,
        ),
        other => write_event(other, out),
    }
}
