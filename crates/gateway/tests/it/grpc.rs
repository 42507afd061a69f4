//! What only gRPC has: statuses and their details, deadlines, limits, versions of its services,
//! health, reflection, and the dialect of 0.3 as protobuf.

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use nuncio_wire::bindings::grpc::{FrameReader, GrpcStatus, code, reflection};
use nuncio_wire::dialects::protobuf::Package;
use nuncio_wire::operation::{
    GetExtendedAgentCardRequest, GetTaskRequest, SendMessageRequest, SendMessageResponse,
    SubscribeToTaskRequest,
};
use nuncio_wire::{
    ErrorKind, Message, Method, Part, Request, Response, Role, StreamResponse, TaskState,
};
use serde_json::json;
use std::time::Duration;

use crate::binding::{grpc_call, grpc_messages, grpc_status};
use crate::rig::{Answer, ECHO, Rig, Store, message, script_agent};

const HEALTH: &str = "/grpc.health.v1.Health";

fn path(package: Package, method: &str) -> String {
    format!("/{}/{method}", package.service())
}

/// A whole answer and how the call ended.
async fn call(
    rig: &Rig,
    path: &str,
    body: &[u8],
    metadata: &[(&str, &str)],
) -> (Answer, GrpcStatus) {
    let request = grpc_call(&rig.base, path, body, metadata);
    let answer = Answer::of(rig.request(request).await).await;
    let status = grpc_status(&answer.headers);
    (answer, status)
}

fn send(package: Package, text: &str) -> Vec<u8> {
    let message = Message::new("m", Role::User, vec![Part::text(text)]);
    let mut request = SendMessageRequest::new(message);
    request.configuration.return_immediately = false;
    package
        .write_request(Request::SendMessage(request))
        .unwrap()
}

#[tokio::test]
async fn each_service_speaks_its_version_and_says_which() {
    let rig = Rig::start(Store::Memory, ECHO).await;
    for (package, version, told, expected) in [
        (Package::V1, None, "1.0", None),
        (Package::V1, Some("1.0"), "1.0", None),
        (
            Package::V1,
            Some("99.0"),
            "1.0",
            Some(ErrorKind::VersionNotSupported),
        ),
        (
            Package::V1,
            Some("0.3"),
            "1.0",
            Some(ErrorKind::VersionNotSupported),
        ),
        (Package::V0_3, None, "0.3", None),
        (Package::V0_3, Some("0.3"), "0.3", None),
        (
            Package::V0_3,
            Some("1.0"),
            "0.3",
            Some(ErrorKind::VersionNotSupported),
        ),
    ] {
        let metadata: Vec<_> = version
            .map(|version| ("a2a-version", version))
            .into_iter()
            .collect();
        let body = send(package, "x");
        let (answer, status) = call(&rig, &path(package, "SendMessage"), &body, &metadata).await;
        assert_eq!(answer.header("a2a-version"), told);
        assert_eq!(answer.header("content-type"), "application/grpc");
        let kind = (status.code != code::OK).then(|| status.to_error().kind);
        assert_eq!(kind, expected, "{package:?} {version:?}");
    }
}

#[tokio::test]
async fn statuses_follow_the_configured_edition() {
    for (edition, status) in [("1.0.1", 9), ("1.0.0", code::UNIMPLEMENTED)] {
        let config = format!("{ECHO}\n[compat]\nstatuses = \"{edition}\"\n");
        let rig = Rig::start(Store::Memory, &config).await;
        let body = send(Package::V1, "x");
        let version = [("a2a-version", "99.0")];
        let (_, ended) = call(&rig, &path(Package::V1, "SendMessage"), &body, &version).await;
        assert_eq!(ended.code, status);
        assert_eq!(ended.to_error().kind, ErrorKind::VersionNotSupported);
    }
}

#[tokio::test]
async fn what_does_not_exist_is_unimplemented() {
    let config = format!("{ECHO}\n[compat]\nv0_3 = false\n");
    let rig = Rig::start(Store::Memory, &config).await;
    let old = path(Package::V0_3, "SendMessage");
    for unknown in [
        "/lf.a2a.v1.A2AService/getTask",
        "/lf.a2a.v1.A2AService/TaskSubscription",
        "/no.such.Service/Method",
        "/tasks/x",
        "/",
        &old,
    ] {
        let (answer, status) = call(&rig, unknown, b"", &[]).await;
        assert_eq!(
            (answer.status, status.code),
            (200, code::UNIMPLEMENTED),
            "{unknown}"
        );
        assert_eq!(status.to_error().kind, ErrorKind::MethodNotFound);
    }
    // Something else than gRPC at a path of gRPC's.
    let plain = rig.post(&path(Package::V1, "GetTask"), &[], "{}").await;
    assert_eq!(plain.status, 415);
    let got = rig.get(&path(Package::V1, "GetTask"), &[]).await;
    assert_eq!((got.status, got.header("allow")), (405, "POST"));
}

