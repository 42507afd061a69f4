//! The `openfang` backend against an OpenFang that the test plays.

use serde_json::{Value, json};

use crate::hermes::turn;
use crate::rig::{Rig, Store};
use crate::service::{Asked, Feed, Service, said, status_text, text_of};

const LIST: &str = "GET /api/agents";
const STREAM: &str = "POST /api/agents/id-2/message/stream";
const STOP: &str = "POST /api/agents/id-2/stop";
const KEY: (&str, &str) = ("openfang.key", "0123456789abcdef");

/// A gateway before the agent `researcher`.
async fn openfang(settings: &str) -> (Rig, Service) {
    let service = Service::start().await;
    let config = format!(
        "[agents.o]\nbackend = \"openfang\"\nbase_url = \"{}\"\nagent = \"researcher\"\n\
         api_key = \"file:{}\"\n{settings}\n",
        service.base, KEY.0
    );
    let rig = Rig::with_secrets(Store::Memory, &config, &[KEY]).await;
    (rig, service)
}

fn agents() -> Value {
    json!([
        {"id": "id-1", "name": "assistant", "state": "Running", "model_name": "m"},
        {"id": "id-2", "name": "researcher", "state": "Running", "model_name": "m", "ready": true},
    ])
}

async fn listed(service: &mut Service) {
    service.expect(LIST).await.json(200, &agents());
}

async fn chunk(feed: &Feed, text: &str) {
    feed.event("chunk", &json!({"content": text, "done": false}))
        .await;
}

async fn done(feed: &Feed) {
    let usage = json!({"input_tokens": 3, "output_tokens": 2});
    feed.event("done", &json!({"done": true, "usage": usage}))
        .await;
}

async fn say(asked: Asked, text: &str) {
    let feed = asked.stream();
    feed.event("phase", &json!({"phase": "streaming", "detail": null}))
        .await;
    chunk(&feed, text).await;
    done(&feed).await;
    feed.event("phase", &json!({"phase": "done", "detail": null}))
        .await;
}

fn state(task: &Value) -> &str {
    task["status"]["state"].as_str().unwrap_or("none")
}

