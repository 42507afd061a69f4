//! The agents of a gateway: each backend with its name, its limits and what its card says.

use futures_util::future::join_all;
use indexmap::IndexMap;
use nuncio_wire::{A2aError, ErrorKind, StatusTable};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;
use tokio::sync::Semaphore;

use super::Agent;
use super::acp::Acp;
use super::callbacks::Callbacks;
use super::command::Command;
use super::conformance::{Conformance, INPUT_MODES, ProfileSwitches};
use super::echo::Echo;
use super::gate::{AgentGate, Gate};
use super::hermes::Hermes;
use super::mcp::McpServers;
use super::openai::OpenAi;
use super::openfang::OpenFang;
use super::own_words::{Known, OwnWords};
use super::upstream::Upstream;
use super::webhook::Webhook;
use crate::card::BaseUrl;
use crate::config::{AgentConfig, BackendConfig, Config, DEFAULT_TURN_TIMEOUT, PeerConfig};
use crate::ids;
use crate::security::{Caller, Standing};

/// One agent served here.
pub struct ServedAgent {
    /// Its name in the configuration and in paths.
    pub name: Arc<str>,
    /// Who answers.
    pub backend: Box<dyn Agent>,
    /// What its configuration says.
    pub config: AgentConfig,
    /// What its operator lets it take.
    pub gate: AgentGate,
    /// What it says of itself.
    own_words: OwnWords,
    /// Whose tools are its skills, too.
    mcp_servers: McpServers,
    /// What a conformance kit wants of the gateway; `None` for every agent of any other backend.
    pub conformance: Option<ProfileSwitches>,
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

/// A caller refused because the agent is paused is asked to wait this long, in seconds: an operator
/// who paused it is at work on something.
const CLOSED_RETRY_SECONDS: u32 = 60;

impl std::fmt::Debug for ServedAgent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServedAgent")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl ServedAgent {
    /// The agent that `config` describes.
    fn new(name: &str, mut config: AgentConfig, house: &House<'_>) -> Result<Self, String> {
        let data_dir = house.data_dir;
        let mut conformance = None;
        let (backend, turn_timeout): (Box<dyn Agent>, _) = match &config.backend {
            BackendConfig::Echo(_) => (Box::new(Echo), DEFAULT_TURN_TIMEOUT),
            BackendConfig::Command(command) => (
                Box::new(Command::new(command, data_dir)?),
                command.turn_timeout,
            ),
            BackendConfig::Acp(acp) => (
                Box::new(Acp::new(name, acp, &config.mcp_servers, data_dir)?),
                acp.turn_timeout,
            ),
            BackendConfig::OpenAi(openai) => (Box::new(OpenAi::new(openai)?), openai.turn_timeout),
            BackendConfig::Hermes(hermes) => (Box::new(Hermes::new(hermes)?), hermes.turn_timeout),
            BackendConfig::OpenFang(openfang) => {
                (Box::new(OpenFang::new(openfang)), openfang.turn_timeout)
            }
            BackendConfig::Upstream(upstream) => (
                Box::new(Upstream::new(
                    upstream,
                    house.peers,
                    &house.callbacks,
                    house.base.as_ref(),
                )?),
                upstream.turn_timeout,
            ),
            BackendConfig::Webhook(webhook) => {
                let base = house.base.clone();
                (
                    Box::new(Webhook::new(webhook, &house.callbacks, base)?),
                    webhook.turn_timeout,
                )
            }
            BackendConfig::Conformance(settings) => {
                let agent = Conformance::new(settings)?;
                conformance = Some(agent.profile().switches());
                (Box::new(agent), DEFAULT_TURN_TIMEOUT)
            }
        };
        if let Some(switches) = &conformance {
            declare(switches, &mut config);
        }
        Ok(Self {
            name: name.into(),
            backend,
            limits: TurnLimits {
                turn_timeout: turn_timeout.get(),
                max_queued_turns: config.max_queued_turns,
            },
            slots: Arc::new(Semaphore::new(config.max_concurrent_turns)),
            mcp_servers: McpServers::new(name, &config.mcp_servers),
            waiting: AtomicUsize::new(0),
            running: AtomicUsize::new(0),
            config,
            gate: AgentGate::of(name, data_dir),
            own_words: OwnWords::default(),
            conformance,
        })
    }

