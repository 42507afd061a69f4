//! One reader of a task's events, with its own cursor: lossless and independent of the others.
//!
//! A wake-up is only a hint. A reader that falls behind the tail is served from the store, at its
//! own pace, and nobody waits for it.

use nuncio_wire::bindings::sse::EventId;
use nuncio_wire::{Task, TaskState};
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::watch;

use super::engine::Engine;
use super::live::{LiveEvent, LiveTask, Progress};

/// Events read from the store at once for a reader that fell behind.
const CATCH_UP_EVENTS: usize = 256;

/// When a stream of a task is over, besides its final state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closes {
    /// Only then: SubscribeToTask (specification 3.1.6).
    AtTheEnd,
    /// Also when the task asks for input: SendStreamingMessage (specification 11.7).
    WhenInputIsRequired,
}

/// A reader of a task's events.
pub struct Subscription {
    engine: Arc<Engine>,
    live: Arc<LiveTask>,
    progress: watch::Receiver<Progress>,
    ready: VecDeque<LiveEvent>,
    cursor: u64,
    closes: Closes,
    over: bool,
}

impl Subscription {
    /// A reader that gets `first`, a snapshot of the task, and then every later event once.
    #[must_use]
    pub fn starting_with(
        first: LiveEvent,
        engine: Arc<Engine>,
        live: Arc<LiveTask>,
        closes: Closes,
    ) -> Self {
        let cursor = first.version;
        Self {
            ready: VecDeque::from([first]),
            ..Self::after(engine, live, cursor, closes)
        }
    }

    /// A reader that goes on after `cursor` without a snapshot.
    #[must_use]
    pub fn after(engine: Arc<Engine>, live: Arc<LiveTask>, cursor: u64, closes: Closes) -> Self {
        let progress = live.watch();
        Self {
            engine,
            live,
            progress,
            ready: VecDeque::new(),
            cursor,
            closes,
            over: false,
        }
    }

    /// The task as it stands, which may be further than what was read.
    #[must_use]
    pub fn task(&self) -> Task {
        self.live.task()
    }

    /// The SSE id of an event.
    #[must_use]
    pub fn id_of(&self, event: &LiveEvent) -> EventId {
        EventId {
            epoch: self.engine.store().epoch(),
            version: event.version,
        }
    }

    /// The next event, and whether it is the last one. `None` when the stream is over.
    ///
    /// Cancel-safe: an event is given up only with the return.
    pub async fn next(&mut self) -> Option<(LiveEvent, bool)> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                self.over = event.state.is_some_and(|state| self.is_last(state));
                return Some((event, self.over));
            }
            if self.over || !self.refill().await {
                return None;
            }
        }
    }

    /// Whether an event can be had without waiting.
    #[must_use]
    pub fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    fn is_last(&self, state: TaskState) -> bool {
        state.is_terminal()
            || (self.closes == Closes::WhenInputIsRequired && state == TaskState::InputRequired)
    }

    /// Gets more events; waits for them if there are none. False: there will be none.
    async fn refill(&mut self) -> bool {
        loop {
            let seen = *self.progress.borrow_and_update();
            if let Some(events) = self.live.tail_after(self.cursor) {
                self.ready.extend(events);
            } else if !self.catch_up().await {
                return false;
            }
            if let Some(last) = self.ready.back() {
                self.cursor = last.version;
                return true;
            }
            if seen.withdrawn || seen.state.is_terminal() && self.cursor >= seen.version {
                return false;
            }
            tokio::select! {
                changed = self.progress.changed() => if changed.is_err() {
                    return false;
                },
                () = self.engine.over.cancelled() => return false,
            }
        }
    }

    /// Reads what the tail no longer has. False: it cannot be read.
    async fn catch_up(&mut self) -> bool {
        let events = self
            .engine
            .store()
            .events(&self.live.id, self.cursor, CATCH_UP_EVENTS)
            .await;
        match events {
            Ok(events) => {
                let live = |event: nuncio_store::StoredEvent| LiveEvent {
                    version: event.version,
                    payload: event.payload,
                    state: event.state,
                };
                self.ready.extend(events.into_iter().map(live));
                true
            }
            Err(error) => {
                tracing::error!(%error, task = %self.live.id, "events cannot be read");
                false
            }
        }
    }
}

impl std::fmt::Debug for Subscription {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subscription")
            .field("task", &self.live.id)
            .field("cursor", &self.cursor)
            .finish_non_exhaustive()
    }
}
