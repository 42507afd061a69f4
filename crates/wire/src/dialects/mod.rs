//! The generations of A2A's JSON: each reads into and writes from the one model of this crate.
//!
//! Only here are old names known. [`negotiate`] says which dialect a JSON-RPC request speaks; the
//! [`Dialect`] then reads its `params` and writes its `result`, or the other way round for a client.
//! To add one: a module beside [`v0_3`], an arm in each method of [`Dialect`].

mod card;
pub mod hermes_fleet;
mod lenient;
mod negotiate;
pub mod openfang;
mod params;
pub mod protobuf;
pub mod v0_3;
mod v1;

pub use card::{CardError, CardGeneration, read_card};
pub use negotiate::{Negotiation, follows_task, negotiate, negotiate_grpc, negotiate_rest};

use std::fmt;
use std::str::FromStr;

use crate::error::A2aError;
use crate::event::StreamResponse;
use crate::operation::{Method, Request, Response};
use crate::task::Task;

/// How a request is spelled, and so its answer, its events and its push notifications.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// A2A 1.0.
    V1,
    /// 1.0 objects under the method names of 0.3, with bare results.
    V1Slash,
    /// A2A 0.3, and 0.2 as far as it is the same.
    V0_3,
    /// The first public A2A of April 2025. Served at addresses of its own and never negotiated.
    Legacy,
    /// That of the Hermes fleet plugin. Served at addresses of its own, and recognised by
    /// [`hermes_fleet::is_spoken`] at those of 1.0.
    Fleet,
}

impl Dialect {
    /// Every dialect.
    pub const ALL: [Self; 5] = [
        Self::V1,
        Self::V1Slash,
        Self::V0_3,
        Self::Legacy,
        Self::Fleet,
    ];

    /// The name under which it is stored with a task.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V1Slash => "v1-slash",
            Self::V0_3 => "v0.3",
            Self::Legacy => "legacy",
            Self::Fleet => "fleet",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text names no dialect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown dialect: must be v1, v1-slash, v0.3, legacy or fleet")]
pub struct DialectError;

impl FromStr for Dialect {
    type Err = DialectError;

    fn from_str(text: &str) -> Result<Self, DialectError> {
        Self::ALL
            .into_iter()
            .find(|dialect| dialect.as_str() == text)
            .ok_or(DialectError)
    }
}

/// The server's side: requests in, answers and events out.
impl Dialect {
    /// Reads and validates the parameters of `method`.
    ///
    /// The error is InvalidParams with the paths of the wrong fields, or ParseError (answered with
    /// a null id) for what is no JSON. Unknown members are ignored. Messages of the 2025-04 dialect
    /// have no id: theirs is empty unless one is offered to [`Dialect::read_request_with`].
    pub fn read_request(self, method: Method, params: Option<&str>) -> Result<Request, A2aError> {
        self.read_request_with(method, params, None)
    }

    /// The same, but a sent message without a `messageId` gets this one.
    pub fn read_request_with(
        self,
        method: Method,
        params: Option<&str>,
        message_id: Option<&str>,
    ) -> Result<Request, A2aError> {
        match self {
            Self::V1 | Self::V1Slash => v1::read_request(method, params, message_id),
            Self::V0_3 => v0_3::read_request(method, params, message_id),
            Self::Legacy => openfang::read_request(method, params, message_id),
            Self::Fleet => hermes_fleet::read_request(method, params, message_id),
        }
    }

    /// Reads parameters of which a part stands elsewhere, in a path: whoever fills it in also
    /// validates.
    pub(crate) fn read_partial(
        self,
        method: Method,
        params: Option<&str>,
    ) -> Result<Request, A2aError> {
        match self {
            Self::V1 | Self::V1Slash => v1::read_partial(method, params, None),
            Self::V0_3 => v0_3::read_partial(method, params, None),
            Self::Legacy => openfang::read_request(method, params, None),
            Self::Fleet => hermes_fleet::read_request(method, params, None),
        }
    }

