//! What a proxy says in front of the gateway counts only where it is trusted.

use serde_json::json;

use crate::rig::{ECHO, Rig, Store, message};

const CARD: &str = "/.well-known/agent-card.json";
const HEADERS: [(&str, &str); 4] = [
    ("x-forwarded-for", "203.0.113.7"),
    ("x-forwarded-proto", "https"),
    ("x-forwarded-host", "agents.example"),
    ("x-forwarded-prefix", "/a2a"),
];

async fn behind(proxies: &str) -> Rig {
    let config = format!("{ECHO}[server]\ntrusted_proxies = [{proxies}]\n");
    Rig::start(Store::Memory, &config).await
}

#[tokio::test]
async fn the_card_shows_the_address_that_a_trusted_proxy_was_called_at() {
    let trusted = behind("\"127.0.0.0/8\"").await;
    let card = trusted.get(CARD, &HEADERS).await.json;
    assert_eq!(
        card["supportedInterfaces"][0]["url"],
        "https://agents.example/a2a/"
    );
    let catalog = trusted.get("/.well-known/ai-catalog.json", &HEADERS).await;
    assert_eq!(
        catalog.json["entries"][0]["url"],
        format!("https://agents.example/a2a{CARD}")
    );
    let plain = trusted.get(CARD, &[]).await.json;
    assert_eq!(
        plain["supportedInterfaces"][0]["url"],
        format!("{}/", trusted.base)
    );

    for proxies in ["", "\"10.0.0.0/8\", \"::1\""] {
        let untrusted = behind(proxies).await;
        let card = untrusted.get(CARD, &HEADERS).await;
        let text = String::from_utf8(card.body.to_vec()).unwrap();
        assert!(text.contains(&untrusted.base) && !text.contains("agents.example"));
    }
}

#[tokio::test]
async fn the_caller_is_whom_a_trusted_proxy_names() {
    for (proxies, told_apart) in [("\"127.0.0.1\"", true), ("\"10.0.0.1\"", false)] {
        let rig = behind(proxies).await;
        let from = |address: &'static str| [("x-forwarded-for", address)];
        let sent = rig
            .call_as(&from("203.0.113.7"), "SendMessage", message("x"))
            .await;
        let id = &sent["result"]["task"]["id"];
        assert!(id.is_string(), "{sent}");
        for (address, sees) in [("203.0.113.7", true), ("203.0.113.8", !told_apart)] {
            let got = rig
                .call_as(&from(address), "GetTask", json!({"id": id}))
                .await;
            assert_eq!(
                got["result"].is_object(),
                sees,
                "{proxies} {address}: {got}"
            );
        }
    }
}

#[tokio::test]
async fn the_catalog_names_every_agent_and_its_card() {
    let config = format!(
        "{ECHO}[agents.b]\nbackend = \"echo\"\nskills = [{{ id = \"s\", name = \"S\", tags = [\"x\", \"y\"] }}]\n"
    );
    let rig = Rig::start(Store::Memory, &config).await;
    let catalog = rig.get("/.well-known/ai-catalog.json", &[]).await;
    assert_eq!(
        catalog.header("content-type"),
        "application/ai-catalog+json"
    );
    assert_eq!(catalog.header("access-control-allow-origin"), "*");
    assert!(catalog.header("cache-control").contains("max-age="));
    let base = &rig.base;
    let expected = json!({"specVersion": "0.9", "entries": [
        {"identifier": "urn:air:127.0.0.1:agent:echo", "type": "application/a2a-agent-card+json",
         "url": format!("{base}{CARD}")},
        {"identifier": "urn:air:127.0.0.1:agent:b", "type": "application/a2a-agent-card+json",
         "url": format!("{base}/agents/b{CARD}"), "tags": ["x", "y"]},
    ]});
    assert_eq!(catalog.json, expected);
    for entry in catalog.json["entries"].as_array().unwrap() {
        let path = entry["url"].as_str().unwrap().strip_prefix(base).unwrap();
        assert!(rig.get(path, &[]).await.json["name"].is_string());
    }
}
