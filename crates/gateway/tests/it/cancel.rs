//! CancelTask: the work stops first, one final state, told the same way everywhere.

use serde_json::json;

use crate::rig::{ECHO, Rig, message, over_bindings, script_agent};

over_bindings! {
    async fn a_cancel_stops_the_whole_process_group_before_it_is_final(over: Over) {
        let dir = tempfile::tempdir().unwrap();
        let (file, pids) = (dir.path().join("touched"), dir.path().join("pids"));
        let script = "(while true; do date +%N > \"$FILE\"; sleep 0.02; done) & echo $! > \"$PIDS\"; echo started; wait";
        let settings = format!("env = {{ FILE = {file:?}, PIDS = {pids:?} }}");
        let rig = Rig::start(over, &script_agent("worker", script, &settings)).await;
        let mut frames = rig.stream(&[], "SendStreamingMessage", message("x")).await;
        let id = frames.result().await["task"]["id"].clone();
        assert!(frames.result().await["artifactUpdate"].is_object());
        let answer = rig.call("CancelTask", json!({"id": id})).await;
        assert_eq!(answer["result"]["status"]["state"], "TASK_STATE_CANCELED", "{answer}");
        let child: i32 = std::fs::read_to_string(&pids).unwrap().trim().parse().unwrap();
        let gone = nix::sys::signal::kill(nix::unistd::Pid::from_raw(child), None);
        assert!(gone.is_err() || is_zombie(child), "the child is still there");
        let last = frames.rest().await.pop().unwrap();
        assert_eq!(last["statusUpdate"]["status"]["state"], "TASK_STATE_CANCELED");
        let again = rig.call("CancelTask", json!({"id": id})).await;
        assert_eq!(again["error"]["code"], -32002, "{again}");
    }

    async fn a_program_that_ignores_the_request_to_end_is_killed_and_its_output_lost(over: Over) {
        let config = script_agent("worker", "trap '' TERM; echo on; sleep 30; echo late", "kill_grace = \"200ms\"");
        let rig = Rig::start(over, &config).await;
        let mut frames = rig.stream(&[], "SendStreamingMessage", message("x")).await;
        let id = frames.result().await["task"]["id"].clone();
        assert!(frames.result().await["artifactUpdate"].is_object());
        let answer = rig.call("CancelTask", json!({"id": id})).await;
        assert_eq!(answer["result"]["status"]["state"], "TASK_STATE_CANCELED", "{answer}");
        let task = rig.get_task(id.as_str().unwrap()).await;
        assert_eq!(task["status"]["state"], "TASK_STATE_CANCELED");
        assert!(!task.to_string().contains("late"));
        let listed = rig.call("ListTasks", json!({"status": "TASK_STATE_CANCELED"})).await;
        assert_eq!(listed["result"]["tasks"][0]["id"], id, "{listed}");
        let last = frames.rest().await.pop().unwrap();
        assert_eq!(last["statusUpdate"]["status"]["state"], "TASK_STATE_CANCELED");
    }

    async fn what_waits_for_its_turn_or_its_caller_can_be_canceled(over: Over) {
        let config = script_agent("worker", "if grep -q ask; then echo '[INPUT_REQUIRED] ?'; else sleep 30; fi", "max_concurrent_turns = 1");
        let rig = Rig::start(over, &config).await;
        let asked = rig.send("ask").await;
        let answer = rig.call("CancelTask", json!({"id": asked["id"]})).await;
        assert_eq!(answer["result"]["status"]["state"], "TASK_STATE_CANCELED", "{answer}");
        let running = rig.start_task("one").await;
        let mut second = message("two");
        second["configuration"] = json!({"returnImmediately": true});
        let queued = rig.call("SendMessage", second).await["result"]["task"].clone();
        assert_eq!(queued["status"]["state"], "TASK_STATE_SUBMITTED");
        for task in [queued, running] {
            let answer = rig.call("CancelTask", json!({"id": task["id"]})).await;
            assert_eq!(answer["result"]["status"]["state"], "TASK_STATE_CANCELED", "{answer}");
        }
    }

    async fn two_cancels_at_once_give_the_same_task(over: Over) {
        let rig = Rig::with_script(over, "sleep 30").await;
        let task = rig.start_task("x").await;
        let params = || json!({"id": task["id"]});
        let (one, other) = tokio::join!(rig.call("CancelTask", params()), rig.call("CancelTask", params()));
        let canceled = |answer: &serde_json::Value| {
            answer["result"]["status"]["state"] == "TASK_STATE_CANCELED" || answer["error"]["code"] == -32002
        };
        assert!(canceled(&one) && canceled(&other) && (one["error"].is_null() || other["error"].is_null()));
    }

    async fn a_finished_task_is_not_cancelable(over: Over) {
        let rig = Rig::start(over, ECHO).await;
        let task = rig.send("x").await;
        let answer = rig.call("CancelTask", json!({"id": task["id"]})).await;
        assert_eq!(answer["error"]["code"], -32002);
        assert_eq!(answer["error"]["data"][0]["reason"], "TASK_NOT_CANCELABLE");
        assert_eq!(rig.call("CancelTask", json!({"id": "none"})).await["error"]["code"], -32001);
        assert_eq!(rig.get_task(task["id"].as_str().unwrap()).await, task);
    }
}

fn is_zombie(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        stat.rsplit(')')
            .next()
            .is_some_and(|rest| rest.trim().starts_with('Z'))
    })
}
