//! Tasks held in memory: what they are made of, how they change and are read.
//!
//! Used by the memory store for all its tasks and by the SQLite store for recent ones. Owns no
//! rule about who may change a task; that is the stores'. Start with [`Progress`].

mod index;
mod log;
mod packed;

use bytes::Bytes;
use nuncio_wire::TaskState;
use nuncio_wire::dialects::Dialect;
use std::sync::Arc;

use crate::{Change, Include, NewTask, Segment, StoredEvent, TaskRecord};
pub(crate) use index::{Index, Shard};
use log::Log;
use packed::Packed;

/// Version of a task's first event: creation is version 1 and no event.
const FIRST_EVENT: u64 = 2;

/// What never changes in a task.
pub(crate) struct Head {
    pub(crate) id: Arc<str>,
    pub(crate) agent: Arc<str>,
    pub(crate) owner: Arc<str>,
    pub(crate) context_id: Arc<str>,
    pub(crate) dialect: Dialect,
    #[allow(clippy::box_collection)] // the many tasks without one keep place for a pointer only
    alias: Option<Box<String>>,
}

impl Head {
    pub(crate) fn of(new: &NewTask) -> Self {
        Self {
            id: Arc::clone(&new.id),
            agent: Arc::clone(&new.agent),
            owner: Arc::clone(&new.owner),
            context_id: Arc::clone(&new.context_id),
            dialect: new.dialect,
            alias: new.alias.clone().map(Box::new),
        }
    }

    pub(crate) fn alias(&self) -> Option<&str> {
        self.alias.as_deref().map(String::as_str)
    }
}

/// What changes in a task.
pub(crate) struct Progress {
    pub(crate) state: TaskState,
    pub(crate) version: u64,
    pub(crate) lease_epoch: u64,
    pub(crate) status_millis: i64,
    body: Body,
}

/// The JSON of a task.
enum Body {
    /// As it came, by reference count.
    Open(Box<Open>),
    /// Of a finished task: in one piece, nothing kept alive that does not belong to it.
    Packed(Packed),
}

struct Open {
    status: Bytes,
    metadata: Option<Bytes>,
    history: Vec<Bytes>,
    log: Log,
}

impl Progress {
    pub(crate) fn of(new: NewTask) -> Self {
        Self {
            state: new.state,
            version: 1,
            lease_epoch: 0,
            status_millis: new.status_millis,
            body: Body::Open(Box::new(Open {
                status: new.status,
                metadata: new.metadata,
                history: vec![new.message],
                log: Log::default(),
            })),
        }
    }

    /// Takes changes that the store has found to be allowed.
    pub(crate) fn take(&mut self, changes: Vec<Change>) {
        let Body::Open(open) = &mut self.body else {
            return; // finished: no store allows a change then
        };
        open.log
            .make_place(changes.iter().filter(|change| change.is_event()).count());
        for change in changes {
            self.version += u64::from(change.is_event());
            match change {
                Change::Status {
                    state,
                    event,
                    status,
                    millis,
                } => {
                    self.state = state;
                    self.status_millis = millis;
                    open.status = event.slice(status);
                    open.log.push_status(state, event);
                }
                Change::Artifact {
                    artifact_id,
                    append,
                    event,
                    artifact,
                } => {
                    open.log.push_artifact(artifact_id, append, event, artifact);
                }
                Change::Message { message } => open.history.push(message),
            }
        }
        if self.state.is_terminal()
            && let Some(packed) = Packed::of(open)
        {
            self.body = Body::Packed(packed);
        }
    }

    pub(crate) fn read(&self, head: &Head, include: Include) -> TaskRecord {
        let (status, metadata) = match &self.body {
            Body::Open(open) => (open.status.clone(), open.metadata.clone()),
            Body::Packed(packed) => (packed.status(), packed.metadata()),
        };
        TaskRecord {
            id: Arc::clone(&head.id),
            agent: Arc::clone(&head.agent),
            owner: Arc::clone(&head.owner),
            context_id: Arc::clone(&head.context_id),
            dialect: head.dialect,
            alias: head.alias().map(str::to_owned),
            state: self.state,
            version: self.version,
            lease_epoch: self.lease_epoch,
            status,
            status_millis: self.status_millis,
            metadata,
            history: self.history(include.history),
            artifacts: include.artifacts.then(|| self.segments()),
        }
    }

    fn history(&self, most: Option<u32>) -> Vec<Bytes> {
        let messages = match &self.body {
            Body::Open(open) => &open.history[..],
            Body::Packed(packed) => return packed.history(most),
        };
        messages[surplus(messages.len(), most)..].to_vec()
    }

    fn segments(&self) -> Vec<Segment> {
        match &self.body {
            Body::Open(open) => open.log.segments().collect(),
            Body::Packed(packed) => packed.segments(),
        }
    }

    /// Events above `after`, oldest first.
    pub(crate) fn events(&self, after: u64, limit: usize) -> Vec<StoredEvent> {
        let first = after.saturating_add(1).saturating_sub(FIRST_EVENT);
        let first = usize::try_from(first).unwrap_or(usize::MAX);
        match &self.body {
            Body::Open(open) => open.log.events(first, limit),
            Body::Packed(packed) => packed.events(first, limit),
        }
    }
}

/// How many of the oldest messages to leave out.
fn surplus(messages: usize, most: Option<u32>) -> usize {
    most.map_or(0, |most| messages.saturating_sub(most as usize))
}
