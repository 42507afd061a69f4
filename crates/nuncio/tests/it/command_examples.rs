//! The agents of `examples/command-agents`, each used as its file says.

use std::path::Path;

use crate::command_agents::send_json;
use crate::program::{Place, Served};

fn served(place: &Place) -> Served {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/command-agents");
    let config = examples.join("nuncio.toml");
    place.serve(&["--config", &config.to_string_lossy(), "--store", "memory:"])
}

fn text(task: &serde_json::Value) -> &str {
    task["artifacts"][0]["parts"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("{task}"))
}

#[test]
fn shout_answers() {
    let place = Place::new();
    let served = served(&place);
    assert_eq!(text(&send_json(&place, &served.url, &["hello"])), "HELLO");
}

#[test]
fn painter_asks_and_remembers() {
    let place = Place::new();
    let served = served(&place);
    let url = format!("{}/agents/painter", served.url);
    let task = send_json(&place, &url, &["a door"]);
    assert_eq!(task["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
    let question = &task["status"]["message"]["parts"][0]["text"];
    assert_eq!(question, "Which colour shall I paint a door?");
    let id = task["id"].as_str().expect("an id");
    let task = send_json(&place, &url, &["--task-id", id, "blue"]);
    assert_eq!(text(&task), "Painted a door in blue.\n");
}

#[test]
fn digest_takes_a_file_and_gives_one() {
    let place = Place::new();
    let served = served(&place);
    place.write("empty.txt", "");
    let url = format!("{}/agents/digest", served.url);
    let task = send_json(&place, &url, &["--file", "empty.txt"]);
    // SHA-256 of nothing, FIPS 180-4.
    let line = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  empty.txt\n";
    assert_eq!(text(&task), line);
    assert_eq!(
        task["artifacts"][1]["parts"][0]["filename"],
        "SHA256SUMS.txt"
    );
}

#[test]
fn counter_counts_asks_and_refuses() {
    let place = Place::new();
    let served = served(&place);
    let url = format!("{}/agents/counter", served.url);
    let task = send_json(&place, &url, &["count to 3"]);
    assert_eq!(text(&task), "1 2 3 ");
    let task = send_json(&place, &url, &["count"]);
    assert_eq!(task["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
    let id = task["id"].as_str().expect("an id");
    let task = send_json(&place, &url, &["--task-id", id, "2"]);
    assert_eq!(text(&task), "1 2 ");
    let task = send_json(&place, &url, &["count to 1001"]);
    assert_eq!(task["status"]["state"], "TASK_STATE_REJECTED");
}
