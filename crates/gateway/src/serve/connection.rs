//! One connection from its first byte to its close: HTTP/1.1 or HTTP/2, as the handshake agreed, and
//! without TLS as the first bytes say.

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::convert::Infallible;
use std::error::Error;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use super::gathered_writes::GatheredWrites;
use super::limits::{MAX_HEAD_BYTES, MAX_HEADERS, MAX_HTTP2_HEADER_LIST, MAX_HTTP2_STREAMS};
use super::listen::Entrance;
use super::service::{Peer, Service};
use super::socket_guard::{ConnectionPhase, Socket, SocketGuard};
use super::tls::Secured;

/// First bytes of every HTTP/2 connection with prior knowledge (RFC 9113 section 3.4).
const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0";
/// HTTP/2 connections are pinged this often, so that a dead peer is noticed.
const HTTP2_PING: Duration = Duration::from_secs(30);

/// Serves `socket` until the peer is done or `stopping` fires and the running requests are over.
pub(super) async fn serve(
    socket: TcpStream,
    from: SocketAddr,
    entrance: Entrance,
    stopping: CancellationToken,
) {
    let Entrance { service, tls } = entrance;
    // Without it each small frame of a stream waits for the peer's delayed acknowledgement.
    let prepared = socket.set_nodelay(true).and_then(|()| socket.local_addr());
    let Ok(at) = prepared else { return };
    let patience = service.patience();
    let mut serving = Serving {
        peer: Peer { from, at },
        certified: None,
        service,
        stopping: stopping.clone(),
    };
    let beginning = async {
        match tls {
            Some(tls) => tls.accept(socket).await.map(Begun::Secured),
            None => Ok(Begun::Plain(speaks_http2(&socket).await?, socket)),
        }
    };
    let begun = tokio::select! {
        begun = tokio::time::timeout(patience.head, beginning) => begun,
        () = stopping.cancelled() => return,
    };
    let served = match begun {
        Ok(Ok(Begun::Plain(is_http2, socket))) => serving.serve(socket, is_http2).await,
        Ok(Ok(Begun::Secured(secured))) => {
            serving.certified = secured.certified;
            serving.serve(secured.stream, secured.is_http2).await
        }
        Ok(Err(error)) => {
            tracing::debug!(%error, %from, "connection did not begin");
            return;
        }
        Err(_) => {
            tracing::debug!(%from, "connection did not begin in time");
            return;
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, %from, "connection closed");
    }
}

/// A connection on which HTTP can begin.
enum Begun {
    /// Without TLS, and whether it speaks HTTP/2.
    Plain(bool, TcpStream),
    Secured(Secured),
}

/// Looks at the first bytes without taking them.
async fn speaks_http2(socket: &TcpStream) -> io::Result<bool> {
    let mut start = [0; HTTP2_PREFACE.len()];
    let mut seen = 0;
    loop {
        let length = socket.peek(&mut start).await?;
        let matches = start[..length] == HTTP2_PREFACE[..length];
        if !matches || length == start.len() || length == 0 {
            return Ok(matches && length > 0);
        }
        // `peek` returns at once while the same bytes lie there; the rest is on its way.
        if length == seen {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        seen = length;
    }
}

/// Why a connection broke.
type Failure = Box<dyn Error + Send + Sync>;

/// One connection's requests on their way to the service.
struct Serving {
    peer: Peer,
    certified: Option<Arc<str>>,
    service: Arc<Service>,
    stopping: CancellationToken,
}

impl Serving {
    async fn serve(self, socket: impl Socket, is_http2: bool) -> Result<(), Failure> {
        if is_http2 {
            self.http2(socket).await
        } else {
            Ok(self.http1(socket).await?)
        }
    }

    async fn http1(self, socket: impl Socket) -> hyper::Result<()> {
        let Self {
            peer,
            certified,
            service,
            stopping,
        } = self;
        let (phase, patience) = (ConnectionPhase::new(), service.patience());
        let guarded = TokioIo::new(SocketGuard::new(socket, phase.clone(), patience));
        let serve_one = service_fn(move |request| {
            let (service, certified, phase) = (service.clone(), certified.clone(), phase.clone());
            phase.serving();
            async move {
                let served = Served(phase);
                let response = service.serve(peer, certified, request).await;
                Ok::<_, Infallible>(response.map(|body| body.holding(served)))
            }
        });
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            // The guard does it, without a timer per request.
            .header_read_timeout(None)
            .max_headers(MAX_HEADERS)
            .max_buf_size(MAX_HEAD_BYTES)
            .pipeline_flush(true)
            .serve_connection(guarded, serve_one);
        tokio::pin!(connection);
        tokio::select! {
            served = &mut connection => return served,
            () = stopping.cancelled() => {}
        }
        connection.as_mut().graceful_shutdown();
        connection.await
    }

    async fn http2(self, socket: impl Socket) -> Result<(), Failure> {
        let Self {
            peer,
            certified,
            service,
            stopping,
        } = self;
        let serve_one = service_fn(move |request| {
            let (service, certified) = (service.clone(), certified.clone());
            // Boxed, because it is large and hyper moves it several times on its way to a task.
            Box::pin(
                async move { Ok::<_, Infallible>(service.serve(peer, certified, request).await) },
            )
        });
        let socket = GatheredWrites::new(socket);
        let connection = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .max_header_list_size(MAX_HTTP2_HEADER_LIST)
            .max_concurrent_streams(MAX_HTTP2_STREAMS)
            .keep_alive_interval(HTTP2_PING)
            .serve_connection(TokioIo::new(socket.clone()), serve_one);
        tokio::pin!(connection);
        tokio::select! {
            served = poll_fn(|cx| socket.poll(connection.as_mut(), cx)) => return served,
            () = stopping.cancelled() => {}
        }
        connection.as_mut().graceful_shutdown();
        poll_fn(|cx| socket.poll(connection.as_mut(), cx)).await
    }
}

/// From its drop on the connection waits for the next request.
struct Served(ConnectionPhase);

impl Drop for Served {
    fn drop(&mut self) {
        self.0.idle();
    }
}
