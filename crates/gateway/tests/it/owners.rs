//! Whose a task is: another caller's does not exist, on every method.

use serde_json::{Value, json};

use crate::rig::{ECHO, Rig, artifact_text, message, over_bindings, script_agent};

pub const TOKENS: &str = "[security]\npeer_tokens = { alice = \"env:ALICE\", bob = \"env:BOB\" }\nbearer_token = \"env:SHARED\"\n";
const ALICE: [(&str, &str); 1] = [("authorization", "Bearer alice")];
const BOB: [(&str, &str); 1] = [("authorization", "Bearer bob")];

over_bindings! {
    async fn another_callers_task_does_not_exist(over: Over) {
        let ask = script_agent("worker", "if grep -q ask; then echo '[INPUT_REQUIRED] ?'; else echo ok; fi", "");
        let rig = Rig::start(over, &format!("{ask}{TOKENS}")).await;
        for text in ["ask", "do"] {
            let theirs = rig.call_as(&ALICE, "SendMessage", message(text)).await["result"]["task"].clone();
            let (id, context) = (theirs["id"].as_str().unwrap(), &theirs["contextId"]);
            let with = |id: &str| {
                let mut send = message("mine now");
                send["message"]["taskId"] = json!(id);
                [
                    ("GetTask", json!({"id": id})),
                    ("CancelTask", json!({"id": id})),
                    ("SubscribeToTask", json!({"id": id})),
                    ("SendMessage", send.clone()),
                    ("SendStreamingMessage", send),
                ]
            };
            for ((method, known), (_, unknown)) in with(id).into_iter().zip(with("0192f000-0000-7000-8000-000000000000")) {
                let known = rig.call_as(&BOB, method, known).await;
                let unknown = rig.call_as(&BOB, method, unknown).await;
                assert_eq!(known["error"]["code"], -32001, "{method} {known}");
                let blank = |answer: &Value, id: &str| answer.to_string().replace(id, "ID");
                assert_eq!(blank(&known, id), blank(&unknown, "0192f000-0000-7000-8000-000000000000"));
            }
            let listed = rig.call_as(&BOB, "ListTasks", json!({"contextId": context})).await;
            assert_eq!(listed["result"]["totalSize"], 0);
            let mut refers = message("see");
            refers["message"]["referenceTaskIds"] = json!([id]);
            let answer = rig.call_as(&BOB, "SendMessage", refers).await;
            assert!(answer["result"]["task"]["history"][0].get("referenceTaskIds").is_none(), "{answer}");
            assert_eq!(rig.call_as(&ALICE, "GetTask", json!({"id": id})).await["result"], theirs);
        }
    }

    async fn the_same_context_id_of_two_callers_never_meets(over: Over) {
        let rig = Rig::start(over, &format!("{ECHO}{TOKENS}")).await;
        let mut params = message("x");
        params["message"]["contextId"] = json!("shared-name");
        rig.call_as(&ALICE, "SendMessage", params.clone()).await;
        rig.call_as(&BOB, "SendMessage", params).await;
        for who in [ALICE, BOB] {
            let listed = rig.call_as(&who, "ListTasks", json!({"contextId": "shared-name"})).await;
            assert_eq!(listed["result"]["totalSize"], 1);
        }
    }

    async fn the_same_context_id_at_two_agents_never_meets(over: Over) {
        let notes = "text=$(cat); test \"$text\" = recall || echo \"$text\" > note; cat note";
        let agents = ["one", "two"].map(|name| script_agent(name, notes, "context_dir = true"));
        let rig = Rig::start(over, &agents.concat()).await;
        let tell = async |agent: &str, text: &str| {
            let mut params = message(text);
            params["message"]["contextId"] = json!("shared-name");
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
            let answer = rig.post(&format!("/agents/{agent}"), &[], &body.to_string()).await;
            artifact_text(&answer.json["result"]["task"]).to_owned()
        };
        for agent in ["one", "two"] {
            assert_eq!(tell(agent, agent).await, format!("{agent}\n"));
        }
        for agent in ["one", "two"] {
            assert_eq!(tell(agent, "recall").await, format!("{agent}\n"));
        }
    }

    async fn without_a_credential_nothing_but_the_card_is_served(over: Over) {
        let rig = Rig::start(over, &format!("{ECHO}{TOKENS}")).await;
        for headers in [&[][..], &[("authorization", "Bearer wrong")], &[("authorization", "Bearer ")]] {
            let (answer, outcome) = rig.exchange(headers, "ListTasks", "{}").await;
            assert_eq!(answer.header("a2a-version"), "1.0");
            assert!(answer.header("www-authenticate").starts_with("Bearer"));
            assert_eq!(answer.status, if over.binding.is_json() { 401 } else { 200 });
            assert_eq!(outcome["error"]["code"], -32050, "{outcome}");
            assert_eq!(rig.get("/a2a/tasks/x", headers).await.status, 401);
            let sent = rig.post("/a2a/tasks/send", headers, r#"{"params":{"message":{"role":"user","parts":[{"type":"text","text":"x"}]}}}"#).await;
            assert_eq!(sent.status, 401);
        }
        let card = rig.get("/.well-known/agent-card.json", &[]).await;
        assert_eq!(card.json["securitySchemes"]["bearer"]["httpAuthSecurityScheme"]["scheme"], "Bearer");
        assert_eq!(card.json["securityRequirements"][0]["schemes"]["bearer"]["list"], json!([]));
        let (answer, outcome) = rig.exchange(&[("x-api-key", "bob")], "ListTasks", "{}").await;
        assert_eq!((answer.status, &outcome["result"]["totalSize"]), (200, &json!(0)));
    }
}
