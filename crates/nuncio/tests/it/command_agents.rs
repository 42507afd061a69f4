//! Programs as agents, seen from outside: what a caller gets, what only the operator sees, and
//! that nothing is left running.

use nix::sys::signal::Signal;
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Duration;

use crate::program::Place;

/// Sends and hands back the task of the answer.
pub(crate) fn send_json(place: &Place, url: &str, arguments: &[&str]) -> Value {
    let all = [&["send", "-a", url, "-o", "json"], arguments].concat();
    let printed = place.run(&all).expect_success();
    let mut answer: Value = serde_json::from_str(&printed).expect("JSON");
    answer["task"].take()
}

/// Whether a process runs; one that is dead but not yet collected does not.
fn runs(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    stat.is_ok_and(|stat| {
        !stat
            .rsplit(')')
            .next()
            .unwrap_or("")
            .trim_start()
            .starts_with('Z')
    })
}

fn left_by(place: &Place, name: &str) -> String {
    std::fs::read_to_string(place.path().join(name)).expect("the script wrote it")
}

#[test]
fn a_failure_is_told_by_its_exit_code_and_explained_in_the_log_only() {
    let place = Place::new();
    place.script(
        "fails.sh",
        "echo 'no such model: /srv/secret-model' >&2; exit 3",
    );
    let served = place.serve(&["--agent", "fails=./fails.sh", "--store", "memory:"]);
    let task = send_json(&place, &served.url, &["go"]);
    assert_eq!(task["status"]["state"], "TASK_STATE_FAILED");
    let text = task["status"]["message"]["parts"][0]["text"]
        .as_str()
        .expect("a text");
    let id = text
        .strip_prefix("the agent's program ended with exit code 3 (error id ")
        .and_then(|rest| rest.strip_suffix(')'))
        .unwrap_or_else(|| panic!("{text}"));
    assert!(!task.to_string().contains("secret-model"), "{task}");
    let log = place.log();
    let line = log
        .lines()
        .find(|line| line.contains(id))
        .expect("the id is in the log");
    assert!(line.contains("no such model: /srv/secret-model"), "{line}");
    assert!(line.contains(task["id"].as_str().expect("an id")), "{line}");
}

#[test]
fn a_late_answer_of_a_cancelled_program_changes_nothing() {
    let place = Place::new();
    // Deaf to SIGTERM, with a child that works on, and an answer that would come too late.
    let script = "trap '' TERM; (trap '' TERM; while :; do sleep 0.05; done) & echo $! > child
        echo $$ > leader; echo begun; sleep 600 & wait; echo late";
    place.script("deaf.sh", script);
    place.write(
        "nuncio.toml",
        "[agents.deaf]\nbackend = \"command\"\ncommand = [\"./deaf.sh\"]\nkill_grace = \"200ms\"\n",
    );
    let served = place.serve(&["--store", "memory:"]);
    let mut send = place
        .command(&["send", "-a", &served.url, "--stream", "-o", "json", "go"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("nuncio starts");
    let mut events = BufReader::new(send.stdout.take().expect("a pipe")).lines();
    let mut next = || -> Option<Value> {
        let line = events.next()?.expect("UTF-8");
        Some(serde_json::from_str(&line).expect("JSON"))
    };
    let first = next().expect("the task");
    let id = first["task"]["id"].as_str().expect("an id").to_owned();
    while !next().expect("more events").to_string().contains("begun") {}

    let cancel = place.run(&["task", "cancel", "-a", &served.url, "-o", "json", &id]);
    assert!(cancel.expect_success().contains("TASK_STATE_CANCELED"));
    for name in ["leader", "child"] {
        assert!(!runs(&left_by(&place, name)), "{name} still runs");
    }
    let rest: Vec<Value> = std::iter::from_fn(next).collect();
    assert!(!format!("{rest:?}").contains("late"), "{rest:?}");
    assert!(
        format!("{rest:?}").contains("TASK_STATE_CANCELED"),
        "{rest:?}"
    );
    send.wait().expect("it ends with its stream");
    let task = place
        .run(&["task", "get", "-a", &served.url, "-o", "json", &id])
        .expect_success();
    assert!(
        task.contains("TASK_STATE_CANCELED") && !task.contains("late"),
        "{task}"
    );
}

#[test]
fn stopping_the_gateway_stops_its_programs() {
    let place = Place::new();
    // The shell and what it starts hold the pipe open.
    place.script("slow.sh", "exec 3> alive; sleep 600 & echo begun; wait");
    let ended = end_of_pipe(&place, "alive");
    let served = place.serve(&["--agent", "slow=./slow.sh", "--store", "memory:"]);
    let mut send = place
        .command(&["send", "-a", &served.url, "--stream", "go"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("nuncio starts");
    let mut events = BufReader::new(send.stdout.take().expect("a pipe")).lines();
    assert!(events.any(|line| line.expect("UTF-8").contains("begun")));
    served.signal(Signal::SIGTERM);
    while !place.log().contains("stopping") {
        std::thread::yield_now();
    }
    served.signal(Signal::SIGTERM);
    served.wait();
    // The caller would try for a while to get its stream back.
    send.kill().expect("it still waits");
    send.wait().expect("it ends");
    let end = ended.recv_timeout(Duration::from_secs(20));
    end.expect("a program still runs");
}

/// Makes a pipe with this name; a message comes when all who opened it for writing are gone.
pub(crate) fn end_of_pipe(place: &Place, name: &str) -> mpsc::Receiver<()> {
    let path = place.path().join(name);
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.expect("mkfifo").success());
    let (tell, ended) = mpsc::channel();
    std::thread::spawn(move || {
        let mut pipe = std::fs::File::open(path).expect("the pipe");
        std::io::copy(&mut pipe, &mut std::io::sink()).expect("it is read");
        // The test may have failed meanwhile.
        let _ = tell.send(());
    });
    ended
}

#[test]
fn files_go_in_and_out() {
    let place = Place::new();
    place.script("copy.sh", r#"cp "$A2A_FILES" "$A2A_OUTPUT_DIR/copy.bin""#);
    let bytes: Vec<u8> = (0..=255u8).cycle().take(256 * 1000).collect();
    std::fs::write(place.path().join("all.bin"), &bytes).expect("a file");
    let served = place.serve(&["--agent", "copy=./copy.sh", "--store", "memory:"]);
    let task = send_json(&place, &served.url, &["--file", "all.bin"]);
    let part = &task["artifacts"][0]["parts"][0];
    assert_eq!(part["filename"], "copy.bin");
    assert_eq!(part["mediaType"], "application/octet-stream");
    use base64::Engine as _;
    let raw = part["raw"].as_str().expect("bytes");
    let copy = base64::engine::general_purpose::STANDARD
        .decode(raw)
        .expect("base64");
    assert!(copy == bytes);
}
