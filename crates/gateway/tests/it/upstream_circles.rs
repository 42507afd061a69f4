//! Gateways that stand behind each other: a message that comes round is stopped, one that only takes a
//! long way is not.

use serde_json::{Value, json};

use crate::doorman::Doorman;
use crate::rig::{Rig, Store, artifact_text, message};
use crate::service::status_text;
use crate::upstream_peer::{Peer, refuse};

/// How an agent behind the gateway is called: below its address, and by which settings.
const SPEECHES: [(&str, &str); 7] = [
    ("", "transport = \"jsonrpc\""),
    ("", "transport = \"rest\""),
    ("", "transport = \"grpc\""),
    ("", "transport = \"jsonrpc\"\na2a_version = \"0.3\""),
    ("", "transport = \"rest\"\na2a_version = \"0.3\""),
    ("", "transport = \"grpc\"\na2a_version = \"0.3\""),
    ("/fleet/a2a/front", "a2a_version = \"hermes-fleet\""),
];

/// An agent with this name that is behind the gateway at `url`.
fn passes_on(name: &str, url: &str, settings: &str) -> String {
    format!("[agents.{name}]\nbackend = \"a2a\"\nurl = \"{url}\"\n{settings}\n")
}

/// A gateway with these agents at the door.
async fn behind(door: &Doorman, agents: &str) -> Rig {
    let config = format!("{agents}[server]\npublic_url = \"{}\"\n", door.base);
    let rig = Rig::start(Store::Memory, &config).await;
    door.moved_to(&rig.base);
    rig
}

fn state(task: &Value) -> &str {
    task["status"]["state"].as_str().unwrap_or("none")
}

async fn count_of_tasks(rig: &Rig, agent: &str) -> usize {
    let path = format!("/agents/{agent}");
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}});
    let listed = rig
        .post(&path, &[("a2a-version", "1.0")], &call.to_string())
        .await;
    listed.json["result"]["tasks"].as_array().unwrap().len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_that_stands_behind_itself_rejects_what_comes_round() {
    for (path, settings) in SPEECHES {
        let door = Doorman::open(None).await;
        let url = format!("{}{path}", door.base);
        let rig = behind(&door, &passes_on("front", &url, settings)).await;
        let task = rig.send("x").await;
        assert_eq!(state(&task), "TASK_STATE_REJECTED", "{settings}: {task}");
        assert!(status_text(&task).contains("circle"), "{settings}: {task}");
        assert_eq!(
            count_of_tasks(&rig, "front").await,
            2,
            "{settings}: once round"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ring_of_gateways_is_gone_round_once() {
    let doors = [
        Doorman::open(None).await,
        Doorman::open(None).await,
        Doorman::open(None).await,
    ];
    let mut ring = Vec::new();
    for (place, door) in doors.iter().enumerate() {
        let next = &doors[(place + 1) % doors.len()];
        ring.push(behind(door, &passes_on("front", &next.base, "")).await);
    }
    let task = ring[0].send("x").await;
    assert_eq!(state(&task), "TASK_STATE_REJECTED", "{task}");
    let mut tasks = Vec::new();
    for rig in &ring {
        tasks.push(count_of_tasks(rig, "front").await);
    }
    assert_eq!(tasks, [2, 1, 1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_gateway_may_be_passed_through_more_than_once() {
    let door = Doorman::open(None).await;
    let at = |name: &str| format!("{}/agents/{name}", door.base);
    let agents = passes_on("first", &at("second"), "") + &passes_on("second", &at("last"), "");
    let rig = behind(
        &door,
        &format!("{agents}[agents.last]\nbackend = \"echo\"\n"),
    )
    .await;
    for _ in 0..3 {
        let task = rig.send("x").await;
        assert_eq!(artifact_text(&task), "x", "{task}");
    }
}

#[tokio::test]
async fn the_list_goes_on_with_our_own_name_and_is_no_longer_than_it_may() {
    let (rig, mut peer) = Peer::behind("").await;
    let mut own = String::new();
    for list in ["", "a, b", "999", "-1"] {
        let headers = [("x-fleet-hops", list)];
        let (_, told) = tokio::join!(rig.call_as(&headers, "SendMessage", message("x")), async {
            let talk = peer.call("SendStreamingMessage").await;
            let told = talk.header("x-fleet-hops").to_owned();
            refuse(talk, -32602, "INVALID_PARAMS", "enough");
            told
        });
        let (before, last) = told.rsplit_once(", ").unwrap_or(("", &told));
        assert_eq!(before, list);
        assert!(own.is_empty() || own == last, "the same one each time");
        own = last.to_owned();
    }
    for list in [own.clone(), format!("a,{own} ,b"), ["x"; 8].join(",")] {
        let headers = [("x-fleet-hops", list.as_str())];
        let rejected = rig.call_as(&headers, "SendMessage", message("x")).await;
        let rejected = &rejected["result"]["task"];
        assert_eq!(state(rejected), "TASK_STATE_REJECTED", "{list}: {rejected}");
    }
    assert!(peer.service.is_quiet(), "nothing of that went on");
}
