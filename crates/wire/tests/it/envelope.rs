//! JSON-RPC envelopes from callers who are careless or hostile, and answers from such servers.

use nuncio_wire::bindings::jsonrpc::{
    RequestId, read_answer, read_call, read_void_answer, write_error, write_result,
};
use nuncio_wire::{A2aError, ErrorKind};

fn refused(body: &[u8]) -> (i32, String) {
    let refused = read_call(body).expect_err(&String::from_utf8_lossy(&body[..body.len().min(80)]));
    (refused.error.kind.code(), refused.id.to_string())
}

#[test]
fn what_is_no_json_is_a_parse_error_without_id() {
    let deep = |open: &str, close: &str, n: usize| format!("{}{}", open.repeat(n), close.repeat(n));
    let bodies: Vec<Vec<u8>> = vec![
        b"".to_vec(),
        b"  ".to_vec(),
        br#"{"jsonrpc":"2.0","id":1,"method":"GetTask""#.to_vec(),
        br#"{"jsonrpc":"2.0","id":1,"method":"GetTask"} x"#.to_vec(),
        br#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"a":01}}"#.to_vec(),
        br#"{"jsonrpc":"2.0","id":1,"method":"\ud800"}"#.to_vec(),
        br#"{"jsonrpc":"2.0","id":"\ud800","method":"GetTask"}"#.to_vec(),
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}".to_vec(),
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xc0\xaf\"}".to_vec(),
        b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"GetTask\"}".to_vec(),
        "{\"jsonrpc\":\"2.0\"}"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect(),
        "[".repeat(128).into_bytes(),
        "[".repeat(100_000).into_bytes(),
        deep("[", "]", 128).into_bytes(),
        deep("{\"a\":", "}", 100_000)
            .replace(":}", ":1}")
            .into_bytes(),
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{{"x":{}}}}}"#,
            deep("[", "]", 10_000)
        )
        .into_bytes(),
    ];
    for body in bodies {
        assert_eq!(
            refused(&body),
            (-32700, "null".to_owned()),
            "{}",
            String::from_utf8_lossy(&body[..body.len().min(60)])
        );
    }
}

#[test]
fn what_is_no_request_is_refused_with_the_id_where_it_can_be_read() {
    let long = format!(
        r#"{{"jsonrpc":"2.0","id":"{}","method":"GetTask"}}"#,
        "a".repeat(1 << 20)
    );
    for (body, id) in [
        ("[]", "null"),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"GetTask"}]"#, "null"),
        ("[[[]]]", "null"),
        ("5", "null"),
        ("\"x\"", "null"),
        ("null", "null"),
        ("{}", "null"),
        (r#"{"jsonrpc":"2.0","id":{},"method":"GetTask"}"#, "null"),
        (r#"{"jsonrpc":"2.0","id":[],"method":"GetTask"}"#, "null"),
        (r#"{"jsonrpc":"2.0","id":true,"method":"GetTask"}"#, "null"),
        (long.as_str(), "null"),
        (r#"{"id":1,"method":"GetTask"}"#, "1"),
        (r#"{"jsonrpc":"1.0","id":1,"method":"GetTask"}"#, "1"),
        (r#"{"jsonrpc":2.0,"id":1,"method":"GetTask"}"#, "1"),
        (r#"{"jsonrpc":"2.0","id":"a"}"#, r#""a""#),
        (r#"{"jsonrpc":"2.0","id":1,"method":5}"#, "1"),
        (r#"{"jsonrpc":"2.0","id":1,"Method":"GetTask"}"#, "1"),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","method":"CancelTask"}"#,
            "1",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"GetTask"}"#,
            "null",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{},"par\u0061ms":{}}"#,
            "1",
        ),
    ] {
        assert_eq!(
            refused(body.as_bytes()),
            (-32600, id.to_owned()),
            "{}",
            &body[..body.len().min(90)]
        );
    }
}

#[test]
fn a_request_without_an_id_is_refused_when_nothing_else_is_wrong_with_it() {
    let call = read_call(br#"{"jsonrpc":"2.0","method":"GetTask"}"#).expect("well-formed");
    let error = call.refuse_notification().expect_err("no notifications");
    assert_eq!(
        (error.kind.code(), call.id.to_string()),
        (-32600, "null".to_owned())
    );
    let worse = refused(br#"{"jsonrpc":"2.0","method":"GetTask","params":[]}"#);
    assert_eq!(worse, (-32602, "null".to_owned()));
    let call =
        read_call(br#"{"jsonrpc":"2.0","id":null,"method":"GetTask"}"#).expect("well-formed");
    assert_eq!(call.refuse_notification(), Ok(()));
}

#[test]
fn parameters_are_an_object_or_absent() {
    for params in ["[]", "\"x\"", "5", "true"] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":"r","method":"GetTask","params":{params}}}"#);
        assert_eq!(
            refused(body.as_bytes()),
            (-32602, r#""r""#.to_owned()),
            "{params}"
        );
    }
    for params in ["", r#","params":null"#] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard"{params}}}"#);
        assert_eq!(read_call(body.as_bytes()).unwrap().params, None);
    }
}

#[test]
fn an_id_comes_back_in_type_and_value() {
    for id in [
        "0",
        r#""""#,
        "null",
        "1.5",
        "9007199254740992",
        "-3",
        r#""\u00e9 x""#,
        "1E2",
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"GetTask"}}"#);
        let call = read_call(body.as_bytes()).unwrap();
        let mut out = Vec::new();
        write_result(&call.id, &mut out, |out| out.extend_from_slice(b"{}"));
        let expected = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}

#[test]
fn a_parse_error_never_repeats_an_id() {
    let mut out = Vec::new();
    let error = A2aError::new(ErrorKind::ParseError, "Invalid JSON payload");
    write_error(&RequestId::number(7), &error, &mut out);
    assert!(out.starts_with(br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700"#));
}

#[test]
fn an_answer_is_a_result_or_an_error() {
    let answer = read_answer(br#"{"jsonrpc":"2.0","id":"x","result":null,"error":null}"#).unwrap();
    assert_eq!(
        (
            answer.id.unwrap().to_string().as_str(),
            answer.outcome.unwrap()
        ),
        (r#""x""#, "null")
    );
    let answer = read_answer(br#"{"result":{"n" : 1e400}}"#).unwrap();
    assert_eq!(
        (answer.id, answer.outcome.unwrap()),
        (None, r#"{"n" : 1e400}"#)
    );
    for body in [
        "{}",
        "",
        "[]",
        "5",
        r#"{"id":1}"#,
        "<html>",
        r#"{"error":null}"#,
    ] {
        let error = read_answer(body.as_bytes()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidAgentResponse, "{body}");
    }
    assert!(read_answer(b"{\"result\":\"\xff\"}").is_err());
}

#[test]
fn an_answer_to_a_deletion_may_lack_its_result() {
    let answer = read_void_answer(br#"{"jsonrpc":"2.0","id":1}"#).unwrap();
    assert_eq!(answer.outcome.unwrap(), "null");
    let answer = read_void_answer(br#"{"jsonrpc":"2.0","id":1,"error":{"code":-32001}}"#).unwrap();
    assert_eq!(answer.outcome.unwrap_err().kind, ErrorKind::TaskNotFound);
}
