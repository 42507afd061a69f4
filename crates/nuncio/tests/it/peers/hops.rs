//! nuncio as server and client at once: an instruction walks from nuncio to an agent of the official
//! Python SDK and back again, over each binding and in each way of calling.
//!
//! nuncio's hop is a program behind `nuncio serve` that calls on with nuncio's own commands.

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::Value;

use super::caller::Caller;
use super::instruction::{Behaviour, Instruction};
use super::script::Script;
use super::server::Server;
use crate::mock_agent::{MockAgent, Reply, Request};
use crate::program::{Place, Served};

/// What every push has to show.
const TOKEN: &str = "itk-token";
/// A push comes within milliseconds; this is for a machine that is busy.
const LIMIT: Duration = Duration::from_secs(20);

/// Bindings as instructions call them, and as `--transport` does.
const JSON_RPC: (&str, &str) = ("jsonrpc", "jsonrpc");
const GRPC: (&str, &str) = ("grpc", "grpc");
const REST: (&str, &str) = ("http_json", "rest");

/// Where the walk goes.
struct Course {
    /// The other side of the walk, and the version of the protocol that it speaks.
    script: Script,
    version: &'static str,
    transport: &'static str,
    caller: Caller,
    served: Served,
    /// Receives what is pushed.
    hooks: MockAgent,
    pushed: Receiver<Request>,
}

impl Course {
    async fn new(script: Script, version: &'static str, binding: (&'static str, &str)) -> Course {
        let place = Place::new();
        let served = serve(&place, version == "0.3");
        let mut caller = Caller::new(&served.url, Some(version));
        caller.by(binding.1);
        caller.place = place;
        let (tell, pushed) = channel();
        let hooks = MockAgent::start(move |request, _| {
            let is_known = task_of(&request.body).is_some();
            // The test may be over before the last push.
            let _ = tell.send(request.clone());
            Reply::http(if is_known { 200 } else { 400 }, &[], "")
        });
        Course {
            script,
            version,
            transport: binding.0,
            caller,
            served,
            hooks: hooks.await,
            pushed,
        }
    }

    /// The SDK's agent; what is to be sent as it is goes to one that does not stream.
    fn peer(&self, how: Behaviour) -> Server {
        let streams = matches!(how, Behaviour::Streaming | Behaviour::Resubscribe);
        let arguments = [self.transport, "no-streaming"];
        Server::start(self.script, &arguments[..if streams { 1 } else { 2 }])
    }

    fn call(&self, url: &str, how: Behaviour, inner: &Instruction) -> Instruction {
        Instruction::call(url, self.transport, how, self.hooks.base(), inner)
    }

    /// What becomes of an instruction that nuncio is given.
    fn send(&self, instruction: &Instruction, more: &[&str]) -> Value {
        let file = self.caller.place.path().join("instruction.bin");
        std::fs::write(&file, &instruction.0).expect("a file");
        let file = file.to_str().expect("UTF-8");
        let media_type = "application/x-protobuf";
        let send = ["send", "--file", file, "--media-type", media_type];
        self.caller.json(&[&send[..], more].concat())["task"].clone()
    }

    /// From nuncio to the peer, from there to nuncio, and back with what all of them said.
    fn walk(&self, how: Behaviour) {
        let peer = self.peer(how);
        let transport = self.transport;
        let hold = how == Behaviour::Resubscribe;
        let last = format!("traversal-completed:{transport}");
        let second = format!("[1 -> 0 ({transport})]");
        let first = format!("[0 -> 1 ({transport})]");
        let back = self.call(&self.served.url, how, &Instruction::say(&last, hold));
        let back = Instruction::steps(&[Instruction::say(&second, hold), back]);
        let out = self.call(&peer.url, how, &back);
        let all = Instruction::steps(&[Instruction::say(&first, false), out]);

        let hook = format!("{}/notifications", self.hooks.base());
        let flags = ["--push-url", &hook, "--push-token", TOKEN];
        let pushes = how == Behaviour::PushNotification;
        let task = self.send(&all, &flags[..if pushes { 4 } else { 0 }]);
        let whole = format!("{first}\n{second}\n{last}");
        assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{task}");
        assert_eq!(said(&task["status"]), Some(whole.clone()), "{how:?} {task}");
        if pushes {
            self.await_pushes(vec![whole, format!("{second}\n{last}"), last]);
        }
        self.check_end(&task, hold);
    }

    /// Every hop has pushed what it said in the end, each with the token.
    fn await_pushes(&self, mut missing: Vec<String>) {
        while !missing.is_empty() {
            let push = self.pushed.recv_timeout(LIMIT);
            let push = push.unwrap_or_else(|error| panic!("{missing:?} not pushed: {error}"));
            assert_eq!(push.path, "/notifications", "{push:?}");
            assert_eq!(push.header("x-a2a-notification-token"), Some(TOKEN));
            let status = task_of(&push.body).unwrap_or_else(|| panic!("{push:?}"));
            let is_old = push.body["kind"] == "task";
            assert_eq!(is_old, self.version == "0.3", "{push:?}");
            let text = said(status);
            missing.retain(|wanted| text.as_ref() != Some(wanted));
        }
    }

    /// The task at the end of the walk, which was there before `first` ended: where it was held, its
    /// caller has cancelled it.
    fn check_end(&self, first: &Value, held: bool) {
        let list = ["task", "list", "-a", &self.served.url, "-o", "json"];
        let listed = self.caller.place.run(&list).expect_success();
        let listed: Value = serde_json::from_str(&listed).expect("a list");
        let mut tasks = listed["tasks"].as_array().expect("tasks").iter();
        let last = tasks.find(|task| task["id"] != first["id"]).expect("two");
        let expected = if held { "CANCELED" } else { "COMPLETED" };
        let expected = format!("TASK_STATE_{expected}");
        assert_eq!(last["status"]["state"], expected, "{listed}");
    }
}

