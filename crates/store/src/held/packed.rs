//! The JSON of a finished task in one piece.
//!
//! Nothing changes any more, so what was a dozen allocations becomes two, and a big network buffer
//! of which a task kept some bytes can go.

use bytes::Bytes;
use nuncio_wire::TaskState;

use super::log::{Kind, Log};
use super::{FIRST_EVENT, Open, surplus};
use crate::{Segment, StoredEvent};

/// Tasks with more bytes than this stay as they are: there the copy costs more than the place it
/// saves.
const MAX_PACKED_BYTES: usize = 64 * 1024;

pub(super) struct Packed {
    bytes: Bytes,
    /// Messages, metadata, events in order, segments in their order, the status.
    pieces: Box<[Piece]>,
}

/// A range of the bytes and what it is.
#[derive(Clone, Copy)]
struct Piece {
    from: u32,
    to: u32,
    kind: PieceKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PieceKind {
    Message,
    Metadata,
    StatusEvent(TaskState),
    ArtifactEvent,
    /// Inside an artifact event.
    Segment {
        append: bool,
    },
    Status,
}

impl Packed {
    /// Packs a task, unless it is too big for that to be worth while.
    pub(super) fn of(open: &Open) -> Option<Self> {
        let log = open.log.all();
        let parts = open.history.iter().chain(&open.metadata);
        let total: usize = parts
            .chain(log.iter().map(|event| &event.payload))
            .map(Bytes::len)
            .sum();
        if total + open.status.len() > MAX_PACKED_BYTES {
            return None;
        }
        let mut packing = Packing {
            bytes: Vec::with_capacity(total + open.status.len()),
            pieces: Vec::with_capacity(open.history.len() + 2 * log.len() + 2),
        };
        for message in &open.history {
            packing.put(message, PieceKind::Message);
        }
        if let Some(metadata) = &open.metadata {
            packing.put(metadata, PieceKind::Metadata);
        }
        packing.put_events(&open.log);
        packing.put_status(&open.status);
        Some(Self {
            bytes: packing.bytes.into_boxed_slice().into(),
            pieces: packing.pieces.into_boxed_slice(),
        })
    }

    fn of_kind(
        &self,
        is: impl Fn(PieceKind) -> bool,
    ) -> impl DoubleEndedIterator<Item = (PieceKind, Bytes)> {
        let found = self.pieces.iter().filter(move |piece| is(piece.kind));
        found.map(|piece| {
            (
                piece.kind,
                self.bytes.slice(piece.from as usize..piece.to as usize),
            )
        })
    }

    pub(super) fn status(&self) -> Bytes {
        self.of_kind(|kind| kind == PieceKind::Status)
            .next_back()
            .map(|(_, bytes)| bytes)
            .unwrap_or_default()
    }

    pub(super) fn metadata(&self) -> Option<Bytes> {
        self.of_kind(|kind| kind == PieceKind::Metadata)
            .next()
            .map(|(_, bytes)| bytes)
    }

    pub(super) fn history(&self, most: Option<u32>) -> Vec<Bytes> {
        let is_message = |kind| kind == PieceKind::Message;
        let all = self
            .pieces
            .iter()
            .filter(|piece| is_message(piece.kind))
            .count();
        self.of_kind(is_message)
            .skip(surplus(all, most))
            .map(|(_, bytes)| bytes)
            .collect()
    }

    pub(super) fn segments(&self) -> Vec<Segment> {
        let segments = self.of_kind(|kind| matches!(kind, PieceKind::Segment { .. }));
        segments
            .map(|(kind, artifact)| Segment {
                append: kind == PieceKind::Segment { append: true },
                artifact,
            })
            .collect()
    }

    pub(super) fn events(&self, first: usize, limit: usize) -> Vec<StoredEvent> {
        let is_event = |kind| matches!(kind, PieceKind::StatusEvent(_) | PieceKind::ArtifactEvent);
        let numbered = (FIRST_EVENT..)
            .zip(self.of_kind(is_event))
            .skip(first)
            .take(limit);
        numbered
            .map(|(version, (kind, payload))| StoredEvent {
                version,
                payload,
                state: match kind {
                    PieceKind::StatusEvent(state) => Some(state),
                    _ => None,
                },
            })
            .collect()
    }
}

struct Packing {
    bytes: Vec<u8>,
    pieces: Vec<Piece>,
}

impl Packing {
    /// Adds bytes and returns where they start.
    fn put(&mut self, bytes: &[u8], kind: PieceKind) -> u32 {
        let from = self.bytes.len() as u32;
        self.bytes.extend_from_slice(bytes);
        self.pieces.push(Piece {
            from,
            to: self.bytes.len() as u32,
            kind,
        });
        from
    }

    fn put_events(&mut self, log: &Log) {
        let first = self.pieces.len();
        for event in log.all() {
            let kind = match &event.kind {
                Kind::Status(state) => PieceKind::StatusEvent(*state),
                Kind::Artifact(_) => PieceKind::ArtifactEvent,
            };
            self.put(&event.payload, kind);
        }
        for (place, chunk) in log.shown() {
            let start = self.pieces[first + place].from;
            let kind = PieceKind::Segment {
                append: chunk.append,
            };
            self.pieces.push(Piece {
                from: start + chunk.from,
                to: start + chunk.to,
                kind,
            });
        }
    }

    /// A final status stands at the end of the last event already, but for a few bytes.
    fn put_status(&mut self, status: &[u8]) {
        const CLOSING: usize = 64;
        let from = self.bytes.len().saturating_sub(status.len() + CLOSING);
        let found = self.bytes[from..]
            .windows(status.len().max(1))
            .rposition(|part| part == status);
        match found {
            Some(place) => {
                let from = (from + place) as u32;
                let to = from + status.len() as u32;
                self.pieces.push(Piece {
                    from,
                    to,
                    kind: PieceKind::Status,
                });
            }
            None => {
                self.put(status, PieceKind::Status);
            }
        }
    }
}
