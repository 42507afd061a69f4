//! Parameters from callers who are careless or hostile: what is taken, what is refused, and that
//! the refusal names the field.

use nuncio_wire::{Dialect, ErrorKind, Message, Method, Request, Role};

const MESSAGE: &str = r#""messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]"#;

fn read(method: Method, params: &str) -> Result<Request, (i32, String)> {
    Dialect::V1
        .read_request(method, Some(params))
        .map_err(|error| {
            let fields: Vec<_> = error.violations.iter().map(|v| v.field.as_str()).collect();
            (error.kind.code(), fields.join(","))
        })
}

fn send(params: &str) -> Result<Message, (i32, String)> {
    read(Method::SendMessage, params).map(|request| match request {
        Request::SendMessage(request) => request.message,
        other => panic!("{other:?}"),
    })
}

fn message(members: &str) -> Result<Message, (i32, String)> {
    send(&format!(r#"{{"message":{{{members}}}}}"#))
}

fn part(json: &str) -> Result<Message, (i32, String)> {
    message(&format!(
        r#""messageId":"m","role":"ROLE_USER","parts":[{json}]"#
    ))
}

#[test]
fn the_field_at_fault_is_named() {
    for (params, field) in [
        ("{}", "message"),
        (r#"{"message":null}"#, "message"),
        (r#"{"message":[]}"#, "message"),
        (
            r#"{"message":["m",null,null,"ROLE_USER",[{"text":"x"}]]}"#,
            "message",
        ),
        (r#"{"message":"hi"}"#, "message"),
        (
            r#"{"message":{"role":"ROLE_USER","parts":[{"text":"x"}]}}"#,
            "message.messageId",
        ),
        (
            r#"{"message":{"messageId":5,"role":"ROLE_USER","parts":[{"text":"x"}]}}"#,
            "message.messageId",
        ),
        (
            r#"{"message":{"messageId":"m","parts":[{"text":"x"}]}}"#,
            "message.role",
        ),
        (
            r#"{"message":{"messageId":"m","role":"ROLE_UNSPECIFIED","parts":[{"text":"x"}]}}"#,
            "message.role",
        ),
        (
            r#"{"message":{"messageId":"m","role":"user","parts":[{"text":"x"}]}}"#,
            "message.role",
        ),
        (
            r#"{"message":{"messageId":"m","role":3,"parts":[{"text":"x"}]}}"#,
            "message.role",
        ),
        (
            r#"{"message":{"messageId":"m","role":"ROLE_USER"}}"#,
            "message.parts",
        ),
        (
            r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[]}}"#,
            "message.parts",
        ),
        (
            r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":{}}}"#,
            "message.parts",
        ),
        (
            r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"},{"text":5}]}}"#,
            "message.parts[1].text",
        ),
        (
            r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":["x"]}}"#,
            "message.parts[0]",
        ),
        (
            r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[null]}}"#,
            "message.parts[0]",
        ),
        (
            r#"{"message":{"messageId":"m","message_id":"m"}}"#,
            "message.messageId",
        ),
        (
            r#"{"message":{"messageId":"m","messageId":"m"}}"#,
            "message.messageId",
        ),
        (r#"{"message":{},"message":{}}"#, "message"),
    ] {
        assert_eq!(
            send(params).unwrap_err(),
            (-32602, field.to_owned()),
            "{params}"
        );
    }
    for (configuration, field) in [
        (r#"[]"#, "configuration"),
        (r#"{"historyLength":-1}"#, "configuration.historyLength"),
        (r#"{"historyLength":"x"}"#, "configuration.historyLength"),
        (r#"{"historyLength":1.5}"#, "configuration.historyLength"),
        (
            r#"{"historyLength":18446744073709551616}"#,
            "configuration.historyLength",
        ),
        (
            r#"{"historyLength":9007199254740993}"#,
            "configuration.historyLength",
        ),
        (r#"{"historyLength":1e400}"#, "configuration.historyLength"),
        (
            r#"{"historyLength":1,"history_length":1}"#,
            "configuration.historyLength",
        ),
        (
            r#"{"returnImmediately":1}"#,
            "configuration.returnImmediately",
        ),
        (
            r#"{"acceptedOutputModes":"text/plain"}"#,
            "configuration.acceptedOutputModes",
        ),
        (
            r#"{"taskPushNotificationConfig":{}}"#,
            "configuration.taskPushNotificationConfig.url",
        ),
    ] {
        let params = format!(r#"{{"message":{{{MESSAGE}}},"configuration":{configuration}}}"#);
        assert_eq!(
            send(&params).unwrap_err(),
            (-32602, field.to_owned()),
            "{configuration}"
        );
    }
}

#[test]
fn values_are_read_as_protojson_reads_them() {
    for length in ["5", "5.0", "\"5\"", "5e0"] {
        let params = format!(r#"{{"id":"t","historyLength":{length}}}"#);
        let Ok(Request::GetTask(request)) = read(Method::GetTask, &params) else {
            panic!("{params}")
        };
        assert_eq!(request.history_length, Some(5));
    }
    let zero = read(Method::GetTask, r#"{"id":"t","historyLength":-0}"#).unwrap();
    assert!(matches!(zero, Request::GetTask(request) if request.history_length == Some(0)));

    let snake = r#"{"tenant":null,"message":{"message_id":"m","role":1,"context_id":"c","task_id":"",
        "parts":[{"text":"x","media_type":"text/plain","metadata":null}],"reference_task_ids":null,
        "unknown":{"deep":[1,{"kind":2}]},"kind":"message"},
        "configuration":{"return_immediately":null,"accepted_output_modes":["a/b"]},"x":1e400}"#;
    let message = send(snake).unwrap();
    assert_eq!(
        (message.message_id.as_str(), message.role),
        ("m", Role::User)
    );
    assert_eq!(
        (message.context_id.as_deref(), message.task_id),
        (Some("c"), None)
    );
    assert_eq!(message.parts[0].media_type.as_deref(), Some("text/plain"));
}

#[test]
fn list_parameters_are_not_clamped() {
    for params in [
        r#"{"pageSize":0}"#,
        r#"{"pageSize":101}"#,
        r#"{"pageSize":-1}"#,
        r#"{"pageSize":1.5}"#,
        r#"{"status":"TASK_STATE_UNSPECIFIED"}"#,
        r#"{"status":"working"}"#,
        r#"{"status":9}"#,
        r#"{"historyLength":-1}"#,
        r#"{"contextId":"../../x"}"#,
        r#"{"statusTimestampAfter":"yesterday"}"#,
        r#"{"includeArtifacts":"true"}"#,
    ] {
        assert_eq!(
            read(Method::ListTasks, params).unwrap_err().0,
            -32602,
            "{params}"
        );
    }
    let long = format!(r#"{{"pageToken":"{}"}}"#, "x".repeat(1 << 20));
    assert_eq!(
        read(Method::ListTasks, &long).unwrap_err(),
        (-32602, "pageToken".to_owned())
    );
    let good = r#"{"pageSize":100,"status":"TASK_STATE_WORKING","statusTimestampAfter":"2026-01-02T05:04:05+02:00"}"#;
    let Ok(Request::ListTasks(list)) = read(Method::ListTasks, good) else {
        panic!()
    };
    assert_eq!(
        list.status_timestamp_after.unwrap().to_string(),
        "2026-01-02T03:04:05.000Z"
    );
    assert!(Dialect::V1.read_request(Method::ListTasks, None).is_ok());
}

#[test]
fn a_part_has_exactly_one_content_by_presence() {
    for json in [
        "{}",
        r#"{"text":"a","data":{}}"#,
        r#"{"text":"","data":{"k":1}}"#,
        r#"{"text":null}"#,
        r#"{"raw":"YQ==","url":"https://x"}"#,
        r#"{"url":""}"#,
        r#"{"raw":"a b="}"#,
        r#"{"raw":"YQ\n=="}"#,
        r#"{"raw":"%%"}"#,
        r#"{"text":"a\u0000b"}"#,
        r#"{"text":"a","filename":"\u0000"}"#,
        r#"{"text":"a","metadata":[]}"#,
        r#"{"text":"a","metadata":"x"}"#,
        r#"{"text":"a","mediaType":"a/b","media_type":"a/b"}"#,
    ] {
        let (code, field) = part(json).unwrap_err();
        assert!(
            code == -32602 && field.starts_with("message.parts[0]"),
            "{json}: {code} {field}"
        );
    }
    for json in [
        r#"{"text":""}"#,
        r#"{"text":null,"data":{"k":1}}"#,
        r#"{"data":null}"#,
        r#"{"data":{"k":1,"k":2}}"#,
        r#"{"raw":""}"#,
        r#"{"raw":"-_8"}"#,
    ] {
        assert!(part(json).is_ok(), "{json}");
    }
}

#[test]
fn counts_sizes_and_depths_are_bounded() {
    let parts = |n: usize| vec![r#"{"text":"x"}"#; n].join(",");
    assert!(part(&parts(100)).is_ok());
    assert_eq!(
        part(&parts(101)).unwrap_err(),
        (-32602, "message.parts".to_owned())
    );
    assert_eq!(part(&parts(10_001)).unwrap_err().0, -32602);

    let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    assert!(part(&format!(r#"{{"data":{}}}"#, nested(64))).is_ok());
    let error = part(&format!(r#"{{"data":{}}}"#, nested(65))).unwrap_err();
    assert_eq!(error, (-32602, "message.parts[0].data".to_owned()));
    let deep = |n| {
        format!(
            r#"{{"message":{{{MESSAGE}}},"metadata":{{"a":{}}}}}"#,
            nested(n)
        )
    };
    assert!(send(&deep(63)).is_ok());
    assert_eq!(
        send(&deep(64)).unwrap_err(),
        (-32602, "metadata".to_owned())
    );

    let keys = |n: usize| {
        (0..n)
            .map(|i| format!(r#""k{i}":1"#))
            .collect::<Vec<_>>()
            .join(",")
    };
    let with = |metadata: String| message(&format!(r#"{MESSAGE},"metadata":{{{metadata}}}"#));
    assert!(with(keys(1_000)).is_ok());
    assert_eq!(
        with(keys(1_001)).unwrap_err(),
        (-32602, "message.metadata".to_owned())
    );
    assert_eq!(with(keys(1_000_000)).unwrap_err().0, -32602);
    assert_eq!(
        with(format!(r#""k":"{}""#, "x".repeat(256 * 1024)))
            .unwrap_err()
            .0,
        -32602
    );
    assert!(
        with(format!(
            r#""__proto__":1,"$where":2,"{}":3"#,
            "k".repeat(64 * 1024)
        ))
        .is_ok()
    );
}

#[test]
fn ids_that_callers_choose_are_only_keys() {
    let context = |id: &str| message(&format!(r#"{MESSAGE},"contextId":"{id}""#));
    let long = "c".repeat(300);
    for id in [
        "../../x",
        r"..\\..\\x",
        "/etc/passwd",
        r"C:\\x",
        ".",
        &long,
        r"\u0000",
        r"a\nb",
        "%2e%2e%2f",
        "\u{202e}x",
    ] {
        assert_eq!(
            context(id).unwrap_err(),
            (-32602, "message.contextId".to_owned()),
            "{id}"
        );
    }
    assert_eq!(context("").unwrap().context_id, None);
    assert_eq!(context("CON").unwrap().context_id.as_deref(), Some("CON"));
    assert!(context(&"c".repeat(128)).is_ok());
}

#[test]
fn no_text_of_the_protocol_may_hold_u0000() {
    let nul = r"a\u0000b";
    for members in [
        format!(r#""messageId":"{nul}","role":"ROLE_USER","parts":[{{"text":"x"}}]"#),
        format!(r#"{MESSAGE},"taskId":"{nul}""#),
        format!(r#"{MESSAGE},"extensions":["{nul}"]"#),
        format!(r#"{MESSAGE},"referenceTaskIds":["{nul}"]"#),
    ] {
        assert_eq!(message(&members).unwrap_err().0, -32602, "{members}");
    }
    for (method, params) in [
        (Method::GetTask, format!(r#"{{"id":"{nul}"}}"#)),
        (Method::GetTask, format!(r#"{{"id":"t","tenant":"{nul}"}}"#)),
        (Method::CancelTask, format!(r#"{{"id":"{nul}"}}"#)),
        (
            Method::SendMessage,
            format!(r#"{{"message":{{{MESSAGE}}},"idempotencyKey":"{nul}"}}"#),
        ),
    ] {
        assert_eq!(read(method, &params).unwrap_err().0, -32602, "{params}");
    }
    let many = vec![r#""t""#; 101].join(",");
    let error = message(&format!(r#"{MESSAGE},"referenceTaskIds":[{many}]"#)).unwrap_err();
    assert_eq!(error, (-32602, "message.referenceTaskIds".to_owned()));
}

#[test]
fn text_comes_through_unchanged_or_not_at_all() {
    for text in [
        "日本語",
        "👩‍👩‍👧",
        "שלום",
        "\u{2028}",
        "<b>&amp;</b>",
        "\u{feff}",
    ] {
        assert_eq!(
            part(&format!(r#"{{"text":"{text}"}}"#)).unwrap().text(),
            text
        );
    }
    assert_eq!(
        part(r#"{"text":"\ud83d\ude00\"\\"}"#).unwrap().text(),
        "😀\"\\"
    );
    for lone in [
        r#"{"text":"\ud800"}"#,
        r#"{"text":"\udc00x"}"#,
        r#"{"text":"a","filename":"\ud800"}"#,
    ] {
        assert_eq!(part(lone).unwrap_err().0, -32700, "{lone}");
    }
    // User JSON is carried as it is, whatever it spells.
    assert!(part(r#"{"data":"\ud800"}"#).is_ok());
}

#[test]
fn a_missing_message_id_is_made_up_only_where_one_is_offered() {
    let params = r#"{"message":{"role":"ROLE_USER","parts":[{"text":"x"}]}}"#;
    for (dialect, params) in [
        (Dialect::V1, params.to_owned()),
        (Dialect::V1Slash, params.to_owned()),
        (Dialect::V0_3, params.replace("ROLE_USER", "user")),
    ] {
        let error = dialect
            .read_request(Method::SendMessage, Some(&params))
            .unwrap_err();
        assert_eq!(error.violations[0].field, "message.messageId");
        let request =
            dialect.read_request_with(Method::SendMessage, Some(&params), Some("made-up"));
        let Ok(Request::SendMessage(request)) = request else {
            panic!("{request:?}")
        };
        assert_eq!(request.message.message_id, "made-up");
    }
}

#[test]
fn a_task_beside_the_message_counts_only_for_callers_that_leave_out_ids() {
    let task_of = |params: &str| {
        let method = Method::SendMessage;
        match Dialect::V1.read_request_with(method, Some(params), Some("made-up")) {
            Ok(Request::SendMessage(request)) => request.message.task_id,
            other => panic!("{other:?}"),
        }
    };
    let bare = r#"{"taskId":"t","message":{"role":"ROLE_USER","parts":[{"text":"x"}]}}"#;
    assert_eq!(task_of(bare).as_deref(), Some("t"));
    let own = bare.replace(r#""role""#, r#""taskId":"own","role""#);
    assert_eq!(task_of(&own).as_deref(), Some("own"));
    let whole = bare.replace(r#""role""#, r#""messageId":"m","role""#);
    assert_eq!(task_of(&whole), None);
}

#[test]
fn a_push_configuration_is_taken_flat_and_nested() {
    let method = Method::CreateTaskPushNotificationConfig;
    let flat = r#"{"taskId":"t","id":"p","url":"https://h","token":"k","authentication":{"scheme":"Bearer"}}"#;
    let expected = read(method, flat).unwrap();
    for (dialect, params) in [
        (
            Dialect::V1,
            r#"{"task_id":"t","pushNotificationConfig":{"id":"p","url":"https://h","token":"k","authentication":{"scheme":"Bearer"}}}"#,
        ),
        (
            Dialect::V1,
            r#"{"taskId":"t","id":"p","config":{"url":"https://h","token":"k","authentication":{"scheme":"Bearer"}}}"#,
        ),
        (
            Dialect::V0_3,
            r#"{"taskId":"t","pushNotificationConfig":{"id":"p","url":"https://h","token":"k","authentication":{"schemes":["Bearer"]}}}"#,
        ),
        (Dialect::V0_3, flat),
    ] {
        assert_eq!(
            dialect.read_request(method, Some(params)).unwrap(),
            expected,
            "{params}"
        );
    }
    for (params, field) in [
        (r#"{"url":"https://h"}"#, "taskId"),
        (r#"{"taskId":"t"}"#, "url"),
        (
            r#"{"taskId":"t","url":"https://h","token":"a\r\nX-Evil: 1"}"#,
            "token",
        ),
        (
            r#"{"taskId":"t","url":"https://h","authentication":{"credentials":"c"}}"#,
            "authentication.scheme",
        ),
        (
            r#"{"taskId":"t","url":"https://h","authentication":{"scheme":"B","credentials":"c\nd"}}"#,
            "authentication.credentials",
        ),
    ] {
        assert_eq!(
            read(method, params).unwrap_err(),
            (-32602, field.to_owned()),
            "{params}"
        );
    }
}

#[test]
fn every_operation_names_its_missing_members() {
    for (method, new, old) in [
        (Method::GetTask, "id", "id"),
        (Method::CancelTask, "id", "id"),
        (Method::SubscribeToTask, "id", "id"),
        (
            Method::GetTaskPushNotificationConfig,
            "taskId,id",
            "id,pushNotificationConfigId",
        ),
        (Method::ListTaskPushNotificationConfigs, "taskId", "id"),
        (
            Method::DeleteTaskPushNotificationConfig,
            "taskId,id",
            "id,pushNotificationConfigId",
        ),
        (
            Method::CreateTaskPushNotificationConfig,
            "taskId,url",
            "taskId,pushNotificationConfig.url",
        ),
        (Method::SendMessage, "message", "message"),
    ] {
        for (dialect, expected) in [(Dialect::V1, new), (Dialect::V0_3, old)] {
            for params in [None, Some("{}")] {
                let error = dialect.read_request(method, params).unwrap_err();
                let fields: Vec<_> = error.violations.iter().map(|v| v.field.as_str()).collect();
                assert_eq!(
                    (error.kind, fields.join(",").as_str()),
                    (ErrorKind::InvalidParams, expected),
                    "{dialect} {method:?}"
                );
            }
        }
    }
}
