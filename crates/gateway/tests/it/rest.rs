//! What HTTP+JSON has of its own: paths, verbs, media types, queries, statuses and bodies of errors.

use http_body_util::Full;
use serde_json::{Value, json};

use crate::rig::{Answer, ECHO, Rig, Store, message};

const V1: (&str, &str) = ("a2a-version", "1.0");

/// Status, reason and message of an error, whose body must be whole.
fn error_of(answer: &Answer) -> (u16, String) {
    let error = &answer.json["error"];
    assert_eq!(error["code"], answer.status, "{answer:?}");
    assert!(
        error["status"].is_string() && error["message"].is_string(),
        "{error}"
    );
    let info = &error["details"][0];
    assert_eq!(
        info["@type"], "type.googleapis.com/google.rpc.ErrorInfo",
        "{error}"
    );
    assert_eq!(info["domain"], "a2a-protocol.org", "{error}");
    (answer.status, info["reason"].as_str().unwrap().to_owned())
}

fn error(status: u16, reason: &str) -> (u16, String) {
    (status, reason.to_owned())
}

#[tokio::test]
async fn paths_are_exact_and_ids_are_only_ids() {
    let rig = Rig::start(Store::Memory, ECHO).await;
    let task = rig.send("x").await;
    let id = task["id"].as_str().unwrap();
    for path in [
        format!("/tasks/{id}"),
        format!("/echo/tasks/{id}"),
        format!("/agents/echo/tasks/{id}"),
        format!("/agents/echo/echo/tasks/{id}?tenant=echo"),
        format!("/tasks/%{:x}{}", id.as_bytes()[0], &id[1..]),
    ] {
        let answer = rig.get(&path, &[V1]).await;
        assert_eq!((answer.status, &answer.json), (200, &task), "{path}");
        assert_eq!(answer.header("a2a-version"), "1.0");
        assert_eq!(answer.header("content-type"), "application/json");
    }
    for path in [
        "/tasks/a%2Fb",
        "/tasks/..",
        "/tasks/..%2F..%2Fetc",
        "/tasks/%252e",
        "/tasks/none",
        "/tasks/x:other",
    ] {
        assert_eq!(
            error_of(&rig.get(path, &[V1]).await),
            error(404, "TASK_NOT_FOUND"),
            "{path}"
        );
    }
    assert_eq!(
        error_of(&rig.get("/tasks/a%00b", &[V1]).await),
        error(400, "INVALID_PARAMS")
    );
    for path in [
        "/nothing",
        "/tasks/",
        "/tasks/x/y",
        "//tasks",
        "/message:send/",
        "/nobody/tasks",
        "/agents/nobody/tasks",
        "/a2a/tasks/",
        "/tasks/%FF",
        "/v1/v1/tasks/x",
        "/1/2/3/4/5/6/7/8/9",
    ] {
        assert_eq!(
            error_of(&rig.get(path, &[V1]).await),
            error(404, "METHOD_NOT_FOUND"),
            "{path}"
        );
    }
    for path in [
        format!("/tasks/{id}%3Acancel"),
        format!("/tasks/{id}%3acancel"),
        format!("/tasks/{id}:cancel"),
    ] {
        let answer = rig.bare("POST", &path, &[V1]).await;
        assert_eq!(
            error_of(&answer),
            error(400, "TASK_NOT_CANCELABLE"),
            "{path}"
        );
    }
}

