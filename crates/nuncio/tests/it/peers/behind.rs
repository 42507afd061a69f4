//! The SDKs' servers as agents behind the gateway: what a caller of the gateway sees of them, whatever
//! they speak.

use serde_json::{Value, json};

use super::caller::Caller;
use super::dealings::{self, Agent};
use super::script::Script;
use super::server::Server;
use crate::program::Place;

/// What the gateway's callers see of the agent behind it.
const FRONT: Agent = Agent {
    name: "front",
    versions: &["1.0", "0.3"],
    version: "1.0",
    streams: true,
    binding: "JSONRPC",
};

/// Has every dealing with the agent, through a gateway before it.
fn deal(script: Script, arguments: &[&str]) {
    let server = Server::start(script, arguments);
    let place = Place::new();
    let mut config = format!(
        "[agents.front]\nbackend = \"a2a\"\nurl = \"{}\"\npoll_interval = \"100ms\"\n",
        server.url
    );
    if arguments.contains(&"grpc") {
        let origin = Caller::new(&server.url, None).origin_of_calls();
        config += &format!("allow_origins = [\"{origin}\"]\n");
    }
    place.write("nuncio.toml", &config);
    let served = place.serve(&[]);
    let caller = Caller::new(&served.url, None);
    card(&caller, &served.url);
    report(&caller);
    dealings::direct(&caller);
    dealings::question(&caller);
    dealings::failure(&caller);
    rejection(&caller);
    dealings::parts(&caller);
    dealings::cancelled(&caller, &FRONT);
    dealings::refused(&caller, &FRONT);
    let begun = Begun::new(&caller);
    // A dropped gateway is killed.
    drop(served);
    let served = place.serve(&[]);
    let caller = Caller::new(&served.url, None);
    dealings::left_alone(&caller);
    begun.ends_well(&caller);
}

/// What goes on behind a gateway that is killed.
struct Begun {
    /// The task that waits at the gate.
    held: String,
    /// The task that asks for a colour.
    asked: String,
}

impl Begun {
    fn new(caller: &Caller) -> Begun {
        let mut watching = caller.start(&["send", "gate", "--stream", "-o", "json"]);
        let held = loop {
            let line = watching.line();
            let update = &line["statusUpdate"];
            if update["status"]["message"].is_object() {
                let said = dealings::texts(&update["status"]["message"]);
                assert_eq!(said, ["At the gate"], "{line}");
                break id(&update["taskId"]);
            }
        };
        let asked = caller.json(&["send", "ask"]);
        Begun {
            held,
            asked: id(&asked["task"]["id"]),
        }
    }

    /// The gate is open by now; the question is answered.
    fn ends_well(&self, caller: &Caller) {
        let held = caller.json(&["task", "get", "--wait", &self.held]);
        assert_eq!(held["status"]["state"], "TASK_STATE_COMPLETED", "{held}");
        let artifacts = held["artifacts"].as_array().expect("artifacts");
        assert_eq!(artifacts.len(), 1, "{held}");
        assert_eq!(dealings::texts(&artifacts[0]), ["through"], "{held}");

        let done = &caller.json(&["send", "--task-id", &self.asked, "red"])["task"];
        assert_eq!(done["id"], *self.asked, "{done}");
        assert_eq!(
            dealings::texts(&done["artifacts"][0]),
            ["Painted it red."],
            "{done}"
        );
    }
}

fn id(value: &Value) -> String {
    value.as_str().expect("an id").to_owned()
}

/// The gateway's own addresses, and the agent's skills.
fn card(caller: &Caller, url: &str) {
    let card = caller.json(&["card", "get"]);
    let skills = card["skills"].as_array().expect("skills");
    assert_eq!(skills[0]["id"], "obey", "{card}");
    let own = url.trim_start_matches("http://");
    let interfaces = card["supportedInterfaces"].as_array().expect("interfaces");
    for interface in interfaces {
        let address = interface["url"].as_str().expect("an address");
        assert!(address.contains(own), "{card}");
    }
}

