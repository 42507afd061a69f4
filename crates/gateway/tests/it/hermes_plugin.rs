//! The `hermes` backend through the door `plugin`: turns in live chats, played by the test.

use serde_json::{Value, json};
use std::time::Duration;

use crate::hermes::{hermes, turn};
use crate::rig::LIMIT;
use crate::service::{Asked, Service, said, status_text, text_of};
use nuncio_gateway::{agents, config};

const DOOR: &str = "door = \"plugin\"";
const TURN: &str = "POST /turn";

/// Ends the turn that was asked for.
async fn end(asked: Asked, state: &str, text: &str) {
    let feed = asked.stream();
    feed.raw(": keepalive\n\n").await;
    feed.data(&json!({"event": "end", "state": state, "text": text}))
        .await;
}

async fn take(service: &mut Service) -> Asked {
    let asked = service.expect(TURN).await;
    assert_eq!(asked.header("authorization"), "Bearer 0123456789abcdef");
    asked
}

#[tokio::test]
async fn each_context_has_a_chat_of_its_own_that_no_caller_names() {
    let (rig, mut service) = hermes(DOOR).await;
    let mut asked: Vec<Value> = Vec::new();
    for context in ["evil", "evil", "other"] {
        let task = turn(&rig, said("/new hello", Some(context), None), async {
            let turn = take(&mut service).await;
            asked.push(turn.body.clone());
            end(turn, "completed", "hi").await;
        })
        .await;
        assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{task}");
        assert_eq!(text_of(&task), "hi");
    }
    for body in &asked {
        let chat = body["chat"].as_str().unwrap();
        assert!(
            chat.starts_with("nuncio-h-") && !chat.contains("evil"),
            "{chat}"
        );
        assert!(
            body["peer"].as_str().unwrap().starts_with("ip:"),
            "who asks is told beside the text: {body}"
        );
        assert_eq!(body["text"], "/new hello");
        assert!(
            body["about"]
                .as_str()
                .unwrap()
                .contains("not your operator")
        );
        assert_eq!(body["timeout"], 600.0);
    }
    assert!(asked[0]["chat"] == asked[1]["chat"] && asked[1]["chat"] != asked[2]["chat"]);
    assert_ne!(asked[0]["id"], asked[1]["id"]);
    assert!(asked[0]["recall"].is_null() && asked[2]["recall"].is_null());
    assert!(
        asked[1]["recall"].as_str().unwrap().contains("hello"),
        "for a chat that Hermes has lost"
    );
}

#[tokio::test]
async fn one_turn_at_a_time_runs_in_the_live_chat_that_all_callers_share() {
    let settings = format!("{DOOR}\nsession = \"telegram:dm:42\"");
    let (rig, mut service) = hermes(&settings).await;
    let mut answered = Vec::new();
    let callers = async {
        let sends =
            ["a", "b"].map(|context| rig.call("SendMessage", said(context, Some(context), None)));
        futures_util::future::join_all(sends).await
    };
    let play = async {
        for _ in 0..2 {
            let asked = take(&mut service).await;
            assert_eq!(asked.body["session"], "telegram:dm:42");
            assert!(asked.body["chat"].is_null() && asked.body["recall"].is_null());
            answered.push(asked.body["text"].as_str().unwrap().to_owned());
            let feed = asked.stream();
            feed.raw(": keepalive\n\n").await;
            assert!(service.is_quiet(), "the other turn began meanwhile");
            feed.data(&json!({"event": "end", "state": "completed", "text": "done"}))
                .await;
        }
    };
    let (answers, ()) = tokio::join!(callers, play);
    for answer in answers {
        assert_eq!(text_of(&answer["result"]["task"]), "done", "{answer}");
    }
    answered.sort();
    assert_eq!(answered, ["a", "b"]);
}

#[tokio::test]
async fn every_end_but_an_answer_fails_the_task_and_its_words_stay_inside() {
    let (rig, mut service) = hermes(DOOR).await;
    for (state, told) in [
        ("failed", "turn failed"),
        ("interrupted", "interrupted by another message"),
        ("busy", "busy"),
        ("timeout", "in time"),
        ("canceled", "stopped on its side"),
        ("completely new", "cannot be read"),
    ] {
        let play = async { end(take(&mut service).await, state, "\u{26a0} inner words").await };
        let task = turn(&rig, said("x", None, None), play).await;
        assert_eq!(task["status"]["state"], "TASK_STATE_FAILED", "{state}");
        assert!(status_text(&task).contains(told), "{state}: {task}");
        assert!(!task.to_string().contains("inner words"), "{task}");
    }
    let play = async { end(take(&mut service).await, "completed", "").await };
    let task = turn(&rig, said("x", None, None), play).await;
    assert!(
        status_text(&task).contains("answered with nothing"),
        "{task}"
    );
    assert!(service.is_quiet(), "a chat's owner would see it twice");
}

#[tokio::test]
async fn refusals_of_the_plugin_fail_the_task() {
    let (rig, mut service) = hermes(DOOR).await;
    for status in [400, 401, 409, 413] {
        let refusal = json!({"error": {"message": "inner words"}});
        let play = async { take(&mut service).await.json(status, &refusal) };
        let task = turn(&rig, said("x", None, None), play).await;
        assert_eq!(task["status"]["state"], "TASK_STATE_FAILED", "{status}");
        assert!(!task.to_string().contains("inner words"), "{task}");
    }
    let play = async { take(&mut service).await.json(200, &json!({"text": "hi"})) };
    let task = turn(&rig, said("x", None, None), play).await;
    assert_eq!(
        task["status"]["state"], "TASK_STATE_FAILED",
        "no stream: {task}"
    );
}

