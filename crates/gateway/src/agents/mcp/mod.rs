//! MCP servers that an agent has: asked for their tools, which stand on its card as skills.
//!
//! No card waits long for a server, and a server that fails costs no other one its place. Only `initialize`
//! and `tools/list` are spoken; the tools are the agent's to call. Start with [`McpServers::learn`], then
//! `exchange`; `program` and `http` are the two ways to a server.

mod exchange;
mod http;
mod program;
mod tools;

use futures_util::future::join_all;
use indexmap::IndexMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::http::Endpoint;
use self::program::Launch;
use super::own_words::{About, Known, OwnWords, PATIENCE};
use crate::config::McpServerConfig;

/// How long a list of tools is believed: tools change with a server's version, and each question may start
/// a program.
const BELIEVED_FOR: Duration = Duration::from_secs(5 * 60);

/// The MCP servers of one agent.
#[derive(Debug)]
pub(super) struct McpServers {
    servers: Vec<Arc<McpServer>>,
    /// Questions that are under way, whether or not a card waits for them.
    tracker: TaskTracker,
    stopping: CancellationToken,
}

#[derive(Debug)]
struct McpServer {
    /// Its agent and its own name, for the log.
    label: String,
    name: String,
    way: Way,
    advertised: Option<Vec<String>>,
    limit: Duration,
    words: OwnWords,
    /// Held by the question that is under way.
    asking: Arc<Mutex<()>>,
}

#[derive(Debug)]
enum Way {
    Program(Launch),
    Http(Box<Endpoint>),
}

impl McpServers {
    /// The servers that the configuration of `agent` names.
    pub(super) fn new(agent: &str, servers: &IndexMap<String, McpServerConfig>) -> Self {
        let servers = servers.iter().map(|(name, config)| {
            let way = match &config.url {
                Some(url) => {
                    let endpoint = Endpoint::new(url.url(), config.bearer.as_ref());
                    Way::Http(Box::new(endpoint))
                }
                None => Way::Program(Launch {
                    command: config.command.clone(),
                    cwd: config
                        .program
                        .cwd
                        .clone()
                        .unwrap_or_else(|| Path::new(".").into()),
                    environment: config.program.environment(),
                    kill_grace: config.program.kill_grace.get(),
                }),
            };
            Arc::new(McpServer {
                label: format!("{agent}, MCP server {name}"),
                name: name.clone(),
                way,
                advertised: config.advertised_tools.clone(),
                limit: config.timeout.get(),
                words: OwnWords::believed_for(BELIEVED_FOR),
                asking: Arc::default(),
            })
        });
        Self {
            servers: servers.collect(),
            tracker: TaskTracker::new(),
            stopping: CancellationToken::new(),
        }
    }

    /// Asks the servers whose tools are not known or known for long, and waits for a moment. A server that
    /// takes longer goes on; a later card has its tools.
    pub(super) async fn learn(&self) {
        let asked = self.servers.iter().map(|server| self.ask(server));
        drop(tokio::time::timeout(PATIENCE, join_all(asked)).await);
    }

    /// What is known of each server.
    pub(super) fn known(&self) -> impl Iterator<Item = Known> {
        self.servers.iter().map(|server| server.words.known())
    }

    /// Ends what is under way: the gateway stops.
    pub(super) async fn stop(&self) {
        self.stopping.cancel();
        self.tracker.close();
        self.tracker.wait().await;
    }

    async fn ask(&self, server: &Arc<McpServer>) {
        if server.words.is_fresh() || self.stopping.is_cancelled() {
            return;
        }
        if let Ok(asking) = server.asking.clone().try_lock_owned()
            && !server.words.is_fresh()
        {
            let (server, stopping) = (server.clone(), self.stopping.clone());
            self.tracker.spawn(async move {
                let _asking = asking;
                tokio::select! {
                    told = server.tools() => server.words.take(&server.label, told),
                    () = stopping.cancelled() => {}
                }
            });
        }
        // Free again when the question is answered.
        drop(server.asking.lock().await);
    }
}

impl McpServer {
    async fn tools(&self) -> Result<About, String> {
        if self.advertised.as_ref().is_some_and(Vec::is_empty) {
            return Ok(About::default());
        }
        let told = match &self.way {
            Way::Program(launch) => program::ask(launch, self.limit).await?,
            Way::Http(endpoint) => http::ask(endpoint, self.limit).await?,
        };
        let skills = tools::skills(&self.name, &told, self.advertised.as_deref());
        Ok(About {
            skills,
            ..About::default()
        })
    }
}

/// What is said of a server that did not answer in time.
fn late(limit: Duration) -> String {
    format!("it did not list its tools within {} s", limit.as_secs_f64())
}