#[tokio::test]
async fn a_named_agent_is_asked_and_told_who_asks() {
    let (rig, mut service) = openfang("").await;
    for turn_number in 0..2 {
        let task = turn(&rig, said("/hello", Some("c"), None), async {
            if turn_number == 0 {
                listed(&mut service).await;
            }
            let asked = service.expect(STREAM).await;
            assert_eq!(asked.header("authorization"), format!("Bearer {}", KEY.1));
            let body = &asked.body;
            assert_eq!(body["sender_id"], "ip:127.0.0.1");
            assert_eq!(body["sender_name"], "127.0.0.1");
            let message = body["message"].as_str().unwrap();
            assert!(
                message.ends_with("[A2A message from ip:127.0.0.1]\n/hello"),
                "{message}"
            );
            // What such messages are, the agent is told once in a conversation.
            assert_eq!(
                message.contains("INPUT_REQUIRED"),
                turn_number == 0,
                "{message}"
            );
            say(asked, "hi").await;
        })
        .await;
        assert_eq!(
            (state(&task), text_of(&task).as_str()),
            ("TASK_STATE_COMPLETED", "hi")
        );
        assert_eq!(task["artifacts"][0]["parts"].as_array().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn pieces_tools_and_cost_arrive_as_they_come() {
    let (rig, mut service) = openfang("").await;
    let mut frames = rig
        .stream(&[], "SendStreamingMessage", said("x", None, None))
        .await;
    frames.result().await;
    listed(&mut service).await;
    let feed = service.expect(STREAM).await.stream();
    chunk(&feed, "<think>secret").await;
    chunk(&feed, " thought</think>I will look").await;
    let piece = frames.result().await;
    assert_eq!(
        piece["artifactUpdate"]["artifact"]["parts"][0]["text"],
        "I will look"
    );
    feed.event("tool_use", &json!({"tool": "web_search"})).await;
    let progress = frames.result().await;
    assert_eq!(
        status_text(&progress["statusUpdate"]),
        "Using the tool web_search."
    );
    let input = json!({"tool": "web_search", "input": {"query": "inner words"}});
    feed.event("tool_result", &input).await;
    done(&feed).await;
    feed.event("phase", &json!({"phase": "thinking", "detail": null}))
        .await;
    chunk(&feed, "found").await;
    let piece = frames.result().await;
    assert_eq!(
        piece["artifactUpdate"]["artifact"]["parts"][0]["text"],
        "\n\nfound"
    );
    done(&feed).await;
    drop(feed);
    let rest = frames.rest().await;
    let last = rest
        .iter()
        .rfind(|it| it["artifactUpdate"].is_object())
        .unwrap();
    let usage = &last["artifactUpdate"]["metadata"]["usage"];
    assert_eq!(
        usage,
        &json!({"input_tokens": 6, "output_tokens": 4}),
        "{last}"
    );
    assert_eq!(
        state(&rest.last().unwrap()["statusUpdate"]),
        "TASK_STATE_COMPLETED"
    );
    assert!(!format!("{rest:?}").contains("inner words"));
    assert!(service.is_quiet(), "nothing is to be stopped");
}

#[tokio::test]
async fn a_turn_that_ends_before_its_answer_is_a_failure() {
    let (rig, mut service) = openfang("").await;
    let ends = async |step: usize, feed: Feed| match step {
        0 => {}
        1 => {
            // A tool was asked for, and then the model failed.
            feed.event("tool_use", &json!({"tool": "shell"})).await;
            done(&feed).await;
        }
        2 => {
            done(&feed).await;
            feed.event("phase", &json!({"phase": "thinking"})).await;
        }
        3 => chunk(&feed, "half").await,
        4 => done(&feed).await,
        _ => {
            chunk(&feed, "NO_").await;
            chunk(&feed, "REPLY").await;
            done(&feed).await;
        }
    };
    for step in 0..=5 {
        let task = turn(&rig, said("x", None, None), async {
            if step == 0 {
                listed(&mut service).await;
            }
            ends(step, service.expect(STREAM).await.stream()).await;
        })
        .await;
        assert_eq!(state(&task), "TASK_STATE_FAILED", "{step}: {task}");
        assert!(status_text(&task).contains("error id"), "{step}: {task}");
        assert!(!task.to_string().contains("NO_REPLY"), "{task}");
    }
}

#[tokio::test]
async fn a_cancel_stops_the_turn_there_before_the_next_one_begins() {
    let (rig, mut service) = openfang("").await;
    let task = rig.start_task("x").await;
    listed(&mut service).await;
    let feed = service.expect(STREAM).await.stream();
    chunk(&feed, "begun").await;
    let mut next = said("y", None, None);
    next["configuration"] = json!({"returnImmediately": true});
    let next = rig.call("SendMessage", next).await["result"]["task"]["id"].clone();
    let id = json!({"id": task["id"]});
    let cancel = rig.call("CancelTask", id);
    let play = async {
        feed.closed().await;
        let stop = service.expect(STOP).await;
        assert!(service.is_quiet(), "the next turn would be stopped");
        stop.json(200, &json!({"status": "ok"}));
    };
    let (canceled, ()) = tokio::join!(cancel, play);
    assert_eq!(
        state(&canceled["result"]),
        "TASK_STATE_CANCELED",
        "{canceled}"
    );
    say(service.expect(STREAM).await, "second").await;
    loop {
        let task = rig.get_task(next.as_str().unwrap()).await;
        if state(&task) == "TASK_STATE_COMPLETED" {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert!(!feed.raw("data: {}\n\n").await, "nobody listens");
    let task = rig.get_task(task["id"].as_str().unwrap()).await;
    assert_eq!(state(&task), "TASK_STATE_CANCELED");
}

#[tokio::test]
async fn without_streams_a_cancel_ends_the_request_and_nothing_else() {
    let (rig, mut service) = openfang("stream = false").await;
    let task = turn(&rig, said("x", None, None), async {
        listed(&mut service).await;
        let asked = service.expect("POST /api/agents/id-2/message").await;
        asked.json(
            200,
            &json!({"response": "whole", "input_tokens": 1, "output_tokens": 2, "iterations": 1}),
        );
    })
    .await;
    assert_eq!(
        (state(&task), text_of(&task).as_str()),
        ("TASK_STATE_COMPLETED", "whole")
    );
    let nothing =
        "[The agent completed processing but returned no text response. (1 in / 0 out | 1 iter)]";
    for response in ["", nothing, "NO_REPLY"] {
        let task = turn(&rig, said("x", None, None), async {
            service
                .next()
                .await
                .json(200, &json!({"response": response}));
        })
        .await;
        assert!(
            status_text(&task).contains("answered with nothing"),
            "{task}"
        );
    }
    let task = rig.start_task("x").await;
    let asked = service.next().await;
    rig.call("CancelTask", json!({"id": task["id"]})).await;
    let task = rig.get_task(task["id"].as_str().unwrap()).await;
    assert_eq!(state(&task), "TASK_STATE_CANCELED");
    asked.json(200, &json!({"response": "late"}));
    let play = async { service.next().await.json(200, &json!({"response": "next"})) };
    let next = turn(&rig, said("y", None, None), play).await;
    assert_eq!(text_of(&next), "next");
    assert!(service.is_quiet());
}

#[tokio::test]
async fn an_agent_that_was_made_anew_is_found_by_its_name() {
    let (rig, mut service) = openfang("").await;
    turn(&rig, said("x", None, None), async {
        listed(&mut service).await;
        say(service.expect(STREAM).await, "one").await;
    })
    .await;
    let task = turn(&rig, said("y", None, None), async {
        let gone = service.expect(STREAM).await;
        gone.json(404, &json!({"error": "Agent not found"}));
        let anew = json!([{"id": "id-9", "name": "researcher"}]);
        service.expect(LIST).await.json(200, &anew);
        say(
            service.expect("POST /api/agents/id-9/message/stream").await,
            "two",
        )
        .await;
    })
    .await;
    assert_eq!(text_of(&task), "two");
    let task = turn(&rig, said("z", None, None), async {
        service
            .next()
            .await
            .json(404, &json!({"error": "Agent not found"}));
        service.expect(LIST).await.json(200, &json!([]));
    })
    .await;
    assert_eq!(state(&task), "TASK_STATE_FAILED");
    assert!(
        status_text(&task).contains("the agent is not there"),
        "{task}"
    );
}

#[tokio::test]
async fn a_refusal_tells_its_kind_and_nothing_of_the_server() {
    let (rig, mut service) = openfang("").await;
    for (status, words) in [
        (401, "HTTP 401"),
        (413, "larger than the agent takes"),
        (429, "quota"),
        (500, "HTTP 500"),
    ] {
        let task = turn(&rig, said("x", None, None), async {
            if status == 401 {
                listed(&mut service).await;
            }
            service
                .next()
                .await
                .json(status, &json!({"error": "inner words"}));
        })
        .await;
        assert_eq!(state(&task), "TASK_STATE_FAILED");
        assert!(status_text(&task).contains(words), "{task}");
        assert!(!task.to_string().contains("inner words"));
    }
    let large = "x".repeat(64 * 1024);
    let task = turn(&rig, said(&large, None, None), async {}).await;
    assert_eq!(state(&task), "TASK_STATE_REJECTED");
    assert!(status_text(&task).contains("65536 bytes"), "{task}");
    assert!(service.is_quiet());
}

#[tokio::test]
async fn conversations_of_one_agent_take_turns() {
    let (rig, mut service) = openfang("").await;
    let other = async {
        let params = said("one", Some("a"), None);
        rig.call("SendMessage", params).await["result"]["task"].clone()
    };
    let first = async {
        let params = said("two", Some("b"), None);
        rig.call("SendMessage", params).await["result"]["task"].clone()
    };
    let play = async {
        listed(&mut service).await;
        for _ in 0..2 {
            let asked = service.expect(STREAM).await;
            assert!(service.is_quiet(), "two turns at once in one session");
            let is_first = asked.body["message"].as_str().unwrap().ends_with("one");
            say(asked, if is_first { "1" } else { "2" }).await;
        }
    };
    let (one, two, ()) = tokio::join!(other, first, play);
    assert_eq!((text_of(&one).as_str(), text_of(&two).as_str()), ("1", "2"));
}

#[tokio::test]
async fn a_question_is_answered_in_the_same_task_and_files_are_text() {
    let (rig, mut service) = openfang("").await;
    let asked = turn(&rig, said("x", None, None), async {
        listed(&mut service).await;
        say(service.expect(STREAM).await, "[input_required] which?").await;
    })
    .await;
    assert_eq!(
        (state(&asked), status_text(&asked)),
        ("TASK_STATE_INPUT_REQUIRED", "which?")
    );
    let mut params = said("that", asked["contextId"].as_str(), asked["id"].as_str());
    let file = json!({"raw": "bm90ZQ==", "filename": "n.txt", "mediaType": "text/plain"});
    params["message"]["parts"]
        .as_array_mut()
        .unwrap()
        .push(file);
    let task = turn(&rig, params, async {
        let asked = service.expect(STREAM).await;
        let message = asked.body["message"].as_str().unwrap();
        assert!(
            message.contains("that") && message.ends_with("note"),
            "{message}"
        );
        say(asked, "thanks").await;
    })
    .await;
    assert_eq!(
        (&task["id"], text_of(&task).as_str()),
        (&asked["id"], "thanks")
    );
}

#[tokio::test]
async fn the_card_tells_of_the_agents_tools() {
    for (settings, expected) in [
        ("", vec!["openfang-shell", "openfang-web_search"]),
        (
            "advertised_tools = [\"web_search\"]",
            vec!["openfang-web_search"],
        ),
    ] {
        let (rig, mut service) = openfang(settings).await;
        let play = async {
            listed(&mut service).await;
            let tool = |name: &str| json!({"id": name, "name": name, "description": format!("Can use the {name} tool"), "tags": ["tool"]});
            let cards = json!({"total": 2, "agents": [
                {"name": "assistant", "skills": [tool("other")]},
                {"name": "researcher", "skills": [tool("shell"), tool("web_search")]},
            ]});
            service.expect("GET /a2a/agents").await.json(200, &cards);
        };
        let card = rig.get("/.well-known/agent-card.json", &[]);
        let (card, ()) = tokio::join!(card, play);
        let skills = card.json["skills"].as_array().unwrap();
        let ids: Vec<_> = skills.iter().map(|it| it["id"].as_str().unwrap()).collect();
        assert_eq!(ids, expected, "{}", card.json);
    }
    let (rig, service) = openfang("advertised_tools = []").await;
    let card = rig.get("/.well-known/agent-card.json", &[]).await;
    assert!(!card.json.to_string().contains("openfang-"));
    assert!(service.is_quiet());
}

#[tokio::test]
async fn a_caller_that_hangs_up_changes_nothing() {
    let (rig, mut service) = openfang("").await;
    let mut frames = rig
        .stream(&[], "SendStreamingMessage", said("x", None, None))
        .await;
    let id = frames.result().await["task"]["id"].clone();
    listed(&mut service).await;
    let feed = service.expect(STREAM).await.stream();
    chunk(&feed, "one").await;
    frames.result().await;
    drop(frames);
    chunk(&feed, " two").await;
    done(&feed).await;
    drop(feed);
    loop {
        let task = rig.get_task(id.as_str().unwrap()).await;
        if state(&task) == "TASK_STATE_COMPLETED" {
            assert_eq!(text_of(&task), "one two");
            break;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_restart_in_the_middle_stops_the_turn_there_and_fails_the_task() {
    let mut service = Service::start().await;
    let config = format!(
        "[agents.o]\nbackend = \"openfang\"\nbase_url = \"{}\"\nagent = \"researcher\"\n",
        service.base
    );
    let mut rig = Rig::start(Store::Sqlite, &config).await;
    let task = rig.start_task("x").await;
    listed(&mut service).await;
    let feed = service.expect(STREAM).await.stream();
    chunk(&feed, "begun").await;
    let play = async { service.expect(STOP).await.json(200, &json!({})) };
    tokio::join!(rig.restart(std::time::Duration::ZERO), play);
    let task = rig.get_task(task["id"].as_str().unwrap()).await;
    assert_eq!(state(&task), "TASK_STATE_FAILED");
    assert_eq!(
        task["status"]["message"]["metadata"]["reason"],
        "worker_lost"
    );
}
