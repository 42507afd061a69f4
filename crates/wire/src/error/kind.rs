//! The kinds of errors and what each binding makes of them (specification 5.4, 9.5, 11.6).
//!
//! One table says code, status and reason of every kind; a switch gives the statuses of 1.0.0.

/// Every way a request can be refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// No such task, or not the caller's.
    TaskNotFound,
    /// The task is in a final state.
    TaskNotCancelable,
    /// The agent sends no push notifications.
    PushNotificationNotSupported,
    /// The agent cannot do this, or not in the task's state.
    UnsupportedOperation,
    /// The agent does not take this media type.
    ContentTypeNotSupported,
    /// The agent (or a peer) answered with something that is no answer.
    InvalidAgentResponse,
    /// The agent has no extended card.
    ExtendedAgentCardNotConfigured,
    /// The agent requires an extension the request did not name.
    ExtensionSupportRequired,
    /// The protocol version is not spoken here.
    VersionNotSupported,
    /// The body is not JSON.
    ParseError,
    /// The body is JSON but not a request.
    InvalidRequest,
    /// No such method or path.
    MethodNotFound,
    /// A parameter is missing or wrong.
    InvalidParams,
    /// The request's idempotency key was used with another payload.
    IdempotencyConflict,
    /// A fault on our side.
    Internal,
    /// No credential, or one that is not known.
    Unauthenticated,
    /// The credential does not allow this.
    PermissionDenied,
    /// Too many requests or too much stored.
    ResourceExhausted,
    /// Not now; the same request may succeed later.
    Unavailable,
}

/// Which release's HTTP and gRPC statuses are used; codes and reasons are the same in both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatusTable {
    /// A2A 1.0.1.
    #[default]
    V1_0_1,
    /// A2A 1.0.0, as older conformance kits check it.
    V1_0_0,
}

/// One row of the table: JSON-RPC code, HTTP status, gRPC code, reason, name in SDKs.
struct Row(i32, u16, u8, &'static str, &'static str);

// Numbers of google.rpc.Code.
const INVALID_ARGUMENT: u8 = 3;
const NOT_FOUND: u8 = 5;
const PERMISSION_DENIED: u8 = 7;
const RESOURCE_EXHAUSTED: u8 = 8;
const FAILED_PRECONDITION: u8 = 9;
const UNIMPLEMENTED: u8 = 12;
const INTERNAL: u8 = 13;
const UNAVAILABLE: u8 = 14;
const UNAUTHENTICATED: u8 = 16;

/// Specification 5.4, in the order of [`ErrorKind::ALL`]; the last four have no code there: -32050 to
/// -32052 are the ones A2A servers in the field use.
#[rustfmt::skip] // one row per line
const TABLE: [Row; ErrorKind::ALL.len()] = [
    Row(-32001, 404, NOT_FOUND, "TASK_NOT_FOUND", "TaskNotFoundError"),
    Row(-32002, 400, FAILED_PRECONDITION, "TASK_NOT_CANCELABLE", "TaskNotCancelableError"),
    Row(-32003, 400, FAILED_PRECONDITION, "PUSH_NOTIFICATION_NOT_SUPPORTED", "PushNotificationNotSupportedError"),
    Row(-32004, 400, FAILED_PRECONDITION, "UNSUPPORTED_OPERATION", "UnsupportedOperationError"),
    Row(-32005, 400, INVALID_ARGUMENT, "CONTENT_TYPE_NOT_SUPPORTED", "ContentTypeNotSupportedError"),
    Row(-32006, 500, INTERNAL, "INVALID_AGENT_RESPONSE", "InvalidAgentResponseError"),
    Row(-32007, 400, FAILED_PRECONDITION, "EXTENDED_AGENT_CARD_NOT_CONFIGURED", "ExtendedAgentCardNotConfiguredError"),
    Row(-32008, 400, FAILED_PRECONDITION, "EXTENSION_SUPPORT_REQUIRED", "ExtensionSupportRequiredError"),
    Row(-32009, 400, FAILED_PRECONDITION, "VERSION_NOT_SUPPORTED", "VersionNotSupportedError"),
    Row(-32700, 400, INVALID_ARGUMENT, "INVALID_REQUEST", "JSONParseError"),
    Row(-32600, 400, INVALID_ARGUMENT, "INVALID_REQUEST", "InvalidRequestError"),
    Row(-32601, 404, UNIMPLEMENTED, "METHOD_NOT_FOUND", "MethodNotFoundError"),
    Row(-32602, 400, INVALID_ARGUMENT, "INVALID_PARAMS", "InvalidParamsError"),
    Row(-32602, 400, INVALID_ARGUMENT, "IDEMPOTENCY_CONFLICT", "InvalidParamsError"),
    Row(-32603, 500, INTERNAL, "INTERNAL_ERROR", "InternalError"),
    Row(-32050, 401, UNAUTHENTICATED, "UNAUTHENTICATED", "UnauthenticatedError"),
    Row(-32052, 403, PERMISSION_DENIED, "PERMISSION_DENIED", "PermissionDeniedError"),
    Row(-32051, 429, RESOURCE_EXHAUSTED, "RESOURCE_EXHAUSTED", "ResourceExhaustedError"),
    Row(-32603, 503, UNAVAILABLE, "UNAVAILABLE", "UnavailableError"),
];

