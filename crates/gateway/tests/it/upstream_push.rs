//! News that an agent without streams posts to the gateway before it. The gateway is set to ask only once
//! an hour, so that nothing else can make it look.

use serde_json::{Value, json};
use std::time::Duration;

use crate::rig::{Rig, Store, artifact_text, message, over_databases, script_agent};
use crate::service::{Asked, said, status_text, text_of};
use crate::upstream::ended;
use crate::upstream_peer::{Peer, THEIR_TASK, answer, refuse, status, task};

const SETTINGS: &str = "push = true\npoll_interval = \"1h\"";

async fn peer() -> Peer {
    Peer::start(json!({"pushNotifications": true})).await
}

/// The path that the agent is told to post to.
fn path_of(asked: &Asked) -> String {
    let config = &asked.body["params"]["configuration"]["taskPushNotificationConfig"];
    let url = config["url"].as_str().expect("an address to post to");
    let (_, path) = url.split_once("/callback/").unwrap();
    format!("/callback/{path}")
}

fn done() -> Value {
    task(
        "COMPLETED",
        json!([{"artifactId": "a", "parts": [{"text": "result"}]}]),
    )
}

#[tokio::test]
async fn a_post_makes_the_gateway_look_and_only_at_the_address_that_was_told() {
    let mut peer = peer().await;
    let rig = peer.front(SETTINGS).await;
    let started = rig.start_task("x");
    let (started, path) = tokio::join!(started, async {
        let asked = peer.call("SendMessage").await;
        let path = path_of(&asked);
        answer(asked, json!({"task": task("WORKING", json!([]))}));
        answer(peer.call("GetTask").await, task("WORKING", json!([])));
        path
    });
    let id = started["id"].as_str().unwrap();
    assert!(!path.contains(id), "no id of ours goes there: {path}");
    let (address, token) = path.rsplit_once('/').unwrap();
    for wrong in [
        format!("{address}/{}", "0".repeat(token.len())),
        format!("{path}0"),
    ] {
        // What is posted counts for nothing: a finished task would be easy to make up.
        let posted = rig.post(&wrong, &[], &done().to_string()).await;
        assert_eq!(posted.status, 404, "{wrong}");
    }
    assert!(peer.service.is_quiet(), "nobody looks for that");
    for body in ["{}", "anything"] {
        assert_eq!(rig.post(&path, &[], body).await.status, 200);
        let asked = peer.call("GetTask").await;
        assert_eq!(asked.body["params"]["id"], THEIR_TASK);
        answer(asked, task("WORKING", json!([])));
    }
    let made_up = task("FAILED", json!([])).to_string();
    let posted = rig.post(&path, &[], &made_up);
    let (posted, ()) = tokio::join!(posted, async {
        answer(peer.call("GetTask").await, done());
    });
    assert_eq!(posted.status, 200);
    let ended = ended(&rig, &started["id"]).await;
    assert_eq!(text_of(&ended), "result", "{ended}");
    let late = rig.post(&path, &[], "{}").await;
    assert_eq!(late.status, 410, "it was good for one turn");
}

over_databases! {
    async fn the_address_is_still_good_after_a_restart(store: Store) {
        let mut peer = peer().await;
        let mut rig = Rig::start(store, &peer.config(SETTINGS)).await;
        let (started, path) = tokio::join!(rig.start_task("x"), async {
            let asked = peer.call("SendMessage").await;
            let path = path_of(&asked);
            answer(asked, json!({"task": task("WORKING", json!([]))}));
            answer(peer.call("GetTask").await, task("WORKING", json!([])));
            path
        });
        rig.restart(Duration::ZERO).await;
        answer(peer.call("GetTask").await, task("WORKING", json!([])));
        let (posted, ()) = tokio::join!(rig.post(&path, &[], "{}"), async {
            answer(peer.call("GetTask").await, done());
        });
        assert_eq!(posted.status, 200);
        let ended = ended(&rig, &started["id"]).await;
        assert_eq!(text_of(&ended), "result", "{ended}");
    }
}

