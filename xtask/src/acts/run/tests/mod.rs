//! Every expectation against an agent that answers well, and against one that does not.

mod toy;

use serde_json::{Map, Value, json};

use super::{Bench, Verdict};
use crate::acts::corpus::read_test;
use crate::acts::sut::Profile;
use crate::acts::webhook::Receiver;
use toy::Toy;

/// Runs the test against a toy agent with this damage.
async fn verdict(test: &Value, damage: &'static str) -> Verdict {
    let toy = Toy::start(damage).await;
    let receiver = Receiver::start().await.unwrap();
    let bench = Bench {
        peer: toy.peer(),
        card: &json!({"capabilities": {"streaming": true}}),
        profile: Profile::Default,
        variables: &Map::new(),
        receiver: &receiver,
    };
    bench.run(&read_test(test.clone()).unwrap()).await.verdict
}

fn test(id: &str, steps: Value) -> Value {
    json!({"id": id, "name": "n", "level": "must", "steps": steps})
}

fn step(fields: Value) -> Value {
    let mut step = json!({"id": "s", "operation": "get_task", "params": {"id": "known"}});
    step.as_object_mut()
        .unwrap()
        .extend(fields.as_object().unwrap().clone());
    json!([step])
}

/// The test passes with a sound agent and fails with each of these damages.
async fn can_fail(test: Value, damages: &[&'static str]) {
    assert_eq!(verdict(&test, "").await, Verdict::Pass, "{test}");
    for damage in damages {
        let verdict = verdict(&test, damage).await;
        assert_eq!(
            verdict.word(),
            "fail",
            "{damage} went unseen by {test}: {verdict:?}"
        );
    }
}

#[tokio::test]
async fn answers_are_judged() {
    let completed =
        json!({"expect": {"status": 200, "body": {"status": {"state": "TASK_STATE_COMPLETED"}}}});
    can_fail(
        test("T", step(completed)),
        &["status-500", "other-id", "never-ends"],
    )
    .await;
    let only_status = json!({"expect": {"status": 200}});
    can_fail(test("T", step(only_status.clone())), &["status-500"]).await;
    let mut missing = step(only_status);
    missing[0]["params"]["id"] = json!("missing");
    assert_eq!(
        verdict(&test("T", missing), "").await.word(),
        "fail",
        "an error is no success"
    );
    let repeated = json!({"repeat": {"until": "status.state == TASK_STATE_COMPLETED", "max_attempts": 2, "delay_ms": 1}});
    can_fail(test("T", step(repeated)), &["never-ends"]).await;
    let headers = json!({"expect": {"headers": {"Content-Type": {"contains": "json"}}}});
    can_fail(test("T", step(headers)), &["plain-text"]).await;
    let asserted = json!({"assertions": [{"source": "{{s.response}}", "path": "status.state", "match": "TASK_STATE_COMPLETED"}]});
    can_fail(test("T", step(asserted)), &["never-ends"]).await;
    for nothing in ["nothing", "status.nothing"] {
        let capture = test("T", step(json!({"capture": {"x": nothing}})));
        assert_eq!(verdict(&capture, "").await.word(), "fail");
    }
}

#[tokio::test]
async fn refusals_are_judged() {
    let expected =
        json!({"params": {"id": "missing"}, "expect_error": {"error_type": "TaskNotFoundError"}});
    can_fail(test("T", step(expected)), &["shows-all"]).await;
    let other =
        json!({"params": {"id": "missing"}, "expect_error": {"error_type": "InternalError"}});
    assert_eq!(verdict(&test("T", step(other)), "").await.word(), "fail");
}

#[tokio::test]
async fn streams_are_judged() {
    let last = json!({"status": {"state": "TASK_STATE_COMPLETED"}});
    let stream = json!({"min_count": 3, "timeout_ms": 1000, "ordering": "monotonic_state", "final_event": last});
    let message = json!({"message": {"role": "ROLE_USER", "parts": [{"text": "x"}]}});
    let steps = step(
        json!({"operation": "send_streaming_message", "params": message, "expect_stream": stream}),
    );
    let damages = [
        "unfinished",
        "refuses",
        "ends-with-error",
        "no-json",
        "stays-open",
    ];
    can_fail(test("T", steps.clone()), &damages).await;
    let mut refused = steps;
    refused[0].as_object_mut().unwrap().remove("expect_stream");
    refused[0]["expect_error"] = json!({"error_type": "UnsupportedOperationError"});
    assert_eq!(
        verdict(&test("T", refused.clone()), "refuses").await,
        Verdict::Pass
    );
    assert_eq!(verdict(&test("T", refused), "").await.word(), "fail");
}

#[tokio::test]
async fn raw_requests_are_judged() {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {}});
    let raw = json!({"method": "POST", "path": "/", "headers": {}, "body": body});
    let answer = json!([{"id": "s", "raw": raw, "expect": {"status": 200, "body": {"id": 1, "result": {"exists": true}}}}]);
    can_fail(test("T", answer), &["other-id", "status-500"]).await;
    let mut raw = raw;
    raw["body"]["method"] = json!("SendStreamingMessage");
    let frames =
        json!({"min_count": 3, "timeout_ms": 1000, "each_event": {"result": {"exists": true}}});
    let stream = json!([{"id": "s", "raw": raw, "expect_stream": frames}]);
    can_fail(
        test("T", stream),
        &["unfinished", "ends-with-error", "no-json", "stays-open"],
    )
    .await;
}

