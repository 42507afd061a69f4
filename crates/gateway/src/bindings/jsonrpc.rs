//! JSON-RPC (specification 9): 1.0, the slash names and 0.3 at one address.

use http::header::{ACCEPT, HeaderName, HeaderValue};
use http::{HeaderMap, StatusCode};
use nuncio_wire::bindings::jsonrpc::{self, Call, RequestId};
use nuncio_wire::bindings::sse::EventId;
use nuncio_wire::dialects::{self, Dialect, Negotiation};
use nuncio_wire::{A2aError, Method, Version};
use percent_encoding::percent_decode_str;
use sha2::{Digest as _, Sha256};
use std::borrow::Cow;
use std::sync::Arc;

use super::answer;
use super::stream::{self, Frames};
use crate::agents::ServedAgent;
use crate::operations::{Asked, Operations, Reply};
use crate::serve::HttpResponse;
use crate::serve::service::{Head, header};

const A2A_VERSION: HeaderName = HeaderName::from_static("a2a-version");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// Longest idempotency key, in bytes; longer ones are refused, never cut.
const MAX_KEY_BYTES: usize = 255;

/// Answers one JSON-RPC request to `agent`.
pub async fn serve(
    operations: &Operations,
    head: &Head<'_>,
    agent: Arc<ServedAgent>,
    agent_is_named: bool,
    body: &[u8],
) -> HttpResponse {
    let call = match jsonrpc::read_call(body) {
        Ok(call) => call,
        Err(refused) => return error(&refused.id, &refused.error, Dialect::V1),
    };
    let version = requested_version(head);
    let policy = negotiation(operations);
    let negotiated = dialects::negotiate(&call.method, version.as_deref(), call.params, &policy);
    let (dialect, method) = match negotiated {
        Ok(negotiated) => negotiated,
        Err(refused) => return error(&call.id, &refused, Dialect::V1),
    };
    let follows = dialects::follows_task(dialect, method, version.as_deref());
    let asked = asked(head, agent, agent_is_named, dialect, &call);
    match run(operations, asked, method, &call).await {
        Ok(reply) => answer_with(reply, method, call.id, dialect, follows),
        Err(refused) if dialect == Dialect::V0_3 && wants_only_events(head, method) => {
            stream::error(&call.id, &refused, dialect)
        }
        Err(refused) => error(&call.id, &refused, dialect),
    }
}

async fn run(
    operations: &Operations,
    asked: Result<Asked, A2aError>,
    method: Method,
    call: &Call<'_>,
) -> Result<Reply, A2aError> {
    let asked = asked?;
    let request = asked.dialect.read_request(method, call.params)?;
    call.refuse_notification()?;
    operations.run(asked, request).await
}

/// Clients of 0.3 that ask for a stream and name nothing else they take: they read an error from
/// its first frame and cannot read a plain one.
fn wants_only_events(head: &Head<'_>, method: Method) -> bool {
    let accepted = header(head.headers, &ACCEPT).unwrap_or_default();
    method.is_streaming() && accepted.trim().eq_ignore_ascii_case("text/event-stream")
}

/// What the gateway is willing to read.
fn negotiation(operations: &Operations) -> Negotiation {
    let compat = &operations.config().compat;
    Negotiation {
        strict_version: compat.strict_version,
        v0_3: compat.v0_3,
        ..Negotiation::default()
    }
}

/// The version of the header, else of the query (specification 3.6.1).
fn requested_version<'a>(head: &Head<'a>) -> Option<Cow<'a, str>> {
    if let Some(version) = head.headers.get(&A2A_VERSION) {
        // What is no text is no version either, and must not pass for an absent one.
        return Some(version.to_str().map_or(Cow::Borrowed("?"), Cow::Borrowed));
    }
    let pairs = head.query?.split('&');
    let value = pairs
        .filter_map(|pair| pair.split_once('='))
        .find_map(|(name, value)| name.eq_ignore_ascii_case(Version::HEADER).then_some(value))?;
    Some(percent_decode_str(value).decode_utf8_lossy())
}

fn asked(
    head: &Head<'_>,
    agent: Arc<ServedAgent>,
    agent_is_named: bool,
    dialect: Dialect,
    call: &Call<'_>,
) -> Result<Asked, A2aError> {
    Ok(Asked {
        agent_is_named,
        payload_hash: Sha256::digest(call.params.unwrap_or_default().as_bytes()).into(),
        idempotency_key: idempotency_key(head.headers)?,
        last_event_id: header(head.headers, &LAST_EVENT_ID)
            .and_then(|id| id.parse::<EventId>().ok()),
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

fn answer_with(
    reply: Reply,
    method: Method,
    id: RequestId,
    dialect: Dialect,
    follows_task: bool,
) -> HttpResponse {
    let chosen = |of_task: Dialect| if follows_task { of_task } else { dialect };
    match reply {
        Reply::Answer(response) => result(method, &response, &id, dialect),
        Reply::AnswerFrom(response, of_task) => result(method, &response, &id, chosen(of_task)),
        Reply::Stream(subscription, of_task) => stream::events(
            subscription,
            Frames {
                id,
                dialect: chosen(of_task),
            },
        ),
        Reply::MessageStream(message) => stream::message(&message, &Frames { id, dialect }),
    }
}

fn result(
    method: Method,
    response: &nuncio_wire::Response,
    id: &RequestId,
    dialect: Dialect,
) -> HttpResponse {
    let mut body = Vec::with_capacity(1024);
    jsonrpc::write_result(id, &mut body, |out| {
        dialect.write_response(method, response, out)
    });
    with_version(answer::json(StatusCode::OK, body), dialect)
}

/// An error is HTTP 200, but for what proxies and client libraries must see (specification 9.5).
pub(super) fn error(id: &RequestId, error: &A2aError, dialect: Dialect) -> HttpResponse {
    let status = error
        .kind
        .transport_status()
        .and_then(|status| StatusCode::from_u16(status).ok());
    let mut body = Vec::with_capacity(256);
    jsonrpc::write_error(id, error, &mut body);
    let response = answer::json(status.unwrap_or(StatusCode::OK), body);
    answer::with_error_headers(with_version(response, dialect), error)
}

/// A refusal before the body was read.
#[must_use]
pub fn refused(refusal: &A2aError, status: Option<StatusCode>) -> HttpResponse {
    let mut response = error(&RequestId::null(), refusal, Dialect::V1);
    if let Some(status) = status {
        *response.status_mut() = status;
    }
    response
}

fn with_version(mut response: HttpResponse, dialect: Dialect) -> HttpResponse {
    response
        .headers_mut()
        .insert(answer::A2A_VERSION, version_of(dialect));
    response
}

/// What `A2A-Version` says on an answer in this dialect.
pub(super) fn version_of(dialect: Dialect) -> HeaderValue {
    match dialect {
        Dialect::V0_3 => HeaderValue::from_static("0.3"),
        _ => answer::V1_0,
    }
}
