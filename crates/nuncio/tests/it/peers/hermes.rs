//! A real Hermes with a model that only counts what it is shown: its API server, nuncio's plugin in it,
//! and a chat platform with one person.

use std::fs::File;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::caller::Caller;
use super::script::Script;
use super::server::Server;
use crate::program::Place;

/// The key of each of its doors.
pub(super) const KEY: &str = "0123456789abcdef0123456789abcdef";
/// The plugin, from the root of the repository.
const PLUGIN: &str = "../../integrations/hermes/nuncio-bridge";
/// The chat platform.
const CHAT: &str = "tests/peers/python/hermes_chat";
/// A cold Hermes is there within seconds; not so on a machine that has much to do.
const START_LIMIT: Duration = Duration::from_secs(120);

/// A Hermes that runs; it is killed when dropped.
pub(super) struct Hermes {
    /// Its API server.
    pub(super) url: String,
    /// nuncio's plugin.
    pub(super) plugin: String,
    chat: String,
    child: Child,
    pub(super) home: Place,
    model: Server,
}

impl Hermes {
    pub(super) fn start() -> Hermes {
        let model = Server::start(Script::Plain("fake_model.py"), &[]);
        let home = Place::new();
        let ports @ [api, plugin, chat] = free_ports();
        let base = &model.url;
        home.write(
            "config.yaml",
            &format!(
                "{}\
                 plugins: {{enabled: [nuncio-bridge, chat]}}\n\
                 platforms:\n  \
                 api_server: {{enabled: true, extra: {{host: 127.0.0.1, port: {api}, key: \"{KEY}\"}}}}\n  \
                 nuncio: {{enabled: true, extra: {{port: {plugin}, token: \"{KEY}\", metrics_url: \"{base}\"}}}}\n  \
                 chat: {{enabled: true, extra: {{port: {chat}}}}}\n",
                settings(base)
            ),
        );
        let plugins = home.path().join("plugins");
        std::fs::create_dir(&plugins).expect("a folder");
        for (name, from) in [("nuncio-bridge", PLUGIN), ("chat", CHAT)] {
            let from = Path::new(env!("CARGO_MANIFEST_DIR")).join(from);
            std::os::unix::fs::symlink(from, plugins.join(name)).expect("a link");
        }
        let at = |port: u16| format!("http://127.0.0.1:{port}");
        let mut hermes = Hermes {
            url: at(api),
            plugin: at(plugin),
            chat: at(chat),
            child: gateway(home.path()),
            home,
            model,
        };
        for port in ports {
            hermes.wait(port);
        }
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

    /// Asks its API server, as its owner does.
    pub(super) fn ask(&self, arguments: &[&str]) -> Value {
        let all = [&[&*self.url, KEY], arguments].concat();
        json_of("hermes_owner.py", &all)
    }

    /// Its owner writes in the chat.
    pub(super) fn say(&self, text: &str) {
        json_of("hermes_person.py", &[&self.chat, "say", text]);
    }

    /// Waits until the owner was written something with this in it; all that was written till then.
    pub(super) fn hear(&self, text: &str) -> Vec<String> {
        let heard = json_of("hermes_person.py", &[&self.chat, "hear", text]);
        serde_json::from_value(heard).expect("texts")
    }

    /// Waits until its model holds one more answer.
    pub(super) fn holds(&self) {
        let held = json_of("fetch.py", &[&format!("{}/held", self.model.url)]);
        assert_eq!(held, "true", "nothing was held");
    }
}

/// The settings of a Hermes with this model.
pub(super) fn settings(model: &str) -> String {
    format!(
        "model: {{provider: custom, default: fake, base_url: \"{model}/v1\", api_key: none-needed, context_length: 131072}}\n\
         security: {{allow_lazy_installs: false}}\n"
    )
}

/// What a script prints that has to end well.
fn json_of(script: &'static str, arguments: &[&str]) -> Value {
    let mut command = Script::Plain(script).command();
    let output = command.args(arguments).output().expect("the script starts");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Hermes has to be told its ports, so some that were free a moment ago.
fn free_ports() -> [u16; 3] {
    let free = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").expect("a port"));
    free.map(|it| it.local_addr().expect("an address").port())
}

fn gateway(home: &Path) -> Child {
    let log = File::create(home.join("hermes.log")).expect("a log");
    let errors = log.try_clone().expect("the same log");
    let mut command: Command = Script::Hermes("hermes_gateway.py").command();
    command.env("HOME", home).env("HERMES_HOME", home);
    command.env("CHAT_ALLOWED_USERS", "owner");
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

/// Sends a text in a conversation; the task.
pub(super) fn send(url: &str, agent: &str, context: &str, text: &str) -> Value {
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

pub(super) fn answer(task: &Value) -> &str {
    let text = &task["artifacts"][0]["parts"][0]["text"];
    text.as_str().unwrap_or_else(|| panic!("no answer: {task}"))
}
