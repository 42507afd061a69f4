//! `jsonl` mode: a Message in, events out.

use super::*;

/// A script that prints these lines.
fn print(lines: &[&str]) -> String {
    format!("cat <<'END'\n{}\nEND\n", lines.join("\n"))
}

fn status(state: &str, text: &str) -> String {
    format!(
        r#"{{"statusUpdate":{{"taskId":"theirs","contextId":"theirs","status":{{"state":"TASK_STATE_{state}","message":{{"messageId":"m","role":"ROLE_USER","parts":[{{"text":"{text}"}}]}}}}}}}}"#
    )
}

fn chunk(text: &str, append: bool) -> String {
    format!(
        r#"{{"artifactUpdate":{{"artifact":{{"artifactId":"a","parts":[{{"text":"{text}"}}]}},"append":{append}}}}}"#
    )
}

#[tokio::test]
async fn events_reach_the_caller_with_our_ids() {
    let lines = [
        status("WORKING", "thinking"),
        chunk("one ", false),
        chunk("two", true),
        status("COMPLETED", "done"),
    ];
    let gateway = Gateway::jsonl(&print(&lines.each_ref().map(String::as_str)));
    let (events, task) = gateway.stream(user(vec![Part::text("x")])).await;
    let json = serde_json::to_string(&events).unwrap();
    assert!(!json.contains("theirs"), "{json}");
    assert_eq!(task.status.state, TaskState::Completed);
    assert_eq!(
        (only_text(&task), status_text(&task).as_str()),
        ("one two", "done")
    );
    let message = task.status.message.unwrap();
    assert_eq!(
        (message.role, message.task_id),
        (Role::Agent, Some(task.id))
    );
    let texts: Vec<String> = events
        .iter()
        .filter_map(|event| match event {
            StreamResponse::StatusUpdate(update) => {
                update.status.message.as_ref().map(Message::text)
            }
            _ => None,
        })
        .collect();
    assert_eq!(texts, ["thinking", "done"]);
}

#[tokio::test]
async fn the_message_comes_as_one_line_of_json() {
    // `read` takes one line; nothing may follow it.
    let gateway = Gateway::jsonl(
        r#"read -r line; [ -z "$(cat)" ] && printf '{"artifactUpdate":{"artifact":{"artifactId":"a","parts":[{"data":%s}]}}}' "$line""#,
    );
    let sent = user(vec![Part::text("two\nlines")]);
    let task = gateway.send(sent.clone()).await;
    let nuncio_wire::PartContent::Data(data) = &task.artifacts()[0].parts[0].content else {
        panic!("{task:?}")
    };
    let read: Message = data.read().unwrap();
    assert_eq!((read.message_id, read.parts), (sent.message_id, sent.parts));
    assert_eq!(
        (read.task_id, read.context_id),
        (Some(task.id), Some(task.context_id))
    );
}

#[tokio::test]
async fn every_end_of_a_turn_can_be_said() {
    for (word, state) in [
        ("INPUT_REQUIRED", TaskState::InputRequired),
        ("AUTH_REQUIRED", TaskState::AuthRequired),
        ("REJECTED", TaskState::Rejected),
        ("FAILED", TaskState::Failed),
    ] {
        let task = Gateway::jsonl(&print(&[&status(word, "because")]))
            .send_text("x")
            .await;
        assert_eq!(
            (task.status.state, status_text(&task).as_str()),
            (state, "because")
        );
    }
}

#[tokio::test]
async fn a_message_is_an_answer_without_a_task() {
    let line = r#"{"message":{"messageId":"m","role":"ROLE_AGENT","taskId":"theirs","parts":[{"text":"hi"}]}}"#;
    let gateway = Gateway::jsonl(&print(&[line]));
    let answer = gateway
        .answer(gateway.submission(user(vec![Part::text("x")])))
        .await
        .unwrap();
    let Answer::Message(message) = answer else {
        panic!("a task")
    };
    assert_eq!((message.text().as_str(), &message.task_id), ("hi", &None));
    assert!(message.context_id.is_some());
}

#[tokio::test]
async fn a_whole_task_is_taken_with_its_artifacts() {
    let line = r#"{"task":{"id":"t","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a","parts":[{"text":"result"}]}]}}"#;
    let task = Gateway::jsonl(&print(&[line])).send_text("x").await;
    assert_eq!(
        (task.status.state, only_text(&task)),
        (TaskState::Completed, "result")
    );
}

#[tokio::test]
async fn a_line_that_is_no_event_is_named_with_its_fault() {
    for (line, reason) in [
        (
            "{\"artifactUpdate\":",
            "line 2 of the agent's output is not an A2A event: EOF while parsing",
        ),
        (
            "hello",
            "line 2 of the agent's output is not an A2A event: expected value (column 1)",
        ),
        (
            r#"{"statusUpdate":{"status":{}}}"#,
            "line 2 of the agent's output has a status without a state",
        ),
        (
            r#"{"artifactUpdate":{"artifact":{"parts":[{"text":"x"}]}}}"#,
            "line 2 of the agent's output",
        ),
        (
            r#"{"message":{"messageId":"m","parts":[]}}"#,
            "line 2 of the agent's output",
        ),
    ] {
        let gateway = Gateway::jsonl(&print(&[&chunk("kept", false), line, &chunk("late", true)]));
        let task = gateway.send_text("x").await;
        assert_eq!(task.status.state, TaskState::Failed, "{line}");
        assert!(
            status_text(&task).starts_with(reason),
            "{line}: {}",
            status_text(&task)
        );
        assert_eq!(only_text(&task), "kept");
    }
}

#[tokio::test]
async fn half_a_line_of_a_crash_does_not_hide_the_exit_code() {
    let task = Gateway::jsonl("printf '{\"artifact'; exit 4")
        .send_text("x")
        .await;
    assert_failed(&task, "the agent's program ended with exit code 4");
    let task = Gateway::jsonl("printf '{\"artifact'").send_text("x").await;
    assert_eq!(task.status.state, TaskState::Failed);
    assert!(
        status_text(&task).starts_with("line 1 of the agent's output"),
        "{task:?}"
    );
}

#[tokio::test]
async fn ending_without_a_word_is_a_failure_and_with_an_artifact_it_is_not() {
    let task = Gateway::jsonl(":").send_text("x").await;
    assert_failed(&task, "the agent's program ended without an answer");
    let task = Gateway::jsonl(&print(&[&chunk("x", false)]))
        .send_text("x")
        .await;
    assert_eq!(task.status.state, TaskState::Completed);
}

#[tokio::test]
async fn a_program_may_end_in_order_after_its_last_word() {
    let script = format!(
        "{}trap '' PIPE; yes | head -c 1000000; echo saved > state",
        print(&[&status("COMPLETED", "ok")])
    );
    let gateway = Gateway::jsonl(&script);
    let task = gateway.send_text("x").await;
    assert_eq!(
        (task.status.state, status_text(&task).as_str()),
        (TaskState::Completed, "ok")
    );
    assert_eq!(gateway.file("state"), "saved\n");
}

#[tokio::test]
async fn many_chunks_arrive_whole_and_in_order() {
    let script = r#"awk 'BEGIN { for (i = 0; i < 20000; i++)
        printf "{\"artifactUpdate\":{\"artifact\":{\"artifactId\":\"a\",\"parts\":[{\"text\":\"%d \"}]},\"append\":%s}}\n", i, i ? "true" : "false" }'"#;
    let task = Gateway::jsonl(script).send_text("x").await;
    let expected: String = (0..20_000).map(|i| format!("{i} ")).collect();
    assert!(only_text(&task) == expected);
}
