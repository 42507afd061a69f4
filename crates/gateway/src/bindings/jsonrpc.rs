//! JSON-RPC (specification 9): 1.0, the slash names and 0.3 at one address.

use http::StatusCode;
use http::header::ACCEPT;
use nuncio_wire::bindings::jsonrpc::{self, Call, RequestId};
use nuncio_wire::dialects::{self, Dialect};
use nuncio_wire::{A2aError, Method};
use std::sync::Arc;

use super::answer;
use super::fleet;
use super::request_head::{asked, negotiation, requested_version, with_service_parameters};
use super::stream::{self, Frames};
use crate::agents::ServedAgent;
use crate::operations::{Asked, Operations, Reply};
use crate::serve::HttpResponse;
use crate::serve::service::{Head, header};

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
    if fleet::is_asked(operations, head, &call) {
        // Boxed, so that the usual call does not carry room for the rare one.
        return Box::pin(fleet::serve_call(operations, head, agent, &call)).await;
    }
    let version = requested_version(head);
    let policy = negotiation(operations);
    let negotiated = dialects::negotiate(&call.method, version.as_deref(), call.params, &policy);
    let (dialect, method) = match negotiated {
        Ok(negotiated) => negotiated,
        Err(refused) => return error(&call.id, &refused, Dialect::V1),
    };
    let follows = dialects::follows_task(dialect, method, version.as_deref());
    let payload = call.params.unwrap_or_default().as_bytes();
    let asked = asked(head, agent.clone(), agent_is_named, dialect, payload);
    let mut served = run(operations, head, asked, method, &call).await;
    if dialect == Dialect::V1 {
        let follower = fleet::Follower {
            operations,
            head,
            agent: &agent,
            call: &call,
        };
        served = match follower.take(method, served).await {
            Ok(response) => return response,
            Err(not_its_own) => not_its_own,
        };
    }
    match served {
        Ok((reply, activated)) => {
            let (response, dialect) = answer_with(reply, method, call.id, dialect, follows);
            with_service_parameters(response, dialect, &activated)
        }
        Err(refused) if dialect == Dialect::V0_3 && wants_only_events(head, method) => {
            with_service_parameters(stream::error(&call.id, &refused), dialect, &[])
        }
        Err(refused) => error(&call.id, &refused, dialect),
    }
}

/// The reply, and the extensions in force for it.
async fn run(
    operations: &Operations,
    head: &Head<'_>,
    asked: Result<Asked, A2aError>,
    method: Method,
    call: &Call<'_>,
) -> Result<(Reply, Vec<String>), A2aError> {
    let mut asked = asked?;
    if method == Method::GetExtendedAgentCard {
        asked.base = Some(head.base(operations.config()));
    }
    let message_id = asked.agent.message_id();
    let request = asked
        .dialect
        .read_request_with(method, call.params, message_id.as_deref())?;
    call.refuse_notification()?;
    let activated = operations.activated_extensions(&asked, &request);
    Ok((operations.run(asked, request).await?, activated))
}

/// Clients of 0.3 that ask for a stream and name nothing else they take: they read an error from
/// its first frame and cannot read a plain one.
fn wants_only_events(head: &Head<'_>, method: Method) -> bool {
    let accepted = header(head.headers, &ACCEPT).unwrap_or_default();
    method.is_streaming() && accepted.trim().eq_ignore_ascii_case("text/event-stream")
}

/// The answer and the dialect it is in.
fn answer_with(
    reply: Reply,
    method: Method,
    id: RequestId,
    dialect: Dialect,
    follows_task: bool,
) -> (HttpResponse, Dialect) {
    // Callers of the fleet name methods as 1.0 does, so whoever uses an old name is none.
    let follows = |of_task: Dialect| follows_task && of_task != Dialect::Fleet;
    let chosen = |of_task: Dialect| if follows(of_task) { of_task } else { dialect };
    match reply {
        Reply::Answer(response) => (result(method, &response, &id, dialect), dialect),
        Reply::AnswerFrom(response, of_task) => {
            let dialect = chosen(of_task);
            (result(method, &response, &id, dialect), dialect)
        }
        Reply::Stream(subscription, of_task) => {
            let dialect = chosen(of_task);
            let frames = Frames::JsonRpc { id, dialect };
            (stream::events(subscription, frames), dialect)
        }
        Reply::MessageStream(message) => {
            let frames = Frames::JsonRpc { id, dialect };
            (stream::message(&message, &frames), dialect)
        }
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
    answer::json(StatusCode::OK, body)
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
    answer::with_error_headers(with_service_parameters(response, dialect, &[]), error)
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
