//! The JSON-RPC envelope, versions and dialects at the socket.

use serde_json::{Value, json};

use crate::rig::{ECHO, Rig, Store, artifact_text, message};

#[tokio::test]
async fn every_body_gets_one_answer_with_the_right_code_and_id() {
    let rig = Rig::start(Store::Memory, ECHO).await;
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let cases: Vec<(String, i64, Value)> = vec![
        (String::new(), -32700, Value::Null),
        (r#"{"jsonrpc":"2.0","#.to_owned(), -32700, Value::Null),
        (deep, -32700, Value::Null),
        ("[]".to_owned(), -32600, Value::Null),
        (
            r#"{"jsonrpc":"1.0","id":7,"method":"GetTask"}"#.to_owned(),
            -32600,
            json!(7),
        ),
        (r#"{"jsonrpc":"2.0","id":7}"#.to_owned(), -32600, json!(7)),
        (
            r#"{"jsonrpc":"2.0","method":"ListTasks"}"#.to_owned(),
            -32600,
            Value::Null,
        ),
        (
            r#"{"jsonrpc":"2.0","id":{},"method":"ListTasks"}"#.to_owned(),
            -32600,
            Value::Null,
        ),
        (
            r#"{"jsonrpc":"2.0","id":"a","method":"ListTasks","params":[]}"#.to_owned(),
            -32602,
            json!("a"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1.5,"method":"sendmessage"}"#.to_owned(),
            -32601,
            json!(1.5),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","method":"CancelTask"}"#.to_owned(),
            -32600,
            json!(1),
        ),
    ];
    for (body, code, id) in cases {
        let answer = rig.post("/", &[], &body).await;
        let shown: String = body.chars().take(80).collect();
        assert_eq!(answer.status, 200, "{shown}");
        assert_eq!(
            answer.json["error"]["code"], code,
            "{shown} {}",
            answer.json
        );
        assert_eq!(answer.json["id"], id, "{shown} {}", answer.json);
        assert_eq!(answer.header("a2a-version"), "1.0");
    }
    let bytes = rig.post("/", &[], "\u{feff}{}").await;
    assert_eq!(bytes.json["error"]["code"], -32700);
    assert_eq!(
        rig.send("still there").await["status"]["state"],
        "TASK_STATE_COMPLETED"
    );
}

#[tokio::test]
async fn the_version_is_checked_before_anything_else() {
    let rig = Rig::start(Store::Memory, ECHO).await;
    for method in ["SendMessage", "GetTask", "message/send", "nonsense"] {
        for version in ["99.0", "2.0", "1.0,0.3", "x"] {
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {}});
            let answer = rig
                .post("/", &[("a2a-version", version)], &body.to_string())
                .await;
            assert_eq!(answer.json["error"]["code"], -32009, "{method} {version}");
        }
    }
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "ListTasks"}).to_string();
    let answer = rig.post("/?A2A-Version=99.0", &[], &body).await;
    assert_eq!(answer.json["error"]["code"], -32009);
}

#[tokio::test]
async fn each_request_is_served_in_the_dialect_it_speaks() {
    let rig = Rig::start(Store::Memory, ECHO).await;
    let old = json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {
        "message": {"kind": "message", "messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "hi"}]}}});
    let answer = rig.post("/", &[], &old.to_string()).await;
    let task = &answer.json["result"];
    assert_eq!(
        (task["kind"].as_str(), task["status"]["state"].as_str()),
        (Some("task"), Some("completed")),
        "{task}"
    );
    assert_eq!(task["artifacts"][0]["parts"][0]["kind"], "text");
    assert_eq!(answer.header("a2a-version"), "0.3");
    // Read under an old name without a version: in the dialect it was made in.
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"id": task["id"]}});
    assert_eq!(
        rig.post("/", &[], &body.to_string()).await.json["result"]["kind"],
        "task"
    );
    let new = rig.send("hi").await;
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"id": new["id"]}});
    let read = rig.post("/", &[], &body.to_string()).await.json;
    assert_eq!(
        read["result"]["status"]["state"], "TASK_STATE_COMPLETED",
        "{read}"
    );
    // 1.0 payloads under the old names: bare results.
    let slash =
        json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": message("hi")});
    let answer = rig
        .post("/", &[("a2a-version", "1.0")], &slash.to_string())
        .await;
    assert_eq!(
        answer.json["result"]["status"]["state"], "TASK_STATE_COMPLETED",
        "{}",
        answer.json
    );
}

/// `blocking` is a member of 0.3; 1.0 ignores what it does not know.
#[tokio::test]
async fn the_flag_of_0_3_counts_in_0_3_alone() {
    let rig = Rig::with_script(Store::Memory, "sleep 0.3; echo done").await;
    let mut new = message("go");
    new["configuration"] = json!({"blocking": false});
    let waited = rig.call("SendMessage", new).await;
    let task = &waited["result"]["task"];
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{waited}");
    assert_eq!(artifact_text(task), "done\n");
    let old = |blocking: Value| {
        let parts = json!([{"kind": "text", "text": "go"}]);
        json!({
            "message": {"kind": "message", "messageId": "m", "role": "user", "parts": parts},
            "configuration": {"blocking": blocking},
        })
    };
    for (blocking, state) in [(json!(false), "working"), (json!(true), "completed")] {
        let sent = rig.call_in("0.3", "message/send", old(blocking)).await;
        assert_eq!(sent["result"]["status"]["state"], state, "{sent}");
    }
}

