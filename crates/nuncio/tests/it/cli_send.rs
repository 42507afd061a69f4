//! `send` without `--stream`: what goes out, what is waited for, what is printed.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::cli::{Program, nuncio};
use crate::mock_agent::{MockAgent, Reply, Request, card, chunk, frame, status, task};

/// A non-streaming agent that answers every send with this.
async fn answering(result: Value) -> MockAgent {
    MockAgent::with_card(
        |base| card(base, false),
        move |request| Reply::result(request, result.clone()),
    )
    .await
}

async fn completing() -> MockAgent {
    answering(json!({"task": task("COMPLETED", "Hello")})).await
}

#[tokio::test]
async fn an_answer_is_printed_as_text_or_as_the_protocol_has_it() {
    let agent = completing().await;
    let ran = nuncio(&["send", "-a", agent.base(), "hi"]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    let text = "Task ID: task-1\nContext ID: ctx-1\nState: TASK_STATE_COMPLETED\nArtifact: a\nText:\nHello\n\n";
    assert_eq!(ran.stdout, text);
    let ran = nuncio(&["send", "-a", agent.base(), "hi", "-o", "json"]).await;
    assert_eq!(ran.json(), json!({"task": task("COMPLETED", "Hello")}));
    assert!(ran.stderr.contains("Task ID: task-1"), "{ran:?}");
}

#[tokio::test]
async fn the_request_carries_version_message_and_no_made_up_id() {
    let agent = completing().await;
    nuncio(&[
        "send",
        "-a",
        agent.base(),
        "hi",
        "--metadata",
        r#"{"n":1.0}"#,
        "--svc-param",
        "X-Team: red",
    ])
    .await;
    let calls = agent.calls();
    let call = &calls[0];
    assert_eq!((call.method(), call.path.as_str()), ("SendMessage", "/rpc"));
    assert_eq!(call.header("a2a-version"), Some("1.0"));
    assert_eq!(call.header("x-team"), Some("red"));
    let message = &call.params()["message"];
    assert_eq!(message["role"], "ROLE_USER");
    assert_eq!(message["parts"], json!([{"text": "hi"}]));
    assert_eq!(
        call.header("idempotency-key"),
        message["messageId"].as_str()
    );
    assert_eq!(call.params()["metadata"], json!({"n": 1.0}));
    for id in ["contextId", "taskId", "tenant"] {
        assert!(
            message.get(id).is_none() && call.params().get(id).is_none(),
            "{id}"
        );
    }
    assert!(
        agent
            .seen()
            .iter()
            .all(|request| request.header("a2a-version") == Some("1.0"))
    );
}

#[tokio::test]
async fn ids_given_by_the_agent_go_out_again_as_they_are() {
    let agent = MockAgent::with_card(
        |base| card(base, false),
        |request| match request.params()["message"]["taskId"].as_str() {
            Some(_) => Reply::result(request, json!({"task": task("COMPLETED", "done")})),
            None => Reply::result(request, json!({"task": task("INPUT_REQUIRED", "")})),
        },
    )
    .await;
    let ran = nuncio(&["send", "-a", agent.base(), "book it"]).await;
    assert_eq!(ran.code, 0);
    let go_on = format!(
        "Continue: nuncio send -a {} --context-id ctx-1 --task-id task-1 \"<reply>\"",
        agent.base()
    );
    assert!(
        ran.stdout.lines().any(|line| line == go_on),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stderr
            .contains("Warning: the task waits: TASK_STATE_INPUT_REQUIRED")
    );
    nuncio(&[
        "send",
        "-a",
        agent.base(),
        "--context-id",
        "ctx-1",
        "--task-id",
        "task-1",
        "yes",
    ])
    .await;
    let message = agent.calls()[1].params()["message"].clone();
    assert_eq!(
        (&message["taskId"], &message["contextId"]),
        (&json!("task-1"), &json!("ctx-1"))
    );
    assert!(message.get("referenceTaskIds").is_none());
}

#[tokio::test]
async fn parts_keep_their_order_and_their_labels() {
    let agent = completing().await;
    let program = Program::new();
    program.file("note.md", "# hi");
    let arguments = [
        "send",
        "-a",
        agent.base(),
        "first",
        "--file",
        "note.md",
        "--text",
        "two",
        "--media-type",
        "text/x",
        "--data",
        "-",
        "--file",
        "https://h.example/a/r.pdf",
    ];
    let ran = program
        .run_with(&arguments, r#"{"big":9007199254740993}"#)
        .await;
    assert_eq!(ran.code, 0, "{ran:?}");
    let parts = agent.calls()[0].params()["message"]["parts"].clone();
    let wanted = json!([
        {"text": "first"},
        {"raw": "IyBoaQ==", "filename": "note.md", "mediaType": "text/markdown"},
        {"text": "two", "mediaType": "text/x"},
        {"data": {"big": 9_007_199_254_740_993u64}},
        {"url": "https://h.example/a/r.pdf", "filename": "r.pdf", "mediaType": "application/pdf"}
    ]);
    assert_eq!(parts, wanted);
}

#[tokio::test]
async fn a_task_that_is_only_accepted_is_waited_for() {
    let polls = AtomicUsize::new(0);
    let agent = MockAgent::with_card(
        |base| card(base, false),
        move |request| match request.method() {
            "SendMessage" => Reply::result(request, json!({"task": task("SUBMITTED", "")})),
            _ => match polls.fetch_add(1, Ordering::Relaxed) {
                0 => Reply::result(request, task("UNSPECIFIED", "")),
                1 => Reply::result(request, task("WORKING", "")),
                _ => Reply::result(request, task("COMPLETED", "Hello")),
            },
        },
    )
    .await;
    let ran = nuncio(&["send", "-a", agent.base(), "hi", "--poll-interval", "60ms"]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("Text:\nHello\n"));
    let methods: Vec<String> = agent
        .calls()
        .iter()
        .map(|it| it.method().to_owned())
        .collect();
    assert_eq!(methods, ["SendMessage", "GetTask", "GetTask", "GetTask"]);
}

#[tokio::test]
async fn async_returns_with_the_ids_at_once() {
    let agent = answering(json!({"task": task("WORKING", "")})).await;
    let ran = nuncio(&["send", "-a", agent.base(), "hi", "--async", "-o", "json"]).await;
    assert_eq!((ran.code, &ran.json()["task"]["id"]), (0, &json!("task-1")));
    assert_eq!(agent.calls().len(), 1);
    assert_eq!(
        agent.calls()[0].params()["configuration"],
        json!({"returnImmediately": true})
    );
    for alias in ["--return-immediately", "--no-wait"] {
        assert_eq!(
            nuncio(&["send", "-a", agent.base(), "hi", alias])
                .await
                .code,
            0
        );
    }
}

#[tokio::test]
async fn a_direct_answer_ends_the_command() {
    let message = json!({"messageId": "m", "contextId": "c", "role": "ROLE_AGENT", "parts": [{"text": "hey"}]});
    let agent = answering(json!({"message": message})).await;
    let ran = nuncio(&["send", "-a", agent.base(), "hi"]).await;
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, "Message ID: m\nContext ID: c\nText:\nhey\n\n")
    );
    let ran = nuncio(&["send", "-a", agent.base(), "hi", "-o", "json"]).await;
    assert_eq!(ran.json(), json!({"message": message}));
}

