//! Agent cards as they are found in the field.

use nuncio_wire::SecurityScheme;
use nuncio_wire::dialects::{CardError, CardGeneration, openfang, read_card};

fn interfaces(json: &str) -> (Vec<String>, CardGeneration) {
    let (card, generation) = read_card(json.as_bytes()).unwrap();
    let show = card
        .supported_interfaces
        .iter()
        .map(|i| format!("{} {} {}", i.url, i.protocol_binding, i.protocol_version));
    (show.collect(), generation)
}

#[test]
fn addresses_of_every_generation_become_interfaces() {
    for (json, expected, generation) in [
        (
            r#"{"name":"a","supportedInterfaces":[{"url":"u","protocolBinding":"JSONRPC"}],"url":"u"}"#,
            vec!["u JSONRPC 1.0"],
            CardGeneration::V1,
        ),
        (
            r#"{"name":"a","url":"u","protocolVersion":"0.3.0","preferredTransport":"HTTP+JSON","additionalInterfaces":[{"url":"u","transport":"HTTP+JSON"},{"url":"v","transport":"GRPC"}]}"#,
            vec!["u HTTP+JSON 0.3", "v GRPC 0.3"],
            CardGeneration::V0_3,
        ),
        (
            r#"{"name":"a","url":"u","preferredTransport":"JSONRPC"}"#,
            vec!["u JSONRPC 0.3"],
            CardGeneration::V0_3,
        ),
        (
            r#"{"name":"a","url":"u","protocolVersion":"0.2.6"}"#,
            vec!["u JSONRPC 0.2"],
            CardGeneration::V0_3,
        ),
        (
            r#"{"name":"a","url":"u"}"#,
            vec!["u JSONRPC 0.3"],
            CardGeneration::V0_3,
        ),
        (
            r#"{"name":"a","url":"u","capabilities":{"streaming":false,"pushNotifications":false,"stateTransitionHistory":false}}"#,
            vec!["u JSONRPC 2025-04"],
            CardGeneration::Legacy,
        ),
        (
            r#"{"name":"a","url":"old","protocolVersion":"0.3.0","supportedInterfaces":[{"url":"u","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}"#,
            vec!["u JSONRPC 1.0", "old JSONRPC 0.3"],
            CardGeneration::V1,
        ),
        (
            r#"{"name":"a","supported_interfaces":[{"url":"u","protocol_binding":"JSONRPC","protocol_version":"1.0"}],"default_input_modes":["a/b"]}"#,
            vec!["u JSONRPC 1.0"],
            CardGeneration::V1,
        ),
    ] {
        let expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
        assert_eq!(interfaces(json), (expected, generation), "{json}");
    }
}

#[test]
fn a_1_0_card_with_security_in_the_shape_of_0_3_is_understood() {
    let json = r#"{"name":"hermes-host","description":"...","url":"http://host:9900/","version":"1.0.0",
        "provider":{"organization":"Hermes Agent","url":"http://host:9900/"},
        "supportedInterfaces":[{"url":"http://host:9900/","protocolBinding":"JSONRPC","protocolVersion":"1.0","tenant":"coder"}],
        "capabilities":{"streaming":true,"pushNotifications":true,"stateTransitionHistory":false,"extendedAgentCard":false},
        "defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],
        "skills":[{"id":"toolset.web","name":"web","description":"Web","tags":["web","web_search"]}],
        "securitySchemes":{"bearer":{"type":"http","scheme":"bearer"},"odd":{"type":"smoke-signal"}},"security":[{"bearer":[]}]}"#;
    let (card, generation) = read_card(json.as_bytes()).unwrap();
    assert_eq!(
        (generation, card.supported_interfaces.len()),
        (CardGeneration::V1, 1)
    );
    assert_eq!(
        card.supported_interfaces[0].tenant.as_deref(),
        Some("coder")
    );
    let SecurityScheme::HttpAuthSecurityScheme(scheme) = &card.security_schemes["bearer"] else {
        panic!()
    };
    assert_eq!(scheme.scheme, "bearer");
    assert_eq!(
        card.security_schemes.len(),
        1,
        "an unknown kind of scheme does not hide the rest"
    );
    assert!(card.security_requirements[0].schemes.contains_key("bearer"));
}

