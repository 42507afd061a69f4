//! Takes what an agent posts about one task: a small listener of our own, a random token, signatures
//! where there are keys for them, and each event once. What is posted is a hint; the truth about a task is
//! what the agent answers when asked.

use std::collections::{HashSet, VecDeque};
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use getrandom::fill;
use http::header::{AUTHORIZATION, CONNECTION};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use nuncio_wire::dialects::Dialect;
use nuncio_wire::{AuthenticationInfo, StreamResponse, TaskPushNotificationConfig};
use subtle::ConstantTimeEq as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::Instant;
use url::Url;

use crate::limits::MAX_ANSWER_BYTES;
use crate::message_id::new_message_id;
use crate::secret::Secret;
use crate::webhook_keys::WebhookKeys;
use crate::webhook_signature::{SignatureFault, TOLERANCE};

/// Events that wait to be looked at; the agent's next post waits for a place.
const MAX_WAITING: usize = 64;
/// Connections at one time: an agent needs one, strangers get no more than these.
const MAX_CONNECTIONS: usize = 32;
/// How long one post may take, from its connection to its answer. Agents give up earlier.
const POST_LIMIT: Duration = Duration::from_secs(30);
/// How long the id of a delivery is remembered: as long as its signature may be good, on either side.
const REMEMBERED_FOR: Duration = Duration::from_secs(2 * TOLERANCE.as_secs());
/// Most ids that are remembered, a hundred a second for all that time.
const MAX_REMEMBERED: usize = 65_536;
/// Longest id that is remembered, in bytes; a longer one has no meaning of ours.
const MAX_ID_BYTES: usize = 256;
/// Bytes of the token: not to be guessed.
const TOKEN_BYTES: usize = 32;
/// Pause after a connection could not be accepted, so that it does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A listener for the webhook of one task. It ends when dropped.
pub struct WebhookReceiver {
    config: TaskPushNotificationConfig,
    events: mpsc::Receiver<StreamResponse>,
    refused: Arc<Refusals>,
    /// Aborts the listener and its connections.
    _serving: JoinSet<()>,
}

impl WebhookReceiver {
    /// Listens at `address`; port 0 lets the system choose. Agents are told to post to `public`, or
    /// to the address itself. What is posted must be signed as `keys` say.
    ///
    /// # Errors
    /// When the address cannot be taken.
    pub async fn listen(
        address: SocketAddr,
        public: Option<&Url>,
        keys: WebhookKeys,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let token = new_token();
        let url = match public {
            Some(url) => url.to_string(),
            None => format!("http://{}/", listener.local_addr()?),
        };
        // Some agents send the one, some the other.
        let config = TaskPushNotificationConfig {
            tenant: None,
            id: Some(new_message_id()),
            task_id: None,
            url,
            token: Some(token.clone()),
            authentication: Some(AuthenticationInfo {
                scheme: "Bearer".to_owned(),
                other_schemes: Vec::new(),
                credentials: Some(token.clone()),
            }),
            metadata: None,
        };
        let (tell, events) = mpsc::channel(MAX_WAITING);
        let refused = Arc::<Refusals>::default();
        let desk = Arc::new(Desk {
            token: Secret::new(token),
            keys,
            seen: Mutex::default(),
            refused: refused.clone(),
            tell,
        });
        let mut serving = JoinSet::new();
        serving.spawn(accept(listener, desk));
        Ok(Self {
            config,
            events,
            refused,
            _serving: serving,
        })
    }

    /// What to register with the agent: address, token and an id of our own.
    #[must_use]
    pub fn config(&self) -> &TaskPushNotificationConfig {
        &self.config
    }

    /// How many posts were refused so far, and why.
    #[must_use]
    pub fn refused(&self) -> RefusedPosts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        RefusedPosts {
            strange: read(&self.refused.strange),
            unsigned: read(&self.refused.unsigned),
            wrong: read(&self.refused.wrong),
            stale: read(&self.refused.stale),
        }
    }

    /// The next event that was posted with the right token and signature.
    pub async fn next(&mut self) -> StreamResponse {
        match self.events.recv().await {
            Some(event) => event,
            // The listener lives as long as this.
            None => std::future::pending().await,
        }
    }
}

