//! The fleet plugin's dialect through its own address and where it is recognised at others.

use serde_json::{Value, json};
use std::time::Duration;

use crate::rig::{Answer, ECHO, Rig, Store, message, over_stores, script_agent};

pub(crate) const ADDRESS: &str = "/fleet/a2a/worker";
/// Asks once, then answers.
const ASKING: &str = r#"if grep -q yes; then echo ok; else echo '[INPUT_REQUIRED] sure?'; fi"#;

async fn worker(store: Store) -> Rig {
    Rig::start(store, &ECHO.replace("agents.echo", "agents.worker")).await
}

pub(crate) fn sent(id: &str, text: &str) -> Value {
    json!({"id": id, "message": {"message_id": format!("m-{id}"), "role": 1, "parts": [{"text": text}],
        "metadata": {"intent": "consultation", "sender_name": "alice"}}})
}

async fn call(
    rig: &Rig,
    path: &str,
    headers: &[(&str, &str)],
    method: &str,
    params: Value,
) -> Answer {
    let body = json!({"jsonrpc": "2.0", "id": "r1", "method": method, "params": params});
    rig.post(path, headers, &body.to_string()).await
}

pub(crate) async fn rpc(rig: &Rig, method: &str, params: Value) -> Answer {
    call(rig, ADDRESS, &[], method, params).await
}

fn refusal(answer: &Answer) -> (u16, i64) {
    (
        answer.status,
        answer.json["error"]["code"].as_i64().unwrap_or_default(),
    )
}

/// Name and data of each frame.
fn frames(answer: &Answer) -> Vec<(String, Value)> {
    assert_eq!(
        answer.header("content-type"),
        "text/event-stream; charset=utf-8"
    );
    assert!(!answer.header("x-stream-id").is_empty());
    let text = std::str::from_utf8(&answer.body).unwrap();
    let frame = |frame: &str| {
        let line = |name: &str| {
            frame
                .lines()
                .find_map(|line| line.strip_prefix(name))
                .unwrap()
                .to_owned()
        };
        (
            line("event: "),
            serde_json::from_str(&line("data: ")).unwrap(),
        )
    };
    text.split("\n\n")
        .filter(|piece| piece.contains("data: "))
        .map(frame)
        .collect()
}

fn names(frames: &[(String, Value)]) -> Vec<&str> {
    frames.iter().map(|(name, _)| name.as_str()).collect()
}

