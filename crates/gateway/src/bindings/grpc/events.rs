//! A subscription as messages of a call, and the trailers at its end.

use bytes::{Bytes, BytesMut};
use futures_util::stream::unfold;
use hyper::body::Frame;
use nuncio_wire::bindings::grpc::{self, GrpcStatus, code};
use nuncio_wire::dialects::protobuf::Package;
use nuncio_wire::{A2aError, ErrorKind, StatusTable, StreamResponse};
use std::pin::pin;

use super::deadline::Deadline;
use super::outcome;
use crate::serve::{Body, HttpResponse};
use crate::tasks::{LiveEvent, Subscription};

/// Events that lie ready are sent in one piece up to this size, 64 KiB.
const PIECE_BYTES: usize = 64 * 1024;

/// The events of one call.
pub(super) struct Events {
    subscription: Subscription,
    package: Package,
    deadline: Deadline,
    table: StatusTable,
    /// Whether the last event was one that ends the stream.
    complete: bool,
    /// How the call ends, once that is known.
    end: Option<GrpcStatus>,
    over: bool,
}

impl Events {
    pub(super) fn new(
        subscription: Subscription,
        package: Package,
        deadline: Deadline,
        table: StatusTable,
    ) -> Self {
        Self {
            subscription,
            package,
            deadline,
            table,
            complete: false,
            end: None,
            over: false,
        }
    }

    /// The next events in one piece, or the trailers.
    async fn next(&mut self) -> Option<Frame<Bytes>> {
        let mut piece = BytesMut::new();
        while self.end.is_none() && piece.len() < PIECE_BYTES {
            if !piece.is_empty() && !self.subscription.has_ready() {
                break;
            }
            let next = self.deadline.wait(pin!(self.subscription.next())).await;
            match next {
                Err(status) => self.end = Some(status),
                Ok(None) => self.end = Some(self.outcome()),
                Ok(Some((event, last))) => {
                    self.complete = last;
                    match self.encode(&event, last) {
                        Ok(message) => piece.extend_from_slice(&grpc::frame(&message)),
                        Err(error) => {
                            self.end = Some(GrpcStatus::of_call(&error, self.table, self.package));
                        }
                    }
                }
            }
        }
        if !piece.is_empty() {
            return Some(Frame::data(piece.freeze()));
        }
        let end = self.end.as_ref().filter(|_| !self.over)?;
        self.over = true;
        Some(Frame::trailers(outcome::trailers(end)))
    }

    fn encode(&self, event: &LiveEvent, last: bool) -> Result<Vec<u8>, A2aError> {
        let event: StreamResponse = serde_json::from_slice(&event.payload).map_err(|error| {
            tracing::error!(%error, "a stored event cannot be read");
            A2aError::new(ErrorKind::Internal, "An event of the task cannot be read.")
        })?;
        self.package.write_event(event, last)
    }

    /// A stream that ends before its task does must not look as if the task had ended.
    fn outcome(&self) -> GrpcStatus {
        if self.complete {
            return GrpcStatus::ok();
        }
        let text = "The stream ended before the task did; subscribe to the task again.";
        GrpcStatus::new(code::UNAVAILABLE, text)
    }
}

/// The answer that streams a task's events.
pub(super) fn stream(events: Events) -> HttpResponse {
    let frames = unfold(events, |mut events| async move {
        let frame = events.next().await?;
        Some((frame, events))
    });
    outcome::with_body(Body::frames(frames))
}
