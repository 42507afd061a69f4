//! `card keygen`, `sign`, `verify`, `trust`, and what `card get` says of signatures.

use std::os::unix::fs::PermissionsExt as _;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::cli::Program;
use crate::mock_agent::{MockAgent, Reply, card};

/// A place with a key pair of each algorithm: `es.jwk`, `ed.jwk` and their public halves.
async fn with_keys() -> Program {
    let program = Program::new();
    for (alg, name) in [("ES256", "es"), ("EdDSA", "ed")] {
        let out = format!("{name}.jwk");
        let ran = program
            .run(&["card", "keygen", "--alg", alg, "--out", &out])
            .await;
        assert_eq!(ran.code, 0, "{ran:?}");
        let public = ran.json();
        assert_eq!(public["alg"], alg);
        assert!(public.get("d").is_none());
        program.file(&format!("{name}.pub"), &ran.stdout);
    }
    program
}

async fn sign(program: &Program, card: &Value, keys: &[&str]) -> Value {
    program.file("unsigned.json", &card.to_string());
    let mut arguments = vec!["card", "sign", "unsigned.json"];
    keys.iter().for_each(|key| arguments.extend(["--key", key]));
    let ran = program.run(&arguments).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.json()
}

#[tokio::test]
async fn a_private_key_is_for_its_owner_and_never_replaced() {
    let program = with_keys().await;
    let key = program.home().join("es.jwk");
    let mode = std::fs::metadata(&key).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let before = std::fs::read_to_string(&key).unwrap();
    let ran = program.run(&["card", "keygen", "--out", "es.jwk"]).await;
    assert_eq!(ran.code, 2, "{ran:?}");
    assert_eq!(std::fs::read_to_string(&key).unwrap(), before);
    let secret: Value = serde_json::from_str(&before).unwrap();
    assert!(!ran.shown().contains(secret["d"].as_str().unwrap()));

    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    program.file("c.json", &card("https://a.example", true).to_string());
    let ran = program
        .run(&["card", "sign", "c.json", "--key", "es.jwk"])
        .await;
    assert!(ran.code == 2 && ran.stderr.contains("chmod 600"), "{ran:?}");
}

#[tokio::test]
async fn a_signed_file_verifies_by_each_of_its_keys_until_it_is_changed() {
    let program = with_keys().await;
    let mut unsigned = card("https://a.example", true);
    unsigned["description"] = json!("Grüße, \u{1F600}");
    unsigned["x-number"] = json!(1.5);
    let signed = sign(&program, &unsigned, &["es.jwk", "ed.jwk"]).await;
    program.file("signed.json", &signed.to_string());
    let mut without = signed.clone();
    without.as_object_mut().unwrap().remove("signatures");
    assert_eq!(without, unsigned, "nothing else was touched");

    // Signing again replaces the key's own signatures and leaves the other's.
    let again = sign(&program, &signed, &["es.jwk"]).await;
    let count = |card: &Value| card["signatures"].as_array().unwrap().len();
    assert_eq!(count(&again), count(&signed));

    for key in ["es.pub", "ed.pub"] {
        let ran = program
            .run(&[
                "card",
                "verify",
                "signed.json",
                "--trust",
                key,
                "-o",
                "json",
            ])
            .await;
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(ran.json()["signature"], "verified");
        assert_eq!(ran.json()["covers"], "specification");
    }
    let mut changed = signed;
    changed["description"] = json!("Grüsse, \u{1F600}");
    program.file("signed.json", &changed.to_string());
    let verify = [
        "card",
        "verify",
        "signed.json",
        "--trust",
        "es.pub",
        "-o",
        "json",
    ];
    let ran = program.run(&verify).await;
    assert_eq!(
        (ran.error_code().as_str(), ran.code),
        ("A2ACLI_ERR_CARD_UNVERIFIED", 1)
    );
    program.file("signed.json", &unsigned.to_string());
    let ran = program.run(&verify).await;
    assert!(
        ran.code == 1 && ran.stdout.contains("no signature"),
        "{ran:?}"
    );
}

fn line(text: &str) -> &str {
    let found = text.lines().find(|line| line.starts_with("Signature: "));
    found.unwrap_or_else(|| panic!("no such line: {text}"))
}

/// Serves whatever card the test has put there last.
async fn serving(card: std::sync::Arc<std::sync::Mutex<Value>>) -> MockAgent {
    MockAgent::start(move |request, _| {
        if request.path == "/.well-known/agent-card.json" {
            Reply::json(200, &card.lock().expect("no test panics with it"))
        } else {
            Reply::not_found()
        }
    })
    .await
}

#[tokio::test]
async fn a_card_counts_as_verified_only_by_a_key_trusted_for_its_origin() {
    let program = with_keys().await;
    let served = std::sync::Arc::new(std::sync::Mutex::new(json!({})));
    let agent = serving(served.clone()).await;
    let base = agent.base();
    let serve = |card: &Value| *served.lock().unwrap() = card.clone();
    let state = async || {
        let ran = program.run(&["card", "get", base]).await;
        assert_eq!(ran.code, 0, "{ran:?}");
        line(&ran.stdout).to_owned()
    };

    let unsigned = card(base, true);
    serve(&unsigned);
    assert_eq!(state().await, "Signature: absent");
    let plain = program.run(&["card", "get", base, "-o", "json"]).await;
    assert!(plain.json().get("signature").is_none());

    let signed = sign(&program, &unsigned, &["es.jwk"]).await;
    serve(&signed);
    assert_eq!(state().await, "Signature: unverifiable");
    let trust = async |origin: &str, key: &str| {
        let ran = program.run(&["card", "trust", "add", origin, key]).await;
        assert_eq!(ran.code, 0, "{ran:?}");
    };
    trust("https://elsewhere.example", "es.pub").await;
    trust(base, "ed.pub").await;
    assert_eq!(state().await, "Signature: unverifiable");
    trust(base, "es.pub").await;
    assert_eq!(state().await, "Signature: verified");
    let ran = program.run(&["card", "verify", base]).await;
    assert!(
        ran.code == 0 && ran.stdout.contains("Algorithm: ES256\n"),
        "{ran:?}"
    );
    let ran = program.run(&["discover", base]).await;
    assert_eq!(line(&ran.stdout), "Signature: verified");

    // A card that names an address of its own keys is not believed, and nobody goes there.
    let mut bait = signed.clone();
    let header = json!({"alg": "ES256", "kid": "theirs", "jku": format!("{base}/jwks.json")});
    let protected = URL_SAFE_NO_PAD.encode(header.to_string());
    for signature in bait["signatures"].as_array_mut().unwrap() {
        signature["protected"] = json!(protected);
    }
    serve(&bait);
    assert_eq!(state().await, "Signature: unverifiable");
    assert!(agent.seen().iter().all(|it| it.path != "/jwks.json"));

    serve(&signed);
    let list = program.run(&["card", "trust", "list", "-o", "json"]).await;
    assert_eq!(list.json()["keys"].as_array().unwrap().len(), 3);
    let ran = program.run(&["card", "trust", "remove", base]).await;
    assert_eq!(ran.stdout, "Removed: 2\n");
    assert_eq!(state().await, "Signature: unverifiable");
    let ran = program.run(&["card", "trust", "remove", base]).await;
    assert_eq!(ran.code, 2, "{ran:?}");
}
