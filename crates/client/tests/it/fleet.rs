//! Agents with the Hermes fleet plugin: JSON-RPC, streams beside it, and texts that only lists have.

use nuncio_client::{Client, Follow, Pace, TaskView};
use nuncio_wire::dialects::Dialect;
use nuncio_wire::operation::{CancelTaskRequest, GetTaskRequest, SendMessageResponse};
use nuncio_wire::{ErrorKind, Request, Response, TaskState};
use serde_json::{Value, json};

use crate::agents::{client_of, send, stream};
use crate::mock_agent::{self, MockAgent, Reply};

fn card(base: &str) -> Value {
    json!({"name": "alice", "agentId": "alice", "description": "d", "url": base, "version": "0.19.0",
        "protocol": "a2a", "protocolVersion": "1.0",
        "capabilities": {"streaming": true, "push_notifications": true, "extensions": false},
        "skills": [{"id": "general", "name": "General Assistant"}],
        "supported_interfaces": [{"url": base, "protocol_binding": "http://a2a-protocol.hermes.ai", "protocol_version": "1.0"}],
        "default_input_modes": ["text"], "default_output_modes": ["text"],
        "security_schemes": [], "security_requirements": []})
}

fn task(state: &str, text: Option<&str>) -> Value {
    let mut task = json!({"id": "m-1", "context_id": "m-1", "status": {"state": state, "timestamp": "2026-01-02T03:04:05Z"}});
    if let Some(text) = text {
        task["artifacts"] = json!([{"artifact_id": "a", "parts": [{"text": text}], "index": 0}]);
        task["status"]["message"] =
            json!({"message_id": "x", "role": 2, "parts": [{"text": text}], "metadata": {}});
    }
    task
}

/// An agent of the plugin whose cards lie at the old address alone.
async fn fleet(
    answer: impl Fn(&mock_agent::Request) -> Reply + Send + Sync + 'static,
) -> MockAgent {
    MockAgent::start(move |request, base| match request.path.as_str() {
        "/.well-known/agent.json" => Reply::json(200, &card(base)),
        path if path.starts_with("/.well-known/") => Reply::not_found(),
        _ => answer(request),
    })
    .await
}

fn get() -> Request {
    Request::GetTask(GetTaskRequest {
        tenant: None,
        id: "m-1".to_owned(),
        history_length: None,
    })
}

fn text(task: &nuncio_wire::Task) -> Option<&str> {
    task.artifacts().first()?.parts[0].as_text()
}

#[tokio::test]
async fn a_message_names_the_task_it_makes_and_its_answer_says_the_text_once() {
    let agent =
        fleet(|request| Reply::result(request, json!({"task": task("completed", Some("hello"))})))
            .await;
    let client = client_of(&agent).await;
    assert_eq!(client.endpoint().dialect, Dialect::Fleet);
    let Response::SendMessage(SendMessageResponse::Task(task)) =
        client.call(send("hi")).await.unwrap()
    else {
        panic!("no task")
    };
    assert_eq!(
        (task.status.state, text(&task)),
        (TaskState::Completed, Some("hello"))
    );
    assert_eq!(task.status.message, None);
    let call = &agent.calls()[0];
    assert_eq!(
        (call.method(), call.header("a2a-version")),
        ("SendMessage", Some("1.0"))
    );
    let params = call.params();
    assert_eq!(
        (&params["id"], &params["idempotencyKey"]),
        (&json!("m-1"), &json!("m-1"))
    );
    assert_eq!(
        params["message"],
        json!({"message_id": "m-1", "role": 1, "parts": [{"text": "hi"}], "metadata": {}})
    );
}

#[tokio::test]
async fn a_text_that_the_task_lacks_is_looked_up_in_the_list() {
    let agent = fleet(|request| match request.method() {
        "GetTask" => Reply::result(request, json!({"task": task("completed", None)})),
        "ListTasks" if request.params()["continuationToken"].is_null() => {
            let other = json!({"id": "other", "status": {"state": "working"}});
            Reply::result(request, json!({"task": [other], "pageSize": 100, "totalSize": 2, "nextPageToken": "MTAw"}))
        }
        _ => Reply::result(request, json!({"task": [task("completed", Some("late"))], "pageSize": 100, "totalSize": 2, "nextPageToken": ""})),
    })
    .await;
    let client = client_of(&agent).await;
    let Response::Task(found) = client.call(get()).await.unwrap() else {
        panic!("no task")
    };
    assert_eq!(text(&found), Some("late"));
    let methods: Vec<_> = agent
        .calls()
        .iter()
        .map(|call| call.method().to_owned())
        .collect();
    assert_eq!(methods, ["GetTask", "ListTasks", "ListTasks"]);
}

