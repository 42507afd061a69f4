//! The pipes of a running program: what it is fed, what it writes, and when that is all.

use bytes::BytesMut;
use std::convert::Infallible;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::Halt;
use super::decode::Utf8Pieces;
use crate::agents::reply::{Heard, Source};

/// Bytes asked of the pipe at a time: what a pipe of Linux holds.
pub(super) const READ_BYTES: usize = 64 * 1024;
/// How long a pipe is still read after its program and group are gone. Passes only if a process
/// that left the group keeps the pipe open; what lies in the pipe is read without waiting.
const DRAIN_LIMIT: Duration = Duration::from_millis(500);
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

    /// Returns a moment after the program is gone.
    pub(super) async fn drained(&mut self) {
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

/// Standard output as text.
#[derive(Debug)]
pub(super) struct Text {
    output: Output,
    buffer: BytesMut,
    decoder: Utf8Pieces,
}

impl Text {
    pub(super) fn new(output: Output) -> Self {
        Self {
            output,
            buffer: BytesMut::new(),
            decoder: Utf8Pieces::default(),
        }
    }
}

impl Source for Text {
    type Halt = Halt;

    async fn hear(&mut self, text: &mut String) -> Result<Heard, Halt> {
        let more = self.output.read(&mut self.buffer).await?;
        if !more {
            self.decoder.finish(text);
            return Ok(Heard::End);
        }
        self.decoder.push(&self.buffer, text);
        self.buffer.clear();
        Ok(Heard::Text)
    }
}

/// Writes the input and closes; never returns. A program need not read what it is given.
pub(super) async fn feed(stdin: Option<ChildStdin>, input: &[u8]) -> Infallible {
    if let Some(mut stdin) = stdin {
        drop(stdin.write_all(input).await);
    }
    std::future::pending().await
}
