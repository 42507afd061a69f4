//! Real agents behind the Agent Client Protocol, with a model that only counts what it is shown.

use nix::sys::signal::Signal;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::caller::Caller;
use super::hermes::{answer, send, settings};
use super::script::Script;
use super::server::Server;
use crate::program::{Place, Served};

const AGENT: &str = "agent";

fn model() -> Server {
    Server::start(Script::Plain("fake_model.py"), &[])
}

/// A gateway before the agent that this command starts, which finds nothing of whoever runs the tests.
fn write_config(place: &Place, command: &Path, variables: &str) {
    let home = place.path();
    let text = format!(
        "[agents.{AGENT}]\nbackend = \"acp\"\ncommand = [{command:?}, \"acp\"]\n\
         permissions = \"ask\"\n\
         env = {{ HOME = {home:?}, {variables} }}\n"
    );
    place.write("nuncio.toml", &text);
}

/// Two turns with a restart of the gateway between them, then one that is cancelled, and one after it.
fn converse(place: &Place, model: &Server) -> Served {
    let served = place.serve(&[]);
    assert_eq!(answer(&send(&served.url, AGENT, "one", "hello")), "SEEN 1");
    served.signal(Signal::SIGTERM);
    let (status, _) = served.wait();
    assert!(status.success(), "{status}: {}", place.log());

    let served = place.serve(&[]);
    let again = send(&served.url, AGENT, "one", "again");
    assert_eq!(answer(&again), "SEEN 2", "the session was loaded: {again}");
    assert_eq!(answer(&send(&served.url, AGENT, "two", "hello")), "SEEN 1");
    stops(&served.url, model);
    served
}

/// A cancel ends the work in the agent, and the conversation goes on.
fn stops(url: &str, model: &Server) {
    let caller = Caller::new(&format!("{url}/agents/{AGENT}"), None);
    let arguments = [
        "send",
        "hold",
        "--context-id",
        "two",
        "--stream",
        "-o",
        "json",
    ];
    let mut held = caller.start(&arguments);
    let begun = held.line();
    let id = begun["task"]["id"].as_str().expect("a task's id");
    let mut fetch = Script::Plain("fetch.py").command();
    let asked = fetch.arg(format!("{}/held", model.url)).output();
    let asked = asked.expect("the script starts").stdout;
    assert_eq!(asked.trim_ascii(), b"\"true\"", "the model is asked");
    let canceled = caller.json(&["task", "cancel", id]);
    assert_eq!(canceled["status"]["state"], "TASK_STATE_CANCELED");
    held.rest();
    let next = send(url, AGENT, "two", "hello");
    assert!(answer(&next).starts_with("SEEN "), "{next}");
}

/// What the model refuses fails, also where the agent tells it as its answer.
fn fails(url: &str) {
    let failed = send(url, AGENT, "three", "fail=400");
    assert_eq!(failed["status"]["state"], "TASK_STATE_FAILED", "{failed}");
}

/// A command is run when the caller chooses what allows it, and only then. It is one that also an agent
/// asks about which asks only before what is dangerous.
fn asks(place: &Place, url: &str, choices: [&str; 2]) {
    let [allowed, refused] = choices;
    for (context, choice, is_run) in [("four", allowed, true), ("five", refused, false)] {
        let file = place.write(context, "");
        let mode = || file.metadata().expect("a file").permissions().mode() & 0o777;
        let before = mode();
        let asked = send(
            url,
            AGENT,
            context,
            &format!("run=chmod 777 {}", file.display()),
        );
        assert_eq!(
            asked["status"]["state"], "TASK_STATE_INPUT_REQUIRED",
            "{asked}"
        );
        assert_eq!(mode(), before, "{asked}");
        let id = asked["id"].as_str().expect("a task's id");
        let caller = Caller::new(&format!("{url}/agents/{AGENT}"), None);
        let done = caller.json(&["send", "--task-id", id, choice]);
        let after = if is_run { 0o777 } else { before };
        assert_eq!(mode(), after, "{asked} {done}");
    }
}

/// Its program is installed where it is the same for everybody: other systems have packages of their own.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn opencode_goes_on_after_a_restart_fails_when_it_fails_stops_when_told_and_asks_first() {
    use serde_json::json;

    let (model, place) = (model(), Place::new());
    let provider = json!({
        "npm": "@ai-sdk/openai-compatible",
        "options": { "baseURL": format!("{}/v1", model.url), "apiKey": "none-needed" },
        "models": { "fake": { "limit": { "context": 131_072, "output": 8192 } } },
    });
    let config = json!({
        "model": "fake/fake", "small_model": "fake/fake", "enabled_providers": ["fake"],
        "permission": { "bash": "ask" }, "autoupdate": false, "share": "disabled", "provider": { "fake": provider },
    });
    let config = place.write("opencode.json", &config.to_string());
    let quiet = "OPENCODE_DISABLE_MODELS_FETCH = \"1\", OPENCODE_DISABLE_LSP_DOWNLOAD = \"1\"";
    let command = Script::package("opencode-linux-x64-baseline/bin/opencode");
    write_config(
        &place,
        &command,
        &format!("OPENCODE_CONFIG = {config:?}, {quiet}"),
    );
    let served = converse(&place, &model);
    fails(&served.url);
    asks(&place, &served.url, ["once", "reject"]);
}

#[test]
fn hermes_goes_on_after_a_restart_fails_when_it_fails_stops_when_told_and_asks_first() {
    let (model, place) = (model(), Place::new());
    // Without it the model itself is asked first, which cannot tell.
    let manual = "approvals: {mode: manual}\n";
    place.write("config.yaml", &format!("{}{manual}", settings(&model.url)));
    let python = Script::Hermes("").command().get_program().to_owned();
    let command = Path::new(&python).with_file_name("hermes");
    write_config(
        &place,
        &command,
        &format!("HERMES_HOME = {:?}", place.path()),
    );
    let served = converse(&place, &model);
    fails(&served.url);
    asks(&place, &served.url, ["allow_once", "deny"]);
}