#[test]
fn capabilities_of_the_wrong_type_are_only_unknown() {
    let json = r#"{"name":"a","url":"u","capabilities":{"streaming":"yes","push_notifications":{"webhookUrl":"x"},"pushNotifications":true,"extensions":false},"security_schemes":[],"skills":null}"#;
    let (card, _) = read_card(json.as_bytes()).unwrap();
    assert_eq!(
        (
            card.capabilities.streaming,
            card.capabilities.push_notifications
        ),
        (None, Some(true))
    );
    assert!(card.capabilities.extensions.is_empty() && card.security_schemes.is_empty());
}

#[test]
fn of_several_flows_the_safest_is_kept() {
    let json = r#"{"name":"a","url":"u","preferredTransport":"JSONRPC","securitySchemes":{"o":{"type":"oauth2","flows":{
        "password":{"tokenUrl":"p","scopes":{}},"authorizationCode":{"authorizationUrl":"z","tokenUrl":"c","scopes":{}}}}}}"#;
    let (card, _) = read_card(json.as_bytes()).unwrap();
    let SecurityScheme::OAuth2SecurityScheme(scheme) = &card.security_schemes["o"] else {
        panic!()
    };
    assert!(
        matches!(&scheme.flows, nuncio_wire::OAuthFlows::AuthorizationCode(f) if f.token_url == "c")
    );
}

#[test]
fn openfang_is_recognised() {
    let card = |version: &str, url: &str| {
        let json = format!(
            r#"{{"name":"x","description":"d","url":"{url}","version":"{version}","capabilities":{{"streaming":true,"pushNotifications":false,"stateTransitionHistory":true}},"skills":[]}}"#
        );
        read_card(json.as_bytes()).unwrap().0
    };
    assert!(openfang::is_openfang(&card(
        "0.1.0",
        "http://127.0.0.1:4200/a2a"
    )));
    assert!(!openfang::is_openfang(&card(
        "0.1.0",
        "http://127.0.0.1:4200/rpc"
    )));
    assert!(!openfang::is_openfang(&card(
        "1.0.0",
        "http://127.0.0.1:4200/a2a"
    )));
}

#[test]
fn a_dual_card_has_what_its_readers_insist_on() {
    let json = r#"{"name":"bare","supportedInterfaces":[{"url":"u","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"skills":[{"id":"s"}]}"#;
    let (card, _) = read_card(json.as_bytes()).unwrap();
    let dual = String::from_utf8(openfang::write_card(&card, "https://h/legacy")).unwrap();
    assert!(
        dual.contains(r#""description":"bare","url":"https://h/legacy""#),
        "{dual}"
    );
    assert!(dual.contains(r#""capabilities":{"streaming":false,"pushNotifications":false,"stateTransitionHistory":false"#));
    assert!(dual.contains(r#"{"id":"s","name":"s","description":"s","tags":[],"examples":[]}"#));
    assert!(!dual.contains("preferredTransport") && !dual.contains(r#""protocolVersion":"0"#));
}

#[test]
fn what_is_no_card_is_told_apart_from_what_is_no_json() {
    for json in ["", "<html>", "{", "\u{feff}{}"] {
        assert!(
            matches!(read_card(json.as_bytes()), Err(CardError::NotJson(_))),
            "{json}"
        );
    }
    for json in ["{}", "[]", "5", r#"{"error":"Not found"}"#, r#"{"name":5}"#] {
        assert!(
            matches!(read_card(json.as_bytes()), Err(CardError::NotACard(_))),
            "{json}"
        );
    }
    let deep = format!(r#"{{"name":"a","x":{}}}"#, "[".repeat(100_000));
    assert!(matches!(
        read_card(deep.as_bytes()),
        Err(CardError::NotJson(_))
    ));
}
