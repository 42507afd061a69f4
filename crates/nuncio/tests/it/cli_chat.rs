//! `chat`: lines in, answers out, with what goes along from line to line; piped and on a terminal.

#![allow(clippy::unwrap_used)] // a surprise in a helper ends the test

use std::io::{Read as _, Write as _};
use std::process::Stdio;

use nix::pty::openpty;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::Child;

use crate::cli::{Program, finish};
use crate::mock_agent::{MockAgent, Reply, Request, card, chunk, status, task};
use crate::program::Place;

/// The text of a message that was sent.
fn text(call: &Request) -> &str {
    call.params()["message"]["parts"][0]["text"]
        .as_str()
        .unwrap_or_default()
}

fn asking(question: &str) -> Value {
    let mut asking = task("INPUT_REQUIRED", "");
    asking["status"]["message"] =
        json!({"messageId": "q", "role": "ROLE_AGENT", "parts": [{"text": question}]});
    asking
}

/// Asks back, hangs, refuses or repeats, as it is told.
fn answer(call: &Request) -> Reply {
    let task = match (call.method(), text(call)) {
        ("CancelTask", _) => return Reply::result(call, task("CANCELED", "")),
        ("GetTask", _) => return Reply::result(call, asking("still blue?")),
        (_, "ask") => asking("Which colour?"),
        (_, "refuse") => return Reply::error(call, -32004, "not now", "UNSUPPORTED_OPERATION"),
        (_, "hang") => return Reply::events(call, &[json!({"task": task("WORKING", "")})]).hold(),
        (_, said) => task("COMPLETED", &format!("you said {said}")),
    };
    match call.method() {
        "SendMessage" => Reply::result(call, json!({"task": task})),
        _ => Reply::events(call, &[json!({"task": task})]),
    }
}

async fn agent(streaming: bool) -> MockAgent {
    MockAgent::with_card(move |base| card(base, streaming), answer).await
}

/// What was sent: each text with the ids that went along.
fn sent(agent: &MockAgent) -> Vec<(String, Value, Value)> {
    let calls = agent.calls();
    let sends = calls
        .iter()
        .filter(|call| call.method().starts_with("Send"));
    let ids = |call: &Request| {
        let message = &call.params()["message"];
        (
            text(call).to_owned(),
            message["contextId"].clone(),
            message["taskId"].clone(),
        )
    };
    sends.map(ids).collect()
}

fn went(text: &str, context: Value, task: Value) -> (String, Value, Value) {
    (text.to_owned(), context, task)
}

#[tokio::test]
async fn context_and_waiting_task_go_along_by_themselves() {
    for streaming in [true, false] {
        let agent = agent(streaming).await;
        let chat = ["chat", "-a", agent.base()];
        let ran = Program::new()
            .run_with(&chat, "hello\nask\n\nblue\nbye\n")
            .await;
        assert_eq!(ran.code, 0, "{ran:?}");
        let (context, task) = (json!("ctx-1"), json!("task-1"));
        let expected = [
            went("hello", Value::Null, Value::Null),
            went("ask", context.clone(), Value::Null),
            went("blue", context.clone(), task),
            went("bye", context, Value::Null),
        ];
        assert_eq!(sent(&agent), expected);
        let places = [
            "Text:\nyou said hello",
            "Status Message:\nWhich colour?",
            "Text:\nyou said blue",
        ];
        let places = places.map(|text| ran.stdout.find(text));
        assert!(places.is_sorted() && places[0].is_some(), "{ran:?}");
        assert!(
            ran.stdout.contains("State: TASK_STATE_INPUT_REQUIRED\n"),
            "{ran:?}"
        );
    }
}

#[tokio::test]
async fn it_is_text_even_where_json_is_the_rule() {
    let agent = agent(true).await;
    let program = Program::new().variable("A2ACLI_OUTPUT", "json");
    let ran = program
        .run_with(&["chat", "-a", agent.base()], "hello\n")
        .await;
    assert!(
        ran.stdout
            .starts_with("Task ID: task-1\nContext ID: ctx-1\n"),
        "{ran:?}"
    );
}

