//! The event log of a task that is under way.

use bytes::Bytes;
use nuncio_wire::TaskState;
use std::ops::Range;
use std::sync::Arc;

use super::FIRST_EVENT;
use crate::{Segment, StoredEvent};

/// Events of a log that grows by just what it needs; a longer one doubles.
const SMALL_LOG: usize = 8;

/// Events from [`FIRST_EVENT`] on, without a gap.
#[derive(Default)]
pub(super) struct Log {
    events: Vec<Logged>,
}

pub(super) struct Logged {
    pub(super) payload: Bytes,
    pub(super) kind: Kind,
}

pub(super) enum Kind {
    Status(TaskState),
    Artifact(ArtifactChunk),
}

/// What an artifact event says, besides its payload.
pub(super) struct ArtifactChunk {
    id: Arc<str>,
    pub(super) append: bool,
    /// Where in the payload the artifact's JSON stands.
    pub(super) from: u32,
    pub(super) to: u32,
    /// Place in the log of the event that started the artifact: their order.
    start: u32,
    /// A later event replaced the artifact: the log keeps it, the task no longer shows it.
    replaced: bool,
}

impl Log {
    pub(super) fn make_place(&mut self, events: usize) {
        if self.events.len() < SMALL_LOG {
            self.events.reserve_exact(events);
        }
    }

    pub(super) fn push_status(&mut self, state: TaskState, payload: Bytes) {
        self.events.push(Logged {
            payload,
            kind: Kind::Status(state),
        });
    }

    pub(super) fn push_artifact(
        &mut self,
        id: Arc<str>,
        append: bool,
        payload: Bytes,
        part: Range<usize>,
    ) {
        let start = self.start_of(&id, append);
        // An event is far below 4 GiB: the wire takes 16 MiB at most.
        let (from, to) = (part.start as u32, part.end as u32);
        let chunk = ArtifactChunk {
            id,
            append,
            from,
            to,
            start,
            replaced: false,
        };
        self.events.push(Logged {
            payload,
            kind: Kind::Artifact(chunk),
        });
    }

    /// The place of the event that started this artifact, after replacing what was there if the
    /// coming event does not append.
    fn start_of(&mut self, artifact: &Arc<str>, append: bool) -> u32 {
        let mut start = self.events.len() as u32;
        for event in self.events.iter_mut().rev() {
            if let Kind::Artifact(chunk) = &mut event.kind
                && chunk.id == *artifact
            {
                start = chunk.start;
                if append || chunk.replaced {
                    break;
                }
                chunk.replaced = true;
            }
        }
        start
    }

    pub(super) fn all(&self) -> &[Logged] {
        &self.events
    }

    pub(super) fn events(&self, first: usize, limit: usize) -> Vec<StoredEvent> {
        let numbered = (FIRST_EVENT..).zip(&self.events).skip(first).take(limit);
        let read = |(version, event): (u64, &Logged)| StoredEvent {
            version,
            payload: event.payload.clone(),
            state: match event.kind {
                Kind::Status(state) => Some(state),
                Kind::Artifact(_) => None,
            },
        };
        numbered.map(read).collect()
    }

    /// Places of the segments of artifacts that were not replaced, artifacts in the order they
    /// were started.
    pub(super) fn shown(&self) -> Vec<(usize, &ArtifactChunk)> {
        let mut shown = Vec::new();
        for (place, event) in self.events.iter().enumerate() {
            if let Kind::Artifact(chunk) = &event.kind
                && !chunk.replaced
            {
                shown.push((place, chunk));
            }
        }
        shown.sort_by_key(|(_, chunk)| chunk.start);
        shown
    }

    pub(super) fn segments(&self) -> impl Iterator<Item = Segment> {
        self.shown().into_iter().map(|(place, chunk)| {
            let range = chunk.from as usize..chunk.to as usize;
            Segment {
                append: chunk.append,
                artifact: self.events[place].payload.slice(range),
            }
        })
    }
}
