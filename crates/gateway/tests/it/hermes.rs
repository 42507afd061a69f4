//! The `hermes` backend through the door `completions`, and what both doors share.

use serde_json::{Value, json};
use std::time::Duration;

use crate::rig::{LIMIT, Rig, Store};
use crate::service::{Asked, Service, said, status_text, text_of};

pub const KEY: (&str, &str) = ("hermes.key", "0123456789abcdef");

/// A gateway whose only agent is a Hermes that the test plays.
pub async fn hermes(settings: &str) -> (Rig, Service) {
    hermes_in(Store::Memory, settings).await
}

/// The same with this store.
pub async fn hermes_in(store: Store, settings: &str) -> (Rig, Service) {
    let service = Service::start().await;
    let config = format!(
        "[agents.h]\nbackend = \"hermes\"\nbase_url = \"{}\"\napi_key = \"file:{}\"\n{settings}\n",
        service.base, KEY.0
    );
    (Rig::with_secrets(store, &config, &[KEY]).await, service)
}

const COMPLETIONS: &str = "POST /v1/chat/completions";
const DOOR: &str = "door = \"completions\"";

/// Sends a text and plays Hermes meanwhile; the task.
pub async fn turn(rig: &Rig, params: Value, play: impl Future<Output = ()>) -> Value {
    let send = async {
        let answer = rig.call("SendMessage", params).await;
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"]["task"].clone()
    };
    tokio::join!(send, play).0
}

/// Answers a completion with one text.
async fn say(asked: Asked, text: &str) {
    let feed = asked.stream();
    feed.says(text).await;
    feed.done().await;
}

fn session_of(asked: &Asked) -> String {
    asked.header("x-hermes-session-id").to_owned()
}

#[tokio::test]
async fn each_context_has_a_session_of_its_own_that_no_caller_names() {
    let (rig, mut service) = hermes(DOOR).await;
    let mut sessions: Vec<String> = Vec::new();
    for context in ["evil", "evil", "other"] {
        let is_known = sessions.len() == 1;
        let params = said("hello", Some(context), None);
        let task = turn(&rig, params, async {
            if is_known {
                let asked = service.next().await;
                assert_eq!(
                    asked.line,
                    format!("GET /api/sessions/{}", encoded(&sessions[0]))
                );
                asked.json(200, &json!({"object": "hermes.session"}));
            }
            let asked = service.expect(COMPLETIONS).await;
            assert_eq!(asked.header("authorization"), "Bearer 0123456789abcdef");
            let messages = &asked.body["messages"];
            let frame = messages[0]["content"].as_str().unwrap();
            assert!(messages[0]["role"] == "system" && frame.contains("not your operator"));
            assert_eq!(messages[1], json!({"role": "user", "content": "hello"}));
            sessions.push(session_of(&asked));
            assert!(!asked.header("idempotency-key").is_empty());
            assert!(
                asked
                    .header("x-hermes-session-key")
                    .starts_with("nuncio-h-")
            );
            say(asked, "hi").await;
        })
        .await;
        assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{task}");
        assert_eq!(text_of(&task), "hi");
    }
    assert!(
        sessions
            .iter()
            .all(|it| it.starts_with("nuncio-h-") && !it.contains("evil"))
    );
    assert!(
        sessions[0] == sessions[1] && sessions[1] != sessions[2],
        "{sessions:?}"
    );
}

fn encoded(name: &str) -> String {
    name.replace('-', "%2D")
}

/// Plays a Hermes that has compacted the session `name`: it goes on as `tip`.
async fn tell_of_compaction(service: &mut Service, name: &str, tip: &str) {
    let path = format!("GET /api/sessions/{}", encoded(name));
    let session = json!({"id": name, "end_reason": "compression"});
    let asked = service.expect(&path).await;
    asked.json(
        200,
        &json!({"object": "hermes.session", "session": session}),
    );
    let asked = service.expect(&format!("{path}/messages")).await;
    asked.json(
        200,
        &json!({"object": "list", "session_id": tip, "data": []}),
    );
}

