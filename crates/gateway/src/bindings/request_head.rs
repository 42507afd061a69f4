//! What a request's head tells an operation, the same over every binding on HTTP: version,
//! extensions, idempotency key, place in a stream.

use http::header::HeaderName;
use http::{HeaderMap, HeaderValue};
use nuncio_wire::bindings::sse::EventId;
use nuncio_wire::dialects::{Dialect, Negotiation};
use nuncio_wire::{A2aError, Version};
use percent_encoding::percent_decode_str;
use sha2::{Digest as _, Sha256};
use std::borrow::Cow;
use std::sync::Arc;

use super::answer;
use crate::agents::ServedAgent;
use crate::operations::{Asked, Operations};
use crate::security::Hops;
use crate::serve::HttpResponse;
use crate::serve::service::{Head, header};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// The header of 1.0, then that of 0.3; clients of one send the other's, too.
const EXTENSIONS: [HeaderName; 2] = [
    HeaderName::from_static("a2a-extensions"),
    HeaderName::from_static("x-a2a-extensions"),
];
/// Longest idempotency key, in bytes; longer ones are refused, never cut.
const MAX_KEY_BYTES: usize = 255;
/// Most extensions of one request that are looked at; no client uses a tenth of them.
const MAX_EXTENSIONS: usize = 100;

/// What the gateway is willing to read.
pub(super) fn negotiation(operations: &Operations) -> Negotiation {
    let compat = &operations.config().compat;
    Negotiation {
        strict_version: compat.strict_version,
        v0_3: compat.v0_3,
        ..Negotiation::default()
    }
}

/// The version of the header, else of the query (specification 3.6.1).
pub(super) fn requested_version<'a>(head: &Head<'a>) -> Option<Cow<'a, str>> {
    if let Some(version) = head.headers.get(&answer::A2A_VERSION) {
        // What is no text is no version either, and must not pass for an absent one.
        return Some(version.to_str().map_or(Cow::Borrowed("?"), Cow::Borrowed));
    }
    let pairs = head.query?.split('&');
    let value = pairs
        .filter_map(|pair| pair.split_once('='))
        .find_map(|(name, value)| name.eq_ignore_ascii_case(Version::HEADER).then_some(value))?;
    Some(percent_decode_str(value).decode_utf8_lossy())
}

/// What is asked besides the parameters, of which `payload` are the bytes as they came.
pub(super) fn asked(
    head: &Head<'_>,
    agent: Arc<ServedAgent>,
    agent_is_named: bool,
    dialect: Dialect,
    payload: &[u8],
) -> Result<Asked, A2aError> {
    Ok(Asked {
        agent_is_named,
        payload_hash: Sha256::digest(payload).into(),
        idempotency_key: idempotency_key(head.headers)?,
        hops: Hops::of(head.headers),
        last_event_id: header(head.headers, &LAST_EVENT_ID)
            .and_then(|id| id.parse::<EventId>().ok()),
        extensions: extensions(head.headers),
        ..Asked::plain(head.caller.clone(), agent, dialect)
    })
}

/// The key of a request that may be repeated.
pub(super) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, A2aError> {
    let Some(value) = headers.get(&IDEMPOTENCY_KEY) else {
        return Ok(None);
    };
    match value.to_str() {
        Ok(key) if !key.is_empty() && key.len() <= MAX_KEY_BYTES => Ok(Some(key.to_owned())),
        _ => {
            let text = format!("must be 1 to {MAX_KEY_BYTES} visible ASCII characters");
            Err(A2aError::invalid_field("Idempotency-Key", text))
        }
    }
}

/// The URIs of the extensions a client supports: lists with commas, in any number of headers.
fn extensions(headers: &HeaderMap) -> Vec<String> {
    let values = EXTENSIONS
        .into_iter()
        .flat_map(|name| headers.get_all(name));
    let mut listed: Vec<String> = Vec::new();
    for uri in values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|list| list.split(','))
        .map(str::trim)
        .filter(|uri| !uri.is_empty())
        .take(MAX_EXTENSIONS)
    {
        if !listed.iter().any(|known| known == uri) {
            listed.push(uri.to_owned());
        }
    }
    listed
}

/// Names the dialect's version and the extensions in force on an answer (specification 3.2.6).
pub(super) fn with_service_parameters(
    mut response: HttpResponse,
    dialect: Dialect,
    activated: &[String],
) -> HttpResponse {
    let headers = response.headers_mut();
    headers.insert(answer::A2A_VERSION, version_of(dialect));
    let list = activated.join(", ");
    if let Ok(value) = HeaderValue::from_str(&list)
        && !list.is_empty()
    {
        let [name, old_name] = EXTENSIONS;
        if dialect == Dialect::V0_3 {
            headers.insert(old_name, value.clone());
        }
        headers.insert(name, value);
    }
    response
}

/// What `A2A-Version` says on an answer in this dialect.
pub(super) fn version_of(dialect: Dialect) -> HeaderValue {
    match dialect {
        Dialect::V0_3 => HeaderValue::from_static("0.3"),
        _ => answer::V1_0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_are_collected_from_lists_and_repeated_headers() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("a2a-extensions", "urn:a, urn:b,"),
            ("a2a-extensions", "urn:c"),
            ("x-a2a-extensions", "urn:b,urn:d"),
        ] {
            headers.append(name, value.parse().unwrap());
        }
        assert_eq!(extensions(&headers), ["urn:a", "urn:b", "urn:c", "urn:d"]);
    }
}
