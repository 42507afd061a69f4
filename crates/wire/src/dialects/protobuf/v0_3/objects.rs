//! Tasks, messages, parts, artifacts and events of `a2a.v1`.

use crate::artifact::Artifact;
use crate::dialects::lenient::{take_labels, unwrap_data};
use crate::dialects::protobuf::generated::a2a::v1 as pb;
use crate::dialects::protobuf::user_json::{struct_in, struct_out};
use crate::dialects::protobuf::wrong::{InField as _, Wrong, each, given, maybe, required};
use crate::dialects::protobuf::{role_in, state_in, time_in, time_out};
use crate::dialects::v0_3::{labels, read_file_bytes, write_file_bytes};
use crate::event::{StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent};
use crate::json::{Metadata, RawJson};
use crate::message::Message;
use crate::part::{Part, PartContent};
use crate::task::{Task, TaskStatus};

pub(super) fn metadata_out(
    metadata: Option<&Metadata>,
) -> Result<Option<prost_types::Struct>, Wrong> {
    maybe(metadata, "metadata", struct_out)
}

pub(super) fn metadata_in(object: Option<&prost_types::Struct>) -> Result<Option<Metadata>, Wrong> {
    maybe(object, "metadata", struct_in)
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
        update: maybe(status.message, "message", message_out)?,
        timestamp: status.timestamp.map(time_out),
    })
}

fn status_in(status: pb::TaskStatus) -> Result<TaskStatus, Wrong> {
    Ok(TaskStatus {
        state: state_in(status.state).in_field("state")?,
        message: maybe(status.update, "message", message_in)?,
        timestamp: maybe(status.timestamp, "timestamp", time_in)?,
    })
}

/// References to other tasks have no field in 0.3 and are left out.
pub(super) fn message_out(message: Message) -> Result<pb::Message, Wrong> {
    Ok(pb::Message {
        metadata: metadata_out(message.metadata.as_ref())?,
        message_id: message.message_id,
        context_id: message.context_id.unwrap_or_default(),
        task_id: message.task_id.unwrap_or_default(),
        role: message.role.number(),
        content: each(message.parts, "content", part_out)?,
        extensions: message.extensions,
    })
}

pub(super) fn message_in(message: pb::Message) -> Result<Message, Wrong> {
    Ok(Message {
        metadata: metadata_in(message.metadata.as_ref())?,
        message_id: message.message_id,
        context_id: given(message.context_id),
        task_id: given(message.task_id),
        role: role_in(message.role).in_field("role")?,
        parts: each(message.content, "content", part_in)?,
        extensions: message.extensions,
        reference_task_ids: Vec::new(),
    })
}

fn part_out(part: Part) -> Result<pb::Part, Wrong> {
    use pb::part::Part as Content;
    let marked = labels(&part);
    let metadata = metadata_out(marked.as_ref().or(part.metadata.as_ref()))?;
    let file = |file| {
        Content::File(pb::FilePart {
            file: Some(file),
            mime_type: part.media_type.unwrap_or_default(),
            name: part.filename.unwrap_or_default(),
        })
    };
    let content = match part.content {
        PartContent::Text(text) => Content::Text(text),
        PartContent::Raw(bytes) => {
            file(pb::file_part::File::FileWithBytes(write_file_bytes(&bytes)))
        }
        PartContent::Url(url) => file(pb::file_part::File::FileWithUri(url)),
        PartContent::Data(data) => Content::Data(pb::DataPart {
            data: Some(struct_out(&wrapped(data)).in_field("data")?),
        }),
    };
    Ok(pb::Part {
        part: Some(content),
        metadata,
    })
}

/// 0.3 takes nothing but objects; `labels` marks those that are only there to hold a value.
fn wrapped(data: RawJson) -> Metadata {
    match Metadata::from_raw(data.clone()) {
        Ok(object) => object,
        Err(_) => Metadata::with_member(None, "value", &data),
    }
}