#[tokio::test]
async fn the_session_goes_on_under_the_name_that_hermes_gives_it() {
    let (rig, mut service) = hermes(DOOR).await;
    let mut own = String::new();
    turn(&rig, said("a", Some("c"), None), async {
        let asked = service.expect(COMPLETIONS).await;
        own = session_of(&asked);
        // Sent before the turn, the head of a stream names the session that was asked for.
        let feed = asked.stream_with(&[("x-hermes-session-id", &own)]);
        feed.says("1").await;
        feed.done().await;
    })
    .await;
    turn(&rig, said("b", Some("c"), None), async {
        tell_of_compaction(&mut service, &own, "shorter").await;
        let asked = service.expect(COMPLETIONS).await;
        assert_eq!(session_of(&asked), "shorter");
        say(asked, "2").await;
    })
    .await;
    turn(&rig, said("c", Some("c"), None), async {
        let asked = service.expect("GET /api/sessions/shorter").await;
        asked.json(200, &json!({"session": {"end_reason": null}}));
        let asked = service.expect(COMPLETIONS).await;
        assert_eq!(session_of(&asked), "shorter");
        say(asked, "3").await;
    })
    .await;
}

#[tokio::test]
async fn a_pinned_session_is_followed_over_a_restart() {
    let settings = format!("{DOOR}\nsession = \"telegram\"");
    let (mut rig, mut service) = hermes_in(Store::Sqlite, &settings).await;
    for tip in ["second", "third"] {
        turn(&rig, said("a", None, None), async {
            tell_of_compaction(&mut service, "telegram", tip).await;
            let asked = service.expect(COMPLETIONS).await;
            assert_eq!(session_of(&asked), tip);
            say(asked, "1").await;
        })
        .await;
        rig.restart(LIMIT).await;
    }
}

#[tokio::test]
async fn a_worker_never_works_in_the_session_of_the_operator() {
    let rules = "[workers]\nagents = [\"h\"]\ncallers = [\"ip:127.0.0.1\"]";
    let (rig, mut service) = hermes(&format!("{DOOR}\nsession = \"telegram\"\n{rules}")).await;
    let mut params = said("dig", None, None);
    params["metadata"] = json!({"hermes": {"route": "worker"}});
    turn(&rig, params, async {
        let asked = service.expect(COMPLETIONS).await;
        let own = session_of(&asked);
        assert!(own.starts_with("nuncio-h-"), "{own}");
        assert_eq!(asked.body["messages"][1]["content"], "dig");
        say(asked, "dug").await;
        let removed = service.next().await;
        assert_eq!(
            removed.line,
            format!("DELETE /api/sessions/{}", encoded(&own))
        );
        removed.json(200, &json!({}));
    })
    .await;
}

#[tokio::test]
async fn a_session_that_vanished_is_made_anew_with_what_was_said() {
    let (rig, mut service) = hermes(DOOR).await;
    let play = async { say(service.next().await, "blue, then").await };
    turn(&rig, said("my colour is blue", Some("c"), None), play).await;
    turn(&rig, said("which?", Some("c"), None), async {
        let asked = service.next().await;
        asked.json(
            404,
            &json!({"error": {"message": "none", "code": "session_not_found"}}),
        );
        let asked = service.expect(COMPLETIONS).await;
        let system = asked.body["messages"][0]["content"].as_str().unwrap();
        assert!(
            system.contains("my colour is blue") && system.contains("blue, then"),
            "{system}"
        );
        say(asked, "blue").await;
    })
    .await;
}

