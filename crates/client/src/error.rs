//! Why a call to another agent failed: who is to blame, what the peer said, what to do next.
//!
//! A failure that the protocol names keeps the protocol's error; everything else is ours.

use std::fmt;
use std::time::Duration;

use nuncio_wire::{A2aError, ErrorKind};

use crate::limits::MAX_QUOTED_CHARS;

/// What kind of failure it is; a program decides by this.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientErrorKind {
    /// What the caller asked for makes no sense (an URL, a combination).
    Usage,
    /// The reference leads to no card.
    CardNotFound,
    /// There is a card, but it cannot be read or lacks what is required.
    CardInvalid,
    /// No connection: the cause says at which step.
    Unreachable(Unreachable),
    /// The address may not be called: another origin, an inner address, a wrong scheme.
    AddressRefused,
    /// The card names no interface that is spoken here.
    NoInterface,
    /// The agent requires a credential and none was given.
    CredentialsMissing,
    /// A credential was given and refused.
    AuthFailed,
    /// The caller's own wait is over; the task may go on.
    TimedOut,
    /// The peer refused the call with an error of the protocol.
    Protocol(Box<A2aError>),
    /// The peer asks to come back later (HTTP 429 or 503).
    Busy,
    /// The connection was lost after the call was sent.
    ConnectionLost,
    /// The answer is no A2A answer.
    InvalidAnswer,
}

/// At which step a connection failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreachable {
    /// The name does not resolve.
    Dns,
    /// Nobody listens there.
    Refused,
    /// No answer within the connect timeout.
    ConnectTimeout,
    /// The TLS handshake failed.
    Tls,
    /// The network said no in another way.
    Network,
}

/// A failed call, with a text for people. Holds no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientError {
    /// For programs.
    pub kind: ClientErrorKind,
    /// For people: names the cause and the peer.
    pub message: String,
    /// What to do next, if there is something.
    pub hint: Option<String>,
    /// The code that came over the wire: of JSON-RPC, else the HTTP status.
    pub code: Option<i64>,
    /// How long the peer asks to stay away.
    pub retry_after: Option<Duration>,
}

impl ClientError {
    /// An error with its text.
    #[must_use]
    pub fn new(kind: ClientErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hint: None,
            code: None,
            retry_after: None,
        }
    }

    /// The peer's refusal in the protocol's own terms. Refusals for want of a credential become
    /// [`ClientErrorKind::AuthFailed`]; whether one was given is known to the caller alone.
    #[must_use]
    pub fn protocol(error: A2aError) -> Self {
        let retry_after = error
            .retry_after
            .map(|seconds| Duration::from_secs(seconds.into()));
        let known = i64::from(error.kind.code());
        // A code we have no kind for is kept by the reader as it came.
        let code = error
            .info
            .get("code")
            .and_then(|code| code.parse().ok())
            .or(Some(known));
        let message = plain(&error.message);
        let kind = match error.kind {
            ErrorKind::Unauthenticated | ErrorKind::PermissionDenied => ClientErrorKind::AuthFailed,
            ErrorKind::ResourceExhausted | ErrorKind::Unavailable => ClientErrorKind::Busy,
            _ => ClientErrorKind::Protocol(Box::new(error)),
        };
        Self {
            kind,
            message,
            hint: None,
            code,
            retry_after,
        }
    }

    /// Adds what to do next.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the code that came over the wire.
    #[must_use]
    pub fn with_code(mut self, code: i64) -> Self {
        self.code = Some(code);
        self
    }

    /// The protocol's error, if the peer gave one.
    #[must_use]
    pub fn as_protocol(&self) -> Option<&A2aError> {
        match &self.kind {
            ClientErrorKind::Protocol(error) => Some(error),
            _ => None,
        }
    }

    /// Whether the peer refused with this kind of the protocol's errors.
    #[must_use]
    pub fn is_protocol(&self, kind: ErrorKind) -> bool {
        self.as_protocol().is_some_and(|error| error.kind == kind)
    }

    /// Whether no connection came about, so that nothing can have run.
    #[must_use]
    pub fn is_unreachable(&self) -> bool {
        matches!(self.kind, ClientErrorKind::Unreachable(_))
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ClientError {}

/// Characters by which a stranger's text could do more than be read: control characters, marks that
/// turn the direction of text, invisible tags.
#[must_use]
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
}

/// A peer's text on one line, without control characters and cut to [`MAX_QUOTED_CHARS`]: what a
/// stranger wrote must not move a cursor or fill a screen.
#[must_use]
pub fn plain(text: &str) -> String {
    let mut line: String = text
        .trim()
        .chars()
        .map(|c| if is_unsafe(c) { ' ' } else { c })
        .take(MAX_QUOTED_CHARS + 1)
        .collect();
    if line.chars().count() > MAX_QUOTED_CHARS {
        line.pop();
        line.push('…');
    }
    line
}
