//! What becomes of a task when the agent behind the gateway refuses, breaks, hangs or floods, and when
//! its caller leaves.

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::rig::{Rig, message};
use crate::service::{said, status_text, text_of};
use crate::upstream::ended;
use crate::upstream_peer::{Peer, THEIR_CONTEXT, THEIR_TASK, Talk, answer, refuse, task};

fn state(task: &Value) -> &str {
    let state = task["status"]["state"].as_str().unwrap_or_default();
    state.trim_start_matches("TASK_STATE_")
}

/// Sends a text and plays the agent meanwhile; what came of it.
async fn turn(rig: &Rig, params: Value, play: impl Future<Output = ()>) -> Value {
    tokio::join!(rig.call("SendMessage", params), play).0
}

#[tokio::test]
async fn what_the_agent_refuses_about_a_message_is_refused_by_the_same_name() {
    let (rig, mut peer) = Peer::behind("").await;
    for (code, reason) in [
        (-32004, "UNSUPPORTED_OPERATION"),
        (-32005, "CONTENT_TYPE_NOT_SUPPORTED"),
        (-32006, "INVALID_AGENT_RESPONSE"),
        (-32008, "EXTENSION_SUPPORT_REQUIRED"),
        (-32602, "INVALID_PARAMS"),
    ] {
        let refused = turn(&rig, message("x"), async {
            let asked = peer.call("SendStreamingMessage").await;
            refuse(asked, code, reason, "not like this");
            if code == -32004 {
                // It may have refused the stream alone.
                refuse(
                    peer.call("SendMessage").await,
                    code,
                    reason,
                    "not like this",
                );
            }
        });
        let refused = refused.await;
        assert_eq!(refused["error"]["code"], code, "{refused}");
        let text = refused["error"]["message"].as_str().unwrap();
        assert!(text.contains("not like this"), "{refused}");
    }
    let listed = rig.call("ListTasks", json!({})).await;
    assert_eq!(
        listed["result"]["tasks"],
        json!([]),
        "a refusal leaves no task"
    );
}

#[tokio::test]
async fn an_agent_that_takes_nothing_now_says_for_how_long() {
    let (rig, mut peer) = Peer::behind("").await;
    let params = message("x").to_string();
    let (refused, ()) = tokio::join!(rig.exchange(&[], "SendMessage", &params), async {
        let asked = peer.call("SendStreamingMessage").await;
        asked.bytes(503, &[("retry-after", "120")], "full".into());
    });
    assert_eq!(refused.0.header("retry-after"), "120", "{}", refused.1);
    assert_eq!(refused.0.status, 503, "{}", refused.1);
}

#[tokio::test]
async fn what_is_wrong_between_the_gateway_and_the_agent_is_no_fault_of_the_caller() {
    let (rig, mut peer) = Peer::behind("").await;
    for (code, reason) in [
        (-32603, "INTERNAL_ERROR"),
        (-32001, "TASK_NOT_FOUND"),
        (-32009, "VERSION_NOT_SUPPORTED"),
        (-32700, "PARSE_ERROR"),
    ] {
        let failed = turn(&rig, message("x"), async {
            refuse(
                peer.call("SendStreamingMessage").await,
                code,
                reason,
                "inner words",
            );
        });
        let failed = failed.await["result"]["task"].take();
        assert_eq!(state(&failed), "FAILED", "{code}: {failed}");
    }
}

#[tokio::test]
async fn a_wish_for_an_authorisation_is_passed_on_and_so_is_what_comes_after_it() {
    let (rig, mut peer) = Peer::behind("").await;
    let asked = turn(&rig, message("x"), async {
        let talk = peer.stream("SendStreamingMessage").await;
        talk.task("WORKING").await;
        talk.status("AUTH_REQUIRED", "sign in at example.org").await;
    });
    let waiting = asked.await["result"]["task"].take();
    let told = (state(&waiting), status_text(&waiting));
    assert_eq!(
        told,
        ("AUTH_REQUIRED", "sign in at example.org"),
        "{waiting}"
    );
    let id = waiting["id"].as_str().unwrap();
    let done = turn(&rig, said("done that", None, Some(id)), async {
        let call = peer.call("SendStreamingMessage").await;
        assert_eq!(call.body["params"]["message"]["taskId"], THEIR_TASK);
        assert_eq!(call.body["params"]["message"]["contextId"], THEIR_CONTEXT);
        let talk = Talk::begin(call);
        talk.task("COMPLETED").await;
        answer(peer.call("GetTask").await, task("COMPLETED", json!([])));
    });
    let done = done.await["result"]["task"].take();
    assert_eq!(
        (state(&done), done["id"].as_str()),
        ("COMPLETED", Some(id)),
        "{done}"
    );
}

