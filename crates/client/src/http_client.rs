//! One HTTP client for everything nuncio calls: guarded connections, bounded bodies, errors that
//! name the cause and the peer. Follows no redirect and decides no retry by itself.

use std::error::Error as StdError;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::USER_AGENT;
use http::{HeaderValue, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::AlertDescription;
use url::Url;

use crate::address_guard::AddressPolicy;
use crate::dial::{Connector, DialError};
use crate::error::{ClientError, ClientErrorKind, Unreachable};
use crate::tls::TlsSettings;

/// Idle connections are dropped before common servers drop them (75 s and more).
const IDLE_TIMEOUT: Duration = Duration::from_secs(55);
/// What servers see of us when the caller sets nothing else.
const OWN_USER_AGENT: &str = concat!("nuncio/", env!("CARGO_PKG_VERSION"));

/// A client for HTTP/1.1 and HTTP/2. Clones share its connections.
#[derive(Clone)]
pub struct HttpClient {
    inner: legacy::Client<Connector, Full<Bytes>>,
    /// Speaks HTTP/2 from the first byte on, as gRPC needs it.
    http2: legacy::Client<Connector, Full<Bytes>>,
    policy: Arc<AddressPolicy>,
}

impl HttpClient {
    /// A client that calls what `policy` allows.
    #[must_use]
    pub fn new(policy: AddressPolicy, tls: TlsSettings) -> Self {
        let policy = Arc::new(policy);
        let connector = Connector::new(policy.clone(), tls);
        let mut builder = legacy::Client::builder(TokioExecutor::new());
        builder
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT);
        Self {
            inner: builder.build(connector.clone()),
            http2: builder.http2_only(true).build(connector),
            policy,
        }
    }

    /// Sends one request and returns when the head of the answer is there.
    ///
    /// # Errors
    /// [`ClientErrorKind::AddressRefused`], [`ClientErrorKind::Unreachable`], or
    /// [`ClientErrorKind::ConnectionLost`] when the request may have arrived.
    pub async fn send(
        &self,
        url: &Url,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, ClientError> {
        log(
            url,
            request.method().clone(),
            self.over(&self.inner, url, request),
        )
        .await
    }

    /// The same over HTTP/2 with prior knowledge, or as TLS agrees on it.
    ///
    /// # Errors
    /// As [`HttpClient::send`].
    pub async fn send_http2(
        &self,
        url: &Url,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, ClientError> {
        log(
            url,
            request.method().clone(),
            self.over(&self.http2, url, request),
        )
        .await
    }

    /// The same as [`HttpClient::send`] without a word in the log: where the path itself may be a
    /// secret.
    pub(crate) async fn send_quietly(
        &self,
        url: &Url,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, ClientError> {
        self.over(&self.inner, url, request).await
    }

    async fn over(
        &self,
        client: &legacy::Client<Connector, Full<Bytes>>,
        url: &Url,
        mut request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, ClientError> {
        self.policy.check_url(url).map_err(|refused| {
            ClientError::new(ClientErrorKind::AddressRefused, refused.to_string())
        })?;
        *request.uri_mut() = url.as_str().parse().map_err(|_| {
            let text = format!("{} is no address that HTTP can carry", peer_of(url));
            ClientError::new(ClientErrorKind::AddressRefused, text)
        })?;
        let headers = request.headers_mut();
        headers
            .entry(USER_AGENT)
            .or_insert(HeaderValue::from_static(OWN_USER_AGENT));
        let answer = client.request(request).await;
        answer.map_err(|error| explain(url, &error))
    }
}

/// Notes how an exchange went.
async fn log(
    url: &Url,
    method: http::Method,
    exchange: impl Future<Output = Result<Response<Incoming>, ClientError>>,
) -> Result<Response<Incoming>, ClientError> {
    let started = std::time::Instant::now();
    let answer = exchange.await;
    let elapsed = started.elapsed();
    match &answer {
        Ok(response) => {
            let status = response.status().as_u16();
            tracing::debug!(%method, peer = %peer_of(url), path = url.path(), status, ?elapsed, "answered");
        }
        Err(error) => {
            tracing::debug!(%method, peer = %peer_of(url), path = url.path(), %error, ?elapsed, "failed");
        }
    }
    answer
}

/// Reads a body up to `limit` bytes.
///
/// # Errors
/// [`ClientErrorKind::InvalidAnswer`] above the limit, [`ClientErrorKind::ConnectionLost`] when the
/// body ends too early.
pub async fn read_body(mut body: Incoming, limit: usize, url: &Url) -> Result<Bytes, ClientError> {
    let mut read = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| lost(url, &error))?;
        if let Some(data) = frame.data_ref() {
            if read.len() + data.len() > limit {
                let text = format!("{} answered with more than {limit} bytes", peer_of(url));
                return Err(ClientError::new(ClientErrorKind::InvalidAnswer, text));
            }
            read.extend_from_slice(data);
        }
    }
    Ok(read.freeze())
}

/// `host:port` of an address, as errors name it.
#[must_use]
pub fn peer_of(url: &Url) -> String {
    match (url.host_str(), url.port_or_known_default()) {
        (Some(host), Some(port)) => format!("{host}:{port}"),
        (Some(host), None) => host.to_owned(),
        (None, _) => format!("{}:", url.scheme()),
    }
}

/// The answer broke off.
pub(crate) fn lost(url: &Url, error: &dyn StdError) -> ClientError {
    let text = format!(
        "the connection to {} was lost: {}",
        peer_of(url),
        deepest(error)
    );
    ClientError::new(ClientErrorKind::ConnectionLost, text)
}

fn explain(url: &Url, error: &legacy::Error) -> ClientError {
    let peer = peer_of(url);
    let unreachable = |cause, text: String| {
        let text = format!("cannot reach {peer}: {text}");
        ClientError::new(ClientErrorKind::Unreachable(cause), text)
    };
    if let Some(dial) = find::<DialError>(error) {
        return match dial {
            DialError::Refused(refused) => {
                ClientError::new(ClientErrorKind::AddressRefused, refused.to_string())
                    .with_hint("allow the address where the operator configures this client")
            }
            DialError::Dns(io) => unreachable(
                Unreachable::Dns,
                format!("the name does not resolve ({io})"),
            ),
            DialError::TimedOut => unreachable(Unreachable::ConnectTimeout, dial.to_string()),
            DialError::TlsSetup(reason) => unreachable(Unreachable::Tls, reason.clone()),
            DialError::Connect(io) if io.kind() == io::ErrorKind::ConnectionRefused => {
                unreachable(Unreachable::Refused, "connection refused".to_owned())
                    .with_hint("check that the agent runs and that the port is right")
            }
            DialError::Connect(io) => unreachable(Unreachable::Network, io.to_string()),
        };
    }
    if let Some(tls) = find::<rustls::Error>(error) {
        let text = format!("TLS failed: {tls}");
        return unreachable(Unreachable::Tls, text).with_hint(tls_hint(tls, url));
    }
    // Our dialler names what goes wrong before TLS, so the rest of an https connection is TLS: a
    // server that speaks plain HTTP may also just hang up.
    if error.is_connect() && url.scheme() == "https" {
        let text = format!("TLS failed: {}", deepest(error));
        let hint = format!(
            "the agent may speak plain HTTP: try http://{}",
            peer_of(url)
        );
        return unreachable(Unreachable::Tls, text).with_hint(hint);
    }
    if error.is_connect() {
        return unreachable(Unreachable::Network, deepest(error));
    }
    lost(url, error)
}

fn tls_hint(error: &rustls::Error, url: &Url) -> String {
    match error {
        rustls::Error::InvalidMessage(_) => {
            format!(
                "the agent may speak plain HTTP: try http://{}",
                peer_of(url)
            )
        }
        rustls::Error::InvalidCertificate(_) => {
            "if an authority of your own signed its certificate, give --ca-cert FILE; to accept any \
             certificate, give --insecure"
                .to_owned()
        }
        rustls::Error::AlertReceived(AlertDescription::CertificateRequired) => {
            "the server wants a client certificate: give --client-cert and --client-key".to_owned()
        }
        rustls::Error::AlertReceived(_) => {
            "the server refuses the handshake; does it know your client certificate?".to_owned()
        }
        _ => "check the address and the server's TLS settings".to_owned(),
    }
}

/// The first error of this type among the causes, also inside `io::Error`.
fn find<'e, E: StdError + 'static>(error: &'e (dyn StdError + 'static)) -> Option<&'e E> {
    let mut next = Some(error);
    while let Some(current) = next {
        if let Some(found) = current.downcast_ref::<E>() {
            return Some(found);
        }
        let inside = current
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        next = inside
            .map(|inner| inner as &(dyn StdError + 'static))
            .or_else(|| current.source());
    }
    None
}

/// The text of the innermost cause: outer ones only say "client error".
fn deepest(error: &dyn StdError) -> String {
    let mut current = error;
    while let Some(source) = current.source() {
        current = source;
    }
    current.to_string()
}