#[tokio::test]
async fn clients_are_judged() {
    let payload = json!({"jsonrpc": "2.0", "id": "1", "error": {"code": -32001, "message": "Task not found"}});
    let steps = |code: i64| {
        json!([{"id": "s", "client_response": {"operation": "get_task", "wire_payload": payload},
            "expect_parsed": {"error": {"code": code}}}])
    };
    assert_eq!(verdict(&test("T", steps(-32001)), "").await, Verdict::Pass);
    assert_eq!(verdict(&test("T", steps(-32002)), "").await.word(), "fail");
}

fn pushing(id: &str, token: &str) -> Value {
    let message = json!({"message": {"role": "ROLE_USER", "parts": [{"text": "x"}]}});
    let config = json!({"taskId": "{{create.taskId}}", "pushNotificationConfig": {
        "url": "{{webhookUrl}}", "authentication": {"scheme": "Bearer", "credentials": token}}});
    test(
        id,
        json!([
            {"id": "create", "operation": "send_message", "params": message, "capture": {"taskId": "task.id"}},
            {"id": "set", "operation": "create_push_config", "params": config, "expect": {"status": 200}},
        ]),
    )
}

#[tokio::test]
async fn pushes_are_judged() {
    can_fail(
        pushing("PUSH-DELIV-001", "test-token"),
        &["no-credentials", "other-task"],
    )
    .await;
    can_fail(pushing("SEC-PUSH-001", "test-token"), &["no-credentials"]).await;
    can_fail(pushing("PUSH-DELIV-002", "x"), &["gives-up"]).await;
    can_fail(pushing("PUSH-DELIV-003", "x"), &["old-shape", "plain-text"]).await;
    let mut by_step = pushing("T", "k");
    let webhook = json!({"id": "hook", "expect_webhook": {"min_count": 2, "timeout_ms": 1000,
        "headers": {"Authorization": "Bearer k"}, "each_event": {"taskId": "t"},
        "final_event": {"status": {"state": "TASK_STATE_COMPLETED"}}}});
    by_step["steps"].as_array_mut().unwrap().push(webhook);
    can_fail(by_step.clone(), &["no-credentials", "other-task"]).await;
    by_step["steps"][2]["expect_webhook"]["min_count"] = json!(3);
    assert_eq!(verdict(&by_step, "").await.word(), "fail");
}

#[tokio::test]
async fn what_prose_asks_is_judged() {
    let fetched = |id: &str| {
        let card =
            json!([{"id": "step-1", "operation": "get_agent_card", "expect": {"status": 200}}]);
        test(id, card)
    };
    can_fail(fetched("CARD-CACHE-001"), &["no-etag"]).await;
    can_fail(fetched("CARD-SCHEMA-001"), &["unknown-member"]).await;
    let sent = json!([{"id": "send", "operation": "send_message", "params": {"message": {}}}]);
    can_fail(test("DM-SERIAL-002", sent), &["underscores"]).await;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {}});
    let raw = json!([{"id": "send-raw", "raw": {"method": "POST", "path": "/", "body": body}}]);
    can_fail(test("DM-FMT-001", raw.clone()), &["underscores"]).await;
    can_fail(test("JSONRPC-CT-001", raw), &["plain-text"]).await;
    can_fail(
        test("CORE-ERR-009", step(json!({}))),
        &["tells", "shows-all"],
    )
    .await;
    let watching = ["refuses", "unfinished", "no-json"];
    can_fail(test("STREAM-MULTI-001", step(json!({}))), &watching).await;
    can_fail(
        test("STREAM-MULTI-001", step(json!({}))),
        &["other-events", "no-task-first"],
    )
    .await;
    can_fail(test("STREAM-MULTI-002", step(json!({}))), &watching).await;
    can_fail(
        test("STREAM-RESUB-001", step(json!({}))),
        &["no-task-first", "unfinished"],
    )
    .await;
    // No credential is ever asked for here, which each of these must see.
    let get = json!([{"id": "get-extended-card-without-auth", "operation": "get_task", "params": {"id": "known"}}]);
    assert_eq!(
        verdict(&test("SEC-EXTCARD-001", get), "").await.word(),
        "fail"
    );
    let get = json!([{"id": "get-extended-card-insufficient-auth", "operation": "get_task", "params": {"id": "known"}}]);
    assert_eq!(
        verdict(&test("SEC-EXTCARD-002", get), "").await.word(),
        "fail"
    );
    for id in ["SEC-AUTH-006", "SEC-EXTCARD-004"] {
        assert_eq!(
            verdict(&test(id, step(json!({}))), "").await.word(),
            "fail",
            "{id}"
        );
    }
    let missing =
        json!([{"id": "get-missing", "operation": "get_task", "params": {"id": "known"}}]);
    assert_eq!(
        verdict(&test("GRPC-STATUS-001", missing), "").await.word(),
        "fail"
    );
    let send = json!([{"id": "send", "operation": "send_message", "params": {"message": {}}}]);
    assert_eq!(verdict(&test("REST-CT-001", send), "").await.word(), "fail");
}

#[tokio::test]
async fn a_run_that_breaks_is_an_error_and_a_gate_that_is_closed_a_skip() {
    let unknown = test("T", step(json!({"params": {"id": "{{nothing}}"}})));
    assert_eq!(verdict(&unknown, "").await.word(), "error");
    let mut gated = test("T", step(json!({})));
    gated["preconditions"] = json!({"capabilities": {"streaming": false}});
    assert_eq!(verdict(&gated, "").await.word(), "skip");
    let mut unable = test("T", step(json!({})));
    unable["runner_requirements"] = json!(["time_travel"]);
    assert_eq!(verdict(&unable, "").await.word(), "skip");
    let mut undeclared = test("T", step(json!({})));
    undeclared["requires_behaviors"] = json!(["tck-unheard-of"]);
    assert_eq!(verdict(&undeclared, "").await.word(), "fail");
}
