//! Messages, artifacts, statuses and tasks in any generation's spelling.

use serde::de::{self, Deserialize, Deserializer, Visitor};
use std::fmt;

use super::{AnyPart, all};
use crate::artifact::Artifact;
use crate::json::{Metadata, Value, json_object};
use crate::message::{Message, Role};
use crate::task::{Task, TaskState, TaskStatus};
use crate::timestamp::Timestamp;

/// `user`, `ROLE_USER`, 1.
#[derive(Clone, Copy, Default)]
pub(in crate::dialects) struct AnyRole(pub(in crate::dialects) Role);

impl<'de> Deserialize<'de> for AnyRole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RoleVisitor;
        impl Visitor<'_> for RoleVisitor {
            type Value = AnyRole;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("user or agent")
            }
            fn visit_str<E: de::Error>(self, name: &str) -> Result<AnyRole, E> {
                match name {
                    "user" | "ROLE_USER" => Ok(AnyRole(Role::User)),
                    "agent" | "ROLE_AGENT" => Ok(AnyRole(Role::Agent)),
                    "" | "ROLE_UNSPECIFIED" => Ok(AnyRole(Role::Unspecified)),
                    _ => Err(E::invalid_value(de::Unexpected::Str(name), &self)),
                }
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<AnyRole, E> {
                match number {
                    0 => Ok(AnyRole(Role::Unspecified)),
                    1 => Ok(AnyRole(Role::User)),
                    2 => Ok(AnyRole(Role::Agent)),
                    _ => Err(E::invalid_value(de::Unexpected::Unsigned(number), &self)),
                }
            }
        }
        deserializer.deserialize_any(RoleVisitor)
    }
}

impl Value<'_> for AnyRole {}

/// The state of this name in any generation.
pub(in crate::dialects) fn any_state(name: &str) -> Option<TaskState> {
    Some(match name {
        "submitted" => TaskState::Submitted,
        // The fleet plugin has a state of its own between a wait for somebody and going on.
        "working" | "authenticated" => TaskState::Working,
        "completed" => TaskState::Completed,
        "failed" => TaskState::Failed,
        "canceled" | "cancelled" | "TASK_STATE_CANCELLED" => TaskState::Canceled,
        "input-required" | "input_required" | "inputRequired" => TaskState::InputRequired,
        "rejected" => TaskState::Rejected,
        "auth-required" | "auth_required" | "authRequired" => TaskState::AuthRequired,
        "unknown" | "" => TaskState::Unspecified,
        _ => return TaskState::from_name(name),
    })
}

/// `input-required`, `TASK_STATE_INPUT_REQUIRED`, 6.
#[derive(Clone, Copy, Default)]
struct AnyState(TaskState);

impl<'de> Deserialize<'de> for AnyState {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StateVisitor;
        impl Visitor<'_> for StateVisitor {
            type Value = AnyState;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a task state")
            }
            fn visit_str<E: de::Error>(self, name: &str) -> Result<AnyState, E> {
                let state = any_state(name).map(AnyState);
                state.ok_or_else(|| E::invalid_value(de::Unexpected::Str(name), &self))
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<AnyState, E> {
                let state = TaskState::from_number(number).map(AnyState);
                state.ok_or_else(|| E::invalid_value(de::Unexpected::Unsigned(number), &self))
            }
        }
        deserializer.deserialize_any(StateVisitor)
    }
}

impl Value<'_> for AnyState {}

/// A message; `messageId` may be missing.
pub(in crate::dialects) struct AnyMessage {
    pub(in crate::dialects) message_id: String,
    context_id: Option<String>,
    task_id: Option<String>,
    role: AnyRole,
    parts: Vec<AnyPart>,
    metadata: Option<Metadata>,
    extensions: Vec<String>,
    reference_task_ids: Vec<String>,
}

