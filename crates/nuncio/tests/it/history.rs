//! What was said is kept by nuncio and read from the running gateway or from its store.

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::command_agents::send_json;
use crate::program::Place;

fn entries(conversation: &Value) -> Vec<(String, String)> {
    let text = |entry: &Value, key: &str| entry[key].as_str().expect("a text").to_owned();
    let entries = conversation["entries"].as_array().expect("a list");
    let pair = |entry: &Value| (text(entry, "role"), text(entry, "text"));
    entries.iter().map(pair).collect()
}

fn said(role: &str, text: &str) -> (String, String) {
    (role.to_owned(), text.to_owned())
}

/// An agent that asks once, then answers.
const ASKS: &str =
    r#"case "$A2A_TURN" in first) echo "[INPUT_REQUIRED] which one?";; *) cat;; esac"#;

#[test]
fn a_conversation_is_shown_and_exported_with_and_without_a_gateway() {
    let place = Place::new();
    place.script("asks.sh", ASKS);
    let served = place.serve(&["--agent", "asks=./asks.sh"]);
    let asked = send_json(&place, &served.url, &["hello"]);
    let context = asked["contextId"].as_str().expect("a context").to_owned();
    let task = asked["id"].as_str().expect("an id").to_owned();
    send_json(&place, &served.url, &["--task-id", &task, "the blue one"]);
    send_json(&place, &served.url, &["another talk"]);

    let show = || {
        let shown = place
            .run(&["history", &context, "-o", "json"])
            .expect_success();
        serde_json::from_str::<Value>(&shown).expect("JSON")
    };
    let live = show();
    let expected = [
        said("user", "hello"),
        said("agent", "which one?"),
        said("user", "the blue one"),
        said("agent", "the blue one"),
    ];
    assert_eq!(entries(&live["conversations"][0]), expected);
    assert_eq!(
        live["conversations"][0]["entries"][1]["state"],
        "TASK_STATE_INPUT_REQUIRED"
    );
    let all = place.run(&["history"]).expect_success();
    assert!(all.ends_with("Conversations: 2\n"), "{all}");

    served.signal(Signal::SIGTERM);
    assert!(served.wait().0.success());
    assert_eq!(show(), live);
    let exported = place.run(&["history", "--export", "out"]).expect_success();
    let files: Vec<&str> = exported.lines().collect();
    assert_eq!(files.len(), 2);
    let file = live["conversations"][0]["file"].as_str().expect("a name");
    let lines = std::fs::read_to_string(place.path().join("out/a2a_conversations").join(file));
    let lines: Vec<Value> = lines
        .expect("the file")
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(lines.len(), 4);
    assert!(lines[0]["ts"].is_f64() && lines[0]["task_id"] == task.as_str());

    let unknown = place.run(&["history", "no-such-context"]);
    assert!(
        unknown.stderr.contains("no conversation"),
        "{}",
        unknown.stderr
    );
}
