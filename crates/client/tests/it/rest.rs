//! HTTP+JSON: what goes out for each operation, what is understood of what comes back, and how the
//! binding is come to.

use nuncio_client::{ClientErrorKind, TaskView};
use nuncio_wire::operation::{
    CancelTaskRequest, GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest,
    GetTaskRequest, ListTaskPushNotificationConfigsRequest, ListTasksRequest,
    SendMessageConfiguration, SendMessageResponse,
};
use nuncio_wire::{
    ErrorKind, Request, Response, StreamResponse, TaskPushNotificationConfig, TaskState,
};
use serde_json::{Value, json};

use crate::agents::{client_of, message, send, stream};
use crate::mock_agent::{MockAgent, Reply, Request as Seen, chunk, status, task};

/// A card with these interfaces: binding, version, path, tenant.
fn card(base: &str, interfaces: &[(&str, &str, &str, Option<&str>)]) -> Value {
    let interfaces: Vec<Value> = interfaces
        .iter()
        .map(|(binding, version, path, tenant)| {
            let url = if path.starts_with("http") {
                (*path).to_owned()
            } else {
                format!("{base}{path}")
            };
            let mut interface =
                json!({"url": url, "protocolBinding": binding, "protocolVersion": version});
            if let Some(tenant) = tenant {
                interface["tenant"] = json!(tenant);
            }
            interface
        })
        .collect();
    json!({
        "name": "Mock", "description": "d", "version": "1", "supportedInterfaces": interfaces,
        "capabilities": {"streaming": true}, "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "s", "name": "s", "description": "d", "tags": ["t"]}]
    })
}

const ONE: &[(&str, &str, &str, Option<&str>)] = &[("HTTP+JSON", "1.0", "/api/", None)];
const OLD: &[(&str, &str, &str, Option<&str>)] = &[("HTTP+JSON", "0.3", "/api", None)];

/// An agent with this card, which answers everything else by `answer`.
async fn agent(
    interfaces: &'static [(
        &'static str,
        &'static str,
        &'static str,
        Option<&'static str>,
    )],
    answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
) -> MockAgent {
    MockAgent::start(move |request, base| match request.path.as_str() {
        "/.well-known/agent-card.json" => Reply::json(200, &card(base, interfaces)),
        _ => answer(request),
    })
    .await
}

fn calls(agent: &MockAgent) -> Vec<Seen> {
    let seen = agent.seen().into_iter();
    seen.filter(|request| !request.path.starts_with("/.well-known"))
        .collect()
}

fn events(frames: &[Value]) -> Reply {
    let frame = |event: &Value| format!("id: 1-1\ndata: {event}\n\n").into_bytes();
    Reply::stream(frames.iter().map(frame).collect())
}

fn get(id: &str) -> Request {
    Request::GetTask(GetTaskRequest {
        tenant: None,
        id: id.to_owned(),
        history_length: Some(3),
    })
}

