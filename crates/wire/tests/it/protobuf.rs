//! The model as protobuf and back, in both generations, and what the bytes look like.

use bytes::Bytes;
use nuncio_wire::dialects::protobuf::Package;
use nuncio_wire::dialects::{Negotiation, negotiate_grpc};
use nuncio_wire::operation::{
    GetTaskPushNotificationConfigRequest, GetTaskRequest, ListTasksRequest, ListTasksResponse,
    SendMessageConfiguration, SendMessageRequest, SendMessageResponse, SubscribeToTaskRequest,
};
use nuncio_wire::{
    A2aError, AgentCard, Artifact, AuthenticationInfo, Dialect, ErrorKind, Message, Metadata,
    Method, Part, PartContent, RawJson, Request, Response, Role, StreamResponse, Task,
    TaskArtifactUpdateEvent, TaskPushNotificationConfig, TaskState, TaskStatus,
    TaskStatusUpdateEvent, Timestamp,
};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use serde_json::{Value, json};

/// JSON as programs write it: numbers that doubles hold, each name once, names in order.
fn ordinary_json() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-9_007_199_254_740_991i64..9_007_199_254_740_991).prop_map(Value::from),
        (-1_000_000i32..1_000_000).prop_map(|n| json!(f64::from(n * 2 + 1) / 1024.0)),
        any::<String>().prop_map(Value::from),
    ];
    scalar.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map("[a-z]{0,4}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn metadata() -> impl Strategy<Value = Option<Metadata>> {
    // Not empty, since 0.3 cannot tell that from none where it hides labels; not under their names.
    option::of(btree_map("[a-d]{1,3}", ordinary_json(), 1..3)).prop_map(|map| {
        map.map(|map| {
            let object = Value::Object(map.into_iter().collect());
            Metadata::parse(object.to_string()).unwrap()
        })
    })
}

fn part() -> impl Strategy<Value = Part> {
    let content = prop_oneof![
        any::<String>().prop_map(PartContent::Text),
        vec(any::<u8>(), 0..40).prop_map(|bytes| PartContent::Raw(bytes.into())),
        "https://[a-z]{1,8}".prop_map(PartContent::Url),
        ordinary_json().prop_map(|json| PartContent::Data(RawJson::of(&json).unwrap())),
    ];
    let label = || option::of("[a-z]{1,8}/x[a-z]{1,8}");
    (content, metadata(), label(), label()).prop_map(|(content, metadata, filename, media_type)| {
        Part {
            content,
            metadata,
            filename,
            media_type,
        }
    })
}

fn message() -> impl Strategy<Value = Message> {
    let id = || option::of("[a-zA-Z0-9_:-]{1,20}");
    let role = prop_oneof![Just(Role::User), Just(Role::Agent)];
    let head = ("[a-z0-9]{1,12}", id(), id(), role);
    (head, vec(part(), 1..4), metadata(), vec("[a-z]{1,8}", 0..3)).prop_map(
        |((id, context_id, task_id, role), parts, metadata, extensions)| Message {
            context_id,
            task_id,
            metadata,
            extensions,
            ..Message::new(id, role, parts)
        },
    )
}

fn status() -> impl Strategy<Value = TaskStatus> {
    let states = proptest::sample::select(&TaskState::ALL[1..]);
    let time = option::of((-1_000i64..4_000_000_000_000).prop_map(Timestamp::from_millis));
    (states, option::of(message()), time).prop_map(|(state, message, timestamp)| TaskStatus {
        state,
        message,
        timestamp,
    })
}

fn artifact() -> impl Strategy<Value = Artifact> {
    let label = || option::of("[a-z ]{1,12}");
    (
        "[a-z]{1,8}",
        label(),
        label(),
        vec(part(), 1..3),
        metadata(),
    )
        .prop_map(|(id, name, description, parts, metadata)| Artifact {
            name,
            description,
            metadata,
            ..Artifact::new(id, parts)
        })
}