#[tokio::test]
async fn a_rejection_is_one_here_too() {
    let (rig, mut peer) = Peer::behind("").await;
    let rejected = turn(&rig, message("x"), async {
        let talk = peer.stream("SendStreamingMessage").await;
        talk.task("SUBMITTED").await;
        talk.status("REJECTED", "not mine").await;
    });
    let rejected = rejected.await["result"]["task"].take();
    assert_eq!(
        (state(&rejected), status_text(&rejected)),
        ("REJECTED", "not mine")
    );
}

#[tokio::test]
async fn the_header_of_the_operators_choice_names_who_asks_and_nothing_else_does() {
    let tokens = "[security]\npeer_tokens = { alice = \"env:ALICE\", bob = \"env:BOB\" }\n";
    for header in ["X-Caller", ""] {
        let setting = match header {
            "" => String::new(),
            header => format!("caller_header = \"{header}\""),
        };
        let mut peer = Peer::start(json!({"streaming": true})).await;
        let rig = peer.front(&format!("{setting}\n{tokens}")).await;
        for name in ["alice", "bob", "alice"] {
            let token = format!("Bearer {name}");
            let headers = [("authorization", token.as_str()), ("x-caller", "operator")];
            let (_, told) =
                tokio::join!(rig.call_as(&headers, "SendMessage", message("x")), async {
                    let asked = peer.call("SendStreamingMessage").await;
                    let told = asked.header("x-caller").to_owned();
                    assert_eq!(asked.header("authorization"), "");
                    refuse(asked, -32602, "INVALID_PARAMS", "enough");
                    told
                });
            let expected = match header {
                "" => String::new(),
                _ => format!("peer:{name}"),
            };
            assert_eq!(told, expected);
        }
    }
}

#[tokio::test]
async fn rubbish_in_place_of_an_answer_fails_the_task_and_is_not_repeated_to_the_caller() {
    let (rig, mut peer) = Peer::behind("").await;
    for rubbish in [&b"hunter2"[..], b"\xff\xfe", b"[]", b"{\"result\": 7}", b""] {
        let failed = turn(&rig, message("x"), async {
            let asked = peer.call("SendStreamingMessage").await;
            asked.bytes(200, &[("content-type", "application/json")], rubbish.into());
        });
        let failed = failed.await["result"]["task"].take();
        assert_eq!(state(&failed), "FAILED", "{failed}");
        assert!(status_text(&failed).contains("cannot be read"), "{failed}");
        assert!(!failed.to_string().contains("hunter2"), "{failed}");
    }
}

#[tokio::test]
async fn a_stream_that_turns_into_rubbish_is_made_good_from_the_task() {
    let (rig, mut peer) = Peer::behind("").await;
    let done = turn(&rig, message("x"), async {
        let talk = peer.stream("SendStreamingMessage").await;
        talk.task("WORKING").await;
        talk.chunk("one ", false).await;
        talk.feed.raw("data: \u{fffd}{nonsense\n\n").await;
        let whole = json!([{"artifactId": "a", "parts": [{"text": "one "}, {"text": "two"}]}]);
        let asked = peer.call("GetTask").await;
        assert_eq!(asked.body["params"]["id"], THEIR_TASK);
        answer(asked, task("COMPLETED", whole));
    });
    let done = done.await["result"]["task"].take();
    assert_eq!(
        (state(&done), text_of(&done).as_str()),
        ("COMPLETED", "one two"),
        "{done}"
    );
}