#[tokio::test]
async fn what_the_agent_decided_is_no_failure_of_the_command() {
    for state in ["FAILED", "REJECTED", "CANCELED", "AUTH_REQUIRED"] {
        let agent = answering(json!({"task": task(state, "")})).await;
        let ran = nuncio(&["send", "-a", agent.base(), "hi", "-o", "json"]).await;
        assert_eq!(ran.code, 0, "{state}");
        assert_eq!(
            ran.json()["task"]["status"]["state"],
            format!("TASK_STATE_{state}")
        );
        assert_eq!(
            ran.stderr.contains(&format!("TASK_STATE_{state}")),
            state != "CANCELED",
            "{ran:?}"
        );
    }
}

#[tokio::test]
async fn the_tenant_of_the_chosen_interface_goes_with_every_call() {
    let agent = MockAgent::with_card(
        |base| {
            let mut card = card(base, false);
            card["supportedInterfaces"][0]["tenant"] = json!("Team A");
            card
        },
        |request| match request.method() {
            "SendMessage" => Reply::result(request, json!({"task": task("WORKING", "")})),
            _ => Reply::result(request, task("COMPLETED", "x")),
        },
    )
    .await;
    assert_eq!(nuncio(&["send", "-a", agent.base(), "hi"]).await.code, 0);
    let calls = agent.calls();
    assert!(
        calls.len() == 2 && calls.iter().all(|call| call.params()["tenant"] == "Team A"),
        "{calls:?}"
    );
}