over_stores! {
    async fn a_task_goes_by_the_id_its_caller_chose(store: Store) {
        let rig = worker(store).await;
        for path in [ADDRESS, "/fleet/a2a/worker/", "/fleet/a2a/worker/rpc/any"] {
            let id = format!("t{}", path.len());
            let answer = call(&rig, path, &[], "SendMessage", sent(&id, "hi")).await;
            assert_eq!((answer.status, answer.header("a2a-version")), (200, "1.0"));
            assert_eq!(answer.json["id"], "r1");
            let task = &answer.json["result"]["task"];
            assert_eq!((&task["id"], &task["context_id"]), (&json!(id), &json!(id)));
            assert_eq!(task["status"]["state"], "completed");
            let time = task["status"]["timestamp"].as_str().unwrap();
            assert!(time.len() == 20 && time.ends_with('Z'), "{time}");
            assert_eq!(task["artifacts"][0]["parts"], json!([{"text": "hi"}]));
            assert_eq!(task["artifacts"][0]["index"], 0);
            let read = call(&rig, path, &[], "GetTask", json!({"id": id})).await;
            assert_eq!(&read.json["result"]["task"], task, "with its text and its context");
        }
        let page = rpc(&rig, "ListTasks", json!({"pageSize": 2})).await.json["result"].clone();
        assert_eq!((&page["pageSize"], &page["totalSize"]), (&json!(2), &json!(3)));
        let tasks = page["task"].as_array().unwrap();
        assert_eq!(tasks.len(), 2);
        assert!(tasks.iter().all(|task| task["artifacts"][0]["parts"][0]["text"] == "hi" && task["id"].as_str().unwrap().starts_with('t')));
        let foreign = rpc(&rig, "ListTasks", json!({"continuationToken": "MjA="})).await;
        assert_eq!(refusal(&foreign), (400, -32600), "not one of ours");
        let next = json!({"pageSize": 2, "continuationToken": page["nextPageToken"]});
        let next = rpc(&rig, "ListTasks", next).await.json["result"].clone();
        assert_eq!((next["task"].as_array().unwrap().len(), &next["nextPageToken"]), (1, &json!("")));
    }

    async fn rest_answers_a_send_with_the_bare_task_and_its_text(store: Store) {
        let rig = worker(store).await;
        let task = rig.post("/fleet/a2a/worker/message:send", &[], &sent("t1", "hi").to_string()).await.json;
        assert_eq!((&task["id"], &task["status"]["state"]), (&json!("t1"), &json!("completed")));
        assert_eq!(task["artifacts"][0]["parts"][0]["text"], "hi");
        let get = |path: &str| format!("{ADDRESS}{path}");
        let read = rig.get(&get("/tasks/t1"), &[]).await;
        assert_eq!((read.status, &read.json), (200, &json!({"task": task})));
        let list = rig.get(&get("/tasks?page_size=1&continuation_token="), &[]).await.json;
        assert_eq!(list, json!({"task": [task], "pageSize": 1, "totalSize": 1, "nextPageToken": ""}));
        let health = rig.get(&get("/health"), &[]).await.json;
        assert_eq!((&health["status"], &health["agent"]), (&json!("ok"), &json!("worker")));
        let card = rig.get(&get("/.well-known/agent.json"), &[]).await.json;
        assert_eq!(card["supported_interfaces"][0]["protocol_binding"], "http://a2a-protocol.hermes.ai");
        assert_eq!(card["url"], format!("{}{ADDRESS}", rig.base));
        assert_eq!((&card["agentId"], &card["protocol"]), (&json!("worker"), &json!("a2a")));
        for (verb, path, status) in [
            ("GET", "/tasks/nope", 404), ("GET", "/nothing", 404), ("DELETE", "/tasks/t1", 404),
            ("GET", "/extendedAgentCard", 404), ("POST", "/tasks/t1:cancel", 409), ("GET", "", 405),
            ("GET", "/.well-known/agent-card.json", 404),
        ] {
            let answer = rig.bare(verb, &get(path), &[]).await;
            assert_eq!(answer.status, status, "{verb} {path} {}", answer.json);
        }
        assert_eq!(rig.get("/fleet/a2a/nobody/tasks", &[]).await.status, 404);
    }

    async fn errors_have_the_codes_of_the_dialect_and_their_statuses(store: Store) {
        let rig = worker(store).await;
        rpc(&rig, "SendMessage", sent("t1", "hi")).await;
        let unknown = rpc(&rig, "GetTask", json!({"id": "nope"})).await;
        assert_eq!(unknown.json, json!({"jsonrpc": "2.0", "id": "r1",
            "error": {"code": -38000, "message": "Task not found: nope", "data": null}}));
        for (method, params, expected) in [
            ("GetTask", json!({"id": "nope"}), (404, -38000)),
            ("CancelTask", json!({"id": "nope"}), (404, -38000)),
            ("SubscribeToTask", json!({"taskId": "nope"}), (404, -38000)),
            ("CancelTask", json!({"id": "t1"}), (409, -38001)),
            ("SendMessage", sent("t1", "other"), (409, -38004)),
            ("SendMessage", sent("t1", "hi"), (409, -38004)),
            ("SendMessage", json!({}), (400, -32600)),
            ("GetTask", json!({}), (400, -32600)),
            ("message/send", sent("t2", "hi"), (404, -32601)),
            ("SendStreamingMessage", sent("t2", "hi"), (404, -32601)),
        ] {
            assert_eq!(refusal(&rpc(&rig, method, params.clone()).await), expected, "{method} {params}");
        }
        assert_eq!(refusal(&rig.post(ADDRESS, &[], "{").await), (400, -32700));
        let old = r#"{"jsonrpc":"1.0","id":1,"method":"GetTask","params":{"id":"t1"}}"#;
        assert_eq!(refusal(&rig.post(ADDRESS, &[], old).await), (400, -32600));
        let conflict = rig.post("/fleet/a2a/worker/message:send", &[], &sent("t1", "x").to_string()).await;
        assert_eq!(refusal(&conflict), (409, -38004));
        let typed = rig.post(ADDRESS, &[("content-type", "text/plain")], "{}").await;
        assert_eq!(refusal(&typed), (415, -32600));
        let empty = rpc(&rig, "SendMessage", sent("t9", " ")).await;
        assert_eq!(empty.json["result"]["task"]["status"]["state"], "failed");
        assert_eq!(empty.json["result"]["task"]["status"]["message"]["parts"][0]["text"], "Empty message");
    }

    async fn a_key_names_one_run_however_many_send_it(store: Store) {
        let script = r#"echo x >> "$NUNCIO_TEST_RUNS"; sleep 0.3; cat"#;
        let runs = tempfile::NamedTempFile::new().unwrap();
        let script = script.replace("$NUNCIO_TEST_RUNS", runs.path().to_str().unwrap());
        let rig = Rig::start(store, &script_agent("worker", &script, "")).await;
        let mut params = sent("t1", "hi");
        params["idempotencyKey"] = json!("k1");
        // The order of members says nothing.
        let other_order = r#"{"message":{"metadata":{"sender_name":"alice","intent":"consultation"},"parts":[{"text":"hi"}],"role":1,"message_id":"m-t1"},"idempotencyKey":"k1","id":"t1"}"#;
        let body = format!(r#"{{"jsonrpc":"2.0","id":"r1","method":"SendMessage","params":{other_order}}}"#);
        let (one, two, three) = tokio::join!(
            rpc(&rig, "SendMessage", params.clone()),
            rpc(&rig, "SendMessage", params.clone()),
            rig.post(ADDRESS, &[], &body),
        );
        for answer in [&one, &two, &three] {
            assert_eq!(answer.status, 200, "{}", answer.json);
            assert_eq!(answer.json["result"], one.json["result"]);
        }
        let again = rpc(&rig, "SendMessage", params.clone()).await;
        assert_eq!(again.json["result"], one.json["result"]);
        assert_eq!(std::fs::read_to_string(runs.path()).unwrap(), "x\n");
        params["message"]["parts"][0]["text"] = json!("ho");
        assert_eq!(refusal(&rpc(&rig, "SendMessage", params.clone()).await), (409, -38004));
        params["idempotencyKey"] = json!("k2");
        assert_eq!(refusal(&rpc(&rig, "SendMessage", params).await), (409, -38004));
        let (one, two) = tokio::join!(rpc(&rig, "SendMessage", sent("t2", "a")), rpc(&rig, "SendMessage", sent("t2", "b")));
        let mut statuses = [one.status, two.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409], "one id, one task");
    }

    async fn a_stream_names_its_events_and_ends_once_with_the_text(store: Store) {
        let rig = worker(store).await;
        let stream = rig.post("/fleet/a2a/worker/message:stream", &[], &sent("t1", "hi").to_string()).await;
        let events = frames(&stream);
        assert_eq!(names(&events), ["TaskStarted", "TaskArtifactUpdate", "TaskCompleted"]);
        let (_, started) = &events[0];
        assert_eq!((&started["taskId"], &started["contextId"], &started["event"]), (&json!("t1"), &json!("t1"), &json!("TaskStarted")));
        assert_eq!(events[1].1["artifact"]["parts"][0]["text"], "hi");
        let status = &events[2].1["status"];
        assert_eq!(status["state"], "completed");
        assert_eq!(status["message"], json!({"role": "agent", "parts": [{"text": "hi"}]}));
        assert!(events.iter().all(|(_, data)| data["taskId"] == "t1"));
        for ended in [
            rpc(&rig, "SubscribeToTask", json!({"taskId": "t1"})).await,
            rig.get("/fleet/a2a/worker/tasks/t1:subscribe", &[]).await,
        ] {
            let events = frames(&ended);
            assert_eq!(names(&events), ["TaskCompleted"]);
            assert_eq!(events[0].1["status"]["message"]["parts"][0]["text"], "hi");
        }
        let mut keyed = sent("t2", "ho");
        keyed["idempotencyKey"] = json!("k");
        rpc(&rig, "SendMessage", keyed.clone()).await;
        let replayed = rig.post("/fleet/a2a/worker/message:stream", &[], &keyed.to_string()).await;
        assert_eq!(names(&frames(&replayed)), ["TaskCompleted"]);
        let empty = rig.post("/fleet/a2a/worker/message:stream", &[], &sent("t3", "").to_string()).await;
        assert_eq!(names(&frames(&empty)), ["TaskFailed"]);
        let failing = Rig::start(store, &script_agent("worker", "echo broken >&2; exit 3", "")).await;
        let stream = failing.post("/fleet/a2a/worker/message:stream", &[], &sent("t1", "x").to_string()).await;
        let events = frames(&stream);
        assert_eq!(names(&events).last(), Some(&"TaskFailed"));
        assert!(events.last().unwrap().1["status"]["message"]["parts"][0]["text"].is_string());
    }

    async fn a_send_that_returns_at_once_leaves_a_task_to_ask_for_and_cancel(store: Store) {
        let rig = Rig::start(store, &script_agent("worker", "sleep 30", "")).await;
        let mut params = sent("t1", "x");
        params["configuration"] = json!({"return_immediately": true});
        let task = rpc(&rig, "SendMessage", params).await.json["result"]["task"].clone();
        assert_eq!(task["status"]["state"], "working");
        assert!(task["status"]["message"]["parts"][0]["text"].as_str().unwrap().contains("poll"));
        let read = rpc(&rig, "GetTask", json!({"id": "t1"})).await.json;
        assert_eq!(read["result"]["task"]["status"]["state"], "working");
        let subscribed = rig.request(rig.post_request(ADDRESS, &[], &json!({"jsonrpc": "2.0", "id": 1,
            "method": "SubscribeToTask", "params": {"taskId": "t1"}}).to_string())).await;
        let canceled = rig.post("/fleet/a2a/worker/tasks/t1:cancel", &[], "{}").await;
        assert_eq!((canceled.status, &canceled.json["task"]["status"]["state"]), (200, &json!("canceled")));
        let events = frames(&Answer::of(subscribed).await);
        assert_eq!(names(&events), ["TaskStarted", "TaskCanceled"]);
    }

    async fn a_question_is_answered_under_the_same_id(store: Store) {
        let rig = Rig::start(store, &script_agent("worker", ASKING, "")).await;
        let mut first = sent("t1", "order");
        first["idempotencyKey"] = json!("k");
        let asked = rpc(&rig, "SendMessage", first.clone()).await.json["result"]["task"].clone();
        assert_eq!(asked["status"]["state"], "input_required");
        assert_eq!(asked["status"]["message"]["parts"][0]["text"], "sure?");
        let repeated = rpc(&rig, "SendMessage", first).await.json["result"]["task"].clone();
        assert_eq!(repeated, asked, "a repeat is no answer");
        let done = rpc(&rig, "SendMessage", sent("t1", "yes")).await.json["result"]["task"].clone();
        assert_eq!((&done["id"], &done["status"]["state"]), (&json!("t1"), &json!("completed")));
        let mut second = sent("t2", "order");
        rpc(&rig, "SendMessage", second.clone()).await;
        second["message"]["parts"][0]["text"] = json!("yes");
        second["message"]["task_id"] = json!("t2");
        let done = rpc(&rig, "SendMessage", second).await.json["result"]["task"].clone();
        assert_eq!((&done["id"], &done["status"]["state"]), (&json!("t2"), &json!("completed")));
    }

    async fn at_the_usual_address_its_callers_are_recognised(store: Store) {
        let rig = worker(store).await;
        for path in ["/", "/agents/worker"] {
            let id = format!("t{}", path.len());
            let task = call(&rig, path, &[("a2a-version", "1.0")], "SendMessage", sent(&id, "hi")).await.json["result"]["task"].clone();
            assert_eq!((&task["id"], &task["status"]["state"]), (&json!(id), &json!("completed")));
            for method in ["GetTask", "SubscribeToTask"] {
                let read = call(&rig, path, &[], method, json!({"id": id})).await;
                if method == "GetTask" {
                    assert_eq!(read.json["result"]["task"], task, "later calls keep the dialect");
                } else {
                    assert_eq!(names(&frames(&read)), ["TaskCompleted"]);
                }
            }
            let cancel = call(&rig, path, &[], "CancelTask", json!({"id": id})).await;
            assert_eq!(refusal(&cancel), (409, -38001));
            let old = call(&rig, path, &[], "tasks/get", json!({"id": id})).await;
            assert_eq!(old.json["error"]["code"], -32001, "an old name is nobody of the fleet");
        }
        let plugin = [("user-agent", "Hermes-A2A/3.0"), ("a2a-version", "1.0")];
        let unknown = call(&rig, "/", &plugin, "GetTask", json!({"id": "nope"})).await;
        assert_eq!(refusal(&unknown), (404, -38000));
        let listed = call(&rig, "/", &plugin, "ListTasks", json!({})).await.json["result"]["task"].clone();
        assert_eq!(listed.as_array().unwrap().len(), 2);
        let unnamed = json!({"message": {"message_id": "m", "role": 1, "parts": [{"text": "x"}]}});
        let ours = call(&rig, "/", &plugin, "SendMessage", unnamed).await.json["result"]["task"]["id"].clone();
        let read = call(&rig, "/", &[], "GetTask", json!({"id": ours})).await.json;
        assert_eq!(read["result"]["task"]["id"], ours);
        // Numbers for roles and snake_case alone are 1.0 that is spelled otherwise.
        let plain = json!({"message": {"message_id": "m", "role": 1, "parts": [{"text": "x"}]}});
        let plain = call(&rig, "/", &[], "SendMessage", plain).await.json["result"]["task"].clone();
        assert_eq!(plain["status"]["state"], "TASK_STATE_COMPLETED");
    }

    async fn a_task_of_another_caller_does_not_exist(store: Store) {
        let tokens = "[security]\npeer_tokens = { alice = \"env:ALICE\", bob = \"env:BOB\" }\n";
        let rig = Rig::start(store, &format!("{}{tokens}", ECHO.replace("echo]", "worker]"))).await;
        let (alice, bob) = ([("authorization", "Bearer alice")], [("authorization", "Bearer bob")]);
        let nobody = rpc(&rig, "SendMessage", sent("t1", "hi")).await;
        assert_eq!(refusal(&nobody), (401, -32603));
        assert!(!nobody.header("www-authenticate").is_empty());
        let hers = call(&rig, ADDRESS, &alice, "SendMessage", sent("t1", "hers")).await;
        assert_eq!(hers.status, 200);
        for (method, params) in [("GetTask", json!({"id": "t1"})), ("CancelTask", json!({"id": "t1"})), ("SubscribeToTask", json!({"taskId": "t1"}))] {
            for path in [ADDRESS, "/"] {
                let answer = call(&rig, path, &[bob[0], ("user-agent", "Hermes-A2A/3.0")], method, params.clone()).await;
                assert_eq!(refusal(&answer), (404, -38000), "{method} {path}");
            }
        }
        for (verb, path) in [("GET", "/tasks/t1"), ("GET", "/tasks/t1:subscribe"), ("POST", "/tasks/t1:cancel"),
            ("GET", "/tasks/t1/pushNotificationConfigs"), ("DELETE", "/tasks/t1/pushNotificationConfigs/x")] {
            let answer = rig.bare(verb, &format!("{ADDRESS}{path}"), &bob).await;
            assert_eq!(refusal(&answer), (404, -38000), "{verb} {path}");
            assert_eq!(rig.bare(verb, &format!("{ADDRESS}{path}"), &[]).await.status, 401, "{verb} {path}");
        }
        let his = call(&rig, ADDRESS, &bob, "SendMessage", sent("t1", "his")).await;
        assert_eq!(his.json["result"]["task"]["artifacts"][0]["parts"][0]["text"], "his", "ids of others are free");
        let listed = call(&rig, ADDRESS, &bob, "ListTasks", json!({})).await;
        assert_eq!(listed.json["result"]["totalSize"], 1);
        for public in ["/health", "/.well-known/agent.json"] {
            assert_eq!(rig.get(&format!("{ADDRESS}{public}"), &[]).await.status, 200);
        }
        let card = rig.get(&format!("{ADDRESS}/.well-known/agent.json"), &[]).await.json;
        assert_eq!(card["security_schemes"][0]["type"], "bearer");
    }

    async fn the_dialect_can_be_switched_off(store: Store) {
        let off = format!("{}[compat]\nfleet = false\n", ECHO.replace("echo]", "worker]"));
        let rig = Rig::start(store, &off).await;
        for path in [ADDRESS, "/fleet/a2a/worker/message:send"] {
            assert_eq!(rig.post(path, &[], &sent("t1", "x").to_string()).await.status, 404);
        }
        assert_eq!(rig.get("/fleet/a2a/worker/health", &[]).await.status, 404);
        let plain = call(&rig, "/", &[("user-agent", "Hermes-A2A/3.0")], "SendMessage", sent("t1", "x")).await;
        assert_eq!(plain.json["result"]["task"]["status"]["state"], "TASK_STATE_COMPLETED");
        assert_ne!(plain.json["result"]["task"]["id"], "t1");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ids_and_keys_outlive_the_gateway() {
    let mut rig = worker(Store::Sqlite).await;
    let mut params = sent("t1", "hi");
    params["idempotencyKey"] = json!("k");
    let first = rpc(&rig, "SendMessage", params.clone()).await.json["result"].clone();
    rig.restart(Duration::from_secs(5)).await;
    assert_eq!(rpc(&rig, "SendMessage", params).await.json["result"], first);
    assert_eq!(
        rpc(&rig, "GetTask", json!({"id": "t1"})).await.json["result"],
        first
    );
    let taken = rpc(&rig, "SendMessage", sent("t1", "x")).await;
    assert_eq!(refusal(&taken), (409, -38004));
    let plain = rig.call("SendMessage", message("x")).await;
    assert_eq!(
        plain["result"]["task"]["status"]["state"],
        "TASK_STATE_COMPLETED"
    );
}
