//! Tasks and their states (specification 4.1.1 to 4.1.3).

use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize};
use std::fmt;

use crate::artifact::Artifact;
use crate::json::{Metadata, json_object};
use crate::message::Message;
use crate::timestamp::Timestamp;

/// A unit of work with its state, results and the messages that led to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Made by the server.
    pub id: String,
    /// The conversation it belongs to.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub context_id: String,
    /// Where it stands.
    pub status: TaskStatus,
    /// Its results. `None`: not asked for, the member is absent; `Some([])` is written as `[]`
    /// where a reader asked for artifacts (specification 3.1.4).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Vec<Artifact>>,
    /// The user's messages, oldest first. Absent when empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Message>,
    /// User JSON about the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
}

json_object!(required Task {
    id: "id",
    context_id: "contextId" | "context_id",
    status: "status",
    artifacts: "artifacts",
    history: "history",
    metadata: "metadata",
});

impl Task {
    /// Artifacts, none when the member is absent.
    #[must_use]
    pub fn artifacts(&self) -> &[Artifact] {
        self.artifacts.as_deref().unwrap_or_default()
    }

    /// Takes an artifact, or a chunk of one (`append`), as an event of the task brings it (specification
    /// 4.2.2).
    pub fn take_artifact(&mut self, artifact: Artifact, append: bool) {
        let artifacts = self.artifacts.get_or_insert_default();
        let known = artifacts
            .iter_mut()
            .find(|known| known.artifact_id == artifact.artifact_id);
        match known {
            Some(known) if append => known.append(artifact),
            Some(known) => *known = artifact,
            None => artifacts.push(artifact),
        }
    }

    /// Applies `historyLength` (specification 3.2.4): 0 leaves no history, `n` the last `n`
    /// messages, `None` all of it.
    pub fn limit_history(&mut self, length: Option<u32>) {
        if let Some(length) = length {
            let surplus = self.history.len().saturating_sub(length as usize);
            self.history.drain(..surplus);
        }
    }
}

/// Where a task stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskStatus {
    /// The state; required.
    pub state: TaskState,
    /// Progress, a question or a reason; results belong in artifacts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Message>,
    /// When this status was reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<Timestamp>,
}

json_object!(required TaskStatus {
    state: "state",
    message: "message",
    timestamp: "timestamp",
});

/// The states of a task (specification 4.1.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub enum TaskState {
    /// Not said. Never written by nuncio; a client that reads it keeps waiting.
    #[default]
    #[serde(rename = "TASK_STATE_UNSPECIFIED")]
    Unspecified,
    /// Accepted, not started.
    #[serde(rename = "TASK_STATE_SUBMITTED")]
    Submitted,
    /// Being worked on.
    #[serde(rename = "TASK_STATE_WORKING")]
    Working,
    /// Done. Terminal.
    #[serde(rename = "TASK_STATE_COMPLETED")]
    Completed,
    /// Ended by a fault. Terminal.
    #[serde(rename = "TASK_STATE_FAILED")]
    Failed,
    /// Ended by the caller. Terminal.
    #[serde(rename = "TASK_STATE_CANCELED")]
    Canceled,
    /// Waits for the caller's answer. Interrupted.
    #[serde(rename = "TASK_STATE_INPUT_REQUIRED")]
    InputRequired,
    /// The agent would not do it. Terminal.
    #[serde(rename = "TASK_STATE_REJECTED")]
    Rejected,
    /// Waits for an authorisation. Interrupted.
    #[serde(rename = "TASK_STATE_AUTH_REQUIRED")]
    AuthRequired,
}

impl TaskState {
    /// Every state, in the order of the proto's numbers.
    pub const ALL: [Self; 9] = [
        Self::Unspecified,
        Self::Submitted,
        Self::Working,
        Self::Completed,
        Self::Failed,
        Self::Canceled,
        Self::InputRequired,
        Self::Rejected,
        Self::AuthRequired,
    ];

    /// COMPLETED, FAILED, CANCELED, REJECTED: never left again.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        matches!(
            self,
            Self::Completed | Self::Failed | Self::Canceled | Self::Rejected
        )
    }

    /// INPUT_REQUIRED, AUTH_REQUIRED: waits for somebody outside.
    #[must_use]
    pub fn is_interrupted(self) -> bool {
        matches!(self, Self::InputRequired | Self::AuthRequired)
    }

    /// The enum's full name, as it stands in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unspecified => "TASK_STATE_UNSPECIFIED",
            Self::Submitted => "TASK_STATE_SUBMITTED",
            Self::Working => "TASK_STATE_WORKING",
            Self::Completed => "TASK_STATE_COMPLETED",
            Self::Failed => "TASK_STATE_FAILED",
            Self::Canceled => "TASK_STATE_CANCELED",
            Self::InputRequired => "TASK_STATE_INPUT_REQUIRED",
            Self::Rejected => "TASK_STATE_REJECTED",
            Self::AuthRequired => "TASK_STATE_AUTH_REQUIRED",
        }
    }

    /// The proto's number of the state, 0 to 8.
    #[must_use]
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The state with this number of the proto.
    #[must_use]
    pub fn from_number(number: u64) -> Option<Self> {
        Self::ALL.get(usize::try_from(number).ok()?).copied()
    }

    /// The state with this full name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == name)
    }
}

impl fmt::Display for TaskState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for TaskState {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StateVisitor;
        impl Visitor<'_> for StateVisitor {
            type Value = TaskState;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("one of ")?;
                for (index, state) in TaskState::ALL.iter().skip(1).enumerate() {
                    write!(f, "{}{state}", if index == 0 { "" } else { ", " })?;
                }
                Ok(())
            }
            fn visit_str<E: de::Error>(self, name: &str) -> Result<TaskState, E> {
                TaskState::from_name(name)
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Str(name), &self))
            }
            // An enum may also arrive as its number (ProtoJSON).
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<TaskState, E> {
                TaskState::from_number(number)
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Unsigned(number), &self))
            }
        }
        deserializer.deserialize_any(StateVisitor)
    }
}
