//! A socket that gives up on peers who are too slow: to send a head, to come back, to take bytes.
//!
//! One timer per connection, armed only while we wait: serving a request costs no timer at all.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
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

/// The connection's phase, told by whoever serves its requests.
#[derive(Clone, Default)]
pub(super) struct ConnectionPhase(Arc<AtomicU8>);

impl ConnectionPhase {
    /// A request's head is complete.
    pub(super) fn serving(&self) {
        self.0.store(Phase::Serving as u8, Ordering::Relaxed);
    }

    /// The answer is on its way.
    pub(super) fn idle(&self) {
        self.0.store(Phase::Idle as u8, Ordering::Relaxed);
    }

    fn get(&self) -> Phase {
        match self.0.load(Ordering::Relaxed) {
            0 => Phase::Head,
            1 => Phase::Serving,
            _ => Phase::Idle,
        }
    }

    fn head(&self) {
        self.0.store(Phase::Head as u8, Ordering::Relaxed);
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

/// The guarded socket.
pub(super) struct SocketGuard {
    socket: TcpStream,
    phase: ConnectionPhase,
    patience: Patience,
    since: Instant,
    waiting_for: Phase,
    received_in_head: bool,
    read_timer: Pin<Box<Sleep>>,
    write_timer: Option<Pin<Box<Sleep>>>,
}

/// Sent when a peer began a head and did not finish it.
const TIMED_OUT: &[u8] =
    b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

impl SocketGuard {
    pub(super) fn new(socket: TcpStream, phase: ConnectionPhase, patience: Patience) -> Self {
        let now = Instant::now();
        Self {
            socket,
            phase,
            patience,
            since: now,
            waiting_for: Phase::Head,
            received_in_head: false,
            read_timer: Box::pin(tokio::time::sleep_until(now + patience.head)),
            write_timer: None,
        }
    }

    /// Waits for bytes: ready with an error when the peer took too long.
    fn poll_patience(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        let phase = self.phase.get();
        if phase == Phase::Serving {
            return Poll::Pending;
        }
        if phase != self.waiting_for {
            self.waiting_for = phase;
            self.received_in_head = false;
            self.since = Instant::now();
        }
        let patience = match phase {
            Phase::Idle => self.patience.idle,
            _ => self.patience.head,
        };
        let deadline = self.since + patience;
        loop {
            // The timer may still run for an earlier wait; it is moved only when it fires or when
            // it would fire too late.
            if self.read_timer.deadline() > deadline {
                self.read_timer.as_mut().reset(deadline);
            }
            ready!(self.read_timer.as_mut().poll(cx));
            if Instant::now() >= deadline {
                if phase == Phase::Head && self.received_in_head {
                    // Best effort: a peer that cannot even take this gets the closed socket.
                    let _ = self.socket.try_write(TIMED_OUT);
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
                self.phase.head();
                self.waiting_for = Phase::Head;
                self.since = Instant::now();
                self.received_in_head = true;
            }
            Phase::Head => self.received_in_head = true,
            Phase::Serving => {}
        }
    }

    fn poll_write_patience(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.write_timer = None;
            return written;
        }
        let timer =
            self.write_timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(WRITE_STALL)));
        ready!(timer.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for SocketGuard {
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

impl AsyncWrite for SocketGuard {
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
        Pin::new(&mut self.get_mut().socket).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_shutdown(cx)
    }
}
