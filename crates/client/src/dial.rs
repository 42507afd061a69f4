//! Opens connections: one name look-up, each address checked by the guard, the checked address
//! dialled, TLS by rustls where the scheme is https. Knows no proxy and reads no environment.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use futures_util::stream::{FuturesUnordered, StreamExt};
use http::Uri;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::rt::TokioIo;
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpSocket, TcpStream};
use tower_service::Service;

use crate::address_guard::{AddressPolicy, AddressRefused};
use crate::limits::{CONNECT_TIMEOUT, KEEPALIVE_AFTER, KEEPALIVE_INTERVAL, NEXT_ADDRESS_DELAY};
use crate::tls::{self, TlsSettings};

type BoxError = Box<dyn std::error::Error + Send + Sync>;
type Connecting<T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send>>;

/// Why no connection came about.
#[derive(Debug)]
pub(crate) enum DialError {
    /// The guard said no.
    Refused(AddressRefused),
    /// The name does not resolve.
    Dns(io::Error),
    /// The last address that was tried said no.
    Connect(io::Error),
    /// Nothing within [`CONNECT_TIMEOUT`].
    TimedOut,
    /// TLS cannot be set up on this machine.
    TlsSetup(String),
}

impl fmt::Display for DialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refused) => refused.fmt(f),
            Self::Dns(error) | Self::Connect(error) => error.fmt(f),
            Self::TimedOut => write!(f, "no connection within {} s", CONNECT_TIMEOUT.as_secs()),
            Self::TlsSetup(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for DialError {}

/// Opens plain connections under an address policy.
#[derive(Clone, Debug)]
pub(crate) struct Dialer {
    policy: Arc<AddressPolicy>,
}

impl Dialer {
    async fn dial(self, uri: Uri) -> Result<TcpStream, DialError> {
        let host = uri.host().unwrap_or_default().to_owned();
        let default_port = if uri.scheme_str() == Some("https") {
            443
        } else {
            80
        };
        let port = uri.port_u16().unwrap_or(default_port);
        let addresses = resolve(&host, port).await.map_err(DialError::Dns)?;
        for address in &addresses {
            let checked = self.policy.check_address(&host, port, address.ip());
            checked.map_err(DialError::Refused)?;
        }
        connect_first(alternate(addresses))
            .await
            .map_err(DialError::Connect)
    }
}

impl Service<Uri> for Dialer {
    type Response = TokioIo<TcpStream>;
    type Error = DialError;
    type Future = Connecting<Self::Response, DialError>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), DialError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let dialer = self.clone();
        Box::pin(async move {
            match tokio::time::timeout(CONNECT_TIMEOUT, dialer.dial(uri)).await {
                Ok(connected) => connected.map(TokioIo::new),
                Err(_) => Err(DialError::TimedOut),
            }
        })
    }
}

/// All addresses of a host; a literal is its own address and is never looked up.
async fn resolve(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    if let Ok(ip) = bare.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(ip, port)]);
    }
    let addresses: Vec<SocketAddr> = tokio::net::lookup_host((host, port)).await?.collect();
    if addresses.is_empty() {
        return Err(io::Error::new(
            io::ErrorKind::NotFound,
            "the name has no address",
        ));
    }
    Ok(addresses)
}

/// IPv6 and IPv4 by turns, so that one broken family costs one delay only (RFC 8305 section 4).
fn alternate(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let first_is_v6 = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let (first, second): (Vec<_>, Vec<_>) = addresses
        .into_iter()
        .partition(|address| address.is_ipv6() == first_is_v6);
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    let mut ordered = Vec::new();
    loop {
        match (first.next(), second.next()) {
            (None, None) => return ordered,
            (a, b) => ordered.extend(a.into_iter().chain(b)),
        }
    }
}

/// The first connection that stands; each address gets a head start over the next.
async fn connect_first(addresses: Vec<SocketAddr>) -> io::Result<TcpStream> {
    let mut attempts = FuturesUnordered::new();
    let mut remaining = addresses.into_iter();
    let mut last_error = io::Error::new(io::ErrorKind::NotFound, "no address to connect to");
    loop {
        if let Some(address) = remaining.next() {
            attempts.push(connect(address));
        } else if attempts.is_empty() {
            return Err(last_error);
        }
        let delay = tokio::time::sleep(NEXT_ADDRESS_DELAY);
        tokio::select! {
            Some(attempt) = attempts.next() => match attempt {
                Ok(stream) => return Ok(stream),
                Err(error) => last_error = error,
            },
            () = delay => {}
        }
    }
}

async fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let socket = if address.is_ipv6() {
        TcpSocket::new_v6()?
    } else {
        TcpSocket::new_v4()?
    };
    // A blocking call may be silent for as long as the agent works: probes keep the path open and
    // tell when the other side is gone.
    let probes = TcpKeepalive::new()
        .with_time(KEEPALIVE_AFTER)
        .with_interval(KEEPALIVE_INTERVAL);
    SockRef::from(&socket).set_tcp_keepalive(&probes)?;
    let stream = socket.connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// [`Dialer`] with TLS on top. The root certificates are read when the first https address is
/// dialled, since that takes longer than everything else at start.
#[derive(Clone)]
pub(crate) struct Connector {
    dialer: Dialer,
    tls: Arc<OnceLock<Result<HttpsConnector<Dialer>, String>>>,
    settings: TlsSettings,
}

impl Connector {
    pub(crate) fn new(policy: Arc<AddressPolicy>, settings: TlsSettings) -> Self {
        Self {
            dialer: Dialer { policy },
            tls: Arc::default(),
            settings,
        }
    }

    fn build_tls(&self) -> Result<HttpsConnector<Dialer>, String> {
        let config = tls::client_config(&self.settings)?;
        let builder = HttpsConnectorBuilder::new()
            .with_tls_config(config)
            .https_or_http();
        Ok(builder
            .enable_all_versions()
            .wrap_connector(self.dialer.clone()))
    }
}

impl Service<Uri> for Connector {
    type Response = MaybeHttpsStream<TokioIo<TcpStream>>;
    type Error = BoxError;
    type Future = Connecting<Self::Response, BoxError>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        if uri.scheme_str() == Some("http") {
            let dialling = self.dialer.call(uri);
            return Box::pin(async move { Ok(MaybeHttpsStream::Http(dialling.await?)) });
        }
        match self.tls.get_or_init(|| self.build_tls()) {
            Ok(connector) => {
                let connecting = connector.clone().call(uri);
                Box::pin(async move {
                    match tokio::time::timeout(CONNECT_TIMEOUT, connecting).await {
                        Ok(connected) => connected,
                        Err(_) => Err(DialError::TimedOut.into()),
                    }
                })
            }
            Err(reason) => {
                let error = DialError::TlsSetup(reason.clone());
                Box::pin(async move { Err(error.into()) })
            }
        }
    }
}
