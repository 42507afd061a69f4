//! Tasks, messages, parts, artifacts and events of `lf.a2a.v1`.

use crate::artifact::Artifact;
use crate::dialects::protobuf::generated::lf::a2a::v1 as pb;
use crate::dialects::protobuf::user_json::{struct_in, struct_out, value_in, value_out};
use crate::dialects::protobuf::wrong::{InField as _, Wrong, each, given, maybe, required};
use crate::dialects::protobuf::{role_in, state_in, time_in, time_out};
use crate::event::{StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent};
use crate::json::Metadata;
use crate::message::Message;
use crate::part::{Part, PartContent};
use crate::task::{Task, TaskStatus};

const METADATA: &str = "metadata";

pub(super) fn metadata_out(
    metadata: Option<&Metadata>,
) -> Result<Option<prost_types::Struct>, Wrong> {
    maybe(metadata, METADATA, struct_out)
}

pub(super) fn metadata_in(object: Option<&prost_types::Struct>) -> Result<Option<Metadata>, Wrong> {
    maybe(object, METADATA, struct_in)
}

pub(super) fn task_out(task: Task) -> Result<pb::Task, Wrong> {
    Ok(pb::Task {
        metadata: metadata_out(task.metadata.as_ref())?,
        id: task.id,
        context_id: task.context_id,
        status: Some(status_out(task.status).in_field("status")?),
        artifacts: each(
            task.artifacts.unwrap_or_default(),
            "artifacts",
            artifact_out,
        )?,
        history: each(task.history, "history", message_out)?,
    })
}

pub(super) fn task_in(task: pb::Task) -> Result<Task, Wrong> {
    let artifacts = each(task.artifacts, "artifacts", artifact_in)?;
    Ok(Task {
        metadata: metadata_in(task.metadata.as_ref())?,
        id: task.id,
        context_id: task.context_id,
        status: status_in(required(task.status, "status")?).in_field("status")?,
        artifacts: Some(artifacts).filter(|list| !list.is_empty()),
        history: each(task.history, "history", message_in)?,
    })
}

fn status_out(status: TaskStatus) -> Result<pb::TaskStatus, Wrong> {
    Ok(pb::TaskStatus {
        state: status.state.number().into(),
        message: maybe(status.message, "message", message_out)?,
        timestamp: status.timestamp.map(time_out),
    })
}

fn status_in(status: pb::TaskStatus) -> Result<TaskStatus, Wrong> {
    Ok(TaskStatus {
        state: state_in(status.state).in_field("state")?,
        message: maybe(status.message, "message", message_in)?,
        timestamp: maybe(status.timestamp, "timestamp", time_in)?,
    })
}

pub(super) fn message_out(message: Message) -> Result<pb::Message, Wrong> {
    Ok(pb::Message {
        metadata: metadata_out(message.metadata.as_ref())?,
        message_id: message.message_id,
        context_id: message.context_id.unwrap_or_default(),
        task_id: message.task_id.unwrap_or_default(),
        role: message.role.number(),
        parts: each(message.parts, "parts", part_out)?,
        extensions: message.extensions,
        reference_task_ids: message.reference_task_ids,
    })
}

pub(super) fn message_in(message: pb::Message) -> Result<Message, Wrong> {
    Ok(Message {
        metadata: metadata_in(message.metadata.as_ref())?,
        message_id: message.message_id,
        context_id: given(message.context_id),
        task_id: given(message.task_id),
        role: role_in(message.role).in_field("role")?,
        parts: each(message.parts, "parts", part_in)?,
        extensions: message.extensions,
        reference_task_ids: message.reference_task_ids,
    })
}

fn part_out(part: Part) -> Result<pb::Part, Wrong> {
    use pb::part::Content;
    let content = match part.content {
        PartContent::Text(text) => Content::Text(text),
        PartContent::Raw(bytes) => Content::Raw(bytes),
        PartContent::Url(url) => Content::Url(url),
        PartContent::Data(data) => Content::Data(value_out(&data).in_field("data")?),
    };
    Ok(pb::Part {
        content: Some(content),
        metadata: metadata_out(part.metadata.as_ref())?,
        filename: part.filename.unwrap_or_default(),
        media_type: part.media_type.unwrap_or_default(),
    })
}

