//! ListTasks: filters, pages, presence of members.

use serde_json::{Value, json};

use crate::rig::{ECHO, Rig, over_bindings};

over_bindings! {
    async fn pages_hold_every_old_task_once_while_new_ones_arrive(over: Over) {
        let rig = Rig::start(over, ECHO).await;
        let mut expected = Vec::new();
        for index in 0..25 {
            expected.push(rig.send(&format!("task {index}")).await["id"].as_str().unwrap().to_owned());
        }
        let (mut seen, mut token) = (Vec::new(), String::new());
        loop {
            let page = rig.call("ListTasks", json!({"pageSize": 7, "pageToken": token})).await["result"].clone();
            assert_eq!(page["pageSize"], 7, "{page}");
            for task in page["tasks"].as_array().unwrap() {
                assert!(task.get("artifacts").is_none() && task.get("history").is_none(), "{task}");
                seen.push(task["id"].as_str().unwrap().to_owned());
            }
            rig.send("new").await;
            token = page["nextPageToken"].as_str().unwrap().to_owned();
            if token.is_empty() {
                break;
            }
        }
        expected.reverse();
        seen.retain(|id| expected.contains(id));
        assert_eq!(seen, expected);
    }

    async fn filters_hold_together_and_members_come_when_asked_for(over: Over) {
        let rig = Rig::start(over, ECHO).await;
        let task = rig.send("x").await;
        let list = async |params: Value| rig.call("ListTasks", params).await["result"].clone();
        let all = list(json!({"includeArtifacts": true, "historyLength": 5})).await;
        assert_eq!(all["tasks"][0], task);
        assert_eq!((all["totalSize"].as_u64(), all["nextPageToken"].as_str()), (Some(1), Some("")));
        let context = &task["contextId"];
        for (params, count) in [
            (json!({"contextId": context}), 1),
            (json!({"contextId": "other"}), 0),
            (json!({"pageSize": 100}), 1),
            (json!({"status": "TASK_STATE_COMPLETED", "contextId": context}), 1),
            (json!({"status": "TASK_STATE_WORKING"}), 0),
            (json!({"statusTimestampAfter": task["status"]["timestamp"]}), 1),
            (json!({"statusTimestampAfter": "2999-01-01T00:00:00+02:00"}), 0),
            (json!({"context_id": context, "page_size": "1", "include_artifacts": false}), 1),
        ] {
            assert_eq!(list(params.clone()).await["totalSize"], count, "{params}");
        }
    }

    async fn wrong_parameters_are_named(over: Over) {
        let rig = Rig::start(over, ECHO).await;
        for (params, field) in [
            (json!({"pageSize": 0}), "pageSize"),
            (json!({"pageSize": 101}), "pageSize"),
            (json!({"pageSize": -1}), "pageSize"),
            (json!({"pageToken": "forged"}), "pageToken"),
            (json!({"statusTimestampAfter": "yesterday"}), "statusTimestampAfter"),
            (json!({"status": "DONE"}), "status"),
            (json!({"contextId": "../x"}), "contextId"),
        ] {
            if !over.binding.can_say("ListTasks", &params) {
                continue;
            }
            let answer = rig.call("ListTasks", params.clone()).await;
            assert_eq!(answer["error"]["code"], -32602, "{params}");
            assert_eq!(answer["error"]["data"][1]["fieldViolations"][0]["field"], field, "{answer}");
        }
    }
}
