//! What only the operator may ask of a running gateway: `/admin` at the control socket.
//!
//! Everything else that is asked there is A2A, over all owners' tasks.

mod agents;
mod conversations;
mod push;

use http::{Method, Request, StatusCode};
use hyper::body::Incoming;
use serde::Serialize;
use std::net::SocketAddr;
use std::sync::Arc;

use super::HttpResponse;
use super::service::{Peer, Service};
use crate::bindings::answer;
use crate::card::BaseUrl;
use crate::operations::Operations;

/// Answers the operator.
pub struct ControlDesk {
    /// What is served.
    pub operations: Arc<Operations>,
    /// Serves A2A here as it does on the network.
    pub service: Arc<Service>,
    /// Where it is served: the first address.
    pub at: SocketAddr,
    /// The same as URL.
    pub base: BaseUrl,
}

impl ControlDesk {
    /// Answers one request; never fails.
    pub async fn answer(&self, request: Request<Incoming>) -> HttpResponse {
        let path = request.uri().path().to_owned();
        let segments: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        match (request.method(), &segments[..]) {
            (&Method::GET, ["admin", "agents"]) => self.agents(),
            (&Method::POST, ["admin", "agents", agent, verb]) => {
                match self.operations.agents().get(agent) {
                    Some(agent) => self.act_on(agent, verb).await,
                    None => no_agent(agent),
                }
            }
            (&Method::GET, ["admin", "conversations"]) => {
                self.conversations(request.uri().query()).await
            }
            (&Method::GET, ["admin", "push"]) => self.push_troubles(request.uri().query()).await,
            (&Method::POST, ["admin", "push", verb]) => {
                self.mend_push(verb, request.uri().query()).await
            }
            (_, ["admin", ..]) => {
                answer::refusal(StatusCode::NOT_FOUND, "this gateway knows no such request")
            }
            _ => {
                let peer = Peer {
                    from: self.at,
                    at: self.at,
                };
                self.service.serve_operator(peer, request).await
            }
        }
    }
}

fn no_agent(name: &str) -> HttpResponse {
    let text = format!("no agent `{name}` is served here; see `nuncio agents list`");
    answer::refusal(StatusCode::NOT_FOUND, &text)
}

fn json<T: Serialize>(value: &T) -> HttpResponse {
    let body = serde_json::to_vec(value).expect("plain fields have a JSON form");
    answer::json(StatusCode::OK, body)
}
