//! The 2025-04 dialect at its own addresses, as OpenFang speaks it.

use serde_json::json;

use crate::rig::{ECHO, Rig, over_stores, script_agent};

fn send(text: &str) -> serde_json::Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/send", "params": {
        "message": {"role": "user", "parts": [{"type": "text", "text": text}]}, "sessionId": "S1"}})
}

over_stores! {
    async fn a_task_is_sent_read_and_its_answer_stands_in_messages_and_artifacts(store: Store) {
        let rig = Rig::start(store, ECHO).await;
        for path in ["/a2a", "/a2a/", "/legacy/echo"] {
            let task = rig.post(path, &[], &send("hi").to_string()).await.json["result"].clone();
            assert_eq!((task["status"].as_str(), task["sessionId"].as_str()), (Some("completed"), Some("S1")), "{task}");
            let said = task["messages"].as_array().unwrap();
            assert_eq!(said[0]["role"], "user");
            assert_eq!(said.last().unwrap()["parts"][0], json!({"type": "text", "text": "hi"}));
            assert_eq!(task["artifacts"][0]["parts"][0]["text"], "hi");
            let get = json!({"jsonrpc": "2.0", "id": 2, "method": "tasks/get", "params": {"id": task["id"]}});
            assert_eq!(rig.post(path, &[], &get.to_string()).await.json["result"], task);
        }
    }

    async fn rest_answers_are_bare_tasks_and_plain_errors(store: Store) {
        let rig = Rig::start(store, ECHO).await;
        let sent = rig.post("/a2a/tasks/send", &[], &send("hi").to_string()).await;
        assert_eq!((sent.status, sent.json["status"].as_str()), (200, Some("completed")), "{}", sent.json);
        let id = sent.json["id"].as_str().unwrap();
        assert_eq!(rig.get(&format!("/a2a/tasks/{id}"), &[]).await.json, sent.json);
        let cancel = rig.post(&format!("/a2a/tasks/{id}/cancel"), &[], "").await;
        assert_eq!((cancel.status, cancel.json["error"].as_str()), (409, Some(format!("Task '{id}' cannot be cancelled").as_str())));
        let unknown = rig.get("/a2a/tasks/nope", &[]).await;
        assert_eq!((unknown.status, unknown.json["error"].as_str()), (404, Some("Task 'nope' not found")));
        let no_text = rig.post("/a2a/tasks/send", &[], r#"{"params":{"message":{"role":"user","parts":[]}}}"#).await;
        assert_eq!(no_text.status, 400, "{}", no_text.json);
    }

    async fn a_caller_may_name_its_task_and_go_on_with_it(store: Store) {
        let script = r#"text=$(cat); if [ "$text" = yes ]; then echo ok; else echo '[INPUT_REQUIRED] sure?'; fi"#;
        let rig = Rig::start(store, &script_agent("worker", script, "")).await;
        let named = |text: &str| {
            let mut body = send(text);
            body["params"]["id"] = json!("their-id");
            body.to_string()
        };
        let asked = rig.post("/a2a", &[], &named("order")).await.json["result"].clone();
        assert_eq!((asked["id"].as_str(), asked["status"].as_str()), (Some("their-id"), Some("inputRequired")), "{asked}");
        let done = rig.post("/a2a", &[], &named("yes")).await.json["result"].clone();
        assert_eq!((done["id"].as_str(), done["status"].as_str()), (Some("their-id"), Some("completed")), "{done}");
        let get = json!({"jsonrpc": "2.0", "id": 2, "method": "tasks/get", "params": {"id": "their-id"}});
        assert_eq!(rig.post("/a2a", &[], &get.to_string()).await.json["result"]["status"], "completed");
    }

    async fn a_cancel_is_spelled_the_old_way(store: Store) {
        let rig = Rig::start(store, &script_agent("worker", "sleep 30", "")).await;
        let task = rig.start_task("x").await;
        let path = format!("/a2a/tasks/{}/cancel", task["id"].as_str().unwrap());
        let canceled = rig.post(&path, &[], "").await;
        assert_eq!((canceled.status, canceled.json["status"].as_str()), (200, Some("cancelled")), "{}", canceled.json);
        let stream = json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/sendSubscribe", "params": {}});
        assert_eq!(rig.post("/a2a", &[], &stream.to_string()).await.json["error"]["code"], -32004);
    }
}
