//! The event log: every change of a task, in the order of its versions.
//!
//! Payloads are the bytes of a 1.0 `StreamResponse`, encoded once and spliced into every stream.

use bytes::Bytes;
use nuncio_wire::TaskState;
use std::ops::Range;
use std::sync::Arc;

use crate::StoreError;

/// Changes to one task, made against a version that was read before.
#[derive(Clone, Debug)]
pub struct Append {
    /// The task.
    pub task: Arc<str>,
    /// The version the changes were made against.
    pub version: u64,
    /// The lease epoch the changes were made under.
    pub lease_epoch: u64,
    /// The changes, in order.
    pub changes: Vec<Change>,
    /// What must hold when the call returns.
    pub durability: Durability,
}

impl Append {
    /// How many bytes of JSON the changes bring.
    pub(crate) fn bytes(&self) -> usize {
        self.changes.iter().map(|change| change.json().len()).sum()
    }

    /// Refuses what no engine should ask for, before anything is touched: a change after a final
    /// state, a range outside its event.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let mut version = self.version;
        for (index, change) in self.changes.iter().enumerate() {
            version += u64::from(change.is_event());
            let (event, part) = match change {
                Change::Status { event, status, .. } => (event, status),
                Change::Artifact {
                    event, artifact, ..
                } => (event, artifact),
                Change::Message { .. } => continue,
            };
            if part.start > part.end || part.end > event.len() {
                return Err(StoreError::Damaged(format!(
                    "bytes {part:?} lie outside an event of {} bytes",
                    event.len()
                )));
            }
            if let Change::Status { state, .. } = change
                && state.is_terminal()
                && index + 1 < self.changes.len()
            {
                return Err(StoreError::Stale {
                    version,
                    state: *state,
                });
            }
        }
        Ok(())
    }
}

/// When a change may be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Safe from loss of power: creation, state changes, answers.
    Synced,
    /// Safe from the death of the process; synced with the next state change. For artifact chunks,
    /// so that the first chunk is not held back by a sync.
    Committed,
}

/// One change of a task.
#[derive(Clone, Debug)]
pub enum Change {
    /// A new status. Raises the version.
    Status {
        /// The new state.
        state: TaskState,
        /// JSON of the event (`{"statusUpdate":…}`).
        event: Bytes,
        /// Where in `event` the JSON of the status stands.
        status: Range<usize>,
        /// The status' timestamp, milliseconds since the epoch.
        millis: i64,
    },
    /// An artifact or a chunk of one. Raises the version.
    Artifact {
        /// The artifact.
        artifact_id: Arc<str>,
        /// False starts or replaces the artifact, true adds to it.
        append: bool,
        /// JSON of the event (`{"artifactUpdate":…}`).
        event: Bytes,
        /// Where in `event` the JSON of the artifact stands: the segment is stored once.
        artifact: Range<usize>,
    },
    /// A further message of the caller for the history. Makes no event.
    Message {
        /// JSON of the message.
        message: Bytes,
    },
}

impl Change {
    /// The JSON it brings.
    pub(crate) fn json(&self) -> &Bytes {
        match self {
            Self::Status { event, .. } | Self::Artifact { event, .. } => event,
            Self::Message { message } => message,
        }
    }

    /// Whether the change is an event and raises the version.
    #[must_use]
    pub fn is_event(&self) -> bool {
        !matches!(self, Self::Message { .. })
    }
}

/// An event as read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEvent {
    /// The task's version it made.
    pub version: u64,
    /// JSON of the `StreamResponse`.
    pub payload: Bytes,
    /// The state the task entered, for status events.
    pub state: Option<TaskState>,
}