#[tokio::test]
async fn a_question_that_waits_is_shown_and_the_first_line_answers_it() {
    let agent = agent(true).await;
    let chat = ["chat", "-a", agent.base(), "--task-id", "task-1"];
    let ran = Program::new().run_with(&chat, "yes\n").await;
    assert_eq!(ran.code, 0, "{ran:?}");
    let shown = ran.stdout.find("still blue?").expect("the question");
    assert!(shown < ran.stdout.find("you said yes").unwrap(), "{ran:?}");
    assert_eq!(sent(&agent), [went("yes", json!("ctx-1"), json!("task-1"))]);

    // `send` shows the next question of the same task, and how to answer it.
    let again = ["send", "-a", agent.base(), "--task-id", "task-1", "ask"];
    let ran = Program::new().run(&again).await;
    assert!(
        ran.stdout.contains("Status Message:\nWhich colour?\n"),
        "{ran:?}"
    );
    assert!(
        ran.stdout.contains("--task-id task-1 \"<reply>\""),
        "{ran:?}"
    );
}

#[tokio::test]
async fn a_refused_line_is_told_and_the_next_one_is_sent_without_its_task() {
    let agent = agent(true).await;
    let chat = ["chat", "-a", agent.base(), "--context-id", "ctx-1"];
    let ran = Program::new().run_with(&chat, "ask\nrefuse\nhello\n").await;
    assert_eq!(ran.code, 1, "a line failed: {ran:?}");
    assert!(ran.stderr.contains("UnsupportedOperationError"), "{ran:?}");
    let texts = sent(&agent);
    assert_eq!(
        texts.last(),
        Some(&went("hello", json!("ctx-1"), Value::Null)),
        "{texts:?}"
    );
    assert!(ran.stdout.contains("you said hello"), "{ran:?}");
}

fn interrupt(child: &Child) {
    let id = child.id().unwrap().try_into().unwrap();
    kill(Pid::from_raw(id), Signal::SIGINT).unwrap();
}

#[tokio::test]
async fn ctrl_c_cancels_the_task_in_hand_and_the_conversation_goes_on() {
    let agent = agent(true).await;
    let program = Program::new();
    let mut child = program.spawn(&["chat", "-a", agent.base(), "--stream"]);
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut await_line = async |wanted: &str| {
        while lines.next_line().await.unwrap().expect("more lines") != wanted {}
    };
    input.write_all(b"hang\n").await.unwrap();
    await_line("State: TASK_STATE_WORKING").await;
    interrupt(&child);
    await_line("State: TASK_STATE_CANCELED").await;
    input.write_all(b"hello\n").await.unwrap();
    await_line("you said hello").await;
    // With nothing in hand it leaves.
    interrupt(&child);
    assert_eq!(child.wait().await.unwrap().code(), Some(130));
    let canceled = agent
        .calls()
        .into_iter()
        .filter(|call| call.method() == "CancelTask");
    let canceled: Vec<_> = canceled.map(|call| call.params()["id"].clone()).collect();
    assert_eq!(canceled, ["task-1"]);
}

#[tokio::test]
async fn a_second_ctrl_c_leaves_an_agent_that_does_not_cancel() {
    let deaf = |call: &Request| match call.method() {
        "CancelTask" => Reply::silence(),
        _ => answer(call),
    };
    let agent = MockAgent::with_card(|base| card(base, true), deaf).await;
    let program = Program::new();
    let mut child = program.spawn(&["chat", "-a", agent.base(), "--stream"]);
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    input.write_all(b"hang\n").await.unwrap();
    while lines.next_line().await.unwrap().unwrap() != "State: TASK_STATE_WORKING" {}
    let mut words = BufReader::new(child.stderr.take().unwrap()).lines();
    interrupt(&child);
    while !words
        .next_line()
        .await
        .unwrap()
        .unwrap()
        .starts_with("Canceling")
    {}
    interrupt(&child);
    assert_eq!(child.wait().await.unwrap().code(), Some(130));
}

