//! `backend = "acp"`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AllowedTool, ProgramConfig};
use crate::config::Duration;

/// Longer than a package runner takes to fetch an agent for the first time.
const DEFAULT_START_TIMEOUT: Duration = Duration::from_secs(3 * 60);
/// Tokens of history that are offered to an agent that has forgotten the conversation.
const DEFAULT_HISTORY_TOKENS: u32 = 8_000;

/// `backend = "acp"`: an agent that speaks the Agent Client Protocol, kept alive.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct AcpConfig {
    /// A known agent: its command and the variables that it needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!("claude"))]
    pub preset: Option<AcpPreset>,
    /// The program and its arguments, in place of the preset's. A relative path is meant from this
    /// file's directory; a bare name is looked up in `PATH`. No shell is involved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(example = serde_json::json!(["my-agent", "--acp"]))]
    pub command: Vec<String>,
    /// The program's surroundings.
    #[serde(flatten)]
    pub program: ProgramConfig,
    /// Give every conversation a directory of its own to work in, in place of `cwd`.
    #[serde(default)]
    pub context_dir: bool,
    /// What becomes of an agent's requests to be allowed something: `deny`, or `ask` the caller.
    #[serde(default)]
    pub permissions: AcpPermissions,
    /// What is allowed without asking: kinds of tools (read, edit, delete, move, search, execute,
    /// think, fetch, switch_mode, other; `*` for all), and single calls by the title that the agent gives
    /// them, as `execute:git status`. A `*` in a title stands for any characters, also for `; rm -r .`:
    /// whole titles are safest.
    #[serde(default)]
    #[schemars(example = serde_json::json!(["read", "search", "execute:git status"]))]
    pub allow: Vec<AllowedTool>,
    /// How long the program may take to start and to say who it is.
    #[serde(default = "default_start_timeout")]
    pub start_timeout: Duration,
    /// How much of the conversation so far is told to an agent that has forgotten it, in tokens
    /// (four bytes each).
    #[serde(default = "default_history_tokens")]
    pub history_tokens: u32,
    /// How long a turn may take; then it is cancelled and the task fails.
    #[serde(default = "super::default_turn_timeout")]
    pub turn_timeout: Duration,
    /// What a turn may send out, whatever it is, in bytes; then it is cancelled and the task fails.
    #[serde(default = "super::default_max_output_bytes")]
    #[schemars(range(min = 1))]
    pub max_output_bytes: usize,
}

impl AcpConfig {
    /// A known agent with nothing else set.
    #[must_use]
    pub fn of_preset(preset: AcpPreset) -> Self {
        Self {
            preset: Some(preset),
            command: Vec::new(),
            program: ProgramConfig::default(),
            context_dir: false,
            permissions: AcpPermissions::default(),
            allow: Vec::new(),
            start_timeout: DEFAULT_START_TIMEOUT,
            history_tokens: DEFAULT_HISTORY_TOKENS,
            turn_timeout: super::DEFAULT_TURN_TIMEOUT,
            max_output_bytes: super::DEFAULT_MAX_OUTPUT_BYTES,
        }
    }
}

/// Agents whose command is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum AcpPreset {
    /// Claude Code, through its adapter.
    Claude,
    /// Codex, through its adapter.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// Qwen Code.
    Qwen,
    /// Cline.
    Cline,
    /// OpenCode.
    OpenCode,
    /// Goose.
    Goose,
    /// Hermes.
    Hermes,
    /// Kimi CLI.
    Kimi,
}

/// What becomes of requests to be allowed something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum AcpPermissions {
    /// They are refused.
    #[default]
    Deny,
    /// The caller is asked; its next message decides.
    Ask,
}

fn default_start_timeout() -> Duration {
    DEFAULT_START_TIMEOUT
}

fn default_history_tokens() -> u32 {
    DEFAULT_HISTORY_TOKENS
}
