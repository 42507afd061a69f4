//! One request through the layers, in this order: head, host and origin, path, identity, body.
//! Then it belongs to its binding.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName};
use http::{HeaderMap, Method, Request, StatusCode};
use hyper::body::Incoming;
use nuncio_wire::{A2aError, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;

use super::read_body::{self, BodyRefused};
use super::routes::{Route, route};
use super::socket_guard::Patience;
use super::{HttpResponse, head};
use crate::agents::ServedAgent;
use crate::bindings::{answer, cards::Cards, jsonrpc, openfang};
use crate::config::ServerConfig;
use crate::operations::Operations;
use crate::security::{Authenticator, Caller, Denied, HostCheck};

/// The two ends of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    /// Who connected.
    pub from: SocketAddr,
    /// Our address it connected to.
    pub at: SocketAddr,
}

/// Serves requests of the network.
pub struct Service {
    operations: Arc<Operations>,
    cards: Arc<Cards>,
    authenticator: Authenticator,
    hosts: HostCheck,
}

/// The head of a request, with who sent it.
pub struct Head<'a> {
    /// Its headers.
    pub headers: &'a HeaderMap,
    /// The query of its URL.
    pub query: Option<&'a str>,
    /// Who sent it, as authenticated.
    pub caller: Caller,
}

impl Service {
    /// A service over these operations, answering to these hosts.
    #[must_use]
    pub fn new(operations: Arc<Operations>, cards: Arc<Cards>, hosts: HostCheck) -> Arc<Self> {
        let authenticator = Authenticator::new(&operations.config().security);
        Arc::new(Self {
            operations,
            cards,
            authenticator,
            hosts,
        })
    }

    fn settings(&self) -> &ServerConfig {
        &self.operations.config().server
    }

    pub(super) fn patience(&self) -> Patience {
        let settings = self.settings();
        Patience {
            head: settings.header_timeout.get(),
            idle: settings.idle_timeout.get(),
        }
    }

    /// Answers one request; never fails.
    pub async fn serve(&self, peer: Peer, request: Request<Incoming>) -> HttpResponse {
        if let Err((status, text)) = head::check(&request, &self.hosts) {
            return answer::refusal(status, text);
        }
        let address = peer.from.ip();
        self.route(peer, request, |headers| {
            self.authenticator.caller(headers, address)
        })
        .await
    }

    /// Answers one request of somebody who needs no credential: the operator at the control socket.
    pub async fn serve_operator(&self, peer: Peer, request: Request<Incoming>) -> HttpResponse {
        self.route(peer, request, |_| Ok(Caller::operator())).await
    }

