//! The fleet plugin's dialect below `/fleet/a2a/AGENT`: JSON-RPC, REST, streams and webhooks, with
//! the statuses of its errors on all of them.
//!
//! `desk` works on requests and knows tasks by the ids their callers chose; `json_rpc` and `rest`
//! read and answer them; `events` writes streams. At the addresses of 1.0 `jsonrpc` hands over what
//! is of this dialect (`json_rpc::serve_call`, `follow`).

mod desk;
mod events;
mod follow;
mod json_rpc;
mod push;
mod rest;

use http::header::{HeaderName, HeaderValue};
use http::{Method as Verb, StatusCode};
use nuncio_wire::bindings::jsonrpc::RequestId;
use nuncio_wire::bindings::rest::{self as paths, Resource};
use nuncio_wire::dialects::hermes_fleet;
use nuncio_wire::{A2aError, Method};

use super::answer;
use super::rest::BodyRule;
use crate::serve::HttpResponse;

pub(super) use events::FleetFrames;
pub(super) use follow::Follower;
pub use json_rpc::serve;
pub(super) use json_rpc::{is_asked, serve_call};
pub use rest::serve_operation;

/// What is asked below an agent's address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target<'a> {
    /// The public card.
    Card,
    /// Whether the agent is there.
    Health,
    /// JSON-RPC: what is posted to any path without an operation.
    JsonRpc,
    /// An operation over REST.
    Operation(Method, Resource<'a>),
}

impl<'a> Target<'a> {
    /// What verb and path segments ask for; `None`: nothing is there.
    #[must_use]
    pub fn find(verb: &Verb, below: &[&'a str]) -> Option<Self> {
        let reads = *verb == Verb::GET || *verb == Verb::HEAD;
        match below {
            [".well-known", "agent.json"] if reads => return Some(Self::Card),
            ["health"] if reads => return Some(Self::Health),
            _ => {}
        }
        let verb = paths::Verb::from_name(verb.as_str());
        let operation = Resource::find(below)
            .zip(verb)
            .and_then(|(resource, verb)| Some((resource.operation(verb)?, resource)));
        match operation {
            Some((method, resource)) => Some(Self::Operation(method, resource)),
            None if verb == Some(paths::Verb::Post) => Some(Self::JsonRpc),
            None => None,
        }
    }

    /// Whether the request has a body, and whether it may be left out.
    #[must_use]
    pub fn body(&self, verb: &Verb) -> BodyRule {
        match self {
            _ if *verb != Verb::POST => BodyRule::None,
            Self::Operation(Method::CancelTask | Method::SubscribeToTask, _) => BodyRule::Optional,
            _ => BodyRule::Required,
        }
    }
}

/// Header that shows who may use push configurations.
const HMAC_KEY: HeaderName = HeaderName::from_static("x-hmac-key");
/// Header that names a stream.
const STREAM_ID: HeaderName = HeaderName::from_static("x-stream-id");

/// An error with its status, as both bindings of this dialect have it.
fn error(id: &RequestId, error: &A2aError) -> HttpResponse {
    let status = StatusCode::from_u16(hermes_fleet::http_status(error.kind));
    let mut body = Vec::with_capacity(256);
    hermes_fleet::write_error(id, error, &mut body);
    let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    answer::with_error_headers(answer::json(status, body), error)
}

/// A refusal before anything was read; `status` where it is not the one that the error's kind has.
#[must_use]
pub fn refused(refusal: &A2aError, status: Option<StatusCode>) -> HttpResponse {
    let mut response = error(&RequestId::null(), refusal);
    if let Some(status) = status {
        *response.status_mut() = status;
    }
    response
}

/// `GET …/health` of an agent.
#[must_use]
pub fn health(agent: &crate::agents::ServedAgent) -> HttpResponse {
    #[derive(serde::Serialize)]
    struct Health<'a> {
        status: &'a str,
        agent: &'a str,
        version: &'a str,
    }
    let health = Health {
        status: "ok",
        agent: &agent.name,
        version: env!("CARGO_PKG_VERSION"),
    };
    let body = serde_json::to_vec(&health).expect("texts have a JSON form");
    answer::json(StatusCode::OK, body)
}

fn header_value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).expect("ids of ours are ASCII")
}