#[tokio::test]
async fn tools_in_use_are_progress_and_what_they_are_given_stays_inside() {
    let (rig, mut service) = hermes(DOOR).await;
    let mut frames = rig
        .stream(&[], "SendStreamingMessage", said("x", None, None))
        .await;
    frames.result().await;
    let feed = service.next().await.stream();
    feed.says("so").await;
    assert!(frames.result().await["artifactUpdate"].is_object());
    let tool = |status: &str| {
        let data = json!({"tool": "terminal", "label": "cat /etc/secret", "status": status});
        format!("event: hermes.tool.progress\ndata: {data}\n\n")
    };
    feed.raw(tool("running")).await;
    let progress = frames.result().await;
    assert_eq!(
        status_text(&progress["statusUpdate"]),
        "Using the tool terminal."
    );
    feed.raw(tool("completed")).await;
    feed.says(" it is").await;
    feed.done().await;
    let rest = frames.rest().await;
    assert_eq!(
        rest.last().unwrap()["statusUpdate"]["status"]["state"],
        "TASK_STATE_COMPLETED"
    );
    assert!(!json!(rest).to_string().contains("secret"));
}

#[tokio::test]
async fn a_flood_of_progress_is_stopped_at_the_limit_of_what_may_be_said() {
    let (rig, mut service) = hermes(&format!("{DOOR}\nmax_output_bytes = 5000")).await;
    let task = turn(&rig, said("x", None, None), async {
        let feed = service.next().await.stream();
        let data = json!({"tool": "terminal", "status": "running"});
        let event = format!("event: hermes.tool.progress\ndata: {data}\n\n");
        while feed.raw(event.clone()).await {}
    })
    .await;
    assert_eq!(task["status"]["state"], "TASK_STATE_FAILED", "{task}");
    assert!(status_text(&task).contains("more than it may"), "{task}");
}

#[tokio::test]
async fn every_sign_of_failure_fails_the_task() {
    let (rig, mut service) = hermes(DOOR).await;
    let ended = |completed: bool, partial: bool, failed: bool| json!({"completed": completed, "partial": partial, "failed": failed, "error": "inner words"});
    let whole = |reason: &str, hermes: Value| {
        let message = json!({"role": "assistant", "content": "so far"});
        json!({"choices": [{"index": 0, "message": message, "finish_reason": reason}], "hermes": hermes})
    };
    let incomplete = json!({"error": {"message": "inner words", "code": "agent_incomplete", "hermes": ended(false, false, true)}});
    for (status, body) in [
        (502, incomplete),
        (
            500,
            json!({"error": {"message": "inner words", "type": "server_error"}}),
        ),
        (200, whole("error", ended(false, false, true))),
        (200, whole("stop", ended(false, true, false))),
        (200, whole("length", Value::Null)),
    ] {
        let play = async { service.next().await.json(status, &body) };
        let task = turn(&rig, said("x", None, None), play).await;
        assert_eq!(
            task["status"]["state"], "TASK_STATE_FAILED",
            "{body}: {task}"
        );
        assert!(!task.to_string().contains("inner words"), "{task}");
    }
    for (reason, code) in [("error", "agent_error"), ("length", "output_truncated")] {
        let task = turn(&rig, said("x", None, None), async {
            let feed = service.next().await.stream();
            feed.says("so far").await;
            let mut hermes = ended(false, true, false);
            hermes["error_code"] = code.into();
            let error = json!({"message": "inner words", "type": code});
            feed.finish(reason, json!({"error": error, "hermes": hermes}))
                .await;
        })
        .await;
        assert_eq!(task["status"]["state"], "TASK_STATE_FAILED", "{task}");
        assert_eq!(text_of(&task), "so far");
        assert!(!task.to_string().contains("inner words"), "{task}");
    }
}

#[tokio::test]
async fn nothing_said_is_asked_once_more_and_then_a_failure() {
    let (rig, mut service) = hermes(DOOR).await;
    let task = turn(&rig, said("x", None, None), async {
        let first = service.expect(COMPLETIONS).await;
        let key = first.header("idempotency-key").to_owned();
        first.stream().done().await;
        let check = service.next().await;
        assert!(
            check.line.starts_with("GET /api/sessions/"),
            "{}",
            check.line
        );
        check.json(200, &json!({}));
        let second = service.expect(COMPLETIONS).await;
        assert_ne!(
            second.header("idempotency-key"),
            key,
            "else it is the same answer"
        );
        second.stream().done().await;
    })
    .await;
    assert_eq!(task["status"]["state"], "TASK_STATE_FAILED");
    assert!(status_text(&task).contains("nothing"), "{task}");
}

