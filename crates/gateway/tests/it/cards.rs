//! Cards and the list of agents at their public addresses.

use serde_json::json;

use crate::rig::{ECHO, Rig, Store};

const TWO: &str = "[agents.echo]\nbackend = \"echo\"\ndescription = \"Repeats\"\nskills = [{ id = \"say\", name = \"Say\", description = \"Says it again\", tags = [\"text\"] }]\n[agents.other]\nbackend = \"echo\"\n";

#[tokio::test]
async fn the_card_is_pure_1_0_with_addresses_that_work() {
    let rig = Rig::start(Store::Memory, TWO).await;
    let answer = rig.get("/.well-known/agent-card.json", &[]).await;
    let card = &answer.json;
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (200, "application/json")
    );
    assert_eq!(answer.header("access-control-allow-origin"), "*");
    assert_eq!(
        card["supportedInterfaces"][0],
        json!({"url": format!("{}/", rig.base), "protocolBinding": "JSONRPC", "protocolVersion": "1.0"})
    );
    assert_eq!(card["skills"][0]["id"], "say");
    for old in [
        "url",
        "preferredTransport",
        "protocolVersion",
        "additionalInterfaces",
    ] {
        assert!(card.get(old).is_none(), "{card}");
    }
    let other = rig
        .get("/agents/other/.well-known/agent-card.json", &[])
        .await
        .json;
    let url = other["supportedInterfaces"][0]["url"]
        .as_str()
        .unwrap()
        .to_owned();
    let path = url.strip_prefix(&rig.base).unwrap();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "ListTasks"}).to_string();
    for path in [path, &format!("{path}/")] {
        assert!(
            rig.post(path, &[], &body).await.json["result"].is_object(),
            "{path}"
        );
    }
    assert_eq!(
        rig.get("/agents/none/.well-known/agent-card.json", &[])
            .await
            .status,
        404
    );
}

#[tokio::test]
async fn caches_may_keep_and_revalidate_a_card() {
    let rig = Rig::start(Store::Memory, ECHO).await;
    let card = rig.get("/.well-known/agent-card.json", &[]).await;
    assert!(card.header("cache-control").contains("max-age="));
    assert!(card.header("last-modified").ends_with("GMT"));
    let etag = card.header("etag");
    let again = rig
        .get("/.well-known/agent-card.json", &[("if-none-match", etag)])
        .await;
    assert_eq!(
        (again.status, again.body.len(), again.header("etag")),
        (304, 0, etag)
    );
    let changed = rig
        .get(
            "/.well-known/agent-card.json",
            &[("if-none-match", "W/\"x\"")],
        )
        .await;
    assert_eq!(changed.status, 200);
}

#[tokio::test]
async fn the_tag_of_a_card_follows_what_it_says() {
    let mut tags = Vec::new();
    for skill in ["one", "one", "two"] {
        let config = format!(
            "[server]\npublic_url = \"https://agents.example\"\n\
             [agents.echo]\nbackend = \"echo\"\nskills = [{{ id = \"s\", name = \"{skill}\" }}]\n"
        );
        let rig = Rig::start(Store::Memory, &config).await;
        let host = [("host", "agents.example")];
        let card = rig.get("/.well-known/agent-card.json", &host).await;
        assert_eq!(card.json["skills"][0]["name"], skill, "{}", card.json);
        tags.push(card.header("etag").to_owned());
    }
    assert!(tags[0] == tags[1] && tags[1] != tags[2], "{tags:?}");
}

#[tokio::test]
async fn old_readers_find_a_card_they_understand() {
    let rig = Rig::start(Store::Memory, TWO).await;
    let merged = rig
        .get("/.well-known/agent-card.json", &[("a2a-version", "0.3")])
        .await
        .json;
    assert_eq!(merged["preferredTransport"], "JSONRPC", "{merged}");
    assert!(merged["supportedInterfaces"].is_array());
    let legacy = rig
        .get("/agents/other/.well-known/agent.json", &[])
        .await
        .json;
    assert_eq!(legacy["url"], format!("{}/legacy/other", rig.base));
    for capability in ["streaming", "pushNotifications", "stateTransitionHistory"] {
        assert!(legacy["capabilities"][capability].is_boolean(), "{legacy}");
    }
    let list = rig.get("/a2a/agents", &[]).await.json;
    assert_eq!(list["total"], 2);
    assert_eq!(list["agents"][1], legacy);
}

#[tokio::test]
async fn a_public_url_is_the_only_address_shown() {
    let rig = Rig::start(
        Store::Memory,
        &format!("{TWO}[server]\npublic_url = \"https://agents.example.org/base/\"\n"),
    )
    .await;
    let headers = [
        ("x-forwarded-host", "evil.example"),
        ("x-forwarded-proto", "https"),
    ];
    for path in [
        "/.well-known/agent-card.json",
        "/.well-known/agent.json",
        "/a2a/agents",
    ] {
        let text = String::from_utf8(rig.get(path, &headers).await.body.to_vec()).unwrap();
        assert!(text.contains("https://agents.example.org/base/"), "{text}");
        assert!(
            !text.contains("127.0.0.1") && !text.contains("evil"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_configured_tenant_stands_on_the_card_and_routes() {
    let config = format!("{ECHO}[agents.b]\nbackend = \"echo\"\ntenant = \"team-b\"\n");
    let rig = Rig::start(Store::Memory, &config).await;
    let card = rig
        .get("/agents/b/.well-known/agent-card.json", &[])
        .await
        .json;
    assert_eq!(card["supportedInterfaces"][0]["tenant"], "team-b");
    let mut params = crate::rig::message("x");
    params["tenant"] = json!("team-b");
    let task = rig.call("SendMessage", params.clone()).await["result"]["task"].clone();
    let list = |path: &'static str| {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}});
        let rig = &rig;
        async move { rig.post(path, &[], &body.to_string()).await.json["result"]["totalSize"].clone() }
    };
    assert!(task["id"].is_string());
    assert_eq!(
        (list("/agents/b").await, list("/").await),
        (json!(1), json!(0))
    );
    for tenant in ["team-c", "echo"] {
        params["tenant"] = json!(tenant);
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
        let answer = rig
            .post("/agents/b", &[("a2a-version", "1.0")], &body.to_string())
            .await
            .json;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
}

#[tokio::test]
async fn extensions_stand_on_the_card_with_their_settings() {
    let config = "[agents.a]\nbackend = \"echo\"\n[[agents.a.capabilities.extensions]]\nuri = \"urn:x:a\"\nrequired = true\nparams = { depth = 3, names = [\"b\"] }\n";
    let rig = Rig::start(Store::Memory, config).await;
    let card = rig.get("/.well-known/agent-card.json", &[]).await.json;
    assert_eq!(
        card["capabilities"]["extensions"],
        json!([{"uri": "urn:x:a", "required": true, "params": {"depth": 3, "names": ["b"]}}])
    );
}
