//! How a call ended, in HTTP/2: trailers after the messages, or headers alone where there is none.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use http::{HeaderMap, Response};
use nuncio_wire::bindings::grpc::{self, GrpcStatus, code};
use nuncio_wire::{A2aError, Dialect, StatusTable};

use crate::bindings::answer;
use crate::bindings::request_head::with_service_parameters;
use crate::serve::{Body, HttpResponse};

const STATUS: HeaderName = HeaderName::from_static(grpc::STATUS);
const MESSAGE: HeaderName = HeaderName::from_static(grpc::MESSAGE);
const DETAILS: HeaderName = HeaderName::from_static(grpc::DETAILS);
const PROTOBUF: HeaderValue = HeaderValue::from_static(grpc::CONTENT_TYPE);
/// What compressed messages are answered with: which encodings are taken.
const ACCEPT_ENCODING: HeaderName = HeaderName::from_static("grpc-accept-encoding");

/// An answer of one message.
pub(super) fn message(message: &[u8]) -> HttpResponse {
    with_body(Body::with_trailers(
        grpc::frame(message),
        trailers(&GrpcStatus::ok()),
    ))
}

/// An answer with this body, which ends with trailers.
pub(super) fn with_body(body: Body) -> HttpResponse {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, PROTOBUF);
    response
}

/// The trailers that say how a call ended.
pub(super) fn trailers(status: &GrpcStatus) -> HeaderMap {
    let mut trailers = HeaderMap::with_capacity(3);
    trailers.insert(STATUS, HeaderValue::from(u16::from(status.code)));
    for (name, value) in [
        (MESSAGE, status.message_value()),
        (DETAILS, status.details_value()),
    ] {
        if let Some(value) = value.and_then(|text| HeaderValue::try_from(text).ok()) {
            trailers.insert(name, value);
        }
    }
    trailers
}

/// A call that ended before its first message.
#[must_use]
pub fn refused(status: &GrpcStatus) -> HttpResponse {
    let mut response = with_body(Body::empty());
    let headers = response.headers_mut();
    headers.extend(trailers(status));
    if status.code == code::UNIMPLEMENTED {
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    }
    response
}

/// A request that is refused before it belongs to an operation.
#[must_use]
pub fn refusal(error: &A2aError, table: StatusTable, dialect: Dialect) -> HttpResponse {
    let response = refused(&GrpcStatus::of_error(error, table));
    let response = with_service_parameters(response, dialect, &[]);
    answer::with_error_headers(response, error)
}

/// The one message of a body.
pub(super) fn single_message(body: Bytes, max: usize) -> Result<Bytes, GrpcStatus> {
    let mut reader = grpc::FrameReader::of(body, max);
    let message = reader.next_message().map_err(not_a_frame)?;
    match message {
        Some(message) if !reader.is_inside() => Ok(message),
        Some(_) => {
            let text = "This method takes one message; the body holds more.";
            Err(GrpcStatus::new(code::UNIMPLEMENTED, text))
        }
        None => {
            let text = "The body ended before its message did.";
            Err(GrpcStatus::new(code::INTERNAL, text))
        }
    }
}

/// The status of bytes that are no frame.
pub(super) fn not_a_frame(error: grpc::FrameError) -> GrpcStatus {
    let number = match error {
        grpc::FrameError::Compressed => code::UNIMPLEMENTED,
        grpc::FrameError::TooLong(_) => code::RESOURCE_EXHAUSTED,
        grpc::FrameError::Malformed => code::INTERNAL,
    };
    GrpcStatus::new(number, error.to_string())
}