#[tokio::test]
async fn work_of_which_nothing_can_be_read_any_more_is_canceled_there() {
    let (rig, mut peer) = Peer::behind("").await;
    let failed = turn(&rig, message("x"), async {
        let talk = peer.stream("SendStreamingMessage").await;
        talk.task("WORKING").await;
        drop(talk);
        let asked = peer.call("GetTask").await;
        asked.bytes(
            200,
            &[("content-type", "application/json")],
            "rubbish".into(),
        );
        let asked = peer.call("CancelTask").await;
        assert_eq!(asked.body["params"]["id"], THEIR_TASK);
        answer(asked, task("CANCELED", json!([])));
    });
    let failed = failed.await["result"]["task"].take();
    assert_eq!(state(&failed), "FAILED", "{failed}");
    assert!(!failed.to_string().contains(THEIR_TASK), "{failed}");
}

#[tokio::test]
async fn an_agent_that_never_answers_is_out_of_time_at_last() {
    let (rig, mut peer) = Peer::behind("turn_timeout = \"200ms\"").await;
    // A call that is never answered, and a task that says nothing.
    let failed = turn(&rig, message("x"), async {
        let asked = peer.call("SendStreamingMessage").await;
        std::mem::forget(asked);
    });
    let failed = failed.await["result"]["task"].take();
    assert_eq!(state(&failed), "FAILED", "{failed}");
    let failed = turn(&rig, message("x"), async {
        let talk = peer.stream("SendStreamingMessage").await;
        talk.task("WORKING").await;
        let asked = peer.call("CancelTask").await;
        answer(asked, task("CANCELED", json!([])));
    });
    let failed = failed.await["result"]["task"].take();
    assert_eq!(
        failed["status"]["message"]["metadata"]["reason"], "turn_timeout",
        "{failed}"
    );
}

#[tokio::test]
async fn a_flood_of_progress_and_one_without_an_end_of_a_line_are_stopped() {
    let (rig, mut peer) = Peer::behind("max_output_bytes = 5000").await;
    let failed = turn(&rig, message("x"), async {
        let talk = peer.stream("SendStreamingMessage").await;
        talk.task("WORKING").await;
        for n in 0..6 {
            talk.status("WORKING", &format!("{n}{}", "x".repeat(1000)))
                .await;
        }
        answer(peer.call("CancelTask").await, task("CANCELED", json!([])));
        talk.feed.closed().await;
    });
    let failed = failed.await["result"]["task"].take();
    assert!(
        status_text(&failed).contains("more than 5000 bytes"),
        "{failed}"
    );

    let failed = turn(&rig, message("x"), async {
        let talk = peer.stream("SendStreamingMessage").await;
        talk.feed.raw("data: ").await;
        while talk.feed.raw(vec![b'x'; 1 << 20]).await {}
    });
    let failed = failed.await["result"]["task"].take();
    assert_eq!(state(&failed), "FAILED", "{failed}");
}

#[tokio::test]
async fn a_caller_that_leaves_takes_nothing_along() {
    let (rig, mut peer) = Peer::behind("").await;
    let opening = rig.stream(&[], "SendStreamingMessage", message("x"));
    let (mut frames, talk) = tokio::join!(opening, async {
        let talk = peer.stream("SendStreamingMessage").await;
        talk.task("WORKING").await;
        talk
    });
    let id = frames.result().await["task"]["id"].clone();
    talk.chunk("before", false).await;
    while !frames.result().await["artifactUpdate"].is_object() {}
    drop(frames);
    talk.chunk(" and after", true).await;
    talk.status("COMPLETED", "over").await;
    let done = ended(&rig, &id).await;
    assert_eq!(text_of(&done), "before and after", "{done}");
}

#[tokio::test]
async fn a_stream_that_breaks_is_taken_up_again_and_each_chunk_told_once() {
    let (rig, mut peer) = Peer::behind("").await;
    let opening = rig.stream(&[], "SendStreamingMessage", message("x"));
    let (mut frames, ()) = tokio::join!(opening, async {
        let talk = peer.stream("SendStreamingMessage").await;
        talk.task("WORKING").await;
        talk.chunk("one ", false).await;
        talk.feed.break_off().await;
    });
    let so_far = json!([{"artifactId": "a", "parts": [{"text": "one two "}]}]);
    answer(peer.call("GetTask").await, task("WORKING", so_far.clone()));
    let talk = peer.stream("SubscribeToTask").await;
    talk.event(json!({"task": task("WORKING", so_far)})).await;
    talk.chunk("three", true).await;
    talk.status("COMPLETED", "over").await;
    let whole = json!([{"artifactId": "a", "parts": [{"text": "one two three"}]}]);
    answer(peer.call("GetTask").await, task("COMPLETED", whole));
    let events = frames.rest().await;
    let told = events
        .iter()
        .filter_map(|event| event["artifactUpdate"]["artifact"]["parts"][0]["text"].as_str());
    let told: Vec<&str> = told.collect();
    assert_eq!(told, ["one ", "two ", "three"], "{events:?}");
}

