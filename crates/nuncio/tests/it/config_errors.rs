//! What a wrong configuration is answered with: the place, the cause, the remedy, and no secret.

use crate::program::{Ended, Place};

fn check(place: &Place, text: &str) -> Ended {
    place.write("nuncio.toml", text);
    place.run(&["config", "check"])
}

#[test]
fn a_good_file_is_summed_up() {
    let place = Place::new();
    let text = "[server]\nlisten = [\"127.0.0.1:9\"]\n[agents.a]\nbackend = \"echo\"\n\
                [peers.b]\nurl = \"http://b.example\"\n";
    let summary = check(&place, text).expect_success();
    assert!(summary.starts_with("ok: nuncio.toml\n"), "{summary}");
    for line in [
        "Agents: a (echo)",
        "Listen: 127.0.0.1:9",
        "Store: sqlite:nuncio.db",
        "Peers: b",
    ] {
        assert!(
            summary.contains(&format!("{line}\n")),
            "{line} is missing:\n{summary}"
        );
    }
}

#[test]
fn an_unknown_key_is_shown_with_the_nearest_one() {
    let place = Place::new();
    let ended = check(
        &place,
        "[agents.a]\nbackend = \"command\"\ncommand = [\"cat\"]\n\n  kil_grace = \"1s\"\n",
    );
    assert_eq!(ended.code(), Some(1));
    insta::assert_snapshot!(ended.stderr, @r#"
    error: unknown key `kil_grace` in [agents.a]
     --> nuncio.toml:5:3
      |
    5 |   kil_grace = "1s"
      |   ^^^^^^^^^
      = help: did you mean `kill_grace`?
    "#);
    assert_eq!(ended.stdout, "");
}

#[test]
fn every_mistake_is_shown_at_once() {
    let place = Place::new();
    let ended = check(
        &place,
        "[server]\nmax_connections = \"many\"\n[store]\nurl = \"mysql:x\"\n",
    );
    insta::assert_snapshot!(ended.stderr, @r#"
    error: `server.max_connections` must be a whole number, not a string
     --> nuncio.toml:2:19
      |
    2 | max_connections = "many"
      |                   ^^^^^^

    `store.url`: `mysql:x` is not a store: write `memory:`, `sqlite:PATH` or `postgres://USER@HOST:PORT/DATABASE`
     --> nuncio.toml:4:7
      |
    4 | url = "mysql:x"
      |       ^^^^^^^^^
    "#);
}

#[test]
fn a_literal_secret_is_refused_and_never_repeated() {
    let place = Place::new();
    let ended = check(
        &place,
        "[security]\npeer_tokens = { alice = \"hunter2\" }\n",
    );
    assert_eq!(ended.code(), Some(1));
    assert!(
        ended.stderr.contains("write `env:NAME`"),
        "{}",
        ended.stderr
    );
    assert!(
        ended.stderr.contains("nuncio.toml:2:25"),
        "{}",
        ended.stderr
    );
    assert!(!ended.stderr.contains("hunter2"), "{}", ended.stderr);

    place.write("nuncio.toml", "");
    let ended = place.run(&[
        "peers",
        "add",
        "p",
        "http://p.example",
        "--bearer",
        "hunter2",
    ]);
    assert_eq!(ended.code(), Some(2));
    assert!(ended.stderr.contains("env:NAME"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("hunter2"), "{}", ended.stderr);
}

#[test]
fn a_secret_that_is_not_there_is_named() {
    let mut place = Place::new();
    let text = "[security]\nbearer_token = \"env:MY_TOKEN\"\n";
    let ended = check(&place, text);
    assert_eq!(ended.code(), Some(1));
    assert!(
        ended
            .stderr
            .contains("the environment variable MY_TOKEN is not set"),
        "{}",
        ended.stderr
    );
    assert!(ended.stderr.contains("nuncio.toml:2:1"), "{}", ended.stderr);
    place.set("MY_TOKEN", "hunter2");
    assert!(!check(&place, text).expect_success().contains("hunter2"));
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let mut place = Place::new();
    let ended = place.run(&["config", "check", "absent.toml"]);
    assert_eq!(ended.code(), Some(1));
    assert!(
        ended
            .stderr
            .contains("cannot read the configuration absent.toml"),
        "{}",
        ended.stderr
    );
    place.set("NUNCIO_CONFIG", "other.toml");
    let ended = place.run(&["serve"]);
    assert_eq!(ended.code(), Some(1));
    assert!(
        ended
            .stderr
            .contains("cannot read the configuration other.toml"),
        "{}",
        ended.stderr
    );
}

#[test]
fn the_file_is_found_in_the_data_directory() {
    let mut place = Place::new();
    let home = place.path().join("home");
    std::fs::create_dir(&home).expect("a directory");
    std::fs::write(
        home.join("nuncio.toml"),
        "[agents.far]\nbackend = \"echo\"\n",
    )
    .expect("a file");
    place.set("NUNCIO_HOME", home.to_str().expect("UTF-8"));
    assert!(
        place
            .run(&["config", "check"])
            .expect_success()
            .contains("Agents: far (echo)")
    );
    place.write("nuncio.toml", "[agents.near]\nbackend = \"echo\"\n");
    assert!(
        place
            .run(&["config", "check"])
            .expect_success()
            .contains("Agents: near (echo)")
    );
    place.write("named.toml", "[agents.named]\nbackend = \"echo\"\n");
    place.set("NUNCIO_CONFIG", "named.toml");
    assert!(
        place
            .run(&["config", "check"])
            .expect_success()
            .contains("Agents: named (echo)")
    );
    let summary = place
        .run(&["config", "check", "nuncio.toml"])
        .expect_success();
    assert!(summary.contains("Agents: near (echo)"), "{summary}");
}

#[test]
fn the_schema_is_json_and_knows_the_keys() {
    let schema = Place::new().run(&["config", "schema"]).expect_success();
    let schema: serde_json::Value = serde_json::from_str(&schema).expect("JSON");
    assert_eq!(
        schema["properties"]["server"]["properties"]["listen"]["type"],
        "array"
    );
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let place = Place::new();
    let text = "[agents.a]\nbackend = \"command\"\ncommand = [\"./gone.sh\"]\n";
    let ended = check(&place, text);
    assert_eq!(ended.code(), Some(1));
    assert!(ended.stderr.contains("gone.sh"), "{}", ended.stderr);
    place.script("gone.sh", "cat");
    check(&place, text).expect_success();
}
