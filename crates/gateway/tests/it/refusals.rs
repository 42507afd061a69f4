//! What is refused by name, over every binding: wrong members, and what the agent does not declare.

use serde_json::{Value, json};

use crate::rig::{Answer, ECHO, Rig, message, over_bindings};

over_bindings! {
    async fn missing_and_wrong_members_are_named(over: Over) {
        let rig = Rig::start(over, ECHO).await;
        let part = json!({"text": "x"});
        for (message, field) in [
            (
                json!({"role": "ROLE_USER", "parts": [part]}),
                "message.messageId",
            ),
            (json!({"messageId": "m", "parts": [part]}), "message.role"),
            (
                json!({"messageId": "m", "role": "ROLE_UNSPECIFIED", "parts": [part]}),
                "message.role",
            ),
            (
                json!({"messageId": "m", "role": "user", "parts": [part]}),
                "message.role",
            ),
            (
                json!({"messageId": "m", "role": "ROLE_USER", "parts": []}),
                "message.parts",
            ),
            (
                json!({"messageId": "m", "role": "ROLE_USER", "parts": [{}]}),
                "message.parts[0]",
            ),
            (
                json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"raw": "%"}]}),
                "message.parts[0]",
            ),
            (
                json!({"messageId": "m", "role": "ROLE_USER", "parts": vec![part.clone(); 101]}),
                "message.parts",
            ),
            (
                json!({"messageId": "m", "role": "ROLE_USER", "parts": [part], "contextId": "../x"}),
                "message.contextId",
            ),
        ] {
            let params = json!({"message": message});
            if !over.binding.can_say("SendMessage", &params) {
                continue;
            }
            let answer = rig.call("SendMessage", params).await;
            assert_eq!(answer["error"]["code"], -32602, "{message} {answer}");
            let named = answer["error"]["data"][1]["fieldViolations"][0]["field"]
                .as_str()
                .unwrap_or_default();
            assert!(named.starts_with(field), "{field}: {answer}");
        }
        let missing = rig.call("SendMessage", json!({})).await;
        assert_eq!(missing["error"]["code"], -32602, "{missing}");
        assert!(
            missing["error"]["message"]
                .as_str()
                .unwrap()
                .contains("message"),
            "{missing}"
        );
    }

    async fn what_the_agent_does_not_declare_is_refused_by_name(over: Over) {
        let config = "[agents.echo]\nbackend = \"echo\"\ninput_modes = [\"image/*\"]\ncapabilities = { streaming = false, push_notifications = false }\n";
        let rig = Rig::start(over, config).await;
        assert_eq!(
            rig.call("SendStreamingMessage", message("x")).await["error"]["code"],
            -32004
        );
        assert_eq!(
            rig.call("SubscribeToTask", json!({"id": "x"})).await["error"]["code"],
            -32004
        );
        assert_eq!(
            rig.call("GetExtendedAgentCard", json!({})).await["error"]["code"],
            -32004
        );
        let push = json!({"taskId": "t", "id": "c", "url": "https://example.com/"});
        for method in [
            "CreateTaskPushNotificationConfig",
            "GetTaskPushNotificationConfig",
            "ListTaskPushNotificationConfigs",
            "DeleteTaskPushNotificationConfig",
        ] {
            assert_eq!(
                rig.call(method, push.clone()).await["error"]["code"],
                -32003,
                "{method}"
            );
        }
        let mut inline = message("x");
        inline["configuration"] =
            json!({"taskPushNotificationConfig": {"url": "https://example.com/"}});
        assert_eq!(
            rig.call("SendMessage", inline).await["error"]["code"],
            -32003
        );
        let tasks = rig.call("ListTasks", json!({})).await;
        assert_eq!(tasks["result"]["totalSize"], 0, "nothing has run: {tasks}");
        for (media_type, code) in [
            ("text/markdown", None),
            ("image/png", None),
            ("application/zip", Some(-32005)),
        ] {
            let mut typed = message("x");
            typed["message"]["parts"][0]["mediaType"] = json!(media_type);
            assert_eq!(
                rig.call("SendMessage", typed).await["error"]["code"].as_i64(),
                code,
                "{media_type}"
            );
        }
    }

    async fn a_required_extension_must_be_named_on_every_operation(over: Over) {
        let config = "[agents.echo]\nbackend = \"echo\"\ncapabilities = { extensions = [{ uri = \"urn:x:must\", required = true }, { uri = \"urn:x:may\" }] }\n";
        let rig = Rig::start(over, config).await;
        let named = [("a2a-extensions", "urn:x:other,urn:x:may, urn:x:must")];
        for (method, params) in every_operation() {
            let answer = rig.call(method, params.clone()).await;
            assert_eq!(answer["error"]["code"], -32008, "{method} {answer}");
            assert!(answer["error"]["message"].as_str().unwrap().contains("urn:x:must"), "{answer}");
            let (_, outcome) = rig.exchange(&named, method, &params.to_string()).await;
            assert_ne!(outcome["error"]["code"], -32008, "{method} {outcome}");
        }
        assert_eq!(rig.call("ListTasks", json!({})).await["error"]["data"][0]["metadata"]["extension"], "urn:x:must");
        let (answer, outcome) = rig.exchange(&named, "SendMessage", &message("x").to_string()).await;
        assert_eq!(outcome["result"]["task"]["status"]["state"], "TASK_STATE_COMPLETED");
        assert_eq!(answer.header("a2a-extensions"), "urn:x:may, urn:x:must");
        assert_eq!(answer.header("x-a2a-extensions"), "");
    }

    async fn a_version_that_is_not_spoken_is_refused_on_every_operation(over: Over) {
        let rig = Rig::start(over, ECHO).await;
        for (method, params) in every_operation() {
            for version in ["99.0", "2.0", "0.3"] {
                let answer = in_version(&rig, version, method, &params).await;
                assert_eq!(answer["error"]["code"], -32009, "{method} {version}: {answer}");
            }
        }
        assert_eq!(rig.call("ListTasks", json!({})).await["result"]["totalSize"], 0);
    }
}

/// Each operation with parameters that are right in themselves.
fn every_operation() -> [(&'static str, Value); 11] {
    let push = json!({"taskId": "t", "id": "c", "url": "https://example.com/"});
    [
        ("SendMessage", message("x")),
        ("SendStreamingMessage", message("x")),
        ("GetTask", json!({"id": "t"})),
        ("ListTasks", json!({})),
        ("CancelTask", json!({"id": "t"})),
        ("SubscribeToTask", json!({"id": "t"})),
        ("CreateTaskPushNotificationConfig", push.clone()),
        ("GetTaskPushNotificationConfig", push.clone()),
        ("ListTaskPushNotificationConfigs", push.clone()),
        ("DeleteTaskPushNotificationConfig", push),
        ("GetExtendedAgentCard", json!({})),
    ]
}

/// A call that names this version and no other.
async fn in_version(rig: &Rig, version: &'static str, method: &str, params: &Value) -> Value {
    let mut request = rig.operation(&[], method, &params.to_string());
    let version = http::HeaderValue::from_static(version);
    request.headers_mut().insert("a2a-version", version);
    let answer = Answer::of(rig.request(request).await).await;
    rig.outcome(method, &answer)
}