#[tokio::test]
async fn an_agent_without_streams_is_asked_and_what_is_new_told_once() {
    let mut peer = Peer::start(json!({})).await;
    let rig = peer.front("").await;
    let opening = rig.stream(&[], "SendStreamingMessage", message("x"));
    let (mut frames, ()) = tokio::join!(opening, async {
        let asked = peer.call("SendMessage").await;
        assert_eq!(
            asked.body["params"]["configuration"]["returnImmediately"],
            true
        );
        answer(asked, json!({"task": task("SUBMITTED", json!([]))}));
    });
    for (state, parts) in [
        ("WORKING", json!([{"text": "one "}])),
        ("WORKING", json!([{"text": "one "}])),
        ("WORKING", json!([{"text": "one "}, {"text": "two"}])),
        (
            "COMPLETED",
            json!([{"text": "one "}, {"text": "two"}, {"data": 3}]),
        ),
    ] {
        let artifacts = json!([{"artifactId": "a", "parts": parts}]);
        answer(peer.call("GetTask").await, task(state, artifacts));
    }
    let events = frames.rest().await;
    let told = events
        .iter()
        .map(|event| &event["artifactUpdate"]["artifact"]["parts"]);
    let told: Vec<&Value> = told.filter(|parts| parts.is_array()).collect();
    let expected = [
        json!([{"text": "one "}]),
        json!([{"text": "two"}]),
        json!([{"data": 3}]),
    ];
    assert_eq!(told, expected.iter().collect::<Vec<_>>(), "{events:?}");
}

#[tokio::test]
async fn an_agent_that_is_away_is_not_looked_for_once_by_every_turn() {
    let (rig, mut peer) = Peer::behind("max_concurrent_turns = 50").await;
    let sends = join_all((0..50).map(|_| rig.call("SendMessage", said("x", None, None))));
    let looks = async {
        let mut looks = 0;
        loop {
            let asked = peer.service.next().await;
            looks += usize::from(asked.line.ends_with("/.well-known/agent-card.json"));
            asked.json(404, &json!({}));
            assert!(looks <= 4, "each turn looks for it");
        }
    };
    tokio::select! {
        sent = sends => for answer in sent {
            assert_eq!(state(&answer["result"]["task"]), "FAILED", "{answer}");
        },
        () = looks => {}
    }
}

#[tokio::test]
async fn a_turn_is_canceled_while_the_agent_is_looked_for() {
    let (rig, mut peer) = Peer::behind("").await;
    let started = rig.start_task("x").await;
    let mut look = peer.service.next().await;
    let canceled = rig.call("CancelTask", json!({"id": started["id"]})).await;
    assert_eq!(state(&canceled["result"]), "CANCELED", "{canceled}");
    look.given_up().await;
}

/// The task was cancelled; the agent has to hear of it although nobody waits for the answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_that_hangs_up_while_a_question_is_canceled_leaves_no_question_there() {
    let (rig, mut peer) = Peer::behind("").await;
    let asked = turn(&rig, message("x"), async {
        let talk = peer.stream("SendStreamingMessage").await;
        talk.task("WORKING").await;
        talk.status("INPUT_REQUIRED", "sure?").await;
    });
    let id = asked.await["result"]["task"]["id"].clone();
    let call = tokio::select! {
        answer = rig.call("CancelTask", json!({"id": id})) => panic!("too early: {answer}"),
        call = peer.call("CancelTask") => call,
    };
    // The gateway sees the hang-up no later than this.
    rig.get("/health", &[]).await;
    assert!(!call.is_given_up(), "the agent is not told after all");
    answer(call, task("CANCELED", json!([])));
    assert_eq!(state(&rig.get_task(id.as_str().unwrap()).await), "CANCELED");
}
