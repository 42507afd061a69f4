//! The address book with the real binary: a name stands for an address and its credential.

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
