//! One HTTP exchange, as the bindings on HTTP have it in common: a whole answer or a stream of
//! events, and what statuses and headers add to a peer's error.

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::response::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Request as HttpRequest};
use http_body_util::Full;
use hyper::body::Incoming;
use nuncio_wire::{A2aError, ErrorKind, Method, Version};
use url::Url;

use crate::bindings::refusal;
use crate::choose_binding::Endpoint;
use crate::error::{ClientError, ClientErrorKind};
use crate::http_client::{HttpClient, peer_of, read_body};
use crate::limits::{MAX_ANSWER_BYTES, MAX_ERROR_BODY_BYTES};

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");
pub(crate) const EVENTS_OR_JSON: HeaderValue =
    HeaderValue::from_static("text/event-stream, application/json");

/// What came back for a request whose answer may be a stream.
pub(crate) enum Received {
    Stream(Incoming),
    Answer(Box<Parts>, Bytes),
}

/// Sends a request and reads its one answer.
pub(crate) async fn exchange(
    http: &HttpClient,
    url: &Url,
    request: HttpRequest<Full<Bytes>>,
) -> Result<(Parts, Bytes), ClientError> {
    let (parts, body) = http.send(url, request).await?.into_parts();
    check_encoding(&parts.headers, url)?;
    let body = read_body(body, limit(&parts), url).await?;
    Ok((parts, body))
}

/// Sends a request whose answer is a stream. An ordinary answer in JSON is given back whole.
pub(crate) async fn open(
    http: &HttpClient,
    url: &Url,
    request: HttpRequest<Full<Bytes>>,
) -> Result<Received, ClientError> {
    let (parts, body) = http.send(url, request).await?.into_parts();
    check_encoding(&parts.headers, url)?;
    let media_type = parts
        .headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let media_type = media_type.unwrap_or_default().to_ascii_lowercase();
    if parts.status.is_success() && media_type.starts_with("text/event-stream") {
        return Ok(Received::Stream(body));
    }
    let body = read_body(body, limit(&parts), url).await?;
    if parts.status.is_success() && !media_type.contains("json") {
        let text = format!(
            "{} answered with '{}' instead of a stream of events",
            peer_of(url),
            crate::plain(&media_type)
        );
        return Err(ClientError::new(ClientErrorKind::InvalidAnswer, text));
    }
    Ok(Received::Answer(Box::new(parts), body))
}

fn limit(parts: &Parts) -> usize {
    if parts.status.is_success() {
        MAX_ANSWER_BYTES
    } else {
        MAX_ERROR_BODY_BYTES
    }
}

/// We ask for no compression; a body that is compressed all the same may be a bomb.
fn check_encoding(headers: &HeaderMap, url: &Url) -> Result<(), ClientError> {
    match headers.get(CONTENT_ENCODING) {
        Some(encoding) if encoding != "identity" => {
            let text = format!("{} compressed its answer without being asked", peer_of(url));
            Err(ClientError::new(ClientErrorKind::InvalidAnswer, text))
        }
        _ => Ok(()),
    }
}

/// The peer's error; a status that says more than a free-form body decides what it is.
pub(crate) fn refused(error: A2aError, parts: &Parts) -> ClientError {
    let unnamed = error.kind == ErrorKind::Internal;
    let mut error = ClientError::protocol(error);
    let by_status = match parts.status.as_u16() {
        401 | 403 => Some(ClientErrorKind::AuthFailed),
        429 | 503 => Some(ClientErrorKind::Busy),
        _ => None,
    };
    if let Some(kind) = by_status {
        error.kind = kind;
        if unnamed {
            error.code = Some(parts.status.as_u16().into());
        }
    }
    refusal::annotate(&mut error, &parts.headers);
    error
}

/// An answer that cannot be read.
pub(crate) fn invalid(url: &Url, error: &A2aError) -> ClientError {
    let text = format!("{}: {}", peer_of(url), crate::plain(&error.message));
    ClientError::new(ClientErrorKind::InvalidAnswer, text)
}

/// The dialect has no such operation: known before anything is sent.
pub(crate) fn not_in_dialect(endpoint: &Endpoint, method: Method) -> ClientError {
    let text = format!(
        "{} does not exist in the protocol version that {} speaks",
        method.name(),
        peer_of(&endpoint.url)
    );
    ClientError::protocol(A2aError::new(ErrorKind::UnsupportedOperation, text))
}

pub(crate) fn version_header() -> HeaderName {
    HeaderName::from_bytes(Version::HEADER.as_bytes()).expect("a constant header name")
}

pub(crate) fn version_value(version: Version) -> HeaderValue {
    HeaderValue::from_str(&version.to_string()).expect("digits and a dot")
}
