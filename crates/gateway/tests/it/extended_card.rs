//! GetExtendedAgentCard: who gets it, and what the others are told (specification 3.1.11, 13.3).

use serde_json::{Value, json};

use crate::rig::{ECHO, Rig, Store};

const EXTENDED: &str = r#"skills = [{ id = "say", name = "Say" }]
extended = { skills = [{ id = "shout", name = "Shout" }], documentation_url = "https://example.org/inside" }
"#;
const TOKENS: &str = "[security]\npeer_tokens = { alice = \"env:ALICE\" }\n";

/// HTTP status and body of both bindings.
async fn ask(rig: &Rig, path: &str, headers: &[(&str, &str)]) -> [(u16, Value); 2] {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "GetExtendedAgentCard"});
    let mut all = vec![("a2a-version", "1.0")];
    all.extend_from_slice(headers);
    let rpc = rig.post(&format!("{path}/"), &all, &body.to_string()).await;
    let rest = rig.get(&format!("{path}/extendedAgentCard"), &all).await;
    [(rpc.status, rpc.json), (rest.status, rest.json)]
}

#[tokio::test]
async fn callers_with_a_credential_see_what_others_do_not() {
    let config = format!("{ECHO}{EXTENDED}{TOKENS}");
    let rig = Rig::start(Store::Memory, &config).await;
    let public = rig.get("/.well-known/agent-card.json", &[]).await.json;
    assert_eq!(public["capabilities"]["extendedAgentCard"], true);
    assert_eq!(public["skills"].as_array().unwrap().len(), 1);
    assert!(public.get("documentationUrl").is_none());

    let [rpc, rest] = ask(&rig, "", &[("authorization", "Bearer alice")]).await;
    assert_eq!((rpc.0, rest.0), (200, 200));
    assert_eq!(rpc.1["result"], rest.1);
    let card = rest.1;
    let skills: Vec<&Value> = card["skills"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["id"])
        .collect();
    assert_eq!(skills, ["say", "shout"]);
    assert_eq!(card["documentationUrl"], "https://example.org/inside");
    assert_eq!(card["supportedInterfaces"], public["supportedInterfaces"]);

    for headers in [&[][..], &[("authorization", "Bearer wrong")]] {
        let [rpc, rest] = ask(&rig, "", headers).await;
        assert_eq!((rpc.0, rest.0), (401, 401));
        assert_eq!(rpc.1["error"]["code"], -32050, "{}", rpc.1);
    }
}

#[tokio::test]
async fn without_any_credential_to_show_nobody_sees_it() {
    let rig = Rig::start(Store::Memory, &format!("{ECHO}{EXTENDED}")).await;
    for headers in [&[][..], &[("authorization", "Bearer itk-valid-token")]] {
        let [rpc, rest] = ask(&rig, "", headers).await;
        assert_eq!((rpc.0, rest.0), (401, 401));
    }
}

#[tokio::test]
async fn an_agent_without_one_says_that_it_has_none() {
    let config = format!("{ECHO}[agents.b]\nbackend = \"echo\"\n{TOKENS}");
    let rig = Rig::start(Store::Memory, &config).await;
    let card = rig.get("/.well-known/agent-card.json", &[]).await.json;
    assert_eq!(card["capabilities"]["extendedAgentCard"], false);
    for path in ["", "/agents/b"] {
        let [rpc, rest] = ask(&rig, path, &[("x-api-key", "alice")]).await;
        assert_eq!(rpc.1["error"]["code"], -32004, "{}", rpc.1);
        assert_eq!(rest.0, 400);
        let reason = &rest.1["error"]["details"][0]["reason"];
        assert_eq!(reason, "UNSUPPORTED_OPERATION");
    }
}