#[tokio::test]
async fn a_body_is_one_uncompressed_message_of_limited_size() {
    let config = format!("{ECHO}\n[server]\nmax_body_bytes = 4096\n");
    let rig = Rig::start(Store::Memory, &config).await;
    let at = path(Package::V1, "SendMessage");
    let fits = send(Package::V1, &"x".repeat(4_000));
    assert_eq!(call(&rig, &at, &fits, &[]).await.1.code, code::OK);
    let over = send(Package::V1, &"x".repeat(4_097));
    assert_eq!(
        call(&rig, &at, &over, &[]).await.1.code,
        code::RESOURCE_EXHAUSTED
    );
    for (body, expected) in [
        (&b""[..], code::INTERNAL),
        (b"\x00\x00\x00\x00\x05\x0a", code::INTERNAL),
        (b"{\"id\":1}", code::INTERNAL),
        (b"\x01\x00\x00\x00\x01\x00", code::UNIMPLEMENTED),
        (
            b"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
            code::UNIMPLEMENTED,
        ),
        (b"\x00\x00\x00\x00\x01\xff", 3),
    ] {
        let mut request = grpc_call(&rig.base, &at, b"", &[]);
        *request.body_mut() = Full::new(Bytes::from_static(body));
        let answer = Answer::of(rig.request(request).await).await;
        assert_eq!(grpc_status(&answer.headers).code, expected, "{body:?}");
    }
}

#[tokio::test]
async fn a_deadline_ends_the_wait_and_not_the_task() {
    let dir = tempfile::tempdir().unwrap();
    let fifo = dir.path().join("go");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let settings = format!("env = {{ GO = {:?} }}", fifo.to_str().unwrap());
    let config = script_agent("worker", "read go < \"$GO\"; echo done", &settings);
    let rig = Rig::start(Store::Memory, &config).await;
    let soon = [("grpc-timeout", "50m")];
    let body = send(Package::V1, "x");
    for method in ["SendMessage", "SendStreamingMessage"] {
        let (answer, status) = call(&rig, &path(Package::V1, method), &body, &soon).await;
        assert_eq!(status.code, code::DEADLINE_EXCEEDED, "{answer:?}");
    }
    let listed = rig.call("ListTasks", json!({})).await;
    let tasks = listed["result"]["tasks"].as_array().unwrap();
    assert!(!tasks.is_empty());
    for task in tasks {
        let state = &task["status"]["state"];
        assert!(
            state == "TASK_STATE_WORKING" || state == "TASK_STATE_SUBMITTED",
            "{task}"
        );
    }
    for wrong in ["50", "soon", "-1S"] {
        let metadata = [("grpc-timeout", wrong)];
        let (_, status) = call(&rig, &path(Package::V1, "SendMessage"), &body, &metadata).await;
        assert_eq!(status.to_error().kind, ErrorKind::InvalidParams, "{wrong}");
    }
}

#[tokio::test]
async fn what_a_double_cannot_hold_is_refused_and_kept() {
    let rig = Rig::start(Store::Memory, ECHO).await;
    let params =
        r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":9007199254740993}]}}"#;
    let (_, sent) = rig.exchange(&[], "SendMessage", params).await;
    let id = sent["result"]["task"]["id"].as_str().unwrap().to_owned();
    let request = GetTaskRequest {
        tenant: None,
        id: id.clone(),
        history_length: None,
    };
    let body = Package::V1
        .write_request(Request::GetTask(request))
        .unwrap();
    let (_, status) = call(&rig, &path(Package::V1, "GetTask"), &body, &[]).await;
    let error = status.to_error();
    assert_eq!((status.code, error.kind), (3, ErrorKind::InvalidParams));
    assert_eq!(error.violations[0].field, "artifacts[0].parts[0].data");
    let read = rig.call("GetTask", json!({"id": id})).await;
    assert!(read["error"].is_null(), "{read}");
}

