//! Errors as bodies: `google.rpc.Status` as JSON (specification 11.6), and what 0.3 has besides.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::bindings::jsonrpc;
use crate::error::{A2aError, ErrorDetail, ErrorKind, StatusTable};

/// How the body of an error is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorShape {
    /// The HTTP status the answer has; for most errors `ErrorKind::http_status`.
    pub status: u16,
    /// Which release's status names are used.
    pub table: StatusTable,
    /// Also write the members that clients of 0.3 look for: the error's name, its message and the
    /// code that JSON-RPC has for it. Each SDK looks for another one.
    pub for_v0_3: bool,
}

/// Appends the body of an error.
pub fn write_error(error: &A2aError, shape: ErrorShape, out: &mut Vec<u8>) {
    #[derive(Serialize)]
    struct Body<'a> {
        error: Status<'a>,
        #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
        name: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<i32>,
    }
    #[derive(Serialize)]
    struct Status<'a> {
        code: u16,
        status: &'a str,
        message: &'a str,
        details: Vec<ErrorDetail<'a>>,
    }
    let body = Body {
        error: Status {
            code: shape.status,
            status: status_name(error.kind.grpc_code(shape.table)),
            message: &error.message,
            details: error.details(),
        },
        name: shape.for_v0_3.then(|| error.kind.name()),
        message: shape.for_v0_3.then_some(&*error.message),
        code: shape.for_v0_3.then(|| error.kind.code()),
    };
    serde_json::to_writer(out, &body).expect("a Vec takes all bytes and an error is always JSON");
}

/// The name of a google.rpc.Code.
fn status_name(code: u8) -> &'static str {
    match code {
        3 => "INVALID_ARGUMENT",
        5 => "NOT_FOUND",
        7 => "PERMISSION_DENIED",
        8 => "RESOURCE_EXHAUSTED",
        9 => "FAILED_PRECONDITION",
        12 => "UNIMPLEMENTED",
        13 => "INTERNAL",
        14 => "UNAVAILABLE",
        16 => "UNAUTHENTICATED",
        _ => "UNKNOWN",
    }
}

/// Reads the body of a peer's error that came with this HTTP status; `None` if the body is no error
/// of the protocol, as those of proxies are.
#[must_use]
pub fn read_error(status: u16, body: &[u8]) -> Option<A2aError> {
    let text = std::str::from_utf8(body).ok()?;
    let body: Body<'_> = serde_json::from_str(text).ok()?;
    let named = |kind: &ErrorKind| body.name.as_deref() == Some(kind.name());
    let coded = |kind: &ErrorKind| body.code == Some(kind.code());
    let old = ErrorKind::ALL.into_iter().find(named);
    let old = old.or_else(|| ErrorKind::ALL.into_iter().find(coded));
    let Some(status_object) = body.error.filter(|error| error.get().starts_with('{')) else {
        // The official SDKs of 0.3 write the message alone, or with the error's name or code.
        let kind = old.or_else(|| by_status(status))?;
        return Some(A2aError::new(kind, body.message?));
    };
    let mut error = jsonrpc::read_error(status_object.get());
    // The code is the HTTP status once more. Without a reason it told nothing; the status may.
    let named = error.info.remove("code").is_none() || error.kind != ErrorKind::Internal;
    if !named {
        error.kind = old.or_else(|| by_status(status)).unwrap_or(error.kind);
    }
    Some(error)
}

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(rename = "type", default)]
    name: Option<String>,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    code: Option<i32>,
}

/// What an HTTP status alone says. 409 and 501 are those of 0.3 and of 1.0.0.
fn by_status(status: u16) -> Option<ErrorKind> {
    Some(match status {
        400 | 422 => ErrorKind::InvalidParams,
        401 => ErrorKind::Unauthenticated,
        403 => ErrorKind::PermissionDenied,
        404 => ErrorKind::TaskNotFound,
        409 => ErrorKind::TaskNotCancelable,
        415 => ErrorKind::ContentTypeNotSupported,
        429 => ErrorKind::ResourceExhausted,
        500 => ErrorKind::Internal,
        501 => ErrorKind::UnsupportedOperation,
        502 => ErrorKind::InvalidAgentResponse,
        503 => ErrorKind::Unavailable,
        _ => return None,
    })
}
