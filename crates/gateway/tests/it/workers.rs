//! Agents that take only work for a worker.

use serde_json::{Value, json};
use std::time::Duration;

use crate::rig::{LIMIT, Over, Rig, over_bindings, over_databases, script_agent};
use crate::service::{said, status_text, text_of};

const RULES: &str = "[workers]\nagents = [\"digs\"]\ncallers = [\"ip:127.0.0.1\"]\n";
/// Asks once, then says what it was told.
const ASKS: &str = "said=$(cat); case $A2A_TURN in first) echo '[INPUT_REQUIRED] where?';; *) echo \"dug at $said\";; esac";

async fn start(over: Over) -> Rig {
    let echo = "[agents.echo]\nbackend = \"echo\"\n";
    let digs = script_agent("digs", ASKS, "workers_only = true");
    Rig::start(over, &format!("{echo}{digs}{RULES}")).await
}

/// A message to the agent, by its tenant.
fn to_digs(mut params: Value) -> Value {
    params["tenant"] = "digs".into();
    params
}

over_bindings! {
    async fn an_agent_for_workers_takes_no_ordinary_message_but_a_workers_whole_task(over: Over) {
        let rig = start(over).await;
        let refused = rig.call("SendMessage", to_digs(said("dig", None, None))).await;
        assert!(refused["error"].to_string().contains("only work for a worker"), "{refused}");
        let mut params = to_digs(said("dig", None, None));
        params["metadata"] = json!({"hermes": {"route": "worker"}});
        let asked = rig.call("SendMessage", params).await["result"]["task"].clone();
        assert_eq!(status_text(&asked), "where?", "{asked}");
        let (context, id) = (asked["contextId"].as_str(), asked["id"].as_str());
        let done = rig.call("SendMessage", to_digs(said("the tree", context, id))).await;
        let done = &done["result"]["task"];
        assert_eq!(text_of(done).trim(), "dug at the tree", "{done}");
    }
}

#[tokio::test]
async fn no_list_tells_of_an_agent_for_workers_and_those_who_know_it_get_its_card() {
    let rig = start(crate::rig::Store::Memory.into()).await;
    for list in ["/.well-known/ai-catalog.json", "/a2a/agents"] {
        let listed = rig.get(list, &[]).await;
        let text = listed.json.to_string();
        assert!(
            text.contains("echo") && !text.contains("digs"),
            "{list}: {text}"
        );
    }
    let card = rig
        .get("/agents/digs/.well-known/agent-card.json", &[])
        .await;
    assert_eq!(card.json["name"], "digs");
}

/// What a worker is asked.
fn work(text: &str) -> Value {
    let mut params = to_digs(said(text, None, None));
    params["metadata"] = json!({"hermes": {"route": "worker"}});
    params
}

over_databases! {
    async fn nothing_is_left_of_a_worker_that_the_gateways_end_cut_off(store: Store) {
        let digs = script_agent("digs", "echo at work; exec sleep 600", "workers_only = true");
        let mut rig = Rig::start(store, &format!("{digs}{RULES}")).await;
        let mut frames = rig.stream(&[], "SendStreamingMessage", work("dig")).await;
        let id = frames.result().await["task"]["id"].clone();
        while frames.result().await["artifactUpdate"].is_null() {}
        let workers = rig.dir.path().join("workers");
        let count = || workers.read_dir().map_or(0, Iterator::count);
        assert_eq!(count(), 1);
        rig.restart(Duration::ZERO).await;
        let task = rig.call("GetTask", json!({"id": id})).await["result"].clone();
        assert_eq!(task["status"]["state"], "TASK_STATE_FAILED", "{task}");
        // Its end waits for what the start began.
        rig.restart(LIMIT).await;
        assert_eq!(count(), 0);
    }
}
