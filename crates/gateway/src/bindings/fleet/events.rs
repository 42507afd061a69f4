//! Streams of this dialect: named frames without an envelope; the last one has the task's text.

use http::header::{CONTENT_TYPE, HeaderValue};
use nuncio_wire::bindings::sse::EventId;
use nuncio_wire::dialects::hermes_fleet;
use nuncio_wire::{Message, Part, Role, StreamResponse, Task, TaskState};

use super::{STREAM_ID, header_value};
use crate::bindings::stream::{self, Frames};
use crate::ids;
use crate::serve::{Body, HttpResponse};
use crate::tasks::{LiveEvent, Subscription};

/// A stream that begins.
#[allow(clippy::large_enum_variant)] // moved once, never stored
pub(super) enum Opened {
    /// Of a task in motion, under the id its caller knows it by.
    Live(Subscription, String),
    /// Of one that has ended: its end alone.
    Ended(Task),
}

impl Opened {
    pub(super) fn into_response(self) -> HttpResponse {
        let mut response = match self {
            Self::Live(subscription, id) => {
                stream::events(subscription, Frames::Fleet(FleetFrames::new(id)))
            }
            Self::Ended(mut task) => {
                tell_result(&mut task);
                let mut frames = Vec::new();
                hermes_fleet::write_frames(None, &StreamResponse::Task(task), &mut frames);
                stream::response(Body::whole(frames))
            }
        };
        let headers = response.headers_mut();
        let media_type = HeaderValue::from_static("text/event-stream; charset=utf-8");
        headers.insert(CONTENT_TYPE, media_type);
        headers.insert(STREAM_ID, header_value(&ids::new_id()));
        headers.insert(super::answer::A2A_VERSION, super::answer::V1_0);
        response
    }
}

/// Writes the frames of one stream.
pub(in crate::bindings) struct FleetFrames {
    /// What the caller calls the task.
    id: String,
}

impl FleetFrames {
    pub(in crate::bindings) fn new(id: String) -> Self {
        Self { id }
    }

    /// Appends the frames of one event. One that cannot be read is left out: its reader could make
    /// nothing of it.
    pub(in crate::bindings) fn write(
        &self,
        subscription: &Subscription,
        event: &LiveEvent,
        out: &mut Vec<u8>,
    ) {
        let id = subscription.id_of(event);
        match serde_json::from_slice(&event.payload) {
            Ok(read) => self.write_event(id, self.as_told(read, subscription), out),
            Err(error) => tracing::error!(%error, "a stored event cannot be read"),
        }
    }

    fn write_event(&self, id: EventId, event: StreamResponse, out: &mut Vec<u8>) {
        hermes_fleet::write_frames(Some(id), &event, out);
    }

    /// The event under the caller's id, the final one with its text.
    fn as_told(&self, mut event: StreamResponse, subscription: &Subscription) -> StreamResponse {
        match &mut event {
            StreamResponse::Task(task) => {
                task.id.clone_from(&self.id);
                tell_result(task);
            }
            StreamResponse::StatusUpdate(update) => {
                update.task_id.clone_from(&self.id);
                let status = &mut update.status;
                if status.state == TaskState::Completed && status.message.is_none() {
                    status.message = result_of(&subscription.task());
                }
            }
            StreamResponse::ArtifactUpdate(update) => update.task_id.clone_from(&self.id),
            StreamResponse::Message(_) => {}
        }
        event
    }
}

/// Lets a completed task say its result.
fn tell_result(task: &mut Task) {
    if task.status.state == TaskState::Completed && task.status.message.is_none() {
        task.status.message = result_of(task);
    }
}

/// What a task's artifacts hold, as a message; `None` where there is nothing.
fn result_of(task: &Task) -> Option<Message> {
    let parts = task.artifacts().iter().flat_map(|it| it.parts.clone());
    let parts: Vec<Part> = parts.collect();
    (!parts.is_empty()).then(|| Message::new("", Role::Agent, parts))
}
