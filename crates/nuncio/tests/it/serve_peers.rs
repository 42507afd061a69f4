//! The address book with the real binary: a name stands for an address and its credential.

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use std::os::unix::fs::PermissionsExt as _;

use crate::program::Place;

#[test]
fn a_name_stands_for_address_and_credential() {
    let mut place = Place::new();
    place.set("A2A_PEER_TOKENS", "alice:hunter2");
    let served = place.serve(&["--store", "memory:"]);
    place.set("ALICE", "hunter2");
    let added = [
        "peers",
        "add",
        "me",
        &served.url,
        "--bearer",
        "env:ALICE",
        "--capability",
        "echo",
    ];
    assert!(
        place
            .run(&added)
            .expect_success()
            .contains("Credential: bearer env:ALICE\n")
    );
    let said = place.run(&["send", "-a", "me", "hello"]).expect_success();
    assert!(said.contains("hello"), "{said}");

    let listed = place.run(&["peers", "list", "-o", "json"]).expect_success();
    assert!(!listed.contains("hunter2"), "{listed}");
    let listed: serde_json::Value = serde_json::from_str(&listed).expect("JSON");
    assert_eq!(listed["peers"][0]["name"], "me");
    assert_eq!(listed["peers"][0]["auth"]["token"], "env:ALICE");

    let again = place.run(&added);
    assert_eq!(again.code(), Some(1));
    assert!(again.stderr.contains("--replace"), "{}", again.stderr);
    place.run(&["peers", "remove", "me"]).expect_success();
    let gone = place.run(&["send", "-a", "me", "hello"]);
    assert_eq!(gone.code(), Some(3), "{}", gone.stderr);
    assert!(gone.stderr.contains("me"), "{}", gone.stderr);
}

#[test]
fn a_credential_that_is_not_there_is_named() {
    let place = Place::new();
    let added = [
        "peers",
        "add",
        "me",
        "http://127.0.0.1:9",
        "--bearer",
        "env:ABSENT",
    ];
    place.run(&added).expect_success();
    let ended = place.run(&["send", "-a", "me", "hello"]);
    assert!(!ended.status.success());
    assert!(
        ended.stderr.contains("ABSENT is not set"),
        "{}",
        ended.stderr
    );
}

/// Writes the certificate of an authority, and for each name one that it has given out.
fn certificates(place: &Place, names: &[&str]) {
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let own = params.self_signed(&key).expect("a certificate");
    place.write("ca.pem", &own.pem());
    let issuer = Issuer::new(params, key);
    for name in names {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec![(*name).to_owned()]).expect("a name");
        let certificate = params.signed_by(&key, &issuer).expect("a certificate");
        place.write(&format!("{name}.pem"), &certificate.pem());
        let path = place.write(&format!("{name}.key"), &key.serialize_pem());
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("a mode");
    }
}

#[test]
fn a_name_stands_for_a_client_certificate_and_an_authority() {
    let place = Place::new();
    certificates(&place, &["127.0.0.1", "alice"]);
    let config = "[server.tls]\ncertificate = \"127.0.0.1.pem\"\nkey = \"127.0.0.1.key\"\n\
                  client_ca = \"ca.pem\"\n[agents.echo]\nbackend = \"echo\"\n";
    let config = place.write("gateway.toml", config);
    let config = config.to_str().expect("UTF-8");
    let served = place.serve(&["--store", "memory:", "--config", config]);
    let file = |name: &str| place.path().join(name).to_str().expect("UTF-8").to_owned();
    let (ca, certificate, key) = (file("ca.pem"), file("alice.pem"), file("alice.key"));
    let nobody = ["peers", "add", "nobody", &served.url, "--ca", &ca];
    place.run(&nobody).expect_success();
    let refused = place.run(&["send", "-a", "nobody", "hello"]);
    assert_eq!(refused.code(), Some(4), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("--client-cert"),
        "{}",
        refused.stderr
    );

    let mut alice = vec!["peers", "add", "me", &served.url, "--ca", &ca];
    alice.extend(["--client-cert", &certificate, "--client-key"]);
    let unusable = place.run(&[&alice[..], &[&*certificate]].concat());
    assert_eq!(unusable.code(), Some(2), "{}", unusable.stderr);
    let added = place.run(&[&alice[..], &[&*key]].concat()).expect_success();
    let shown = format!("Credential: client certificate {certificate}\n");
    assert!(added.contains(&shown), "{added}");
    let said = place.run(&["send", "-a", "me", "hello"]).expect_success();
    assert!(said.contains("hello"), "{said}");
}
