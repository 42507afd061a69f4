//! gRPC's health service: this process serves for as long as it takes calls.

use bytes::Bytes;
use futures_util::stream::unfold;
use hyper::body::Frame;
use nuncio_wire::bindings::grpc::health::{Health, read_request, write_response};
use nuncio_wire::bindings::grpc::{GrpcStatus, frame};
use nuncio_wire::{A2aError, StatusTable};
use std::sync::Arc;

use super::{outcome, services};
use crate::operations::Operations;
use crate::serve::{Body, HttpResponse};

/// NOT_FOUND as a number of gRPC.
const NOT_FOUND: u8 = 5;
/// Most bytes of a question: a service's name is short.
pub(super) const MAX_QUESTION_BYTES: usize = 4 * 1024;

/// Answers `Check`.
#[must_use]
pub fn check(operations: &Operations, body: Bytes) -> HttpResponse {
    match health_of(operations, body) {
        Ok(Health::ServiceUnknown) => {
            let text = "There is no service of this name here; reflection lists them.";
            outcome::refused(&GrpcStatus::new(NOT_FOUND, text))
        }
        Ok(health) => outcome::message(&write_response(health)),
        Err(status) => outcome::refused(&status),
    }
}

/// Answers `Watch`: how it is now, and that it is over when the gateway stops.
#[must_use]
pub fn watch(operations: &Arc<Operations>, body: Bytes) -> HttpResponse {
    let now = match health_of(operations, body) {
        Ok(health) => health,
        Err(status) => return outcome::refused(&status),
    };
    let frames = unfold(Watch::Begins(now, operations.clone()), |watch| async move {
        let message = |health| Frame::data(frame(&write_response(health)));
        match watch {
            Watch::Begins(health, operations) => {
                Some((message(health), Watch::Holds(health, operations)))
            }
            Watch::Holds(health, operations) => {
                operations.engine().stopped().await;
                match health {
                    Health::ServiceUnknown => Some((end(), Watch::Over)),
                    _ => Some((message(Health::NotServing), Watch::Ends)),
                }
            }
            Watch::Ends => Some((end(), Watch::Over)),
            Watch::Over => None,
        }
    });
    outcome::with_body(Body::frames(frames))
}

/// How far a watch has come.
enum Watch {
    Begins(Health, Arc<Operations>),
    Holds(Health, Arc<Operations>),
    Ends,
    Over,
}

fn end() -> Frame<Bytes> {
    Frame::trailers(outcome::trailers(&GrpcStatus::ok()))
}

fn health_of(operations: &Operations, body: Bytes) -> Result<Health, GrpcStatus> {
    let message = outcome::single_message(body, MAX_QUESTION_BYTES)?;
    let refuse = |error: A2aError| GrpcStatus::of_error(&error, StatusTable::default());
    let service = read_request(&message).map_err(refuse)?;
    let known = service.is_empty() || services(operations).contains(&service.as_str());
    Ok(if known {
        Health::Serving
    } else {
        Health::ServiceUnknown
    })
}
