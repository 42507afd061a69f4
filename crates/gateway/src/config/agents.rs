//! `[agents.NAME]`: the agents served here, what their cards say and how they answer.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BackendConfig, ExtensionConfig, McpServerConfig, WebUrl};

/// Characters of a host name (RFC 1035 section 2.3.4, without the length bytes).
const MAX_HOST_CHARS: usize = 253;
/// Characters of one label of a host name (RFC 1035 section 2.3.4).
const MAX_LABEL_CHARS: usize = 63;
/// Characters of a name: it is a path segment, a tenant and a file name.
pub const MAX_NAME_CHARS: usize = 64;
/// First path segments of the gateway: neither an agent nor a tenant may bear such a name.
pub const RESERVED_NAMES: [&str; 18] = [
    ".well-known",
    "a2a",
    "admin",
    "agents",
    "callback",
    "console",
    "extendedAgentCard",
    "extendedagentcard",
    "fleet",
    "health",
    "legacy",
    "mcp",
    "mesh",
    "message",
    "metrics",
    "ready",
    "tasks",
    "v1",
];
/// Whether cards promise push notifications unless told otherwise.
pub const PUSH_NOTIFICATIONS_BY_DEFAULT: bool = true;
/// The version on a card that sets none.
pub const DEFAULT_AGENT_VERSION: &str = "1.0.0";
/// Turns of one agent at one time: each may be a process of its own.
pub const DEFAULT_MAX_CONCURRENT_TURNS: usize = 16;
/// Turns of one agent that may wait; more are refused, so that a caller learns of it early.
pub const DEFAULT_MAX_QUEUED_TURNS: usize = 256;
/// Media types that an agent takes unless told otherwise.
const DEFAULT_INPUT_MODES: [&str; 3] = ["text/plain", "application/json", "*/*"];
/// Media types that an agent gives unless told otherwise.
const DEFAULT_OUTPUT_MODES: [&str; 2] = ["text/plain", "application/json"];

/// One agent: what its card says, its limits, and how it answers.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct AgentConfig {
    /// How it answers.
    #[serde(flatten)]
    pub backend: BackendConfig,
    /// The name on the card. Without it, the name of the table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!("Reviewer"))]
    pub name: Option<String>,
    /// What it does, in a sentence, for the card.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!("Reviews code"))]
    pub description: Option<String>,
    /// The agent's own version on the card.
    #[serde(default = "default_version")]
    pub version: String,
    /// What it is good at. Without any, the card has one skill that bears the agent's name.
    #[serde(default)]
    #[schemars(example = serde_json::json!([{ "id": "review", "name": "Review", "description": "Reviews a diff", "tags": ["code"] }]))]
    pub skills: Vec<SkillConfig>,
    /// MCP servers that it has, each under a name: their tools stand on the card after `skills`.
    #[serde(default)]
    #[schemars(example = serde_json::json!({ "web": { "url": "https://tools.example.org/mcp" } }))]
    pub mcp_servers: IndexMap<String, McpServerConfig>,
    /// What the card promises.
    #[serde(default)]
    pub capabilities: CapabilitiesConfig,
    /// What only callers with a credential see on the card, besides all that everybody sees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!({ "skills": [{ "id": "merge", "name": "Merge", "description": "Merges what was reviewed", "tags": ["code"] }] }))]
    pub extended: Option<ExtendedConfig>,
    /// Media types it takes; `*/*` stands for all. Without this it takes all, and the card says what the
    /// agent behind it says, if that is an A2A agent, else `text/plain`, `application/json`, `*/*`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!(["text/plain", "image/*"]))]
    pub input_modes: Option<Vec<String>>,
    /// Media types it gives. Without this the card says what the agent behind it says, if that is an A2A
    /// agent, else `text/plain`, `application/json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!(["text/markdown"]))]
    pub output_modes: Option<Vec<String>>,
    /// A routing label: requests that carry it go to this agent. Without it, the name of the table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!("review-team"))]
    pub tenant: Option<String>,
    /// A host name of its own: requests that name it reach this agent at the root, without its name in
    /// the path. Its card gives addresses there, with scheme and port of `server.public_url`, else of
    /// the listener.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!("reviewer.example.org"))]
    pub host: Option<String>,
    /// Who runs it, for the card.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!({ "organization": "Example", "url": "https://example.org" }))]
    pub provider: Option<ProviderConfig>,
    /// Its manual, for the card.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!("https://example.org/review"))]
    pub documentation_url: Option<WebUrl>,
    /// Its picture, for the card.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!("https://example.org/review.png"))]
    pub icon_url: Option<WebUrl>,
    /// Turns that run at one time. The turns of one conversation always run one after another.
    #[serde(default = "default_max_concurrent_turns")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_concurrent_turns: usize,
    /// Turns that may wait; more are refused.
    #[serde(default = "default_max_queued_turns")]
    pub max_queued_turns: usize,
    /// Take only work for a worker (see `[workers]`), no ordinary messages. No list of agents and no
    /// catalog tells of it.
    #[serde(default)]
    pub workers_only: bool,
}

