//! One request through the layers, in this order: head, host and origin, path, identity, body.
//! Then it belongs to its binding.

use bytes::Bytes;
use futures_util::future::join_all;
use http::header::{HOST, HeaderName, ORIGIN};
use http::request::Parts;
use http::uri::Authority;
use http::{HeaderMap, Method, Request, StatusCode};
use hyper::body::Incoming;
use nuncio_wire::{A2aError, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;

use super::read_body::{self, BodyRefused};
use super::routes::{Route, route};
use super::socket_guard::Patience;
use super::{HttpResponse, cross_origin, forwarded, grpc_call, head};
use crate::agents::ServedAgent;
use crate::bindings::media_type::MediaType;
use crate::bindings::rest::BodyRule;
use crate::bindings::{answer, cards::Cards, fleet, grpc, jsonrpc, openfang, rest};
use crate::card::BaseUrl;
use crate::config::{Config, ServerConfig};
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
    pub(super) operations: Arc<Operations>,
    pub(super) cards: Arc<Cards>,
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
    /// Both ends of its connection.
    pub peer: Peer,
    /// The agent that has the host it was sent to to itself.
    pub host_agent: Option<Arc<ServedAgent>>,
}

impl Head<'_> {
    /// Where the gateway was called, as cards give it.
    #[must_use]
    pub fn base(&self, config: &Config) -> BaseUrl {
        forwarded::base_url(config, self.peer, self.headers)
    }
}

impl Service {
    /// A service over these operations, answering to these hosts.
    #[must_use]
    pub fn new(operations: Arc<Operations>, cards: Arc<Cards>, hosts: HostCheck) -> Arc<Self> {
        let is_tested = operations
            .agents()
            .iter()
            .any(|agent| agent.conformance.is_some());
        let authenticator =
            Authenticator::new(operations.config()).with_conformance_tokens(is_tested);
        Arc::new(Self {
            operations,
            cards,
            authenticator,
            hosts,
        })
    }

