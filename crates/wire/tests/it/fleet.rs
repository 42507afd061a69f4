//! The fleet plugin's dialect: what its clients send, what its servers answer.

use nuncio_wire::dialects::hermes_fleet::{
    bare_task, code, http_status, is_spoken, kind_of_code, method, read_push_config, read_send,
    write_frames, write_notification, write_push_config,
};
use nuncio_wire::dialects::{CardGeneration, read_card};
use nuncio_wire::{
    A2aError, Dialect, ErrorKind, Method, Request, Response, SecurityScheme, StreamResponse,
    TaskState, sorted_json,
};

fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8(out).unwrap()
}

const SENT: &str = r#"{"id":"t1","contextId":"c1","idempotencyKey":"k1",
    "configuration":{"return_immediately":true,"accepted_output_modes":["text"]},
    "message":{"message_id":"m1","role":1,"parts":[{"text":"hi"}],"metadata":{"intent":"consultation"}}}"#;

#[test]
fn a_send_of_the_plugin_is_understood() {
    let send = read_send(Some(SENT), "unused").unwrap();
    assert_eq!(send.caller_task_id.as_deref(), Some("t1"));
    assert!(!send.is_empty);
    let request = send.request;
    assert_eq!(request.idempotency_key.as_deref(), Some("k1"));
    assert!(request.configuration.return_immediately);
    assert_eq!(request.message.context_id.as_deref(), Some("c1"));
    assert_eq!(request.message.text(), "hi");
    assert_eq!(request.message.role, nuncio_wire::Role::User);
    assert!(request.message.metadata.unwrap().get().contains("intent"));
}

