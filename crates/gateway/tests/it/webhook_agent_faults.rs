//! What can go wrong between the gateway and an agent behind a webhook, and what outlives a restart.

use bytes::Bytes;
use serde_json::json;
use std::time::Duration;

use crate::hermes::turn;
use crate::rig::{Store, over_databases};
use crate::service::{said, status_text, text_of};
use crate::webhook_agent::{
    HOOK, JSON, accepted, address_of, answer, post, settled, state, waiting, webhook,
};

#[tokio::test]
async fn a_post_is_repeated_under_its_id_where_that_may_help_and_not_for_ever() {
    let (rig, mut service) = webhook(Store::Memory, "").await;
    let task = turn(&rig, said("x", None, None), async {
        let first = service.next().await;
        let (id, address) = (first.header("x-request-id").to_owned(), address_of(&first));
        first.json(503, &json!({}));
        let second = service.next().await;
        assert_eq!(
            (second.header("x-request-id"), address_of(&second)),
            (&*id, address)
        );
        second.bytes(429, &[("retry-after", "0")], Bytes::new());
        let third = service.next().await;
        assert_eq!(third.header("x-request-id"), id);
        let address = address_of(&third);
        third.json(202, &json!({}));
        answer(&rig, &address, "at last").await;
    })
    .await;
    assert_eq!(text_of(&task), "at last");
    let task = turn(&rig, said("x", None, None), async {
        for status in [500, 502, 504] {
            service
                .next()
                .await
                .json(status, &json!({"error": "inner words"}));
        }
    })
    .await;
    assert!(
        status_text(&task).contains("did not take the message"),
        "{task}"
    );
    for status in [401, 403, 404, 413] {
        let play = async {
            service
                .next()
                .await
                .json(status, &json!({"error": "inner words"}))
        };
        let task = turn(&rig, said("x", None, None), play).await;
        assert_eq!(state(&task), "TASK_STATE_FAILED");
        assert!(status_text(&task).contains(&status.to_string()), "{task}");
        assert!(!task.to_string().contains("inner words"));
    }
    assert!(service.is_quiet(), "posted too often");
}

#[tokio::test]
async fn an_agent_that_is_away_or_hangs_fails_the_task() {
    let (rig, mut service) = webhook(Store::Memory, "post_timeout = \"100ms\"").await;
    let away = async {
        for _ in 0..3 {
            drop(service.next().await);
        }
    };
    let task = turn(&rig, said("x", None, None), away).await;
    assert_eq!(state(&task), "TASK_STATE_FAILED", "{task}");
    assert!(
        !task.to_string().contains("127.0.0.1"),
        "inner addresses: {task}"
    );
    let mut held = Vec::new();
    let hangs = async {
        for _ in 0..3 {
            held.push(service.next().await);
        }
    };
    let task = turn(&rig, said("x", None, None), hangs).await;
    assert_eq!(state(&task), "TASK_STATE_FAILED", "{task}");
}

#[tokio::test]
async fn an_answer_may_come_before_the_message_is_acknowledged() {
    let (rig, mut service) = webhook(Store::Memory, "").await;
    let mut held = None;
    let task = turn(&rig, said("x", None, None), async {
        let asked = service.next().await;
        answer(&rig, &address_of(&asked), "quick").await;
        held = Some(asked);
    })
    .await;
    assert_eq!(
        (state(&task), text_of(&task).as_str()),
        ("TASK_STATE_COMPLETED", "quick")
    );
}

#[tokio::test]
async fn what_cannot_be_read_is_refused_and_the_address_stays_good() {
    let (rig, mut service) = webhook(Store::Memory, "").await;
    let (id, address) = waiting(&rig, &mut service).await;
    let half = json!({"task": {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"},
        "artifacts": [{"artifactId": "a", "parts": [{"text": "x"}]}, {"artifactId": "", "parts": [{"text": "y"}]}]}});
    for (media_type, body) in [
        ("text/plain", Bytes::from_static(b"\xff\xfe")),
        ("text/plain", Bytes::from_static(b" \n")),
        (JSON, Bytes::from_static(b"{\"text\": ")),
        (JSON, Bytes::from_static(b"{\"n\": 1}")),
        (JSON, half.to_string().into()),
    ] {
        let refused = post(&rig, &address, media_type, body).await;
        assert_eq!(refused.status, 400, "{refused:?}");
        assert!(refused.json["error"].is_string(), "{refused:?}");
    }
    answer(&rig, &address, "fine").await;
    let task = rig.get_task(&id).await;
    assert_eq!(text_of(&task), "fine", "{task}");
}

#[tokio::test]
async fn a_flood_is_stopped() {
    let (rig, mut service) = webhook(Store::Memory, "max_output_bytes = 1000").await;
    let (id, address) = waiting(&rig, &mut service).await;
    let piece = json!({"state": "working", "message": "x".repeat(300)}).to_string();
    let mut status = 200;
    for _ in 0..10 {
        status = post(&rig, &address, JSON, piece.clone()).await.status;
        if status != 200 {
            break;
        }
    }
    assert_eq!(status, 410);
    let task = settled(&rig, &id).await;
    assert_eq!(state(&task), "TASK_STATE_FAILED");
    assert!(status_text(&task).contains("more than it may"), "{task}");
    let (_, address) = waiting(&rig, &mut service).await;
    assert_eq!(
        post(&rig, &address, JSON, "x".repeat(20 << 20))
            .await
            .status,
        413
    );
}

