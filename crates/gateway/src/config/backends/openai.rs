//! `backend = "openai"`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::{Duration, SecretRef, WebUrl};

/// Tokens of history that a request carries unless set: fits the context of small local models.
const DEFAULT_HISTORY_TOKENS: u32 = 8_000;
/// Longest silence of a model: local ones read a long prompt before their first word.
const DEFAULT_SILENCE_TIMEOUT: Duration = Duration::from_secs(3 * 60);

/// `backend = "openai"`: a model behind an OpenAI-compatible endpoint.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct OpenAiConfig {
    /// The address below which `chat/completions` stands.
    #[schemars(example = serde_json::json!("http://127.0.0.1:11434/v1"))]
    pub base_url: WebUrl,
    /// The model's name there.
    #[schemars(example = serde_json::json!("qwen3"))]
    pub model: String,
    /// The key of the endpoint, by reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!("env:LOCAL_KEY"))]
    pub api_key: Option<SecretRef>,
    /// What the model is told first of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!("You answer questions about our products."))]
    pub instructions: Option<String>,
    /// How much of the conversation so far a request carries, in tokens (four bytes each). The
    /// oldest is left out.
    #[serde(default = "default_history_tokens")]
    pub history_tokens: u32,
    /// Further members of the request's body, as the endpoint knows them.
    #[serde(default, skip_serializing_if = "toml::Table::is_empty")]
    #[schemars(with = "std::collections::BTreeMap<String, serde_json::Value>")]
    #[schemars(example = serde_json::json!({ "temperature": 0.2 }))]
    pub parameters: toml::Table,
    /// How long the model may say nothing before the turn fails.
    #[serde(default = "default_silence_timeout")]
    pub silence_timeout: Duration,
    /// How long a turn may take; then the request is aborted and the task fails.
    #[serde(default = "super::default_turn_timeout")]
    pub turn_timeout: Duration,
    /// What a turn may say, in bytes; then the request is aborted and the task fails.
    #[serde(default = "super::default_max_output_bytes")]
    #[schemars(range(min = 1))]
    pub max_output_bytes: usize,
}

fn default_history_tokens() -> u32 {
    DEFAULT_HISTORY_TOKENS
}

fn default_silence_timeout() -> Duration {
    DEFAULT_SILENCE_TIMEOUT
}