    async fn route(
        &self,
        peer: Peer,
        request: Request<Incoming>,
        identify: impl FnOnce(&HeaderMap) -> Result<Caller, Denied>,
    ) -> HttpResponse {
        let (parts, body) = request.into_parts();
        let head_only = parts.method == Method::HEAD;
        let response = match route(&parts.method, parts.uri.path()) {
            Route::NotFound => {
                answer::refusal(StatusCode::NOT_FOUND, "there is nothing at this path")
            }
            Route::NotAllowed(allowed) => answer::not_allowed(allowed),
            Route::Health => answer::text_json(r#"{"status":"ok"}"#),
            Route::Ready => answer::text_json(r#"{"status":"ready"}"#),
            Route::Card(agent) => self.cards.card(peer, agent.as_deref(), &parts.headers),
            Route::LegacyCard(agent) => {
                self.cards
                    .legacy_card(peer, agent.as_deref(), &parts.headers)
            }
            Route::AgentList => self.cards.agent_list(peer),
            route => match identify(&parts.headers) {
                Ok(caller) => self.serve_caller(caller, &parts, route, body).await,
                Err(denied) => self.denied(&route, denied),
            },
        };
        if head_only {
            answer::without_body(response)
        } else {
            response
        }
    }

    /// Everything that needs to know who asks.
    async fn serve_caller(
        &self,
        caller: Caller,
        parts: &http::request::Parts,
        route: Route<'_>,
        body: Incoming,
    ) -> HttpResponse {
        let head = Head {
            headers: &parts.headers,
            query: parts.uri.query(),
            caller,
        };
        if let Route::LegacyGet(id) = &route {
            return openfang::get(&self.operations, &head, id).await;
        }
        let body = match self.read_body(&parts.headers, &route, body).await {
            Ok(body) => body,
            Err(refused) => return *refused,
        };
        match route {
            Route::JsonRpc(agent) => match self.agent(agent.as_deref()) {
                Some(found) => {
                    jsonrpc::serve(&self.operations, &head, found, agent.is_some(), &body).await
                }
                None => no_agent(),
            },
            Route::Legacy(agent) => match self.agent(agent.as_deref()) {
                Some(found) => openfang::serve(&self.operations, &head, found, &body).await,
                None => no_agent(),
            },
            Route::LegacySend => openfang::send(&self.operations, &head, &body).await,
            Route::LegacyCancel(id) => openfang::cancel(&self.operations, &head, &id).await,
            _ => answer::refusal(StatusCode::NOT_FOUND, "there is nothing at this path"),
        }
    }

    fn agent(&self, name: Option<&str>) -> Option<Arc<ServedAgent>> {
        let agents = self.operations.agents();
        name.map_or_else(|| agents.default_agent(), |name| agents.get(name))
    }

    fn denied(&self, route: &Route<'_>, denied: Denied) -> HttpResponse {
        let error = match denied {
            Denied::Unauthenticated(error) | Denied::Untrusted(error) => error,
        };
        if speaks_jsonrpc(route) {
            jsonrpc::refused(&error, None)
        } else {
            answer::plain_error(&error)
        }
    }

    async fn read_body(
        &self,
        headers: &HeaderMap,
        route: &Route<'_>,
        body: Incoming,
    ) -> Result<Bytes, Box<HttpResponse>> {
        let refuse = |status: StatusCode, kind: ErrorKind, text: &'static str| {
            let error = A2aError::new(kind, text);
            Box::new(if speaks_jsonrpc(route) {
                jsonrpc::refused(&error, Some(status))
            } else {
                answer::refusal(status, text)
            })
        };
        // Also the barrier against posts of foreign pages: text/plain needs no preflight.
        if !matches!(route, Route::LegacyCancel(_)) && !is_json(headers) {
            let text = "The body must be application/json in UTF-8; set Content-Type.";
            let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            return Err(refuse(status, ErrorKind::ContentTypeNotSupported, text));
        }
        let settings = self.settings();
        let limit = settings.body_timeout.get();
        let read = read_body::read(body, settings.max_body_bytes, limit).await;
        read.map_err(|refused| match refused {
            BodyRefused::TooLarge => {
                let text = "The body is larger than this gateway takes (server.max_body_bytes).";
                refuse(
                    StatusCode::PAYLOAD_TOO_LARGE,
                    ErrorKind::InvalidRequest,
                    text,
                )
            }
            BodyRefused::TooSlow => {
                let text = "The body did not arrive in time (server.body_timeout).";
                refuse(StatusCode::REQUEST_TIMEOUT, ErrorKind::InvalidRequest, text)
            }
            BodyRefused::Broken => {
                let text = "The body broke off.";
                refuse(StatusCode::BAD_REQUEST, ErrorKind::ParseError, text)
            }
        })
    }
}

fn speaks_jsonrpc(route: &Route<'_>) -> bool {
    matches!(route, Route::JsonRpc(_) | Route::Legacy(_))
}

fn no_agent() -> HttpResponse {
    answer::refusal(
        StatusCode::NOT_FOUND,
        "there is no agent of this name here; see /a2a/agents",
    )
}

/// `application/json` or `application/a2a+json`, in UTF-8 if it says so.
fn is_json(headers: &HeaderMap) -> bool {
    let Some(value) = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
    else {
        return false;
    };
    let mut pieces = value.split(';').map(str::trim);
    let essence = pieces.next().unwrap_or_default();
    let known = essence.eq_ignore_ascii_case("application/json")
        || essence.eq_ignore_ascii_case("application/a2a+json");
    known
        && pieces.all(|parameter| match parameter.split_once('=') {
            Some((name, charset)) if name.eq_ignore_ascii_case("charset") => {
                charset.trim_matches('"').eq_ignore_ascii_case("utf-8")
            }
            _ => true,
        })
}

/// A header's text, if it is there and is text.
#[must_use]
pub fn header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_json_in_utf8_is_taken() {
        let is = |value: &str| {
            is_json(&HeaderMap::from_iter([(
                CONTENT_TYPE,
                value.parse().unwrap(),
            )]))
        };
        for taken in [
            "application/json",
            "Application/JSON; charset=UTF-8",
            "application/a2a+json;charset=\"utf-8\"",
        ] {
            assert!(is(taken), "{taken}");
        }
        for refused in [
            "text/plain",
            "application/json; charset=utf-16",
            "application/jsonx",
            "",
        ] {
            assert!(!is(refused), "{refused}");
        }
        assert!(!is_json(&HeaderMap::new()));
    }
}