fn refusal(status: u16, reason: &str) -> Reply {
    let info = json!({"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "a2a-protocol.org"});
    let error =
        json!({"code": status, "status": "X", "message": "No such luck", "details": [info]});
    Reply::json(status, &json!({"error": error}))
}

#[tokio::test]
async fn every_operation_has_its_verb_path_and_body() {
    let tenant: &[_] = &[("HTTP+JSON", "1.0", "/api/", Some("team a"))];
    let names = || GetTaskPushNotificationConfigRequest {
        tenant: None,
        task_id: "t/1".to_owned(),
        id: "c".to_owned(),
    };
    let config = TaskPushNotificationConfig {
        tenant: None,
        id: Some("c".to_owned()),
        task_id: Some("t/1".to_owned()),
        url: "https://hooks.example/".to_owned(),
        token: None,
        authentication: None,
        metadata: None,
    };
    let mut sent = message("hi");
    sent.configuration = SendMessageConfiguration {
        return_immediately: true,
        ..SendMessageConfiguration::default()
    };
    let body = json!({"message": {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "hi"}]}, "configuration": {"returnImmediately": true}});
    let list = ListTasksRequest {
        context_id: Some("a&b".to_owned()),
        status: Some(TaskState::Working),
        page_size: Some(5),
        include_artifacts: Some(true),
        ..ListTasksRequest::default()
    };
    let pages = ListTaskPushNotificationConfigsRequest {
        tenant: None,
        task_id: "t/1".to_owned(),
        page_size: Some(2),
        page_token: None,
    };
    let cancel = CancelTaskRequest {
        tenant: None,
        id: "t/1".to_owned(),
        metadata: None,
    };
    let configs = "/api/team%20a/tasks/t%2F1/pushNotificationConfigs";
    let one = format!("{configs}/c");
    let flat = json!({"id": "c", "url": "https://hooks.example/"});
    let config_body = json!({"id": "c", "url": "https://hooks.example/", "taskId": "t/1"});
    let page = json!({"tasks": [], "nextPageToken": "", "pageSize": 5, "totalSize": 0});
    for (request, verb, path, query, sent_body, answer) in [
        (
            Request::SendMessage(sent),
            "POST",
            "/api/team%20a/message:send",
            "",
            body,
            json!({"task": task("WORKING", "")}),
        ),
        (
            get("t/1"),
            "GET",
            "/api/team%20a/tasks/t%2F1",
            "historyLength=3",
            Value::Null,
            task("WORKING", ""),
        ),
        (
            Request::ListTasks(list),
            "GET",
            "/api/team%20a/tasks",
            "contextId=a%26b&includeArtifacts=true&pageSize=5&status=TASK_STATE_WORKING",
            Value::Null,
            page,
        ),
        (
            Request::CancelTask(cancel),
            "POST",
            "/api/team%20a/tasks/t%2F1:cancel",
            "",
            json!({}),
            task("CANCELED", ""),
        ),
        (
            Request::CreateTaskPushNotificationConfig(config),
            "POST",
            configs,
            "",
            flat,
            config_body.clone(),
        ),
        (
            Request::GetTaskPushNotificationConfig(names()),
            "GET",
            &one,
            "",
            Value::Null,
            config_body.clone(),
        ),
        (
            Request::ListTaskPushNotificationConfigs(pages),
            "GET",
            configs,
            "pageSize=2",
            Value::Null,
            json!({"configs": [config_body]}),
        ),
        (
            Request::DeleteTaskPushNotificationConfig(names()),
            "DELETE",
            &one,
            "",
            Value::Null,
            Value::Null,
        ),
        (
            Request::GetExtendedAgentCard(GetExtendedAgentCardRequest::default()),
            "GET",
            "/api/team%20a/extendedAgentCard",
            "",
            Value::Null,
            card("https://h", ONE),
        ),
    ] {
        let answers = answer.clone();
        let agent = agent(tenant, move |_| Reply::json(200, &answers)).await;
        let method = request.method();
        client_of(&agent)
            .await
            .call(request)
            .await
            .unwrap_or_else(|error| panic!("{method:?}: {error}"));
        let call = &calls(&agent)[0];
        assert_eq!(
            (call.verb.as_str(), call.path.as_str(), call.query.as_str()),
            (verb, path, query)
        );
        assert_eq!(call.body, sent_body, "{method:?}");
        assert_eq!(call.header("a2a-version"), Some("1.0"));
        let typed = call.header("content-type") == Some("application/json");
        assert_eq!(typed, verb == "POST", "{method:?}");
        let keyed = call.header("idempotency-key") == Some("m-1");
        assert_eq!(keyed, path.ends_with(":send"));
    }
}

#[tokio::test]
async fn refusals_are_known_by_reason_name_or_status() {
    for (reply, kind) in [
        (refusal(404, "TASK_NOT_FOUND"), ErrorKind::TaskNotFound),
        (
            refusal(400, "UNSUPPORTED_OPERATION"),
            ErrorKind::UnsupportedOperation,
        ),
        (
            refusal(400, "IDEMPOTENCY_CONFLICT"),
            ErrorKind::IdempotencyConflict,
        ),
        (
            Reply::json(404, &json!({"message": "Task not found"})),
            ErrorKind::TaskNotFound,
        ),
        (
            Reply::json(
                409,
                &json!({"type": "TaskNotCancelableError", "message": "no"}),
            ),
            ErrorKind::TaskNotCancelable,
        ),
    ] {
        let agent = agent(ONE, move |_| reply.clone()).await;
        let error = client_of(&agent).await.call(get("x")).await.unwrap_err();
        assert!(error.is_protocol(kind), "{error:?}");
        assert_eq!(error.code, Some(kind.code().into()));
    }
    for (reply, kind) in [
        (
            Reply::http(401, &[("WWW-Authenticate", "Bearer")], ""),
            ClientErrorKind::CredentialsMissing,
        ),
        (
            refusal(403, "PERMISSION_DENIED"),
            ClientErrorKind::CredentialsMissing,
        ),
        (
            Reply::http(502, &[], "<html>"),
            ClientErrorKind::InvalidAnswer,
        ),
        (
            Reply::http(307, &[("Location", "https://x.example/")], ""),
            ClientErrorKind::InvalidAnswer,
        ),
        (
            Reply::http(200, &[], "hello"),
            ClientErrorKind::InvalidAnswer,
        ),
    ] {
        let agent = agent(ONE, move |_| reply.clone()).await;
        let error = client_of(&agent).await.call(get("x")).await.unwrap_err();
        assert_eq!(error.kind, kind);
        assert_eq!(calls(&agent).len(), 1, "{error}");
    }
}