/// A real gateway with a program that asks back.
#[test]
fn a_program_behind_the_gateway_is_conversed_with() {
    let place = Place::new();
    place.script(
        "asks.sh",
        "said=$(cat)\ncase $A2A_TURN in\nfirst) echo \"[INPUT_REQUIRED] Which colour?\" ;;\n*) printf 'Painted it %s.' \"$said\" ;;\nesac",
    );
    place.write(
        "nuncio.toml",
        "[agents.asks]\nbackend = \"command\"\ncommand = [\"./asks.sh\"]\n",
    );
    let served = place.serve(&["--store", "memory:"]);
    let mut command = place.command(&["chat", "-a", &served.url]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"a fence\nblue\n")
        .unwrap();
    let mut said = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    assert!(child.wait().unwrap().success(), "{said}");
    let asked = said.find("Which colour?").expect("the question");
    assert!(
        asked < said.find("Painted it blue.").expect("the answer"),
        "{said}"
    );
}

/// Types on a terminal and sees what is there until `wanted` is.
struct Terminal {
    master: std::fs::File,
    seen: String,
}

impl Terminal {
    fn await_text(&mut self, wanted: &str) {
        let mut bytes = [0; 1024];
        while !self.seen.contains(wanted) {
            let read = self.master.read(&mut bytes).expect("the terminal is there");
            self.seen += &String::from_utf8_lossy(&bytes[..read]);
        }
        let (_, after) = self.seen.split_once(wanted).expect("it is there");
        self.seen = after.to_owned();
    }

    fn press(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_terminal_lines_are_edited_and_only_what_is_said_is_shown() {
    let story = |call: &Request| match text(call) {
        "tell" => {
            let first = json!({"task": task("WORKING", "")});
            Reply::events(
                call,
                &[
                    first,
                    chunk("Hel", false),
                    chunk("lo", true),
                    status("COMPLETED"),
                ],
            )
        }
        _ => answer(call),
    };
    let agent = MockAgent::with_card(|base| card(base, true), story).await;
    for (keys, code) in [("\u{4}", 0), ("\u{3}", 130)] {
        let pty = openpty(None, None).unwrap();
        let slave = || Stdio::from(pty.slave.try_clone().unwrap());
        let program = Program::new().variable("TERM", "xterm");
        let mut command = program.command(&["chat", "-a", agent.base()]);
        let mut child = command.stdin(slave()).stdout(slave()).spawn().unwrap();
        let seen = String::new();
        let mut terminal = Terminal {
            master: pty.master.into(),
            seen,
        };
        let (keys, base) = (keys.to_owned(), agent.base().to_owned());
        let typed = tokio::task::spawn_blocking(move || {
            terminal.await_text("> ");
            // A slip, taken back.
            terminal.press("tellx\u{7f}\r");
            terminal.await_text("Hello\r\n");
            terminal.await_text("> ");
            terminal.press("ask\r");
            terminal.await_text("Which colour?\r\n");
            terminal.await_text("answer> ");
            terminal.press("blue\r");
            terminal.await_text("you said blue\r\n");
            terminal.await_text("> ");
            terminal.press(&keys);
            if keys == "\u{4}" {
                terminal.await_text(&format!("nuncio chat -a {base} --context-id ctx-1"));
            }
        });
        typed.await.unwrap();
        assert_eq!(child.wait().await.unwrap().code(), Some(code));
    }
    let texts: Vec<String> = sent(&agent).into_iter().map(|it| it.0).collect();
    assert_eq!(texts, ["tell", "ask", "blue"].repeat(2));
}

#[tokio::test]
async fn without_a_place_to_ask_nothing_is_waited_for() {
    let agent = agent(true).await;
    let pty = openpty(None, None).unwrap();
    let program = Program::new();
    let mut command = program.command(&["chat", "-a", agent.base()]);
    let child = command.stdin(pty.slave).spawn().unwrap();
    let ran = finish(child).await;
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("nuncio send"), "{ran:?}");
}
