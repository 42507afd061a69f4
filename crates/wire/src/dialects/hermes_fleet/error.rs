//! The error codes of this dialect and the HTTP statuses that go with them.

use serde::Serialize;

use crate::bindings::jsonrpc::{RequestId, write_error_object};
use crate::dialects::v1;
use crate::error::{A2aError, ErrorKind};

/// The code of an error here. Who may not, too often and not now all share that of an internal
/// error: their status tells them apart.
#[must_use]
pub fn code(kind: ErrorKind) -> i32 {
    match kind {
        ErrorKind::ParseError => -32700,
        ErrorKind::MethodNotFound => -32601,
        ErrorKind::TaskNotFound => -38000,
        ErrorKind::TaskNotCancelable => -38001,
        ErrorKind::PushNotificationNotSupported => -38002,
        ErrorKind::UnsupportedOperation => -38003,
        ErrorKind::IdempotencyConflict => -38004,
        ErrorKind::InvalidRequest
        | ErrorKind::InvalidParams
        | ErrorKind::ContentTypeNotSupported
        | ErrorKind::ExtensionSupportRequired
        | ErrorKind::VersionNotSupported
        | ErrorKind::ExtendedAgentCardNotConfigured => -32600,
        ErrorKind::Internal
        | ErrorKind::InvalidAgentResponse
        | ErrorKind::Unauthenticated
        | ErrorKind::PermissionDenied
        | ErrorKind::ResourceExhausted
        | ErrorKind::Unavailable => -32603,
    }
}

/// The HTTP status of an error, over JSON-RPC too.
#[must_use]
pub fn http_status(kind: ErrorKind) -> u16 {
    match kind {
        ErrorKind::TaskNotFound
        | ErrorKind::MethodNotFound
        | ErrorKind::ExtendedAgentCardNotConfigured => 404,
        ErrorKind::TaskNotCancelable
        | ErrorKind::UnsupportedOperation
        | ErrorKind::IdempotencyConflict => 409,
        ErrorKind::ParseError
        | ErrorKind::InvalidRequest
        | ErrorKind::InvalidParams
        | ErrorKind::PushNotificationNotSupported
        | ErrorKind::ContentTypeNotSupported
        | ErrorKind::ExtensionSupportRequired
        | ErrorKind::VersionNotSupported => 400,
        ErrorKind::Unauthenticated => 401,
        ErrorKind::PermissionDenied => 403,
        ErrorKind::ResourceExhausted => 429,
        ErrorKind::Internal | ErrorKind::InvalidAgentResponse => 500,
        ErrorKind::Unavailable => 503,
    }
}

/// What a peer meant by a code that only this dialect has.
#[must_use]
pub fn kind_of_code(code: i32) -> Option<ErrorKind> {
    Some(match code {
        -38000 => ErrorKind::TaskNotFound,
        -38001 => ErrorKind::TaskNotCancelable,
        -38002 => ErrorKind::PushNotificationNotSupported,
        -38003 => ErrorKind::UnsupportedOperation,
        -38004 => ErrorKind::IdempotencyConflict,
        _ => return None,
    })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Retry {
    retry_after: u32,
}

#[derive(Serialize)]
struct ErrorObject<'a> {
    code: i32,
    message: &'a str,
    data: Option<Retry>,
}

impl<'a> ErrorObject<'a> {
    fn of(error: &'a A2aError) -> Self {
        Self {
            code: code(error.kind),
            message: &error.message,
            data: error.retry_after.map(|retry_after| Retry { retry_after }),
        }
    }
}

/// Appends an error answer: the same envelope over JSON-RPC and REST, where the id is null.
pub fn write_error(id: &RequestId, error: &A2aError, out: &mut Vec<u8>) {
    write_error_object(id, error.kind, out, |out| {
        v1::write(&ErrorObject::of(error), out)
    });
}

/// Appends an error as a stream tells of it, without an envelope.
pub(super) fn write_bare(error: &A2aError, out: &mut Vec<u8>) {
    v1::write(&ErrorObject::of(error), out);
}
