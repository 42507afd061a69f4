//! The HTTP+JSON binding as golden files: each request of the dialects' own files as the bytes of
//! HTTP, both ways; answers and events in the form of 0.3's proto; errors of every kind.
//!
//! `tests/golden/rest/<dialect>` has the files; a request is its line, an empty line and its body.

use nuncio_wire::bindings::rest::{
    ErrorShape, Form, Input, Resource, read_error, read_event, read_request, read_response,
    write_error, write_request,
};
use nuncio_wire::{A2aError, Dialect, ErrorKind, Request, StatusTable};
use std::path::PathBuf;

use crate::golden::{golden, method_of, minify, names};

fn file(dialect: Dialect, name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden/rest")
        .join(dialect.as_str())
        .join(name)
}

fn read_file(dialect: Dialect, name: &str) -> String {
    let path = file(dialect, name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A request as a golden file has it.
fn written(dialect: Dialect, request: &Request) -> Option<String> {
    let out = write_request(dialect, request)?;
    let query = out.query.map_or(String::new(), |query| format!("?{query}"));
    let body = out.body.map_or(String::new(), |body| {
        format!("\n{}\n", String::from_utf8(body).unwrap())
    });
    Some(format!("{} {}{query}\n{body}", out.verb.as_str(), out.path))
}

/// Reads the request that a golden file holds, as a server does.
fn read_back(dialect: Dialect, text: &str) -> Result<(Request, Form), A2aError> {
    let (line, body) = text.split_once("\n").unwrap();
    let (verb, target) = line.split_once(' ').unwrap();
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (target, None),
    };
    let segments: Vec<&str> = path[1..].split('/').collect();
    let (tenant, resource) = match (dialect, segments.as_slice()) {
        (Dialect::V0_3, ["v1", below @ ..]) => (None, Resource::find_v0_3(below)),
        (_, all) => match Resource::find(all) {
            Some(resource) => (None, Some(resource)),
            None => (Some(all[0]), Resource::find(&all[1..])),
        },
    };
    let resource = resource.unwrap_or_else(|| panic!("{path}"));
    let verb = nuncio_wire::bindings::rest::Verb::from_name(verb).unwrap();
    let input = match verb {
        nuncio_wire::bindings::rest::Verb::Post => Input::Body(body.trim().as_bytes()),
        _ => Input::Query(query),
    };
    let method = resource.operation(verb).unwrap_or_else(|| panic!("{line}"));
    read_request(dialect, method, &resource, tenant, input)
}

#[test]
fn requests_are_written_and_read_back() {
    for (dialect, none) in [(Dialect::V1, 0), (Dialect::V0_3, 0)] {
        let mut unknown = 0;
        for name in names(dialect, "request-") {
            let json = golden(dialect, &name).unwrap();
            let mut request = dialect.read_request(method_of(&name), Some(&json)).unwrap();
            let Some(text) = written(dialect, &request) else {
                unknown += 1;
                continue;
            };
            assert_eq!(
                text,
                read_file(dialect, &format!("{name}.http")),
                "{dialect}/{name}"
            );
            let (read, form) = read_back(dialect, &text).unwrap_or_else(|e| panic!("{name}: {e}"));
            forget_what_headers_carry(dialect, &mut request);
            assert_eq!(read, request, "{dialect}/{name}");
            assert_eq!(form, Form::of(dialect), "{dialect}/{name}");
        }
        assert_eq!(unknown, none, "{dialect}");
    }
}

/// The idempotency key is a header here; the proto of 0.3 has no place for two members.
fn forget_what_headers_carry(dialect: Dialect, request: &mut Request) {
    if let Request::SendMessage(send) | Request::SendStreamingMessage(send) = request {
        send.idempotency_key = None;
        if dialect == Dialect::V0_3 {
            send.message.reference_task_ids.clear();
        }
    }
    if let (Dialect::V0_3, Request::CancelTask(cancel)) = (dialect, request) {
        cancel.metadata = None;
    }
}

fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn answers_in_the_form_of_the_proto_are_written_and_read_back() {
    for name in names(Dialect::V0_3, "answer-") {
        let (method, json) = (method_of(&name), golden(Dialect::V0_3, &name).unwrap());
        let answer = Dialect::V0_3.read_response(method, &json).unwrap();
        let written = text(|out| Form::V0_3Proto.write_response(method, &answer, out));
        let expected = read_file(Dialect::V0_3, &format!("{name}.json"));
        assert_eq!(written, minify(&expected), "{name}");
        let read = read_response(Dialect::V0_3, method, written.as_bytes()).unwrap();
        let again = text(|out| Form::V0_3Proto.write_response(method, &read, out));
        assert_eq!(again, written, "{name}");
        // What the proto can hold comes back as it was.
        let old = text(|out| Form::V0_3Text.write_response(method, &answer, out));
        let read = read_response(Dialect::V0_3, method, old.as_bytes()).unwrap();
        assert_eq!(read, answer, "{name}");
    }
}

#[test]
fn events_in_the_form_of_the_proto_are_written_and_read_back() {
    for name in names(Dialect::V0_3, "event-") {
        let json = golden(Dialect::V0_3, &name).unwrap();
        let (event, _) = Dialect::V0_3.read_event(&json).unwrap();
        let last = name.ends_with("-last");
        let written = text(|out| Form::V0_3Proto.write_event(&event, last, out));
        let expected = read_file(Dialect::V0_3, &format!("{name}.json"));
        assert_eq!(written, minify(&expected), "{name}");
        let (read, ends) = read_event(Dialect::V0_3, &written).unwrap();
        assert_eq!(ends, last, "{name}");
        let again = text(|out| Form::V0_3Proto.write_event(&read, last, out));
        assert_eq!(again, written, "{name}");
        let old = text(|out| Form::V0_3Text.write_event(&event, last, out));
        assert_eq!(
            read_event(Dialect::V0_3, &old).unwrap(),
            (event, last),
            "{name}"
        );
    }
}

#[test]
fn errors_of_every_kind_are_recognised_by_their_reason() {
    for table in [StatusTable::V1_0_1, StatusTable::V1_0_0] {
        for for_v0_3 in [false, true] {
            for kind in ErrorKind::ALL {
                let error = A2aError::new(kind, "What is wrong").with("taskId", "t");
                let status = kind.http_status(table);
                let shape = ErrorShape {
                    status,
                    table,
                    for_v0_3,
                };
                let body = text(|out| write_error(&error, shape, out));
                let read = read_error(status, body.as_bytes()).unwrap();
                // Two kinds share a reason, and HTTP tells nothing more of them.
                let expected = match kind {
                    ErrorKind::InvalidRequest => ErrorKind::ParseError,
                    kind => kind,
                };
                assert_eq!(
                    (read.kind, read.message),
                    (expected, error.message),
                    "{body}"
                );
                assert_eq!(read.info, error.info, "{body}");
            }
        }
    }
    let error = A2aError::task_not_found("t-404");
    let shape = ErrorShape {
        status: 404,
        table: StatusTable::V1_0_1,
        for_v0_3: true,
    };
    let body = text(|out| write_error(&error, shape, out));
    assert_eq!(
        body,
        minify(&read_file(Dialect::V0_3, "error-TaskNotFound.json"))
    );
    let body = text(|out| {
        write_error(
            &error,
            ErrorShape {
                for_v0_3: false,
                ..shape
            },
            out,
        )
    });
    assert_eq!(
        body,
        minify(&read_file(Dialect::V1, "error-TaskNotFound.json"))
    );
}

#[test]
fn errors_of_other_servers_are_understood() {
    for (status, body, kind) in [
        (
            404,
            r#"{"message":"Task not found"}"#,
            Some(ErrorKind::TaskNotFound),
        ),
        (
            501,
            r#"{"type":"PushNotificationNotSupportedError","message":"no"}"#,
            Some(ErrorKind::PushNotificationNotSupported),
        ),
        (
            409,
            r#"{"message":"no"}"#,
            Some(ErrorKind::TaskNotCancelable),
        ),
        (
            404,
            r#"{"error":{"code":404,"status":"NOT_FOUND","message":"gone"}}"#,
            Some(ErrorKind::TaskNotFound),
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"bad","details":[{"reason":"TASK_NOT_CANCELABLE"}]}}"#,
            Some(ErrorKind::TaskNotCancelable),
        ),
        (502, "<html>Bad Gateway</html>", None),
        (404, r#"{"detail":"Not Found"}"#, None),
        (418, r#"{"message":"teapot"}"#, None),
    ] {
        let read = read_error(status, body.as_bytes());
        assert_eq!(read.map(|error| error.kind), kind, "{body}");
    }
}

#[test]
fn bodies_of_0_3_show_their_form() {
    let push = r#""url":"https://x.example/","id":"c""#;
    for (line, body, form) in [
        (
            "POST /v1/message:send",
            r#"{"message":{"messageId":"m","role":"user","parts":[{"text":"x"}]}}"#.to_owned(),
            Form::V0_3Text,
        ),
        (
            "POST /v1/message:send",
            r#"{"request":{"message_id":"m","role":"ROLE_USER","content":[{"text":"x"}]}}"#
                .to_owned(),
            Form::V0_3Proto,
        ),
        (
            "POST /v1/tasks/t/pushNotificationConfigs",
            format!(r#"{{"config":{{"taskId":"t","pushNotificationConfig":{{{push}}}}}}}"#),
            Form::V0_3Text,
        ),
        (
            "POST /v1/tasks/t/pushNotificationConfigs",
            format!(r#"{{"taskId":"t","pushNotificationConfig":{{{push}}}}}"#),
            Form::V0_3Text,
        ),
        (
            "POST /v1/tasks/t/pushNotificationConfigs",
            format!(
                r#"{{"parent":"tasks/t","config_id":"c","config":{{"name":"tasks/t/pushNotificationConfigs/c","push_notification_config":{{{push}}}}}}}"#
            ),
            Form::V0_3Proto,
        ),
        (
            "POST /v1/tasks/t:cancel",
            r#"{"id":"t"}"#.to_owned(),
            Form::V0_3Text,
        ),
        (
            "POST /v1/tasks/t:cancel",
            r#"{"name":"tasks/t"}"#.to_owned(),
            Form::V0_3Proto,
        ),
        ("POST /v1/tasks/t:cancel", String::new(), Form::V0_3Proto),
    ] {
        let (request, found) = read_back(Dialect::V0_3, &format!("{line}\n\n{body}")).unwrap();
        assert_eq!(found, form, "{body}");
        if let Request::CreateTaskPushNotificationConfig(config) = request {
            assert_eq!(
                (config.task_id.as_deref(), config.id.as_deref()),
                (Some("t"), Some("c")),
                "{body}"
            );
            assert_eq!(config.url, "https://x.example/");
        }
    }
}