#[tokio::test]
async fn a_delivery_that_failed_is_no_success() {
    let agent = fleet(|request| {
        Reply::result(
            request,
            json!({"task": task("completed", Some("(webhook delivery failed)"))}),
        )
    })
    .await;
    let client = client_of(&agent).await;
    let Response::SendMessage(SendMessageResponse::Task(task)) =
        client.call(send("hi")).await.unwrap()
    else {
        panic!("no task")
    };
    assert_eq!(task.status.state, TaskState::Failed);
    assert_eq!(
        task.status.message.unwrap().text(),
        "(webhook delivery failed)"
    );
}

#[tokio::test]
async fn its_codes_are_understood() {
    let agent = fleet(|request| {
        let (status, code) = match request.method() {
            "GetTask" => (404, -38000),
            "CancelTask" => (409, -38001),
            _ => (409, -38004),
        };
        let error = json!({"code": code, "message": "no", "data": null});
        Reply::json(
            status,
            &json!({"jsonrpc": "2.0", "error": error, "id": request.body["id"]}),
        )
    })
    .await;
    let client = client_of(&agent).await;
    let cancel = Request::CancelTask(CancelTaskRequest {
        tenant: None,
        id: "m-1".to_owned(),
        metadata: None,
    });
    for (request, kind) in [
        (get(), ErrorKind::TaskNotFound),
        (cancel, ErrorKind::TaskNotCancelable),
        (send("x"), ErrorKind::IdempotencyConflict),
    ] {
        let error = client.call(request).await.unwrap_err();
        assert!(error.is_protocol(kind), "{error:?}");
    }
    let error = client.stream(stream("x")).await.unwrap_err();
    assert!(
        error.is_protocol(ErrorKind::IdempotencyConflict),
        "{error:?}"
    );
}

fn named(name: &str, data: &Value) -> Vec<u8> {
    format!("event: {name}\ndata: {data}\n\n").into_bytes()
}

fn polled(state: &str, name: &str) -> Vec<u8> {
    named(
        name,
        &json!({"taskId": "m-1", "contextId": "m-1", "status": {"state": state, "timestamp": "2026-01-02T03:04:05Z"}, "event": name}),
    )
}

/// What a watcher of the stream sees, and the task in the end.
async fn follow(client: &Client) -> (Vec<Value>, TaskView) {
    let mut view = TaskView::default();
    let events = client.stream(stream("hi")).await.unwrap();
    let mut seen = Vec::new();
    let observe = &mut |progress: nuncio_client::Progress<'_>, _: &TaskView| {
        if let nuncio_client::Progress::Event(event) = progress {
            seen.push(serde_json::to_value(&event.event).unwrap());
        }
    };
    let follow = Follow {
        client,
        pace: Pace::default(),
        stream_errors_end: true,
        observe,
    };
    follow.run(&mut view, Some(events)).await.unwrap();
    (seen, view)
}

#[tokio::test]
async fn a_stream_without_texts_ends_once_and_the_text_is_looked_up() {
    let hooked = named(
        "TaskCompleted",
        &json!({"taskId": "m-1", "contextId": "m-1", "status": {"state": "completed", "message": {"role": "agent", "parts": []}}, "metadata": {}}),
    );
    let agent = fleet(
        move |request| match (request.path.as_str(), request.method()) {
            ("/message:stream", _) => Reply::stream(vec![
                polled("working", "TaskStarted"),
                hooked.clone(),
                polled("completed", "TaskCompleted"),
            ]),
            (_, "GetTask") => Reply::result(request, json!({"task": task("completed", None)})),
            _ => Reply::result(
                request,
                json!({"task": [task("completed", Some("hello"))], "nextPageToken": ""}),
            ),
        },
    )
    .await;
    let client = client_of(&agent).await;
    let (seen, view) = follow(&client).await;
    assert_eq!(seen.len(), 2, "{seen:?}");
    assert_eq!(text(view.task().unwrap()), Some("hello"));
    let seen = agent.seen();
    let opened = seen.iter().find(|it| it.path == "/message:stream").unwrap();
    assert_eq!(
        (opened.verb.as_str(), &opened.body["id"]),
        ("POST", &json!("m-1"))
    );
}

#[tokio::test]
async fn a_stream_that_says_its_text_at_the_end_says_it_once() {
    let agent = fleet(|request| match (request.path.as_str(), request.method()) {
        ("/message:stream", _) => Reply::stream(vec![
            polled("working", "TaskStarted"),
            named("TaskArtifactUpdate", &json!({"taskId": "m-1", "contextId": "m-1", "artifact": {"artifact_id": "a", "parts": [{"text": "hello"}], "index": 0}})),
            named("TaskCompleted", &json!({"taskId": "m-1", "contextId": "m-1", "status": {"state": "completed", "message": {"role": "agent", "parts": [{"text": "hello"}]}}})),
        ]),
        _ => Reply::result(request, json!({"task": task("completed", Some("hello"))})),
    })
    .await;
    let client = client_of(&agent).await;
    let (seen, view) = follow(&client).await;
    let texts = seen
        .iter()
        .filter(|event| event.to_string().contains("hello"));
    assert_eq!(texts.count(), 1, "{seen:?}");
    assert_eq!(text(view.task().unwrap()), Some("hello"));
}