#[tokio::test]
async fn wrong_verbs_are_told_the_right_ones() {
    let rig = Rig::start(Store::Memory, ECHO).await;
    for (path, verbs, allowed) in [
        (
            "/message:send",
            &["GET", "HEAD", "PUT", "DELETE", "OPTIONS"][..],
            "POST",
        ),
        ("/message:stream", &["GET", "PATCH"], "POST"),
        ("/tasks", &["POST", "DELETE"], "GET, HEAD"),
        ("/tasks/x", &["POST", "DELETE", "PUT"], "GET, HEAD"),
        ("/tasks/x:cancel", &["GET", "DELETE"], "POST"),
        ("/tasks/x:subscribe", &["DELETE", "PUT"], "GET, HEAD, POST"),
        (
            "/tasks/x/pushNotificationConfigs",
            &["PUT", "DELETE"],
            "GET, HEAD, POST",
        ),
        (
            "/tasks/x/pushNotificationConfigs/c",
            &["POST", "PUT"],
            "GET, HEAD, DELETE",
        ),
        ("/extendedAgentCard", &["POST"], "GET, HEAD"),
        ("/v1/card", &["POST"], "GET, HEAD"),
        ("/echo/tasks", &["POST"], "GET, HEAD"),
    ] {
        for verb in verbs {
            let answer = rig.bare(verb, path, &[V1]).await;
            assert_eq!(
                (answer.status, answer.header("allow")),
                (405, allowed),
                "{verb} {path}"
            );
            if *verb != "HEAD" {
                assert_eq!(
                    error_of(&answer),
                    error(405, "METHOD_NOT_FOUND"),
                    "{verb} {path}"
                );
            }
        }
    }
    let id = rig.send("x").await["id"].as_str().unwrap().to_owned();
    let read = rig.get(&format!("/tasks/{id}"), &[V1]).await;
    let head = rig.bare("HEAD", &format!("/tasks/{id}"), &[V1]).await;
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(head.header("content-length"), read.body.len().to_string());
}

#[tokio::test]
async fn preflights_of_allowed_pages_are_answered_and_their_calls_readable() {
    let rig = Rig::start(Store::Memory, ECHO).await;
    let page = ("origin", "http://localhost:3000");
    let asks = ("access-control-request-method", "POST");
    for (path, allowed) in [
        ("/message:send", "POST"),
        ("/tasks/x", "GET, HEAD"),
        ("/", "POST"),
    ] {
        let answer = rig.bare("OPTIONS", path, &[page, asks]).await;
        assert_eq!((answer.status, answer.body.len()), (204, 0), "{path}");
        assert_eq!(answer.header("access-control-allow-methods"), allowed);
        assert_eq!(answer.header("access-control-allow-origin"), page.1);
        assert!(
            answer
                .header("access-control-allow-headers")
                .contains("A2A-Version")
        );
    }
    let read = rig.get("/tasks", &[page, V1]).await;
    assert_eq!(
        (read.status, read.header("access-control-allow-origin")),
        (200, page.1)
    );
    assert_eq!(read.header("vary"), "Origin");
    let foreign = ("origin", "https://evil.example");
    let refused = rig.bare("OPTIONS", "/message:send", &[foreign, asks]).await;
    assert_eq!(
        (
            refused.status,
            refused.header("access-control-allow-origin")
        ),
        (403, "")
    );
}

#[tokio::test]
async fn bodies_are_json_and_answers_have_their_type() {
    let rig = Rig::start(Store::Memory, ECHO).await;
    let body = message("x").to_string();
    for (content_type, accept, expected) in [
        ("application/json", "*/*", "application/json"),
        ("application/a2a+json", "*/*", "application/a2a+json"),
        (
            "application/json; charset=utf-8",
            "application/a2a+json",
            "application/json",
        ),
        (
            "Application/A2A+JSON;charset=UTF-8",
            "application/json",
            "application/a2a+json",
        ),
    ] {
        for (body, status) in [(body.as_str(), 200), ("{}", 400), ("{", 400)] {
            let answer = rig
                .post(
                    "/message:send",
                    &[V1, ("content-type", content_type), ("accept", accept)],
                    body,
                )
                .await;
            assert_eq!(
                (answer.status, answer.header("content-type")),
                (status, expected),
                "{content_type}"
            );
        }
    }
    for (accept, expected) in [
        ("", "application/json"),
        ("application/json", "application/json"),
        ("application/a2a+json", "application/a2a+json"),
        (
            "text/html, application/a2a+json;q=0.9",
            "application/a2a+json",
        ),
    ] {
        for (path, status) in [("/tasks", 200), ("/tasks/none", 404)] {
            let answer = rig.get(path, &[V1, ("accept", accept)]).await;
            assert_eq!(
                (answer.status, answer.header("content-type")),
                (status, expected),
                "{accept}"
            );
        }
    }
    for content_type in [
        "text/plain",
        "application/json; charset=utf-16",
        "multipart/form-data",
    ] {
        for path in [
            "/message:send",
            "/message:stream",
            "/v1/message:send",
            "/tasks/x/pushNotificationConfigs",
            "/tasks/x:cancel",
        ] {
            let answer = rig
                .post(path, &[("content-type", content_type)], "{\"a\":1}")
                .await;
            assert_eq!(
                error_of(&answer),
                error(415, "CONTENT_TYPE_NOT_SUPPORTED"),
                "{content_type} {path}"
            );
        }
    }
    let untyped = http::Request::post(format!("{}/message:send", rig.base))
        .body(Full::from(body))
        .unwrap();
    assert_eq!(rig.request(untyped).await.status(), 415);
}