impl AgentConfig {
    /// An agent with the given backend and nothing else set.
    pub fn new(backend: BackendConfig) -> AgentConfig {
        AgentConfig {
            backend,
            name: None,
            description: None,
            version: default_version(),
            skills: Vec::new(),
            mcp_servers: IndexMap::new(),
            capabilities: CapabilitiesConfig::default(),
            extended: None,
            input_modes: None,
            output_modes: None,
            tenant: None,
            host: None,
            provider: None,
            documentation_url: None,
            icon_url: None,
            max_concurrent_turns: DEFAULT_MAX_CONCURRENT_TURNS,
            max_queued_turns: DEFAULT_MAX_QUEUED_TURNS,
            workers_only: false,
        }
    }

    /// Media types it takes.
    pub fn input_modes(&self) -> Vec<String> {
        let set = self.input_modes.clone();
        set.unwrap_or_else(|| DEFAULT_INPUT_MODES.map(str::to_owned).to_vec())
    }

    /// Media types it gives.
    pub fn output_modes(&self) -> Vec<String> {
        let set = self.output_modes.clone();
        set.unwrap_or_else(|| DEFAULT_OUTPUT_MODES.map(str::to_owned).to_vec())
    }
}

/// One thing an agent is good at.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct SkillConfig {
    /// Unique on the card.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// What it does.
    #[serde(default)]
    pub description: String,
    /// Words to find it by.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Things one may say to it.
    #[serde(default)]
    pub examples: Vec<String>,
    /// Media types it takes, if not the agent's.
    #[serde(default)]
    pub input_modes: Vec<String>,
    /// Media types it gives, if not the agent's.
    #[serde(default)]
    pub output_modes: Vec<String>,
}

/// The extended card.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(inline)]
pub struct ExtendedConfig {
    /// What it does, in place of the public description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Further skills.
    pub skills: Vec<SkillConfig>,
    /// Its manual, in place of the public one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub documentation_url: Option<WebUrl>,
}

/// What a card promises.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(inline)]
pub struct CapabilitiesConfig {
    /// Streams of events.
    pub streaming: bool,
    /// Push notifications.
    pub push_notifications: bool,
    /// Extensions of the protocol that the agent supports, each under the URI that names it and its
    /// version.
    #[schemars(example = serde_json::json!([{ "uri": "https://example.org/ext/citations/v1", "description": "Sources in the metadata of artifacts" }]))]
    pub extensions: Vec<ExtensionConfig>,
}

impl Default for CapabilitiesConfig {
    fn default() -> CapabilitiesConfig {
        CapabilitiesConfig {
            streaming: true,
            push_notifications: PUSH_NOTIFICATIONS_BY_DEFAULT,
            extensions: Vec::new(),
        }
    }
}

/// Who runs an agent.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct ProviderConfig {
    /// Their name.
    pub organization: String,
    /// Their web address.
    pub url: WebUrl,
}

