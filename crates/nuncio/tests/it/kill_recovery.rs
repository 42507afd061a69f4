//! kill -9 in the middle of mixed work: nothing acknowledged is lost, nothing is stuck.
//!
//! The judge is the list of answers the callers got before the kill.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::program::Place;

/// Tasks that are acknowledged before the kill.
const TASKS: usize = 200;
/// Callers at once.
const CALLERS: usize = 8;
/// By then every task that ran or waited at the kill has ended.
const SETTLED_WITHIN: Duration = Duration::from_secs(60);

const CONFIG: &str = r#"
[agents.worker]
backend = "command"
command = ["./worker.sh"]
max_concurrent_turns = 4
max_queued_turns = 1000

[agents.echo]
backend = "echo"
"#;

const WORKER: &str = r#"
text=$(cat)
case $text in
  ask*) echo '[INPUT_REQUIRED] which one?' ;;
  hang*) sleep 1; echo "woke from $text" ;;
  *) echo "did $text" ;;
esac
"#;

struct Caller {
    client: Client<HttpConnector, Full<Bytes>>,
    url: String,
}

impl Caller {
    fn new(url: &str) -> Self {
        let client = Client::builder(TokioExecutor::new()).build_http();
        Self {
            client,
            url: url.trim_end_matches('/').to_owned(),
        }
    }

    /// The result of a call; `None` when the gateway is gone.
    async fn call(&self, path: &str, method: &str, params: Value) -> Option<Value> {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let request = hyper::Request::post(format!("{}{path}", self.url))
            .header("content-type", "application/json")
            .header("a2a-version", "1.0")
            .body(Full::new(Bytes::from(body.to_string())))
            .ok()?;
        let answer = self.client.request(request).await.ok()?;
        let bytes = answer.into_body().collect().await.ok()?.to_bytes();
        let answer: Value = serde_json::from_slice(&bytes).ok()?;
        assert!(answer["error"].is_null(), "{answer}");
        Some(answer["result"].clone())
    }
}

/// The path of the agent, the text and whether the caller waits: a mix by number.
fn work(number: usize) -> (&'static str, String, bool) {
    match number % 5 {
        0 => ("/agents/echo", format!("echo {number}"), true),
        1 => ("/agents/worker", format!("ask {number}"), false),
        2 => ("/agents/worker", format!("hang {number}"), false),
        3 => ("/agents/worker", format!("do {number}"), false),
        _ => ("/agents/echo", format!("quick {number}"), false),
    }
}

fn send_params(number: usize, text: &str, waits: bool) -> Value {
    json!({
        "message": {"messageId": format!("m-{number}"), "role": "ROLE_USER", "parts": [{"text": text}]},
        "configuration": {"returnImmediately": !waits},
    })
}

/// Acknowledged tasks: id to agent's path and what the answer said.
type Acknowledged = BTreeMap<String, (&'static str, Value)>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost_when_the_gateway_is_killed() {
    let place = Place::new();
    place.write("nuncio.toml", CONFIG);
    place.script("worker.sh", WORKER);
    let served = place.serve(&["--config", "nuncio.toml"]);
    let acknowledged = acknowledge_then_kill(served).await;
    assert!(acknowledged.len() >= TASKS, "{}", acknowledged.len());

    let served = place.serve(&["--config", "nuncio.toml"]);
    let caller = Caller::new(&served.url);
    wait_until_settled(&caller).await;
    let mut states: BTreeMap<String, usize> = BTreeMap::new();
    for (id, (path, told)) in &acknowledged {
        let task = caller
            .call(path, "GetTask", json!({"id": id}))
            .await
            .expect("served");
        let state = task["status"]["state"].as_str().expect("a state");
        *states.entry(state.to_owned()).or_default() += 1;
        if told["status"]["state"] == "TASK_STATE_COMPLETED" {
            assert_eq!(task["artifacts"], told["artifacts"], "{id}");
        }
        match state {
            "TASK_STATE_COMPLETED" => assert!(task["artifacts"][0].is_object(), "{task}"),
            "TASK_STATE_FAILED" => {
                assert_eq!(
                    task["status"]["message"]["metadata"]["reason"], "worker_lost",
                    "{task}"
                );
            }
            "TASK_STATE_INPUT_REQUIRED" => answer(&caller, path, id).await,
            _ => panic!("stuck: {task}"),
        }
    }
    println!("acknowledged {}: {states:?}", acknowledged.len());
}

/// Sends until enough tasks are acknowledged, then kills the gateway at once, with calls under way.
async fn acknowledge_then_kill(served: crate::program::Served) -> Acknowledged {
    let (tell, mut told) = mpsc::unbounded_channel();
    let caller = Arc::new(Caller::new(&served.url));
    let mut senders = Vec::new();
    for first in 0..CALLERS {
        let (tell, caller) = (tell.clone(), caller.clone());
        senders.push(tokio::spawn(async move {
            for number in (first..).step_by(CALLERS) {
                let (path, text, waits) = work(number);
                let params = send_params(number, &text, waits);
                let Some(result) = caller.call(path, "SendMessage", params).await else {
                    return;
                };
                if tell.send((path, result["task"].clone())).is_err() {
                    return;
                }
            }
        }));
    }
    drop(tell);
    let mut acknowledged = Acknowledged::new();
    let mut keep = |(path, task): (&'static str, Value)| {
        let id = task["id"].as_str().expect("an id").to_owned();
        acknowledged.insert(id, (path, task));
        acknowledged.len()
    };
    while let Some(answer) = told.recv().await {
        if keep(answer) == TASKS {
            break;
        }
    }
    // A dropped gateway is killed with SIGKILL.
    drop(served);
    while let Some(answer) = told.recv().await {
        keep(answer);
    }
    for sender in senders {
        sender.await.expect("no caller panicked");
    }
    acknowledged
}

/// Waits until no task is queued or running.
async fn wait_until_settled(caller: &Caller) {
    let started = Instant::now();
    loop {
        let mut open = 0;
        for (path, state) in [
            ("/agents/worker", "TASK_STATE_WORKING"),
            ("/agents/worker", "TASK_STATE_SUBMITTED"),
            ("/agents/echo", "TASK_STATE_WORKING"),
        ] {
            let page = caller
                .call(path, "ListTasks", json!({"status": state}))
                .await
                .expect("served");
            open += page["totalSize"].as_u64().expect("a number");
        }
        if open == 0 {
            return;
        }
        assert!(started.elapsed() < SETTLED_WITHIN, "{open} tasks are stuck");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn answer(caller: &Caller, path: &str, id: &str) {
    let params = json!({"message": {"messageId": "a", "taskId": id, "role": "ROLE_USER", "parts": [{"text": "that"}]}});
    let result = caller
        .call(path, "SendMessage", params)
        .await
        .expect("served");
    assert_eq!(
        result["task"]["status"]["state"], "TASK_STATE_COMPLETED",
        "{result}"
    );
}
