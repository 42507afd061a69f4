//! Another A2A agent behind the gateway: a second gateway with a program, over every binding and
//! generation that the two can speak.

use serde_json::{Value, json};
use std::time::Duration;

use crate::doorman::Doorman;
use crate::rig::{Rig, Store, artifact_text, message, over_databases, script_agent, variants};

/// How the gateway calls the agent behind it.
#[derive(Clone, Copy, Debug)]
struct Speech {
    /// Where the card is, below the agent's address.
    card: &'static str,
    /// Where 2025-04 is spoken, if the card is of that generation.
    legacy: Option<&'static str>,
    settings: &'static str,
}

const JSON_RPC: Speech = Speech {
    card: "",
    legacy: None,
    settings: "transport = \"jsonrpc\"",
};

/// Runs an async test body over every speech.
macro_rules! over_speeches {
    ($(async fn $name:ident($speech:ident: Speech) $body:block)*) => {$(
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            async fn run($speech: Speech) $body
            variants! {
                json_rpc: JSON_RPC,
                rest: Speech { settings: "transport = \"rest\"", ..JSON_RPC },
                grpc: Speech { settings: "transport = \"grpc\"", ..JSON_RPC },
                json_rpc_0_3: Speech { settings: "transport = \"jsonrpc\"\na2a_version = \"0.3\"", ..JSON_RPC },
                rest_0_3: Speech { settings: "transport = \"rest\"\na2a_version = \"0.3\"", ..JSON_RPC },
                grpc_0_3: Speech { settings: "transport = \"grpc\"\na2a_version = \"0.3\"", ..JSON_RPC },
                fleet: Speech { card: "/fleet/a2a/worker", settings: "a2a_version = \"hermes-fleet\"", ..JSON_RPC },
            }
        }
    )*};
}

/// Answers, asks, sends pieces or waits, as it is told.
const SCRIPT: &str = r#"text=$(cat); case $text in
    ask) echo '[INPUT_REQUIRED] sure?';;
    hang) echo begun; sleep 60;;
    wait) echo one; while [ ! -e "$GATE" ]; do sleep 0.02; done; echo two;;
    fail) echo broken >&2; exit 3;;
    flood) yes;;
    *) echo "got $text";;
    esac"#;

/// A gateway, the agent behind it, and a file that lets `wait` go on.
struct Pair {
    front: Rig,
    back: Rig,
    /// Where the front finds the back.
    door: Doorman,
    gate: std::path::PathBuf,
    _dir: tempfile::TempDir,
}

impl Pair {
    async fn start(store: Store, speech: Speech, more: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let gate = dir.path().join("gate");
        let settings = format!("env = {{ GATE = {gate:?} }}\n");
        let door = Doorman::open(speech.legacy).await;
        let agent = script_agent("worker", SCRIPT, &settings);
        let config = format!("{agent}[server]\npublic_url = \"{}\"\n", door.base);
        let back = Rig::start(Store::Memory, &config).await;
        door.moved_to(&back.base);
        let front = Rig::start(store, &stand_in(&door.base, speech, more)).await;
        Self {
            front,
            back,
            door,
            gate,
            _dir: dir,
        }
    }

    /// What the agent behind has of tasks.
    async fn behind(&self) -> Vec<Value> {
        let listed = self
            .back
            .call("ListTasks", json!({"includeArtifacts": true}))
            .await;
        listed["result"]["tasks"].as_array().unwrap().clone()
    }

    /// A task that has said something and goes on, and its stream.
    async fn begun(&self, text: &str) -> (crate::rig::Frames, Value) {
        let mut frames = self
            .front
            .stream(&[], "SendStreamingMessage", message(text))
            .await;
        let task = frames.result().await["task"].clone();
        while !frames.result().await["artifactUpdate"].is_object() {}
        (frames, task)
    }
}

/// The configuration of a gateway before the one at `base`.
fn stand_in(base: &str, speech: Speech, more: &str) -> String {
    let Speech { card, settings, .. } = speech;
    format!("[agents.front]\nbackend = \"a2a\"\nurl = \"{base}{card}\"\n{settings}\n{more}\n")
}

fn state(task: &Value) -> &str {
    task["status"]["state"].as_str().unwrap_or("none")
}

fn said(task: &Value) -> &str {
    task["status"]["message"]["parts"][0]["text"]
        .as_str()
        .unwrap_or_default()
}

/// Sends in a conversation or to a task that is there.
async fn go_on(rig: &Rig, member: &str, id: &Value, text: &str) -> Value {
    let mut params = message(text);
    params["message"][member] = id.clone();
    rig.call("SendMessage", params).await["result"]["task"].take()
}