#[tokio::test]
async fn conversations_wait_beside_each_other() {
    let (rig, mut service) = webhook(Store::Memory, "").await;
    let (first, first_address) = waiting(&rig, &mut service).await;
    let (second, second_address) = waiting(&rig, &mut service).await;
    answer(&rig, &second_address, "two").await;
    assert_eq!(state(&rig.get_task(&first).await), "TASK_STATE_WORKING");
    answer(&rig, &first_address, "one").await;
    assert_eq!(text_of(&rig.get_task(&first).await), "one");
    assert_eq!(text_of(&rig.get_task(&second).await), "two");
}

#[tokio::test]
async fn a_caller_that_hangs_up_changes_nothing() {
    let (rig, mut service) = webhook(Store::Memory, "").await;
    let mut frames = rig
        .stream(&[], "SendStreamingMessage", said("x", None, None))
        .await;
    let id = frames.result().await["task"]["id"].clone();
    let address = accepted(&mut service).await;
    drop(frames);
    answer(&rig, &address, "done").await;
    let task = rig.get_task(id.as_str().unwrap()).await;
    assert_eq!(
        (state(&task), text_of(&task).as_str()),
        ("TASK_STATE_COMPLETED", "done")
    );
}

over_databases! {
    async fn a_turn_that_waits_outlives_the_gateway(store: Store) {
        let (mut rig, mut service) = webhook(store, "max_concurrent_turns = 1").await;
        let mut params = said("x", None, None);
        params["configuration"] = json!({"returnImmediately": true});
        let started = rig.call("SendMessage", params).await;
        let id = started["result"]["task"]["id"].as_str().unwrap().to_owned();
        let asked = service.expect(HOOK).await;
        let (address, delivery) = (address_of(&asked), asked.header("x-request-id").to_owned());
        asked.json(202, &json!({}));
        rig.restart(Duration::ZERO).await;
        // Until the turn has its place again, the agent is asked to come back.
        let answered = loop {
            let answered = post(&rig, &address, "text/plain", "after all").await;
            if answered.status != 503 {
                break answered;
            }
            assert_eq!(answered.header("retry-after"), "2");
        };
        assert_eq!(answered.status, 200, "{answered:?}");
        let task = rig.get_task(&id).await;
        assert_eq!((state(&task), text_of(&task).as_str()), ("TASK_STATE_COMPLETED", "after all"));
        assert_eq!(post(&rig, &address, "text/plain", "again").await.status, 410);
        // It may have stopped before it had noted that the message was taken.
        while !service.is_quiet() {
            assert_eq!(service.next().await.header("x-request-id"), delivery);
        }
    }

    async fn a_post_that_was_cut_off_is_made_again_under_its_id(store: Store) {
        let (mut rig, mut service) = webhook(store, "").await;
        let id = rig.start_task("x").await["id"].as_str().unwrap().to_owned();
        let cut_off = service.expect(HOOK).await;
        rig.restart(Duration::ZERO).await;
        let again = service.expect(HOOK).await;
        assert_eq!(again.header("x-request-id"), cut_off.header("x-request-id"));
        let address = address_of(&again);
        assert_eq!(address, address_of(&cut_off));
        again.json(202, &json!({}));
        answer(&rig, &address, "done").await;
        assert_eq!(text_of(&rig.get_task(&id).await), "done");
    }

    async fn a_turn_that_is_canceled_before_it_goes_on_lets_its_address_go(store: Store) {
        let (mut rig, mut service) = webhook(store, "").await;
        let (id, address) = waiting(&rig, &mut service).await;
        // A paused agent begins no turn, nor does it go on with one.
        let gates = rig.dir.path().join("gates");
        std::fs::create_dir_all(&gates).unwrap();
        std::fs::write(gates.join("w"), "paused").unwrap();
        rig.restart(Duration::ZERO).await;
        assert_eq!(post(&rig, &address, "text/plain", "early").await.status, 503);
        let canceled = rig.call("CancelTask", json!({"id": id})).await;
        assert_eq!(state(&canceled["result"]), "TASK_STATE_CANCELED", "{canceled}");
        while post(&rig, &address, "text/plain", "late").await.status == 503 {}
        let refused = post(&rig, &address, "text/plain", "late").await;
        assert_eq!(refused.status, 404, "{refused:?}");
        assert_eq!(state(&rig.get_task(&id).await), "TASK_STATE_CANCELED");
    }
}

#[tokio::test]
async fn fifty_conversations_wait_for_a_place_and_each_gets_its_answer() {
    let (rig, mut service) = webhook(Store::Memory, "max_concurrent_turns = 2").await;
    let sends = (0..50).map(|number| {
        let text = format!("m{number}");
        rig.call("SendMessage", said(&text, Some(&text), None))
    });
    let play = async {
        for _ in 0..25 {
            let (one, other) = (accepted(&mut service).await, accepted(&mut service).await);
            assert!(service.is_quiet(), "more than two at once");
            answer(&rig, &one, "done").await;
            answer(&rig, &other, "done").await;
        }
    };
    let (answers, ()) = tokio::join!(futures_util::future::join_all(sends), play);
    for answer in answers {
        let task = &answer["result"]["task"];
        assert_eq!(text_of(task), "done", "{answer}");
    }
}