#[test]
fn a_conversation_without_a_name_has_that_of_its_task() {
    let context = |json: &str| {
        let send = read_send(Some(json), "made-up").unwrap();
        send.request.message.context_id
    };
    let parts = r#""parts":[{"text":"x"}]"#;
    for (json, expected) in [
        (format!(r#"{{"id":"t","message":{{{parts}}}}}"#), Some("t")),
        (format!(r#"{{"message":{{{parts}}}}}"#), None),
        (format!(r#"{{"id":"a b","message":{{{parts}}}}}"#), None),
        (
            format!(r#"{{"id":"t","message":{{{parts},"metadata":{{"context_id":"c"}}}}}}"#),
            Some("c"),
        ),
        (
            format!(r#"{{"id":"t","context_id":"c","message":{{{parts}}}}}"#),
            Some("c"),
        ),
    ] {
        assert_eq!(context(&json).as_deref(), expected, "{json}");
    }
}

#[test]
fn what_is_wrong_with_a_send_is_named() {
    let refused = |json: &str| read_send(Some(json), "m").unwrap_err();
    assert_eq!(refused("{}").violations[0].field, "message");
    let long = format!(r#"{{"id":"{}","message":{{}}}}"#, "x".repeat(200));
    assert_eq!(refused(&long).violations[0].field, "id");
    assert_eq!(refused("{").kind, ErrorKind::ParseError);
    for blank in [
        r#"{"message":{}}"#,
        r#"{"message":{"parts":[{"text":" \n"}]}}"#,
    ] {
        assert!(read_send(Some(blank), "m").unwrap().is_empty, "{blank}");
    }
}

#[test]
fn the_dialect_is_known_by_its_sender_or_by_the_id_of_a_task() {
    let agent = Some("Hermes-A2A/3.0");
    assert!(is_spoken("GetTask", None, agent) && is_spoken("SendMessage", Some("{}"), agent));
    assert!(is_spoken("SendMessage", Some(SENT), None));
    let inside = r#"{"message":{"messageId":"m","parts":[{"data":{"id":1}}]}}"#;
    assert!(!is_spoken("SendMessage", Some(inside), Some("other")));
    assert!(!is_spoken("GetTask", Some(r#"{"id":"t"}"#), None));
    assert!(!is_spoken("SendMessage", Some(r#"{"id":null}"#), None));
}

#[test]
fn five_methods_exist() {
    let known = [
        "SendMessage",
        "GetTask",
        "CancelTask",
        "SubscribeToTask",
        "ListTasks",
    ];
    for name in known {
        assert_eq!(method(name).unwrap().name(), name);
    }
    for name in [
        "message/send",
        "SendStreamingMessage",
        "GetExtendedAgentCard",
        "",
    ] {
        assert_eq!(
            method(name).unwrap_err().kind,
            ErrorKind::MethodNotFound,
            "{name}"
        );
    }
    let read = |method, json| Dialect::Fleet.read_request(method, Some(json)).unwrap();
    for json in [
        r#"{"taskId":"t"}"#,
        r#"{"id":"t"}"#,
        r#"{"id":"x","task_id":"t"}"#,
    ] {
        let Request::SubscribeToTask(request) = read(Method::SubscribeToTask, json) else {
            panic!("{json}")
        };
        assert_eq!(request.id, "t");
    }
    for (json, size) in [
        ("{}", 20),
        (r#"{"pageSize":0}"#, 1),
        (r#"{"page_size":999}"#, 100),
    ] {
        let Request::ListTasks(request) = read(Method::ListTasks, json) else {
            panic!("{json}")
        };
        assert_eq!(
            (request.page_size, request.include_artifacts),
            (Some(size), Some(true))
        );
    }
}

#[test]
fn codes_of_the_dialect_come_back_as_what_they_mean() {
    for kind in ErrorKind::ALL {
        let (code, status) = (code(kind), http_status(kind));
        assert!((400..=503).contains(&status), "{kind:?}");
        if code <= -38000 {
            assert_eq!(kind_of_code(code), Some(kind));
        }
    }
    for (kind, code_, status) in [
        (ErrorKind::TaskNotFound, -38000, 404),
        (ErrorKind::TaskNotCancelable, -38001, 409),
        (ErrorKind::IdempotencyConflict, -38004, 409),
        (ErrorKind::Unauthenticated, -32603, 401),
        (ErrorKind::Unavailable, -32603, 503),
        (ErrorKind::ResourceExhausted, -32603, 429),
        (ErrorKind::MethodNotFound, -32601, 404),
        (ErrorKind::InvalidParams, -32600, 400),
    ] {
        assert_eq!((code(kind), http_status(kind)), (code_, status), "{kind:?}");
    }
}

#[test]
fn a_completed_task_of_the_plugin_says_its_text_once() {
    let json = r#"{"task":{"id":"t1","context_id":"c1","status":{"state":"completed","timestamp":"2026-01-02T03:04:05Z",
        "message":{"message_id":"m","role":2,"parts":[{"text":"hello"}],"metadata":{}}},
        "artifacts":[{"artifact_id":"a","parts":[{"text":"hello"}],"index":0}]}}"#;
    let task = bare_task(json).unwrap();
    assert_eq!(
        (&*task.id, &*task.context_id, task.status.state),
        ("t1", "c1", TaskState::Completed)
    );
    assert_eq!(task.status.message, None);
    assert_eq!(task.artifacts()[0].parts[0].as_text(), Some("hello"));
    let rest = r#"{"id":"t1","status":{"state":"completed"},"artifacts":[{"parts":[{"text":""}],"index":0}]}"#;
    assert_eq!(bare_task(rest).unwrap().artifacts, None);
    assert!(bare_task(r#"{"task":null}"#).is_err());
}

#[test]
fn texts_that_tell_of_a_failure_make_one() {
    for (said, state) in [
        ("(webhook delivery failed)", TaskState::Failed),
        ("(orphaned — no response)", TaskState::Failed),
        ("(dropped — queue overflow)", TaskState::Failed),
        ("(canceled)", TaskState::Canceled),
    ] {
        for json in [
            format!(
                r#"{{"id":"t","status":{{"state":"completed"}},"artifacts":[{{"parts":[{{"text":"{said}"}}],"index":0}}]}}"#
            ),
            format!(
                r#"{{"id":"t","status":{{"state":"completed","message":{{"role":2,"parts":[{{"text":"{said}"}}]}}}}}}"#
            ),
        ] {
            let task = bare_task(&json).unwrap();
            assert_eq!(task.status.state, state, "{json}");
            assert_eq!(task.status.message.unwrap().text(), said);
            assert_eq!(task.artifacts, None);
        }
    }
}

#[test]
fn both_shapes_of_events_are_read() {
    let polled = r#"{"taskId": "t1", "contextId": "c1", "status": {"state": "working", "timestamp": "2026-01-02T03:04:05Z"}, "event": "TaskStarted"}"#;
    let hooked = r#"{"taskId": "t1", "contextId": "t1", "status": {"state": "completed", "message": {"role": "agent", "parts": []}, "timestamp": "2026-01-02T03:04:05Z"}, "metadata": {}}"#;
    for (json, state) in [(polled, TaskState::Working), (hooked, TaskState::Completed)] {
        let (event, ends) = Dialect::Fleet.read_event(json).unwrap();
        let StreamResponse::StatusUpdate(update) = event else {
            panic!("{json}")
        };
        assert_eq!((&*update.task_id, update.status.state), ("t1", state));
        assert_eq!((update.status.message, update.metadata), (None, None));
        assert_eq!(ends, state.is_terminal());
    }
    let error = Dialect::Fleet.read_event(r#"{"code": -38000, "message": "SSE stream timed out"}"#);
    let error = error.unwrap_err();
    assert_eq!(
        (error.kind, &*error.message),
        (ErrorKind::TaskNotFound, "SSE stream timed out")
    );
}

const MIDWAY: &str = r#"{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"},
    "artifacts":[{"artifactId":"a","parts":[{"text":"half"}]}]}}"#;

#[test]
fn a_task_half_way_is_its_status_and_what_it_has() {
    let event = serde_json::from_str(MIDWAY).unwrap();
    let id = "3-7".parse().unwrap();
    insta::assert_snapshot!(text(|out| write_frames(Some(id), &event, out)), @r#"
    event: TaskStarted
    data: {"taskId":"t","contextId":"c","status":{"state":"working"},"event":"TaskStarted"}

    id: 3-7
    event: TaskArtifactUpdate
    data: {"contextId":"c","taskId":"t","artifact":{"artifact_id":"a","parts":[{"text":"half"}],"index":0}}
    "#);
}

#[test]
fn a_webhook_gets_names_in_order() {
    let status = r#"{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED","timestamp":"2026-01-02T03:04:05.678Z"}}}"#;
    let artifact = r#"{"artifactUpdate":{"taskId":"t1","contextId":"c1","artifact":{"artifactId":"a","parts":[{"text":"é"}]}}}"#;
    let body = |json| {
        let event = serde_json::from_str(json).unwrap();
        sorted_json(text(|out| write_notification(&event, out)).as_bytes())
    };
    assert_eq!(
        String::from_utf8(body(status)).unwrap(),
        r#"{"contextId": "c1", "event": "TaskCompleted", "status": {"state": "completed", "timestamp": "2026-01-02T03:04:05Z"}, "taskId": "t1"}"#
    );
    assert_eq!(
        String::from_utf8(body(artifact)).unwrap(),
        r#"{"artifact_update": {"artifact": {"artifact_id": "a", "index": 0, "parts": [{"text": "é"}]}, "contextId": "c1", "taskId": "t1"}}"#
    );
}

#[test]
fn the_key_of_a_webhook_is_taken_and_never_shown() {
    for body in [
        r#"{"url":"https://h/x","hmacKey":"hunter2\n","authentication":{"scheme":"Bearer","credentials":"swordfish"},"metadata":{"a":1},"id":"mine"}"#,
        r#"{"url":"https://h/x","hmac_key":"hunter2\n","authType":"Bearer","auth_code":"swordfish","metadata":{"a":1}}"#,
        r#"{"url":"https://h/x","hmacKey":"hunter2\n","auth":{"scheme":"Bearer","credentials":"swordfish"},"metadata":{"a":1}}"#,
    ] {
        let config = read_push_config(Some(body), "t").unwrap();
        assert_eq!(config.token.as_deref(), Some("hunter2\n"));
        assert_eq!(
            (config.id.as_deref(), config.task_id.as_deref()),
            (None, Some("t"))
        );
        let auth = config.authentication.as_ref().unwrap();
        assert_eq!(auth.credentials.as_deref(), Some("swordfish"));
        let shown = text(|out| write_push_config(&config, out));
        assert!(
            !shown.contains("hunter2") && !shown.contains("swordfish"),
            "{shown}"
        );
        assert!(!format!("{config:?}").contains("hunter2"));
        let Response::PushConfig(read) = Dialect::Fleet
            .read_response(Method::GetTaskPushNotificationConfig, &shown)
            .unwrap()
        else {
            panic!()
        };
        assert_eq!((read.url, read.metadata), (config.url, config.metadata));
    }
    for (body, field) in [
        (r#"{"url":"https://h/x"}"#, "hmacKey"),
        (r#"{"hmacKey":"k"}"#, "url"),
    ] {
        let error: A2aError = read_push_config(Some(body), "t").unwrap_err();
        assert_eq!(error.violations[0].field, field);
    }
}

#[test]
fn its_card_is_recognised_and_names_one_address() {
    let card = r#"{"name":"alice","agentId":"alice","description":"..","url":"http://host:8081","version":"0.19.0","protocol":"a2a","protocolVersion":"1.0",
        "provider":{"url":"http://host:8081","organization":"Hermes Fleet"},
        "capabilities":{"streaming":true,"push_notifications":{"webhookUrl":"http://x"},"extensions":false,"extended_agent_card":true},
        "skills":[{"id":"general","name":"General Assistant"}],
        "supported_interfaces":[{"url":"http://host:8081","protocol_binding":"http://a2a-protocol.hermes.ai","protocol_version":"1.0"}],
        "default_input_modes":["text"],"default_output_modes":["text"],
        "security_schemes":[{"type":"bearer","bearer_format":"JWT"}],"security_requirements":[{"bearer":[]}]}"#;
    let renamed = card.replace("http://a2a-protocol.hermes.ai", "JSONRPC");
    for json in [card, &renamed] {
        let (read, generation) = read_card(json.as_bytes()).unwrap();
        assert_eq!(generation, CardGeneration::V1);
        let [interface] = &*read.supported_interfaces else {
            panic!("{read:?}")
        };
        assert_eq!(interface.url, "http://host:8081");
        assert_eq!(interface.protocol_version, "hermes-fleet");
        let SecurityScheme::HttpAuthSecurityScheme(scheme) = &read.security_schemes["bearer"]
        else {
            panic!("{read:?}")
        };
        assert_eq!(scheme.scheme, "Bearer");
    }
    let plain = renamed.replace(r#""agentId":"alice","#, "");
    let (read, _) = read_card(plain.as_bytes()).unwrap();
    assert_eq!(read.supported_interfaces[0].protocol_version, "1.0");
}