impl ErrorKind {
    /// Every kind, the ones named by A2A first.
    pub const ALL: [Self; 19] = [
        Self::TaskNotFound,
        Self::TaskNotCancelable,
        Self::PushNotificationNotSupported,
        Self::UnsupportedOperation,
        Self::ContentTypeNotSupported,
        Self::InvalidAgentResponse,
        Self::ExtendedAgentCardNotConfigured,
        Self::ExtensionSupportRequired,
        Self::VersionNotSupported,
        Self::ParseError,
        Self::InvalidRequest,
        Self::MethodNotFound,
        Self::InvalidParams,
        Self::IdempotencyConflict,
        Self::Internal,
        Self::Unauthenticated,
        Self::PermissionDenied,
        Self::ResourceExhausted,
        Self::Unavailable,
    ];

    fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }

    /// JSON-RPC error code.
    #[must_use]
    pub fn code(self) -> i32 {
        self.row().0
    }

    /// HTTP status of the HTTP+JSON binding.
    #[must_use]
    pub fn http_status(self, table: StatusTable) -> u16 {
        match (table, self) {
            (StatusTable::V1_0_0, Self::TaskNotCancelable) => 409,
            (StatusTable::V1_0_0, Self::ContentTypeNotSupported) => 415,
            (StatusTable::V1_0_0, Self::InvalidAgentResponse) => 502,
            _ => self.row().1,
        }
    }

    /// Number of the gRPC status.
    #[must_use]
    pub fn grpc_code(self, table: StatusTable) -> u8 {
        match (table, self) {
            (
                StatusTable::V1_0_0,
                Self::PushNotificationNotSupported
                | Self::UnsupportedOperation
                | Self::VersionNotSupported,
            ) => UNIMPLEMENTED,
            _ => self.row().2,
        }
    }

    /// `reason` of the `ErrorInfo`.
    #[must_use]
    pub fn reason(self) -> &'static str {
        self.row().3
    }

    /// The protocol's name of the error, such as `TaskNotFoundError`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().4
    }

    /// HTTP status that stays visible over JSON-RPC too, where others are 200: refusals that a
    /// proxy or a client library must see (401, 403, 429, 503).
    #[must_use]
    pub fn transport_status(self) -> Option<u16> {
        match self {
            Self::Unauthenticated
            | Self::PermissionDenied
            | Self::ResourceExhausted
            | Self::Unavailable => Some(self.row().1),
            _ => None,
        }
    }

    /// The kind a peer meant: by `reason` first, since codes are shared, then by code.
    #[must_use]
    pub fn recognise(code: i32, reason: Option<&str>) -> Self {
        let by_reason = reason.and_then(|reason| {
            let mut named = Self::ALL.into_iter().filter(|kind| kind.reason() == reason);
            let both = named.clone().find(|kind| kind.code() == code);
            both.or_else(|| named.next())
        });
        let by_code = || {
            let known = Self::ALL.into_iter().find(|kind| kind.code() == code);
            known.or_else(|| crate::dialects::hermes_fleet::kind_of_code(code))
        };
        by_reason.or_else(by_code).unwrap_or(Self::Internal)
    }
}
