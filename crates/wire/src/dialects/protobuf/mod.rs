//! Protobuf of both generations: requests, answers and events as the messages of gRPC.
//!
//! Types come from `proto/` at build time and are seen nowhere else; the model is converted by
//! value, message by message. Which bytes go around a message is [`crate::bindings::grpc`]'s.

mod user_json;
mod v0_3;
mod v1;
mod wrong;

/// What `build.rs` made of `proto/`.
#[allow(missing_docs, dead_code, clippy::all)] // not written by hand
pub(crate) mod generated {
    include!(concat!(env!("OUT_DIR"), "/protobuf.rs"));
}

use bytes::Bytes;

use super::Dialect;
use crate::error::{A2aError, ErrorKind};
use crate::event::StreamResponse;
use crate::message::Role;
use crate::operation::{Method, Request, Response};
use crate::task::TaskState;
use crate::timestamp::Timestamp;
use wrong::Wrong;

/// A generation of the protocol by its protobuf package.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Package {
    /// `lf.a2a.v1`: A2A 1.0.
    V1,
    /// `a2a.v1`: A2A 0.3.
    V0_3,
}

impl Package {
    /// Both generations.
    pub const ALL: [Self; 2] = [Self::V1, Self::V0_3];

    /// Full name of its service.
    #[must_use]
    pub fn service(self) -> &'static str {
        match self {
            Self::V1 => "lf.a2a.v1.A2AService",
            Self::V0_3 => "a2a.v1.A2AService",
        }
    }

    /// The package whose service has this full name.
    #[must_use]
    pub fn of_service(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|package| package.service() == name)
    }

    /// The dialect its callers speak.
    #[must_use]
    pub fn dialect(self) -> Dialect {
        match self {
            Self::V1 => Dialect::V1,
            Self::V0_3 => Dialect::V0_3,
        }
    }

    /// The operation under this name.
    #[must_use]
    pub fn method(self, name: &str) -> Option<Method> {
        Method::ALL
            .into_iter()
            .find(|method| self.method_name(*method) == Some(name))
    }

    /// The name of an operation; `None` where the generation has no such operation.
    #[must_use]
    pub fn method_name(self, method: Method) -> Option<&'static str> {
        match self {
            Self::V1 => Some(method.name()),
            Self::V0_3 => v0_3::method_name(method),
        }
    }
}

/// The server's side: requests in, answers and events out.
impl Package {
    /// Reads and validates the request of `method`.
    ///
    /// The error is InvalidParams with the paths of the wrong fields in the JSON names of 1.0, or
    /// ParseError for what is no such message.
    pub fn read_request(self, method: Method, message: Bytes) -> Result<Request, A2aError> {
        self.read_request_with(method, message, None)
    }

    /// The same, but a sent message without a `message_id` gets this one.
    pub fn read_request_with(
        self,
        method: Method,
        message: Bytes,
        message_id: Option<&str>,
    ) -> Result<Request, A2aError> {
        match self {
            Self::V1 => v1::read_request(method, message, message_id),
            Self::V0_3 => v0_3::read_request(method, message, message_id),
        }
    }

    /// The tenant that a request names, even one that is wrong otherwise. 0.3 knows none.
    #[must_use]
    pub fn tenant_of(self, method: Method, message: &Bytes) -> Option<String> {
        match self {
            Self::V1 => v1::tenant_of(method, message.clone()),
            Self::V0_3 => None,
        }
    }

    /// The message that answers an operation. InvalidParams where user JSON holds what protobuf
    /// cannot carry: other bindings can.
    pub fn write_response(self, response: Response) -> Result<Vec<u8>, A2aError> {
        Ok(match self {
            Self::V1 => v1::write_response(response)?,
            Self::V0_3 => v0_3::write_response(response)?,
        })
    }

    /// The message of one event; `last` says that the stream ends after it, which 0.3 writes down.
    /// Errors as of [`Package::write_response`].
    pub fn write_event(self, event: StreamResponse, last: bool) -> Result<Vec<u8>, A2aError> {
        Ok(match self {
            Self::V1 => v1::write_event(event)?,
            Self::V0_3 => v0_3::write_event(event, last)?,
        })
    }
}

/// The client's side: requests out, answers and events in.
impl Package {
    /// The message of a request; UnsupportedOperation where the generation has no such operation,
    /// InvalidParams where user JSON holds what protobuf cannot carry.
    pub fn write_request(self, request: Request) -> Result<Vec<u8>, A2aError> {
        Ok(match self {
            Self::V1 => v1::write_request(request)?,
            Self::V0_3 => v0_3::write_request(request)?,
        })
    }

    /// Reads the message that answers `method`; InvalidAgentResponse for what is none.
    pub fn read_response(self, method: Method, message: Bytes) -> Result<Response, A2aError> {
        match self {
            Self::V1 => v1::read_response(method, message),
            Self::V0_3 => v0_3::read_response(method, message),
        }
        .map_err(invalid_answer)
    }

    /// Reads the message of one event, and whether it says itself that the stream ends with it.
    pub fn read_event(self, message: Bytes) -> Result<(StreamResponse, bool), A2aError> {
        match self {
            Self::V1 => v1::read_event(message),
            Self::V0_3 => v0_3::read_event(message),
        }
        .map_err(invalid_answer)
    }
}

fn invalid_answer(wrong: Wrong) -> A2aError {
    let message = format!("The agent's answer: {} {}", wrong.field, wrong.reason);
    A2aError::new(ErrorKind::InvalidAgentResponse, message)
}

fn decode<M: prost::Message + Default>(message: Bytes) -> Result<M, A2aError> {
    M::decode(message).map_err(|error| {
        let text = format!("The message is not of the type this method takes: {error}");
        A2aError::new(ErrorKind::ParseError, text)
    })
}

fn decode_answer<M: prost::Message + Default>(message: Bytes) -> Result<M, Wrong> {
    M::decode(message).map_err(|error| Wrong::here(error.to_string()))
}

fn state_in(number: i32) -> Result<TaskState, Wrong> {
    u64::try_from(number)
        .ok()
        .and_then(TaskState::from_number)
        .ok_or_else(|| Wrong::here(format!("is no state: {number}")))
}

fn role_in(number: i32) -> Result<Role, Wrong> {
    Role::from_number(number).ok_or_else(|| Wrong::here(format!("is no role: {number}")))
}

fn time_out(time: Timestamp) -> prost_types::Timestamp {
    let (seconds, nanos) = time.as_unix();
    prost_types::Timestamp { seconds, nanos }
}

fn time_in(time: prost_types::Timestamp) -> Result<Timestamp, Wrong> {
    Timestamp::from_unix(time.seconds, time.nanos)
        .ok_or_else(|| Wrong::here("is no time between the years 1 and 9999"))
}