    pub(super) fn settings(&self) -> &ServerConfig {
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
    ///
    /// `certified` is the name in the client certificate of the connection.
    pub async fn serve(
        &self,
        peer: Peer,
        certified: Option<Arc<str>>,
        request: Request<Incoming>,
    ) -> HttpResponse {
        let (parts, body) = request.into_parts();
        let route = route_of(&parts);
        if let Err((status, text)) = head::check(&parts, &self.hosts) {
            let kind = match status {
                StatusCode::FORBIDDEN => ErrorKind::PermissionDenied,
                StatusCode::UNSUPPORTED_MEDIA_TYPE => ErrorKind::ContentTypeNotSupported,
                _ => ErrorKind::InvalidRequest,
            };
            let error = A2aError::new(kind, text);
            return self
                .speech(&route, &parts.headers)
                .refuse(&error, Some(status));
        }
        let address = forwarded::caller_address(self.operations.config(), peer, &parts.headers);
        let origin = parts.headers.get(ORIGIN).cloned();
        let response = self
            .route(peer, &parts, route, body, |headers| {
                self.authenticator
                    .caller(headers, address, certified.as_deref())
            })
            .await;
        // Pages of other origins have been refused by now.
        match origin {
            Some(origin) => cross_origin::readable_by(origin, response),
            None => response,
        }
    }

    /// Answers one request of somebody who needs no credential: the operator at the control socket.
    pub async fn serve_operator(&self, peer: Peer, request: Request<Incoming>) -> HttpResponse {
        let (parts, body) = request.into_parts();
        let route = route_of(&parts);
        self.route(peer, &parts, route, body, |_| Ok(Caller::operator()))
            .await
    }

    async fn route(
        &self,
        peer: Peer,
        parts: &Parts,
        route: Route<'_>,
        body: Incoming,
        identify: impl FnOnce(&HeaderMap) -> Result<Caller, Denied>,
    ) -> HttpResponse {
        let host_agent = self.host_agent(parts);
        let route = match &host_agent {
            Some(agent) => route.at_host_of(&agent.name),
            None => route,
        };
        let head_only = parts.method == Method::HEAD;
        let base = || forwarded::base_url(self.operations.config(), peer, &parts.headers);
        let response = match route {
            Route::NotFound | Route::NotAllowed(_) => self.nothing(&route, parts),
            Route::Health => answer::text_json(r#"{"status":"ok"}"#),
            Route::Ready => answer::text_json(r#"{"status":"ready"}"#),
            Route::Fleet(..) if !self.operations.config().compat.fleet => {
                self.nothing(&Route::NotFound, parts)
            }
            Route::Fleet(agent, fleet::Target::Card) => {
                self.cards.fleet_card(&base(), &agent, &parts.headers)
            }
            Route::Fleet(agent, fleet::Target::Health) => self
                .agent(Some(&agent))
                .map_or_else(no_agent, |agent| fleet::health(&agent)),
            Route::Card(agent) => {
                self.learn_about(agent.as_deref()).await;
                self.cards.card(&base(), agent.as_deref(), &parts.headers)
            }
            Route::LegacyCard(agent) => {
                self.learn_about(agent.as_deref()).await;
                self.cards
                    .legacy_card(&base(), agent.as_deref(), &parts.headers)
            }
            Route::AgentList => {
                let agents = self.operations.agents().listed();
                join_all(agents.map(|agent| agent.learn_about())).await;
                self.cards.agent_list(&base())
            }
            Route::Catalog => self.cards.catalog(&base()),
            Route::Callback(task, token) => self.serve_callback(&task, &token, parts, body).await,
            Route::Grpc(_) if !grpc_call::is_grpc(parts) => grpc_call::not_grpc(),
            Route::Grpc(target) if target.is_public() => self.serve_public_call(target, body).await,
            route => match identify(&parts.headers) {
                Ok(caller) => self.serve_caller(peer, caller, parts, route, body).await,
                Err(Denied::Unauthenticated(error) | Denied::Untrusted(error)) => {
                    self.speech(&route, &parts.headers).refuse(&error, None)
                }
            },
        };
        if head_only {
            answer::without_body(response)
        } else {
            response
        }
    }

    /// Where no operation is asked for: an unknown path, a wrong verb, a preflight.
    fn nothing(&self, route: &Route<'_>, parts: &Parts) -> HttpResponse {
        let speech = self.speech(route, &parts.headers);
        let Route::NotAllowed(allowed) = route else {
            let error = A2aError::new(ErrorKind::MethodNotFound, "There is nothing at this path.");
            return speech.refuse(&error, None);
        };
        if cross_origin::is_preflight(parts) {
            return cross_origin::preflight(allowed);
        }
        let text = format!("This path takes only {allowed}.");
        let error = A2aError::new(ErrorKind::MethodNotFound, text);
        let status = StatusCode::METHOD_NOT_ALLOWED;
        answer::with_allow(speech.refuse(&error, Some(status)), allowed)
    }

    /// Everything that needs to know who asks. What is rare is boxed, so that the usual request does not
    /// carry room for it.
    async fn serve_caller(
        &self,
        peer: Peer,
        caller: Caller,
        parts: &Parts,
        route: Route<'_>,
        body: Incoming,
    ) -> HttpResponse {
        let head = Head {
            headers: &parts.headers,
            query: parts.uri.query(),
            caller,
            peer,
            host_agent: self.host_agent(parts),
        };
        if let Route::Grpc(grpc::Target::Operation(package, method)) = route {
            return self.serve_call(&head, (package, method), body).await;
        }
        let speech = self.speech(&route, &parts.headers);
        let rule = match &route {
            Route::LegacyGet(_) => BodyRule::None,
            Route::LegacyCancel(_) => BodyRule::Untyped,
            Route::Rest(_, target) => target.body(parts.method == Method::POST),
            Route::Fleet(_, target) => target.body(&parts.method),
            _ => BodyRule::Required,
        };
        let body = match self.read_body(&parts.headers, rule, body).await {
            Ok(body) => body,
            Err((status, error)) => return speech.refuse(&error, Some(status)),
        };
        match route {
            Route::JsonRpc(agent) => match self.agent(agent.as_deref()) {
                Some(found) => {
                    jsonrpc::serve(&self.operations, &head, found, agent.is_some(), &body).await
                }
                None => no_agent(),
            },
            Route::Rest(agent, target) => {
                let Some(found) = self.rest_agent(agent.as_deref(), &target) else {
                    let text = "There is no agent at this path; see /a2a/agents.";
                    return speech.refuse(&A2aError::new(ErrorKind::MethodNotFound, text), None);
                };
                let is_named = agent.is_some() || target.tenant.is_some();
                let body = Some(&*body).filter(|_| rule != BodyRule::None);
                rest::serve(&self.operations, &head, &target, found, is_named, body).await
            }
            Route::Legacy(agent) => match self.agent(agent.as_deref()) {
                Some(found) => {
                    Box::pin(openfang::serve(&self.operations, &head, found, &body)).await
                }
                None => no_agent(),
            },
            Route::Fleet(agent, target) => match (self.agent(Some(&agent)), target) {
                (None, _) => no_agent(),
                (Some(found), fleet::Target::Operation(method, resource)) => {
                    let what = (method, &resource);
                    let serving =
                        fleet::serve_operation(&self.operations, &head, found, what, &body);
                    Box::pin(serving).await
                }
                (Some(found), _) => {
                    Box::pin(fleet::serve(&self.operations, &head, found, &body)).await
                }
            },
            Route::LegacyGet(id) => openfang::get(&self.operations, &head, &id).await,
            Route::LegacySend => Box::pin(openfang::send(&self.operations, &head, &body)).await,
            Route::LegacyCancel(id) => openfang::cancel(&self.operations, &head, &id).await,
            other => self.nothing(&other, parts),
        }
    }

    /// Before a card is made: what it says of the agent's skills may be old.
    async fn learn_about(&self, agent: Option<&str>) {
        if let Some(agent) = self.agent(agent) {
            agent.learn_about().await;
        }
    }

    /// The agent that has the host of the request to itself; HTTP/2 names it in `:authority`.
    fn host_agent(&self, parts: &Parts) -> Option<Arc<ServedAgent>> {
        let named = header(&parts.headers, &HOST);
        let authority = parts.uri.authority().map(Authority::as_str).or(named)?;
        self.operations.agents().by_host(authority)
    }

    fn agent(&self, name: Option<&str>) -> Option<Arc<ServedAgent>> {
        let agents = self.operations.agents();
        name.map_or_else(|| agents.default_agent(), |name| agents.get(name))
    }

    /// The agent of an HTTP+JSON path, which may be named by its tenant.
    pub(super) fn rest_agent(
        &self,
        name: Option<&str>,
        target: &rest::Target<'_>,
    ) -> Option<Arc<ServedAgent>> {
        match (name, &target.tenant) {
            (None, Some(tenant)) => self.operations.agents().by_tenant(tenant),
            (name, _) => self.agent(name),
        }
    }

    async fn read_body(
        &self,
        headers: &HeaderMap,
        rule: BodyRule,
        body: Incoming,
    ) -> Result<Bytes, (StatusCode, A2aError)> {
        if rule == BodyRule::None {
            return Ok(Bytes::new());
        }
        let is_json = rule == BodyRule::Untyped || MediaType::of_body(headers).is_some();
        // Also the barrier against posts of foreign pages: text/plain needs no preflight.
        if rule == BodyRule::Required && !is_json {
            return Err(not_json());
        }
        let settings = self.settings();
        let limit = settings.body_timeout.get();
        match read_body::read(body, settings.max_body_bytes, limit).await {
            Ok(body) if !is_json && !body.is_empty() => Err(not_json()),
            Ok(body) => Ok(body),
            Err(refused) => Err(explain(refused)),
        }
    }
}

/// Where a request goes: a call over gRPC belongs to no other binding, whatever its path.
fn route_of(parts: &Parts) -> Route<'_> {
    match route(&parts.method, parts.uri.path()) {
        Route::Grpc(target) => Route::Grpc(target),
        _ if grpc::is_call(&parts.headers) => Route::Grpc(grpc::Target::Unknown),
        route => route,
    }
}

fn not_json() -> (StatusCode, A2aError) {
    let text =
        "The body must be application/json or application/a2a+json in UTF-8; set Content-Type.";
    let error = A2aError::new(ErrorKind::ContentTypeNotSupported, text);
    (StatusCode::UNSUPPORTED_MEDIA_TYPE, error)
}

/// What a body that was not read says to its sender.
pub(super) fn explain(refused: BodyRefused) -> (StatusCode, A2aError) {
    let (status, kind, text) = match refused {
        BodyRefused::TooLarge => (
            StatusCode::PAYLOAD_TOO_LARGE,
            ErrorKind::InvalidRequest,
            "The body is larger than this gateway takes (server.max_body_bytes).",
        ),
        BodyRefused::TooSlow => (
            StatusCode::REQUEST_TIMEOUT,
            ErrorKind::InvalidRequest,
            "The body did not arrive in time (server.body_timeout).",
        ),
        BodyRefused::Broken => (
            StatusCode::BAD_REQUEST,
            ErrorKind::ParseError,
            "The body broke off.",
        ),
    };
    (status, A2aError::new(kind, text))
}

fn no_agent() -> HttpResponse {
    answer::refusal(
        StatusCode::NOT_FOUND,
        "there is no agent of this name here; see /a2a/agents",
    )
}

/// A header's text, if it is there and is text.
#[must_use]
pub fn header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}
