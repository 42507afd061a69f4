//! Calls one agent: picks the live interface, attaches credentials and tenant, retries what may be
//! retried. Waiting for a task is [`crate::follow`]'s.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use nuncio_wire::bindings::jsonrpc::RequestId;
use nuncio_wire::dialects::Dialect;
use nuncio_wire::operation::SubscribeToTaskRequest;
use nuncio_wire::{AgentCard, ErrorKind, Method, Request, Response};
use url::Url;

use crate::bindings::{grpc, jsonrpc, openfang, rest};
use crate::choose_binding::{Binding, Endpoint};
use crate::credentials::Credentials;
use crate::error::{ClientError, ClientErrorKind};
use crate::fleet_text;
use crate::http_client::{HttpClient, peer_of};
use crate::limits::QUICK_CALL_TIMEOUT;
use crate::origin::Origin;
use crate::retry::pause_before_retry;
use crate::stream::EventStream;

/// Header under which a repeated send is known as the same one; others ignore it.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// Header that names the last event a broken stream gave (SSE).
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// What goes with every call.
#[derive(Clone, Debug, Default)]
pub struct CallSettings {
    /// Who calls.
    pub credentials: Credentials,
    /// Service parameters, sent as headers to the agent's interfaces only.
    pub headers: HeaderMap,
    /// Silence after which a stream of a known task counts as lost; `None`:
    /// [`crate::limits::STREAM_SILENCE`].
    pub stream_silence: Option<Duration>,
}

/// A client of one agent. Cheap calls, no state but which interface answered last.
pub struct Client {
    http: HttpClient,
    agent: Arc<Agent>,
    settings: CallSettings,
}

/// Whom it calls, and what its calls have taught.
struct Agent {
    card: AgentCard,
    endpoints: Vec<Endpoint>,
    active: AtomicUsize,
    slash_names: AtomicBool,
    no_openfang: AtomicBool,
    next_id: AtomicU64,
}

impl Client {
    /// A client for the agent with this card, called at `endpoints` (see
    /// [`crate::choose_binding::choose`]) in that order.
    ///
    /// # Errors
    /// [`ClientErrorKind::NoInterface`] when `endpoints` is empty.
    pub fn new(
        http: HttpClient,
        card: AgentCard,
        endpoints: Vec<Endpoint>,
        settings: CallSettings,
    ) -> Result<Self, ClientError> {
        if endpoints.is_empty() {
            let text = format!("'{}' has no interface to call", crate::plain(&card.name));
            return Err(ClientError::new(ClientErrorKind::NoInterface, text));
        }
        let agent = Agent {
            card,
            endpoints,
            active: AtomicUsize::new(0),
            slash_names: AtomicBool::new(false),
            no_openfang: AtomicBool::new(false),
            next_id: AtomicU64::new(1),
        };
        Ok(Self {
            http,
            agent: Arc::new(agent),
            settings,
        })
    }

    /// A client of the same agent whose calls carry these service parameters. What either learns of how
    /// the agent is called, both know.
    #[must_use]
    pub fn with_headers(&self, headers: HeaderMap) -> Self {
        Self {
            http: self.http.clone(),
            agent: self.agent.clone(),
            settings: CallSettings {
                headers,
                ..self.settings.clone()
            },
        }
    }

    /// The agent's card.
    #[must_use]
    pub fn card(&self) -> &AgentCard {
        &self.agent.card
    }

