//! The spellings of answers: that of 1.0, and the two that 0.3 has on this binding.

use crate::dialects::{Dialect, v0_3};
use crate::event::StreamResponse;
use crate::operation::{Method, Response};

/// How an answer or an event is spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// 1.0.
    V1,
    /// 0.3 as its text has it: the objects of its JSON-RPC binding, wrapped.
    V0_3Text,
    /// 0.3 as its official SDKs have it: the JSON of its proto, with files as the Python ones have them.
    V0_3Proto,
    /// The same with files as the JavaScript SDK has them.
    V0_3ProtoFiles,
}

/// What the names of JavaScript's runtimes begin with, where its SDK leaves their `User-Agent` alone: Node, its
/// HTTP library, browsers, Deno, Bun, Cloudflare's workers.
const JAVASCRIPT: [&str; 6] = [
    "node",
    "undici",
    "Mozilla/",
    "Deno/",
    "Bun/",
    "Cloudflare-Workers",
];

impl Form {
    /// The form for whoever shows none: 0.3 as its SDKs speak it, since they are who calls.
    #[must_use]
    pub fn of(dialect: Dialect) -> Self {
        match dialect {
            Dialect::V0_3 => Self::V0_3Proto,
            Dialect::V1 | Dialect::V1Slash | Dialect::Legacy | Dialect::Fleet => Self::V1,
        }
    }

    /// The form for a caller with this `User-Agent`. Nothing else tells the official SDKs of 0.3 apart, each of
    /// which reads inline files of its own kind alone.
    #[must_use]
    pub fn for_caller(self, user_agent: Option<&str>) -> Self {
        let is_javascript = |name: &str| JAVASCRIPT.iter().any(|it| name.starts_with(it));
        match self {
            Self::V0_3Proto if user_agent.is_some_and(is_javascript) => Self::V0_3ProtoFiles,
            form => form,
        }
    }

    /// The dialect the form belongs to.
    #[must_use]
    pub fn dialect(self) -> Dialect {
        match self {
            Self::V1 => Dialect::V1,
            Self::V0_3Text | Self::V0_3Proto | Self::V0_3ProtoFiles => Dialect::V0_3,
        }
    }

    /// Appends the answer to `method`.
    pub fn write_response(self, method: Method, response: &Response, out: &mut Vec<u8>) {
        match self {
            Self::V1 => Dialect::V1.write_response(method, response, out),
            Self::V0_3Text => v0_3::write_wrapped_response(response, out),
            Self::V0_3Proto => v0_3::write_proto_response::<{ v0_3::TEXT }>(response, out),
            Self::V0_3ProtoFiles => v0_3::write_proto_response::<{ v0_3::BYTES }>(response, out),
        }
    }

    /// Appends one event of a stream; `last` says that the stream ends after it.
    pub fn write_event(self, event: &StreamResponse, last: bool, out: &mut Vec<u8>) {
        match self {
            Self::V1 => Dialect::V1.write_event(event, last, out),
            Self::V0_3Text => v0_3::write_wrapped_event(event, last, out),
            Self::V0_3Proto => v0_3::write_proto_event::<{ v0_3::TEXT }>(event, last, out),
            Self::V0_3ProtoFiles => v0_3::write_proto_event::<{ v0_3::BYTES }>(event, last, out),
        }
    }

    /// Appends a stored event, which is in 1.0; see [`Dialect::write_stored_event`].
    pub fn write_stored_event(self, payload: &[u8], last: bool, out: &mut Vec<u8>) {
        match self {
            Self::V1 => out.extend_from_slice(payload),
            _ => match serde_json::from_slice(payload) {
                Ok(event) => self.write_event(&event, last, out),
                Err(_) => out.extend_from_slice(payload),
            },
        }
    }
}
