//! The push flags of `send`: what goes out with the message, and when nothing does.

use serde_json::{Value, json};

use crate::cli::nuncio;
use crate::mock_agent::{MockAgent, Reply, card, task};

/// An agent that sends push notifications, or says it does not.
async fn agent(pushes: bool, version: &'static str) -> MockAgent {
    let make = move |base: &str| {
        let mut card = card(base, false);
        card["capabilities"]["pushNotifications"] = json!(pushes);
        card["supportedInterfaces"][0]["protocolVersion"] = json!(version);
        card
    };
    MockAgent::with_card(make, |request| {
        let (state, wrapped) = match request.method() {
            "message/send" => ("completed", false),
            _ => ("TASK_STATE_COMPLETED", true),
        };
        let mut task = task("COMPLETED", "");
        task["status"]["state"] = json!(state);
        if wrapped {
            return Reply::result(request, json!({ "task": task }));
        }
        task["kind"] = json!("task");
        Reply::result(request, task)
    })
    .await
}

const HOOK: &str = "https://hooks.example.org/a2a";
const FLAGS: [&str; 4] = ["--push-url", HOOK, "--push-token", "abc"];

async fn configuration(version: &'static str) -> Value {
    let agent = agent(true, version).await;
    let wish = format!("--a2a-version={version}");
    let arguments = ["send", "-a", agent.base(), &wish, "hi"];
    let ran = nuncio(&[&arguments[..], &FLAGS].concat()).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(!format!("{ran:?}").contains("abc"), "{ran:?}");
    agent.calls()[0].params()["configuration"].clone()
}

#[tokio::test]
async fn the_webhook_goes_out_with_the_message_as_its_version_has_it() {
    let hook = json!({ "url": HOOK, "token": "abc" });
    let new = configuration("1.0").await;
    assert_eq!(new["taskPushNotificationConfig"], hook, "{new}");
    let old = configuration("0.3").await;
    assert_eq!(old["pushNotificationConfig"], hook, "{old}");
}

#[tokio::test]
async fn an_agent_without_push_is_not_called() {
    let agent = agent(false, "1.0").await;
    let arguments = ["send", "-a", agent.base(), "hi", "-o", "json"];
    let ran = nuncio(&[&arguments[..], &FLAGS].concat()).await;
    assert_eq!(ran.code, 2, "{ran:?}");
    let error = &ran.json()["error"];
    assert_eq!(error["code"], "A2ACLI_ERR_USAGE", "{error}");
    let hint = error["hint"].as_str().expect("a hint");
    assert!(hint.contains("--push-url"), "{error}");
    assert!(agent.calls().is_empty());
}

#[tokio::test]
async fn what_cannot_be_a_webhook_is_refused_before_anything_is_sent() {
    let agent = agent(true, "1.0").await;
    for flags in [["--push-url", "hooks"], ["--push-token", "abc"]] {
        let ran = nuncio(&[&["send", "-a", agent.base(), "hi"], &flags[..]].concat()).await;
        assert_eq!(ran.code, 2, "{flags:?} {ran:?}");
        assert!(ran.stderr.contains("--push-url"), "{flags:?} {ran:?}");
    }
    assert!(agent.calls().is_empty());
}
