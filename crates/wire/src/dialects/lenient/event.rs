//! Events, sent answers and push bodies: found out by `kind`, by wrapper, or by their members.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::object::{AnyArtifact, AnyMessage, AnyStatus, AnyTask};
use crate::error::{A2aError, ErrorKind};
use crate::event::{StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent};
use crate::json::{Metadata, json_object};
use crate::task::Task;

/// What an object's members say it is.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Shape<'a> {
    #[serde(borrow, default)]
    kind: Option<&'a RawValue>,
    // Wrappers.
    #[serde(borrow, default)]
    task: Option<&'a RawValue>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default, alias = "status_update")]
    status_update: Option<&'a RawValue>,
    #[serde(borrow, default, alias = "artifact_update")]
    artifact_update: Option<&'a RawValue>,
    // A JSON-RPC answer around it.
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    // Members that tell bare objects apart.
    #[serde(default)]
    id: Option<IgnoredAny>,
    #[serde(default, rename = "final")]
    last: Option<IgnoredAny>,
    #[serde(default)]
    status: Option<IgnoredAny>,
    #[serde(default)]
    artifact: Option<IgnoredAny>,
    #[serde(default)]
    role: Option<IgnoredAny>,
    #[serde(default, alias = "content")]
    parts: Option<IgnoredAny>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Task,
    Message,
    StatusUpdate,
    ArtifactUpdate,
}

impl<'a> Shape<'a> {
    /// Which object it is, and its text if that stands inside a wrapper.
    fn kind(&self) -> Option<(Kind, Option<&'a str>)> {
        let named = match self.kind.map(RawValue::get) {
            Some("\"task\"") => Some(Kind::Task),
            Some("\"message\"") => Some(Kind::Message),
            Some("\"status-update\"") => Some(Kind::StatusUpdate),
            Some("\"artifact-update\"") => Some(Kind::ArtifactUpdate),
            _ => None,
        };
        if let Some(kind) = named {
            return Some((kind, None));
        }
        let wrapped = [
            (Kind::Task, self.task),
            (Kind::Message, self.message),
            (Kind::StatusUpdate, self.status_update),
            (Kind::ArtifactUpdate, self.artifact_update),
        ];
        let mut set = wrapped
            .into_iter()
            .filter_map(|(kind, raw)| Some((kind, raw?.get())));
        if let Some((kind, text)) = set.next() {
            return set.next().is_none().then_some((kind, Some(text)));
        }
        if self.artifact.is_some() {
            return Some((Kind::ArtifactUpdate, None));
        }
        if self.status.is_some() {
            let is_update = self.last.is_some() || self.id.is_none();
            return Some((
                if is_update {
                    Kind::StatusUpdate
                } else {
                    Kind::Task
                },
                None,
            ));
        }
        (self.role.is_some() || self.parts.is_some()).then_some((Kind::Message, None))
    }
}

struct AnyStatusUpdate {
    task_id: String,
    context_id: String,
    status: AnyStatus,
    last: bool,
    metadata: Option<Metadata>,
}

json_object!(AnyStatusUpdate {
    task_id: "taskId" | "task_id",
    context_id: "contextId" | "context_id",
    status: "status",
    last: "final",
    metadata: "metadata",
});

struct AnyArtifactUpdate {
    task_id: String,
    context_id: String,
    artifact: AnyArtifact,
    append: bool,
    last_chunk: bool,
    metadata: Option<Metadata>,
}

json_object!(AnyArtifactUpdate {
    task_id: "taskId" | "task_id",
    context_id: "contextId" | "context_id",
    artifact: "artifact",
    append: "append",
    last_chunk: "lastChunk" | "last_chunk",
    metadata: "metadata",
});

/// Reads an event, or the bare or wrapped answer to a sent message; true if it says itself that
/// nothing follows (`final`, or a message).
pub(in crate::dialects) fn read_event(text: &str) -> Result<(StreamResponse, bool), A2aError> {
    if !text.trim_ascii_start().starts_with('{') {
        return Err(not_an_event());
    }
    let shape: Shape<'_> = read(text)?;
    match (shape.kind(), shape.result) {
        (Some((kind, inner)), _) => read_kind(kind, inner.unwrap_or(text)),
        (None, Some(result)) => {
            let shape: Shape<'_> = read(result.get())?;
            let (kind, inner) = shape.kind().ok_or_else(not_an_event)?;
            read_kind(kind, inner.unwrap_or(result.get()))
        }
        (None, None) => Err(not_an_event()),
    }
}

/// Reads a task, bare or wrapped.
pub(in crate::dialects) fn read_task(text: &str) -> Result<Task, A2aError> {
    match read_event(text)?.0 {
        StreamResponse::Task(task) => Ok(task),
        _ => Err(A2aError::new(
            ErrorKind::InvalidAgentResponse,
            "The agent's answer is no task",
        )),
    }
}

fn not_an_event() -> A2aError {
    let message = "The agent's answer is neither a task nor a message nor an update of a task";
    A2aError::new(ErrorKind::InvalidAgentResponse, message)
}

/// Reads a peer's JSON.
pub(in crate::dialects) fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, A2aError> {
    serde_json::from_str(text).map_err(|error| {
        let message = format!("The agent's answer cannot be read: {error}");
        A2aError::new(ErrorKind::InvalidAgentResponse, message)
    })
}

fn read_kind(kind: Kind, text: &str) -> Result<(StreamResponse, bool), A2aError> {
    Ok(match kind {
        Kind::Task => (StreamResponse::Task(read::<AnyTask>(text)?.into()), false),
        Kind::Message => (
            StreamResponse::Message(read::<AnyMessage>(text)?.into()),
            true,
        ),
        Kind::StatusUpdate => {
            let any: AnyStatusUpdate = read(text)?;
            let event = TaskStatusUpdateEvent {
                task_id: any.task_id,
                context_id: any.context_id,
                status: any.status.into(),
                metadata: any.metadata,
            };
            (StreamResponse::StatusUpdate(event), any.last)
        }
        Kind::ArtifactUpdate => {
            let any: AnyArtifactUpdate = read(text)?;
            let event = TaskArtifactUpdateEvent {
                task_id: any.task_id,
                context_id: any.context_id,
                artifact: any.artifact.into(),
                append: any.append,
                last_chunk: any.last_chunk,
                metadata: any.metadata,
            };
            (StreamResponse::ArtifactUpdate(event), false)
        }
    })
}
