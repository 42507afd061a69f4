//! What is known of a task in motion: the task as it stands and the tail of its events.
//!
//! Takes committed changes only. Who waits for them is [`super::live`]'s to know.

use bytes::Bytes;
use nuncio_store::Change;
use nuncio_wire::{Artifact, Message, Task, TaskStatus};
use std::collections::VecDeque;

use super::encode;
use super::live::{LiveEvent, LiveTask, TurnControl, Verdict};

/// Events kept in memory for readers that keep up; slower ones read from the store.
const TAIL_EVENTS: usize = 256;
/// Bytes of events kept in memory, 1 MiB; one bigger event alone may pass.
const TAIL_BYTES: usize = 1024 * 1024;

/// A task as it stands, with what came last.
pub(super) struct View {
    pub(super) task: Task,
    pub(super) version: u64,
    tail: VecDeque<LiveEvent>,
    tail_bytes: usize,
    /// Somebody was told the task's id: from then on it cannot be withdrawn.
    pub(super) announced: bool,
    pub(super) verdict: Option<Verdict>,
    pub(super) turn: Option<TurnControl>,
}

impl View {
    /// A task at this version, which nobody was told of.
    pub(super) fn of(task: Task, version: u64) -> Self {
        Self {
            task,
            version,
            tail: VecDeque::new(),
            tail_bytes: 0,
            announced: false,
            verdict: None,
            turn: None,
        }
    }

    /// Events after `cursor` from the tail. `None`: some of them are no longer here.
    pub(super) fn tail_after(&self, cursor: u64) -> Option<Vec<LiveEvent>> {
        if cursor >= self.version {
            return Some(Vec::new());
        }
        let first = self.tail.front()?.version;
        if first > cursor + 1 {
            return None;
        }
        let skip = usize::try_from(cursor + 1 - first).ok()?;
        Some(self.tail.iter().skip(skip).cloned().collect())
    }

    /// Takes committed changes; `version` is the one after them.
    pub(super) fn take(&mut self, changes: Vec<Applied>, version: u64) {
        let events = changes
            .iter()
            .filter(|c| !matches!(c, Applied::Message(_)))
            .count() as u64;
        let mut next = version - events;
        for change in changes {
            match change {
                Applied::Message(message) => self.task.history.push(message),
                Applied::Status { status, event } => {
                    next += 1;
                    let state = Some(status.state);
                    self.task.status = status;
                    self.remember(LiveEvent {
                        version: next,
                        payload: event,
                        state,
                    });
                }
                Applied::Artifact {
                    artifact,
                    append,
                    event,
                } => {
                    next += 1;
                    self.task.take_artifact(artifact, append);
                    self.remember(LiveEvent {
                        version: next,
                        payload: event,
                        state: None,
                    });
                }
            }
        }
        self.version = version;
        let state = self.task.status.state;
        let settled = state.is_terminal() || state.is_interrupted();
        // The turn is over with the state that ends it: whoever sees that state may answer at once.
        if settled
            && self
                .turn
                .as_ref()
                .is_some_and(|turn| !turn.cancel_requested)
        {
            self.turn = None;
        }
    }

    fn remember(&mut self, event: LiveEvent) {
        self.tail_bytes += event.payload.len();
        self.tail.push_back(event);
        while self.tail.len() > 1 && (self.tail.len() > TAIL_EVENTS || self.tail_bytes > TAIL_BYTES)
        {
            let dropped = self.tail.pop_front();
            self.tail_bytes -= dropped.map_or(0, |event| event.payload.len());
        }
    }
}

/// A committed change with what the view needs of it.
pub(super) enum Applied {
    Status {
        status: TaskStatus,
        event: Bytes,
    },
    Artifact {
        artifact: Artifact,
        append: bool,
        event: Bytes,
    },
    Message(Message),
}

impl Applied {
    /// The change as the store takes it, and as the view does.
    pub(super) fn status(
        task: &LiveTask,
        status: TaskStatus,
        metadata: Option<&nuncio_wire::Metadata>,
    ) -> (Change, Self) {
        let (event, range) = encode::status_update((&task.id, &task.context_id), &status, metadata);
        let millis = status
            .timestamp
            .map_or(0, nuncio_wire::Timestamp::as_millis);
        let change = Change::Status {
            state: status.state,
            event: event.clone(),
            status: range,
            millis,
        };
        (change, Self::Status { status, event })
    }

    pub(super) fn message(message: Message) -> (Change, Self) {
        (
            Change::Message {
                message: encode::json(&message),
            },
            Self::Message(message),
        )
    }
}
