//! An MCP server that is a program: started, asked over its standard input and output, and ended again.

use async_trait::async_trait;
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;
use tokio::process::{ChildStdin, ChildStdout};

use super::exchange::{self, Channel, list_tools};
use super::late;
use crate::agents::process::{Environment, Group, Lines, StderrTail, find_program, piped};

/// How the program is started.
#[derive(Debug)]
pub(super) struct Launch {
    pub(super) command: Vec<String>,
    pub(super) cwd: PathBuf,
    pub(super) environment: Environment,
    pub(super) kill_grace: Duration,
}

/// Starts the program, asks for its tools and ends it, whatever it said. Dropping this kills it.
pub(super) async fn ask(launch: &Launch, limit: Duration) -> Result<Vec<Value>, String> {
    let Launch {
        command,
        cwd,
        environment,
        kill_grace,
    } = launch;
    let program = find_program(command, cwd, environment)?;
    let mut child = piped(&program, &command[1..], cwd, environment)
        .spawn()
        .map_err(|error| format!("{} could not be started: {error}", program.display()))?;
    let group = Group::led_by(&child);
    let mut channel = Pipes {
        stdin: child.stdin.take().expect("stdin was set to a pipe"),
        stdout: Lines::new(child.stdout.take().expect("stdout was set to a pipe")),
        last_id: 0,
    };
    let mut stderr = child.stderr.take().expect("stderr was set to a pipe");
    let mut tail = StderrTail::default();
    let listing = tokio::time::timeout(limit, list_tools(&mut channel));
    let told = {
        tokio::pin!(listing);
        tokio::select! {
            told = &mut listing => told,
            // Ends when the program closes it; it may still speak on.
            () = tail.follow(&mut stderr) => listing.await,
        }
    };
    let told = told.unwrap_or_else(|_| Err(late(limit)));
    // A server ends when nobody speaks to it any more; one that does not is told to.
    drop(channel);
    if let Some(mut group) = group {
        group.stop(&mut child, *kill_grace).await;
    }
    told.map_err(|error| match tail.text() {
        said if said.is_empty() => error,
        said => format!("{error}; it said: {said}"),
    })
}

/// One message a line, either way.
struct Pipes {
    stdin: ChildStdin,
    stdout: Lines<ChildStdout>,
    last_id: u64,
}

impl Pipes {
    async fn write(&mut self, message: &Value) -> Result<(), String> {
        let line = format!("{message}\n");
        let written = self.stdin.write_all(line.as_bytes()).await;
        written.map_err(|error| format!("it does not listen: {error}"))
    }
}

#[async_trait]
impl Channel for Pipes {
    async fn call(&mut self, method: &'static str, params: Value) -> Result<Value, String> {
        self.last_id += 1;
        let id = self.last_id;
        self.write(&exchange::request(id, method, params)).await?;
        while let Some((mut message, _)) = self.stdout.next().await {
            if let Some(answer) = exchange::answer(&mut message, id) {
                return answer;
            }
            if let Some(reply) = exchange::reply(&message) {
                self.write(&reply).await?;
            }
        }
        Err(format!("it ended without an answer to `{method}`"))
    }

    async fn notify(&mut self, method: &'static str) -> Result<(), String> {
        self.write(&exchange::notification(method)).await
    }

    fn agreed(&mut self, _: &str) {}
}
