//! SendMessage: waiting, returning at once, following up, repeating.

use serde_json::{Value, json};

use crate::rig::{
    ECHO, Rig, Store, artifact_text, message, over_bindings, over_json_bindings, script_agent,
};

over_bindings! {
    async fn a_send_waits_and_gives_the_finished_task(over: Over) {
        let rig = Rig::start(over, ECHO).await;
        let task = rig.send("hello").await;
        assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
        assert_eq!(artifact_text(&task), "hello");
        assert_eq!(task["history"][0]["parts"][0]["text"], "hello");
        assert_eq!(task["history"][0]["taskId"], task["id"]);
        assert!(!task["contextId"].as_str().unwrap().is_empty());
        assert_eq!(rig.get_task(task["id"].as_str().unwrap()).await, task);
    }

    async fn a_send_that_asks_to_return_at_once_does(over: Over) {
        let rig = Rig::with_script(over, "read go < \"$A2A_FIFO\"; echo done").await;
        drop(rig);
        let fifo_dir = tempfile::tempdir().unwrap();
        let fifo = fifo_dir.path().join("go");
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let settings = format!("env = {{ A2A_FIFO = {:?} }}", fifo.to_str().unwrap());
        let config = script_agent("worker", "read go < \"$A2A_FIFO\"; echo done", &settings);
        let rig = Rig::start(over, &config).await;
        let task = rig.start_task("work").await;
        assert_eq!(task["status"]["state"], "TASK_STATE_WORKING");
        let id = task["id"].as_str().unwrap();
        let mut frames = rig.stream(&[], "SubscribeToTask", json!({"id": id})).await;
        assert_eq!(frames.result().await["task"]["id"], id);
        tokio::fs::write(&fifo, "go\n").await.unwrap();
        let last = frames.rest().await.pop().unwrap();
        assert_eq!(last["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
        assert_eq!(artifact_text(&rig.get_task(id).await), "done\n");
    }

    async fn a_question_is_answered_in_the_same_task(over: Over) {
        let script = r#"text=$(cat); if [ "$text" = yes ]; then echo ordered; else echo '[INPUT_REQUIRED] sure?'; fi"#;
        let rig = Rig::with_script(over, script).await;
        let asked = rig.send("order").await;
        assert_eq!(asked["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
        assert_eq!(asked["status"]["message"]["parts"][0]["text"].as_str().unwrap().trim(), "sure?");
        let mut follow_up = message("yes");
        follow_up["message"]["taskId"] = asked["id"].clone();
        let answer = rig.call("SendMessage", follow_up).await;
        let task = &answer["result"]["task"];
        assert_eq!(task["id"], asked["id"], "{answer}");
        assert_eq!(task["contextId"], asked["contextId"]);
        assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
        assert_eq!(artifact_text(task), "ordered\n");
        let said: Vec<&Value> = task["history"].as_array().unwrap().iter().map(|m| &m["parts"][0]["text"]).collect();
        assert_eq!(said, ["order", "yes"]);
    }

    async fn a_finished_task_takes_no_message(over: Over) {
        let rig = Rig::start(over, ECHO).await;
        let task = rig.send("hello").await;
        for method in ["SendMessage", "SendStreamingMessage"] {
            let mut again = message("more");
            again["message"]["taskId"] = task["id"].clone();
            let answer = rig.call(method, again).await;
            assert_eq!(answer["error"]["code"], -32004, "{answer}");
        }
        assert_eq!(rig.get_task(task["id"].as_str().unwrap()).await, task);
    }

    async fn a_context_that_is_not_the_tasks_own_is_refused(over: Over) {
        let rig = Rig::with_script(over, "echo '[INPUT_REQUIRED] and?'").await;
        let task = rig.send("x").await;
        let mut wrong = message("y");
        wrong["message"]["taskId"] = task["id"].clone();
        wrong["message"]["contextId"] = json!("another");
        let answer = rig.call("SendMessage", wrong).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        assert_eq!(answer["error"]["data"][1]["fieldViolations"][0]["field"], "message.contextId");
        let listed = rig.call("ListTasks", json!({"contextId": "another"})).await;
        assert_eq!(listed["result"]["totalSize"], 0);
        assert_eq!(rig.get_task(task["id"].as_str().unwrap()).await, task);
    }

    async fn a_task_id_made_up_by_the_caller_is_unknown(over: Over) {
        let rig = Rig::start(over, ECHO).await;
        let mut params = message("x");
        params["message"]["taskId"] = json!("made-up");
        let answer = rig.call("SendMessage", params).await;
        assert_eq!(answer["error"]["code"], -32001, "{answer}");
        assert_eq!(rig.call("ListTasks", json!({})).await["result"]["totalSize"], 0);
    }

    async fn turns_of_one_context_run_in_order_and_each_task_gets_its_own_answer(over: Over) {
        let script = "text=$(cat); case $text in slow) sleep 0.3;; esac; echo \"got $text\"; date +%s%N >> \"$LOG\"";
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let settings = format!("env = {{ LOG = {:?} }}", log.to_str().unwrap());
        let rig = Rig::start(over, &script_agent("worker", script, &settings)).await;
        let in_context = |text: &str| {
            let mut params = message(text);
            params["message"]["contextId"] = json!("c-1");
            params["message"]["messageId"] = json!(format!("m-{text}"));
            params
        };
        let first = rig.call("SendMessage", in_context("slow"));
        let second = async {
            // The second is sent while the first runs: it waits for the first to be seen.
            loop {
                let listed = rig.call("ListTasks", json!({"contextId": "c-1"})).await;
                if listed["result"]["totalSize"] == 1 {
                    break;
                }
            }
            rig.call("SendMessage", in_context("fast")).await
        };
        let (first, second) = tokio::join!(first, second);
        assert_eq!(artifact_text(&first["result"]["task"]), "got slow\n");
        assert_eq!(artifact_text(&second["result"]["task"]), "got fast\n");
        assert_eq!(std::fs::read_to_string(&log).unwrap().lines().count(), 2);
        let ended = |answer: &Value| answer["result"]["task"]["status"]["timestamp"].as_str().unwrap().to_owned();
        assert!(ended(&first) <= ended(&second));
    }

    async fn a_repeat_with_a_key_is_the_first_task_and_another_payload_is_refused(over: Over) {
        let rig = Rig::start(over, ECHO).await;
        let keyed = [("idempotency-key", "k-1")];
        let first = rig.call_as(&keyed, "SendMessage", message("once")).await;
        let again = rig.call_as(&keyed, "SendMessage", message("once")).await;
        assert_eq!(first["result"]["task"]["id"], again["result"]["task"]["id"], "{again}");
        let other = rig.call_as(&keyed, "SendMessage", message("twice")).await;
        assert_eq!(other["error"]["code"], -32602);
        assert_eq!(other["error"]["data"][0]["reason"], "IDEMPOTENCY_CONFLICT");
        let unkeyed = rig.send("once").await;
        assert_ne!(first["result"]["task"]["id"], unkeyed["id"]);
        assert_eq!(rig.call("ListTasks", json!({})).await["result"]["totalSize"], 2);
    }

    async fn an_unkeyed_repeat_joins_the_task_that_still_runs(over: Over) {
        let rig = Rig::with_script(over, "sleep 0.3; echo done").await;
        let (one, other) = tokio::join!(rig.send("same"), rig.send("same"));
        assert_eq!(one["id"], other["id"]);
        assert_eq!((artifact_text(&one), artifact_text(&other)), ("done\n", "done\n"));
        assert_ne!(rig.send("same").await["id"], one["id"]);
    }

    async fn history_is_cut_to_the_length_asked_for(over: Over) {
        let rig = Rig::start(over, ECHO).await;
        let with = |length: Value| {
            let mut params = message("x");
            params["configuration"] = json!({"historyLength": length});
            params
        };
        let none = rig.call("SendMessage", with(json!(0))).await;
        assert!(none["result"]["task"].get("history").is_none(), "{none}");
        let id = none["result"]["task"]["id"].clone();
        for (length, count) in [(json!(1), 1), (json!(999), 1), (json!("1"), 1)] {
            let answer = rig.call("GetTask", json!({"id": id, "historyLength": length})).await;
            assert_eq!(answer["result"]["history"].as_array().map_or(0, Vec::len), count, "{answer}");
        }
        let mut streamed = rig.stream(&[], "SendStreamingMessage", with(json!(0))).await;
        let first = streamed.result().await;
        assert!(first["task"].get("history").is_none(), "{first}");
        for (length, count) in [(0, 0), (1, 1)] {
            let listed = rig.call("ListTasks", json!({"historyLength": length})).await;
            let task = &listed["result"]["tasks"][0];
            assert_eq!(task["history"].as_array().map_or(0, Vec::len), count, "{listed}");
        }
        for wrong in [json!(-1), json!("x"), json!(1.5), json!(4_294_967_296_u64)] {
            if !over.binding.can_say("SendMessage", &with(wrong.clone())) {
                continue;
            }
            let answer = rig.call("GetTask", json!({"id": id, "historyLength": wrong})).await;
            assert_eq!(answer["error"]["code"], -32602, "{wrong} {answer}");
            for method in ["SendMessage", "SendStreamingMessage"] {
                let answer = rig.call(method, with(wrong.clone())).await;
                assert_eq!(answer["error"]["code"], -32602, "{method} {wrong} {answer}");
            }
            let answer = rig.call("ListTasks", json!({"historyLength": wrong})).await;
            assert_eq!(answer["error"]["code"], -32602, "{answer}");
        }
    }

    async fn text_comes_back_byte_for_byte(over: Over) {
        let rig = Rig::start(over, ECHO).await;
        let text = "漢字 👩‍👩‍👧 \u{202e}rtl \u{2028} <b>&\"' \\ ";
        assert_eq!(artifact_text(&rig.send(text).await), text);
        let mut frames = rig.stream(&[], "SendStreamingMessage", message(text)).await;
        frames.result().await;
        let chunk = frames.result().await;
        assert_eq!(chunk["artifactUpdate"]["artifact"]["parts"][0]["text"], text);
        let nul = rig.call("SendMessage", message("a\0b")).await;
        assert_eq!(nul["error"]["code"], -32602, "{nul}");
    }

    async fn an_agent_that_fails_ends_its_task_with_a_reason(over: Over) {
        let rig = Rig::with_script(over, "echo inner secret >&2; exit 3").await;
        let task = rig.send("x").await;
        assert_eq!(task["status"]["state"], "TASK_STATE_FAILED");
        let reason = task["status"]["message"]["parts"][0]["text"].as_str().unwrap();
        assert!(reason.contains("exit code 3") && !reason.contains("secret"), "{reason}");
        assert_eq!(task["status"]["message"]["taskId"], task["id"]);
    }

    async fn a_turn_that_takes_too_long_fails_and_stops(over: Over) {
        let config = script_agent("worker", "sleep 60", "turn_timeout = \"200ms\"");
        let rig = Rig::start(over, &config).await;
        let task = rig.send("x").await;
        assert_eq!(task["status"]["state"], "TASK_STATE_FAILED");
        assert_eq!(task["status"]["message"]["metadata"]["reason"], "turn_timeout");
    }
}

over_json_bindings! {
    async fn user_json_comes_back_byte_for_byte(over: Over) {
        let rig = Rig::start(over, ECHO).await;
        let params = r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":{"b":9007199254740993,"a":1e400,"a":3.0}}]}}"#;
        let (answer, _) = rig.exchange(&[], "SendMessage", params).await;
        let raw = std::str::from_utf8(&answer.body).unwrap();
        assert!(raw.contains(r#"{"data":{"b":9007199254740993,"a":1e400,"a":3.0}}"#), "{raw}");
    }

    async fn half_a_character_is_no_text(over: Over) {
        let rig = Rig::start(over, ECHO).await;
        let params = r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"a\ud800b"}]}}"#;
        for method in ["SendMessage", "SendStreamingMessage"] {
            let (_, outcome) = rig.exchange(&[], method, params).await;
            assert_eq!(outcome["error"]["code"], -32700, "{outcome}");
        }
        assert_eq!(artifact_text(&rig.send("still there").await), "still there");
    }
}

#[tokio::test]
async fn fifty_conversations_wait_for_a_place_at_a_program_and_each_gets_it() {
    let places = tempfile::tempdir().unwrap();
    // A third program at once finds no place and fails.
    let script = format!(
        "cd {}; mkdir 1 2>/dev/null && p=1 || {{ mkdir 2 && p=2; }} || exit 1; cat; rmdir $p",
        places.path().display()
    );
    let agent = script_agent("worker", &script, "max_concurrent_turns = 2");
    let rig = Rig::start(Store::Memory, &agent).await;
    let sends = (0..50).map(|number| {
        let mut params = message(&format!("said {number}"));
        params["message"]["messageId"] = format!("m{number}").into();
        rig.call("SendMessage", params)
    });
    let answers = futures_util::future::join_all(sends).await;
    for (number, answer) in answers.iter().enumerate() {
        let task = &answer["result"]["task"];
        assert_eq!(
            artifact_text(task).trim(),
            format!("said {number}"),
            "{answer}"
        );
    }
}
