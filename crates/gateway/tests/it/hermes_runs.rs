//! The `hermes` backend through the door `runs`: real cancels, approvals, one turn at a time.

use serde_json::{Value, json};
use std::time::Duration;

use crate::hermes::{KEY, hermes, hermes_in, turn};
use crate::rig::{LIMIT, Rig, Store};
use crate::service::{Asked, Feed, Service, said, status_text, text_of};

const RUNS: &str = "POST /v1/runs";

/// Takes a turn up to its events; the request for the run, and where its events go.
async fn begin(service: &mut Service, history: Value) -> (Value, Feed) {
    let asked = service.next().await;
    assert!(asked.line.starts_with("GET /api/sessions/") && asked.line.ends_with("/messages"));
    match history {
        Value::Null => asked.json(404, &json!({"error": {"code": "session_not_found"}})),
        rows => asked.json(200, &json!({"object": "list", "data": rows})),
    }
    start(service.expect(RUNS).await, service).await
}

async fn start(asked: Asked, service: &mut Service) -> (Value, Feed) {
    let request = asked.body.clone();
    asked.json(202, &json!({"run_id": "run_1", "status": "started"}));
    (
        request,
        service.expect("GET /v1/runs/run_1/events").await.stream(),
    )
}

async fn tell(feed: &Feed, event: &str, members: Value) {
    let mut data = json!({"event": event, "run_id": "run_1"});
    data.as_object_mut()
        .unwrap()
        .extend(members.as_object().unwrap().clone());
    feed.data(&data).await;
}

async fn say(feed: &Feed, text: &str) {
    tell(feed, "message.delta", json!({"delta": text})).await;
}

async fn complete(feed: &Feed) {
    tell(
        feed,
        "run.completed",
        json!({"output": "", "usage": {"total_tokens": 7}}),
    )
    .await;
}