    /// Validates what [`Dialect::read_partial`] read; the error has the dialect's names of fields.
    pub(crate) fn validate(self, request: &Request) -> Result<(), A2aError> {
        match self {
            Self::V0_3 => v0_3::validate(request),
            Self::V1 | Self::V1Slash | Self::Legacy | Self::Fleet => request.validate(),
        }
    }

    /// Appends the `result` of `method`.
    pub fn write_response(self, method: Method, response: &Response, out: &mut Vec<u8>) {
        match self {
            Self::V1 | Self::V1Slash => {
                v1::write_response(method, response, self == Self::V1Slash, out);
            }
            Self::V0_3 => v0_3::write_response(response, out),
            Self::Legacy => openfang::write_response(response, out),
            Self::Fleet => hermes_fleet::write_response(response, out),
        }
    }

    /// Appends one event; `last` says that the stream ends after it, which 0.3 writes down.
    pub fn write_event(self, event: &StreamResponse, last: bool, out: &mut Vec<u8>) {
        match self {
            Self::V1 | Self::V1Slash => v1::write(event, out),
            Self::V0_3 => v0_3::write_event(event, last, out),
            Self::Legacy => openfang::write_event(event, out),
            Self::Fleet => hermes_fleet::write_event(event, out),
        }
    }

    /// Appends a stored event: `payload` is what `V1.write_event` wrote. The dialects of 1.0 copy it
    /// unread. A payload that cannot be read is copied too: better the wrong spelling than a gap.
    pub fn write_stored_event(self, payload: &[u8], last: bool, out: &mut Vec<u8>) {
        match self {
            Self::V1 | Self::V1Slash => out.extend_from_slice(payload),
            Self::V0_3 | Self::Legacy | Self::Fleet => match serde_json::from_slice(payload) {
                Ok(event) => self.write_event(&event, last, out),
                Err(_) => out.extend_from_slice(payload),
            },
        }
    }

    /// Appends a bare task.
    pub fn write_task(self, task: &Task, out: &mut Vec<u8>) {
        match self {
            Self::V1 | Self::V1Slash => v1::write(task, out),
            Self::V0_3 => v0_3::write_task(task, out),
            Self::Legacy => openfang::write_task(task, &task.id, out),
            Self::Fleet => hermes_fleet::write_task(task, out),
        }
    }
}

/// The client's side: requests out, answers and events in.
impl Dialect {
    /// The JSON-RPC name of an operation; `None` where the dialect has no such operation.
    #[must_use]
    pub fn method_name(self, method: Method) -> Option<&'static str> {
        match self {
            Self::V1 => Some(method.name()),
            Self::V1Slash => Some(negotiate::slash_name(method)),
            Self::V0_3 if method == Method::ListTasks => None,
            Self::V0_3 => Some(negotiate::slash_name(method)),
            Self::Legacy => openfang::method_name(method),
            Self::Fleet => hermes_fleet::method_name(method),
        }
    }

    /// Appends the `params` of a request.
    pub fn write_params(self, request: &Request, out: &mut Vec<u8>) {
        match self {
            Self::V1 | Self::V1Slash => v1::write_params(request, out),
            Self::V0_3 => v0_3::write_params(request, out),
            Self::Legacy => openfang::write_params(request, out),
            Self::Fleet => hermes_fleet::write_params(request, out),
        }
    }

    /// Reads the `result` of `method`, leniently: peers mix the generations.
    pub fn read_response(self, method: Method, result: &str) -> Result<Response, A2aError> {
        match self {
            Self::V1 | Self::V1Slash => v1::read_response(method, result, v1::read_event),
            Self::V0_3 => v1::read_response(method, result, lenient::read_event),
            Self::Legacy => openfang::read_response(method, result),
            Self::Fleet => hermes_fleet::read_response(method, result),
        }
    }

    /// Reads one event of a stream, and whether it says itself that the stream ends with it.
    pub fn read_event(self, result: &str) -> Result<(StreamResponse, bool), A2aError> {
        match self {
            Self::V1 | Self::V1Slash => v1::read_event(result),
            // Its messages may look like 1.0 without parts.
            Self::V0_3 => lenient::read_event(result),
            Self::Legacy => openfang::read_event(result),
            Self::Fleet => hermes_fleet::read_event(result),
        }
    }
}