#[tokio::test]
async fn the_next_turn_of_a_task_has_an_address_of_its_own_in_place_of_the_first() {
    let mut peer = peer().await;
    let rig = peer.front(SETTINGS).await;
    let config_of =
        |asked: &Asked| asked.body["params"]["configuration"]["taskPushNotificationConfig"].clone();
    let send = rig.call("SendMessage", message("x"));
    let (asked, (first, path)) = tokio::join!(send, async {
        let asked = peer.call("SendMessage").await;
        let (config, path) = (config_of(&asked), path_of(&asked));
        let mut question = task("INPUT_REQUIRED", json!([]));
        question["status"] = status("INPUT_REQUIRED", "sure?");
        answer(asked, json!({"task": question}));
        (config, path)
    });
    assert_eq!(status_text(&asked["result"]["task"]), "sure?", "{asked}");
    let id = asked["result"]["task"]["id"].as_str().unwrap();
    let send = rig.call("SendMessage", said("yes", None, Some(id)));
    let (_, second) = tokio::join!(send, async {
        let asked = peer.call("SendMessage").await;
        let config = config_of(&asked);
        answer(asked, json!({"task": done()}));
        config
    });
    assert_eq!(first["id"], second["id"], "the one replaces the other");
    assert_ne!(first["url"], second["url"]);
    assert_eq!(rig.post(&path, &[], "{}").await.status, 410);
}

#[tokio::test]
async fn an_agent_that_takes_no_webhook_is_asked() {
    let mut peer = peer().await;
    let rig = peer.front("push = true").await;
    let send = rig.call("SendMessage", message("x"));
    let (done, ()) = tokio::join!(send, async {
        let asked = peer.call("SendMessage").await;
        path_of(&asked);
        refuse(asked, -32602, "INVALID_PARAMS", "no inner addresses");
        let asked = peer.call("SendMessage").await;
        let configuration = &asked.body["params"]["configuration"];
        assert!(configuration["taskPushNotificationConfig"].is_null());
        answer(asked, json!({"task": task("WORKING", json!([]))}));
        answer(peer.call("GetTask").await, task("WORKING", json!([])));
        answer(peer.call("GetTask").await, done());
    });
    assert_eq!(text_of(&done["result"]["task"]), "result", "{done}");
}

#[tokio::test]
async fn nothing_is_registered_where_it_is_not_wanted_or_streams_are_there() {
    for (settings, capabilities) in [
        ("", json!({"pushNotifications": true})),
        (
            "push = true",
            json!({"pushNotifications": true, "streaming": true}),
        ),
        ("push = true", json!({})),
    ] {
        let streams = capabilities["streaming"] == true;
        let mut peer = Peer::start(capabilities).await;
        let rig = peer.front(settings).await;
        let method = if streams {
            "SendStreamingMessage"
        } else {
            "SendMessage"
        };
        let (refused, ()) = tokio::join!(rig.call("SendMessage", message("x")), async {
            let asked = peer.call(method).await;
            let config = &asked.body["params"]["configuration"]["taskPushNotificationConfig"];
            assert!(config.is_null(), "{config}");
            refuse(asked, -32602, "INVALID_PARAMS", "enough");
        });
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
}

/// Another gateway behind it, which posts by itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_behind_a_gateway_posts_when_the_work_is_done() {
    let gate = tempfile::tempdir().unwrap();
    let file = gate.path().join("gate");
    let script = "while [ ! -e \"$GATE\" ]; do sleep 0.02; done; echo through";
    let settings = format!("env = {{ GATE = {file:?} }}\ncapabilities = {{ streaming = false }}");
    let config = script_agent("worker", script, &settings)
        + "[security]\npush_allow_addresses = [\"127.0.0.1\"]\n";
    let back = Rig::start(Store::Memory, &config).await;
    let front = format!(
        "[agents.front]\nbackend = \"a2a\"\nurl = \"{}\"\n{SETTINGS}\n",
        back.base
    );
    let front = Rig::start(Store::Memory, &front).await;
    let started = front.start_task("x").await;
    while back.call("ListTasks", json!({})).await["result"]["tasks"][0].is_null() {}
    std::fs::write(&file, "").unwrap();
    let done = ended(&front, &started["id"]).await;
    assert_eq!(artifact_text(&done), "through\n", "{done}");
}