    /// Refuses a message that its operator does not let it take; `goes_on` says that the message is
    /// for a task that waits for it.
    pub fn admit_message(&self, goes_on: bool) -> Result<(), A2aError> {
        let state = match self.gate.now() {
            Gate::Open => return Ok(()),
            Gate::Draining if goes_on => return Ok(()),
            Gate::Draining => "is being drained",
            Gate::Paused => "is paused",
        };
        let text = format!(
            "Agent '{}' {state} by its operator and takes no messages now; try again later.",
            self.name
        );
        let mut refused = A2aError::new(ErrorKind::Unavailable, text);
        refused.retry_after = Some(CLOSED_RETRY_SECONDS);
        Err(refused)
    }

    /// Asks the agent of itself, unless that is known: before its card is made.
    pub async fn learn_about(&self) {
        let own = self.own_words.learn(&self.name, &*self.backend);
        tokio::join!(own, self.mcp_servers.learn());
    }

    /// What the agent said of itself and its MCP servers of their tools when they were last asked.
    #[must_use]
    pub fn known_about(&self) -> Known {
        let known = self.mcp_servers.known();
        known.fold(self.own_words.known(), |all, more| all.and(&more))
    }

    /// Ends what outlives a turn: the gateway stops.
    pub async fn stop(&self) {
        tokio::join!(self.backend.stop(), self.mcp_servers.stop());
    }

    /// Which edition's HTTP and gRPC statuses errors about this agent carry.
    #[must_use]
    pub fn statuses(&self, config: &Config) -> StatusTable {
        let of_kit = self.conformance.map(|switches| switches.statuses);
        of_kit.unwrap_or_else(|| config.compat.statuses.into())
    }

    /// The id of a message that has none, if such messages are taken.
    #[must_use]
    pub fn message_id(&self) -> Option<String> {
        self.conformance
            .is_some_and(|switches| switches.makes_message_ids)
            .then(ids::new_id)
    }

    /// The id of a push configuration that is set without one.
    #[must_use]
    pub fn push_config_id(&self) -> Option<String> {
        let of_kit = self.conformance.and_then(|kit| kit.push_config_id);
        of_kit.map(str::to_owned)
    }

    /// Whether nothing can be asked of it without a credential, whatever the gateway wants of others.
    #[must_use]
    pub fn requires_credential(&self) -> bool {
        self.conformance
            .is_some_and(|switches| switches.requires_bearer)
    }

    /// Refuses callers that have shown no credential which counts here: 401, or 403 for one that
    /// does not suffice.
    pub fn admit_proven(&self, caller: &Caller) -> Result<(), A2aError> {
        match caller.standing {
            Standing::Proven => Ok(()),
            Standing::Conformance { suffices: true } if self.conformance.is_some() => Ok(()),
            Standing::Conformance { suffices: false } if self.conformance.is_some() => {
                let text = "The credential does not suffice for this operation.";
                Err(A2aError::new(ErrorKind::PermissionDenied, text))
            }
            _ => {
                let text = "This operation needs a credential: send Authorization: Bearer TOKEN.";
                Err(A2aError::new(ErrorKind::Unauthenticated, text))
            }
        }
    }
}

/// What agents find around them.
struct House<'a> {
    /// Agents elsewhere that they may name.
    peers: &'a IndexMap<String, PeerConfig>,
    /// Where they may keep files.
    data_dir: &'a Path,
    callbacks: Arc<Callbacks>,
    /// Where others reach the gateway, if that is one address.
    base: Option<BaseUrl>,
}

impl<'a> House<'a> {
    fn of(config: &'a Config, data_dir: &'a Path, at: Option<SocketAddr>) -> Self {
        let at = at.or_else(|| config.server.listen.first().copied());
        // Every address of the machine is none that could be told to anybody.
        let is_told =
            |at: &SocketAddr| config.server.public_url.is_some() || !at.ip().is_unspecified();
        Self {
            peers: &config.peers,
            data_dir,
            callbacks: Arc::default(),
            base: at.filter(is_told).map(|at| BaseUrl::of(config, at)),
        }
    }
}