fn task() -> impl Strategy<Value = Task> {
    let artifacts = option::of(vec(artifact(), 1..3));
    let history = vec(message(), 0..3);
    ("[a-z0-9-]{1,12}", status(), artifacts, history, metadata()).prop_map(
        |(id, status, artifacts, history, metadata)| Task {
            context_id: format!("c-{id}"),
            id,
            status,
            artifacts,
            history,
            metadata,
        },
    )
}

fn event() -> impl Strategy<Value = StreamResponse> {
    prop_oneof![
        task().prop_map(StreamResponse::Task),
        message().prop_map(StreamResponse::Message),
        (status(), metadata()).prop_map(|(status, metadata)| {
            StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
                task_id: "t".to_owned(),
                context_id: "c".to_owned(),
                status,
                metadata,
            })
        }),
        (artifact(), any::<bool>(), any::<bool>(), metadata()).prop_map(
            |(artifact, append, last_chunk, metadata)| {
                StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
                    task_id: "t".to_owned(),
                    context_id: "c".to_owned(),
                    artifact,
                    append,
                    last_chunk,
                    metadata,
                })
            }
        ),
    ]
}

fn send() -> impl Strategy<Value = SendMessageRequest> {
    let push = option::of("https://[a-z]{1,8}").prop_map(|url| {
        url.map(|url| TaskPushNotificationConfig {
            tenant: None,
            id: Some("p".to_owned()),
            task_id: None,
            url,
            token: Some("t".to_owned()),
            metadata: None,
            authentication: Some(AuthenticationInfo {
                scheme: "Bearer".to_owned(),
                other_schemes: Vec::new(),
                credentials: None,
            }),
        })
    });
    let configuration = (
        vec("[a-z]/[a-z]", 0..3),
        push,
        option::of(1i32..9),
        any::<bool>(),
    );
    (message(), configuration, metadata()).prop_map(
        |(message, (modes, push, history_length, at_once), metadata)| SendMessageRequest {
            configuration: SendMessageConfiguration {
                accepted_output_modes: modes,
                task_push_notification_config: push,
                history_length,
                return_immediately: at_once,
            },
            metadata,
            ..SendMessageRequest::new(message)
        },
    )
}

/// The largest JSON test data is small: what is written is bytes in memory.
fn pass(package: Package, event: &StreamResponse, last: bool) -> (StreamResponse, bool) {
    let bytes = package.write_event(event.clone(), last).unwrap();
    package.read_event(Bytes::from(bytes)).unwrap()
}

proptest! {
    #[test]
    fn events_pass_unchanged_in_both_generations(event in event(), last in any::<bool>()) {
        for package in Package::ALL {
            let (read, ends) = pass(package, &event, last);
            prop_assert_eq!(&read, &event);
            let expected = match (package, &event) {
                (_, StreamResponse::Message(_)) => true,
                (Package::V0_3, StreamResponse::StatusUpdate(_)) => last,
                _ => false,
            };
            prop_assert_eq!(ends, expected);
        }
    }

    #[test]
    fn sends_pass_unchanged_in_both_generations(send in send()) {
        prop_assume!(!has_nul(&send));
        for package in Package::ALL {
            let request = Request::SendStreamingMessage(send.clone());
            let bytes = Bytes::from(package.write_request(request.clone()).unwrap());
            let read = package.read_request(Method::SendStreamingMessage, bytes).unwrap();
            prop_assert_eq!(read, request);
        }
    }

    #[test]
    fn answers_pass_unchanged_in_both_generations(task in task(), message in message()) {
        for (method, response) in [
            (Method::GetTask, Response::Task(task.clone())),
            (Method::SendMessage, Response::SendMessage(SendMessageResponse::Task(task.clone()))),
            (Method::SendMessage, Response::SendMessage(SendMessageResponse::Message(message))),
        ] {
            for package in Package::ALL {
                let bytes = Bytes::from(package.write_response(response.clone()).unwrap());
                prop_assert_eq!(&package.read_response(method, bytes).unwrap(), &response);
            }
        }
        let page = Response::ListTasks(ListTasksResponse {
            tasks: vec![task],
            next_page_token: "n".to_owned(),
            page_size: 50,
            total_size: 51,
        });
        let bytes = Bytes::from(Package::V1.write_response(page.clone()).unwrap());
        prop_assert_eq!(Package::V1.read_response(Method::ListTasks, bytes).unwrap(), page);
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in vec(any::<u8>(), 0..200)) {
        let bytes = Bytes::from(bytes);
        for package in Package::ALL {
            let _ = package.read_event(bytes.clone());
            for method in Method::ALL {
                let _ = package.read_request(method, bytes.clone());
                let _ = package.read_response(method, bytes.clone());
            }
        }
    }
}

