//! The client commands, aimed at one agent.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStdout, ExitStatus, Stdio};

use serde_json::Value;

use crate::program::{Ended, Place};

/// Calls one agent in one version of the protocol.
pub(super) struct Caller {
    pub(super) place: Place,
    flags: Vec<String>,
}

/// A command that still runs; it is killed when dropped.
pub(super) struct Running {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Caller {
    pub(super) fn new(url: &str, version: Option<&str>) -> Caller {
        let mut flags = vec!["-a".to_owned(), url.to_owned()];
        flags.extend(version.map(|version| format!("--a2a-version={version}")));
        let place = Place::new();
        Caller { place, flags }
    }

    /// Calls by this binding only, as `--transport` has it.
    pub(super) fn by(&mut self, transport: &str) {
        self.flags.push(format!("--transport={transport}"));
    }

    /// The same caller, to whom the agent's card may name the address of its calls: gRPC servers of
    /// the SDKs have a port of their own.
    pub(super) fn trusting_the_card(mut self) -> Caller {
        self.flags
            .push(format!("--allow-origin={}", self.origin_of_calls()));
        self
    }

    /// The origin that the agent's card names for calls over gRPC.
    pub(super) fn origin_of_calls(&self) -> String {
        let card = self.json(&["card", "get"]);
        let address = card["supportedInterfaces"][0]["url"].as_str();
        format!("http://{}", address.expect("an address"))
    }

    /// The flags by which it trusts other origins than the card's.
    pub(super) fn trust(&self) -> Vec<&str> {
        let flags = self.flags.iter().map(String::as_str);
        flags
            .filter(|flag| flag.starts_with("--allow-origin"))
            .collect()
    }

    fn all<'a>(&'a self, arguments: &[&'a str]) -> Vec<&'a str> {
        let flags = self.flags.iter().map(String::as_str);
        arguments.iter().copied().chain(flags).collect()
    }

    /// Runs a command to its end.
    pub(super) fn run(&self, arguments: &[&str]) -> Ended {
        self.place.run(&self.all(arguments))
    }

    /// What a command that has to end well prints as text.
    pub(super) fn text(&self, arguments: &[&str]) -> String {
        self.run(arguments).expect_success()
    }

    /// The one document of a command that has to end well.
    pub(super) fn json(&self, arguments: &[&str]) -> Value {
        document(&self.text(&[arguments, &["-o", "json"]].concat()))
    }

    /// The documents of a command that streams and has to end well, one a line.
    pub(super) fn lines(&self, arguments: &[&str]) -> Vec<Value> {
        let text = self.text(&[arguments, &["-o", "json", "--stream"]].concat());
        text.lines().map(document).collect()
    }

    /// The error of a command that has to fail, with its exit code.
    pub(super) fn error(&self, arguments: &[&str]) -> (Option<i32>, Value) {
        let ended = self.run(&[arguments, &["-o", "json"]].concat());
        (ended.code(), document(&ended.stdout)["error"].clone())
    }

    /// Starts a command that takes its time.
    pub(super) fn start(&self, arguments: &[&str]) -> Running {
        let mut command = self.place.command(&self.all(arguments));
        let mut child = command
            .stdout(Stdio::piped())
            .spawn()
            .expect("nuncio starts");
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        Running { child, stdout }
    }
}

impl Running {
    /// The next line of its output as a document.
    pub(super) fn line(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("a line");
        document(&line)
    }

    /// The documents up to its end, which has to be good.
    pub(super) fn rest(self) -> Vec<Value> {
        let (lines, status) = self.end();
        assert!(status.success(), "{status}: {lines:?}");
        lines
    }

    /// The documents up to its end, and how it ended.
    pub(super) fn end(mut self) -> (Vec<Value>, ExitStatus) {
        let lines = self.stdout.by_ref().lines();
        let lines = lines.map(|line| document(&line.expect("UTF-8"))).collect();
        (lines, self.child.wait().expect("it ends"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Fails when it has ended already, as it should have.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn document(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in `{text}`"))
}
