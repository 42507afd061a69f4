//! Profiles of a real Hermes as workers.

use serde_json::Value;

use super::caller::Caller;
use super::hermes::settings;
use super::script::Script;
use super::server::Server;
use crate::program::Place;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn a_profile_that_is_allowed_does_one_piece_of_work_and_nothing_else() {
    let model = Server::start(Script::Plain("fake_model.py"), &[]);
    let place = Place::new();
    for profile in ["writer", "private"] {
        let dir = place.path().join("hermes/profiles").join(profile);
        std::fs::create_dir_all(&dir).expect("a folder");
        std::fs::write(dir.join("config.yaml"), settings(&model.url)).expect("a file");
    }
    let python = Script::Hermes("").command().get_program().to_owned();
    let hermes = std::path::Path::new(&python).with_file_name("hermes");
    place.write(
        "nuncio.toml",
        &format!(
            "[agents.echo]\nbackend = \"echo\"\n\
             [workers]\nhermes_home = \"hermes\"\nhermes_profiles = [\"writer\"]\n\
             hermes_command = [{hermes:?}, \"acp\"]\n"
        ),
    );
    let served = place.serve(&["--store", "memory:"]);
    for _ in 0..2 {
        let ran = place.run(&["worker", "run", "writer", "hello", "-o", "json"]);
        let ran = json(&ran.expect_success());
        assert_eq!(ran["state"], "completed", "{ran}");
        assert_eq!(ran["response"], "SEEN 1", "a session of its own: {ran}");
        assert_eq!(ran["hermes"]["isolation"], "local_profile", "{ran}");
    }
    let refused = place.run(&["worker", "run", "private", "hello"]);
    assert_ne!(refused.code(), Some(0), "{}", refused.stdout);
    let caller = Caller::new(&format!("{}/agents/writer", served.url), None);
    let (_, error) = caller.error(&["send", "hello"]);
    assert!(
        error.to_string().contains("takes only work for a worker"),
        "{error}"
    );
}
