//! HTTP+JSON (specification 11): 1.0 below each agent's address, 0.3 below its `/v1`.
//!
//! Paths have been matched when a request comes here; what stands in path, query and body is put
//! together by `nuncio_wire::bindings::rest`.

use http::header::{CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, StatusCode};
use nuncio_wire::bindings::rest::{self, ErrorShape, Form, Input, Resource};
use nuncio_wire::dialects::{self, Dialect};
use nuncio_wire::{A2aError, Method, Response, StatusTable};
use std::borrow::Cow;
use std::sync::Arc;

use super::answer;
use super::media_type::MediaType;
use super::request_head::{asked, negotiation, requested_version, with_service_parameters};
use super::stream::{self, Frames};
use crate::agents::ServedAgent;
use crate::operations::{Operations, Reply};
use crate::serve::HttpResponse;
use crate::serve::service::{Head, header};

/// The operation that verb and path ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target<'a> {
    /// Which operation.
    pub operation: Method,
    /// What the path names.
    pub resource: Resource<'a>,
    /// The tenant in front of it.
    pub tenant: Option<Cow<'a, str>>,
    /// Whether the path is one of 0.3.
    pub is_old: bool,
}

impl Target<'_> {
    /// Whether the request has a body, and whether it may be left out.
    #[must_use]
    pub fn body(&self, is_post: bool) -> BodyRule {
        match self.operation {
            _ if !is_post => BodyRule::None,
            Method::CancelTask | Method::SubscribeToTask => BodyRule::Optional,
            _ => BodyRule::Required,
        }
    }
}

/// Whether a request has a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyRule {
    /// It has none, or none that is read.
    None,
    /// It may be left out, with its type.
    Optional,
    /// It is read whatever its type, and what it says is ignored.
    Untyped,
    /// It must be there and be JSON.
    Required,
}

/// How answers to one request are worded, refusals included.
#[derive(Clone, Copy, Debug)]
pub struct Wording {
    /// The answer's media type.
    pub media_type: MediaType,
    /// Which release's statuses errors have.
    pub table: StatusTable,
    /// Whether errors also carry what clients of 0.3 look for.
    pub is_old: bool,
}

/// Answers one request to `agent`; `body` is `None` for verbs whose parameters are in the query.
pub async fn serve(
    operations: &Operations,
    head: &Head<'_>,
    target: &Target<'_>,
    agent: Arc<ServedAgent>,
    agent_is_named: bool,
    body: Option<&[u8]>,
) -> HttpResponse {
    let wording = Wording::of(operations, Some(&agent), head.headers, target.is_old);
    let served = run(
        operations,
        head,
        target,
        agent,
        agent_is_named,
        body,
        wording.media_type,
    );
    served
        .await
        .unwrap_or_else(|error| wording.error(&error, None))
}

async fn run(
    operations: &Operations,
    head: &Head<'_>,
    target: &Target<'_>,
    agent: Arc<ServedAgent>,
    agent_is_named: bool,
    body: Option<&[u8]>,
    media_type: MediaType,
) -> Result<HttpResponse, A2aError> {
    let version = requested_version(head);
    let policy = negotiation(operations);
    let dialect = dialects::negotiate_rest(target.is_old, version.as_deref(), &policy)?;
    let message_id = agent.message_id();
    let mut asked = asked(
        head,
        agent,
        agent_is_named,
        dialect,
        body.unwrap_or_default(),
    )?;
    let input = body.map_or(Input::Query(head.query), Input::Body);
    let tenant = target.tenant.as_deref();
    let (request, form) = rest::read_request_with(
        dialect,
        target.operation,
        &target.resource,
        tenant,
        input,
        message_id.as_deref(),
    )?;
    let form = form.for_caller(header(head.headers, &USER_AGENT));
    if target.operation == Method::GetExtendedAgentCard {
        asked.base = Some(head.base(operations.config()));
    }
    let activated = operations.activated_extensions(&asked, &request);
    let response = match operations.run(asked, request).await? {
        Reply::Answer(response) | Reply::AnswerFrom(response, _) => {
            result(target.operation, &response, form, media_type)
        }
        Reply::Stream(subscription, _) => stream::events(subscription, Frames::Rest(form)),
        Reply::MessageStream(message) => stream::message(&message, &Frames::Rest(form)),
    };
    Ok(with_service_parameters(response, dialect, &activated))
}

fn result(method: Method, response: &Response, form: Form, media_type: MediaType) -> HttpResponse {
    let mut body = Vec::with_capacity(1024);
    form.write_response(method, response, &mut body);
    let mut response = answer::json(StatusCode::OK, body);
    response
        .headers_mut()
        .insert(CONTENT_TYPE, media_type.header());
    response
}

impl Wording {
    /// The wording for a request with these headers, to `agent` if its path names one.
    #[must_use]
    pub fn of(
        operations: &Operations,
        agent: Option<&ServedAgent>,
        headers: &HeaderMap,
        is_old: bool,
    ) -> Self {
        let config = operations.config();
        let of_gateway = || config.compat.statuses.into();
        Self {
            media_type: MediaType::of_answer(headers),
            table: agent.map_or_else(of_gateway, |agent| agent.statuses(config)),
            is_old,
        }
    }

    /// An error; `status` where it is not the one that the error's kind has.
    #[must_use]
    pub fn error(self, error: &A2aError, status: Option<StatusCode>) -> HttpResponse {
        let own = StatusCode::from_u16(error.kind.http_status(self.table));
        let status = status.unwrap_or_else(|| own.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR));
        let shape = ErrorShape {
            status: status.as_u16(),
            table: self.table,
            for_v0_3: self.is_old,
        };
        let mut body = Vec::with_capacity(256);
        rest::write_error(error, shape, &mut body);
        let mut response = answer::json(status, body);
        response
            .headers_mut()
            .insert(CONTENT_TYPE, self.media_type.header());
        let dialect = if self.is_old {
            Dialect::V0_3
        } else {
            Dialect::V1
        };
        answer::with_error_headers(with_service_parameters(response, dialect, &[]), error)
    }
}