#[tokio::test]
async fn an_endpoint_is_served_with_and_without_a_slash_at_its_end() {
    let rig = Rig::start(Store::Memory, ECHO).await;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": message("x")});
    for path in ["", "/", "/agents/echo", "/agents/echo/"] {
        let answer = rig.post(path, &[], &body.to_string()).await;
        let state = &answer.json["result"]["task"]["status"]["state"];
        assert_eq!(
            (answer.status, state),
            (200, &json!("TASK_STATE_COMPLETED")),
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_0_3_stream_says_when_it_is_over() {
    let rig = Rig::start(Store::Memory, ECHO).await;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "message/stream", "params": {
        "message": {"kind": "message", "messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "hi"}]}}});
    let answer = rig.post("/", &[], &body.to_string()).await;
    let text = String::from_utf8(answer.body.to_vec()).unwrap();
    let last: Value = serde_json::from_str(text.trim().rsplit("data: ").next().unwrap()).unwrap();
    assert_eq!(
        (
            last["result"]["kind"].as_str(),
            last["result"]["final"].as_bool()
        ),
        (Some("status-update"), Some(true)),
        "{text}"
    );
}

#[tokio::test]
async fn a_0_3_client_that_takes_only_events_finds_an_error_in_the_first() {
    let rig = Rig::start(Store::Memory, ECHO).await;
    let body =
        json!({"jsonrpc": "2.0", "id": 3, "method": "tasks/resubscribe", "params": {"id": "none"}});
    let only_events = [("accept", "text/event-stream")];
    let answer = rig.post("/", &only_events, &body.to_string()).await;
    let text = String::from_utf8(answer.body.to_vec()).unwrap();
    let frame: Value = serde_json::from_str(text.trim().strip_prefix("data: ").unwrap()).unwrap();
    assert_eq!(
        (frame["id"].as_i64(), frame["error"]["code"].as_i64()),
        (Some(3), Some(-32001))
    );
    let plain = rig.post("/", &[], &body.to_string()).await;
    assert_eq!(plain.json["error"]["code"], -32001);
}

#[tokio::test]
async fn the_old_names_can_be_switched_off_and_the_version_made_a_must() {
    let strict = format!("{ECHO}[compat]\nv0_3 = false\nstrict_version = true\n");
    let rig = Rig::start(Store::Memory, &strict).await;
    let call = |method: &str| {
        json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {}}).to_string()
    };
    assert_eq!(
        rig.post("/", &[], &call("message/send")).await.json["error"]["code"],
        -32601
    );
    assert_eq!(
        rig.post("/", &[], &call("ListTasks")).await.json["error"]["code"],
        -32009
    );
    assert!(
        rig.post("/", &[("a2a-version", "1.0")], &call("ListTasks"))
            .await
            .json["result"]
            .is_object()
    );
}

#[tokio::test]
async fn answers_and_frames_carry_the_id_of_the_request() {
    let rig = Rig::start(Store::Memory, ECHO).await;
    for (method, params, id) in [
        ("SendStreamingMessage", message("x"), json!("s")),
        ("SubscribeToTask", json!({}), json!(9)),
        ("SendMessage", message("x"), json!(1.5)),
        ("SendMessage", message("x"), json!(0)),
        ("SendMessage", message("x"), json!("")),
        (
            "SendMessage",
            message("x"),
            json!(9_007_199_254_740_992_i64),
        ),
        ("SendMessage", message("x"), Value::Null),
    ] {
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let answer = rig.post("/", &[], &body.to_string()).await;
        let text = String::from_utf8(answer.body.to_vec()).unwrap();
        let jsons = text
            .lines()
            .filter_map(|line| match line.strip_prefix("data: ") {
                Some(data) => Some(data),
                None => Some(line).filter(|line| line.starts_with('{')),
            });
        let mut count = 0;
        for json in jsons {
            let json: Value = serde_json::from_str(json).unwrap();
            assert_eq!((&json["jsonrpc"], &json["id"]), (&json!("2.0"), &id));
            count += 1;
        }
        assert!(count > 0, "{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_may_be_answered_the_moment_it_is_seen() {
    let config = "[agents.kit]\nbackend = \"conformance\"\nprofile = \"tck\"\n";
    let rig = Rig::start(Store::Memory, config).await;
    for _ in 0..200 {
        let mut ask = message("x");
        ask["message"]["messageId"] = json!("tck-input-required");
        let asked = rig.call("SendMessage", ask).await["result"]["task"].clone();
        assert_eq!(asked["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
        let mut reply = message("x");
        reply["message"]["messageId"] = json!("tck-complete-task");
        reply["message"]["taskId"] = asked["id"].clone();
        let answer = rig.call("SendMessage", reply).await;
        assert_eq!(
            answer["result"]["task"]["status"]["state"], "TASK_STATE_COMPLETED",
            "{answer}"
        );
    }
}