fn part_in(part: pb::Part) -> Result<Part, Wrong> {
    use pb::part::Part as Content;
    let mut metadata = metadata_in(part.metadata.as_ref())?;
    let (mut filename, mut media_type) = (None, None);
    let content = match part.part {
        Some(Content::Text(text)) => PartContent::Text(text),
        Some(Content::File(file)) => {
            (filename, media_type) = (given(file.name), given(file.mime_type));
            match file.file {
                Some(pb::file_part::File::FileWithBytes(bytes)) => {
                    PartContent::Raw(read_file_bytes(bytes))
                }
                Some(pb::file_part::File::FileWithUri(url)) => PartContent::Url(url),
                None => return Err(Wrong::here("a file must have its bytes or its URI")),
            }
        }
        Some(Content::Data(data)) => {
            let object = struct_in(&data.data.unwrap_or_default()).in_field("data")?;
            let data = RawJson::parse(object.get()).expect("an object is JSON");
            PartContent::Data(unwrap_data(&mut metadata, data))
        }
        None => return Err(Wrong::here("must have exactly one of text, file, data")),
    };
    let mut part = Part {
        content,
        metadata,
        filename,
        media_type,
    };
    take_labels(&mut part);
    Ok(part)
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

/// `last` becomes `final` where the event has such a field.
pub(super) fn event_out(event: StreamResponse, last: bool) -> Result<pb::StreamResponse, Wrong> {
    use pb::stream_response::Payload;
    let payload = match event {
        StreamResponse::Task(task) => Payload::Task(task_out(task).in_field("task")?),
        StreamResponse::Message(message) => Payload::Msg(message_out(message).in_field("message")?),
        StreamResponse::StatusUpdate(event) => Payload::StatusUpdate(pb::TaskStatusUpdateEvent {
            metadata: metadata_out(event.metadata.as_ref()).in_field("statusUpdate")?,
            task_id: event.task_id,
            context_id: event.context_id,
            status: Some(status_out(event.status).in_field("statusUpdate.status")?),
            r#final: last,
        }),
        StreamResponse::ArtifactUpdate(event) => {
            Payload::ArtifactUpdate(pb::TaskArtifactUpdateEvent {
                metadata: metadata_out(event.metadata.as_ref()).in_field("artifactUpdate")?,
                task_id: event.task_id,
                context_id: event.context_id,
                artifact: Some(artifact_out(event.artifact).in_field("artifactUpdate.artifact")?),
                append: event.append,
                last_chunk: event.last_chunk,
            })
        }
    };
    Ok(pb::StreamResponse {
        payload: Some(payload),
    })
}

/// The event, and whether the server said that it is the last.
pub(super) fn event_in(event: pb::StreamResponse) -> Result<(StreamResponse, bool), Wrong> {
    use pb::stream_response::Payload;
    Ok(match required(event.payload, "payload")? {
        Payload::Task(task) => (StreamResponse::Task(task_in(task)?), false),
        Payload::Msg(message) => (StreamResponse::Message(message_in(message)?), true),
        Payload::StatusUpdate(event) => {
            let read = TaskStatusUpdateEvent {
                metadata: metadata_in(event.metadata.as_ref())?,
                task_id: event.task_id,
                context_id: event.context_id,
                status: status_in(required(event.status, "status")?).in_field("status")?,
            };
            (StreamResponse::StatusUpdate(read), event.r#final)
        }
        Payload::ArtifactUpdate(event) => {
            let artifact = required(event.artifact, "artifact")?;
            let read = TaskArtifactUpdateEvent {
                metadata: metadata_in(event.metadata.as_ref())?,
                task_id: event.task_id,
                context_id: event.context_id,
                artifact: artifact_in(artifact).in_field("artifact")?,
                append: event.append,
                last_chunk: event.last_chunk,
            };
            (StreamResponse::ArtifactUpdate(read), false)
        }
    })
}