#[tokio::test]
async fn a_run_is_given_what_the_session_holds_and_streams_its_answer() {
    let (rig, mut service) = hermes("").await;
    let mut frames = rig
        .stream(&[], "SendStreamingMessage", said("next?", None, None))
        .await;
    frames.result().await;
    let rows = json!([
        {"role": "user", "content": "hi"},
        {"role": "tool", "content": "raw"},
        {"role": "assistant", "content": "yo"},
    ]);
    let (request, feed) = begin(&mut service, rows).await;
    assert_eq!(request["input"], "next?");
    assert_eq!(
        request["conversation_history"],
        json!([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo"}])
    );
    assert!(
        request["session_id"]
            .as_str()
            .unwrap()
            .starts_with("nuncio-h-")
    );
    assert!(request["instructions"].as_str().unwrap().contains("A2A"));
    say(&feed, "first ").await;
    let chunk = frames.result().await;
    assert_eq!(
        chunk["artifactUpdate"]["artifact"]["parts"][0]["text"], "first ",
        "before the end"
    );
    tell(
        &feed,
        "tool.started",
        json!({"tool": "web", "preview": "inner words"}),
    )
    .await;
    let progress = frames.result().await;
    assert_eq!(
        status_text(&progress["statusUpdate"]),
        "Using the tool web."
    );
    say(&feed, "second").await;
    complete(&feed).await;
    let rest = frames.rest().await;
    assert_eq!(
        rest.last().unwrap()["statusUpdate"]["status"]["state"],
        "TASK_STATE_COMPLETED"
    );
    assert!(!json!(rest).to_string().contains("inner words"));
    assert!(service.is_quiet(), "a run that has ended is not stopped");
}

#[tokio::test]
async fn a_run_goes_on_in_the_session_that_hermes_made_when_it_compacted_the_last() {
    let (rig, mut service) = hermes("").await;
    for tip in ["shorter", "shortest"] {
        turn(&rig, said("x", Some("c"), None), async {
            let asked = service.next().await;
            if tip == "shortest" {
                assert_eq!(asked.line, "GET /api/sessions/shorter/messages");
            }
            asked.json(
                200,
                &json!({"object": "list", "session_id": tip, "data": []}),
            );
            let (request, feed) = start(service.expect(RUNS).await, &mut service).await;
            assert_eq!(request["session_id"], tip);
            say(&feed, "done").await;
            complete(&feed).await;
        })
        .await;
    }
}

#[tokio::test]
async fn a_cancel_stops_the_run_and_what_it_says_later_is_lost() {
    let (rig, mut service) = hermes("").await;
    let mut frames = rig
        .stream(&[], "SendStreamingMessage", said("x", None, None))
        .await;
    let task = frames.result().await["task"].clone();
    let (_, feed) = begin(&mut service, Value::Null).await;
    say(&feed, "begun").await;
    assert!(frames.result().await["artifactUpdate"].is_object());
    let play = async {
        let stop = service.expect("POST /v1/runs/run_1/stop").await;
        stop.json(200, &json!({"run_id": "run_1", "status": "stopping"}));
        say(&feed, "late").await;
        tell(&feed, "run.cancelled", json!({})).await;
    };
    let (canceled, ()) = tokio::join!(rig.call("CancelTask", json!({"id": task["id"]})), play);
    assert_eq!(canceled["result"]["status"]["state"], "TASK_STATE_CANCELED");
    let task = rig.get_task(task["id"].as_str().unwrap()).await;
    assert!(!task.to_string().contains("late"), "{task}");
}

#[tokio::test]
async fn a_run_that_was_being_started_when_the_cancel_came_is_stopped() {
    let (rig, mut service) = hermes("").await;
    let task = rig.start_task("x").await;
    service.next().await.json(404, &json!({}));
    let run = service.expect(RUNS).await;
    let play = async {
        // The cancel has been taken when nothing else can be done with the task.
        run.json(202, &json!({"run_id": "run_1"}));
        loop {
            let asked = service.next().await;
            match asked.line.as_str() {
                "POST /v1/runs/run_1/stop" => break asked.json(200, &json!({})),
                "GET /v1/runs/run_1/events" => {
                    tell(&asked.stream(), "run.cancelled", json!({})).await
                }
                _ => asked.json(200, &json!({"status": "cancelled"})),
            }
        }
    };
    let cancel = rig.call("CancelTask", json!({"id": task["id"]}));
    let (canceled, ()) = tokio::join!(cancel, play);
    assert_eq!(canceled["result"]["status"]["state"], "TASK_STATE_CANCELED");
}

#[tokio::test]
async fn a_run_that_begins_after_its_task_was_canceled_is_stopped() {
    let (rig, mut service) = hermes("").await;
    let task = rig.start_task("x").await;
    service.next().await.json(404, &json!({}));
    let run = service.expect(RUNS).await;
    let canceled = rig.call("CancelTask", json!({"id": task["id"]})).await;
    assert_eq!(canceled["result"]["status"]["state"], "TASK_STATE_CANCELED");
    run.json(202, &json!({"run_id": "run_1"}));
    let stop = service.expect("POST /v1/runs/run_1/stop").await;
    stop.json(200, &json!({}));
}

#[tokio::test]
async fn a_flood_of_progress_is_stopped_at_the_limit_of_what_may_be_said() {
    let (rig, mut service) = hermes("max_output_bytes = 5000").await;
    let task = turn(&rig, said("x", None, None), async {
        let (_, feed) = begin(&mut service, Value::Null).await;
        let flood = async {
            loop {
                tell(&feed, "tool.started", json!({"tool": "web"})).await;
            }
        };
        let stop = tokio::select! {
            stop = service.expect("POST /v1/runs/run_1/stop") => stop,
            () = flood => unreachable!("it never ends"),
        };
        stop.json(200, &json!({}));
        tell(&feed, "run.cancelled", json!({})).await;
    })
    .await;
    assert_eq!(task["status"]["state"], "TASK_STATE_FAILED", "{task}");
    assert!(status_text(&task).contains("more than it may"), "{task}");
}

#[tokio::test]
async fn a_run_that_a_stopping_gateway_cuts_off_is_stopped_and_its_task_is_lost() {
    let (mut rig, mut service) = hermes_in(Store::Sqlite, "").await;
    let task = rig.start_task("x").await;
    let (_, feed) = begin(&mut service, Value::Null).await;
    say(&feed, "begun").await;
    let stopped = async {
        let stop = service.expect("POST /v1/runs/run_1/stop").await;
        stop.json(200, &json!({}));
        tell(&feed, "run.cancelled", json!({})).await;
    };
    tokio::join!(rig.restart(Duration::ZERO), stopped);
    let lost = rig.get_task(task["id"].as_str().unwrap()).await;
    assert_eq!(lost["status"]["state"], "TASK_STATE_FAILED", "{lost}");
    assert_eq!(reason(&lost), "worker_lost");
}

#[tokio::test]
async fn one_turn_at_a_time_runs_in_a_session_that_all_callers_share() {
    let (rig, mut service) = hermes("session = \"telegram-42\"").await;
    let (first, second) = tokio::join!(
        rig.call("SendMessage", later(said("one", Some("a"), None))),
        rig.call("SendMessage", later(said("two", Some("b"), None))),
    );
    let mut answered = Vec::new();
    for _ in 0..2 {
        let (request, feed) = begin(&mut service, json!([])).await;
        assert_eq!(request["session_id"], "telegram-42");
        say(&feed, "done").await;
        assert!(service.is_quiet(), "the other turn began meanwhile");
        complete(&feed).await;
        let input = request["input"].as_str().unwrap();
        assert!(input.starts_with("[A2A message from "), "{input}");
        answered.push(input.lines().last().unwrap().to_owned());
    }
    answered.sort();
    assert_eq!(answered, ["one", "two"]);
    for task in [first, second] {
        assert!(task["error"].is_null(), "{task}");
    }
}

#[tokio::test]
async fn one_turn_at_a_time_runs_in_a_session_that_two_agents_share() {
    let mut service = Service::start().await;
    let agent = |name: &str, door: &str| {
        let (base, key) = (&service.base, KEY.0);
        format!(
            "[agents.{name}]\nbackend = \"hermes\"\ndoor = \"{door}\"\nbase_url = \"{base}\"\napi_key = \"file:{key}\"\nsession = \"live\"\n"
        )
    };
    let config = agent("one", "runs") + &agent("other", "completions");
    let rig = Rig::with_secrets(Store::Memory, &config, &[KEY]).await;
    rig.call("SendMessage", later(said("x", None, None))).await;
    let (_, feed) = begin(&mut service, json!([])).await;
    let mut params = said("y", None, None);
    params["tenant"] = "other".into();
    let task = turn(&rig, params, async {
        say(&feed, "mine").await;
        assert!(service.is_quiet(), "the other agent's turn began meanwhile");
        complete(&feed).await;
        let known = service.next().await;
        assert_eq!(known.line, "GET /api/sessions/live");
        known.json(200, &json!({}));
        let feed = service.expect("POST /v1/chat/completions").await.stream();
        feed.says("yours").await;
        feed.done().await;
    })
    .await;
    assert_eq!(text_of(&task), "yours", "{task}");
}

#[tokio::test]
async fn contexts_of_their_own_run_side_by_side() {
    let (rig, mut service) = hermes("").await;
    for context in ["a", "b"] {
        let sent = rig
            .call("SendMessage", later(said("x", Some(context), None)))
            .await;
        assert!(sent["error"].is_null(), "{sent}");
    }
    // Both are asked for before either is answered.
    let (one, other) = (service.next().await, service.next().await);
    assert_ne!(one.line, other.line);
}

fn later(mut params: Value) -> Value {
    params["configuration"] = json!({"returnImmediately": true});
    params
}

#[tokio::test]
async fn an_approval_is_denied_unless_callers_may_give_it() {
    let (rig, mut service) = hermes("").await;
    let task = turn(&rig, said("x", None, None), async {
        let (_, feed) = begin(&mut service, Value::Null).await;
        say(&feed, "I try. ").await;
        tell(&feed, "approval.request", json!({"command": "rm -r /"})).await;
        let approval = service.expect("POST /v1/runs/run_1/approval").await;
        assert_eq!(approval.body, json!({"choice": "deny"}));
        approval.json(200, &json!({"resolved": 1}));
        say(&feed, "Without, then.").await;
        complete(&feed).await;
    })
    .await;
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(text_of(&task), "I try. Without, then.");
}

#[tokio::test]
async fn a_caller_who_may_approve_is_asked_and_decides() {
    let (rig, mut service) = hermes("approvals = \"ask\"").await;
    for (answer, choice) in [("Approve.", "once"), ("rather not", "deny")] {
        let mut feed = None;
        let asked = turn(&rig, said("x", None, None), async {
            let (_, events) = begin(&mut service, Value::Null).await;
            tell(
                &events,
                "approval.request",
                json!({"command": "make", "description": "why"}),
            )
            .await;
            feed = Some(events);
        })
        .await;
        assert_eq!(
            asked["status"]["state"], "TASK_STATE_INPUT_REQUIRED",
            "{asked}"
        );
        assert!(status_text(&asked).contains("make"), "{asked}");
        let feed = feed.unwrap();
        let params = said(answer, asked["contextId"].as_str(), asked["id"].as_str());
        let task = turn(&rig, params, async {
            let approval = service.expect("POST /v1/runs/run_1/approval").await;
            assert_eq!(approval.body, json!({"choice": choice}));
            approval.json(200, &json!({"resolved": 1}));
            say(&feed, "built").await;
            complete(&feed).await;
        })
        .await;
        assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{task}");
        assert_eq!(
            (text_of(&task).as_str(), &task["id"]),
            ("built", &asked["id"])
        );
    }
}

/// A task that waits for its caller to approve `make`, and where its run's events go.
async fn asks_for_approval(rig: &Rig, service: &mut Service) -> (Value, Feed) {
    let mut feed = None;
    let asked = turn(rig, said("x", None, None), async {
        let (_, events) = begin(service, Value::Null).await;
        tell(&events, "approval.request", json!({"command": "make"})).await;
        feed = Some(events);
    })
    .await;
    assert_eq!(asked["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
    (asked, feed.unwrap())
}

fn reason(task: &Value) -> &Value {
    &task["status"]["message"]["metadata"]["reason"]
}

fn answer_to(asked: &Value, text: &str) -> Value {
    said(text, asked["contextId"].as_str(), asked["id"].as_str())
}

#[tokio::test]
async fn an_approval_that_comes_too_late_is_told_and_the_turn_goes_on() {
    let (rig, mut service) = hermes("approvals = \"ask\"").await;
    let (asked, feed) = asks_for_approval(&rig, &mut service).await;
    let mut frames = rig
        .stream(&[], "SendStreamingMessage", answer_to(&asked, "approve"))
        .await;
    let approval = service.expect("POST /v1/runs/run_1/approval").await;
    approval.json(409, &json!({"error": {"code": "approval_not_pending"}}));
    say(&feed, "Done without.").await;
    complete(&feed).await;
    let rest = frames.rest().await;
    assert!(
        json!(rest).to_string().contains("came too late"),
        "{rest:?}"
    );
    let task = rig.get_task(asked["id"].as_str().unwrap()).await;
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{task}");
    assert_eq!(text_of(&task), "Done without.");
}

#[tokio::test]
async fn an_approval_that_was_asked_for_before_a_restart_fails_clearly() {
    let settings = "approvals = \"ask\"";
    let (mut rig, mut service) = hermes_in(Store::Sqlite, settings).await;
    let (asked, feed) = asks_for_approval(&rig, &mut service).await;
    let stopped = async {
        let stop = service.expect("POST /v1/runs/run_1/stop").await;
        stop.json(200, &json!({}));
        tell(&feed, "run.cancelled", json!({})).await;
    };
    tokio::join!(rig.restart(LIMIT), stopped);
    let still = rig.get_task(asked["id"].as_str().unwrap()).await;
    assert_eq!(still["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
    let task = turn(&rig, answer_to(&asked, "approve"), async {}).await;
    assert_eq!(task["status"]["state"], "TASK_STATE_FAILED", "{task}");
    assert!(status_text(&task).contains("is gone"), "{task}");
    assert_eq!(reason(&task), "worker_lost");
    assert!(service.is_quiet(), "nothing is approved or begun");
}

#[tokio::test]
async fn an_approval_of_a_run_that_hermes_has_lost_says_so() {
    let (rig, mut service) = hermes("approvals = \"ask\"").await;
    let (asked, feed) = asks_for_approval(&rig, &mut service).await;
    feed.break_off().await;
    let task = turn(&rig, answer_to(&asked, "approve"), async {
        let approval = service.expect("POST /v1/runs/run_1/approval").await;
        approval.json(404, &json!({"error": {"code": "run_not_found"}}));
    })
    .await;
    assert_eq!(task["status"]["state"], "TASK_STATE_FAILED", "{task}");
    assert!(status_text(&task).contains("is gone"), "{task}");
    assert_eq!(reason(&task), "worker_lost");
    assert!(service.is_quiet(), "there is nothing to be stopped");
}

#[tokio::test]
async fn a_run_that_cannot_be_listened_to_is_asked_whether_it_waits_for_an_approval() {
    let (rig, mut service) = hermes("").await;
    let task = turn(&rig, said("x", None, None), async {
        let (_, feed) = begin(&mut service, Value::Null).await;
        drop(feed);
        let state = service.expect("GET /v1/runs/run_1").await;
        state.json(200, &json!({"status": "waiting_for_approval"}));
        let approval = service.expect("POST /v1/runs/run_1/approval").await;
        assert_eq!(approval.body, json!({"choice": "deny"}));
        approval.json(200, &json!({"resolved": 1}));
        let state = service.expect("GET /v1/runs/run_1").await;
        state.json(200, &json!({"status": "completed", "output": "Without."}));
    })
    .await;
    assert_eq!(text_of(&task), "Without.", "{task}");
}

#[tokio::test]
async fn a_turn_that_is_canceled_while_its_approval_is_passed_on_is_stopped() {
    let (rig, mut service) = hermes("approvals = \"ask\"").await;
    let (asked, feed) = asks_for_approval(&rig, &mut service).await;
    let mut params = answer_to(&asked, "approve");
    params["configuration"] = json!({"returnImmediately": true});
    rig.call("SendMessage", params).await;
    let _unanswered = service.expect("POST /v1/runs/run_1/approval").await;
    let play = async {
        let stop = service.expect("POST /v1/runs/run_1/stop").await;
        stop.json(200, &json!({}));
        tell(&feed, "run.cancelled", json!({})).await;
    };
    let (canceled, ()) = tokio::join!(rig.call("CancelTask", json!({"id": asked["id"]})), play);
    assert_eq!(canceled["result"]["status"]["state"], "TASK_STATE_CANCELED");
}

#[tokio::test]
async fn cancelling_a_question_for_approval_stops_the_run() {
    let (rig, mut service) = hermes("approvals = \"ask\"").await;
    let (asked, feed) = asks_for_approval(&rig, &mut service).await;
    let play = async {
        service
            .expect("POST /v1/runs/run_1/stop")
            .await
            .json(200, &json!({}));
        // It is heard to its end, and gets no more than a no.
        tell(&feed, "approval.request", json!({"command": "make"})).await;
        let approval = service.expect("POST /v1/runs/run_1/approval").await;
        assert_eq!(approval.body, json!({"choice": "deny"}));
        approval.json(200, &json!({"resolved": 1}));
        tell(&feed, "run.cancelled", json!({})).await;
    };
    let (canceled, ()) = tokio::join!(rig.call("CancelTask", json!({"id": asked["id"]})), play);
    assert_eq!(canceled["result"]["status"]["state"], "TASK_STATE_CANCELED");
}
