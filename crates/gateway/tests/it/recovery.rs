//! A restart: what was finished stays, what ran is failed with a reason, what waited goes on.

use serde_json::json;
use std::time::Duration;

use crate::rig::{Rig, artifact_text, message, over_databases, script_agent};

over_databases! {
    async fn a_restart_keeps_loses_and_queues_what_it_should(store: Store) {
        let script = "text=$(cat); case $text in ask) echo '[INPUT_REQUIRED] ?';; hang) sleep 60;; *) echo \"got $text\";; esac";
        let mut rig = Rig::start(
            store,
            &script_agent("worker", script, "max_concurrent_turns = 1"),
        )
        .await;
        let done = rig.send("do").await;
        let asked = rig.send("ask").await;
        let running = rig.start_task("hang").await;
        let queued = rig.start_task("later").await;
        assert_eq!(queued["status"]["state"], "TASK_STATE_SUBMITTED");
        rig.restart(Duration::ZERO).await;

        assert_eq!(rig.get_task(done["id"].as_str().unwrap()).await, done);
        let lost = rig.get_task(running["id"].as_str().unwrap()).await;
        assert_eq!(lost["status"]["state"], "TASK_STATE_FAILED", "{lost}");
        assert_eq!(
            lost["status"]["message"]["metadata"]["reason"],
            "worker_lost"
        );
        let mut answer = message("yes");
        answer["message"]["taskId"] = asked["id"].clone();
        let answered = rig.call("SendMessage", answer).await;
        assert_eq!(
            artifact_text(&answered["result"]["task"]),
            "got yes\n",
            "{answered}"
        );
        let later = loop {
            let task = rig.get_task(queued["id"].as_str().unwrap()).await;
            if task["status"]["state"] == "TASK_STATE_COMPLETED" {
                break task;
            }
        };
        assert_eq!(artifact_text(&later), "got later\n");
    }

    async fn a_key_outlives_the_gateway_and_is_its_callers_own(store: Store) {
        let tokens = "[security]\npeer_tokens = { alice = \"env:ALICE\", bob = \"env:BOB\" }\n";
        let agent = script_agent("worker", "sleep 0.2; echo done", "");
        let mut rig = Rig::start(store, &format!("{agent}{tokens}")).await;
        let alice = [("authorization", "Bearer alice"), ("idempotency-key", "k")];
        let bob = [("authorization", "Bearer bob"), ("idempotency-key", "k")];
        let send = async |rig: &Rig, who: &[(&str, &str)]| {
            let answer = rig.call_as(who, "SendMessage", message("once")).await;
            answer["result"]["task"]["id"].as_str().expect("a task").to_owned()
        };
        let (one, other) = tokio::join!(send(&rig, &alice), send(&rig, &alice));
        let theirs = send(&rig, &bob).await;
        assert_eq!(one, other, "twice at once is one task");
        assert_ne!(one, theirs, "another caller's key is another key");
        rig.restart(Duration::from_secs(5)).await;
        assert_eq!(send(&rig, &alice).await, one);
        assert_eq!(send(&rig, &bob).await, theirs);
    }

    async fn a_reader_resumes_over_a_clean_restart(store: Store) {
        let script =
            "text=$(cat); if [ \"$text\" = yes ]; then echo ok; else echo one; echo two; fi; echo more";
        let mut rig = Rig::with_script(store, script).await;
        let mut frames = rig.stream(&[], "SendStreamingMessage", message("x")).await;
        let (_, first) = frames.next().await.unwrap();
        let (cut_at, _) = frames.next().await.unwrap();
        let expected = frames.rest().await;
        rig.restart(Duration::from_secs(5)).await;
        let params = json!({"id": first["result"]["task"]["id"]});
        let resumed = [("last-event-id", cut_at.as_deref().unwrap())];
        let mut frames = rig.stream(&resumed, "SubscribeToTask", params).await;
        assert_eq!(frames.rest().await, expected);
    }

    async fn streams_of_waiting_tasks_end_cleanly_when_the_gateway_stops(store: Store) {
        let mut rig = Rig::with_script(store, "echo '[INPUT_REQUIRED] ?'").await;
        let asked = rig.send("x").await;
        let mut frames = rig
            .stream(&[], "SubscribeToTask", json!({"id": asked["id"]}))
            .await;
        assert_eq!(frames.result().await["task"]["id"], asked["id"]);
        let rest = tokio::spawn(async move { frames.rest().await });
        rig.restart(Duration::from_secs(5)).await;
        // A stream that is cut off would make the reader panic.
        assert!(rest.await.unwrap().is_empty());
    }
}
