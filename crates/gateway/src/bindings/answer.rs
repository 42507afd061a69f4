//! Answers that belong to no operation: refusals, plain errors, small JSON texts.

use http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER,
    WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use http::{Response, StatusCode};
use nuncio_wire::{A2aError, ErrorKind, StatusTable};

use crate::serve::{Body, HttpResponse};

/// Header that names the protocol version of an answer.
pub(super) const A2A_VERSION: HeaderName = HeaderName::from_static("a2a-version");
/// The version answers are in unless their dialect is another.
pub(super) const V1_0: HeaderValue = HeaderValue::from_static("1.0");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// A JSON answer.
#[must_use]
pub fn json(status: StatusCode, body: Vec<u8>) -> HttpResponse {
    let mut response = Response::new(Body::whole(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.reserve(4);
    headers.insert(CONTENT_TYPE, JSON);
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(A2A_VERSION, V1_0);
    response
}

/// A JSON answer that is a constant.
#[must_use]
pub fn text_json(body: &'static str) -> HttpResponse {
    json(StatusCode::OK, body.as_bytes().to_vec())
}

/// A refusal before any binding was reached: `{"error":"…"}`.
#[must_use]
pub fn refusal(status: StatusCode, text: &str) -> HttpResponse {
    json(status, error_text(text))
}

fn error_text(text: &str) -> Vec<u8> {
    #[derive(serde::Serialize)]
    struct Body<'a> {
        error: &'a str,
    }
    serde_json::to_vec(&Body { error: text }).expect("a text has a JSON form")
}

/// Adds the methods a path takes (RFC 9110 section 15.5.6).
#[must_use]
pub fn with_allow(mut response: HttpResponse, allowed: &'static str) -> HttpResponse {
    response
        .headers_mut()
        .insert(ALLOW, HeaderValue::from_static(allowed));
    response
}

/// An error of an operation as `{"error":"…"}` with its HTTP status.
#[must_use]
pub fn plain_error(error: &A2aError) -> HttpResponse {
    let status = error.kind.http_status(StatusTable::default());
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    with_error_headers(refusal(status, &error.message), error)
}

/// What a refused caller needs to know in headers: the scheme to use, when to come back.
#[must_use]
pub fn with_error_headers(mut response: HttpResponse, error: &A2aError) -> HttpResponse {
    let headers = response.headers_mut();
    if error.kind == ErrorKind::Unauthenticated {
        // RFC 6750 section 3.
        headers.insert(
            WWW_AUTHENTICATE,
            HeaderValue::from_static("Bearer realm=\"a2a\""),
        );
    }
    if let Some(seconds) = error.retry_after {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    if error.kind.transport_status().is_some() {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}

/// The answer to HEAD: the headers of GET, with the length its body would have.
#[must_use]
pub fn without_body(response: HttpResponse) -> HttpResponse {
    let (mut parts, body) = response.into_parts();
    if let Body::Whole(Some(bytes)) = &body {
        parts
            .headers
            .insert(CONTENT_LENGTH, HeaderValue::from(bytes.len()));
    }
    Response::from_parts(parts, Body::empty())
}
