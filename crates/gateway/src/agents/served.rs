//! The agents of a gateway: each backend with its name, its limits and what its card says.

use indexmap::IndexMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;
use tokio::sync::Semaphore;

use super::Agent;
use super::command::Command;
use super::conformance::Conformance;
use super::echo::Echo;
use crate::config::{AgentConfig, BackendConfig, Config, DEFAULT_TURN_TIMEOUT};

/// One agent served here.
pub struct ServedAgent {
    /// Its name in the configuration and in paths.
    pub name: Arc<str>,
    /// Who answers.
    pub backend: Box<dyn Agent>,
    /// What its configuration says.
    pub config: AgentConfig,
    /// Bounds of its turns.
    pub limits: TurnLimits,
    /// Turns that may run at once.
    pub slots: Arc<Semaphore>,
    /// Turns that wait for a slot or for the one before them in their context.
    pub waiting: AtomicUsize,
    /// Turns that run.
    pub running: AtomicUsize,
}

/// Bounds of an agent's turns.
#[derive(Clone, Copy, Debug)]
pub struct TurnLimits {
    /// Longest turn; after it the task is FAILED.
    pub turn_timeout: Duration,
    /// Most turns that wait; more are refused.
    pub max_queued_turns: usize,
}

impl std::fmt::Debug for ServedAgent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServedAgent")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl ServedAgent {
    /// The agent that `config` describes; `data_dir` is where it may keep files.
    fn new(name: &str, config: AgentConfig, data_dir: &Path) -> Result<Self, String> {
        let (backend, turn_timeout): (Box<dyn Agent>, _) = match &config.backend {
            BackendConfig::Echo(_) => (Box::new(Echo), DEFAULT_TURN_TIMEOUT),
            BackendConfig::Command(command) => (
                Box::new(Command::new(command, data_dir)?),
                command.turn_timeout,
            ),
            BackendConfig::Conformance(settings) => {
                (Box::new(Conformance::new(settings)?), DEFAULT_TURN_TIMEOUT)
            }
        };
        Ok(Self {
            name: name.into(),
            backend,
            limits: TurnLimits {
                turn_timeout: turn_timeout.get(),
                max_queued_turns: config.max_queued_turns,
            },
            slots: Arc::new(Semaphore::new(config.max_concurrent_turns)),
            waiting: AtomicUsize::new(0),
            running: AtomicUsize::new(0),
            config,
        })
    }
}

/// All agents of a gateway, in the order of the configuration.
#[derive(Debug)]
pub struct Agents {
    by_name: IndexMap<Arc<str>, Arc<ServedAgent>>,
}

impl Agents {
    /// Starts what `config` names. The error says which agent cannot be served and why.
    pub fn start(config: &Config, data_dir: &Path) -> Result<Self, String> {
        let mut by_name = IndexMap::new();
        for (name, agent) in &config.agents {
            let served = ServedAgent::new(name, agent.clone(), data_dir)
                .map_err(|reason| format!("agent '{name}': {reason}"))?;
            by_name.insert(served.name.clone(), Arc::new(served));
        }
        Ok(Self { by_name })
    }

    /// The agent with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Arc<ServedAgent>> {
        self.by_name.get(name).cloned()
    }

    /// The first agent of the configuration.
    #[must_use]
    pub fn default_agent(&self) -> Option<Arc<ServedAgent>> {
        self.by_name.first().map(|(_, agent)| agent.clone())
    }

    /// The agent that bears this tenant: its configured one, else its name.
    #[must_use]
    pub fn by_tenant(&self, tenant: &str) -> Option<Arc<ServedAgent>> {
        self.iter()
            .find(|agent| agent.config.tenant.as_deref().unwrap_or(&agent.name) == tenant)
            .cloned()
    }

    /// The agents in the order of the configuration.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<ServedAgent>> {
        self.by_name.values()
    }
}
