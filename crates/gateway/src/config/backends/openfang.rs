//! `backend = "openfang"`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::{Duration, SecretRef, WebUrl};

/// Longest silence of an agent: OpenFang keeps streams alive every 15 seconds.
const DEFAULT_SILENCE_TIMEOUT: Duration = Duration::from_secs(2 * 60);

/// `backend = "openfang"`: a live agent of a running OpenFang.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct OpenFangAgentConfig {
    /// Where OpenFang listens (`api_listen`).
    #[schemars(example = serde_json::json!("http://127.0.0.1:4200"))]
    pub base_url: WebUrl,
    /// The agent's name there, or its id.
    #[schemars(example = serde_json::json!("researcher"))]
    pub agent: String,
    /// OpenFang's `api_key`, by reference, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!("env:OPENFANG_API_KEY"))]
    pub api_key: Option<SecretRef>,
    /// Whether answers are streamed. Without it a cancel just ends the request, which stops the turn and
    /// nothing else, and OpenFang lets the agent's other requests wait.
    #[serde(default = "yes")]
    pub stream: bool,
    /// The tools that the card tells of, by name. Without it, all that the agent has; an empty list tells
    /// of none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!(["web_search"]))]
    pub advertised_tools: Option<Vec<String>>,
    /// How long OpenFang may say nothing at all in a stream before the turn fails.
    #[serde(default = "default_silence_timeout")]
    pub silence_timeout: Duration,
    /// How long a turn may take; then it is stopped and the task fails.
    #[serde(default = "super::default_turn_timeout")]
    pub turn_timeout: Duration,
    /// What a turn may say, in bytes; then it is stopped and the task fails.
    #[serde(default = "super::default_max_output_bytes")]
    #[schemars(range(min = 1))]
    pub max_output_bytes: usize,
}

fn yes() -> bool {
    true
}

fn default_silence_timeout() -> Duration {
    DEFAULT_SILENCE_TIMEOUT
}