/// A gateway whose one agent is a hop.
fn serve(place: &Place, merged_card: bool) -> Served {
    let hop = Script::Plain("hop_nuncio.py").command();
    let words = std::iter::once(hop.get_program()).chain(hop.get_args());
    let words: Vec<_> = words.map(|it| it.to_str().expect("UTF-8")).collect();
    let config = format!(
        "[agents.hop]\nbackend = \"command\"\nprotocol = \"jsonl\"\ncommand = {words:?}\n\
         env = {{ NUNCIO = {:?}, PYTHONDONTWRITEBYTECODE = \"1\" }}\n\
         [compat]\nmerged_card = {merged_card}\n\
         [security]\npush_allow_addresses = [\"127.0.0.1\"]\n",
        env!("CARGO_BIN_EXE_nuncio"),
    );
    place.write("nuncio.toml", &config);
    place.serve(&["--store", "memory:"])
}

/// The status in a push, in the shapes that receivers of either version know.
fn task_of(body: &Value) -> Option<&Value> {
    let known = [
        (&body["task"]["id"], &body["task"]["status"]),
        (
            &body["statusUpdate"]["taskId"],
            &body["statusUpdate"]["status"],
        ),
        (&body["id"], &body["status"]),
    ];
    let found = known.into_iter().find(|(id, _)| id.is_string());
    found.map(|(_, status)| status)
}

fn said(status: &Value) -> Option<String> {
    let parts = status["message"]["parts"].as_array()?;
    let texts: Vec<_> = parts
        .iter()
        .filter_map(|part| part["text"].as_str())
        .collect();
    Some(texts.join("\n"))
}

async fn walk_all(script: Script, version: &'static str, binding: (&'static str, &str)) {
    let course = Course::new(script, version, binding).await;
    for how in Behaviour::ALL {
        course.walk(how);
    }
}

const PYTHON_1: Script = Script::Python1("hop_1.py");
const PYTHON_0_3: Script = Script::Python03("hop_0_3.py");

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_python_1_over_json_rpc() {
    walk_all(PYTHON_1, "1.0", JSON_RPC).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_python_1_over_grpc() {
    walk_all(PYTHON_1, "1.0", GRPC).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_python_1_over_http_json() {
    walk_all(PYTHON_1, "1.0", REST).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_python_0_3_over_json_rpc() {
    walk_all(PYTHON_0_3, "0.3", JSON_RPC).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_python_0_3_over_grpc() {
    walk_all(PYTHON_0_3, "0.3", GRPC).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_python_0_3_over_http_json() {
    walk_all(PYTHON_0_3, "0.3", REST).await;
}

/// A hop that cannot go on fails, and with it every hop before it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_walk_that_is_cut_fails_to_its_beginning() {
    let course = Course::new(PYTHON_1, "1.0", JSON_RPC).await;
    let peer = course.peer(Behaviour::SendMessage);
    let nowhere = course.call(
        "http://127.0.0.1:1",
        Behaviour::SendMessage,
        &Instruction::say("never", false),
    );
    for cut in [
        course.call(&peer.url, Behaviour::SendMessage, &nowhere),
        nowhere,
    ] {
        let task = course.send(&cut, &[]);
        assert_eq!(task["status"]["state"], "TASK_STATE_FAILED", "{task}");
    }
}
