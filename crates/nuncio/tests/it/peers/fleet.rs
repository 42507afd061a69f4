//! The Hermes fleet plugin itself, both ways: its tools call the gateway, the client commands call
//! its server.

use serde_json::Value;

use super::agents::serve;
use super::caller::Caller;
use super::script::Script;
use super::server::Server;
use crate::program::Place;

fn at<'a>(value: &'a Value, pointer: &str) -> &'a str {
    let found = value.pointer(pointer).and_then(Value::as_str);
    found.unwrap_or_else(|| panic!("no text at {pointer}: {value}"))
}

fn tools(addresses: impl Fn(&str, &str) -> String) {
    let place = Place::new();
    let served = serve(&place, "memory:", "");
    let mut command = Script::Fleet("fleet_client.py").command();
    command.env("HERMES_HOME", place.path());
    for agent in ["echo", "patient"] {
        command.arg(addresses(&served.url, agent));
    }
    let output = command.output().expect("the script starts");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
    let steps: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(at(&steps, "/sent/state"), "completed");
    assert_eq!(at(&steps, "/sent/response"), "hello", "said once");
    assert_eq!(at(&steps, "/sent/raw_result/task/id"), "t1");
    assert!(at(&steps, "/taken/error").contains("-38004"), "{steps}");
    assert!(at(&steps, "/ended/error").contains("-38001"), "{steps}");
    assert!(at(&steps, "/unknown/error").contains("-38000"), "{steps}");
    assert_eq!(at(&steps, "/begun/task/status/state"), "working");
    assert_eq!(at(&steps, "/canceled/state"), "canceled", "{steps}");
    assert!(!at(&steps, "/discovered/agent_name").is_empty());
}

#[test]
fn its_tools_call_an_agent_at_its_fleet_address() {
    tools(|url, agent| format!("{url}/fleet/a2a/{agent}"));
}

#[test]
fn its_tools_call_an_agent_at_its_usual_address() {
    tools(|url, agent| format!("{url}/agents/{agent}"));
}

#[test]
fn the_commands_call_its_server() {
    let home = Place::new();
    let path = home.path().to_str().expect("UTF-8");
    let server = Server::start_in(
        Script::Fleet("fleet_server.py"),
        &[],
        &[("HERMES_HOME", path)],
    );
    let unasked = Caller::new(&server.url, None);
    let (_, error) = unasked.error(&["send", "hello"]);
    assert!(error.to_string().contains("hermes-fleet"), "{error}");
    let caller = Caller::new(&server.url, Some("hermes-fleet"));
    let sent = caller.json(&["send", "hello"]);
    let task = sent.get("task").unwrap_or(&sent);
    assert_eq!(at(task, "/status/state"), "TASK_STATE_COMPLETED");
    assert_eq!(at(task, "/artifacts/0/parts/0/text"), "echo: hello");
    let id = at(task, "/id");
    // Its GetTask has no text; the list has.
    let read = caller.json(&["task", "get", id]);
    assert_eq!(at(&read, "/artifacts/0/parts/0/text"), "echo: hello");
    let listed = caller.json(&["task", "list"]);
    assert_eq!(at(&listed, "/tasks/0/id"), id);
    let streamed = caller.text(&["send", "again", "--stream"]);
    assert_eq!(streamed.matches("echo: again").count(), 1, "{streamed}");
    let waiting = caller.json(&["send", "wait", "--async"]);
    let waiting = waiting.get("task").unwrap_or(&waiting);
    let canceled = caller.run(&["task", "cancel", at(waiting, "/id"), "-o", "json"]);
    // It drops what it was told to answer at once, so there is nothing left to cancel.
    assert!(canceled.stdout.contains("not found"), "{}", canceled.stdout);
    let (_, error) = caller.error(&["task", "get", "nope"]);
    assert_eq!(error["code"], "TaskNotFoundError", "{error}");
    let mut running = caller.start(&["send", "wait", "--stream", "-o", "json"]);
    let first = running.line();
    let id = at(&first, "/statusUpdate/taskId");
    let canceled = caller.json(&["task", "cancel", id]);
    assert_eq!(at(&canceled, "/status/state"), "TASK_STATE_CANCELED");
    let rest = running.rest();
    let last = rest.last().expect("its end");
    assert_eq!(
        at(last, "/statusUpdate/status/state"),
        "TASK_STATE_CANCELED"
    );
}
