//! A subscription as server-sent events: frames in the caller's dialect, heartbeats in silence.

use bytes::Bytes;
use futures_util::stream::unfold;
use http::Response;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use nuncio_wire::bindings::jsonrpc::{self, RequestId};
use nuncio_wire::bindings::rest::Form;
use nuncio_wire::bindings::sse;
use nuncio_wire::dialects::{Dialect, hermes_fleet};
use nuncio_wire::{A2aError, Message, StreamResponse};
use std::sync::Arc;
use std::time::Duration;

use super::fleet::FleetFrames;
use crate::serve::{Body, HttpResponse};
use crate::tasks::{LiveEvent, Subscription};

/// A comment is sent after this much silence, so that proxies keep the connection.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(15);
/// Events that lie ready are sent in one piece up to this size, 64 KiB.
const PIECE_BYTES: usize = 64 * 1024;

/// How the frames of one stream are written.
pub(super) enum Frames {
    /// Each event is the result of a JSON-RPC answer.
    JsonRpc {
        /// Repeated in every frame.
        id: RequestId,
        /// The dialect of the frames.
        dialect: Dialect,
    },
    /// Each event stands alone.
    Rest(Form),
    /// Each event stands alone, in the fleet's dialect.
    Fleet(FleetFrames),
}

impl Frames {
    fn write(&self, subscription: &Subscription, event: &LiveEvent, last: bool, out: &mut Vec<u8>) {
        let payload = &event.payload;
        if let Self::Fleet(frames) = self {
            return frames.write(subscription, event, out);
        }
        sse::write_frame(Some(subscription.id_of(event)), out, |out| match self {
            Self::JsonRpc { id, dialect } => jsonrpc::write_result(id, out, |out| {
                dialect.write_stored_event(payload, last, out);
            }),
            Self::Rest(form) => form.write_stored_event(payload, last, out),
            Self::Fleet(_) => unreachable!("written just above"),
        });
    }

    fn write_only(&self, event: &StreamResponse, out: &mut Vec<u8>) {
        if let Self::Fleet(_) = self {
            return hermes_fleet::write_frames(None, event, out);
        }
        sse::write_frame(None, out, |out| match self {
            Self::JsonRpc { id, dialect } => jsonrpc::write_result(id, out, |out| {
                dialect.write_event(event, true, out);
            }),
            Self::Rest(form) => form.write_event(event, true, out),
            Self::Fleet(_) => unreachable!("written just above"),
        });
    }
}

/// The answer that streams a task's events.
pub(super) fn events(subscription: Subscription, frames: Frames) -> HttpResponse {
    let pieces = unfold(
        (subscription, frames),
        |(mut subscription, frames)| async move {
            let mut piece = Vec::with_capacity(1024);
            match tokio::time::timeout(HEARTBEAT_INTERVAL, subscription.next()).await {
                Err(_) => piece.extend_from_slice(sse::HEARTBEAT),
                Ok(None) => return None,
                Ok(Some((event, last))) => {
                    frames.write(&subscription, &event, last, &mut piece);
                    while subscription.has_ready() && piece.len() < PIECE_BYTES {
                        let Some((event, last)) = subscription.next().await else {
                            break;
                        };
                        frames.write(&subscription, &event, last, &mut piece);
                    }
                }
            }
            Some((Bytes::from(piece), (subscription, frames)))
        },
    );
    response(Body::stream(pieces))
}

/// The answer that streams one message (specification 3.1.2).
pub(super) fn message(message: &Arc<Message>, frames: &Frames) -> HttpResponse {
    let event = StreamResponse::Message(Message::clone(message));
    let mut frame = Vec::new();
    frames.write_only(&event, &mut frame);
    response(Body::whole(frame))
}

/// The answer that streams one error over JSON-RPC.
pub(super) fn error(id: &RequestId, error: &A2aError) -> HttpResponse {
    let mut frame = Vec::new();
    sse::write_frame(None, &mut frame, |out| jsonrpc::write_error(id, error, out));
    response(Body::whole(frame))
}

pub(super) fn response(body: Body) -> HttpResponse {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // Proxies that buffer answers would hold events back.
    headers.insert(
        HeaderName::from_static("x-accel-buffering"),
        HeaderValue::from_static("no"),
    );
    response
}
