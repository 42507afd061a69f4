//! The error table of the specification (5.4), and how a peer's error is recognised.

use nuncio_wire::bindings::jsonrpc::{RequestId, read_answer, write_error};
use nuncio_wire::{A2aError, ErrorKind, StatusTable};

/// Kind, JSON-RPC code, gRPC code (1.0.1, 1.0.0), HTTP status (1.0.1, 1.0.0), reason.
type Row = (ErrorKind, i32, (u8, u8), (u16, u16), &'static str);

const TABLE: [Row; 14] = [
    (
        ErrorKind::TaskNotFound,
        -32001,
        (5, 5),
        (404, 404),
        "TASK_NOT_FOUND",
    ),
    (
        ErrorKind::TaskNotCancelable,
        -32002,
        (9, 9),
        (400, 409),
        "TASK_NOT_CANCELABLE",
    ),
    (
        ErrorKind::PushNotificationNotSupported,
        -32003,
        (9, 12),
        (400, 400),
        "PUSH_NOTIFICATION_NOT_SUPPORTED",
    ),
    (
        ErrorKind::UnsupportedOperation,
        -32004,
        (9, 12),
        (400, 400),
        "UNSUPPORTED_OPERATION",
    ),
    (
        ErrorKind::ContentTypeNotSupported,
        -32005,
        (3, 3),
        (400, 415),
        "CONTENT_TYPE_NOT_SUPPORTED",
    ),
    (
        ErrorKind::InvalidAgentResponse,
        -32006,
        (13, 13),
        (500, 502),
        "INVALID_AGENT_RESPONSE",
    ),
    (
        ErrorKind::ExtendedAgentCardNotConfigured,
        -32007,
        (9, 9),
        (400, 400),
        "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
    ),
    (
        ErrorKind::ExtensionSupportRequired,
        -32008,
        (9, 9),
        (400, 400),
        "EXTENSION_SUPPORT_REQUIRED",
    ),
    (
        ErrorKind::VersionNotSupported,
        -32009,
        (9, 12),
        (400, 400),
        "VERSION_NOT_SUPPORTED",
    ),
    (
        ErrorKind::ParseError,
        -32700,
        (3, 3),
        (400, 400),
        "INVALID_REQUEST",
    ),
    (
        ErrorKind::InvalidRequest,
        -32600,
        (3, 3),
        (400, 400),
        "INVALID_REQUEST",
    ),
    (
        ErrorKind::MethodNotFound,
        -32601,
        (12, 12),
        (404, 404),
        "METHOD_NOT_FOUND",
    ),
    (
        ErrorKind::InvalidParams,
        -32602,
        (3, 3),
        (400, 400),
        "INVALID_PARAMS",
    ),
    (
        ErrorKind::Internal,
        -32603,
        (13, 13),
        (500, 500),
        "INTERNAL_ERROR",
    ),
];

#[test]
fn the_table_is_that_of_the_specification() {
    for (kind, code, grpc, http, reason) in TABLE {
        assert_eq!((kind.code(), kind.reason()), (code, reason));
        let both = [StatusTable::V1_0_1, StatusTable::V1_0_0];
        assert_eq!(
            both.map(|table| kind.grpc_code(table)),
            [grpc.0, grpc.1],
            "{reason}"
        );
        assert_eq!(
            both.map(|table| kind.http_status(table)),
            [http.0, http.1],
            "{reason}"
        );
    }
}

#[test]
fn every_error_survives_the_wire() {
    for kind in ErrorKind::ALL {
        let mut error = A2aError::new(kind, "what went wrong").with("taskId", "t-1");
        error.retry_after = Some(3);
        let mut out = Vec::new();
        write_error(&RequestId::number(1), &error, &mut out);
        assert_eq!(
            read_answer(&out).unwrap().outcome.unwrap_err(),
            error,
            "{kind:?}"
        );
    }
}

fn read(error: &str) -> A2aError {
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"error":{error}}}"#);
    read_answer(body.as_bytes()).unwrap().outcome.unwrap_err()
}

#[test]
fn a_reason_counts_more_than_a_code() {
    let info = r#"{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org","metadata":{"n":5}}"#;
    for data in [format!("[{info}]"), info.to_owned(), format!("[1,{info}]")] {
        let error = read(&format!(
            r#"{{"code":-32000,"message":"gone","data":{data}}}"#
        ));
        assert_eq!(
            (error.kind, error.message.as_ref()),
            (ErrorKind::TaskNotFound, "gone")
        );
        assert_eq!(
            (error.info["n"].as_str(), error.info["code"].as_str()),
            ("5", "-32000")
        );
    }
    let shared = r#"{"code":-32600,"message":"m","data":[{"reason":"INVALID_REQUEST"}]}"#;
    assert_eq!(read(shared).kind, ErrorKind::InvalidRequest);
}

#[test]
fn the_message_survives_whatever_stands_beside_it() {
    for data in [
        "null",
        "5",
        "\"text\"",
        "[[]]",
        r#"{"reason":{}}"#,
        r#"[{"metadata":[]}]"#,
    ] {
        let error = read(&format!(
            r#"{{"code":-32004,"message":"not here","data":{data}}}"#
        ));
        assert_eq!(
            (error.kind, error.message.as_ref()),
            (ErrorKind::UnsupportedOperation, "not here")
        );
    }
    assert_eq!(read("\"Unauthorized\"").message, "Unauthorized");
    assert_eq!(read(r#"{"code":-32001}"#).message, "TaskNotFoundError");
    assert_eq!(
        read(r#"{"code":"-32001","message":"text code"}"#).kind,
        ErrorKind::Internal
    );
    assert_eq!(
        read(r#"{"code":99999999999,"message":"big"}"#).message,
        "big"
    );
    assert_eq!(read("{}").kind, ErrorKind::Internal);
}

#[test]
fn a_pause_is_read_from_either_place_and_rounded_up() {
    for data in [
        r#"[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"2.5s"}]"#,
        r#"[{"reason":"RESOURCE_EXHAUSTED","metadata":{"retryAfter":"3"}}]"#,
        r#"{"retryAfter":3}"#,
    ] {
        let error = read(&format!(
            r#"{{"code":-32051,"message":"slow down","data":{data}}}"#
        ));
        assert_eq!(
            (error.kind, error.retry_after),
            (ErrorKind::ResourceExhausted, Some(3)),
            "{data}"
        );
    }
}