#[tokio::test]
async fn an_agent_that_is_not_the_default_is_called_by_the_tenant_of_its_card() {
    let second = script_agent("second", "echo from the second", "");
    let rig = Rig::start(Store::Memory, &format!("{ECHO}{second}")).await;
    let address = rig.base.trim_start_matches("http://");
    let interface = async |at: &str, version: &str| {
        let card = rig.get(at, &[]).await.json;
        let listed = card["supportedInterfaces"].as_array().unwrap().clone();
        let order: Vec<_> = listed
            .iter()
            .map(|it| it["protocolBinding"].clone())
            .collect();
        assert_eq!(order[..3], ["JSONRPC", "HTTP+JSON", "GRPC"]);
        let is_it = |it: &&serde_json::Value| {
            it["protocolBinding"] == "GRPC" && it["protocolVersion"] == version
        };
        listed.iter().find(is_it).cloned()
    };
    let first = interface("/.well-known/agent-card.json", "1.0")
        .await
        .unwrap();
    assert_eq!(
        first,
        json!({"url": address, "protocolBinding": "GRPC", "protocolVersion": "1.0"})
    );
    let other = interface("/agents/second/.well-known/agent-card.json", "1.0")
        .await
        .unwrap();
    assert_eq!(
        (&other["url"], &other["tenant"]),
        (&json!(address), &json!("second"))
    );
    // 0.3 has no tenants, so that nothing leads to the second agent there.
    assert!(
        interface("/.well-known/agent-card.json", "0.3")
            .await
            .is_some()
    );
    assert!(
        interface("/agents/second/.well-known/agent-card.json", "0.3")
            .await
            .is_none()
    );

    let mut request = SendMessageRequest::new(Message::new("m", Role::User, vec![Part::text("x")]));
    for (tenant, text) in [
        (None, Some("x")),
        (Some("second"), Some("from the second\n")),
        (Some("no"), None),
    ] {
        request.tenant = tenant.map(str::to_owned);
        let body = Package::V1
            .write_request(Request::SendMessage(request.clone()))
            .unwrap();
        let (answer, status) = call(&rig, &path(Package::V1, "SendMessage"), &body, &[]).await;
        let Some(text) = text else {
            assert_eq!(status.to_error().violations[0].field, "tenant");
            continue;
        };
        let message = grpc_messages(&answer).remove(0);
        let Response::SendMessage(SendMessageResponse::Task(task)) = Package::V1
            .read_response(Method::SendMessage, message)
            .unwrap()
        else {
            panic!("no task");
        };
        assert_eq!(task.artifacts()[0].parts, [Part::text(text)]);
    }
}

#[tokio::test]
async fn the_dialect_of_0_3_is_served_whole() {
    let rig = Rig::start(Store::Memory, ECHO).await;
    let ask = async |method: Method, body: Vec<u8>| {
        let name = Package::V0_3.method_name(method).unwrap();
        call(&rig, &path(Package::V0_3, name), &body, &[]).await
    };
    let (answer, _) = ask(Method::SendStreamingMessage, send(Package::V0_3, "hello")).await;
    let events: Vec<_> = grpc_messages(&answer)
        .into_iter()
        .map(|message| Package::V0_3.read_event(message).unwrap())
        .collect();
    let finals: Vec<bool> = events.iter().map(|(_, last)| *last).collect();
    assert_eq!(finals, [false, false, true]);
    let StreamResponse::Task(task) = &events[0].0 else {
        panic!("{events:?}");
    };
    let get = |id: &str| {
        let request = GetTaskRequest {
            tenant: None,
            id: id.to_owned(),
            history_length: None,
        };
        Package::V0_3
            .write_request(Request::GetTask(request))
            .unwrap()
    };
    let (answer, _) = ask(Method::GetTask, get(&task.id)).await;
    let message = grpc_messages(&answer).remove(0);
    let Response::Task(read) = Package::V0_3
        .read_response(Method::GetTask, message)
        .unwrap()
    else {
        panic!("no task");
    };
    assert_eq!(read.status.state, TaskState::Completed);
    assert_eq!(
        ask(Method::GetTask, get("nope")).await.1.to_error().kind,
        ErrorKind::TaskNotFound
    );
    let subscribe = Request::SubscribeToTask(SubscribeToTaskRequest {
        tenant: None,
        id: task.id.clone(),
    });
    let over = ask(
        Method::SubscribeToTask,
        Package::V0_3.write_request(subscribe).unwrap(),
    )
    .await;
    assert_eq!(over.1.to_error().kind, ErrorKind::UnsupportedOperation);
    // There is no extended card: the public one is what is meant.
    let card = Request::GetExtendedAgentCard(GetExtendedAgentCardRequest::default());
    let (answer, _) = ask(
        Method::GetExtendedAgentCard,
        Package::V0_3.write_request(card).unwrap(),
    )
    .await;
    let message = grpc_messages(&answer).remove(0);
    let Response::AgentCard(card) = Package::V0_3
        .read_response(Method::GetExtendedAgentCard, message)
        .unwrap()
    else {
        panic!("no card");
    };
    assert_eq!(
        (card.name.as_str(), card.supported_interfaces.len()),
        ("echo", 3)
    );
}

