//! `send --stream`: events as they come, and what happens when they do not.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::cli::{Program, nuncio};
use crate::mock_agent::{MockAgent, Reply, card, chunk, frame, status, task};

fn story() -> Vec<Value> {
    vec![
        json!({"task": task("SUBMITTED", "")}),
        chunk("Hel", false),
        chunk("lo", true),
        status("COMPLETED"),
    ]
}

async fn streaming(
    reply: impl Fn(&crate::mock_agent::Request) -> Reply + Send + Sync + 'static,
) -> MockAgent {
    MockAgent::with_card(|base| card(base, true), reply).await
}

#[tokio::test]
async fn json_is_one_event_a_line_as_the_protocol_has_it() {
    let agent = streaming(|request| Reply::events(request, &story())).await;
    let ran = nuncio(&["send", "-a", agent.base(), "hi", "--stream", "-o", "json"]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    let mut wanted = story();
    wanted[1]["artifactUpdate"]
        .as_object_mut()
        .unwrap()
        .remove("append");
    assert_eq!(ran.lines(), wanted);
}

#[tokio::test]
async fn text_shows_each_event_and_ends_with_the_ids_and_the_state() {
    let agent = streaming(|request| Reply::events(request, &story())).await;
    let ran = nuncio(&["send", "-a", agent.base(), "hi", "--stream"]).await;
    let head = |state| format!("Task ID: task-1\nContext ID: ctx-1\nState: TASK_STATE_{state}\n");
    let wanted = format!(
        "{}Artifact: a\nText:\nHel\n\nArtifact: a\nText:\nlo\n\n{}",
        head("SUBMITTED"),
        head("COMPLETED")
    );
    assert_eq!(ran.stdout, wanted);
}

#[tokio::test]
async fn a_repetition_of_the_text_in_the_last_status_is_not_printed_again() {
    let agent = streaming(|request| {
        let mut events = story();
        let message = json!({"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "Hello"}]});
        events[3]["statusUpdate"]["status"]["message"] = message;
        events.push(json!({"task": task("COMPLETED", "Hello")}));
        Reply::events(request, &events)
    })
    .await;
    let ran = nuncio(&["send", "-a", agent.base(), "hi", "--stream"]).await;
    assert_eq!(ran.stdout.matches("Hello").count(), 0, "{}", ran.stdout);
    assert!(ran.stdout.ends_with("State: TASK_STATE_COMPLETED\n"));
}

#[tokio::test]
async fn every_way_to_write_a_stream_is_read_alike() {
    for style in 0..5 {
        let agent = streaming(move |request| {
            let mut bytes = Vec::new();
            for event in story() {
                let data = json!({"jsonrpc": "2.0", "id": request.body["id"], "result": event});
                let pretty = serde_json::to_string_pretty(&data).unwrap();
                bytes.extend(
                    match style {
                        0 => format!("data:{data}\n\n"),
                        1 => format!("data: {data}\r\n\r\n"),
                        2 => {
                            pretty
                                .lines()
                                .map(|line| format!("data: {line}\n"))
                                .collect::<String>()
                                + "\n"
                        }
                        3 => format!(
                            ": ping\nevent: message\nid: 1\nretry: 5\ndata: {data}\n\n: ping\n\n"
                        ),
                        _ => format!("data: {data}\r\r"),
                    }
                    .into_bytes(),
                );
            }
            if style == 4 {
                bytes.splice(0..0, [0xEF, 0xBB, 0xBF]);
            }
            Reply::stream(bytes.into_iter().map(|byte| vec![byte]).collect())
        })
        .await;
        let ran = nuncio(&["send", "-a", agent.base(), "hi", "--stream", "-o", "json"]).await;
        assert_eq!(
            (ran.code, ran.lines().len()),
            (0, 4),
            "style {style}: {ran:?}"
        );
    }
}

#[tokio::test]
async fn without_streams_the_result_is_still_one_line() {
    let agent = MockAgent::with_card(
        |base| card(base, false),
        |request| Reply::result(request, json!({"task": task("COMPLETED", "Hello")})),
    )
    .await;
    let ran = nuncio(&["send", "-a", agent.base(), "hi", "--stream", "-o", "json"]).await;
    assert_eq!(
        (ran.code, ran.lines()),
        (0, vec![json!({"task": task("COMPLETED", "Hello")})])
    );
    assert_eq!(agent.calls()[0].method(), "SendMessage");
}

#[tokio::test]
async fn a_refusal_in_place_of_a_stream_is_shown() {
    let agent =
        streaming(|request| Reply::error(request, -32603, "the model is asleep", "INTERNAL_ERROR"))
            .await;
    let ran = nuncio(&["send", "-a", agent.base(), "hi", "--stream"]).await;
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    assert!(ran.stderr.contains("Error: the model is asleep"), "{ran:?}");
    assert!(ran.stderr.contains("A2A Code: -32603"));
}

#[tokio::test]
async fn an_error_that_ends_the_stream_is_its_last_line() {
    let agent = streaming(|request| {
        let error = json!({"jsonrpc": "2.0", "id": request.body["id"], "error": {"code": -32603, "message": "lost it"}});
        let first = frame(request, &json!({"task": task("WORKING", "")}));
        Reply::stream(vec![first, format!("data: {error}\n\n").into_bytes()])
    })
    .await;
    let ran = nuncio(&["send", "-a", agent.base(), "hi", "--stream", "-o", "json"]).await;
    assert_eq!(ran.code, 1);
    assert_eq!(ran.lines().len(), 2, "{ran:?}");
    assert_eq!(ran.lines()[1]["error"]["code"], "InternalError");
    assert_eq!(ran.lines()[1]["error"]["a2aCode"], -32603);
}

#[tokio::test]
async fn a_stream_that_ends_early_is_no_success() {
    let agent = streaming(|request| match request.method() {
        "SendStreamingMessage" => Reply::events(request, &[json!({"task": task("WORKING", "")})]),
        _ => Reply::error(request, -32001, "Task not found: task-1", "TASK_NOT_FOUND"),
    })
    .await;
    let ran = nuncio(&["send", "-a", agent.base(), "hi", "--stream", "-o", "json"]).await;
    assert_eq!(ran.code, 1, "{ran:?}");
    assert_eq!(
        ran.lines().last().unwrap()["error"]["code"],
        "TaskNotFoundError"
    );

    let nothing = streaming(|_| Reply::stream(vec![b": hello\n\n".to_vec()])).await;
    let ran = nuncio(&["send", "-a", nothing.base(), "hi", "--stream"]).await;
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr
            .contains("the stream ended before the agent named a task"),
        "{ran:?}"
    );
}

#[tokio::test]
async fn what_is_no_stream_of_events_is_refused() {
    for (content_type, body) in [
        ("text/html", "<p>hi</p>"),
        ("text/event-stream", "data: {\"a\":1}\n\n"),
    ] {
        let agent =
            streaming(move |_| Reply::http(200, &[("Content-Type", content_type)], body)).await;
        let ran = nuncio(&["send", "-a", agent.base(), "hi", "--stream", "-o", "json"]).await;
        assert_eq!(
            (ran.code, ran.error_code().as_str()),
            (1, "InvalidAgentResponseError"),
            "{ran:?}"
        );
    }
}

#[tokio::test]
async fn ctrl_c_ends_the_command_and_leaves_the_task() {
    let agent =
        streaming(|request| Reply::events(request, &[json!({"task": task("WORKING", "")})]).hold())
            .await;
    let program = Program::new();
    let mut child = program.spawn(&["send", "-a", agent.base(), "hi", "--stream", "-o", "json"]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = lines.next_line().await.unwrap().unwrap();
    assert!(first.contains("task-1"));
    kill(
        Pid::from_raw(child.id().unwrap().try_into().unwrap()),
        Signal::SIGINT,
    )
    .unwrap();
    let last = lines.next_line().await.unwrap().unwrap();
    let error: Value = serde_json::from_str(&last).unwrap();
    assert!(
        error["error"]["hint"]
            .as_str()
            .unwrap()
            .contains("task-1 --wait"),
        "{last}"
    );
    assert_eq!(child.wait().await.unwrap().code(), Some(130));
    assert!(
        agent
            .calls()
            .iter()
            .all(|call| call.method() != "CancelTask")
    );
}

#[tokio::test]
async fn a_reader_that_goes_is_no_crash() {
    let agent = streaming(|request| {
        let many: Vec<Value> = std::iter::repeat_n(chunk("line of text", true), 5000).collect();
        Reply::events(request, &many)
    })
    .await;
    let program = Program::new();
    let mut child = program.spawn(&["send", "-a", agent.base(), "hi", "--stream"]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.next_line().await.unwrap().unwrap();
    drop(lines);
    let ran = crate::cli::finish(child).await;
    assert!(ran.code == 0 && !ran.stderr.contains("panicked"), "{ran:?}");
}