    /// The interface in use.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.agent.endpoints[self
            .agent
            .active
            .load(Ordering::Relaxed)
            .min(self.agent.endpoints.len() - 1)]
    }

    /// Whether the card promises streams and the dialect has them.
    #[must_use]
    pub fn can_stream(&self) -> bool {
        let endpoint = self.endpoint();
        self.agent.card.capabilities.streaming == Some(true) && endpoint.dialect != Dialect::Legacy
    }

    /// Sends a request and waits for its one answer: for as long as the agent takes when the
    /// request is a blocking SendMessage, else at most [`QUICK_CALL_TIMEOUT`].
    ///
    /// # Errors
    /// The peer's refusal, or why there is no answer.
    pub async fn call(&self, request: Request) -> Result<Response, ClientError> {
        let method = request.method();
        let answer = self.call_once(request).await?;
        match answer {
            Response::Task(task)
                if method == Method::GetTask && self.endpoint().dialect == Dialect::Fleet =>
            {
                Ok(Response::Task(fleet_text::complete(self, task).await))
            }
            answer => Ok(answer),
        }
    }

    pub(crate) async fn call_once(&self, request: Request) -> Result<Response, ClientError> {
        let method = request.method();
        let send = self.on_live_endpoint(request, None, |http, endpoint, call| async move {
            match call {
                Prepared::Rpc(call) => jsonrpc::call(&http, &endpoint, &call).await,
                Prepared::Rest(call) => rest::call(&http, &endpoint, &call).await,
                Prepared::Grpc(call) => grpc::call(&http, &call).await,
                Prepared::OpenFang(base, request, headers) => {
                    openfang::call(&http, &endpoint, &base, &request, headers).await
                }
            }
        });
        if method == Method::SendMessage {
            return send.await;
        }
        match tokio::time::timeout(QUICK_CALL_TIMEOUT, send).await {
            Ok(answer) => answer,
            Err(_) => Err(self.no_answer()),
        }
    }

    /// Sends a request whose answer is a stream.
    ///
    /// # Errors
    /// The peer's refusal, also one that comes as an ordinary answer, or why there is no stream.
    pub async fn stream(&self, request: Request) -> Result<EventStream, ClientError> {
        self.open_stream(request, None).await
    }

    /// Attaches to a task's stream, after the event with this id where the server can resume.
    ///
    /// # Errors
    /// As [`Client::stream`].
    pub async fn subscribe(
        &self,
        task_id: &str,
        last_event_id: Option<&str>,
    ) -> Result<EventStream, ClientError> {
        let request = SubscribeToTaskRequest {
            tenant: None,
            id: task_id.to_owned(),
        };
        let opening = self.open_stream(Request::SubscribeToTask(request), last_event_id);
        match tokio::time::timeout(QUICK_CALL_TIMEOUT, opening).await {
            Ok(stream) => stream.map(EventStream::attached),
            Err(_) => Err(self.no_answer()),
        }
    }

    async fn open_stream(
        &self,
        request: Request,
        last_event_id: Option<&str>,
    ) -> Result<EventStream, ClientError> {
        let opened =
            self.on_live_endpoint(request, last_event_id, |http, endpoint, call| async move {
                match call {
                    Prepared::Rpc(call) => jsonrpc::open_stream(&http, &endpoint, &call).await,
                    Prepared::Rest(call) => rest::open_stream(&http, &endpoint, &call).await,
                    Prepared::Grpc(call) => grpc::open_stream(&http, &endpoint, &call).await,
                    Prepared::OpenFang(base, request, headers) => {
                        let answer =
                            openfang::call(&http, &endpoint, &base, &request, headers).await?;
                        EventStream::of_answer(answer, endpoint.dialect, base)
                    }
                }
            });
        Ok(opened.await?.with_silence(self.settings.stream_silence))
    }

    /// Runs a call on the interface in use; moves on to the next one when there is no connection.
    async fn on_live_endpoint<T, F, Fut>(
        &self,
        mut request: Request,
        last_event_id: Option<&str>,
        run: F,
    ) -> Result<T, ClientError>
    where
        F: Fn(HttpClient, Endpoint, Prepared) -> Fut,
        Fut: Future<Output = Result<T, ClientError>>,
    {
        let method = request.method();
        let headers = self.headers_for(&request, last_event_id)?;
        let mut attempt = 0;
        loop {
            let endpoint = self.spoken_endpoint();
            // Exactly the tenant of the chosen interface, and none when it has none (specification 5.2).
            request.tenant_mut().clone_from(&endpoint.tenant);
            let prepared = self.prepare(&endpoint, &request, headers.clone())?;
            let error = match run(self.http.clone(), endpoint.clone(), prepared).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            if self.adapt(&endpoint, &error) {
                continue;
            }
            let Some(pause) = pause_before_retry(&error, method, attempt) else {
                return Err(self.blame(error));
            };
            attempt += 1;
            tracing::debug!(%error, attempt, ?pause, "repeating the call");
            tokio::time::sleep(pause).await;
        }
    }

    /// Changes how the agent is called after a failure that calls for it; false: nothing to change.
    fn adapt(&self, endpoint: &Endpoint, error: &ClientError) -> bool {
        let active = self.agent.active.load(Ordering::Relaxed);
        if error.is_unreachable() && active + 1 < self.agent.endpoints.len() {
            tracing::debug!(%error, "trying the card's next interface");
            self.agent.active.store(active + 1, Ordering::Relaxed);
            return true;
        }
        // Servers of 1.0 objects under the older method names know no other.
        let unknown = error.is_protocol(ErrorKind::MethodNotFound);
        if unknown && endpoint.dialect == Dialect::V1 && endpoint.binding == Binding::JsonRpc {
            tracing::debug!("the agent does not know the method: trying the older names");
            return !self.agent.slash_names.swap(true, Ordering::Relaxed);
        }
        // A card that only looked like OpenFang's: its address is the right one after all.
        let no_such_path = matches!(error.code, Some(404 | 405)) && error.as_protocol().is_none();
        if no_such_path
            && endpoint
                .openfang
                .as_ref()
                .is_some_and(|base| same_origin(base, &endpoint.url))
        {
            return !self.agent.no_openfang.swap(true, Ordering::Relaxed);
        }
        false
    }

    fn spoken_endpoint(&self) -> Endpoint {
        let mut endpoint = self.endpoint().clone();
        let is_rpc = endpoint.binding == Binding::JsonRpc;
        if is_rpc
            && endpoint.dialect == Dialect::V1
            && self.agent.slash_names.load(Ordering::Relaxed)
        {
            endpoint.dialect = Dialect::V1Slash;
        }
        if self.agent.no_openfang.load(Ordering::Relaxed) {
            endpoint.openfang = None;
        }
        endpoint
    }

    fn headers_for(
        &self,
        request: &Request,
        last_event_id: Option<&str>,
    ) -> Result<HeaderMap, ClientError> {
        let mut headers = self.settings.headers.clone();
        if let Request::SendMessage(send) | Request::SendStreamingMessage(send) = request {
            let key = send
                .idempotency_key
                .as_deref()
                .unwrap_or(&send.message.message_id);
            if let Ok(key) = HeaderValue::from_str(key) {
                headers.entry(IDEMPOTENCY_KEY).or_insert(key);
            }
        }
        if let Some(id) = last_event_id.and_then(|id| HeaderValue::from_str(id).ok()) {
            headers.insert(LAST_EVENT_ID, id);
        }
        Ok(headers)
    }

    fn prepare(
        &self,
        endpoint: &Endpoint,
        request: &Request,
        mut headers: HeaderMap,
    ) -> Result<Prepared, ClientError> {
        let credentials = &self.settings.credentials;
        if let Some(base) = &endpoint.openfang {
            let mut base = base.clone();
            credentials.attach(Some(&self.agent.card), &mut base, &mut headers)?;
            return Ok(Prepared::OpenFang(base, Box::new(request.clone()), headers));
        }
        // Streams and webhooks of the fleet's dialect exist beside its JSON-RPC.
        let method = request.method();
        let beside = endpoint.dialect == Dialect::Fleet
            && (method == Method::SubscribeToTask || Dialect::Fleet.method_name(method).is_none());
        if endpoint.binding == Binding::Rest || beside {
            let mut call = rest::Call::new(endpoint, request, headers)?;
            credentials.attach(Some(&self.agent.card), &mut call.url, &mut call.headers)?;
            return Ok(Prepared::Rest(call));
        }
        if endpoint.binding == Binding::Grpc {
            let mut call = grpc::Call::new(endpoint, request, headers)?;
            credentials.attach(Some(&self.agent.card), &mut call.url, &mut call.headers)?;
            call.check_url()?;
            return Ok(Prepared::Grpc(call));
        }
        let id = RequestId::number(self.agent.next_id.fetch_add(1, Ordering::Relaxed));
        let mut call = jsonrpc::Call::new(endpoint, request, id, headers)?;
        credentials.attach(Some(&self.agent.card), &mut call.url, &mut call.headers)?;
        Ok(Prepared::Rpc(call))
    }

    /// A refusal for want of a credential when none was given is a missing one.
    fn blame(&self, mut error: ClientError) -> ClientError {
        if error.kind == ClientErrorKind::AuthFailed && self.settings.credentials.is_empty() {
            error.kind = ClientErrorKind::CredentialsMissing;
        }
        error
    }

    fn no_answer(&self) -> ClientError {
        let peer = peer_of(&self.endpoint().url);
        let text = format!(
            "{peer} gave no answer within {} s",
            QUICK_CALL_TIMEOUT.as_secs()
        );
        ClientError::new(ClientErrorKind::ConnectionLost, text)
    }

    /// The origin of the interface in use.
    #[must_use]
    pub fn origin(&self) -> Option<Origin> {
        Origin::of(&self.endpoint().url)
    }
}

fn same_origin(a: &Url, b: &Url) -> bool {
    matches!((Origin::of(a), Origin::of(b)), (Some(a), Some(b)) if a.covers(&b))
}

/// A request ready for its binding.
enum Prepared {
    Rpc(jsonrpc::Call),
    Rest(rest::Call),
    Grpc(grpc::Call),
    OpenFang(Url, Box<Request>, HeaderMap),
}
