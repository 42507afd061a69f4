//! One operation of A2A over gRPC.

use bytes::Bytes;
use nuncio_wire::bindings::grpc::GrpcStatus;
use nuncio_wire::dialects::protobuf::Package;
use nuncio_wire::dialects::{self, Dialect};
use nuncio_wire::{A2aError, ErrorKind, Method, Request, Response, StreamResponse};
use std::pin::pin;
use std::sync::Arc;

use super::deadline::Deadline;
use super::events::{self, Events};
use super::outcome;
use crate::agents::ServedAgent;
use crate::bindings::cards::Cards;
use crate::bindings::request_head::{
    asked, negotiation, requested_version, with_service_parameters,
};
use crate::card::BaseUrl;
use crate::operations::{Operations, Reply};
use crate::serve::HttpResponse;
use crate::serve::service::Head;

/// What a call is served with.
#[derive(Clone, Copy)]
pub struct Desk<'a> {
    /// The operations.
    pub operations: &'a Operations,
    /// The public cards.
    pub cards: &'a Cards,
}

/// Answers one call; `body` is the whole of it. Without a tenant it is for the agent of the host, else
/// for the default one.
pub async fn serve(
    desk: Desk<'_>,
    head: &Head<'_>,
    (package, method): (Package, Method),
    body: Bytes,
) -> HttpResponse {
    match run(desk, head, package, method, body).await {
        Ok(response) => response,
        Err(status) => with_service_parameters(outcome::refused(&status), package.dialect(), &[]),
    }
}

async fn run(
    desk: Desk<'_>,
    head: &Head<'_>,
    package: Package,
    method: Method,
    body: Bytes,
) -> Result<HttpResponse, GrpcStatus> {
    let operations = desk.operations;
    let length = body.len();
    let message = outcome::single_message(body, operations.config().server.max_body_bytes)?;
    let agents = operations.agents();
    let agent = head.host_agent.clone().or_else(|| agents.default_agent());
    // Whom the call is for says how a refusal is worded, so it is looked at before anything is wrong.
    let tenant = package.tenant_of(method, &message);
    let asked_agent = tenant.and_then(|tenant| agents.by_tenant(&tenant));
    let asked_agent = asked_agent.or_else(|| agent.clone());
    let table = asked_agent.as_ref().map_or_else(
        || operations.config().compat.statuses.into(),
        |agent| agent.statuses(operations.config()),
    );
    let refuse = |error: A2aError| GrpcStatus::of_call(&error, table, package);
    let deadline = Deadline::of(head.headers).map_err(refuse)?;
    let version = requested_version(head);
    let policy = negotiation(operations);
    let dialect = dialects::negotiate_grpc(package, version.as_deref(), &policy).map_err(refuse)?;
    let message_id = asked_agent.and_then(|agent| agent.message_id());
    let request = package
        .read_request_with(method, message, message_id.as_deref())
        .map_err(refuse)?;
    let agent = agent.ok_or_else(|| {
        let text = "This gateway serves no agent.";
        refuse(A2aError::new(ErrorKind::MethodNotFound, text))
    })?;
    let payload = payload(&request, length);
    let is_named = head.host_agent.is_some();
    let mut asked = asked(head, agent.clone(), is_named, dialect, &payload).map_err(refuse)?;
    let base = (method == Method::GetExtendedAgentCard).then(|| head.base(operations.config()));
    asked.base.clone_from(&base);
    let activated = operations.activated_extensions(&asked, &request);
    let work = pin!(operations.run(asked, request));
    let reply = deadline.wait(work).await?;
    let reply = reply.or_else(|error| public_card(desk, package, base, &agent, error));
    let response = match reply.map_err(refuse)? {
        Reply::Answer(response) | Reply::AnswerFrom(response, _) => {
            outcome::message(&package.write_response(response).map_err(refuse)?)
        }
        Reply::Stream(subscription, _) => {
            events::stream(Events::new(subscription, package, deadline, table))
        }
        Reply::MessageStream(message) => {
            let event = StreamResponse::Message(Arc::unwrap_or_clone(message));
            outcome::message(&package.write_event(event, true).map_err(refuse)?)
        }
    };
    Ok(with_service_parameters(response, dialect, &activated))
}

/// What tells a repeated send from another one. The bytes of a message would not: maps have no order
/// in protobuf. `length` is that of those bytes.
fn payload(request: &Request, length: usize) -> Vec<u8> {
    // JSON's names and quotes make as much again of a short message.
    let mut payload = Vec::with_capacity(2 * length);
    if matches!(
        request,
        Request::SendMessage(_) | Request::SendStreamingMessage(_)
    ) {
        Dialect::V1.write_params(request, &mut payload);
    }
    payload
}

/// In 0.3 the card that is asked for is the public one where there is no other.
fn public_card(
    desk: Desk<'_>,
    package: Package,
    asked_at: Option<BaseUrl>,
    agent: &Arc<ServedAgent>,
    error: A2aError,
) -> Result<Reply, A2aError> {
    let no_other = matches!(
        error.kind,
        ErrorKind::UnsupportedOperation | ErrorKind::ExtendedAgentCardNotConfigured
    );
    if let Some(base) = asked_at.filter(|_| package == Package::V0_3 && no_other) {
        let card = desk.cards.of_agent(&base, agent);
        return Ok(Reply::Answer(Response::AgentCard(Box::new(card))));
    }
    Err(error)
}