/// Progress, chunks, data, files and the last words, as a stream and as a task.
fn report(caller: &Caller) {
    let events = caller.lines(&["send", "report"]);
    let last = &events.last().expect("an end")["statusUpdate"]["status"];
    assert_eq!(last["state"], "TASK_STATE_COMPLETED", "{events:?}");
    assert_eq!(
        dealings::texts(&last["message"]),
        ["Here it is"],
        "{events:?}"
    );

    let task = &caller.json(&["send", "report"])["task"];
    assert_eq!(
        dealings::texts(&task["status"]["message"]),
        ["Here it is"],
        "{task}"
    );
    let artifacts = task["artifacts"].as_array().expect("artifacts");
    let names: Vec<&Value> = artifacts.iter().map(|it| &it["name"]).collect();
    assert_eq!(names, ["notes", "facts", "plot"], "{task}");
    assert_eq!(dealings::texts(&artifacts[0]).concat(), "one two", "{task}");
    dealings::assert_facts(&artifacts[1]);
    let plot = json!([
        { "raw": "AP8=", "filename": "plot.png", "mediaType": "image/png" },
        { "url": "https://example.com/plot.svg", "mediaType": "image/svg+xml" },
    ]);
    assert_eq!(artifacts[2]["parts"], plot, "{task}");
}

fn rejection(caller: &Caller) {
    let task = &caller.json(&["send", "refuse"])["task"];
    assert_eq!(task["status"]["state"], "TASK_STATE_REJECTED", "{task}");
    assert_eq!(
        dealings::texts(&task["status"]["message"]),
        ["Not here"],
        "{task}"
    );
}

const PYTHON_1: Script = Script::Python1("server_1.py");
const PYTHON_0_3: Script = Script::Python03("server_0_3.py");

/// One test for each agent: its script and how it speaks.
macro_rules! agents {
    ($($name:ident: $script:expr, $arguments:expr;)*) => {$(
        #[test]
        fn $name() {
            deal($script, &$arguments);
        }
    )*};
}

agents! {
    python_1_over_json_rpc: PYTHON_1, [];
    python_1_over_json_rpc_that_does_not_stream: PYTHON_1, ["no-streaming"];
    python_1_over_rest: PYTHON_1, ["rest"];
    python_1_over_rest_that_does_not_stream: PYTHON_1, ["rest", "no-streaming"];
    python_1_over_grpc: PYTHON_1, ["grpc"];
    python_1_over_grpc_that_does_not_stream: PYTHON_1, ["grpc", "no-streaming"];
    python_0_3_over_json_rpc: PYTHON_0_3, [];
    python_0_3_over_json_rpc_that_does_not_stream: PYTHON_0_3, ["no-streaming"];
    python_0_3_over_rest: PYTHON_0_3, ["rest"];
    python_0_3_over_rest_that_does_not_stream: PYTHON_0_3, ["rest", "no-streaming"];
    python_0_3_over_grpc: PYTHON_0_3, ["grpc"];
    python_0_3_over_grpc_that_does_not_stream: PYTHON_0_3, ["grpc", "no-streaming"];
}

/// A card may not send the gateway, and the credential it holds, to another origin.
#[test]
fn a_port_that_only_the_card_names_is_called_when_the_operator_allows_it() {
    let server = Server::start(PYTHON_1, &["grpc"]);
    let place = Place::new();
    let config = format!(
        "[agents.front]\nbackend = \"a2a\"\nurl = \"{}\"\n",
        server.url
    );
    place.write("nuncio.toml", &config);
    let served = place.serve(&["--store", "memory:"]);
    let caller = Caller::new(&served.url, None);
    let task = &caller.json(&["send", "report"])["task"];
    assert_eq!(task["status"]["state"], "TASK_STATE_FAILED", "{task}");
    let checked = place.run(&["agents", "check"]);
    let origin = Caller::new(&server.url, None).origin_of_calls();
    let told = checked.stdout + &checked.stderr;
    assert!(
        told.contains(&origin) && told.contains("`allow_origins`"),
        "{told}"
    );
}
