//! A real Hermes behind the gateway, with a model that only counts what it is shown.

use std::fs::File;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::caller::Caller;
use super::script::Script;
use super::server::Server;
use crate::program::{Place, Served};

const KEY: &str = "0123456789abcdef0123456789abcdef";
/// A session that its owner talks in, too.
const LIVE: &str = "owner-chat";
/// A cold Hermes is there within seconds; not so on a machine that has much to do.
const START_LIMIT: Duration = Duration::from_secs(120);

/// A Hermes that runs; it is killed when dropped.
struct Hermes {
    url: String,
    child: Child,
    home: Place,
    _model: Server,
}

impl Hermes {
    fn start() -> Hermes {
        let model = Server::start(Script::Plain("fake_model.py"), &[]);
        let home = Place::new();
        // Hermes has to be told a port, so one that was free a moment ago.
        let free = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = free.local_addr().expect("an address").port();
        drop(free);
        let base = &model.url;
        home.write(
            "config.yaml",
            &format!(
                "model: {{provider: custom, default: fake, base_url: \"{base}/v1\", api_key: none-needed, context_length: 131072}}\n\
                 security: {{allow_lazy_installs: false}}\n\
                 platforms:\n  api_server: {{enabled: true, extra: {{host: 127.0.0.1, port: {port}, key: \"{KEY}\"}}}}\n"
            ),
        );
        let child = gateway(home.path());
        let url = format!("http://127.0.0.1:{port}");
        let mut hermes = Hermes {
            url,
            child,
            home,
            _model: model,
        };
        hermes.wait(port);
        hermes
    }

    /// Waits until it listens: it says so nowhere that a program could read.
    fn wait(&mut self, port: u16) {
        let give_up = Instant::now() + START_LIMIT;
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            let ended = self.child.try_wait().expect("a child");
            let log = std::fs::read_to_string(self.home.path().join("hermes.log"));
            assert!(
                ended.is_none() && Instant::now() < give_up,
                "{ended:?}: {log:?}"
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Asks Hermes itself, as its owner does.
    fn ask(&self, arguments: &[&str]) -> Value {
        let mut command = Script::Plain("hermes_owner.py").command();
        command.args([&self.url, KEY]).args(arguments);
        let output = command.output().expect("the script starts");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{complaint}");
        serde_json::from_slice(&output.stdout).expect("JSON")
    }
}

fn gateway(home: &Path) -> Child {
    let log = File::create(home.join("hermes.log")).expect("a log");
    let errors = log.try_clone().expect("the same log");
    let mut command: Command = Script::Hermes("hermes_gateway.py").command();
    command.env("HOME", home).env("HERMES_HOME", home);
    command
        .stdout(log)
        .stderr(errors)
        .spawn()
        .expect("Hermes starts")
}

impl Drop for Hermes {
    fn drop(&mut self) {
        // Fails only when it has ended already, which some test then noticed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn serve(place: &mut Place, hermes: &Hermes) -> Served {
    place.set("HERMES_KEY", KEY);
    let agent = |name: &str, more: &str| {
        format!(
            "[agents.{name}]\nbackend = \"hermes\"\nbase_url = \"{}\"\napi_key = \"env:HERMES_KEY\"\n{more}\n",
            hermes.url
        )
    };
    let completions = "door = \"completions\"";
    let live = format!("session = \"{LIVE}\"");
    let text = [
        agent("runs", ""),
        agent("completions", completions),
        agent("live-runs", &live),
        agent("live-completions", &format!("{completions}\n{live}")),
    ];
    place.write("nuncio.toml", &text.concat());
    place.serve(&["--store", "memory:"])
}

/// Sends a text in a conversation; the task.
fn send(url: &str, agent: &str, context: &str, text: &str) -> Value {
    let caller = Caller::new(&format!("{url}/agents/{agent}"), None);
    let sent = caller.place.run(&[
        "send",
        "-a",
        &format!("{url}/agents/{agent}"),
        "--context-id",
        context,
        "-o",
        "json",
        text,
    ]);
    let sent: Value = serde_json::from_str(&sent.stdout).expect("JSON");
    sent.get("task").unwrap_or(&sent).clone()
}

fn answer(task: &Value) -> &str {
    let text = &task["artifacts"][0]["parts"][0]["text"];
    text.as_str().unwrap_or_else(|| panic!("no answer: {task}"))
}

#[test]
fn it_answers_with_its_sessions_fails_when_it_fails_and_stops_when_told() {
    let hermes = Hermes::start();
    let mut place = Place::new();
    let served = serve(&mut place, &hermes);
    for agent in ["runs", "completions"] {
        let context = format!("{agent}-1");
        assert_eq!(
            answer(&send(&served.url, agent, &context, "hello")),
            "SEEN 1"
        );
        assert_eq!(
            answer(&send(&served.url, agent, &context, "again")),
            "SEEN 2"
        );
        let other = format!("{agent}-2");
        assert_eq!(answer(&send(&served.url, agent, &other, "hello")), "SEEN 1");
        let failed = send(&served.url, agent, &other, "fail=400");
        assert_eq!(failed["status"]["state"], "TASK_STATE_FAILED", "{failed}");
        let asked = send(
            &served.url,
            agent,
            &format!("{agent}-3"),
            "say=[INPUT_REQUIRED] which?",
        );
        assert_eq!(
            asked["status"]["state"], "TASK_STATE_INPUT_REQUIRED",
            "{asked}"
        );
    }
    stops(&hermes, &served.url);
    shares(&hermes, &served.url);
}

/// A cancelled turn leaves no answer in the session.
fn stops(hermes: &Hermes, url: &str) {
    let caller = Caller::new(&format!("{url}/agents/live-runs"), None);
    let mut held = caller.start(&["send", "hold", "--stream", "-o", "json"]);
    let begun = held.line();
    let id = begun["task"]["id"].as_str().expect("a task's id");
    let canceled = caller.json(&["task", "cancel", id]);
    assert_eq!(canceled["status"]["state"], "TASK_STATE_CANCELED");
    held.rest();
    // Hermes has no such session if it was stopped before it wrote anything.
    let said = hermes.ask(&["say", LIVE, "hello"]);
    let rows = hermes.ask(&["rows", LIVE]);
    let answers = rows.as_array().expect("rows").iter();
    let answers = answers.filter(|row| row[0] == "assistant").count();
    assert_eq!(answers, 1, "only to what was not cancelled: {said} {rows}");
}

/// Its owner and its callers go on in one session.
fn shares(hermes: &Hermes, url: &str) {
    let seen = |text: &str| -> u32 {
        let count = text.strip_prefix("SEEN ").and_then(|it| it.parse().ok());
        count.unwrap_or_else(|| panic!("no count: {text}"))
    };
    let mut last = 0;
    for turn in ["owner", "live-runs", "owner", "live-completions", "owner"] {
        let now = match turn {
            "owner" => seen(hermes.ask(&["say", LIVE, "me"]).as_str().expect("a text")),
            agent => seen(answer(&send(url, agent, "shared", "it"))),
        };
        assert!(now > last, "{turn} saw {now} after {last}");
        last = now;
    }
}
