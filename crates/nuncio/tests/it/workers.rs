//! Agents started for one piece of work: alone in a directory of their own, and gone afterwards.

use serde_json::Value;

use crate::program::Place;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Says where it runs and that it found nothing there.
const DIGS: &str = "pwd; ls | wc -l; touch left-behind";

fn directory_of(response: &Value) -> std::path::PathBuf {
    let text = response["response"].as_str().expect("a text");
    let mut lines = text.lines();
    let dir = lines.next().expect("a directory");
    assert_eq!(lines.next().map(str::trim), Some("0"), "{text}");
    dir.into()
}

#[test]
fn a_worker_has_a_directory_of_its_own_which_goes_with_it() {
    let place = Place::new();
    place.script("digs.sh", DIGS);
    let served = place.serve(&["--agent", "digs=./digs.sh"]);
    let run = || {
        let ran = place.run(&["worker", "run", "digs", "dig here", "-o", "json"]);
        json(&ran.expect_success())
    };
    let (first, second) = (run(), run());
    assert_eq!(
        (&first["state"], &first["mode"]),
        (&"completed".into(), &"2".into())
    );
    assert_eq!(first["source"], "ephemeral-local:digs");
    assert_eq!(first["raw_result"]["metadata"]["hermes"]["route"], "worker");
    let dirs = [directory_of(&first), directory_of(&second)];
    assert_ne!(dirs[0], dirs[1]);
    for dir in dirs {
        assert!(
            dir.starts_with(place.path().join("workers")) && !dir.exists(),
            "{dir:?}"
        );
    }
    drop(served);
}

#[test]
fn work_that_takes_too_long_is_cancelled() {
    let place = Place::new();
    place.script("slow.sh", "sleep 600");
    let served = place.serve(&["--agent", "slow=./slow.sh", "--store", "memory:"]);
    let ran = place.run(&["worker", "run", "slow", "go", "--timeout", "1"]);
    assert_eq!(ran.code(), Some(5), "{}", ran.stderr);
    let tasks = place.run(&["task", "list", "-a", &served.url, "-o", "json"]);
    drop(tasks);
    let history = place.run(&["history", "-o", "json"]).expect_success();
    let context = json(&history)["conversations"][0]["context_id"].clone();
    let context = context.as_str().expect("an id").to_owned();
    let shown = place.run(&["history", &context]).expect_success();
    assert!(shown.contains("TASK_STATE_CANCELED"), "{shown}");
}

#[test]
fn a_remote_worker_runs_only_for_callers_who_may() {
    let place = Place::new();
    place.script("digs.sh", DIGS);
    place.write(
        "nuncio.toml",
        "[agents.digs]\nbackend = \"command\"\ncommand = [\"./digs.sh\"]\n\
         [security]\npeer_tokens = { alice = \"env:ALICE\", bob = \"env:BOB\" }\n\
         [workers]\nagents = [\"digs\"]\ncallers = [\"peer:alice\"]\n",
    );
    let mut place = place;
    place.set("ALICE", "alices-token-0123456789");
    place.set("BOB", "bobs-token-0123456789");
    let served = place.serve(&["--store", "memory:"]);
    let run = |token: &str| {
        let run = [
            "worker",
            "run",
            "--remote",
            &served.url,
            "dig",
            "-o",
            "json",
        ];
        place.run(&[&run[..], &["--bearer", token]].concat())
    };
    let ran = json(&run("alices-token-0123456789").expect_success());
    assert_eq!(
        (&ran["state"], &ran["mode"]),
        (&"completed".into(), &"3".into())
    );
    assert!(!directory_of(&ran).exists());
    let refused = run("bobs-token-0123456789");
    assert!(!refused.status.success());
    assert!(
        refused.stdout.contains("may not run workers"),
        "{}",
        refused.stdout
    );
}
