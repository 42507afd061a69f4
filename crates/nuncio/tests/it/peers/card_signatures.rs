//! Signatures of cards between nuncio and the official SDKs, both ways.

use serde_json::{Value, json};

use super::outcomes::Outcomes;
use super::script::Script;
use crate::program::Place;

/// A card with what signers treat differently: unset and false optionals, nested defaults, letters
/// beyond ASCII, a number that is whole, a security requirement without scopes.
const CONFIG: &str = r#"
[server]
public_url = "http://ADDRESS"
card_keys = ["file:es.jwk", "file:ed.jwk"]
[agents.echo]
backend = "echo"
name = "Größe 😀 דּ"
description = "Repeats <b>&\"text\"</b>\u2028"
skills = [{ id = "s", name = "S" }]
capabilities = { push_notifications = false, extensions = [{ uri = "urn:x", required = false, params = { n = 1.0, none = [], deep = { no = false } } }] }
"#;

/// A place with a key pair of each algorithm and the set of their public halves.
fn with_keys() -> Place {
    let place = Place::new();
    let public: Vec<Value> = [("ES256", "es.jwk"), ("EdDSA", "ed.jwk")]
        .iter()
        .map(|(alg, file)| {
            let made = place.run(&["card", "keygen", "--alg", alg, "--out", file]);
            serde_json::from_str(&made.expect_success()).expect("a JWK")
        })
        .collect();
    place.write("trusted.json", &json!({"keys": public}).to_string());
    let token = place.write("token", "t");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(token, mode).expect("a mode");
    place
}

fn both_ways(script: Script, more: &str) {
    let mut command = script.command();
    let place = with_keys();
    // A signed card names a set address, so the address must be known before.
    let address = free_address();
    let config = CONFIG.replace("ADDRESS", &address);
    place.write("nuncio.toml", &format!("{config}{more}"));
    place.write("unsigned.json", &unsigned().to_string());
    let served = place.serve_as(&["serve", "--listen", &address, "--store", "memory:"]);
    command.arg(&served.url);
    for file in ["trusted.json", "unsigned.json", "es.jwk", "ed.jwk"] {
        command.arg(place.path().join(file));
    }
    let outcomes = Outcomes::of(&mut command);
    let names = json!(["Größe 😀 \u{fb33}", "Größe 😀 \u{fb33}"]);
    assert_eq!(outcomes.step("verify"), &names);
    if more.is_empty() && outcomes.has_step("resolve") {
        assert_eq!(outcomes.step("resolve"), &names);
    }
    let signed = outcomes.step("sign");
    for (at, alg) in ["ES256", "EdDSA"].into_iter().enumerate() {
        let mut card = signed.clone();
        card["signatures"] = json!([signed["signatures"][at]]);
        assert_eq!(verify(&place, &card).expect("verified")["alg"], alg);
        card["name"] = json!("Grosse");
        let why = verify(&place, &card).expect_err("a changed card");
        assert!(why.contains("did not sign this card"), "{why}");
    }
}

/// An address that the system has just given out.
fn free_address() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").to_string()
}

/// Our verdict on a card in a file.
fn verify(place: &Place, card: &Value) -> Result<Value, String> {
    place.write("card.json", &card.to_string());
    let arguments = [
        "card",
        "verify",
        "card.json",
        "--trust",
        "trusted.json",
        "-o",
        "json",
    ];
    let ended = place.run(&arguments);
    let printed = serde_json::from_str(&ended.stdout).expect("JSON");
    match ended.code() {
        Some(0) => Ok(printed),
        _ => Err(ended.stdout),
    }
}

/// Much is empty or default here that one rule of presence drops and another keeps.
fn unsigned() -> Value {
    json!({
        "name": "Größe 😀 \u{fb33}", "description": "", "version": "1",
        "supportedInterfaces": [{"url": "https://a.example", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "capabilities": {"streaming": false, "extensions": [{"uri": "urn:x", "params": {"n": 1.0, "e": [], "no": false}}]},
        "securitySchemes": {"b": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}},
        "securityRequirements": [{"schemes": {"b": {"list": []}}}],
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "x", "name": "x", "description": "<&>", "tags": ["t"]}],
    })
}

const SECURED: &str = "[security]\nbearer_token = \"file:token\"\n";
const MERGED: &str = "[security]\nbearer_token = \"file:token\"\n[compat]\nmerged_card = true\n";

#[test]
fn python_1() {
    both_ways(Script::Python1("cards_1.py"), "");
}

#[test]
fn python_1_with_a_security_scheme() {
    both_ways(Script::Python1("cards_1.py"), SECURED);
}

#[test]
fn python_1_with_the_merged_card() {
    both_ways(Script::Python1("cards_1.py"), MERGED);
}

#[test]
fn javascript_1() {
    both_ways(Script::Node("cards_1.js"), "");
}

#[test]
fn javascript_1_with_a_security_scheme() {
    both_ways(Script::Node("cards_1.js"), SECURED);
}

#[test]
fn javascript_1_with_the_merged_card() {
    both_ways(Script::Node("cards_1.js"), MERGED);
}
