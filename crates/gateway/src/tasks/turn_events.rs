//! How a backend hands over what it produces: committed in order, with backpressure.

use nuncio_store::{Change, Durability};
use nuncio_wire::{TaskState, TaskStatus};
use std::sync::Arc;
use tokio::sync::oneshot;

use super::encode;
use super::engine::Engine;
use super::live::LiveTask;
use super::view::Applied;
use crate::agents::TurnEvent;
use crate::clock;
use crate::security::outbound;

/// The turn is over, whatever the backend still has: it was cancelled, or the gateway stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the turn is over")]
pub struct Stopped;

/// Where a turn's events go. Each call returns once its events are committed, so a backend that
/// awaits it can never run ahead of the store.
pub struct TurnEvents {
    engine: Arc<Engine>,
    live: Arc<LiveTask>,
    buffered: Vec<(Change, Applied)>,
    /// Who wants to know that the end of the turn is stored.
    receipts: Vec<oneshot::Sender<()>>,
}

impl TurnEvents {
    pub(super) fn new(engine: Arc<Engine>, live: Arc<LiveTask>) -> Self {
        Self {
            engine,
            live,
            buffered: Vec::new(),
            receipts: Vec::new(),
        }
    }

    /// Has this told once the turn's end is stored, with the state the backend gave it: what led to it
    /// may be acknowledged then. Dropped untold where something else ended the task.
    pub fn when_stored(&mut self, receipt: oneshot::Sender<()>) {
        self.receipts.push(receipt);
    }

    /// Keeps an event back until the next `emit` or the end of the turn, which it joins in one
    /// commit: for backends that have all they will say at once.
    pub fn push(&mut self, event: TurnEvent) {
        let change = self.prepare(event);
        self.buffered.push(change);
    }

    /// Commits an event and shows it to subscribers.
    pub async fn emit(&mut self, event: TurnEvent) -> Result<(), Stopped> {
        self.push(event);
        self.flush().await
    }

    /// Commits several events at once, in order.
    pub async fn emit_all(&mut self, events: Vec<TurnEvent>) -> Result<(), Stopped> {
        for event in events {
            self.push(event);
        }
        self.flush().await
    }

    async fn flush(&mut self) -> Result<(), Stopped> {
        let changes = std::mem::take(&mut self.buffered);
        if self.live.cancel_requested() {
            return Err(Stopped);
        }
        // A status is a state change and synced before it is visible; chunks alone are not.
        let synced = changes
            .iter()
            .any(|(_, applied)| matches!(applied, Applied::Status { .. }));
        let durability = if synced {
            Durability::Synced
        } else {
            Durability::Committed
        };
        self.engine.commit(&self.live, changes, durability).await
    }

    /// What was kept back, for the commit that ends the turn, and who is to be told of that.
    pub(super) fn into_parts(self) -> (Vec<(Change, Applied)>, Vec<oneshot::Sender<()>>) {
        (self.buffered, self.receipts)
    }

    fn prepare(&self, event: TurnEvent) -> (Change, Applied) {
        match outbound::release(event) {
            TurnEvent::Artifact {
                artifact,
                append,
                last_chunk,
                metadata,
            } => {
                let ids = (&*self.live.id, &*self.live.context_id);
                let (event, range) =
                    encode::artifact_update(ids, &artifact, append, last_chunk, metadata.as_ref());
                let change = Change::Artifact {
                    artifact_id: artifact.artifact_id.as_str().into(),
                    append,
                    event: event.clone(),
                    artifact: range,
                };
                (
                    change,
                    Applied::Artifact {
                        artifact,
                        append,
                        event,
                    },
                )
            }
            TurnEvent::Progress { message, metadata } => {
                let status = TaskStatus {
                    state: TaskState::Working,
                    message,
                    timestamp: Some(clock::now()),
                };
                Applied::status(&self.live, status, metadata.as_ref())
            }
        }
    }
}