/// Checks the form of a name that people type: an agent's, a peer's, a tenant's.
///
/// # Errors
///
/// A text that says what a name may be.
pub fn check_name(name: &str) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    if name.is_empty() || name.len() > MAX_NAME_CHARS || !name.chars().all(fits) {
        return Err(format!(
            "`{}` is no name: names have 1 to {MAX_NAME_CHARS} of a-z 0-9 - _",
            shown(name)
        ));
    }
    Ok(())
}

/// Checks a name that stands in the gateway's own paths: an agent's or a tenant's.
///
/// # Errors
///
/// A text that says what such a name may be.
pub fn check_path_name(name: &str) -> Result<(), String> {
    check_name(name)?;
    if RESERVED_NAMES.contains(&name) {
        return Err(format!(
            "`{name}` is a path of the gateway itself: take another name"
        ));
    }
    Ok(())
}

/// Checks the name of a caller, which is part of who owns a task. Callers of other systems have
/// capitals, dots and at signs in theirs.
///
/// # Errors
///
/// A text that says what a caller's name may be.
pub fn check_caller_name(name: &str) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '@');
    if name.is_empty() || name.len() > MAX_NAME_CHARS || !name.chars().all(fits) {
        return Err(format!(
            "`{}` is no caller's name: they have 1 to {MAX_NAME_CHARS} of A-Z a-z 0-9 - _ . @",
            shown(name)
        ));
    }
    Ok(())
}

/// Checks the name of a host, without a port. An address is none: it would be everybody's.
///
/// # Errors
///
/// A text that says what a host name may be.
pub fn check_host_name(name: &str) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let is_label = |label: &str| {
        (1..=MAX_LABEL_CHARS).contains(&label.len())
            && label.chars().all(fits)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let is_address = name.parse::<std::net::IpAddr>().is_ok();
    if name.len() > MAX_HOST_CHARS || is_address || !name.split('.').all(is_label) {
        return Err(format!(
            "`{}` is no host name: give one such as `reviewer.example.org`, without scheme and port",
            shown(name)
        ));
    }
    Ok(())
}

/// A name for an error's text, which neither its length nor its characters may disturb.
fn shown(name: &str) -> String {
    name.chars()
        .take(MAX_NAME_CHARS)
        .collect::<String>()
        .escape_debug()
        .to_string()
}

fn default_version() -> String {
    DEFAULT_AGENT_VERSION.to_owned()
}

fn default_max_concurrent_turns() -> usize {
    DEFAULT_MAX_CONCURRENT_TURNS
}

fn default_max_queued_turns() -> usize {
    DEFAULT_MAX_QUEUED_TURNS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_path_segments_that_nobody_else_has() {
        for name in ["reviewer", "a", "claude-4_5", &"n".repeat(64)] {
            assert_eq!(check_path_name(name), Ok(()), "{name}");
        }
        for name in [
            "",
            "Reviewer",
            "a b",
            "a/b",
            "..",
            "ä",
            "message:send",
            "v1",
            "health",
        ] {
            assert!(check_path_name(name).is_err(), "{name}");
        }
        assert!(check_path_name(&"n".repeat(65)).is_err());
        assert_eq!(check_name("health"), Ok(()));
    }

    #[test]
    fn hosts_have_names_and_nothing_around_them() {
        let label = "a".repeat(63);
        for name in ["reviewer.example.org", "Agent-1", &label] {
            assert_eq!(check_host_name(name), Ok(()), "{name}");
        }
        let (label, long) = ("a".repeat(64), "a.".repeat(127) + "b");
        for name in [
            "",
            "a.",
            "-a",
            "a:80",
            "http://a",
            "127.0.0.1",
            "::1",
            "*.a",
            &label,
            &long,
        ] {
            assert!(check_host_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn callers_may_have_names_of_other_systems() {
        for name in ["alice", "Alice", "bob@example.org", "team_1"] {
            assert_eq!(check_caller_name(name), Ok(()), "{name}");
        }
        for name in ["", "a:b", "a b", "a/b", "ä", &"n".repeat(65)] {
            assert!(check_caller_name(name).is_err(), "{name}");
        }
    }
}