#[tokio::test]
async fn a_cancel_closes_the_connection() {
    let (rig, mut service) = hermes(DOOR).await;
    let task = rig.start_task("x").await;
    let feed = service.next().await.stream();
    feed.says("begun").await;
    let canceled = rig.call("CancelTask", json!({"id": task["id"]})).await;
    assert_eq!(canceled["result"]["status"]["state"], "TASK_STATE_CANCELED");
    feed.closed().await;
}

#[tokio::test]
async fn a_turn_that_a_stopping_gateway_cuts_off_is_lost_and_the_next_one_goes_on() {
    let (mut rig, mut service) = hermes_in(Store::Sqlite, DOOR).await;
    let task = rig.start_task("x").await;
    let asked = service.expect(COMPLETIONS).await;
    let session = session_of(&asked);
    let feed = asked.stream();
    feed.says("begun").await;
    rig.restart(Duration::ZERO).await;
    feed.closed().await;
    let lost = rig.get_task(task["id"].as_str().unwrap()).await;
    assert_eq!(lost["status"]["state"], "TASK_STATE_FAILED", "{lost}");
    assert_eq!(
        lost["status"]["message"]["metadata"]["reason"],
        "worker_lost"
    );
    let params = said("y", task["contextId"].as_str(), None);
    turn(&rig, params, async {
        service.next().await.json(200, &json!({}));
        let asked = service.expect(COMPLETIONS).await;
        assert_eq!(session_of(&asked), session);
        say(asked, "done").await;
    })
    .await;
}

#[tokio::test]
async fn a_question_waits_for_its_answer_in_the_same_session() {
    let (rig, mut service) = hermes(DOOR).await;
    let mut session = String::new();
    let asked = turn(&rig, said("buy it", None, None), async {
        let asked = service.next().await;
        session = session_of(&asked);
        say(asked, "[INPUT_REQUIRED] which one?").await;
    })
    .await;
    assert_eq!(asked["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
    assert_eq!(status_text(&asked), "which one?");
    let params = said(
        "the red one",
        asked["contextId"].as_str(),
        asked["id"].as_str(),
    );
    let task = turn(&rig, params, async {
        service.next().await.json(200, &json!({}));
        let answer = service.expect(COMPLETIONS).await;
        assert_eq!(session_of(&answer), session);
        say(answer, "bought").await;
    })
    .await;
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(task["id"], asked["id"]);
}

#[tokio::test]
async fn its_card_tells_of_the_toolsets_that_may_be_told_of() {
    let (rig, mut service) = hermes("advertised_toolsets = [\"web\"]").await;
    let play = async {
        let toolset = |name: &str, enabled: bool| json!({"name": name, "label": name, "description": "d", "enabled": enabled});
        let toolsets = [
            toolset("web", true),
            toolset("files", true),
            toolset("off", false),
        ];
        service
            .expect("GET /v1/toolsets")
            .await
            .json(200, &json!({"data": toolsets}));
        let skills = json!([{"name": "tea", "description": "makes tea", "category": "kitchen"}]);
        service
            .expect("GET /v1/skills")
            .await
            .json(200, &json!({"data": skills}));
    };
    let (card, ()) = tokio::join!(rig.get("/.well-known/agent-card.json", &[]), play);
    let ids: Vec<_> = card.json["skills"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["id"].clone())
        .collect();
    assert!(
        ids.contains(&json!("hermes-toolset-web")) && ids.contains(&json!("hermes-skill-tea")),
        "{ids:?}"
    );
    assert!(
        !ids.iter().any(|id| id.as_str().unwrap().ends_with("files")),
        "{ids:?}"
    );
}