fn has_nul(send: &SendMessageRequest) -> bool {
    send.message
        .parts
        .iter()
        .any(|part| matches!(&part.content, PartContent::Text(text) if text.contains('\0')))
}

#[test]
fn the_bytes_are_those_of_the_field_tables() {
    let request = Request::GetTask(GetTaskRequest {
        tenant: Some("n".to_owned()),
        id: "t".to_owned(),
        history_length: Some(0),
    });
    let bytes = Package::V1.write_request(request.clone()).unwrap();
    assert_eq!(bytes, b"\x0a\x01n\x12\x01t\x18\x00");
    // No tenants, no presence: one message is the least that can be asked for.
    let bytes = Package::V0_3.write_request(request).unwrap();
    assert_eq!(bytes, b"\x0a\x07tasks/t\x10\x01");

    let event = StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
        task_id: "t".to_owned(),
        context_id: "c".to_owned(),
        status: TaskStatus {
            state: TaskState::Canceled,
            message: None,
            timestamp: Timestamp::from_unix(1, 5_000_000),
        },
        metadata: None,
    });
    let status = b"\x08\x05\x1a\x07\x08\x01\x10\xc0\x96\xb1\x02";
    let body = [b"\x0a\x01t\x12\x01c\x1a\x0b".as_slice(), status].concat();
    let framed = |body: &[u8]| [&[0x1a, u8::try_from(body.len()).unwrap()], body].concat();
    assert_eq!(
        Package::V1.write_event(event.clone(), true).unwrap(),
        framed(&body)
    );
    let with_final = [body.as_slice(), b"\x20\x01"].concat();
    assert_eq!(
        Package::V0_3.write_event(event, true).unwrap(),
        framed(&with_final)
    );
}

#[test]
fn requests_of_0_3_name_tasks_by_paths() {
    let names = GetTaskPushNotificationConfigRequest {
        tenant: None,
        task_id: "t".to_owned(),
        id: "p".to_owned(),
    };
    let subscribe = SubscribeToTaskRequest {
        tenant: None,
        id: "t".to_owned(),
    };
    for request in [
        Request::GetTaskPushNotificationConfig(names.clone()),
        Request::DeleteTaskPushNotificationConfig(names.clone()),
        Request::SubscribeToTask(subscribe),
    ] {
        let bytes = Bytes::from(Package::V0_3.write_request(request.clone()).unwrap());
        assert_eq!(
            Package::V0_3.read_request(request.method(), bytes).unwrap(),
            request
        );
    }
    // Without an id the newest one is meant.
    let newest = Package::V0_3.read_request(
        Method::GetTaskPushNotificationConfig,
        Bytes::from_static(b"\x0a\x07tasks/t"),
    );
    let expected = GetTaskPushNotificationConfigRequest {
        id: String::new(),
        ..names
    };
    assert_eq!(
        newest.unwrap(),
        Request::GetTaskPushNotificationConfig(expected)
    );
    for name in ["", "t", "tasks/", "task/t"] {
        let message = [&[0x0a, u8::try_from(name.len()).unwrap()], name.as_bytes()].concat();
        let error = Package::V0_3
            .read_request(Method::GetTask, Bytes::from(message))
            .unwrap_err();
        assert_eq!(error.violations[0].field, "name", "{name}");
    }
}