fn new_token() -> String {
    let mut bytes = [0; TOKEN_BYTES];
    fill(&mut bytes).expect("the system gives random numbers");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

async fn accept(listener: TcpListener, desk: Arc<Desk>) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok(place) = places.clone().acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((socket, _)) => {
                let desk = desk.clone();
                connections.spawn(async move {
                    // A post that takes longer is cut off, and comes again.
                    let _ = tokio::time::timeout(POST_LIMIT, serve(socket, desk)).await;
                    drop(place);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "the webhook's listener cannot accept for a moment");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// One post for each connection: a kept one would hold a place.
async fn serve(socket: TcpStream, desk: Arc<Desk>) {
    let answer = service_fn(move |request| {
        let desk = desk.clone();
        async move {
            let status = desk.take(request).await;
            let mut response = Response::new(Empty::<Bytes>::new());
            *response.status_mut() = status;
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(CONNECTION, close);
            Ok::<_, Infallible>(response)
        }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(socket), answer)
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "a connection to the webhook's listener broke");
    }
}

/// Posts that were refused, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RefusedPosts {
    /// Without the token, or with another one.
    pub strange: u64,
    /// Without a signature that can be read, though there are keys.
    pub unsigned: u64,
    /// Signed with another key, or changed since.
    pub wrong: u64,
    /// Signed too long ago, or by a clock that is wrong.
    pub stale: u64,
}

#[derive(Default)]
struct Refusals {
    strange: AtomicU64,
    unsigned: AtomicU64,
    wrong: AtomicU64,
    stale: AtomicU64,
}

/// Judges posts.
struct Desk {
    token: Secret,
    keys: WebhookKeys,
    seen: Mutex<Seen>,
    refused: Arc<Refusals>,
    tell: mpsc::Sender<StreamResponse>,
}

impl Desk {
    async fn take(&self, request: Request<Incoming>) -> StatusCode {
        if request.method() != Method::POST {
            return StatusCode::METHOD_NOT_ALLOWED;
        }
        let (head, body) = request.into_parts();
        let token = self.token_of(&head.headers);
        // Hermes shows no token: there, a signature says who posts.
        if token == Shown::Wrong || (token == Shown::Nothing && self.keys.is_empty()) {
            self.refused.strange.fetch_add(1, Ordering::Relaxed);
            tracing::warn!("a post to the webhook's listener without its token was refused");
            return StatusCode::UNAUTHORIZED;
        }
        let Ok(body) = Limited::new(body, MAX_ANSWER_BYTES).collect().await else {
            return StatusCode::PAYLOAD_TOO_LARGE;
        };
        let body = body.to_bytes();
        if let Err(fault) = self.keys.check(&head.headers, &body, now(), TOLERANCE) {
            let counter = match fault {
                SignatureFault::Missing => &self.refused.unsigned,
                SignatureFault::Wrong => &self.refused.wrong,
                SignatureFault::Stale => &self.refused.stale,
            };
            counter.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(%fault, "a post to the webhook's listener was refused");
            return StatusCode::UNAUTHORIZED;
        }
        let Some(event) = read(&body) else {
            tracing::warn!("what was posted to the webhook's listener is no event");
            return StatusCode::BAD_REQUEST;
        };
        let id = head.headers.get("webhook-id");
        let id = id.and_then(|id| id.to_str().ok()).map(str::to_owned);
        let id = id.filter(|id| id.len() <= MAX_ID_BYTES);
        // Held while the event is handed over: a repeat is not acknowledged before the first is.
        let mut seen = self.seen.lock().await;
        if id.as_ref().is_some_and(|id| seen.knows(id)) {
            return StatusCode::OK;
        }
        if self.tell.send(event).await.is_err() {
            return StatusCode::SERVICE_UNAVAILABLE;
        }
        if let Some(id) = id {
            seen.remember(id, Instant::now());
        }
        StatusCode::OK
    }

    /// The token, in one of the two headers.
    fn token_of(&self, headers: &HeaderMap) -> Shown {
        let token = headers.get("x-a2a-notification-token");
        let bearer = headers.get(AUTHORIZATION).and_then(|value| {
            let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then_some(token)
        });
        let shown = [token.map(HeaderValue::as_bytes), bearer.map(str::as_bytes)];
        let is_ours = |shown: &[u8]| bool::from(self.token.expose().as_bytes().ct_eq(shown));
        let mut shown = shown.into_iter().flatten().peekable();
        match (shown.peek().is_some(), shown.any(is_ours)) {
            (_, true) => Shown::Ours,
            (true, false) => Shown::Wrong,
            (false, false) => Shown::Nothing,
        }
    }
}

/// What a post shows in place of a token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Ours,
    Wrong,
    Nothing,
}

/// Ids of deliveries that were taken.
#[derive(Default)]
struct Seen {
    ids: HashSet<String>,
    /// The oldest first.
    order: VecDeque<(Instant, String)>,
}

impl Seen {
    fn knows(&self, id: &str) -> bool {
        self.ids.contains(id)
    }

    fn remember(&mut self, id: String, now: Instant) {
        while let Some((since, oldest)) = self.order.front() {
            let is_old = now.duration_since(*since) > REMEMBERED_FOR;
            if !is_old && self.order.len() < MAX_REMEMBERED {
                break;
            }
            self.ids.remove(oldest);
            self.order.pop_front();
        }
        self.ids.insert(id.clone());
        self.order.push_back((now, id));
    }
}

/// Seconds since the epoch.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
    })
}

/// An event of 1.0, or an object of 0.3, which says its kind.
fn read(body: &[u8]) -> Option<StreamResponse> {
    let text = std::str::from_utf8(body).ok()?;
    let dialects = [Dialect::V1, Dialect::V0_3];
    let mut read = dialects.iter().map(|dialect| dialect.read_event(text));
    read.find_map(Result::ok).map(|(event, _)| event)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_remembered_as_long_as_their_signatures_may_be_good() {
        let mut seen = Seen::default();
        let begin = Instant::now();
        seen.remember("first".to_owned(), begin);
        seen.remember("second".to_owned(), begin + REMEMBERED_FOR);
        assert!(seen.knows("first") && seen.knows("second"));
        let later = begin + REMEMBERED_FOR + Duration::from_secs(1);
        seen.remember("third".to_owned(), later);
        assert!(!seen.knows("first") && seen.knows("second") && seen.knows("third"));
        for number in 0..MAX_REMEMBERED {
            seen.remember(number.to_string(), later);
        }
        assert_eq!(
            (seen.ids.len(), seen.order.len()),
            (MAX_REMEMBERED, MAX_REMEMBERED)
        );
        assert!(!seen.knows("third") && seen.knows("0"));
    }

    #[test]
    fn events_of_both_generations_are_read() {
        let new = br#"{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}"#;
        assert!(matches!(read(new), Some(StreamResponse::StatusUpdate(_))));
        let old = br#"{"kind":"task","id":"t","contextId":"c","status":{"state":"completed"}}"#;
        let Some(StreamResponse::Task(task)) = read(old) else {
            panic!("no task");
        };
        assert!(task.status.state.is_terminal());
        for wrong in [&b"{}"[..], b"[]", b"\xff", b"hello"] {
            assert_eq!(read(wrong), None);
        }
    }
}
