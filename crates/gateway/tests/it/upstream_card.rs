//! The card of an agent behind the gateway, as the gateway shows it: what the agent says of itself, at the
//! gateway's addresses.

use serde_json::{Value, json};
use std::collections::HashSet;

use crate::rig::Rig;
use crate::upstream_peer::Peer;

const CARD: &str = "/.well-known/agent-card.json";

fn skill(id: &str, name: &str) -> Value {
    json!({"id": id, "name": name, "description": "Digs", "tags": ["x"], "examples": ["Dig here"],
        "inputModes": ["text/csv"], "outputModes": ["image/png"]})
}

/// An agent that says more of itself than it has to.
async fn peer() -> Peer {
    let mut peer = Peer::start(json!({"streaming": true})).await;
    peer.says("description", json!("Digs for old coins"));
    peer.says("version", json!("7.7.7"));
    peer.says("defaultInputModes", json!(["text/csv", "text/plain"]));
    peer.says("defaultOutputModes", json!(["image/png"]));
    let scheme = json!({"httpAuthSecurityScheme": {"scheme": "Bearer"}});
    peer.says("securitySchemes", json!({"inner": scheme}));
    let wants = json!([{"schemes": {"inner": {"list": []}}}]);
    peer.says("securityRequirements", wants.clone());
    let mut dig = skill("dig", "Dig");
    dig["securityRequirements"] = wants;
    peer.says("skills", json!([dig, skill("own", "Theirs")]));
    peer
}

async fn card(rig: &Rig, peer: &mut Peer) -> Value {
    let (answer, ()) = tokio::join!(rig.get(CARD, &[]), peer.show());
    answer.json
}

#[tokio::test]
async fn it_says_what_the_agent_says_where_the_operator_says_nothing() {
    let mut peer = peer().await;
    let rig = peer.front("").await;
    let card = card(&rig, &mut peer).await;
    assert_eq!(card["name"], "front");
    assert_eq!(card["description"], "Digs for old coins");
    assert_eq!(card["defaultInputModes"], json!(["text/csv", "text/plain"]));
    assert_eq!(card["defaultOutputModes"], json!(["image/png"]));
    let skills = json!([skill("dig", "Dig"), skill("own", "Theirs")]);
    assert_eq!(card["skills"], skills, "without the credentials it wants");
    assert!(
        card.get("securitySchemes")
            .is_none_or(|it| *it == json!({}))
    );
    let again = rig.get(CARD, &[]).await;
    assert_eq!(again.json, card, "it is not asked every time");
}

#[tokio::test]
async fn what_the_operator_says_goes_before_it() {
    let mut peer = peer().await;
    let settings = "description = \"Ours\"\ninput_modes = [\"text/plain\"]\noutput_modes = [\"text/html\"]\n\
        skills = [{ id = \"own\", name = \"Mine\" }]";
    let rig = peer.front(settings).await;
    let card = card(&rig, &mut peer).await;
    assert_eq!(card["description"], "Ours");
    assert_eq!(card["defaultInputModes"], json!(["text/plain"]));
    assert_eq!(card["defaultOutputModes"], json!(["text/html"]));
    let names: Vec<_> = card["skills"].as_array().unwrap().iter().collect();
    assert_eq!(names.len(), 2, "{card}");
    assert_eq!(
        (&names[0]["name"], &names[1]["name"]),
        (&json!("Mine"), &json!("Dig"))
    );
}

#[tokio::test]
async fn each_of_its_addresses_is_the_gateways_and_there_once() {
    let mut peer = peer().await;
    let rig = peer.front("").await;
    let card = card(&rig, &mut peer).await;
    let host = rig.base.trim_start_matches("http://");
    let interfaces = card["supportedInterfaces"].as_array().unwrap();
    let mut seen = HashSet::new();
    for interface in interfaces {
        let url = interface["url"].as_str().unwrap();
        assert!(
            url.trim_start_matches("http://").starts_with(host),
            "{card}"
        );
        assert!(seen.insert(interface.to_string()), "twice: {interface}");
    }
    assert!(seen.len() >= 3, "every binding: {card}");
    let theirs = peer.service.base.trim_start_matches("http://");
    assert!(!card.to_string().contains(theirs), "{card}");
}

#[tokio::test]
async fn an_agent_that_is_away_has_a_card_all_the_same() {
    let peer = peer().await;
    let rig = peer.front("").await;
    drop(peer);
    let card = rig.get(CARD, &[]).await;
    assert_eq!(card.status, 200);
    assert_eq!(card.json["description"], "The agent 'front'.");
    assert_eq!(card.json["skills"][0]["id"], "general");
}

#[tokio::test]
async fn a_description_without_an_end_is_cut() {
    let mut peer = peer().await;
    peer.says("description", json!("ä".repeat(100_000)));
    let rig = peer.front("").await;
    let card = card(&rig, &mut peer).await;
    let description = card["description"].as_str().unwrap();
    assert_eq!(description, "ä".repeat(2000));
}