#[tokio::test]
async fn a_wait_that_is_over_names_the_task() {
    let agent = answering(json!({"task": task("WORKING", "")})).await;
    let ran = nuncio(&[
        "send",
        "-a",
        agent.base(),
        "hi",
        "--timeout",
        "300ms",
        "-o",
        "json",
    ])
    .await;
    assert_eq!(
        (ran.error_code().as_str(), ran.code),
        ("A2ACLI_ERR_TIMEOUT", 5)
    );
    let hint = ran.json()["error"]["hint"].as_str().unwrap().to_owned();
    assert!(
        hint.contains("task get") && hint.contains("task-1 --wait"),
        "{hint}"
    );
    assert!(ran.stderr.contains("Task ID: task-1\nContext ID: ctx-1\n"));
}

/// A streaming agent: the events for a send, and what else it answers.
async fn streaming(
    events: Vec<Value>,
    others: impl Fn(&Request) -> Reply + Send + Sync + 'static,
) -> MockAgent {
    MockAgent::with_card(
        |base| card(base, true),
        move |request| match request.method() {
            "SendStreamingMessage" => Reply::events(request, &events),
            _ => others(request),
        },
    )
    .await
}

#[tokio::test]
async fn a_wait_by_stream_folds_the_events_into_one_answer() {
    let mut done = status("COMPLETED");
    done["statusUpdate"]["status"]["message"] =
        json!({"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "Hello"}]});
    let events = vec![
        json!({"task": task("SUBMITTED", "")}),
        chunk("Hel", false),
        chunk("lo", true),
        done,
    ];
    let agent = streaming(events, |_| Reply::not_found()).await;
    let ran = nuncio(&["send", "-a", agent.base(), "hi"]).await;
    assert_eq!(
        (ran.code, ran.stdout.matches("Hello").count()),
        (0, 1),
        "{ran:?}"
    );
    let ran = nuncio(&["send", "-a", agent.base(), "hi", "-o", "json"]).await;
    assert_eq!(
        ran.json()["task"]["artifacts"][0]["parts"],
        json!([{"text": "Hello"}])
    );
}

#[tokio::test]
async fn a_stream_that_breaks_is_finished_by_asking() {
    let events = vec![json!({"task": task("WORKING", "")})];
    let agent = streaming(events, |request| match request.method() {
        "GetTask" => Reply::result(request, task("COMPLETED", "Hello")),
        _ => Reply::error(request, -32004, "no streams today", "UNSUPPORTED_OPERATION"),
    })
    .await;
    let ran = nuncio(&["send", "-a", agent.base(), "hi", "-o", "json"]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.json(), json!({"task": task("COMPLETED", "Hello")}));
}

#[tokio::test]
async fn a_stream_that_breaks_is_taken_up_again_where_it_was() {
    let agent = streaming(Vec::new(), |_| Reply::not_found()).await;
    drop(agent);
    let agent = MockAgent::with_card(
        |base| card(base, true),
        |request| match request.method() {
            "SendStreamingMessage" => {
                let first = frame(request, &json!({"task": task("WORKING", "")}));
                Reply::stream(vec![b"id: e-7\n".to_vec(), first])
            }
            "SubscribeToTask" => {
                Reply::events(request, &[chunk("Hello", false), status("COMPLETED")])
            }
            _ => Reply::not_found(),
        },
    )
    .await;
    let ran = nuncio(&["send", "-a", agent.base(), "hi"]).await;
    assert!(
        ran.code == 0 && ran.stdout.contains("Text:\nHello\n"),
        "{ran:?}"
    );
    let again = agent.calls()[1].clone();
    assert_eq!(
        (again.method(), again.header("last-event-id")),
        ("SubscribeToTask", Some("e-7"))
    );
}

#[tokio::test]
async fn a_card_that_promises_streams_in_vain_costs_nothing() {
    let agent = MockAgent::with_card(
        |base| card(base, true),
        |request| match request.method() {
            "SendMessage" => Reply::result(request, json!({"task": task("COMPLETED", "Hello")})),
            _ => Reply::error(request, -32004, "streaming is off", "UNSUPPORTED_OPERATION"),
        },
    )
    .await;
    let ran = nuncio(&["send", "-a", agent.base(), "hi"]).await;
    assert!(ran.code == 0 && ran.stdout.contains("Hello"), "{ran:?}");
}
