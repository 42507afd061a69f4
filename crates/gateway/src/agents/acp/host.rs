//! Keeps the agent's process: started at first need, one at a time, again after a pause when it died
//! (`back_off`). Those who wait for a start share what comes of it.

use parking_lot::Mutex;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::process::Child;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::back_off::BackOff;
use super::connection::{Connection, RpcError};
use crate::agents::process::{Environment, Group, StderrTail, find_program, piped};

/// The version of the protocol that is spoken.
const PROTOCOL_VERSION: u64 = 1;
/// How long a process that ended is still read: passes only if one that it started keeps the pipe.
const DRAIN_LIMIT: Duration = Duration::from_millis(500);

/// How the process is started.
#[derive(Clone, Debug)]
pub(super) struct Launch {
    pub(super) agent: Arc<str>,
    pub(super) command: Vec<String>,
    pub(super) cwd: PathBuf,
    pub(super) environment: Environment,
    pub(super) start_timeout: Duration,
    pub(super) kill_grace: Duration,
}

/// What the agent said of itself.
#[derive(Clone, Debug, Default)]
pub(super) struct About {
    pub(super) name: String,
    /// It brings a session back after a restart, and tells again what was said in it.
    pub(super) loads_sessions: bool,
    /// The same without telling it again.
    pub(super) resumes_sessions: bool,
    pub(super) takes_images: bool,
    pub(super) takes_resources: bool,
    pub(super) takes_mcp_over_http: bool,
    /// How its owner can log in.
    pub(super) logins: Vec<String>,
}

/// A process that answered.
#[derive(Clone)]
pub(super) struct Running {
    pub(super) connection: Arc<Connection>,
    pub(super) about: Arc<About>,
}

/// Keeps one process.
pub(super) struct Host {
    launch: Launch,
    /// The last process that answered, until it is known to be gone.
    last: Mutex<Option<Running>>,
    /// Held by whoever starts a process.
    starts: tokio::sync::Mutex<BackOff>,
    /// Whoever attends to a process.
    tracker: TaskTracker,
    stopping: CancellationToken,
}

impl Host {
    pub(super) fn new(launch: Launch) -> Self {
        Self {
            launch,
            last: Mutex::default(),
            starts: tokio::sync::Mutex::default(),
            tracker: TaskTracker::new(),
            stopping: CancellationToken::new(),
        }
    }

    pub(super) fn launch(&self) -> &Launch {
        &self.launch
    }

    /// The running process, which is started if there is none. The error is for the operator.
    pub(super) async fn running(&self) -> Result<Running, String> {
        let since = Instant::now();
        if let Some(running) = self.alive() {
            return Ok(running);
        }
        let mut starts = self.starts.lock().await;
        if let Some(running) = self.alive() {
            return Ok(running);
        }
        if let Some(dead) = self.last.lock().take() {
            if dead.connection.has_worked() {
                starts.worked();
            } else {
                starts.died(dead.connection.ended_at().unwrap_or_else(Instant::now));
            }
        }
        let ready_at = starts.next(since, Instant::now())?;
        tokio::select! {
            biased;
            () = self.stopping.cancelled() => return Err("the gateway stops".to_owned()),
            () = tokio::time::sleep_until(ready_at) => {}
        }
        starts.begins(Instant::now());
        match self.start().await {
            Ok(running) => {
                starts.started();
                *self.last.lock() = Some(running.clone());
                Ok(running)
            }
            Err(reason) => {
                starts.failed(Instant::now(), &reason);
                Err(reason)
            }
        }
    }

    fn alive(&self) -> Option<Running> {
        let last = self.last.lock();
        let alive = last
            .as_ref()
            .filter(|it| !it.connection.gone.is_cancelled());
        alive.cloned()
    }

    /// The commands that the running process told of.
    pub(super) fn commands(&self) -> Vec<(String, String)> {
        let last = self.last.lock();
        let commands = last.as_ref().map(|running| running.connection.commands());
        commands.unwrap_or_default()
    }

    /// Ends the process for good.
    pub(super) async fn stop(&self) {
        self.stopping.cancel();
        self.tracker.close();
        self.tracker.wait().await;
    }