pub async fn ended(rig: &Rig, id: &Value) -> Value {
    loop {
        let task = rig.get_task(id.as_str().unwrap()).await;
        if !matches!(state(&task), "TASK_STATE_WORKING" | "TASK_STATE_SUBMITTED") {
            return task;
        }
        tokio::task::yield_now().await;
    }
}

over_speeches! {
    async fn a_conversation_is_passed_on_and_each_side_keeps_its_ids(speech: Speech) {
        let pair = Pair::start(Store::Memory, speech, "").await;
        let first = pair.front.send("one").await;
        assert_eq!((state(&first), artifact_text(&first)), ("TASK_STATE_COMPLETED", "got one\n"), "{first}");
        let second = go_on(&pair.front, "contextId", &first["contextId"], "two").await;
        assert_eq!(artifact_text(&second), "got two\n", "{second}");
        let other = pair.front.send("three").await;
        let behind = pair.behind().await;
        assert_eq!(behind.len(), 3);
        let context = |text: &str| {
            let found = behind.iter().find(|task| artifact_text(task) == format!("got {text}\n"));
            found.unwrap()["contextId"].clone()
        };
        assert_eq!(context("one"), context("two"));
        assert_ne!(context("one"), context("three"));
        let shown = format!("{first}{second}{other}");
        for task in &behind {
            for id in [&task["id"], &task["contextId"]] {
                assert!(!shown.contains(id.as_str().unwrap()), "{shown}");
            }
            for ours in [&first, &second, &other] {
                assert!(!task.to_string().contains(ours["id"].as_str().unwrap()), "{task}");
                assert!(!task.to_string().contains(ours["contextId"].as_str().unwrap()), "{task}");
            }
        }
    }

    async fn a_question_is_answered_in_the_same_task_on_both_sides(speech: Speech) {
        let pair = Pair::start(Store::Memory, speech, "").await;
        let asked = pair.front.send("ask").await;
        assert_eq!((state(&asked), said(&asked)), ("TASK_STATE_INPUT_REQUIRED", "sure?"), "{asked}");
        let again = go_on(&pair.front, "taskId", &asked["id"], "ask").await;
        assert_eq!((state(&again), &again["id"]), ("TASK_STATE_INPUT_REQUIRED", &asked["id"]), "{again}");
        let done = go_on(&pair.front, "taskId", &asked["id"], "yes").await;
        assert_eq!((artifact_text(&done), &done["id"]), ("got yes\n", &asked["id"]), "{done}");
        let behind = pair.behind().await;
        assert_eq!((behind.len(), state(&behind[0])), (1, "TASK_STATE_COMPLETED"));
    }

    async fn a_cancel_ends_the_work_on_both_sides(speech: Speech) {
        let pair = Pair::start(Store::Memory, speech, "").await;
        let running = pair.front.start_task("hang").await;
        let asked = pair.front.send("ask").await;
        while pair.behind().await.len() < 2 {}
        for task in [&running, &asked] {
            let answer = pair.front.call("CancelTask", json!({"id": task["id"]})).await;
            assert_eq!(state(&answer["result"]), "TASK_STATE_CANCELED", "{answer}");
        }
        for task in pair.behind().await {
            assert_eq!(state(&task), "TASK_STATE_CANCELED", "{task}");
        }
    }

    async fn a_failure_is_a_failure_here_too(speech: Speech) {
        let pair = Pair::start(Store::Memory, speech, "").await;
        let failed = pair.front.send("fail").await;
        assert_eq!(state(&failed), "TASK_STATE_FAILED", "{failed}");
        assert!(said(&failed).contains("exit"), "{failed}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pieces_are_passed_on_as_they_come_and_each_once() {
    for settings in [
        "transport = \"jsonrpc\"",
        "transport = \"rest\"",
        "transport = \"grpc\"",
        "a2a_version = \"0.3\"",
    ] {
        let speech = Speech {
            settings,
            ..JSON_RPC
        };
        let pair = Pair::start(Store::Memory, speech, "").await;
        let (mut frames, task) = pair.begun("wait").await;
        std::fs::write(&pair.gate, "").unwrap();
        let last = frames.rest().await.pop().unwrap();
        assert_eq!(
            state(&last["statusUpdate"]),
            "TASK_STATE_COMPLETED",
            "{last}"
        );
        let task = pair.front.get_task(task["id"].as_str().unwrap()).await;
        assert_eq!(artifact_text(&task), "one\ntwo\n", "{settings}");
    }
}

over_databases! {
    async fn work_goes_on_behind_a_gateway_that_restarts(store: Store) {
        let mut pair = Pair::start(store, JSON_RPC, "").await;
        let (frames, task) = pair.begun("wait").await;
        let asked = pair.front.send("ask").await;
        drop(frames);
        pair.front.restart(Duration::ZERO).await;
        let answered = go_on(&pair.front, "taskId", &asked["id"], "yes").await;
        assert_eq!(artifact_text(&answered), "got yes\n", "{answered}");
        std::fs::write(&pair.gate, "").unwrap();
        let done = ended(&pair.front, &task["id"]).await;
        assert_eq!((state(&done), artifact_text(&done)), ("TASK_STATE_COMPLETED", "one\ntwo\n"), "{done}");
        assert_eq!(done["artifacts"].as_array().unwrap().len(), 1);
        assert_eq!(pair.behind().await.len(), 2, "nothing ran twice");
    }
}

/// An agent behind that writes these lines for every message.
async fn before_lines(lines: &[Value]) -> (Rig, Rig) {
    let script: String = lines
        .iter()
        .map(|line| format!("echo '{line}'\n"))
        .collect();
    let back = Rig::start(
        Store::Memory,
        &script_agent("worker", &script, "protocol = \"jsonl\""),
    )
    .await;
    let front = Rig::start(Store::Memory, &stand_in(&back.base, JSON_RPC, "")).await;
    (front, back)
}

#[tokio::test]
async fn a_direct_answer_stays_one() {
    let answer = json!({"message": {"messageId": "theirs", "role": "ROLE_AGENT", "parts": [{"text": "at once"}], "metadata": {"a": 1}}});
    let (front, _back) = before_lines(&[answer]).await;
    let result = front.call("SendMessage", message("x")).await["result"].clone();
    let said = &result["message"];
    assert_eq!(
        (&said["parts"][0]["text"], &said["metadata"]),
        (&json!("at once"), &json!({"a": 1})),
        "{result}"
    );
    assert_ne!(said["messageId"], "theirs");
    let listed = front.call("ListTasks", json!({})).await;
    assert_eq!(listed["result"]["tasks"], json!([]));
    let mut frames = front
        .stream(&[], "SendStreamingMessage", message("x"))
        .await;
    assert_eq!(
        frames.result().await["message"]["parts"][0]["text"],
        "at once"
    );
}

#[tokio::test]
async fn artifacts_and_progress_arrive_as_they_were_sent() {
    let artifact = |id: &str, text: &str| {
        json!({"artifactId": id, "name": "report.md", "description": "d", "metadata": {"k": [1.50]}, "extensions": ["urn:x"],
        "parts": [{"text": text, "mediaType": "text/markdown"}, {"data": {"n": 1}, "metadata": {"p": true}}, {"raw": "AAE=", "mediaType": "image/png", "filename": "a.png"}]})
    };
    let lines = [
        json!({"statusUpdate": {"status": {"state": "TASK_STATE_WORKING", "message": {"messageId": "p", "role": "ROLE_AGENT", "parts": [{"text": "half"}]}}, "metadata": {"percent": 50}}}),
        json!({"artifactUpdate": {"artifact": artifact("a", "A"), "lastChunk": true, "metadata": {"e": 1}}}),
        json!({"artifactUpdate": {"artifact": artifact("b", "B")}}),
        json!({"artifactUpdate": {"artifact": {"artifactId": "b", "parts": [{"url": "https://example.org/x", "mediaType": "text/html"}]}, "append": true, "lastChunk": true}}),
    ];
    let (front, back) = before_lines(&lines).await;
    let mut frames = front
        .stream(&[], "SendStreamingMessage", message("x"))
        .await;
    let id = frames.result().await["task"]["id"].clone();
    let events = frames.rest().await;
    let progress = &events[0]["statusUpdate"];
    assert_eq!(
        (&progress["metadata"]["percent"], said(progress)),
        (&json!(50), "half"),
        "{events:?}"
    );
    assert_eq!(progress["status"]["message"]["taskId"], id);
    assert_eq!(events[1]["artifactUpdate"]["metadata"], json!({"e": 1}));
    let here = front.get_task(id.as_str().unwrap()).await;
    let there = back
        .call("ListTasks", json!({"includeArtifacts": true}))
        .await;
    assert_eq!(here["artifacts"], there["result"]["tasks"][0]["artifacts"]);
    assert_eq!(here["artifacts"].as_array().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_is_stopped_on_both_sides() {
    let pair = Pair::start(Store::Memory, JSON_RPC, "max_output_bytes = 10000").await;
    let task = pair.front.send("flood").await;
    assert_eq!(state(&task), "TASK_STATE_FAILED");
    assert!(
        said(&task).contains("more than 10000 bytes"),
        "{}",
        said(&task)
    );
    assert_eq!(state(&pair.behind().await[0]), "TASK_STATE_CANCELED");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_is_away_fails_the_task_in_known_time_and_says_no_address() {
    let pair = Pair::start(Store::Memory, JSON_RPC, "reconnect_for = \"200ms\"").await;
    let (_frames, task) = pair.begun("hang").await;
    let Pair {
        front,
        mut back,
        door,
        ..
    } = pair;
    let was_at = door.base.clone();
    drop(door);
    back.restart(Duration::ZERO).await;
    let lost = ended(&front, &task["id"]).await;
    let new = front.send("x").await;
    for task in [&lost, &new] {
        assert_eq!(state(task), "TASK_STATE_FAILED", "{task}");
        assert!(said(task).contains("cannot be reached"), "{task}");
        let host = was_at.trim_start_matches("http://");
        assert!(!task.to_string().contains(host), "{task}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_of_2025_04_is_asked_until_its_task_is_done() {
    let speech = Speech {
        legacy: Some("/legacy/worker"),
        settings: "a2a_version = \"2025-04\"",
        ..JSON_RPC
    };
    let pair = Pair::start(Store::Memory, speech, "").await;
    let first = pair.front.send("one").await;
    let second = go_on(&pair.front, "contextId", &first["contextId"], "two").await;
    assert_eq!(artifact_text(&second), "got two\n", "{second}");
    let behind = pair.behind().await;
    assert_eq!(behind[0]["contextId"], behind[1]["contextId"]);
    let asked = pair.front.send("ask").await;
    assert_eq!(
        (state(&asked), said(&asked)),
        ("TASK_STATE_INPUT_REQUIRED", "sure?")
    );
    let failed = pair.front.send("fail").await;
    assert!(said(&failed).contains("exit"), "{failed}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_restarts_is_found_again_and_what_it_lost_is_said_to_be_lost() {
    let mut pair = Pair::start(Store::Memory, JSON_RPC, "").await;
    let (_frames, running) = pair.begun("hang").await;
    let asked = pair.front.send("ask").await;
    // Its store is in memory: it knows none of its tasks any more.
    pair.back.restart(Duration::ZERO).await;
    pair.door.moved_to(&pair.back.base);
    let lost = ended(&pair.front, &running["id"]).await;
    let unanswered = go_on(&pair.front, "taskId", &asked["id"], "yes").await;
    for task in [&lost, &unanswered] {
        assert_eq!(state(task), "TASK_STATE_FAILED", "{task}");
        assert_eq!(
            task["status"]["message"]["metadata"]["reason"], "worker_lost",
            "{task}"
        );
    }
    let new = pair.front.send("x").await;
    assert_eq!(artifact_text(&new), "got x\n", "{new}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_conversations_do_not_meet() {
    let pair = Pair::start(Store::Memory, JSON_RPC, "").await;
    let texts: Vec<String> = (0..50).map(|n| format!("number {n}")).collect();
    let sent = texts.iter().map(|text| pair.front.send(text));
    for (task, text) in futures_util::future::join_all(sent)
        .await
        .iter()
        .zip(&texts)
    {
        assert_eq!(artifact_text(task), format!("got {text}\n"), "{task}");
    }
    let behind = pair.behind().await;
    let contexts: std::collections::HashSet<_> = behind
        .iter()
        .map(|task| task["contextId"].to_string())
        .collect();
    assert_eq!(contexts.len(), 50);
}

#[tokio::test]
async fn the_agent_is_told_who_asks_only_where_that_is_wanted_and_by_its_own_credential() {
    let tokens = "[security]\npeer_tokens = { gateway = \"env:GATEWAY\" }\n";
    let back = Rig::start(
        Store::Memory,
        &format!(
            "{}{tokens}",
            script_agent("worker", "echo \"for $A2A_CALLER\"", "")
        ),
    )
    .await;
    let auth = "auth = { type = \"bearer\", token = \"env:GATEWAY\" }";
    let with = Rig::start(Store::Memory, &stand_in(&back.base, JSON_RPC, auth)).await;
    assert_eq!(artifact_text(&with.send("x").await), "for peer:gateway\n");
    let without = Rig::start(Store::Memory, &stand_in(&back.base, JSON_RPC, "")).await;
    let refused = without.send("x").await;
    assert!(said(&refused).contains("credential"), "{refused}");
    let url = &back.base;
    let named = format!(
        "[agents.front]\nbackend = \"a2a\"\npeer = \"w\"\n[peers.w]\nurl = \"{url}\"\n{auth}\n"
    );
    let named = Rig::start(Store::Memory, &named).await;
    assert_eq!(artifact_text(&named.send("x").await), "for peer:gateway\n");
}
