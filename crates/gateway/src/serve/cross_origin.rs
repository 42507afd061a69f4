//! What browsers ask before and after a page of an allowed origin calls (WHATWG Fetch 3.3). Which
//! origins are allowed is [`crate::security::HostCheck`]'s to say.

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD,
    HeaderValue, ORIGIN, VARY,
};
use http::request::Parts;
use http::{Method, Response, StatusCode};

use super::{Body, HttpResponse};

/// How long a browser may keep the answer to a preflight, in seconds: ten minutes.
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");
/// Headers that a page's request may have.
const REQUEST_HEADERS: HeaderValue = HeaderValue::from_static(
    "Accept, Authorization, Content-Type, A2A-Version, A2A-Extensions, X-A2A-Extensions, X-API-Key, \
     Idempotency-Key, Last-Event-ID",
);
/// Headers of an answer that a page may read.
const ANSWER_HEADERS: HeaderValue = HeaderValue::from_static(
    "A2A-Version, A2A-Extensions, X-A2A-Extensions, Allow, ETag, Retry-After, WWW-Authenticate",
);

/// Whether a browser asks what a page may do here.
pub(super) fn is_preflight(parts: &Parts) -> bool {
    parts.method == Method::OPTIONS
        && parts.headers.contains_key(ORIGIN)
        && parts.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// The answer to a preflight of a path that takes these methods.
pub(super) fn preflight(allowed: &'static str) -> HttpResponse {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(
        ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static(allowed),
    );
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, REQUEST_HEADERS);
    headers.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    response
}

/// Lets pages of this origin, which is allowed, read the answer.
pub(super) fn readable_by(origin: HeaderValue, mut response: HttpResponse) -> HttpResponse {
    let headers = response.headers_mut();
    if !headers.contains_key(ACCESS_CONTROL_ALLOW_ORIGIN) {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, ANSWER_HEADERS);
        headers.append(VARY, HeaderValue::from_static("Origin"));
    }
    response
}