#[test]
fn a_send_of_0_3_waits_if_it_says_so_or_nothing() {
    // `request` with an id, a role and a part; then a configuration.
    let message = b"\x0a\x0c\x0a\x01m\x20\x01\x2a\x05\x0a\x03\x61\x62\x63";
    for (configuration, at_once) in [
        (b"".as_slice(), false),
        (b"\x12\x00", true),
        (b"\x12\x02\x20\x01", false),
    ] {
        let bytes = Bytes::from([message.as_slice(), configuration].concat());
        let read = Package::V0_3
            .read_request(Method::SendMessage, bytes)
            .unwrap();
        let Request::SendMessage(send) = read else {
            panic!("not a send");
        };
        assert_eq!(send.message.parts, [Part::text("abc")]);
        assert_eq!(send.configuration.return_immediately, at_once);
    }
}

fn send_with(part: &str) -> Request {
    let part: Part = serde_json::from_str(part).unwrap();
    let message = Message::new("m", Role::User, vec![part]);
    Request::SendMessage(SendMessageRequest::new(message))
}

#[test]
fn what_protobuf_cannot_carry_is_refused_by_its_field() {
    for (part, field) in [
        (r#"{"data":9007199254740993}"#, "message.parts[0].data"),
        (r#"{"data":[1e400]}"#, "message.parts[0].data"),
        (
            r#"{"text":"x","metadata":{"a":1,"a":2}}"#,
            "message.parts[0].metadata",
        ),
    ] {
        for package in Package::ALL {
            let error = package.write_request(send_with(part)).unwrap_err();
            assert_eq!(error.kind, ErrorKind::InvalidParams, "{part}");
            let named = error.violations[0].field.replace("content", "parts");
            assert_eq!(named, field);
        }
    }
}

#[test]
fn missing_and_unknown_values_are_named() {
    let read = |method, bytes: &'static [u8]| -> A2aError {
        Package::V1
            .read_request(method, Bytes::from_static(bytes))
            .unwrap_err()
    };
    let fields = |error: A2aError| -> Vec<String> {
        error.violations.into_iter().map(|v| v.field).collect()
    };
    assert_eq!(fields(read(Method::SendMessage, b"")), ["message"]);
    assert_eq!(
        fields(read(Method::SendMessage, b"\x12\x00")),
        ["message.messageId", "message.role", "message.parts"]
    );
    // A part without content; a role and a state that do not exist.
    assert_eq!(
        fields(read(Method::SendMessage, b"\x12\x02\x2a\x00")),
        ["message.parts[0]"]
    );
    assert_eq!(
        fields(read(Method::SendMessage, b"\x12\x02\x20\x09")),
        ["message.role"]
    );
    assert_eq!(fields(read(Method::ListTasks, b"\x18\x63")), ["status"]);
    assert_eq!(read(Method::GetTask, b"\xff").kind, ErrorKind::ParseError);
    // NaN in a part's data.
    let nan = b"\x12\x0f\x2a\x0d\x22\x0b\x11\x00\x00\x00\x00\x00\x00\xf8\x7f\x22\x00";
    let error = Package::V1.read_request(Method::SendMessage, Bytes::from_static(nan));
    assert!(error.is_err());
    let whole = Package::V1
        .read_request(Method::ListTasks, Bytes::new())
        .unwrap();
    assert_eq!(whole, Request::ListTasks(ListTasksRequest::default()));
}

#[test]
fn cards_pass_with_all_their_members() {
    let card = json!({
        "name": "n", "description": "d", "version": "1", "documentationUrl": "https://d",
        "iconUrl": "https://i",
        "supportedInterfaces": [
            {"url": "h:1", "protocolBinding": "GRPC", "tenant": "x", "protocolVersion": "1.0"},
            {"url": "h:1", "protocolBinding": "GRPC", "protocolVersion": "0.3"}],
        "provider": {"url": "https://p", "organization": "o"},
        "capabilities": {"streaming": true, "pushNotifications": false, "extendedAgentCard": true,
            "extensions": [{"uri": "urn:e", "required": true, "params": {"a": [1, null]}}]},
        "securitySchemes": {
            "a": {"apiKeySecurityScheme": {"location": "header", "name": "k"}},
            "b": {"httpAuthSecurityScheme": {"scheme": "Bearer", "bearerFormat": "JWT"}},
            "c": {"oauth2SecurityScheme": {"flows": {"authorizationCode": {
                "authorizationUrl": "https://a", "tokenUrl": "https://t", "refreshUrl": "https://r",
                "scopes": {"s": "t"}}}, "oauth2MetadataUrl": "https://m"}},
            "d": {"openIdConnectSecurityScheme": {"openIdConnectUrl": "https://o"}},
            "e": {"mtlsSecurityScheme": {"description": "x"}}},
        "securityRequirements": [{"schemes": {"a": {"list": ["s"]}}}],
        "defaultInputModes": ["a/b"], "defaultOutputModes": ["c/d"],
        "skills": [{"id": "i", "name": "n", "description": "d", "tags": ["t"], "examples": ["e"],
            "inputModes": ["a/b"], "outputModes": ["c/d"],
            "securityRequirements": [{"schemes": {"b": {"list": []}}}]}],
        "signatures": [{"protected": "p", "signature": "s", "header": {"kid": "k"}}],
    });
    let card: AgentCard = serde_json::from_value(card).unwrap();
    let response = Response::AgentCard(Box::new(card.clone()));
    let pass = |package: Package| {
        let bytes = Bytes::from(package.write_response(response.clone()).unwrap());
        match package
            .read_response(Method::GetExtendedAgentCard, bytes)
            .unwrap()
        {
            Response::AgentCard(card) => *card,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(pass(Package::V1), card);
    let mut old = card;
    old.supported_interfaces.remove(0);
    old.signatures.clear();
    assert_eq!(pass(Package::V0_3), old);
}

#[test]
fn each_service_speaks_its_own_version() {
    let policy = Negotiation::default();
    let strict = Negotiation {
        strict_version: true,
        ..policy
    };
    let no_old = Negotiation {
        v0_3: false,
        ..policy
    };
    for (package, version, policy, outcome) in [
        (Package::V1, None, policy, Ok(Dialect::V1)),
        (Package::V1, Some("1.0"), policy, Ok(Dialect::V1)),
        (Package::V1, Some("1.7"), policy, Ok(Dialect::V1)),
        (
            Package::V1,
            Some("0.3"),
            policy,
            Err(ErrorKind::VersionNotSupported),
        ),
        (
            Package::V1,
            Some("99.0"),
            policy,
            Err(ErrorKind::VersionNotSupported),
        ),
        (
            Package::V1,
            None,
            strict,
            Err(ErrorKind::VersionNotSupported),
        ),
        (Package::V0_3, None, policy, Ok(Dialect::V0_3)),
        (Package::V0_3, Some("0.3"), strict, Ok(Dialect::V0_3)),
        (
            Package::V0_3,
            Some("1.0"),
            policy,
            Err(ErrorKind::VersionNotSupported),
        ),
        (Package::V0_3, None, no_old, Err(ErrorKind::MethodNotFound)),
    ] {
        let negotiated = negotiate_grpc(package, version, &policy).map_err(|error| error.kind);
        assert_eq!(negotiated, outcome, "{package:?} {version:?}");
    }
}
