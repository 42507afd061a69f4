//! SendStreamingMessage and SubscribeToTask: order, ends, resume, independence.

use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use std::time::Duration;

use crate::binding::Binding;
use crate::rig::{
    ECHO, Over, Rig, Store, artifact_text, message, over_bindings, over_json_bindings, script_agent,
};

over_bindings! {
    async fn a_stream_is_the_task_then_its_events_and_ends_with_the_task(over: Over) {
        let rig = Rig::start(over, ECHO).await;
        let mut frames = rig.stream(&[], "SendStreamingMessage", message("hello")).await;
        let (first_id, first) = frames.next().await.unwrap();
        let task = &first["result"]["task"];
        assert_eq!(task["status"]["state"], "TASK_STATE_WORKING");
        let rest = frames.rest().await;
        assert_eq!(rest.len(), 2);
        assert_eq!(rest[0]["artifactUpdate"]["artifact"]["parts"][0]["text"], "hello");
        assert_eq!(rest[1]["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
        for event in &rest {
            let update = event.as_object().unwrap().values().next().unwrap();
            assert_eq!(update["taskId"], task["id"]);
            assert_eq!(update["contextId"], task["contextId"]);
        }
        assert_eq!(first_id.is_some_and(|id| id.contains('-')), over.binding.is_json());
    }

    async fn every_event_and_message_names_its_task_and_context(over: Over) {
        let script = r#"text=$(cat); if [ "$text" = yes ]; then echo ok; else echo '[INPUT_REQUIRED] sure?'; fi"#;
        let rig = Rig::with_script(over, script).await;
        let mut first = rig.stream(&[], "SendStreamingMessage", message("x")).await;
        let task = first.result().await["task"].clone();
        assert_ne!(task["contextId"], "", "{task}");
        let mut events = first.rest().await;
        let mut answer = message("yes");
        answer["message"]["taskId"] = task["id"].clone();
        let mut second = rig.stream(&[], "SendStreamingMessage", answer).await;
        assert_eq!(second.result().await["task"]["id"], task["id"]);
        events.extend(second.rest().await);
        let mut said = 0;
        for event in &events {
            let update = event.as_object().unwrap().values().next().unwrap();
            let message = update["status"].get("message");
            said += usize::from(message.is_some());
            for it in [Some(update), message].into_iter().flatten() {
                assert_eq!((&it["taskId"], &it["contextId"]), (&task["id"], &task["contextId"]), "{event}");
            }
        }
        assert!(events.len() >= 3 && said > 0, "{events:?}");
        let kept = rig.get_task(task["id"].as_str().unwrap()).await;
        for message in kept["history"].as_array().unwrap() {
            assert_eq!((&message["taskId"], &message["contextId"]), (&task["id"], &task["contextId"]), "{kept}");
        }
    }

    async fn streams_that_were_dropped_leave_nothing_behind(over: Over) {
        let rig = Rig::with_script(over, "echo '[INPUT_REQUIRED] ?'").await;
        let params = json!({"id": rig.send("x").await["id"]});
        let alive = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
        // The client's own connection and its housekeeping come and go: a few tasks more or less.
        let most = alive() + 10;
        for _ in 0..20 {
            let mut open = Vec::new();
            for _ in 0..25 {
                let mut frames = rig.stream(&[], "SubscribeToTask", params.clone()).await;
                frames.result().await;
                open.push(frames);
            }
            drop(open);
        }
        while alive() > most {
            rig.call("GetTask", params.clone()).await;
        }
    }

    async fn chunks_arrive_in_order_and_add_up_to_the_artifact(over: Over) {
        let rig = Rig::with_script(over, "for i in 1 2 3 4 5; do echo \"line $i\"; sleep 0.02; done").await;
        let mut frames = rig.stream(&[], "SendStreamingMessage", message("go")).await;
        let id = frames.result().await["task"]["id"].as_str().unwrap().to_owned();
        let mut text = String::new();
        for event in frames.rest().await {
            if let Some(chunk) = event["artifactUpdate"]["artifact"]["parts"][0]["text"].as_str() {
                text.push_str(chunk);
            }
        }
        assert_eq!(text, "line 1\nline 2\nline 3\nline 4\nline 5\n");
        assert_eq!(artifact_text(&rig.get_task(&id).await), text);
    }

    async fn a_subscriber_stays_over_a_question_and_a_send_stream_does_not(over: Over) {
        let rig = Rig::with_script(over, r#"text=$(cat); if [ "$text" = yes ]; then echo ok; else echo '[INPUT_REQUIRED] sure?'; fi"#).await;
        let mut sent = rig.stream(&[], "SendStreamingMessage", message("x")).await;
        let task = sent.result().await["task"].clone();
        let asked = sent.rest().await.pop().unwrap();
        assert_eq!(asked["statusUpdate"]["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
        let id = task["id"].as_str().unwrap();
        let mut watched = rig.stream(&[], "SubscribeToTask", json!({"id": id})).await;
        assert_eq!(watched.result().await["task"]["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
        let mut answer = message("yes");
        answer["message"]["taskId"] = json!(id);
        rig.call("SendMessage", answer).await;
        let states: Vec<Value> = watched.rest().await.iter().filter_map(|event| event["statusUpdate"]["status"].get("state").cloned()).collect();
        assert_eq!(states, ["TASK_STATE_WORKING", "TASK_STATE_COMPLETED"]);
    }

    async fn a_caller_that_hangs_up_harms_nothing(over: Over) {
        let rig = Rig::with_script(over, "sleep 0.2; echo done").await;
        let mut frames = rig.stream(&[], "SendStreamingMessage", message("x")).await;
        let id = frames.result().await["task"]["id"].as_str().unwrap().to_owned();
        drop(frames);
        let waiting = rig.request(rig.operation(&[], "SendMessage", &message("y").to_string()));
        assert!(tokio::time::timeout(std::time::Duration::from_millis(50), waiting).await.is_err());
        loop {
            let listed = rig.call("ListTasks", json!({"status": "TASK_STATE_COMPLETED"})).await;
            if listed["result"]["totalSize"] == 2 {
                break;
            }
        }
        assert_eq!(artifact_text(&rig.get_task(&id).await), "done\n");
    }

    async fn a_slow_reader_misses_nothing_and_holds_up_nobody(over: Over) {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("go");
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let settings = format!("env = {{ GO = {:?} }}", fifo.to_str().unwrap());
        let script = "read go < \"$GO\"; i=0; while [ $i -lt 3000 ]; do echo \"chunk $i\"; i=$((i+1)); done";
        let rig = Rig::start(over, &script_agent("worker", script, &settings)).await;
        let mut fast = rig.stream(&[], "SendStreamingMessage", message("go")).await;
        let id = fast.result().await["task"]["id"].as_str().unwrap().to_owned();
        let mut slow = rig.stream(&[], "SubscribeToTask", json!({"id": id})).await;
        let slow_first = slow.next().await.unwrap();
        tokio::fs::write(&fifo, "go\n").await.unwrap();
        let fast_events = fast.rest().await;
        assert!(fast_events.last().unwrap()["statusUpdate"].is_object());
        let mut text = artifact_text(&slow_first.1["result"]["task"]).to_owned();
        for event in slow.rest().await {
            text.push_str(event["artifactUpdate"]["artifact"]["parts"][0]["text"].as_str().unwrap_or_default());
        }
        assert_eq!(text, artifact_text(&rig.get_task(&id).await));
        assert_eq!(text.lines().count(), 3000);
    }

    async fn subscribing_around_the_end_never_hangs(over: Over) {
        let rig = Rig::start(over, ECHO).await;
        for _ in 0..100 {
            let task = rig.start_task("x").await;
            let params = json!({"id": task["id"]}).to_string();
            let (answer, outcome) = rig.exchange(&[], "SubscribeToTask", &params).await;
            let text = String::from_utf8_lossy(&answer.body);
            let text = format!("{text}{outcome}");
            assert!(text.contains("TASK_STATE_COMPLETED") || outcome["error"]["code"] == -32004, "{text}");
        }
    }

    async fn errors_before_a_stream_are_plain_answers(over: Over) {
        let rig = Rig::start(over, ECHO).await;
        let finished = rig.send("done").await["id"].clone();
        for (method, params, code) in [
            ("SubscribeToTask", json!({"id": "unknown"}), -32001),
            ("SubscribeToTask", json!({"id": finished}), -32004),
            ("SendStreamingMessage", json!({"message": {"role": "ROLE_USER"}}), -32602),
        ] {
            let (answer, outcome) = rig.exchange(&[], method, &params.to_string()).await;
            let plain = if over.binding.is_json() { "application/json" } else { "application/grpc" };
            assert_eq!(answer.header("content-type"), plain);
            assert_eq!(outcome["error"]["code"], code, "{outcome}");
        }
    }
}

// Events have no ids over gRPC.
over_json_bindings! {
    async fn a_reader_may_go_on_where_it_was_cut_off(over: Over) {
        let rig = Rig::with_script(over, "for i in 1 2 3; do echo $i; sleep 0.05; done; sleep 0.4; echo end").await;
        let mut frames = rig.stream(&[], "SendStreamingMessage", message("go")).await;
        let (_, first) = frames.next().await.unwrap();
        let id = first["result"]["task"]["id"].as_str().unwrap().to_owned();
        let (cut_at, _) = frames.next().await.unwrap();
        let cut_at = cut_at.unwrap();
        drop(frames);
        let resumed = [("last-event-id", cut_at.as_str())];
        let mut frames = rig.stream(&resumed, "SubscribeToTask", json!({"id": id})).await;
        let (next, event) = frames.next().await.unwrap();
        assert!(event["result"].get("task").is_none(), "{event}");
        let version = |id: &str| id.split('-').nth(1).unwrap().parse::<u64>().unwrap();
        assert_eq!(version(&next.unwrap()), version(&cut_at) + 1);
        drop(frames);
        let made_up = [("last-event-id", "7-99999")];
        let mut frames = rig.stream(&made_up, "SubscribeToTask", json!({"id": id})).await;
        assert_eq!(frames.result().await["task"]["id"], id.as_str());
        let last = frames.rest().await.pop().unwrap();
        assert_eq!(last["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
        // After the end what is still missing can be had, and nothing else.
        let mut frames = rig.stream(&resumed, "SubscribeToTask", json!({"id": id})).await;
        let rest = frames.rest().await;
        assert_eq!(rest.last().unwrap()["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
        let plain = rig.call("SubscribeToTask", json!({"id": id})).await;
        assert_eq!(plain["error"]["code"], -32004, "{plain}");
    }
}

/// Longest silence on an open stream: proxies cut links that are silent for longer.
const SILENCE: Duration = Duration::from_secs(15);

/// The clock of the test runs ahead while everybody waits.
#[tokio::test]
async fn a_stream_without_events_is_never_silent_for_long() {
    for binding in [Binding::JsonRpc, Binding::Rest] {
        let store = Store::Memory;
        let rig = Rig::with_script(Over { store, binding }, "echo '[INPUT_REQUIRED] ?'").await;
        let params = json!({"id": rig.send("x").await["id"]}).to_string();
        let mut response = rig
            .request(rig.operation(&[], "SubscribeToTask", &params))
            .await;
        response.frame().await.unwrap().unwrap();
        tokio::time::pause();
        let began = tokio::time::Instant::now();
        let mut beats = 0;
        while began.elapsed() < 6 * SILENCE {
            let frame = response.frame().await.unwrap().unwrap();
            let text = String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap();
            assert!(
                text.lines()
                    .all(|line| line.is_empty() || line.starts_with(':')),
                "{text}"
            );
            beats += text.lines().filter(|line| line.starts_with(':')).count();
        }
        assert!(beats >= 6, "{beats} in {:?}", began.elapsed());
        tokio::time::resume();
    }
}
