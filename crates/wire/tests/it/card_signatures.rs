//! Signatures of cards: what is signed, what verifies, and what never does (specification 8.4).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use nuncio_wire::card_signature::{
    Algorithm, CanonicalForm, PublicKey, SigningKey, Unverified, canonicalize, sign, verify,
};
use serde_json::{Value, json};

const CANONICAL: &str = r#"{"capabilities":{"pushNotifications":false,"streaming":true},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"description":"Repeats text","name":"Echo","skills":[{"description":"Repeats text","id":"echo","name":"echo","tags":["test"]}],"supportedInterfaces":[{"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"https://echo.example/rpc"}],"version":"1.0.0"}"#;
const PROTECTED: &str = "eyJhbGciOiJFZERTQSIsImtpZCI6ImsxIiwidHlwIjoiSk9TRSJ9";
const SIGNATURE: &str =
    "3Is7KoCMCAa2B0aF-r_XNLn_B-jRDvE9cpmeI97D5a8RXC42zav9gHZT4mQOyfBtf_5mKctV_6Azxb5oql8qBw";
/// The key of the vector: bytes 0 to 31.
const KEY: &str = r#"{"kty":"OKP","crv":"Ed25519","kid":"k1",
    "x":"A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg",
    "d":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"}"#;

fn vector_key() -> SigningKey {
    SigningKey::read(KEY).unwrap()
}

fn new_key(algorithm: Algorithm) -> SigningKey {
    SigningKey::generate(algorithm).unwrap().0
}

/// `card` with signatures of these keys.
fn signed(card: &Value, keys: &[&SigningKey]) -> Value {
    let bytes = card.to_string().into_bytes();
    let signatures = keys.iter().flat_map(|key| sign(&bytes, key).unwrap());
    let mut card = card.clone();
    card["signatures"] = json!(signatures.collect::<Vec<_>>());
    card
}

fn reasons(card: &Value, trusted: &[PublicKey]) -> String {
    match verify(card.to_string().as_bytes(), trusted) {
        Err(error @ Unverified::Unverifiable(_)) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_vector_is_signed_and_verified() {
    let written = r#"{"version":"1.0.0","name":"\u0045cho","description":"Repeats text",
        "supportedInterfaces":[{"url":"https://echo.example/rpc","protocolBinding":"JSONRPC","tenant":"","protocolVersion":"1.0"}],
        "capabilities":{"streaming":true,"pushNotifications":false,"extensions":[]},
        "defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],
        "skills":[{"id":"echo","name":"echo","description":"Repeats text","tags":["test"],"examples":[]}]}"#;
    for form in CanonicalForm::ALL {
        let canonical = canonicalize(written.as_bytes(), form).unwrap();
        assert_eq!(String::from_utf8(canonical).unwrap(), CANONICAL);
    }
    let signatures = sign(written.as_bytes(), &vector_key()).unwrap();
    assert_eq!(signatures.len(), 1, "both forms are the same");
    assert_eq!(signatures[0].protected, PROTECTED);
    assert_eq!(signatures[0].signature, SIGNATURE);

    let mut card: Value = serde_json::from_str(CANONICAL).unwrap();
    card["signatures"] = json!(signatures);
    let trusted = [vector_key().public().clone()];
    let verified = verify(card.to_string().as_bytes(), &trusted).unwrap();
    assert_eq!(
        (verified.kid.as_str(), verified.form),
        ("k1", CanonicalForm::Specification)
    );
}

/// A card with all that could get lost: unset and false optionals, nested defaults, non-ASCII,
/// empty required values, members of another generation.
fn rich() -> Value {
    json!({
        "name": "Größe 😀 \u{fb33}", "description": "", "version": "1",
        "supportedInterfaces": [{"url": "https://a.example", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "capabilities": {"streaming": false, "extensions": [{"uri": "u", "required": false, "params": {"n": 1.0, "e": [], "o": null}}]},
        "securitySchemes": {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}},
        "securityRequirements": [{"schemes": {"bearer": {"list": []}}}],
        "defaultInputModes": [], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "x", "name": "x", "description": "x", "tags": []}],
        "url": "https://a.example", "preferredTransport": "JSONRPC",
    })
}

#[test]
fn what_is_signed_verifies_by_either_algorithm_and_in_either_form() {
    for algorithm in [Algorithm::Es256, Algorithm::EdDsa] {
        let key = new_key(algorithm);
        let trusted = [key.public().clone()];
        let mut card = signed(&rich(), &[&key]);
        assert_eq!(card["signatures"].as_array().unwrap().len(), 2);
        let verified = verify(card.to_string().as_bytes(), &trusted).unwrap();
        assert_eq!(verified.form, CanonicalForm::Specification);
        assert_eq!(verified.uncovered, Vec::<String>::new());

        card["signatures"].as_array_mut().unwrap().remove(0);
        let verified = verify(card.to_string().as_bytes(), &trusted).unwrap();
        assert_eq!(verified.form, CanonicalForm::Sdk);
        assert_eq!(verified.uncovered, ["preferredTransport", "url"]);
    }
}

