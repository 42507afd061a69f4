//! A socket that gives up on peers who are too slow: to send a head, to come back, to take bytes.
//!
//! One timer per connection, armed only while we wait: serving a request costs no timer at all.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use super::limits::WRITE_STALL;

/// What the connection waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Phase {
    /// The rest of a head.
    Head = 0,
    /// Nothing of the peer: a request is being served.
    Serving = 1,
    /// The next request.
    Idle = 2,
}

/// The connection's phase and when it began, told by whoever serves its requests.
#[derive(Clone)]
pub(super) struct ConnectionPhase(Arc<PhaseCell>);

struct PhaseCell {
    phase: AtomicU8,
    /// Milliseconds after `start`.
    since: AtomicU64,
    start: Instant,
}

impl ConnectionPhase {
    /// A connection that was just made.
    pub(super) fn new() -> Self {
        Self(Arc::new(PhaseCell {
            phase: AtomicU8::new(Phase::Head as u8),
            since: AtomicU64::new(0),
            start: Instant::now(),
        }))
    }

    /// A request's head is complete.
    pub(super) fn serving(&self) {
        self.0.phase.store(Phase::Serving as u8, Ordering::Relaxed);
    }

    /// The answer is on its way.
    pub(super) fn idle(&self) {
        self.enter(Phase::Idle);
    }

    fn enter(&self, phase: Phase) {
        let millis = u64::try_from(self.0.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.0.since.store(millis, Ordering::Relaxed);
        self.0.phase.store(phase as u8, Ordering::Relaxed);
    }

    fn get(&self) -> Phase {
        match self.0.phase.load(Ordering::Relaxed) {
            0 => Phase::Head,
            1 => Phase::Serving,
            _ => Phase::Idle,
        }
    }

    fn since(&self) -> Instant {
        self.0.start + Duration::from_millis(self.0.since.load(Ordering::Relaxed))
    }
}

/// How long a peer may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// For a head, from its first byte (or from the start of the connection).
    pub(super) head: Duration,
    /// Between requests.
    pub(super) idle: Duration,
}

/// What is guarded: a socket, bare or inside TLS.
pub(super) trait Socket: AsyncRead + AsyncWrite + Unpin + Send + 'static {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> Socket for S {}

/// The guarded socket.
pub(super) struct SocketGuard<S> {
    socket: S,
    phase: ConnectionPhase,
    patience: Patience,
    received_in_head: bool,
    read_timer: Pin<Box<Sleep>>,
    write_timer: Option<Pin<Box<Sleep>>>,
}

/// Sent when a peer began a head and did not finish it.
const TIMED_OUT: &[u8] =
    b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

impl<S: Socket> SocketGuard<S> {
    pub(super) fn new(socket: S, phase: ConnectionPhase, patience: Patience) -> Self {
        let first = phase.since() + patience.head;
        Self {
            socket,
            phase,
            patience,
            received_in_head: false,
            read_timer: Box::pin(tokio::time::sleep_until(first)),
            write_timer: None,
        }
    }

    /// Waits for bytes: ready with an error when the peer took too long.
    ///
    /// The timer also runs while a request is served, because the wait for the next one begins
    /// without a further poll of ours; it is moved only when it fires or would fire too late.
    fn poll_patience(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        loop {
            let phase = self.phase.get();
            let deadline = match phase {
                Phase::Head => self.phase.since() + self.patience.head,
                Phase::Idle => self.phase.since() + self.patience.idle,
                Phase::Serving => Instant::now() + self.patience.idle,
            };
            if self.read_timer.deadline() > deadline {
                self.read_timer.as_mut().reset(deadline);
            }
            ready!(self.read_timer.as_mut().poll(cx));
            if phase != Phase::Serving && Instant::now() >= deadline {
                if phase == Phase::Head && self.received_in_head {
                    // Best effort: a peer that cannot even take this gets the closed socket.
                    let mut socket = Pin::new(&mut self.socket);
                    if socket.as_mut().poll_write(cx, TIMED_OUT).is_ready() {
                        let _ = socket.poll_flush(cx);
                    }
                }
                return Poll::Ready(io::ErrorKind::TimedOut.into());
            }
            self.read_timer.as_mut().reset(deadline);
        }
    }

    /// Bytes came: the wait for a next request becomes the wait for its head.
    fn received(&mut self) {
        match self.phase.get() {
            Phase::Idle => {
                self.phase.enter(Phase::Head);
                self.received_in_head = true;
            }
            Phase::Head => self.received_in_head = true,
            Phase::Serving => {}
        }
    }

    fn poll_write_patience<T>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.write_timer = None;
            return written;
        }
        let timer = self
            .write_timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(WRITE_STALL)));
        ready!(timer.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: Socket> AsyncRead for SocketGuard<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        match Pin::new(&mut this.socket).poll_read(cx, buf) {
            Poll::Pending => this.poll_patience(cx).map(Err),
            ready => {
                this.received();
                ready
            }
        }
    }
}

impl<S: Socket> AsyncWrite for SocketGuard<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.socket).poll_write(cx, buf);
        this.poll_write_patience(cx, written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.socket).poll_write_vectored(cx, bufs);
        this.poll_write_patience(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        // TLS holds bytes back until then.
        let flushed = Pin::new(&mut this.socket).poll_flush(cx);
        this.poll_write_patience(cx, flushed)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_shutdown(cx)
    }
}
