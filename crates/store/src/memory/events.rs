//! The event log of one task in memory, and the one way to change a task.

use bytes::Bytes;
use nuncio_wire::TaskState;
use std::sync::Arc;

use super::MemoryStore;
use super::repeats::is_running;
use super::tasks::{Progress, Task};
use crate::{Append, Change, Segment, StoreError, StoredEvent};

/// Version of a task's first event: creation is version 1 and no event.
const FIRST_EVENT: u64 = 2;

/// Events from [`FIRST_EVENT`] on, without a gap.
#[derive(Default)]
pub(super) struct Log {
    events: Vec<Logged>,
}

struct Logged {
    payload: Bytes,
    kind: Kind,
}

enum Kind {
    Status(TaskState),
    Artifact {
        id: Arc<str>,
        append: bool,
        /// Where in the payload the artifact's JSON starts and ends.
        part: (u32, u32),
        /// Place in the log of the event that started the artifact: their order.
        start: u32,
        /// A later event replaced the artifact: the log keeps it, the task no longer shows it.
        replaced: bool,
    },
}

impl MemoryStore {
    pub(super) fn apply(&self, append: Append) -> Result<u64, StoreError> {
        append.check()?;
        let task = self.find(&append.task).ok_or(StoreError::NotFound)?;
        let status = append
            .changes
            .iter()
            .any(|change| matches!(change, Change::Status { .. }));
        let mut sends = status.then(|| self.sends.lock(task.send_hash));
        let mut progress = task.progress.lock();
        if progress.gone {
            return Err(StoreError::NotFound);
        }
        if progress.version != append.version
            || progress.lease_epoch != append.lease_epoch
            || progress.state.is_terminal()
        {
            return Err(StoreError::Stale {
                version: progress.version,
                state: progress.state,
            });
        }
        let ran = is_running(progress.state);
        progress.log.make_place(
            append
                .changes
                .iter()
                .filter(|change| change.is_event())
                .count(),
        );
        append
            .changes
            .into_iter()
            .for_each(|change| progress.take(change));
        let (version, state) = (progress.version, progress.state);
        if state.is_terminal() {
            progress.send = None;
        }
        if let Some(sends) = &mut sends
            && ran != is_running(state)
        {
            if ran {
                sends.remove(task.send_hash, |other| Arc::ptr_eq(other, &task));
            } else {
                sends.insert(task.send_hash, Arc::clone(&task));
            }
        }
        drop(progress);
        drop(sends);
        if state.is_terminal() {
            self.finished.lock().push(task);
        }
        Ok(version)
    }
}

impl Task {
    pub(super) fn events(&self, after: u64, limit: usize) -> Vec<StoredEvent> {
        self.progress.lock().log.after(after, limit)
    }
}

impl Progress {
    fn take(&mut self, change: Change) {
        self.version += u64::from(change.is_event());
        match change {
            Change::Status {
                state,
                event,
                status,
                millis,
            } => {
                self.state = state;
                self.status = event.slice(status);
                self.status_millis = millis;
                self.log.events.push(Logged {
                    payload: event,
                    kind: Kind::Status(state),
                });
            }
            Change::Artifact {
                artifact_id,
                append,
                event,
                artifact,
            } => {
                let start = self.log.start_of(&artifact_id, append);
                // An event is far below 4 GiB: the wire takes 16 MiB at most.
                let part = (artifact.start as u32, artifact.end as u32);
                let kind = Kind::Artifact {
                    id: artifact_id,
                    append,
                    part,
                    start,
                    replaced: false,
                };
                self.log.events.push(Logged {
                    payload: event,
                    kind,
                });
            }
            Change::Message { message } => self.history.push(message),
        }
    }
}

impl Log {
    /// Small logs grow by what they need, long ones by doubling.
    fn make_place(&mut self, events: usize) {
        if self.events.len() < 8 {
            self.events.reserve_exact(events);
        }
    }

    /// The place of the event that started this artifact, after replacing what was there if the
    /// coming event does not append.
    fn start_of(&mut self, artifact: &Arc<str>, append: bool) -> u32 {
        let here = self.events.len() as u32;
        let mut start = None;
        for event in self.events.iter_mut().rev() {
            if let Kind::Artifact {
                id,
                start: first,
                replaced,
                ..
            } = &mut event.kind
                && id == artifact
            {
                start = Some(*first);
                if append || *replaced {
                    break;
                }
                *replaced = true;
            }
        }
        start.unwrap_or(here)
    }

    fn after(&self, after: u64, limit: usize) -> Vec<StoredEvent> {
        let first = usize::try_from(after.saturating_add(1).saturating_sub(FIRST_EVENT))
            .unwrap_or(usize::MAX);
        let events = self.events.iter().enumerate().skip(first).take(limit);
        let read = |(place, event): (usize, &Logged)| StoredEvent {
            version: place as u64 + FIRST_EVENT,
            payload: event.payload.clone(),
            state: match event.kind {
                Kind::Status(state) => Some(state),
                Kind::Artifact { .. } => None,
            },
        };
        events.map(read).collect()
    }

    /// Segments of artifacts that were not replaced, artifacts in the order they were started.
    pub(super) fn segments(&self) -> Vec<Segment> {
        let mut segments: Vec<(u32, Segment)> = Vec::new();
        for event in &self.events {
            if let Kind::Artifact {
                append,
                part,
                start,
                replaced: false,
                ..
            } = event.kind
            {
                let artifact = event.payload.slice(part.0 as usize..part.1 as usize);
                segments.push((start, Segment { append, artifact }));
            }
        }
        segments.sort_by_key(|(start, _)| *start);
        segments.into_iter().map(|(_, segment)| segment).collect()
    }
}
