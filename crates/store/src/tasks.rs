//! Tasks as stored: rows of 1.0 JSON bytes with the columns that queries need.
//!
//! A task is read as its row plus its artifact segments, never by replaying events.

use bytes::Bytes;
use nuncio_wire::dialects::Dialect;
use nuncio_wire::{Artifact, Message, Task, TaskState, TaskStatus};
use sha2::{Digest, Sha256};
use std::sync::Arc;

use crate::{NewPushConfig, StoreError};

/// A task to be made. All JSON is A2A 1.0.
#[derive(Clone, Debug)]
pub struct NewTask {
    /// Made by the server, unique.
    pub id: Arc<str>,
    /// The agent that does it.
    pub agent: Arc<str>,
    /// Whose it is.
    pub owner: Arc<str>,
    /// The conversation it belongs to.
    pub context_id: Arc<str>,
    /// The dialect it was made in; reads and pushes without one of their own use it.
    pub dialect: Dialect,
    /// The id its caller chose (older dialects), if any.
    pub alias: Option<String>,
    /// Whether that id is refused while a task of the same agent and owner has it, however it
    /// ended: [`StoreError::AliasTaken`]. A repeat by its key is recognised first.
    pub alias_is_unique: bool,
    /// SUBMITTED or WORKING.
    pub state: TaskState,
    /// JSON of the [`TaskStatus`].
    pub status: Bytes,
    /// The status' timestamp, milliseconds since the epoch.
    pub status_millis: i64,
    /// JSON of the first [`Message`].
    pub message: Bytes,
    /// JSON object of the task's metadata, if any.
    pub metadata: Option<Bytes>,
    /// What makes a repeat of this send recognisable.
    pub repeat: Repeat,
    /// Where its events are pushed to, from its creation on.
    pub push_config: Option<NewPushConfig>,
}

impl NewTask {
    /// What two sends without a key must have in common: agent, owner, message id and payload. Half
    /// a SHA-256 is enough, as the payload's own is part of it.
    pub(crate) fn open_send(&self) -> [u8; 16] {
        let hash = self.named(&self.repeat.message_id);
        let hash = hash.chain_update(self.repeat.payload_hash).finalize();
        std::array::from_fn(|index| hash[index])
    }

    /// What two sends with this key must have in common: agent, owner and key.
    pub(crate) fn key_hash(&self, key: &str) -> [u8; 32] {
        self.named(key).finalize().into()
    }

    /// A hash of agent, owner and name, none of which runs into the next.
    fn named(&self, name: &str) -> Sha256 {
        let mut hash = Sha256::new();
        for text in [&*self.agent, &*self.owner, name] {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        }
        hash
    }
}

/// When two sends are the same send.
///
/// With a key: same agent, owner and key within its life name the same task whatever its state; a
/// key with another payload is refused. Without one: the same message id with an identical payload
/// names the first task while that is SUBMITTED or WORKING. Different owners never meet.
#[derive(Clone, Debug)]
pub struct Repeat {
    /// The caller's idempotency key.
    pub key: Option<String>,
    /// When the key is forgotten, milliseconds since the epoch.
    pub key_expires_millis: i64,
    /// The message's id.
    pub message_id: String,
    /// SHA-256 of the parameters as received.
    pub payload_hash: [u8; 32],
}

/// What [`create_task`](crate::Store::create_task) did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Created {
    /// The task was made, at version 1.
    New,
    /// It is a repeat; this is the first task's id.
    Repeated(String),
}

/// Which tasks a reader may see. `None` leaves a dimension open, as for the operator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Visibility {
    /// Only tasks of this agent.
    pub agent: Option<Arc<str>>,
    /// Only tasks of this owner.
    pub owner: Option<Arc<str>>,
}

impl Visibility {
    /// Whether a task of this agent and owner may be seen.
    #[must_use]
    pub fn covers(&self, agent: &str, owner: &str) -> bool {
        self.agent.as_deref().is_none_or(|visible| visible == agent)
            && self.owner.as_deref().is_none_or(|visible| visible == owner)
    }
}

/// How much of a task is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Include {
    /// Most messages of history, newest kept; `None`: all.
    pub history: Option<u32>,
    /// Whether artifacts are read.
    pub artifacts: bool,
}