fn part_in(part: pb::Part) -> Result<Part, Wrong> {
    use pb::part::Content;
    let content = match part.content {
        Some(Content::Text(text)) => PartContent::Text(text),
        Some(Content::Raw(bytes)) => PartContent::Raw(bytes),
        Some(Content::Url(url)) => PartContent::Url(url),
        Some(Content::Data(data)) => PartContent::Data(value_in(&data).in_field("data")?),
        None => return Err(Wrong::here("must have exactly one of text, raw, url, data")),
    };
    Ok(Part {
        content,
        metadata: metadata_in(part.metadata.as_ref())?,
        filename: given(part.filename),
        media_type: given(part.media_type),
    })
}

fn artifact_out(artifact: Artifact) -> Result<pb::Artifact, Wrong> {
    Ok(pb::Artifact {
        metadata: metadata_out(artifact.metadata.as_ref())?,
        artifact_id: artifact.artifact_id,
        name: artifact.name.unwrap_or_default(),
        description: artifact.description.unwrap_or_default(),
        parts: each(artifact.parts, "parts", part_out)?,
        extensions: artifact.extensions,
    })
}

fn artifact_in(artifact: pb::Artifact) -> Result<Artifact, Wrong> {
    Ok(Artifact {
        metadata: metadata_in(artifact.metadata.as_ref())?,
        artifact_id: artifact.artifact_id,
        name: given(artifact.name),
        description: given(artifact.description),
        parts: each(artifact.parts, "parts", part_in)?,
        extensions: artifact.extensions,
    })
}

pub(super) fn event_out(event: StreamResponse) -> Result<pb::StreamResponse, Wrong> {
    use pb::stream_response::Payload;
    let payload = match event {
        StreamResponse::Task(task) => Payload::Task(task_out(task).in_field("task")?),
        StreamResponse::Message(message) => {
            Payload::Message(message_out(message).in_field("message")?)
        }
        StreamResponse::StatusUpdate(event) => {
            Payload::StatusUpdate(status_event_out(event).in_field("statusUpdate")?)
        }
        StreamResponse::ArtifactUpdate(event) => {
            Payload::ArtifactUpdate(artifact_event_out(event).in_field("artifactUpdate")?)
        }
    };
    Ok(pb::StreamResponse {
        payload: Some(payload),
    })
}

pub(super) fn event_in(event: pb::StreamResponse) -> Result<StreamResponse, Wrong> {
    use pb::stream_response::Payload;
    Ok(match event.payload {
        Some(Payload::Task(task)) => StreamResponse::Task(task_in(task).in_field("task")?),
        Some(Payload::Message(message)) => {
            StreamResponse::Message(message_in(message).in_field("message")?)
        }
        Some(Payload::StatusUpdate(event)) => {
            StreamResponse::StatusUpdate(status_event_in(event).in_field("statusUpdate")?)
        }
        Some(Payload::ArtifactUpdate(event)) => {
            StreamResponse::ArtifactUpdate(artifact_event_in(event).in_field("artifactUpdate")?)
        }
        None => {
            let text = "must have exactly one of task, message, statusUpdate, artifactUpdate";
            return Err(Wrong::here(text));
        }
    })
}

fn status_event_out(event: TaskStatusUpdateEvent) -> Result<pb::TaskStatusUpdateEvent, Wrong> {
    Ok(pb::TaskStatusUpdateEvent {
        metadata: metadata_out(event.metadata.as_ref())?,
        task_id: event.task_id,
        context_id: event.context_id,
        status: Some(status_out(event.status).in_field("status")?),
    })
}

fn status_event_in(event: pb::TaskStatusUpdateEvent) -> Result<TaskStatusUpdateEvent, Wrong> {
    Ok(TaskStatusUpdateEvent {
        metadata: metadata_in(event.metadata.as_ref())?,
        task_id: event.task_id,
        context_id: event.context_id,
        status: status_in(required(event.status, "status")?).in_field("status")?,
    })
}

fn artifact_event_out(
    event: TaskArtifactUpdateEvent,
) -> Result<pb::TaskArtifactUpdateEvent, Wrong> {
    Ok(pb::TaskArtifactUpdateEvent {
        metadata: metadata_out(event.metadata.as_ref())?,
        task_id: event.task_id,
        context_id: event.context_id,
        artifact: Some(artifact_out(event.artifact).in_field("artifact")?),
        append: event.append,
        last_chunk: event.last_chunk,
    })
}

fn artifact_event_in(event: pb::TaskArtifactUpdateEvent) -> Result<TaskArtifactUpdateEvent, Wrong> {
    Ok(TaskArtifactUpdateEvent {
        metadata: metadata_in(event.metadata.as_ref())?,
        task_id: event.task_id,
        context_id: event.context_id,
        artifact: artifact_in(required(event.artifact, "artifact")?).in_field("artifact")?,
        append: event.append,
        last_chunk: event.last_chunk,
    })
}