json_object!(required AnyMessage {
    message_id: "messageId" | "message_id",
    context_id: "contextId" | "context_id",
    task_id: "taskId" | "task_id",
    role: "role",
    parts: "parts" | "content",
    metadata: "metadata",
    extensions: "extensions",
    reference_task_ids: "referenceTaskIds" | "reference_task_ids",
});

impl From<AnyMessage> for Message {
    fn from(any: AnyMessage) -> Self {
        Self {
            message_id: any.message_id,
            context_id: any.context_id,
            task_id: any.task_id,
            role: any.role.0,
            parts: all(any.parts),
            metadata: any.metadata,
            extensions: any.extensions,
            reference_task_ids: any.reference_task_ids,
        }
    }
}

/// An artifact; other generations have an `index`, which says nothing.
pub(in crate::dialects) struct AnyArtifact {
    artifact_id: String,
    name: Option<String>,
    description: Option<String>,
    parts: Vec<AnyPart>,
    metadata: Option<Metadata>,
    extensions: Vec<String>,
}

json_object!(required AnyArtifact {
    artifact_id: "artifactId" | "artifact_id",
    name: "name",
    description: "description",
    parts: "parts",
    metadata: "metadata",
    extensions: "extensions",
});

impl From<AnyArtifact> for Artifact {
    fn from(any: AnyArtifact) -> Self {
        Self {
            artifact_id: any.artifact_id,
            name: any.name,
            description: any.description,
            parts: all(any.parts),
            metadata: any.metadata,
            extensions: any.extensions,
        }
    }
}

/// A status: an object, or only the name of its state.
#[derive(Default)]
pub(in crate::dialects) struct AnyStatus {
    state: AnyState,
    message: Option<AnyMessage>,
    timestamp: Option<Timestamp>,
}

/// The object form of [`AnyStatus`].
struct StatusObject {
    state: AnyState,
    message: Option<AnyMessage>,
    timestamp: Option<Timestamp>,
}

json_object!(StatusObject {
    state: "state",
    message: "message" | "update",
    timestamp: "timestamp",
});

impl<'de> Deserialize<'de> for AnyStatus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StatusVisitor;
        impl<'de> Visitor<'de> for StatusVisitor {
            type Value = AnyStatus;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a status object or the name of a state")
            }
            fn visit_str<E: de::Error>(self, name: &str) -> Result<AnyStatus, E> {
                let state = AnyState::deserialize(de::value::StrDeserializer::new(name))?;
                Ok(AnyStatus {
                    state,
                    ..AnyStatus::default()
                })
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<AnyStatus, A::Error> {
                let reader = de::value::MapAccessDeserializer::new(map);
                let StatusObject {
                    state,
                    message,
                    timestamp,
                } = StatusObject::deserialize(reader)?;
                Ok(AnyStatus {
                    state,
                    message,
                    timestamp,
                })
            }
        }
        deserializer.deserialize_any(StatusVisitor)
    }
}

impl Value<'_> for AnyStatus {}

impl From<AnyStatus> for TaskStatus {
    fn from(any: AnyStatus) -> Self {
        Self {
            state: any.state.0,
            message: any.message.map(Message::from),
            timestamp: any.timestamp,
        }
    }
}

/// A task.
pub(in crate::dialects) struct AnyTask {
    id: String,
    context_id: String,
    status: AnyStatus,
    artifacts: Option<Vec<AnyArtifact>>,
    history: Vec<AnyMessage>,
    metadata: Option<Metadata>,
}

json_object!(required AnyTask {
    id: "id",
    context_id: "contextId" | "context_id",
    status: "status",
    artifacts: "artifacts",
    history: "history",
    metadata: "metadata",
});

impl From<AnyTask> for Task {
    fn from(any: AnyTask) -> Self {
        Self {
            id: any.id,
            context_id: any.context_id,
            status: any.status.into(),
            artifacts: any.artifacts.map(all),
            history: all(any.history),
            metadata: any.metadata,
        }
    }
}
