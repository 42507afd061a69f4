//! HTTP+JSON of 0.3 below `/v1`, in the form of its text and in that of its official SDKs.

use serde_json::{Value, json};

use crate::rig::{Answer, ECHO, Rig, Store, message, script_agent};

/// A send as the 0.3 client of the official SDK's 1.x line writes it.
fn proto_send(text: &str) -> String {
    json!({"request": {"message_id": "m", "role": "ROLE_USER", "content": [{"text": text}]}, "configuration": {"blocking": true}}).to_string()
}

fn text_send(text: &str) -> String {
    json!({"message": {"kind": "message", "messageId": "m", "role": "user", "parts": [{"kind": "text", "text": text}]}, "configuration": {"blocking": true}}).to_string()
}

fn frames(answer: &Answer) -> Vec<Value> {
    let text = String::from_utf8(answer.body.to_vec()).unwrap();
    text.lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

#[tokio::test]
async fn an_answer_has_the_form_of_the_request() {
    let rig = Rig::start(Store::Memory, ECHO).await;
    for base in ["/v1", "/agents/echo/v1"] {
        let proto = rig
            .post(&format!("{base}/message:send"), &[], &proto_send("hi"))
            .await;
        let task = &proto.json["task"];
        assert_eq!(
            (proto.status, proto.header("a2a-version")),
            (200, "0.3"),
            "{proto:?}"
        );
        assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
        assert_eq!(task["history"][0]["content"][0], json!({"text": "hi"}));
        assert_eq!(task["history"][0]["role"], "ROLE_USER");
        assert_eq!(task["artifacts"][0]["parts"][0], json!({"text": "hi"}));
        assert!(!proto.json.to_string().contains("\"kind\""), "{task}");
        let text = rig
            .post(
                &format!("{base}/message:send"),
                &[("a2a-version", "0.3")],
                &text_send("hi"),
            )
            .await;
        let task = &text.json["task"];
        assert_eq!(
            (&task["kind"], &task["status"]["state"]),
            (&json!("task"), &json!("completed")),
            "{text:?}"
        );
        assert_eq!(
            task["history"][0]["parts"][0],
            json!({"kind": "text", "text": "hi"})
        );
        // A GET shows no form: the SDKs' own.
        let id = task["id"].as_str().unwrap();
        let read = rig
            .get(&format!("{base}/tasks/{id}?historyLength=0"), &[])
            .await
            .json;
        assert_eq!(read["status"]["state"], "TASK_STATE_COMPLETED", "{read}");
        assert_eq!(
            read["history"].as_array().unwrap().len(),
            1,
            "0 means all of it"
        );
        // And 1.0 reads the same task.
        assert_eq!(
            rig.get_task(id).await["status"]["state"],
            "TASK_STATE_COMPLETED"
        );
    }
}

#[tokio::test]
async fn every_kind_of_part_comes_and_goes() {
    let rig = Rig::start(Store::Memory, ECHO).await;
    let parts = json!([
        {"text": "t"},
        {"file": {"fileWithBytes": "QVFJPQ==", "mimeType": "a/b", "name": "f"}},
        {"file": {"fileWithUri": "https://x.example/f", "mimeType": "a/b"}},
        {"data": {"data": {"n": 1.0, "data": {}}}},
        {"data": {"data": {"value": [1, 2]}}, "metadata": {"data_part_compat": true}},
    ]);
    let body = json!({"message": {"messageId": "m", "role": "ROLE_USER", "content": parts}});
    let task = rig
        .post("/v1/message:send", &[], &body.to_string())
        .await
        .json["task"]
        .clone();
    assert_eq!(task["history"][0]["content"], parts, "{task}");
    let now = rig.get_task(task["id"].as_str().unwrap()).await;
    assert_eq!(
        now["history"][0]["parts"][3]["data"],
        json!({"n": 1.0, "data": {}})
    );
    assert_eq!(now["history"][0]["parts"][4], json!({"data": [1, 2]}));
    assert_eq!(
        now["history"][0]["parts"][1],
        json!({"raw": "AQI=", "mediaType": "a/b", "filename": "f"})
    );
}

/// The official Python SDK puts the base64 text of a file where the proto has its bytes.
#[tokio::test]
async fn files_are_taken_as_bytes_and_as_the_text_of_bytes() {
    let rig = Rig::start(Store::Memory, ECHO).await;
    for (bytes, raw) in [("AQI=", "AQI="), ("QVFJPQ==", "AQI="), ("aGkh", "aGkh")] {
        let parts = json!([{"file": {"fileWithBytes": bytes}}]);
        let body = json!({"message": {"messageId": "m", "role": "ROLE_USER", "content": parts}});
        let sent = rig.post("/v1/message:send", &[], &body.to_string()).await;
        let task = rig
            .get_task(sent.json["task"]["id"].as_str().unwrap())
            .await;
        assert_eq!(task["history"][0]["parts"][0]["raw"], raw, "{task}");
    }
}

/// The official JavaScript SDK reads the bytes themselves; what it runs in says so.
#[tokio::test]
async fn files_are_given_as_their_reader_has_them() {
    let rig = Rig::start(Store::Memory, ECHO).await;
    let parts = json!([{"file": {"fileWithBytes": "AP8="}}]);
    let body = json!({"message": {"messageId": "m", "role": "ROLE_USER", "content": parts}});
    let body = body.to_string();
    for (reader, written) in [
        ("node", "AP8="),
        ("Mozilla/5.0 (X11; Linux x86_64)", "AP8="),
        ("python-httpx/0.28.1", "QVA4PQ=="),
        ("", "QVA4PQ=="),
    ] {
        let headers = [("user-agent", reader)];
        let sent = rig.post("/v1/message:send", &headers, &body);
        let sent = sent.await.json;
        let file = &sent["task"]["artifacts"][0]["parts"][0]["file"];
        assert_eq!(file["fileWithBytes"], written, "{reader} {sent}");
        let streamed = rig.post("/v1/message:stream", &headers, &body);
        let streamed = frames(&streamed.await);
        let chunk = streamed.iter().find(|it| it["artifactUpdate"].is_object());
        let file = &chunk.unwrap()["artifactUpdate"]["artifact"]["parts"][0]["file"];
        assert_eq!(file["fileWithBytes"], written, "{reader} {streamed:?}");
    }
}

#[tokio::test]
async fn streams_are_bare_and_say_when_they_are_over() {
    let rig = Rig::start(Store::Memory, ECHO).await;
    let proto = rig.post("/v1/message:stream", &[], &proto_send("hi")).await;
    assert_eq!(proto.header("content-type"), "text/event-stream");
    let events = frames(&proto);
    assert_eq!(
        events[0]["task"]["status"]["state"], "TASK_STATE_WORKING",
        "{events:?}"
    );
    assert!(events[0]["task"].get("kind").is_none());
    assert_eq!(
        events[1]["artifactUpdate"]["artifact"]["parts"][0],
        json!({"text": "hi"})
    );
    assert_eq!(events[2]["statusUpdate"]["final"], true);
    let events = frames(&rig.post("/v1/message:stream", &[], &text_send("hi")).await);
    assert_eq!(
        events[0]["task"]["status"]["state"], "working",
        "{events:?}"
    );
    assert_eq!(events[1]["artifactUpdate"]["kind"], "artifact-update");
    assert_eq!(events[2]["statusUpdate"]["final"], true);
}

#[tokio::test]
async fn a_running_task_is_subscribed_to_and_canceled() {
    let rig = Rig::start(Store::Memory, &script_agent("worker", "sleep 30", "")).await;
    let mut body: Value = serde_json::from_str(&proto_send("x")).unwrap();
    body["configuration"]["blocking"] = json!(false);
    let task = rig
        .post("/v1/message:send", &[], &body.to_string())
        .await
        .json["task"]
        .clone();
    assert_eq!(task["status"]["state"], "TASK_STATE_WORKING", "{task}");
    let id = task["id"].as_str().unwrap();
    for verb in ["GET", "POST"] {
        let request = http::Request::builder()
            .method(verb)
            .uri(format!("{}/v1/tasks/{id}:subscribe", rig.base));
        let stream = rig
            .request(request.body(http_body_util::Full::default()).unwrap())
            .await;
        assert_eq!(
            stream.headers()["content-type"],
            "text/event-stream",
            "{verb}"
        );
    }
    // Whatever the body calls the task: the path has named it.
    let canceled = rig
        .post(
            &format!("/v1/tasks/{id}:cancel"),
            &[],
            r#"{"name":"tasks/other"}"#,
        )
        .await;
    assert_eq!(
        canceled.json["status"]["state"], "TASK_STATE_CANCELLED",
        "{canceled:?}"
    );
    let again = rig
        .post(&format!("/v1/tasks/{id}:cancel"), &[], r#"{"id":"other"}"#)
        .await;
    assert_eq!(
        (again.status, again.json["type"].as_str()),
        (400, Some("TaskNotCancelableError")),
        "{again:?}"
    );
}

#[tokio::test]
async fn errors_have_the_members_of_both_generations() {
    let rig = Rig::start(
        Store::Memory,
        "[agents.echo]\nbackend = \"echo\"\ncapabilities = { push_notifications = false }\n",
    )
    .await;
    let answers = [
        (
            rig.get("/v1/tasks/none", &[]).await,
            404,
            "TaskNotFoundError",
            "TASK_NOT_FOUND",
        ),
        (
            rig.get("/v1/card", &[]).await,
            400,
            "UnsupportedOperationError",
            "UNSUPPORTED_OPERATION",
        ),
        (
            rig.post("/v1/message:send", &[], "{}").await,
            400,
            "InvalidParamsError",
            "INVALID_PARAMS",
        ),
        (
            rig.post("/v1/message:stream", &[], "[").await,
            400,
            "JSONParseError",
            "INVALID_REQUEST",
        ),
        (
            rig.get("/v1/tasks/t/pushNotificationConfigs", &[]).await,
            400,
            "PushNotificationNotSupportedError",
            "PUSH_NOTIFICATION_NOT_SUPPORTED",
        ),
    ];
    for (answer, status, name, reason) in answers {
        assert_eq!(
            (answer.status, answer.json["type"].as_str()),
            (status, Some(name)),
            "{answer:?}"
        );
        assert_eq!(answer.json["error"]["details"][0]["reason"], reason);
        assert_eq!(answer.json["message"], answer.json["error"]["message"]);
        assert_eq!(answer.header("a2a-version"), "0.3");
    }
}

#[tokio::test]
async fn extensions_are_echoed_under_both_names() {
    let config = "[agents.echo]\nbackend = \"echo\"\ncapabilities = { extensions = [{ uri = \"urn:x:a\" }] }\n";
    let rig = Rig::start(Store::Memory, config).await;
    let named = [("x-a2a-extensions", "urn:x:a, urn:x:b")];
    let answer = rig.post("/v1/message:send", &named, &proto_send("x")).await;
    assert_eq!(
        (
            answer.header("a2a-extensions"),
            answer.header("x-a2a-extensions")
        ),
        ("urn:x:a", "urn:x:a")
    );
    let rpc = json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": serde_json::from_str::<Value>(&text_send("x")).unwrap()});
    let answer = rig.post("/", &named, &rpc.to_string()).await;
    assert_eq!(
        (
            answer.header("a2a-extensions"),
            answer.header("x-a2a-extensions")
        ),
        ("urn:x:a", "urn:x:a")
    );
    let now = rig
        .post("/message:send", &named, &message("x").to_string())
        .await;
    assert_eq!(
        (now.header("a2a-extensions"), now.header("x-a2a-extensions")),
        ("urn:x:a", "")
    );
    let card = rig.get("/.well-known/agent-card.json", &[]).await.json;
    assert_eq!(
        card["capabilities"]["extensions"],
        json!([{"uri": "urn:x:a"}])
    );
}

#[tokio::test]
async fn webhooks_are_kept_read_and_removed_in_the_form_of_the_request() {
    let rig = Rig::start(Store::Memory, ECHO).await;
    let sent = rig.post("/v1/message:send", &[], &proto_send("x")).await;
    let id = sent.json["task"]["id"].as_str().unwrap().to_owned();
    let (configs, name) = (
        format!("/v1/tasks/{id}/pushNotificationConfigs"),
        format!("tasks/{id}/pushNotificationConfigs/p"),
    );
    let config = json!({"id": "p", "url": "https://example.com/hook"});
    let proto = json!({"parent": format!("tasks/{id}"), "config_id": "p", "config": {"name": name, "push_notification_config": config}});
    let text = json!({"config": {"taskId": id, "pushNotificationConfig": config}});
    let as_proto = json!({"name": name, "pushNotificationConfig": config});
    for (body, expected) in [
        (proto, as_proto.clone()),
        (
            text,
            json!({"taskId": id, "pushNotificationConfig": config}),
        ),
    ] {
        let made = rig.post(&configs, &[], &body.to_string()).await;
        assert_eq!((made.status, &made.json), (200, &expected), "{made:?}");
    }
    let one = format!("{configs}/p");
    assert_eq!(rig.get(&one, &[]).await.json, as_proto);
    assert_eq!(
        rig.get(&configs, &[]).await.json,
        json!({"configs": [as_proto]})
    );
    let removed = rig.bare("DELETE", &one, &[]).await;
    assert_eq!((removed.status, removed.json), (200, json!({})));
    assert_eq!(rig.get(&one, &[]).await.status, 404);
}
