//! `task get`, `list`, `cancel`, `subscribe`.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use crate::cli::nuncio;
use crate::mock_agent::{MockAgent, Reply, card, status, task};

async fn agent(
    streaming: bool,
    reply: impl Fn(&crate::mock_agent::Request) -> Reply + Send + Sync + 'static,
) -> MockAgent {
    MockAgent::with_card(move |base| card(base, streaming), reply).await
}

#[tokio::test]
async fn get_shows_a_task_once() {
    let agent = agent(false, |request| {
        Reply::result(request, task("WORKING", "so far"))
    })
    .await;
    let ran = nuncio(&[
        "task",
        "get",
        "task-1",
        "-a",
        agent.base(),
        "-o",
        "json",
        "--history",
        "3",
    ])
    .await;
    assert_eq!((ran.code, ran.json()), (0, task("WORKING", "so far")));
    assert_eq!(
        agent.calls()[0].params(),
        &json!({"id": "task-1", "historyLength": 3})
    );
    assert_eq!(agent.calls().len(), 1);
    let ran = nuncio(&["task", "get", "task-1", "-a", agent.base()]).await;
    assert!(
        ran.stdout
            .starts_with("Task ID: task-1\nContext ID: ctx-1\nState: TASK_STATE_WORKING\n")
    );
}

#[tokio::test]
async fn get_with_wait_asks_until_the_task_is_settled_through_failures() {
    let asked = AtomicUsize::new(0);
    let agent = agent(false, move |request| {
        match asked.fetch_add(1, Ordering::Relaxed) {
            0 => Reply::result(request, task("WORKING", "")),
            1 => Reply::http(503, &[("Retry-After", "0")], ""),
            2 => Reply::result(request, task("UNSPECIFIED", "")),
            _ => Reply::result(request, task("INPUT_REQUIRED", "")),
        }
    })
    .await;
    let ran = nuncio(&[
        "task",
        "get",
        "task-1",
        "-a",
        agent.base(),
        "--wait",
        "--poll-interval",
        "50ms",
        "-o",
        "json",
    ])
    .await;
    assert_eq!(
        (ran.code, ran.json()),
        (0, task("INPUT_REQUIRED", "")),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("Continue: nuncio send"));
}

#[tokio::test]
async fn an_unknown_task_is_the_protocols_error() {
    let agent = agent(false, |request| {
        Reply::error(request, -32001, "Task not found: x", "TASK_NOT_FOUND")
    })
    .await;
    let base = agent.base().to_owned();
    for arguments in [["task", "get", "x"], ["task", "cancel", "x"]] {
        let ran = nuncio(&[&arguments[..], &["-a", &base, "-o", "json"]].concat()).await;
        assert_eq!(
            (ran.error_code().as_str(), ran.code),
            ("TaskNotFoundError", 1)
        );
        assert_eq!(ran.json()["error"]["a2aCode"], -32001);
    }
}

#[tokio::test]
async fn a_refused_task_id_opens_no_new_task_and_points_at_debug() {
    let agent = agent(false, |request| {
        Reply::error(request, -32001, "Task not found: x", "TASK_NOT_FOUND")
    })
    .await;
    let ran = nuncio(&[
        "send",
        "-a",
        agent.base(),
        "--task-id",
        "x",
        "hi",
        "-o",
        "json",
    ])
    .await;
    assert_eq!(
        (ran.error_code().as_str(), ran.code),
        ("TaskNotFoundError", 1)
    );
    assert!(
        ran.json()["error"]["hint"]
            .as_str()
            .unwrap()
            .contains("--debug")
    );
    assert_eq!(agent.calls().len(), 1);
}

#[tokio::test]
async fn cancel_shows_the_state_that_came_of_it() {
    let agent = agent(false, |request| {
        Reply::result(request, task("CANCELED", ""))
    })
    .await;
    let ran = nuncio(&["task", "cancel", "task-1", "-a", agent.base(), "-o", "json"]).await;
    assert_eq!((ran.code, ran.json()), (0, task("CANCELED", "")));
    assert_eq!(agent.calls()[0].method(), "CancelTask");
}

#[tokio::test]
async fn list_pages_and_filters() {
    let agent = agent(false, |request| {
        let page = json!({"tasks": [task("WORKING", "")], "nextPageToken": "n2", "pageSize": 1, "totalSize": 2});
        Reply::result(request, page)
    })
    .await;
    let base = agent.base().to_owned();
    let list = [
        "task",
        "list",
        "-a",
        &base,
        "--status",
        "input-required",
        "--context-id",
        "c",
        "--page-size",
        "1",
    ];
    let ran = nuncio(&[&list[..], &["-o", "json"]].concat()).await;
    assert_eq!(ran.json()["nextPageToken"], "n2");
    let wanted = json!({"status": "TASK_STATE_INPUT_REQUIRED", "contextId": "c", "pageSize": 1});
    assert_eq!(agent.calls()[0].params(), &wanted);
    let ran = nuncio(&list).await;
    assert!(
        ran.stdout.ends_with("Tasks: 1 of 2\nNext Page Token: n2\n"),
        "{}",
        ran.stdout
    );
    let ran = nuncio(&[&list[..], &["-o", "json", "--stream"]].concat()).await;
    assert_eq!(ran.lines(), [task("WORKING", "")]);
    assert_eq!(
        nuncio(&["task", "list", "-a", &base, "--status", "lazy"])
            .await
            .code,
        2
    );
}

#[tokio::test]
async fn subscribe_prints_events_or_the_task_in_the_end() {
    let agent = agent(true, |request| {
        Reply::events(
            request,
            &[json!({"task": task("WORKING", "")}), status("COMPLETED")],
        )
    })
    .await;
    let base = agent.base().to_owned();
    let ran = nuncio(&["task", "subscribe", "task-1", "-a", &base, "-o", "json"]).await;
    assert_eq!((ran.code, ran.json()), (0, task("COMPLETED", "")));
    let ran = nuncio(&[
        "task",
        "subscribe",
        "task-1",
        "-a",
        &base,
        "-o",
        "json",
        "--stream",
    ])
    .await;
    assert_eq!(
        ran.lines(),
        [json!({"task": task("WORKING", "")}), status("COMPLETED")]
    );
}

#[tokio::test]
async fn subscribe_to_a_task_at_its_end_shows_it() {
    let agent = agent(true, |request| match request.method() {
        "GetTask" => Reply::result(request, task("COMPLETED", "Hello")),
        _ => Reply::error(request, -32004, "the task is over", "UNSUPPORTED_OPERATION"),
    })
    .await;
    let base = agent.base().to_owned();
    let ran = nuncio(&["task", "subscribe", "task-1", "-a", &base, "-o", "json"]).await;
    assert_eq!(
        (ran.code, ran.json()),
        (0, task("COMPLETED", "Hello")),
        "{}",
        ran.stderr
    );
}
