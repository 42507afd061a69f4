//! The configuration: typed, immutable, complete with defaults, documentation and checks.
//!
//! The doc comments of the fields here are the text of `nuncio.example.toml` and of the JSON Schema.
//! This module reads neither files of its own accord nor the environment: the binary finds the
//! file, lays variables and flags over it, and hands the gateway the result.
//! Start with [`Config`]; [`parse`] turns text into it and points at what is wrong.

mod agents;
mod allowed_address;
mod backends;
mod cidr;
mod compat;
mod documentation;
mod duration;
mod error;
mod extensions;
mod log;
mod mcp_servers;
mod openfang;
mod parse;
mod peers;
mod push;
mod schema_check;
mod secret;
mod security;
mod server;
mod store;
mod text_setting;
mod tls;
mod validate;
mod web_url;
mod workers;

pub use agents::{
    AgentConfig, CapabilitiesConfig, DEFAULT_AGENT_VERSION, DEFAULT_MAX_CONCURRENT_TURNS,
    DEFAULT_MAX_QUEUED_TURNS, ExtendedConfig, MAX_NAME_CHARS, PUSH_NOTIFICATIONS_BY_DEFAULT,
    ProviderConfig, RESERVED_NAMES, SkillConfig, check_caller_name, check_name, check_path_name,
};
pub use allowed_address::AllowedAddress;
pub use backends::{
    AcpConfig, AcpPermissions, AcpPreset, AllowedTool, BackendConfig, CommandConfig,
    CommandProtocol, ConformanceConfig, DEFAULT_TURN_TIMEOUT, EchoConfig, HermesApprovals,
    HermesConfig, HermesDoor, OpenAiConfig, OpenFangAgentConfig, PeerTransport, ProgramConfig,
    UpstreamConfig, WebhookConfig, WebhookSignature,
};
pub(crate) use backends::{DEFAULT_KILL_GRACE, DEFAULT_MAX_OUTPUT_BYTES};
pub use cidr::Cidr;
pub use compat::{CompatConfig, StatusEdition};
pub use documentation::{KeyDocumentation, document_keys, json_schema};
pub use duration::Duration;
pub use error::{ConfigError, ConfigErrors, Position};
pub use extensions::ExtensionConfig;
pub use log::{LogConfig, LogFormat, LogLevel};
pub use mcp_servers::McpServerConfig;
pub use openfang::{ExternalAgent, OpenFangConfig};
pub use parse::{locate, parse};
pub use peers::{PeerAuth, PeerConfig, PeerProtocol};
pub use push::PushConfig;
pub use secret::{Secret, SecretRef, SecretSource};
pub use security::SecurityConfig;
pub use server::{DEFAULT_LISTEN, DEFAULT_MAX_BODY_BYTES, Idempotency, ServerConfig};
pub use store::{StoreConfig, StoreUrl};
pub use tls::TlsConfig;
pub use validate::{Problem, Severity};
pub use web_url::WebUrl;
pub use workers::WorkersConfig;

use std::path::Path;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Everything that can be set. An empty file is a valid one.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Where the gateway listens, and the limits of its connections.
    pub server: ServerConfig,
    /// Where tasks are kept, and for how long.
    pub store: StoreConfig,
    /// The agents served here, by name. The first in the file is the default agent: it answers at
    /// the root path, the others at `/agents/NAME`. Names have 1 to 64 of `a-z 0-9 - _`.
    /// Without any, a built-in `echo` agent is served.
    pub agents: IndexMap<String, AgentConfig>,
    /// Agents elsewhere, by the name that `nuncio send -a NAME` takes.
    pub peers: IndexMap<String, PeerConfig>,
    /// Who may call.
    pub security: SecurityConfig,
    /// How the webhooks that callers register for their tasks are called.
    pub push: PushConfig,
    /// Who may start agents for one piece of work.
    pub workers: WorkersConfig,
    /// How the gateway meets older and stricter peers.
    pub compat: CompatConfig,
    /// OpenFang's table of the same name, understood as it stands.
    pub a2a: OpenFangConfig,
    /// What is written to standard error while the gateway runs.
    pub log: LogConfig,
}

impl Config {
    /// The name and the settings of the default agent: the first of the file.
    pub fn default_agent(&self) -> Option<(&str, &AgentConfig)> {
        self.agents
            .first()
            .map(|(name, agent)| (name.as_str(), agent))
    }

    /// Relative paths of programs and of peers' certificates are meant from `base`, the directory of the file they stand in.
    pub fn anchor_programs(&mut self, base: &Path) {
        for agent in self.agents.values_mut() {
            if let Some((command, program)) = agent.backend.program_mut() {
                program.anchor(command, base);
            }
            for server in agent.mcp_servers.values_mut() {
                server.program.anchor(&mut server.command, base);
            }
            if let Some(auth) = agent.backend.auth_mut() {
                auth.anchor(base);
            }
        }
        if let Some(home) = &mut self.workers.hermes_home {
            *home = base.join(&*home);
        }
        if let Some(program) = self.workers.hermes_command.first_mut()
            && program.contains('/')
        {
            *program = base.join(&program).to_string_lossy().into_owned();
        }
        for peer in self.peers.values_mut() {
            peer.anchor(base);
        }
    }

    /// Looks up the variables that programs get from nuncio's own environment: theirs is clean
    /// otherwise.
    pub fn inherit_environment(&mut self, env: &dyn Fn(&str) -> Option<String>) {
        for agent in self.agents.values_mut() {
            agent.backend.inherit_environment(env);
            for server in agent.mcp_servers.values_mut() {
                server.program.inherit(env);
            }
        }
    }

    /// Whether any caller can prove who they are.
    pub fn has_credentials(&self) -> bool {
        self.has_tokens() || self.takes_client_certificates()
    }

    /// Whether a token opens anything.
    pub fn has_tokens(&self) -> bool {
        self.security.bearer_token.is_some() || !self.security.peer_tokens.is_empty()
    }

    /// Whether a client certificate is a credential.
    pub fn takes_client_certificates(&self) -> bool {
        let tls = self.server.tls.as_ref();
        tls.is_some_and(|tls| tls.client_ca.is_some())
    }

    /// The scheme of the listener's addresses.
    pub fn scheme(&self) -> &'static str {
        if self.server.tls.is_some() {
            "https"
        } else {
            "http"
        }
    }
}