#[test]
fn one_good_signature_of_several_suffices() {
    let (old, new, foreign) = (
        new_key(Algorithm::Es256),
        new_key(Algorithm::EdDsa),
        new_key(Algorithm::EdDsa),
    );
    let card = signed(&rich(), &[&old, &new]);
    for key in [&old, &new] {
        let verified = verify(card.to_string().as_bytes(), &[key.public().clone()]).unwrap();
        assert_eq!(verified.kid, key.public().kid());
    }
    let text = reasons(&card, &[foreign.public().clone()]);
    assert!(
        text.contains("signature 4") && text.contains("not trusted"),
        "{text}"
    );
    assert_eq!(
        verify(rich().to_string().as_bytes(), &[old.public().clone()]),
        Err(Unverified::Absent)
    );
}

#[test]
fn any_change_of_what_is_covered_is_noticed() {
    let key = new_key(Algorithm::Es256);
    let trusted = [key.public().clone()];
    let card = signed(&rich(), &[&key]);
    let changes: [fn(&mut Value); 8] = [
        |card| card["name"] = json!("Grosse"),
        |card| card["version"] = json!("2"),
        |card| card["supportedInterfaces"][0]["url"] = json!("https://b.example"),
        |card| card["capabilities"]["streaming"] = json!(true),
        |card| card["capabilities"]["extensions"][0]["params"]["n"] = json!(2),
        |card| card["skills"][0]["tags"] = json!(["new"]),
        |card| card["iconUrl"] = json!("https://b.example/i.png"),
        |card| {
            card["securitySchemes"]["bearer"]["httpAuthSecurityScheme"]["scheme"] = json!("Basic");
        },
    ];
    for change in changes {
        let mut changed = card.clone();
        change(&mut changed);
        let text = reasons(&changed, &trusted);
        assert!(text.contains("did not sign this card"), "{text}");
    }
    // The signature itself.
    for at in 0..2 {
        let mut broken = card.clone();
        for index in 0..2 {
            let text = broken["signatures"][index]["signature"].as_str().unwrap();
            let first = if text.starts_with('A') { "B" } else { "A" };
            broken["signatures"][index]["signature"] = if at == 0 {
                json!(format!("{first}{}", &text[1..]))
            } else {
                json!("!")
            };
        }
        reasons(&broken, &trusted);
    }
}

/// A doubled name, which two readers could take in two ways, has no good signature.
#[test]
fn a_doubled_name_never_verifies() {
    let key = new_key(Algorithm::EdDsa);
    let trusted = [key.public().clone()];
    let card = signed(&rich(), &[&key]).to_string();
    let doubled = card.replacen('{', r#"{"version":"1","#, 1);
    let result = verify(doubled.as_bytes(), &trusted);
    assert!(
        matches!(&result, Err(Unverified::Unverifiable(why)) if why[0].contains("twice")),
        "{result:?}"
    );
    let doubled = card.replacen('{', r#"{"signatures":[],"#, 1);
    assert!(verify(doubled.as_bytes(), &trusted).is_err());
}

/// The header decides nothing: not the algorithm, not where keys are, not how to read the payload.
#[test]
fn a_header_cannot_talk_the_verifier_into_anything() {
    let key = new_key(Algorithm::EdDsa);
    let other = new_key(Algorithm::Es256);
    let trusted = [key.public().clone()];
    let kid = key.public().kid();
    let attackers: Value = serde_json::from_str(&other.public().to_jwk()).unwrap();
    for (header, reason) in [
        (json!({"alg": "none", "kid": kid}), "none of ES256"),
        (json!({"alg": "None", "kid": kid}), "none of ES256"),
        (json!({"alg": "HS256", "kid": kid}), "none of ES256"),
        (json!({"alg": "eddsa", "kid": kid}), "none of ES256"),
        (json!({"alg": "ES256", "kid": kid}), "is for EdDSA"),
        (json!({"alg": "EdDSA"}), "names no key"),
        (
            json!({"alg": "EdDSA", "kid": "x", "jku": "https://b.example/jwks.json"}),
            "not trusted",
        ),
        (
            json!({"alg": "ES256", "kid": "x", "jwk": attackers}),
            "not trusted",
        ),
        (
            json!({"alg": "EdDSA", "kid": kid, "crit": ["b64"], "b64": false}),
            "crit",
        ),
        (json!("EdDSA"), "cannot be read"),
    ] {
        let mut card = signed(&rich(), &[&key]);
        let protected = URL_SAFE_NO_PAD.encode(header.to_string());
        for index in 0..2 {
            card["signatures"][index]["protected"] = json!(protected);
        }
        let text = reasons(&card, &trusted);
        assert!(text.contains(reason), "{header}: {text}");

        // An empty signature is what `none` would have.
        card["signatures"][0]["signature"] = json!("");
        reasons(&card, &trusted);
    }
    let mut card = signed(&rich(), &[&key]);
    let doubled = format!(r#"{{"alg":"none","alg":"EdDSA","kid":"{kid}"}}"#);
    for index in 0..2 {
        card["signatures"][index]["protected"] = json!(URL_SAFE_NO_PAD.encode(&doubled));
    }
    assert!(reasons(&card, &trusted).contains("cannot be read"));
}