#[tokio::test]
async fn a_cancel_or_subscription_needs_no_body() {
    let rig = Rig::with_script(Store::Memory, "sleep 30").await;
    for headers in [
        &[V1][..],
        &[V1, ("content-type", "application/json")],
        &[V1, ("content-type", "text/plain")],
    ] {
        let id = rig.start_task("x").await["id"].as_str().unwrap().to_owned();
        for (verb, path) in [("POST", "subscribe"), ("GET", "subscribe")] {
            let request = http::Request::builder()
                .method(verb)
                .uri(format!("{}/tasks/{id}:{path}", rig.base));
            let stream = rig.request(request.body(Full::default()).unwrap()).await;
            assert_eq!(
                stream.headers()["content-type"],
                "text/event-stream",
                "{verb}"
            );
        }
        let answer = rig
            .bare("POST", &format!("/tasks/{id}:cancel"), headers)
            .await;
        assert_eq!(
            answer.json["status"]["state"], "TASK_STATE_CANCELED",
            "{answer:?}"
        );
    }
    let id = rig.start_task("x").await["id"].as_str().unwrap().to_owned();
    let with_body = format!(r#"{{"id":"{id}","metadata":{{"why":1}}}}"#);
    let answer = rig
        .post(&format!("/tasks/{id}:cancel"), &[V1], &with_body)
        .await;
    assert_eq!(
        answer.json["status"]["state"], "TASK_STATE_CANCELED",
        "{answer:?}"
    );
}

#[tokio::test]
async fn what_path_and_body_both_say_must_agree() {
    let config = format!("{ECHO}[agents.b]\nbackend = \"echo\"\ntenant = \"team-b\"\n");
    let rig = Rig::start(Store::Memory, &config).await;
    let send = |tenant: &str| {
        let mut params = message("x");
        params["tenant"] = json!(tenant);
        params.to_string()
    };
    for (path, body, status) in [
        ("/team-b/message:send", message("x").to_string(), 200),
        ("/team-b/message:send", send("team-b"), 200),
        ("/agents/b/message:send", send("team-b"), 200),
        ("/agents/b/team-b/message:send", send("team-b"), 200),
        ("/message:send", send("team-b"), 200),
        ("/team-b/message:send", send("echo"), 400),
        ("/agents/b/message:send", send("echo"), 400),
        ("/agents/b/echo/message:send", message("x").to_string(), 400),
        ("/tasks/one:cancel", r#"{"id":"other"}"#.to_owned(), 400),
        (
            "/tasks/one/pushNotificationConfigs",
            r#"{"taskId":"other","url":"https://x.example/"}"#.to_owned(),
            400,
        ),
    ] {
        let answer = rig.post(path, &[V1], &body).await;
        assert_eq!(answer.status, status, "{path} {body} {answer:?}");
        if status == 400 {
            assert_eq!(error_of(&answer), error(400, "INVALID_PARAMS"));
            assert!(answer.json["error"]["details"][1]["fieldViolations"][0]["field"].is_string());
        }
    }
    let total = async |path: &str| rig.get(path, &[V1]).await.json["totalSize"].clone();
    assert_eq!(
        (
            total("/team-b/tasks").await,
            total("/agents/b/tasks?tenant=team-b").await
        ),
        (json!(5), json!(5))
    );
    assert_eq!(total("/tasks").await, 0);
    assert_eq!(rig.get("/tasks/one?id=other", &[V1]).await.status, 400);
    assert_eq!(rig.get("/b/tasks", &[V1]).await.status, 404);
}

#[tokio::test]
async fn a_query_is_read_as_the_members_it_stands_for() {
    let rig = Rig::start(Store::Memory, ECHO).await;
    let mut params = message("x");
    params["message"]["contextId"] = json!("c.1");
    rig.call("SendMessage", params).await;
    for (query, count) in [
        ("", 1),
        ("contextId=c.1&status=TASK_STATE_COMPLETED", 1),
        (
            "context_id=c%2E1&page_size=5&include_artifacts=true&history_length=1",
            1,
        ),
        ("contextId=other", 0),
        ("status=3", 1),
        ("pageToken=&contextId=&unknown=1&A2A-Version=1.0", 1),
        ("statusTimestampAfter=2026-01-02T03:04:05Z", 1),
        ("statusTimestampAfter=2026-01-02T03:04:05.678%2B02:00", 1),
        ("statusTimestampAfter=2026-01-02T03:04:05+02:00", 1),
        ("statusTimestampAfter=2999-01-01T00%3A00%3A00-11%3A00", 0),
    ] {
        let answer = rig.get(&format!("/tasks?{query}"), &[]).await;
        assert_eq!(answer.json["totalSize"], count, "{query} {answer:?}");
    }
    let full = rig
        .get("/tasks?includeArtifacts=true&historyLength=1", &[])
        .await
        .json;
    assert!(
        full["tasks"][0]["artifacts"].is_array() && full["tasks"][0]["history"].is_array(),
        "{full}"
    );
    for (query, field) in [
        ("pageSize=0", "pageSize"),
        ("pageSize=1.5", "pageSize"),
        ("pageSize=x", "pageSize"),
        ("pageSize=1&page_size=1", "pageSize"),
        ("includeArtifacts=True", "includeArtifacts"),
        ("status=DONE", "status"),
        ("status=02", "status"),
        ("statusTimestampAfter=yesterday", "statusTimestampAfter"),
        ("historyLength=-1", "historyLength"),
        ("contextId=%FF", "contextId"),
        ("pageToken=forged", "pageToken"),
    ] {
        let answer = rig.get(&format!("/tasks?{query}"), &[]).await;
        assert_eq!(error_of(&answer), error(400, "INVALID_PARAMS"), "{query}");
        assert_eq!(
            answer.json["error"]["details"][1]["fieldViolations"][0]["field"], field,
            "{answer:?}"
        );
    }
}

#[tokio::test]
async fn bodies_that_are_no_request_are_refused() {
    let rig = Rig::start(Store::Memory, ECHO).await;
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    for (body, reason) in [
        ("", "INVALID_REQUEST"),
        ("{", "INVALID_REQUEST"),
        ("[]", "INVALID_REQUEST"),
        ("null", "INVALID_REQUEST"),
        (&deep, "INVALID_REQUEST"),
        ("{} {}", "INVALID_REQUEST"),
        (r#"{"message":{},"message":{}}"#, "INVALID_PARAMS"),
        (
            r#"{"message":{"messageId":"m","messageId":"m"}}"#,
            "INVALID_PARAMS",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{}}"#,
            "INVALID_PARAMS",
        ),
    ] {
        for path in ["/message:send", "/message:stream"] {
            let answer = rig.post(path, &[V1], body).await;
            let shown: String = body.chars().take(60).collect();
            assert_eq!(error_of(&answer), error(400, reason), "{shown}");
        }
    }
}

#[tokio::test]
async fn versions_are_negotiated_by_path_header_and_query() {
    let rig = Rig::start(Store::Memory, ECHO).await;
    let strict = Rig::start(
        Store::Memory,
        &format!("{ECHO}[compat]\nv0_3 = false\nstrict_version = true\n"),
    )
    .await;
    let refused = || Some("VERSION_NOT_SUPPORTED");
    for (path, version, lenient, strictly) in [
        ("/tasks", "", None, refused()),
        ("/tasks", "1.0", None, None),
        ("/tasks", "1.0.0", None, None),
        ("/tasks", "1.7", None, refused()),
        ("/tasks", "0.3", refused(), refused()),
        ("/tasks", "99.0", refused(), refused()),
        ("/tasks", "x", refused(), refused()),
        ("/v1/tasks", "", None, Some("METHOD_NOT_FOUND")),
        ("/v1/tasks", "0.3", None, Some("METHOD_NOT_FOUND")),
        ("/v1/tasks", "1.0", refused(), Some("METHOD_NOT_FOUND")),
    ] {
        for (rig, expected) in [(&rig, lenient), (&strict, strictly)] {
            let by_header = rig.get(path, &[("a2a-version", version)]).await;
            let by_query = rig.get(&format!("{path}?a2a-version={version}"), &[]).await;
            for answer in [by_header, by_query] {
                let reason = answer.json["error"]["details"][0]["reason"].as_str();
                assert_eq!(reason, expected, "{path} {version} {answer:?}");
                assert_eq!(
                    answer.status,
                    expected.map_or(200, |reason| if reason.starts_with('V') {
                        400
                    } else {
                        404
                    })
                );
                let spoken = if path.starts_with("/v1") {
                    "0.3"
                } else {
                    "1.0"
                };
                assert_eq!(answer.header("a2a-version"), spoken);
            }
        }
    }
}

#[tokio::test]
async fn refusals_of_the_transport_have_the_shape_of_the_binding() {
    let config = format!(
        "{ECHO}[server]\nmax_body_bytes = 1024\n[security]\npeer_tokens = {{ alice = \"env:ALICE\", bob = \"env:BOB\" }}\ntrusted_peers = [\"alice\"]\n"
    );
    let rig = Rig::start(Store::Memory, &config).await;
    let alice = ("authorization", "Bearer alice");
    let long = "x".repeat(2_000);
    for (headers, body, expected) in [
        (&[][..], "{}", error(401, "UNAUTHENTICATED")),
        (
            &[("authorization", "Bearer wrong")],
            "{}",
            error(401, "UNAUTHENTICATED"),
        ),
        (
            &[("authorization", "Bearer bob")],
            "{}",
            error(403, "PERMISSION_DENIED"),
        ),
        (
            &[alice, ("origin", "https://evil.example")],
            "{}",
            error(403, "PERMISSION_DENIED"),
        ),
        (
            &[alice, ("content-encoding", "gzip")],
            "{}",
            error(415, "CONTENT_TYPE_NOT_SUPPORTED"),
        ),
        (
            &[alice, ("a2a-version", "1.0"), ("a2a-version", "1.0")],
            "{}",
            error(400, "INVALID_REQUEST"),
        ),
        (&[alice], &long, error(413, "INVALID_REQUEST")),
        (
            &[alice, ("idempotency-key", "")],
            "{}",
            error(400, "INVALID_PARAMS"),
        ),
    ] {
        let answer = rig.post("/message:send", headers, body).await;
        assert_eq!(error_of(&answer), expected, "{headers:?}");
        let old = rig.post("/v1/message:send", headers, body).await;
        assert_eq!(old.json["message"], old.json["error"]["message"], "{old:?}");
        assert!(old.json["type"].as_str().unwrap().ends_with("Error"));
        // The same on JSON-RPC is a JSON-RPC error.
        let rpc = rig.post("/", headers, body).await;
        assert!(
            rpc.json["error"]["code"].is_i64() && rpc.json["jsonrpc"] == "2.0",
            "{rpc:?}"
        );
    }
}

#[tokio::test]
async fn a_task_is_the_same_over_every_binding() {
    let rig = Rig::start(Store::Memory, ECHO).await;
    let mut params = message("x");
    params["message"]["parts"] = json!([{"text": "a"}, {"data": {"n": 1.0}}, {"raw": "AQI=", "filename": "f", "mediaType": "a/b"}]);
    let made = rig
        .post("/message:send", &[V1], &params.to_string())
        .await
        .json["task"]
        .clone();
    let id = made["id"].as_str().unwrap();
    assert_eq!(rig.get_task(id).await, made);
    let over_rpc = rig
        .call("ListTasks", json!({"includeArtifacts": true}))
        .await["result"]
        .clone();
    let over_rest = rig.get("/tasks?includeArtifacts=true", &[V1]).await.json;
    assert_eq!(over_rpc, over_rest);
}

#[tokio::test]
async fn statuses_of_1_0_0_are_a_switch() {
    let rig = Rig::start(Store::Memory, "[agents.echo]\nbackend = \"echo\"\ninput_modes = [\"text/plain\"]\n[compat]\nstatuses = \"1.0.0\"\n").await;
    let id = rig.send("x").await["id"].as_str().unwrap().to_owned();
    let canceled = rig
        .bare("POST", &format!("/tasks/{id}:cancel"), &[V1])
        .await;
    assert_eq!(error_of(&canceled), error(409, "TASK_NOT_CANCELABLE"));
    let mut typed = message("x");
    typed["message"]["parts"][0]["mediaType"] = json!("application/zip");
    let refused = rig.post("/message:send", &[V1], &typed.to_string()).await;
    assert_eq!(error_of(&refused), error(415, "CONTENT_TYPE_NOT_SUPPORTED"));
}

#[tokio::test]
async fn the_card_names_addresses_that_work() {
    let config = format!("{ECHO}[agents.other]\nbackend = \"echo\"\ntenant = \"team\"\n");
    let rig = Rig::start(Store::Memory, &config).await;
    for path in ["", "/agents/other"] {
        let card = rig
            .get(&format!("{path}/.well-known/agent-card.json"), &[])
            .await
            .json;
        let listed = card["supportedInterfaces"].as_array().unwrap().iter();
        let interfaces: Vec<&Value> = listed.filter(|i| i["protocolBinding"] != "GRPC").collect();
        let spoken: Vec<(&Value, &Value)> = interfaces
            .iter()
            .map(|i| (&i["protocolBinding"], &i["protocolVersion"]))
            .collect();
        assert_eq!(
            json!(spoken),
            json!([
                ["JSONRPC", "1.0"],
                ["HTTP+JSON", "1.0"],
                ["JSONRPC", "0.3"],
                ["HTTP+JSON", "0.3"]
            ])
        );
        let url = interfaces[1]["url"].as_str().unwrap();
        assert_eq!(url, format!("{}{path}", rig.base));
        let tenant = interfaces[1]["tenant"]
            .as_str()
            .map_or(String::new(), |tenant| format!("/{tenant}"));
        let sent = rig
            .post(
                &format!("{path}{tenant}/message:send"),
                &[V1],
                &message("x").to_string(),
            )
            .await;
        assert_eq!(sent.status, 200, "{sent:?}");
        let old = interfaces[3]["url"]
            .as_str()
            .unwrap()
            .strip_prefix(&rig.base)
            .unwrap();
        assert_eq!(rig.get(&format!("{old}/v1/tasks"), &[]).await.status, 200);
    }
}

#[tokio::test]
async fn webhooks_are_kept_read_and_removed() {
    let rig = Rig::start(Store::Memory, ECHO).await;
    let id = rig.send("x").await["id"].as_str().unwrap().to_owned();
    let configs = format!("/tasks/{id}/pushNotificationConfigs");
    let config = json!({"id": "p/1", "taskId": id, "url": "https://example.com/hook"});
    let flat = json!({"id": "p/1", "url": "https://example.com/hook"});
    let nested = json!({"config": flat});
    for body in [flat, nested] {
        let made = rig.post(&configs, &[V1], &body.to_string()).await;
        assert_eq!((made.status, &made.json), (200, &config), "{made:?}");
    }
    let one = format!("{configs}/p%2F1");
    assert_eq!(rig.get(&one, &[V1]).await.json, config);
    let listed = rig.get(&format!("{configs}?pageSize=1"), &[V1]).await.json;
    assert_eq!(listed["configs"], json!([config]));
    for _ in 0..2 {
        let removed = rig.bare("DELETE", &one, &[V1]).await;
        assert_eq!((removed.status, removed.json), (200, json!({})));
    }
    assert_eq!(rig.get(&one, &[V1]).await.status, 404);
}
