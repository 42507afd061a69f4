//! `backend = "…"`: how an agent answers, and the settings that are its backend's own.

mod acp;
mod allowed_tool;
mod command;
mod hermes;
mod openai;
mod openfang;
mod program;
mod upstream;
mod webhook;

pub use acp::{AcpConfig, AcpPermissions, AcpPreset};
pub use allowed_tool::AllowedTool;
pub use command::{CommandConfig, CommandProtocol};
pub use hermes::{HermesApprovals, HermesConfig, HermesDoor};
pub use openai::OpenAiConfig;
pub use openfang::OpenFangAgentConfig;
pub(crate) use program::DEFAULT_KILL_GRACE;
pub use program::ProgramConfig;
pub use upstream::{PeerTransport, UpstreamConfig};
pub use webhook::{WebhookConfig, WebhookSignature};

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Duration, PeerAuth, PeerConfig, SecretRef, WebUrl};

/// Longer than a model's longest usual answer.
pub const DEFAULT_TURN_TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// 16 MiB, in bytes: as much as a caller may send.
pub(crate) const DEFAULT_MAX_OUTPUT_BYTES: usize = 16 * 1024 * 1024;

/// How an agent answers.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "backend", rename_all = "kebab-case")]
#[schemars(inline)]
pub enum BackendConfig {
    /// Answers with what it was sent.
    Echo(EchoConfig),
    /// Starts a program for every turn.
    Command(CommandConfig),
    /// Talks to an agent that is kept alive, in the Agent Client Protocol.
    Acp(AcpConfig),
    /// Asks a model behind an OpenAI-compatible endpoint.
    #[serde(rename = "openai")]
    OpenAi(OpenAiConfig),
    /// Speaks to a running Hermes agent.
    Hermes(HermesConfig),
    /// Speaks to a live agent of a running OpenFang.
    #[serde(rename = "openfang")]
    OpenFang(OpenFangAgentConfig),
    /// Passes everything on to another A2A agent.
    #[serde(rename = "a2a")]
    Upstream(UpstreamConfig),
    /// Posts to an agent's webhook, which posts its answer back.
    Webhook(WebhookConfig),
    /// Behaves as conformance kits want it, for tests.
    Conformance(ConformanceConfig),
}

impl BackendConfig {
    /// The word of the configuration.
    pub fn kind(&self) -> &'static str {
        match self {
            BackendConfig::Echo(_) => "echo",
            BackendConfig::Command(_) => "command",
            BackendConfig::Acp(_) => "acp",
            BackendConfig::OpenAi(_) => "openai",
            BackendConfig::Hermes(_) => "hermes",
            BackendConfig::OpenFang(_) => "openfang",
            BackendConfig::Upstream(_) => "a2a",
            BackendConfig::Webhook(_) => "webhook",
            BackendConfig::Conformance(_) => "conformance",
        }
    }
}

impl BackendConfig {
    /// The program that answers, with its arguments and its surroundings.
    pub fn program_mut(&mut self) -> Option<(&mut Vec<String>, &mut ProgramConfig)> {
        match self {
            BackendConfig::Command(it) => Some((&mut it.command, &mut it.program)),
            BackendConfig::Acp(it) => Some((&mut it.command, &mut it.program)),
            _ => None,
        }
    }

    /// The server that it asks, if the configuration says where that is.
    pub fn server(&self) -> Option<&WebUrl> {
        match self {
            BackendConfig::OpenAi(it) => Some(&it.base_url),
            BackendConfig::Hermes(it) => Some(&it.base_url),
            BackendConfig::OpenFang(it) => Some(&it.base_url),
            BackendConfig::Upstream(it) => it.url.as_ref(),
            BackendConfig::Webhook(it) => Some(&it.url),
            _ => None,
        }
    }

    /// The peer that it stands for, if it names one.
    pub(crate) fn peer(&self) -> Option<&String> {
        match self {
            BackendConfig::Upstream(it) => it.peer.as_ref(),
            _ => None,
        }
    }

    /// Where it says that the gateway is reached.
    pub(crate) fn callback_base(&self) -> Option<&WebUrl> {
        match self {
            BackendConfig::Webhook(it) => it.callback_base.as_ref(),
            BackendConfig::Upstream(it) => it.callback_base.as_ref(),
            _ => None,
        }
    }

    /// Looks up the variables that the program gets from nuncio's own environment.
    pub(crate) fn inherit_environment(&mut self, env: &dyn Fn(&str) -> Option<String>) {
        if let BackendConfig::Acp(acp) = self
            && let Some(preset) = acp.preset
        {
            let known = crate::agents::acp::variables(preset);
            let names = known.iter().map(|name| (*name).to_owned());
            acp.program.pass_env.extend(names);
        }
        if let Some((_, program)) = self.program_mut() {
            program.inherit(env);
        }
    }

    /// The key and the fault of settings that do not fit together; `peers` are those they may name.
    pub(crate) fn problem(
        &self,
        peers: &IndexMap<String, PeerConfig>,
    ) -> Option<(&'static str, String)> {
        match self {
            BackendConfig::Command(it) if it.command.first().is_none_or(String::is_empty) => {
                let message = "`command` must begin with a program".to_owned();
                Some(("command", message))
            }
            BackendConfig::Acp(acp) if acp.preset.is_none() && acp.command.is_empty() => {
                let message = "an agent with `backend = \"acp\"` needs a `preset` or a `command`";
                Some(("backend", message.to_owned()))
            }
            BackendConfig::Hermes(hermes) => hermes.problem(),
            BackendConfig::Upstream(upstream) => upstream.problem(peers),
            BackendConfig::Webhook(webhook) => webhook.problem(),
            _ => None,
        }
    }

    /// The secrets of the backend with their keys.
    pub(crate) fn secrets_mut(&mut self) -> Vec<(&'static str, &mut SecretRef)> {
        match self {
            BackendConfig::OpenAi(OpenAiConfig { api_key, .. })
            | BackendConfig::OpenFang(OpenFangAgentConfig { api_key, .. }) => {
                let key = api_key.as_mut();
                key.map(|key| ("api_key", key)).into_iter().collect()
            }
            BackendConfig::Hermes(hermes) => vec![("api_key", &mut hermes.api_key)],
            BackendConfig::Webhook(webhook) => vec![("secret", &mut webhook.secret)],
            BackendConfig::Upstream(upstream) => {
                let auth = upstream.auth.as_mut();
                auth.and_then(PeerAuth::secret_mut)
                    .map(|secret| ("auth", secret))
                    .into_iter()
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    /// What another agent behind us wants, if it was said here.
    pub(crate) fn auth_mut(&mut self) -> Option<&mut PeerAuth> {
        match self {
            BackendConfig::Upstream(upstream) => upstream.auth.as_mut(),
            _ => None,
        }
    }
}

/// `backend = "echo"` has no settings of its own.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct EchoConfig {}

/// `backend = "conformance"`: for conformance kits.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct ConformanceConfig {
    /// Whose contract it follows.
    #[serde(default = "default_profile")]
    pub profile: String,
}

fn default_turn_timeout() -> Duration {
    DEFAULT_TURN_TIMEOUT
}

fn default_max_output_bytes() -> usize {
    DEFAULT_MAX_OUTPUT_BYTES
}

fn default_profile() -> String {
    "tck".to_owned()
}