#[tokio::test]
async fn a_stream_is_bare_events_and_may_hold_an_error() {
    let agent = agent(ONE, |_| {
        let error = json!({"error": {"code": 500, "message": "out of paper", "details": [{"reason": "INTERNAL_ERROR"}]}});
        events(&[json!({"task": task("WORKING", "")}), chunk("Hel", false), chunk("lo", true), error])
    })
    .await;
    let mut events = client_of(&agent).await.stream(stream("hi")).await.unwrap();
    let mut view = TaskView::default();
    for _ in 0..3 {
        let event = events.next().await.unwrap().unwrap();
        assert_eq!(event.id.as_deref(), Some("1-1"));
        view.apply(&event.event);
    }
    let artifact = &view.task().unwrap().artifacts()[0];
    assert_eq!(artifact.parts[0].as_text(), Some("Hello"));
    let error = events.next().await.unwrap().unwrap_err();
    assert!(
        error.is_protocol(ErrorKind::Internal) && error.message.contains("paper"),
        "{error:?}"
    );
    assert!(events.next().await.is_none());
    let call = &calls(&agent)[0];
    assert_eq!(
        (call.verb.as_str(), call.path.as_str()),
        ("POST", "/api/message:stream")
    );
    assert!(
        call.header("accept")
            .unwrap()
            .starts_with("text/event-stream")
    );
}

#[tokio::test]
async fn a_subscription_is_asked_for_by_post_and_else_by_get() {
    let agent = agent(ONE, |request| match request.verb.as_str() {
        "GET" => events(&[json!({"task": task("WORKING", "")}), status("COMPLETED")]),
        _ => Reply::http(405, &[("Allow", "GET")], ""),
    })
    .await;
    let client = client_of(&agent).await;
    let mut events = client.subscribe("task-1", Some("1-1")).await.unwrap();
    let first = events.next().await.unwrap().unwrap();
    assert!(matches!(first.event, StreamResponse::Task(_)));
    let calls = calls(&agent);
    let verbs: Vec<&str> = calls.iter().map(|call| call.verb.as_str()).collect();
    assert_eq!(verbs, ["POST", "GET"]);
    for call in calls {
        assert_eq!(
            (call.path.as_str(), call.header("last-event-id")),
            ("/api/tasks/task-1:subscribe", Some("1-1"))
        );
    }
}

#[tokio::test]
async fn the_next_interface_is_called_when_the_first_is_down() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let down = format!("http://{}/rpc", nobody.local_addr().unwrap());
    drop(nobody);
    let agent = MockAgent::start(move |request, base| match request.path.as_str() {
        "/.well-known/agent-card.json" => {
            let interfaces = [
                ("X-FOO", "1.0", "/foo", None),
                ("jsonrpc", "1.0", down.as_str(), None),
                ("http+json", "1.0", "/api", None),
            ];
            Reply::json(200, &card(base, &interfaces))
        }
        _ => Reply::json(200, &json!({"task": task("COMPLETED", "x")})),
    })
    .await;
    let client = crate::agents::client_anywhere(&agent).await;
    let answer = client.call(send("hi")).await.unwrap();
    assert!(matches!(
        answer,
        Response::SendMessage(SendMessageResponse::Task(_))
    ));
    let again = client.call(get("x")).await;
    assert!(again.is_ok(), "{again:?}");
    let paths: Vec<String> = calls(&agent).into_iter().map(|call| call.path).collect();
    assert_eq!(paths, ["/api/message:send", "/api/tasks/x"]);
}

#[tokio::test]
async fn a_server_of_0_3_is_spoken_to_as_its_sdks_do() {
    let done = json!({"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_CANCELLED", "message": {"messageId": "m", "role": "ROLE_AGENT", "content": [{"data": {"data": {"n": 1}}}]}}});
    let answered = done.clone();
    let agent = agent(OLD, move |request| match request.path.as_str() {
        "/api/v1/message:send" => Reply::json(200, &json!({"task": done})),
        "/api/v1/message:stream" => events(&[json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"}, "final": true}})]),
        "/api/v1/tasks/t" => Reply::json(200, &answered),
        _ => Reply::not_found(),
    })
    .await;
    let client = client_of(&agent).await;
    let Response::SendMessage(SendMessageResponse::Task(sent)) =
        client.call(send("hi")).await.unwrap()
    else {
        panic!("no task");
    };
    assert_eq!(sent.status.state, TaskState::Canceled);
    let said = sent.status.message.as_ref().unwrap();
    assert_eq!(
        serde_json::to_value(&said.parts).unwrap(),
        json!([{"data": {"n": 1}}])
    );
    assert!(matches!(client.call(get("t")).await.unwrap(), Response::Task(read) if read == sent));
    let mut events = client.stream(stream("hi")).await.unwrap();
    assert!(events.next().await.unwrap().unwrap().last);
    let first = &calls(&agent)[0];
    assert_eq!(
        first.body,
        json!({"message": {"messageId": "m-1", "role": "ROLE_USER", "content": [{"text": "hi"}]}, "configuration": {"blocking": true}})
    );
    assert_eq!(first.header("a2a-version"), Some("0.3"));
    let unknown = client
        .call(Request::ListTasks(ListTasksRequest::default()))
        .await
        .unwrap_err();
    assert!(
        unknown.is_protocol(ErrorKind::UnsupportedOperation),
        "{unknown:?}"
    );
    assert_eq!(calls(&agent).len(), 3);
}
