//! Servers of older generations: 0.3, and the 2025-04 dialect as JSON-RPC and as OpenFang's REST.

use nuncio_client::{Follow, Pace, TaskView};
use nuncio_wire::dialects::Dialect;
use nuncio_wire::operation::{CancelTaskRequest, GetTaskRequest, SendMessageResponse};
use nuncio_wire::{ErrorKind, Part, PartContent, RawJson, Request, Response, TaskState};
use serde_json::{Value, json};

use crate::agents::{client_of, message, send, stream};
use crate::mock_agent::{MockAgent, Reply, frame};

fn old_card(base: &str) -> Value {
    json!({
        "name": "Old", "description": "d", "version": "1", "protocolVersion": "0.3.0",
        "url": format!("{base}/rpc"), "preferredTransport": "JSONRPC",
        "capabilities": {"streaming": true}, "skills": [],
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"]
    })
}

#[tokio::test]
async fn a_0_3_server_streams_and_says_itself_when_it_is_done() {
    let agent = MockAgent::with_card(old_card, |request| {
        let status = |state: &str, last: bool| {
            json!({"kind": "status-update", "taskId": "t", "contextId": "c", "final": last, "status": {"state": state}})
        };
        let artifact = json!({"kind": "artifact-update", "taskId": "t", "contextId": "c",
            "artifact": {"artifactId": "a", "parts": [{"kind": "text", "text": "Hello"}]}});
        let events = [status("working", false), artifact, status("completed", true)];
        Reply::stream(events.iter().map(|event| frame(request, event)).collect()).hold()
    })
    .await;
    let client = client_of(&agent).await;
    let mut view = TaskView::default();
    let events = client.stream(stream("hi")).await.unwrap();
    let observe = &mut |_: nuncio_client::Progress<'_>, _: &TaskView| {};
    let follow = Follow {
        client: &client,
        pace: Pace::default(),
        stream_errors_end: true,
        observe,
    };
    follow.run(&mut view, Some(events)).await.unwrap();
    let task = view.task().unwrap();
    assert_eq!(
        (task.id.as_str(), task.status.state),
        ("t", TaskState::Completed)
    );
    assert_eq!(task.artifacts()[0].parts[0].as_text(), Some("Hello"));
    let call = &agent.calls()[0];
    assert_eq!(
        (call.method(), call.header("a2a-version")),
        ("message/stream", Some("0.3"))
    );
}

fn legacy_card(base: &str, path: &str) -> Value {
    json!({
        "name": "openfang", "description": "d", "version": "0.1.0", "url": format!("{base}{path}"),
        "capabilities": {"streaming": true, "pushNotifications": false, "stateTransitionHistory": true},
        "defaultInputModes": ["text"], "defaultOutputModes": ["text"], "skills": []
    })
}

fn legacy_task(status: &str, reply: &str) -> Value {
    json!({
        "id": "550e", "sessionId": "s-1", "status": status, "artifacts": [],
        "messages": [
            {"role": "user", "parts": [{"type": "text", "text": "hi"}]},
            {"role": "agent", "parts": [{"type": "text", "text": reply}]}
        ]
    })
}

async fn openfang(status: u16, task: Value) -> MockAgent {
    MockAgent::start(
        move |request, base| match (request.verb.as_str(), request.path.as_str()) {
            // What its cards name does not exist, and the host is one that only it knows.
            ("GET", "/.well-known/agent.json") => {
                let port = base.rsplit(':').next().unwrap();
                Reply::json(200, &legacy_card(&format!("http://0.0.0.0:{port}"), "/a2a"))
            }
            ("POST", "/a2a/tasks/send") => Reply::json(status, &task),
            ("GET", "/a2a/tasks/550e") => Reply::json(200, &task),
            ("POST", "/a2a/tasks/550e/cancel") => Reply::json(200, &legacy_task("cancelled", "")),
            _ => Reply::json(404, &json!({"error": "Task 'x' not found"})),
        },
    )
    .await
}

#[tokio::test]
async fn openfang_is_called_by_its_rest_interface_with_one_text() {
    let agent = openfang(200, legacy_task("completed", "hello")).await;
    let client = client_of(&agent).await;
    assert!(!client.can_stream());
    let mut request = message("look:");
    let data = RawJson::parse("{\"n\":1.0}").unwrap();
    request
        .message
        .parts
        .push(Part::new(PartContent::Data(data)));
    let answer = client.call(Request::SendMessage(request)).await.unwrap();
    let Response::SendMessage(SendMessageResponse::Task(task)) = answer else {
        panic!("no task")
    };
    assert_eq!(
        (task.id.as_str(), task.context_id.as_str()),
        ("550e", "s-1")
    );
    assert_eq!(task.artifacts()[0].parts[0].as_text(), Some("hello"));
    let call = agent.calls().remove(0);
    let parts = &call.params()["message"]["parts"];
    assert_eq!(
        parts,
        &json!([{"type": "text", "text": "look:\n{\"n\":1.0}"}])
    );

    let get = |id: &str| {
        Request::GetTask(GetTaskRequest {
            tenant: None,
            id: id.to_owned(),
            history_length: None,
        })
    };
    assert!(matches!(
        client.call(get("550e")).await,
        Ok(Response::Task(_))
    ));
    let error = client.call(get("x/../y")).await.unwrap_err();
    assert!(error.is_protocol(ErrorKind::TaskNotFound), "{error}");
    let cancel = CancelTaskRequest {
        tenant: None,
        id: "550e".to_owned(),
        metadata: None,
    };
    let Ok(Response::Task(task)) = client.call(Request::CancelTask(cancel)).await else {
        panic!("no task")
    };
    assert_eq!(task.status.state, TaskState::Canceled);
}

#[tokio::test]
async fn a_failed_run_of_openfang_is_a_task_too() {
    let agent = openfang(500, legacy_task("failed", "Error: no model")).await;
    let answer = client_of(&agent).await.call(send("hi")).await.unwrap();
    let Response::SendMessage(SendMessageResponse::Task(task)) = answer else {
        panic!("no task")
    };
    assert_eq!(task.status.state, TaskState::Failed);
}

#[tokio::test]
async fn other_servers_of_that_dialect_take_json_rpc() {
    let agent =
        MockAgent::start(
            |request, base| match (request.verb.as_str(), request.path.as_str()) {
                ("GET", "/.well-known/agent.json") => Reply::json(200, &legacy_card(base, "/a2a")),
                ("POST", "/a2a") => Reply::result(request, legacy_task("completed", "hello")),
                _ => Reply::not_found(),
            },
        )
        .await;
    let client = client_of(&agent).await;
    assert_eq!(client.endpoint().dialect, Dialect::Legacy);
    let answer = client.call(send("hi")).await.unwrap();
    assert!(matches!(
        answer,
        Response::SendMessage(SendMessageResponse::Task(_))
    ));
    let call = agent.calls().pop().unwrap();
    assert_eq!((call.path.as_str(), call.method()), ("/a2a", "tasks/send"));
}
