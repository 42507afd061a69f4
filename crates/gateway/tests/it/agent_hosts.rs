//! Agents with a host of their own: at its root nothing names them.

use serde_json::{Value, json};

use crate::rig::{ECHO, Rig, Store, over_bindings};

/// `localhost` leads here from everywhere, so that it can be called by its name.
const HOSTS: &str = "[agents.home]\nbackend = \"echo\"\nhost = \"localhost\"\n\
    [agents.away]\nbackend = \"echo\"\nhost = \"Away.example\"\n";

fn config() -> String {
    format!("{ECHO}{HOSTS}")
}

over_bindings! {
    async fn what_is_sent_to_its_host_goes_to_the_agent(over: Over) {
        let mut rig = Rig::start(over, &config()).await;
        let address = rig.base.clone();
        let of_default = rig.send("x").await["id"].clone();
        rig.base = address.replace("127.0.0.1", "localhost");
        let own = rig.send("y").await["id"].clone();
        let found = rig.call("GetTask", json!({"id": own})).await;
        assert_eq!(found["result"]["id"], own, "{found}");
        let foreign = rig.call("GetTask", json!({"id": of_default})).await;
        assert_eq!(foreign["error"]["code"], -32001, "{foreign}");
        rig.base = address;
        let foreign = rig.call("GetTask", json!({"id": own})).await;
        assert_eq!(foreign["error"]["code"], -32001, "{foreign}");
    }
}

/// Binding, address and tenant of each interface of 1.0.
fn interfaces(card: &Value) -> Vec<(&str, &str, Option<&str>)> {
    let all = card["supportedInterfaces"].as_array().unwrap().iter();
    all.filter(|it| it["protocolVersion"] == "1.0")
        .map(|it| {
            let binding = it["protocolBinding"].as_str().unwrap();
            (binding, it["url"].as_str().unwrap(), it["tenant"].as_str())
        })
        .collect()
}

#[tokio::test]
async fn its_card_gives_addresses_at_that_host() {
    let rig = Rig::start(Store::Memory, &config()).await;
    let port = rig.base.rsplit_once(':').unwrap().1;
    let host = format!("localhost:{port}");
    let (path, url) = ("/.well-known/agent-card.json", format!("http://{host}"));
    let root = format!("{url}/");
    let expected = [
        ("JSONRPC", &*root, None),
        ("HTTP+JSON", &*url, None),
        ("GRPC", &*host, None),
    ];
    let at_root = rig.get(path, &[("host", &host)]).await.json;
    assert_eq!(
        (&at_root["name"], interfaces(&at_root)),
        (&json!("home"), expected.to_vec())
    );
    let by_name = rig.get(&format!("/agents/home{path}"), &[]).await.json;
    assert_eq!(by_name, at_root);
    let away = rig.get(path, &[("host", "away.EXAMPLE:1")]).await.json;
    assert_eq!(away["name"], "away");
    let default = rig.get(path, &[]).await.json;
    assert_eq!(
        (&default["name"], interfaces(&default)[1].1),
        (&json!("echo"), &*rig.base)
    );
    let catalog = rig.get("/.well-known/ai-catalog.json", &[]).await.json;
    assert_eq!(
        catalog["entries"][1]["url"],
        format!("{url}{path}"),
        "{catalog}"
    );
    let foreign = rig.get(path, &[("host", "elsewhere.example")]).await;
    assert_eq!(foreign.status, 403);
}

#[tokio::test]
async fn scheme_and_port_are_those_of_the_public_url() {
    let public = "[server]\npublic_url = \"https://gateway.example:8443/behind\"\n";
    let rig = Rig::start(Store::Memory, &format!("{public}{}", config())).await;
    let path = "/agents/away/.well-known/agent-card.json";
    let card = rig.get(path, &[]).await.json;
    let expected = [
        ("JSONRPC", "https://away.example:8443/", None),
        ("HTTP+JSON", "https://away.example:8443", None),
        ("GRPC", "away.example:8443", None),
    ];
    assert_eq!(interfaces(&card), expected);
}
