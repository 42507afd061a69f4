//! What a stream or a push notification carries: one change of a task (specification 4.2).

use serde::de::{self, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use std::fmt;

use crate::artifact::Artifact;
use crate::json::{Metadata, json_object};
use crate::message::Message;
use crate::task::{Task, TaskStatus};

/// One event of a stream: exactly one member (specification 4.2.3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(clippy::large_enum_variant)] // short-lived: built, encoded and dropped
pub enum StreamResponse {
    /// The task as it stands; the first event of a stream.
    Task(Task),
    /// A direct answer without a task; the only event of its stream.
    Message(Message),
    /// A new status.
    StatusUpdate(TaskStatusUpdateEvent),
    /// A new artifact or a chunk of one.
    ArtifactUpdate(TaskArtifactUpdateEvent),
}

/// A task reached a new status (specification 4.2.1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskStatusUpdateEvent {
    /// The task.
    pub task_id: String,
    /// The task's conversation.
    pub context_id: String,
    /// The new status.
    pub status: TaskStatus,
    /// User JSON about the event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
}

json_object!(required TaskStatusUpdateEvent {
    task_id: "taskId" | "task_id",
    context_id: "contextId" | "context_id",
    status: "status",
    metadata: "metadata",
});

/// A task produced an artifact or a chunk of one (specification 4.2.2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskArtifactUpdateEvent {
    /// The task.
    pub task_id: String,
    /// The task's conversation.
    pub context_id: String,
    /// The artifact or its chunk.
    pub artifact: Artifact,
    /// False starts or replaces the artifact with this id, true adds the parts to it.
    #[serde(skip_serializing_if = "crate::json::is_false")]
    pub append: bool,
    /// True on the last chunk of the artifact.
    #[serde(skip_serializing_if = "crate::json::is_false")]
    pub last_chunk: bool,
    /// User JSON about the event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
}

json_object!(required TaskArtifactUpdateEvent {
    task_id: "taskId" | "task_id",
    context_id: "contextId" | "context_id",
    artifact: "artifact",
    append: "append",
    last_chunk: "lastChunk" | "last_chunk",
    metadata: "metadata",
});

#[derive(Deserialize)]
#[serde(field_identifier)]
enum Member {
    #[serde(rename = "task")]
    Task,
    #[serde(rename = "message")]
    Message,
    #[serde(rename = "statusUpdate", alias = "status_update")]
    StatusUpdate,
    #[serde(rename = "artifactUpdate", alias = "artifact_update")]
    ArtifactUpdate,
    #[serde(other)]
    Unknown,
}

const ONE_OF: &str =
    "an event must have exactly one of task, message, statusUpdate, artifactUpdate";

impl<'de> Deserialize<'de> for StreamResponse {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EventVisitor;
        impl<'de> Visitor<'de> for EventVisitor {
            type Value = StreamResponse;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an event object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<StreamResponse, A::Error> {
                let mut event = None;
                while let Some(member) = map.next_key::<Member>()? {
                    let next = match member {
                        Member::Task => map.next_value::<Option<_>>()?.map(StreamResponse::Task),
                        Member::Message => {
                            map.next_value::<Option<_>>()?.map(StreamResponse::Message)
                        }
                        Member::StatusUpdate => map
                            .next_value::<Option<_>>()?
                            .map(StreamResponse::StatusUpdate),
                        Member::ArtifactUpdate => map
                            .next_value::<Option<_>>()?
                            .map(StreamResponse::ArtifactUpdate),
                        Member::Unknown => {
                            map.next_value::<IgnoredAny>()?;
                            None
                        }
                    };
                    if event.is_some() && next.is_some() {
                        return Err(de::Error::custom(ONE_OF));
                    }
                    event = event.or(next);
                }
                event.ok_or_else(|| de::Error::custom(ONE_OF))
            }
        }
        deserializer.deserialize_map(EventVisitor)
    }
}
