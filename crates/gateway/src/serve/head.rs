//! Checks of a request's head before anything else looks at it: one host, one of each header.

use http::header::{
    AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderName, ORIGIN,
};
use http::request::Parts;
use http::{HeaderMap, StatusCode, Version};

use crate::security::HostCheck;

/// Headers that two readers could take differently if they stood twice.
const SINGLE: [HeaderName; 6] = [
    HOST,
    AUTHORIZATION,
    CONTENT_TYPE,
    CONTENT_LENGTH,
    CONTENT_ENCODING,
    ORIGIN,
];
/// Protocol headers, likewise (`A2A-Extensions` may repeat).
const SINGLE_NAMED: [&str; 4] = [
    "a2a-version",
    "x-api-key",
    "idempotency-key",
    "last-event-id",
];

/// Why a head is refused: status and a text for the caller.
pub(super) type HeadRefused = (StatusCode, &'static str);

/// Refuses ambiguous heads, foreign hosts and foreign pages.
pub(super) fn check(request: &Parts, hosts: &HostCheck) -> Result<(), HeadRefused> {
    let headers = &request.headers;
    let doubled = |name: &HeaderName| has_two(headers, name);
    if SINGLE.iter().any(doubled)
        || SINGLE_NAMED
            .iter()
            .any(|name| headers.get_all(*name).iter().nth(1).is_some())
    {
        return Err((
            StatusCode::BAD_REQUEST,
            "a header that may stand once stands twice",
        ));
    }
    if headers.contains_key(CONTENT_ENCODING) {
        let text = "compressed bodies are not taken: send the body as it is";
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, text));
    }
    check_host(request, hosts)?;
    let origin = headers
        .get(ORIGIN)
        .map(|origin| origin.to_str().unwrap_or_default());
    if origin.is_some_and(|origin| !hosts.allows_origin(origin)) {
        return Err((
            StatusCode::FORBIDDEN,
            "pages of this origin may not call this gateway",
        ));
    }
    Ok(())
}

fn has_two(headers: &HeaderMap, name: &HeaderName) -> bool {
    headers.get_all(name).iter().nth(1).is_some()
}

/// One host, which is ours; HTTP/2 names it in `:authority`.
fn check_host(request: &Parts, hosts: &HostCheck) -> Result<(), HeadRefused> {
    let named = request
        .headers
        .get(HOST)
        .map(|host| host.to_str().unwrap_or_default());
    let authority = request.uri.authority().map(http::uri::Authority::as_str);
    let host = match (named, authority) {
        (Some(named), Some(authority)) if named != authority => {
            return Err((StatusCode::BAD_REQUEST, "the request names two hosts"));
        }
        (Some(host), _) | (None, Some(host)) => host,
        (None, None) if request.version == Version::HTTP_10 => return Ok(()),
        (None, None) => return Err((StatusCode::BAD_REQUEST, "the request names no host")),
    };
    if hosts.allows(host) {
        return Ok(());
    }
    let text = "this gateway does not answer to this host name; see server.allowed_hosts";
    Err((StatusCode::FORBIDDEN, text))
}