#[tokio::test]
async fn a_question_waits_for_its_answer_in_the_same_chat() {
    let (rig, mut service) = hermes(DOOR).await;
    let mut chat = Value::Null;
    let asked = turn(&rig, said("buy it", None, None), async {
        let asked = take(&mut service).await;
        chat = asked.body["chat"].clone();
        end(asked, "completed", "[INPUT_REQUIRED] which one?").await;
    })
    .await;
    assert_eq!(asked["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
    assert_eq!(status_text(&asked), "which one?");
    let (context, id) = (asked["contextId"].as_str(), asked["id"].as_str());
    let task = turn(&rig, said("the red one", context, id), async {
        let answer = take(&mut service).await;
        assert_eq!(answer.body["chat"], chat);
        end(answer, "completed", "bought").await;
    })
    .await;
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(task["id"], asked["id"]);
}

#[tokio::test]
async fn a_cancel_stops_the_turn_before_the_task_is_canceled() {
    let (rig, mut service) = hermes(DOOR).await;
    let task = rig.start_task("x").await;
    let asked = take(&mut service).await;
    let stop = format!("POST /turn/{}/stop", asked.body["id"].as_str().unwrap());
    let feed = asked.stream();
    let play = async {
        let stopped = service.expect(&stop).await;
        let now = rig.get_task(task["id"].as_str().unwrap()).await;
        assert_eq!(now["status"]["state"], "TASK_STATE_WORKING");
        feed.raw("data: {\"event\": \"end\", \"state\": \"completed\", \"text\": \"late\"}\n\n")
            .await;
        stopped.json(200, &json!({"state": "canceled"}));
    };
    let (canceled, ()) = tokio::join!(rig.call("CancelTask", json!({"id": task["id"]})), play);
    assert_eq!(canceled["result"]["status"]["state"], "TASK_STATE_CANCELED");
    let task = rig.get_task(task["id"].as_str().unwrap()).await;
    assert!(!task.to_string().contains("late"), "{task}");
}

#[tokio::test]
async fn a_workers_chat_is_removed_when_its_work_is_done() {
    let settings = format!("{DOOR}\n[workers]\nagents = [\"h\"]\ncallers = [\"ip:127.0.0.1\"]");
    let (rig, mut service) = hermes(&settings).await;
    let mut params = said("x", None, None);
    params["metadata"] = json!({"hermes": {"route": "worker"}});
    let task = turn(&rig, params, async {
        let asked = take(&mut service).await;
        let chat = asked.body["chat"].as_str().unwrap().replace('-', "%2D");
        end(asked, "completed", "done").await;
        let removed = service.expect(&format!("DELETE /chat/{chat}")).await;
        removed.json(200, &json!({}));
    })
    .await;
    assert_eq!(text_of(&task), "done");
}

#[tokio::test]
async fn a_check_tells_the_plugin_and_the_api_server_apart() {
    let probe = async |door: &str, service: &mut Service, platform: &str| {
        let text = format!(
            "[agents.h]\nbackend = \"hermes\"\nbase_url = \"{}\"\napi_key = \"env:K\"\ndoor = \"{door}\"\n",
            service.base
        );
        let config = config::parse(&text, std::path::Path::new("test.toml")).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let play = async {
            let health = json!({"status": "ok", "platform": platform, "version": "0.19.0"});
            service.expect("GET /health").await.json(200, &health);
        };
        let found = agents::probe_all(&config, dir.path(), Duration::from_secs(20));
        let (found, ()) = tokio::time::timeout(LIMIT, async { tokio::join!(found, play) })
            .await
            .expect("hangs");
        found[0].1.clone()
    };
    let mut service = Service::start().await;
    let found = probe("plugin", &mut service, "nuncio").await.unwrap();
    assert!(found.starts_with("Hermes 0.19.0 at 127.0.0.1:"), "{found}");
    let wrong = probe("plugin", &mut service, "hermes-agent")
        .await
        .unwrap_err();
    assert!(wrong.contains("is not nuncio's plugin"), "{wrong}");
    let wrong = probe("runs", &mut service, "nuncio").await.unwrap_err();
    assert!(wrong.contains("door = \"plugin\""), "{wrong}");
}

#[test]
fn settings_that_lead_into_no_chat_are_refused_by_name() {
    for (settings, key) in [
        ("session = \"telegram-42\"", "session"),
        ("session = \"telegram::42\"", "session"),
        ("profile = \"work\"", "profile"),
        ("approvals = \"ask\"", "approvals"),
    ] {
        let text = format!(
            "[agents.h]\nbackend = \"hermes\"\nbase_url = \"http://127.0.0.1:1\"\napi_key = \"env:K\"\n{DOOR}\n{settings}\n"
        );
        let config = config::parse(&text, std::path::Path::new("test.toml")).unwrap();
        let keys: Vec<_> = config.problems().into_iter().map(|it| it.key).collect();
        assert_eq!(keys, [format!("agents.h.{key}")], "{settings}");
    }
}
