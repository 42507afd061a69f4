//! The client's commands against the gateway over each binding of its card: the same in, the same
//! out.

use serde_json::Value;

use crate::program::Place;

/// What `--transport` and `--a2a-version` may say of the gateway's interfaces.
const WAYS: [&[&str]; 5] = [
    &["--transport", "jsonrpc"],
    &["--transport", "rest"],
    &["--transport", "HTTP+JSON"],
    &["--transport", "rest", "--a2a-version", "0.3"],
    &["--transport", "grpc", "--transport", "rest"],
];

/// The dialect of a Hermes fleet has an address of its own.
const FLEET: (&str, &[&str]) = ("/fleet/a2a/worker", &["--a2a-version", "hermes-fleet"]);

/// Every way with the path that it is for.
fn ways() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    WAYS.into_iter().map(|way| ("", way)).chain([FLEET])
}

/// Repeats its text; waits for its caller when asked to.
const AGENT: &str = "text=$(cat); case $text in ask*) echo '[INPUT_REQUIRED] which?';; *) echo \"$text\"; sleep 0.1; echo again;; esac";

struct At<'a> {
    place: &'a Place,
    url: String,
    way: &'a [&'a str],
}

impl At<'_> {
    fn json(&self, command: &[&str]) -> Value {
        let mut all = command.to_vec();
        all.extend(["-a", &self.url, "-o", "json"]);
        all.extend(self.way);
        let ended = self.place.run(&all);
        assert_eq!(
            ended.code(),
            Some(0),
            "{all:?} {} {}",
            ended.stdout,
            ended.stderr
        );
        serde_json::from_str(&ended.stdout).expect("one JSON document")
    }
}

#[test]
fn every_command_works_over_every_binding() {
    let place = Place::new();
    place.script("agent.sh", AGENT);
    let served = place.serve(&["--agent", "worker=./agent.sh", "--store", "memory:"]);
    for (path, way) in ways() {
        let at = At {
            place: &place,
            url: format!("{}{path}", served.url),
            way,
        };
        let sent = at.json(&["send", "hello"])["task"].clone();
        assert_eq!(
            sent["status"]["state"], "TASK_STATE_COMPLETED",
            "{way:?} {sent}"
        );
        let id = sent["id"].as_str().expect("an id");
        let got = at.json(&["task", "get", id]);
        assert_eq!(got["artifacts"], sent["artifacts"], "{way:?} {got}");
        let asked = at.json(&["send", "ask me"])["task"].clone();
        assert_eq!(
            asked["status"]["state"], "TASK_STATE_INPUT_REQUIRED",
            "{way:?} {asked}"
        );
        let canceled = at.json(&["task", "cancel", asked["id"].as_str().expect("an id")]);
        assert_eq!(
            canceled["status"]["state"], "TASK_STATE_CANCELED",
            "{way:?} {canceled}"
        );
        if !way.contains(&"0.3") {
            let listed = at.json(&["task", "list"]);
            let ids: Vec<&Value> = listed["tasks"]
                .as_array()
                .expect("tasks")
                .iter()
                .map(|task| &task["id"])
                .collect();
            assert!(
                ids.contains(&&sent["id"]) && ids.contains(&&asked["id"]),
                "{listed}"
            );
        }
    }
}

#[test]
fn events_are_streamed_over_every_binding() {
    let place = Place::new();
    place.script("agent.sh", AGENT);
    let served = place.serve(&["--agent", "worker=./agent.sh", "--store", "memory:"]);
    for (path, way) in ways() {
        let url = format!("{}{path}", served.url);
        let mut all = vec!["send", "one", "-a", &url, "--stream", "-o", "json"];
        all.extend(way);
        let events = place.run(&all).expect_success();
        let events: Vec<Value> = events
            .lines()
            .map(|line| serde_json::from_str(line).expect("a line of JSON"))
            .collect();
        let begins = if path.is_empty() {
            "task"
        } else {
            "statusUpdate"
        };
        assert!(events[0][begins].is_object(), "{way:?} {events:?}");
        let texts: String = events
            .iter()
            .filter_map(|event| event["artifactUpdate"]["artifact"]["parts"][0]["text"].as_str())
            .collect();
        assert_eq!(texts, "one\nagain\n", "{way:?} {events:?}");
        let last = events.last().expect("events");
        assert_eq!(
            last["statusUpdate"]["status"]["state"],
            "TASK_STATE_COMPLETED"
        );
    }
}

#[test]
fn refusals_look_the_same_over_every_binding() {
    let place = Place::new();
    let served = place.serve(&["--store", "memory:"]);
    let refused = |way: &[&str]| {
        let mut all = vec![
            "task",
            "get",
            "no-such-task",
            "-a",
            &served.url,
            "-o",
            "json",
        ];
        all.extend(way);
        let ended = place.run(&all);
        let shown: Value = serde_json::from_str(&ended.stdout).expect("one JSON document");
        (ended.code(), shown["error"].clone())
    };
    let (code, error) = refused(WAYS[0]);
    assert!(
        code != Some(0) && error.to_string().contains("no-such-task"),
        "{code:?} {error}"
    );
    for way in WAYS {
        assert_eq!(refused(way), (code, error.clone()), "{way:?}");
    }
}
