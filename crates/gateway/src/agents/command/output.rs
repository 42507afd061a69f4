//! The pipes of a running program: what it is fed, what it writes, and when that is all.

use bytes::BytesMut;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::Halt;

/// Bytes asked of the pipe at a time: what a pipe of Linux holds.
pub(super) const READ_BYTES: usize = 64 * 1024;
/// How long a pipe is still read after its program and group are gone. Passes only if a process
/// that left the group keeps the pipe open; what lies in the pipe is read without waiting.
const DRAIN_LIMIT: Duration = Duration::from_millis(500);
/// Bytes of standard error that are kept for the log: its end, where the reason stands.
const STDERR_TAIL_BYTES: usize = 8 * 1024;

/// Fires when the program is gone and all it wrote is in the pipes.
#[derive(Clone, Debug)]
pub(super) struct Gone {
    token: CancellationToken,
    drained_at: Option<Instant>,
}

impl Gone {
    pub(super) fn new() -> Self {
        Self {
            token: CancellationToken::new(),
            drained_at: None,
        }
    }

    /// Says that the program is gone.
    pub(super) fn fire(&self) {
        self.token.cancel();
    }

    async fn drained(&mut self) {
        self.token.cancelled().await;
        let at = *self
            .drained_at
            .get_or_insert_with(|| Instant::now() + DRAIN_LIMIT);
        sleep_until(at).await;
    }
}

/// Standard output with the turn's limit.
#[derive(Debug)]
pub(super) struct Output {
    stdout: ChildStdout,
    gone: Gone,
    limit: u64,
    seen: u64,
}

impl Output {
    pub(super) fn new(stdout: ChildStdout, gone: Gone, limit: u64) -> Self {
        Self {
            stdout,
            gone,
            limit,
            seen: 0,
        }
    }

    /// Adds what the program wrote to `buffer`; false: nothing more comes. Cancel-safe.
    pub(super) async fn read(&mut self, buffer: &mut BytesMut) -> Result<bool, Halt> {
        buffer.reserve(READ_BYTES);
        let got = tokio::select! {
            biased;
            got = self.stdout.read_buf(buffer) => got,
            () = self.gone.drained() => return Ok(false),
        };
        let got =
            got.map_err(|_| Halt::Fault("the agent's output could not be read".to_owned()))?;
        self.seen += got as u64;
        if self.seen > self.limit {
            return Err(Halt::Fault(format!(
                "the agent's program wrote more than {} bytes and was stopped",
                self.limit
            )));
        }
        Ok(got > 0)
    }

    /// Reads on and throws away, so that a program that has said all can still end in order.
    pub(super) async fn discard(&mut self) {
        let mut buffer = BytesMut::new();
        while self.read(&mut buffer).await.unwrap_or(false) {
            buffer.clear();
        }
    }
}

/// Writes the input and closes; never returns. A program need not read what it is given.
pub(super) async fn feed(stdin: Option<ChildStdin>, input: &[u8]) -> Infallible {
    if let Some(mut stdin) = stdin {
        drop(stdin.write_all(input).await);
    }
    std::future::pending().await
}

/// The end of standard error.
#[derive(Debug, Default)]
pub(super) struct StderrTail(VecDeque<u8>);

impl StderrTail {
    /// Reads until the program closes its standard error or is gone.
    pub(super) async fn follow(&mut self, stderr: &mut ChildStderr, mut gone: Gone) {
        let mut buffer = vec![0; STDERR_TAIL_BYTES];
        loop {
            let got = tokio::select! {
                biased;
                got = stderr.read(&mut buffer) => got.unwrap_or(0),
                () = gone.drained() => 0,
            };
            if got == 0 {
                return;
            }
            self.0.extend(&buffer[..got]);
            let surplus = self.0.len().saturating_sub(STDERR_TAIL_BYTES);
            self.0.drain(..surplus);
        }
    }

    /// The text for the log.
    pub(super) fn text(&self) -> String {
        let bytes: Vec<u8> = self.0.iter().copied().collect();
        String::from_utf8_lossy(&bytes).trim().to_owned()
    }
}