    async fn start(&self) -> Result<Running, String> {
        let mut child = self.spawn()?;
        let stdin = child.stdin.take().expect("stdin was set to a pipe");
        let stdout = child.stdout.take().expect("stdout was set to a pipe");
        let (connection, talking) = Connection::over(stdin, stdout);
        let attended = attend(
            self.launch.clone(),
            child,
            connection.clone(),
            talking,
            self.stopping.clone(),
        );
        self.tracker.spawn(attended);
        // Whoever waits for it may leave: nobody else knows of a process that has not greeted.
        let unknown = connection.gone.clone().drop_guard();
        let greeting = tokio::time::timeout(self.launch.start_timeout, greet(&connection)).await;
        let about = greeting.map_err(|_| {
            let limit = self.launch.start_timeout.as_secs();
            format!("it did not say who it is within {limit} s")
        })??;
        unknown.disarm();
        tracing::info!(agent = %self.launch.agent, name = about.name, "agent started");
        Ok(Running {
            connection,
            about: Arc::new(about),
        })
    }

    fn spawn(&self) -> Result<Child, String> {
        let Launch {
            command,
            cwd,
            environment,
            ..
        } = &self.launch;
        let program = find_program(command, cwd, environment)?;
        piped(&program, &command[1..], cwd, environment)
            .spawn()
            .map_err(|error| format!("{} could not be started: {error}", program.display()))
    }
}

/// Attends to a process until it ends, or until nobody wants it any more; then ends its group.
async fn attend(
    launch: Launch,
    mut child: Child,
    connection: Arc<Connection>,
    talking: impl Future<Output = ()> + Send,
    stopping: CancellationToken,
) {
    let group = Group::led_by(&child);
    let mut stderr = child.stderr.take().expect("stderr was set to a pipe");
    let mut tail = StderrTail::default();
    let ended = {
        let listening = async {
            tail.follow(&mut stderr).await;
            std::future::pending::<()>().await;
        };
        tokio::pin!(talking);
        tokio::select! {
            () = &mut talking => None,
            status = child.wait() => {
                // What it wrote last is still in the pipe.
                drop(tokio::time::timeout(DRAIN_LIMIT, &mut talking).await);
                status.ok()
            }
            () = stopping.cancelled() => None,
            () = listening => None,
        }
    };
    connection.close();
    if let Some(mut group) = group {
        group.stop(&mut child, launch.kill_grace).await;
    }
    if !stopping.is_cancelled() {
        tracing::warn!(agent = %launch.agent, ?ended, stderr = tail.text(), "agent process ended");
    }
}

/// The first exchange: which version is spoken, and what the agent can do.
async fn greet(connection: &Connection) -> Result<About, String> {
    let params = json!({
        "protocolVersion": PROTOCOL_VERSION,
        "clientCapabilities": {
            "fs": { "readTextFile": false, "writeTextFile": false },
            "terminal": false,
        },
        "clientInfo": { "name": "nuncio", "version": env!("CARGO_PKG_VERSION") },
    });
    let told = connection
        .call("initialize", params)
        .await
        .map_err(|RpcError { message, .. }| message)?;
    match told["protocolVersion"].as_u64() {
        Some(PROTOCOL_VERSION) => Ok(about(&told)),
        version => Err(format!(
            "it speaks version {version:?} of the Agent Client Protocol; {PROTOCOL_VERSION} is needed"
        )),
    }
}

fn about(told: &Value) -> About {
    let can = &told["agentCapabilities"];
    let is = |value: &Value| value.as_bool().unwrap_or(false);
    let prompt = &can["promptCapabilities"];
    let logins = told["authMethods"].as_array().into_iter().flatten();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (name, version) = (
        text(&told["agentInfo"]["name"]),
        text(&told["agentInfo"]["version"]),
    );
    About {
        name: format!("{name} {version}").trim().to_owned(),
        loads_sessions: is(&can["loadSession"]),
        // An empty object says that it can.
        resumes_sessions: can["sessionCapabilities"]["resume"].is_object(),
        takes_images: is(&prompt["image"]),
        takes_resources: is(&prompt["embeddedContext"]),
        takes_mcp_over_http: is(&can["mcpCapabilities"]["http"]),
        logins: logins.map(|it| text(&it["name"])).collect(),
    }
}