impl Include {
    /// Everything.
    pub const ALL: Self = Self {
        history: None,
        artifacts: true,
    };
    /// The row only.
    pub const NOTHING: Self = Self {
        history: Some(0),
        artifacts: false,
    };
}

/// A task as read.
#[derive(Clone, Debug)]
pub struct TaskRecord {
    /// The task's id.
    pub id: Arc<str>,
    /// The agent that does it.
    pub agent: Arc<str>,
    /// Whose it is.
    pub owner: Arc<str>,
    /// The conversation it belongs to.
    pub context_id: Arc<str>,
    /// The dialect it was made in.
    pub dialect: Dialect,
    /// The id its caller chose, if any.
    pub alias: Option<String>,
    /// Its state.
    pub state: TaskState,
    /// Raised by one per event; 1 at creation.
    pub version: u64,
    /// 0 at creation, raised when another process takes the task over.
    pub lease_epoch: u64,
    /// JSON of the [`TaskStatus`].
    pub status: Bytes,
    /// The status' timestamp, milliseconds since the epoch.
    pub status_millis: i64,
    /// JSON object of the task's metadata, if any.
    pub metadata: Option<Bytes>,
    /// JSON of its messages, oldest first, as far as they were asked for.
    pub history: Vec<Bytes>,
    /// Its artifacts' segments in order; `None` if they were not asked for.
    pub artifacts: Option<Vec<Segment>>,
}

/// A piece of an artifact, in the order it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// False starts the artifact, true adds to the one before with the same id.
    pub append: bool,
    /// JSON of the [`Artifact`] or chunk.
    pub artifact: Bytes,
}

impl TaskRecord {
    /// The task as the protocol has it. Errors only if what is stored is damaged.
    pub fn to_task(&self) -> Result<Task, StoreError> {
        Ok(Task {
            id: self.id.to_string(),
            context_id: self.context_id.to_string(),
            status: read::<TaskStatus>(&self.status)?,
            artifacts: self.artifacts.as_deref().map(fold_segments).transpose()?,
            history: self
                .history
                .iter()
                .map(read::<Message>)
                .collect::<Result<_, _>>()?,
            metadata: self.metadata.as_ref().map(read).transpose()?,
        })
    }
}

/// Joins chunks into whole artifacts, in the order the artifacts were started.
fn fold_segments(segments: &[Segment]) -> Result<Vec<Artifact>, StoreError> {
    let mut artifacts: Vec<Artifact> = Vec::new();
    for segment in segments {
        let chunk: Artifact = read(&segment.artifact)?;
        let known = artifacts
            .iter_mut()
            .find(|known| known.artifact_id == chunk.artifact_id);
        match known {
            Some(artifact) if segment.append => artifact.append(chunk),
            Some(artifact) => *artifact = chunk,
            None => artifacts.push(chunk),
        }
    }
    Ok(artifacts)
}

fn read<'a, T: serde::Deserialize<'a>>(json: &'a Bytes) -> Result<T, StoreError> {
    serde_json::from_slice(json).map_err(|error| StoreError::Damaged(error.to_string()))
}

/// Which tasks to list (A2A specification 3.1.4). All filters hold at once.
#[derive(Clone, Debug)]
pub struct ListQuery {
    /// Whose tasks.
    pub visibility: Visibility,
    /// Only this conversation.
    pub context_id: Option<String>,
    /// Only this state.
    pub state: Option<TaskState>,
    /// Only tasks whose status is from this time or later, milliseconds since the epoch.
    pub status_from_millis: Option<i64>,
    /// Tasks per page.
    pub page_size: u32,
    /// Where the page before ended.
    pub after: Option<Cursor>,
    /// How much of each task is read.
    pub include: Include,
}

/// The last task of a page.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor {
    /// Its status' timestamp, milliseconds since the epoch.
    pub status_millis: i64,
    /// Its id.
    pub id: String,
}

/// One page of a list.
#[derive(Clone, Debug)]
pub struct Page {
    /// The tasks, newest status first.
    pub tasks: Vec<TaskRecord>,
    /// Matches before paging.
    pub total: u64,
    /// Where the next page starts; `None` on the last one.
    pub next: Option<Cursor>,
}
