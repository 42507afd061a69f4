//! The operator's hand on the agents: asking them, closing and opening them.

use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use crate::program::Place;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn a_paused_agent_takes_nothing_until_it_is_resumed_over_a_restart_too() {
    let place = Place::new();
    let served = place.serve(&[]);
    let paused = place.run(&["agents", "pause", "echo", "-o", "json"]);
    assert_eq!(json(&paused.expect_success())["gate"], "paused");
    let refused = place.run(&["send", "-a", &served.url, "hello"]);
    assert!(!refused.status.success());
    assert!(
        refused.stderr.contains("is paused by its operator"),
        "{}",
        refused.stderr
    );
    drop(served);

    let served = place.serve(&[]);
    assert!(
        place.log().contains("nuncio agents resume"),
        "{}",
        place.log()
    );
    let refused = place.run(&["send", "-a", &served.url, "hello"]);
    assert!(!refused.status.success());
    place.run(&["agents", "resume", "echo"]).expect_success();
    let answer = place.run(&["send", "-a", &served.url, "hello"]);
    assert!(answer.expect_success().contains("hello"));
}

#[test]
fn draining_returns_when_the_agent_has_ended_what_it_had() {
    let place = Place::new();
    // Ends when the file is there, and not before.
    place.script(
        "slow.sh",
        "echo begun; while [ ! -e go ]; do sleep 0.02; done; echo done",
    );
    let served = place.serve(&["--agent", "slow=./slow.sh", "--store", "memory:"]);
    let mut send = place
        .command(&["send", "-a", &served.url, "--stream", "-o", "json", "go"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("nuncio starts");
    let mut events = BufReader::new(send.stdout.take().expect("a pipe")).lines();
    let begun = |line: std::io::Result<String>| line.expect("UTF-8").contains("begun");
    assert!(events.by_ref().any(begun));

    let mut drain = place
        .command(&["agents", "drain", "slow", "-o", "json"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("nuncio starts");
    let refused = loop {
        let refused = place.run(&["send", "-a", &served.url, "--async", "more"]);
        if !refused.status.success() {
            break refused;
        }
    };
    assert!(
        refused.stderr.contains("is being drained"),
        "{}",
        refused.stderr
    );
    assert!(drain.try_wait().expect("a state").is_none());
    place.write("go", "");
    let drained = drain.wait_with_output().expect("an end");
    let agent = json(&String::from_utf8(drained.stdout).expect("UTF-8"));
    assert_eq!(
        (&agent["gate"], &agent["running_turns"]),
        (&"draining".into(), &0.into())
    );
    assert!(events.any(|line| line.expect("UTF-8").contains("TASK_STATE_COMPLETED")));
    assert!(send.wait().expect("an end").success());
}

#[test]
fn a_check_asks_every_agent_and_tells_which_does_not_answer() {
    let place = Place::new();
    place.script("good.sh", "echo ready");
    place.script("bad.sh", "exit 3");
    let agents = ["--agent", "good=./good.sh", "--agent", "bad=./bad.sh"];
    let served = place.serve(&[&agents[..], &["--store", "memory:"]].concat());
    let checked = place.run(&["agents", "check", "-o", "json"]);
    assert_eq!(checked.code(), Some(1));
    let checks = json(&checked.stdout);
    let (good, bad) = (&checks["checks"][0], &checks["checks"][1]);
    assert_eq!(
        (&good["ok"], &good["answer"]),
        (&true.into(), &"ready\n".into())
    );
    assert_eq!(bad["ok"], false);
    assert!(
        bad["found"]
            .as_str()
            .expect("a text")
            .contains("exit code 3"),
        "{bad}"
    );
    let checked = place.run(&["agents", "check", "good"]);
    assert!(checked.expect_success().contains("Check: answers"));
    let unknown = place.run(&["agents", "check", "nobody"]);
    assert!(
        unknown.stderr.contains("nuncio agents list"),
        "{}",
        unknown.stderr
    );
    drop(served);
}
