//! A receiver of push notifications on loopback: keeps what arrives, can fail on demand, refuses
//! wrong credentials. Every test has a path of its own, so that late deliveries go to nobody else.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// One POST that arrived.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// Names in lower case.
    pub headers: HashMap<String, String>,
    /// The body as JSON; null when it is none.
    pub body: Value,
    /// What it was answered with.
    pub answered: u16,
}

#[derive(Debug, Default)]
struct Inbox {
    deliveries: Vec<Delivery>,
    failures_left: usize,
    authorization: Option<String>,
}

#[derive(Debug)]
struct Inner {
    boxes: Mutex<HashMap<String, Inbox>>,
    arrived: watch::Sender<u64>,
}

/// The receiver; it stops when it is dropped.
#[derive(Debug)]
pub struct Receiver {
    address: SocketAddr,
    inner: Arc<Inner>,
    serving: JoinHandle<()>,
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Receiver {
    /// Listens on a free port of loopback.
    ///
    /// # Errors
    /// When there is none.
    pub async fn start() -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))
            .await
            .context("cannot listen for push notifications")?;
        let address = listener.local_addr()?;
        let inner = Arc::new(Inner {
            boxes: Mutex::default(),
            arrived: watch::Sender::new(0),
        });
        let serving = tokio::spawn(serve(listener, inner.clone()));
        Ok(Self {
            address,
            inner,
            serving,
        })
    }

    /// The URL of this box.
    #[must_use]
    pub fn url(&self, name: &str) -> String {
        format!("http://{}/notifications/{name}", self.address)
    }

    /// Answers the box's first `times` deliveries with 503.
    pub fn fail_first(&self, name: &str, times: usize) {
        self.inner.with(name, |it| it.failures_left = times);
    }

    /// Answers deliveries without this `Authorization` with 401.
    pub fn require(&self, name: &str, authorization: &str) {
        self.inner
            .with(name, |it| it.authorization = Some(authorization.to_owned()));
    }

    /// Everything that arrived in the box.
    #[must_use]
    pub fn deliveries(&self, name: &str) -> Vec<Delivery> {
        self.inner.with(name, |it| it.deliveries.clone())
    }

    /// Waits until `enough` of the box's deliveries, at most for `limit`; returns them all.
    pub async fn wait(
        &self,
        name: &str,
        limit: Duration,
        enough: impl Fn(&[Delivery]) -> bool,
    ) -> Vec<Delivery> {
        let mut arrived = self.inner.arrived.subscribe();
        let waiting = async {
            while !enough(&self.deliveries(name)) {
                if arrived.changed().await.is_err() {
                    break;
                }
            }
        };
        // What has arrived by then is judged, also when it is not enough.
        tokio::time::timeout(limit, waiting).await.ok();
        self.deliveries(name)
    }
}

impl Inner {
    fn with<T>(&self, name: &str, change: impl FnOnce(&mut Inbox) -> T) -> T {
        let mut boxes = self.boxes.lock().unwrap_or_else(PoisonError::into_inner);
        change(boxes.entry(name.to_owned()).or_default())
    }

    fn take(&self, name: &str, headers: HashMap<String, String>, body: Value) -> u16 {
        let answered = self.with(name, |it| {
            let refused = it
                .authorization
                .as_ref()
                .is_some_and(|wanted| headers.get("authorization") != Some(wanted));
            let answered = if it.failures_left > 0 {
                it.failures_left -= 1;
                503
            } else if refused {
                401
            } else {
                200
            };
            it.deliveries.push(Delivery {
                headers,
                body,
                answered,
            });
            answered
        });
        self.arrived.send_modify(|count| *count += 1);
        answered
    }
}

async fn serve(listener: TcpListener, inner: Arc<Inner>) {
    // Connections end with the receiver: a set that is dropped aborts its tasks.
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let inner = inner.clone();
        connections.spawn(async move {
            let service = service_fn(|request| answer(request, inner.clone()));
            let connection = hyper::server::conn::http1::Builder::new();
            // A sender that hangs up is no fault of the receiver.
            connection
                .serve_connection(TokioIo::new(stream), service)
                .await
                .ok();
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn answer(
    request: Request<Incoming>,
    inner: Arc<Inner>,
) -> Result<Response<Empty<Bytes>>, Infallible> {
    let path = request.uri().path();
    let name = path
        .strip_prefix("/notifications/")
        .unwrap_or(path)
        .to_owned();
    let headers = request.headers().iter().map(|(name, value)| {
        let text = String::from_utf8_lossy(value.as_bytes()).into_owned();
        (name.as_str().to_owned(), text)
    });
    let headers = headers.collect();
    let body = request.into_body().collect().await;
    let body = body
        .ok()
        .and_then(|body| serde_json::from_slice(&body.to_bytes()).ok());
    let status = inner.take(&name, headers, body.unwrap_or_default());
    let mut answer = Response::new(Empty::new());
    *answer.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
    Ok(answer)
}