#[tokio::test]
async fn health_is_told_to_everybody_and_watched_to_the_end() {
    let config = format!("{ECHO}\n[security]\nbearer_token = \"env:SHARED\"\n");
    let mut rig = Rig::start(Store::Memory, &config).await;
    let ask = |service: &str| {
        [
            &[0x0a, u8::try_from(service.len()).unwrap()],
            service.as_bytes(),
        ]
        .concat()
    };
    const SERVING: &[u8] = b"\x08\x01";
    for service in [
        b"".to_vec(),
        ask("lf.a2a.v1.A2AService"),
        ask("grpc.health.v1.Health"),
    ] {
        let (answer, status) = call(&rig, &format!("{HEALTH}/Check"), &service, &[]).await;
        assert_eq!(status.code, code::OK);
        assert_eq!(grpc_messages(&answer), [SERVING]);
    }
    let (_, status) = call(&rig, &format!("{HEALTH}/Check"), &ask("no.Such"), &[]).await;
    assert_eq!(status.code, 5);

    let watch = grpc_call(&rig.base, &format!("{HEALTH}/Watch"), b"", &[]);
    let mut watched = rig.request(watch).await;
    let mut reader = FrameReader::new(100);
    reader.feed(&watched.frame().await.unwrap().unwrap().into_data().unwrap());
    assert_eq!(reader.next_message().unwrap().unwrap(), SERVING);
    rig.restart(Duration::from_secs(1)).await;
    reader.feed(&watched.frame().await.unwrap().unwrap().into_data().unwrap());
    assert_eq!(
        reader.next_message().unwrap().unwrap(),
        b"\x08\x02".as_slice()
    );
    let end = watched
        .frame()
        .await
        .unwrap()
        .unwrap()
        .into_trailers()
        .unwrap();
    assert_eq!(grpc_status(&end).code, code::OK);
}

#[tokio::test]
async fn reflection_answers_one_question_after_the_other() {
    let rig = Rig::start(Store::Memory, ECHO).await;
    let by_symbol = b"\x22\x14lf.a2a.v1.A2AService";
    let list = b"\x3a\x00";
    for service in reflection::SERVICES {
        let at = format!("/{service}/{}", reflection::METHOD);
        let mut request = grpc_call(&rig.base, &at, list, &[]);
        let frames = [list.as_slice(), by_symbol].map(nuncio_wire::bindings::grpc::frame);
        *request.body_mut() = Full::new(Bytes::from(frames.concat()));
        let answer = Answer::of(rig.request(request).await).await;
        assert_eq!(grpc_status(&answer.headers).code, code::OK);
        let answers = grpc_messages(&answer);
        assert_eq!(answers.len(), 2);
        let has = |at: usize, text: &str| {
            let text = text.as_bytes();
            answers[at].windows(text.len()).any(|window| window == text)
        };
        assert!(has(0, "lf.a2a.v1.A2AService") && has(0, "a2a.v1.A2AService"));
        assert!(has(0, "grpc.health.v1.Health") && has(0, service));
        assert!(has(1, "SendStreamingMessage") && has(1, "google/protobuf/struct.proto"));
    }
}

#[tokio::test]
async fn foreign_hosts_and_pages_are_refused_over_grpc_too() {
    let rig = Rig::start(Store::Memory, ECHO).await;
    let body = send(Package::V1, "x");
    let at = path(Package::V1, "SendMessage");
    for metadata in [("origin", "https://evil.example"), ("host", "evil.example")] {
        let (_, status) = call(&rig, &at, &body, &[metadata]).await;
        assert_ne!(status.code, code::OK, "{metadata:?}");
    }
    let (_, status) = call(&rig, &at, &body, &[("origin", "https://evil.example")]).await;
    assert_eq!(status.to_error().kind, ErrorKind::PermissionDenied);
    assert_eq!(
        rig.call("ListTasks", json!({})).await["result"]["totalSize"],
        0
    );
}

#[tokio::test]
async fn a_repeated_send_is_known_whatever_the_order_of_a_map() {
    let rig = Rig::start(Store::Memory, ECHO).await;
    let key = [("idempotency-key", "k")];
    let at = path(Package::V1, "SendMessage");
    let plain = Package::V1.write_request(Request::SendMessage(
        serde_json::from_value(message("x")).unwrap(),
    ));
    let plain = plain.unwrap();
    // `metadata` with two members, in either order: {"a": true, "b": null}.
    let (a, b) = (
        b"\x0a\x07\x0a\x01a\x12\x02\x20\x01".as_slice(),
        b"\x0a\x07\x0a\x01b\x12\x02\x08\x00",
    );
    let with =
        |first: &[u8], second: &[u8]| [plain.as_slice(), b"\x22", &[18], first, second].concat();
    let mut ids = Vec::new();
    for body in [with(a, b), with(b, a)] {
        let (answer, status) = call(&rig, &at, &body, &key).await;
        assert_eq!(status.code, code::OK, "{status:?}");
        let message = grpc_messages(&answer).remove(0);
        match Package::V1
            .read_response(Method::SendMessage, message)
            .unwrap()
        {
            Response::SendMessage(SendMessageResponse::Task(task)) => ids.push(task.id),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(ids[0], ids[1]);
}