/// Lets the card say what the kit's profile has.
fn declare(switches: &ProfileSwitches, config: &mut AgentConfig) {
    let capabilities = &mut config.capabilities;
    capabilities.streaming &= switches.streaming;
    capabilities.push_notifications &= switches.push_notifications;
    if switches.refuses_other_media_types {
        config.input_modes = Some(INPUT_MODES.map(str::to_owned).to_vec());
    }
    config.extended = switches
        .extended_card
        .then(|| config.extended.take().unwrap_or_default());
}

/// Looks whether each agent that `config` names could answer, within `limit`, without asking any for
/// an answer: what was found, or what is wrong and what to do.
pub async fn probe_all(
    config: &Config,
    data_dir: &Path,
    limit: Duration,
) -> Vec<(String, Result<String, String>)> {
    let house = House::of(config, data_dir, None);
    let house = &house;
    let probes = config.agents.iter().map(async |(name, agent)| {
        let found = match ServedAgent::new(name, agent.clone(), house) {
            Ok(agent) => {
                let found = tokio::time::timeout(limit, agent.backend.probe()).await;
                agent.stop().await;
                let late = |_| Err(format!("no answer within {} s", limit.as_secs()));
                found.unwrap_or_else(late)
            }
            Err(reason) => Err(reason),
        };
        (name.clone(), found)
    });
    join_all(probes).await
}

/// All agents of a gateway, in the order of the configuration.
#[derive(Debug)]
pub struct Agents {
    by_name: IndexMap<Arc<str>, Arc<ServedAgent>>,
    callbacks: Arc<Callbacks>,
}

impl Agents {
    /// Starts what `config` names, for a gateway that listens `at` an address, or may do so at the one
    /// that is set. The error says which agent cannot be served and why.
    pub fn start(config: &Config, data_dir: &Path, at: Option<SocketAddr>) -> Result<Self, String> {
        let house = House::of(config, data_dir, at);
        let mut by_name = IndexMap::new();
        for (name, agent) in &config.agents {
            let served = ServedAgent::new(name, agent.clone(), &house)
                .map_err(|reason| format!("agent '{name}': {reason}"))?;
            by_name.insert(served.name.clone(), Arc::new(served));
        }
        Ok(Self {
            by_name,
            callbacks: house.callbacks,
        })
    }

    /// Where agents post their answers that do not answer at once.
    #[must_use]
    pub fn callbacks(&self) -> &Callbacks {
        &self.callbacks
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

    /// The agent that has the host of this authority (`host` or `host:port`) to itself.
    #[must_use]
    pub fn by_host(&self, authority: &str) -> Option<Arc<ServedAgent>> {
        let host = authority
            .rsplit_once(':')
            .map_or(authority, |(host, _)| host);
        let has_it = |agent: &&Arc<ServedAgent>| {
            let own = agent.config.host.as_deref();
            own.is_some_and(|own| own.eq_ignore_ascii_case(host))
        };
        self.iter().find(has_it).cloned()
    }

    /// Whether the addresses on an agent's card do without its name: it has a host of its own, or is
    /// the default one.
    #[must_use]
    pub fn is_at_root(&self, agent: &ServedAgent) -> bool {
        let default = self.by_name.first();
        agent.config.host.is_some() || default.is_some_and(|(name, _)| *name == agent.name)
    }

    /// The agent that bears this tenant: its configured one, else its name.
    #[must_use]
    pub fn by_tenant(&self, tenant: &str) -> Option<Arc<ServedAgent>> {
        self.iter()
            .find(|agent| agent.config.tenant.as_deref().unwrap_or(&agent.name) == tenant)
            .cloned()
    }

    /// The agents that anybody may be told of, in the order of the configuration.
    pub fn listed(&self) -> impl Iterator<Item = &Arc<ServedAgent>> {
        self.iter().filter(|agent| !agent.config.workers_only)
    }

    /// The agents in the order of the configuration.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<ServedAgent>> {
        self.by_name.values()
    }
}
