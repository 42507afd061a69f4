//! `backend = "webhook"`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::{Duration, SecretRef, WebUrl};

/// Waits before the second and each later try: a receiver that restarts is back by then.
const RETRY_DELAYS: [Duration; 3] = [
    Duration::from_secs(2),
    Duration::from_secs(10),
    Duration::from_secs(30),
];
/// Most tries after the first: a caller waits meanwhile.
const MAX_RETRIES: usize = 20;
/// Longer than a receiver takes to note a message down.
const DEFAULT_POST_TIMEOUT: Duration = Duration::from_secs(30);

/// `backend = "webhook"`: an agent that takes messages at a webhook and posts its answers back.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct WebhookConfig {
    /// Where messages are posted to.
    #[schemars(example = serde_json::json!("http://127.0.0.1:8644/webhooks/a2a"))]
    pub url: WebUrl,
    /// The key that posts are signed with, by reference.
    #[schemars(example = serde_json::json!("env:WEBHOOK_SECRET"))]
    pub secret: SecretRef,
    /// How posts are signed.
    #[serde(default)]
    pub signature: WebhookSignature,
    /// Whether the task completes as soon as the message is delivered: the agent does not answer here.
    #[serde(default)]
    pub deliver_only: bool,
    /// Where the agent reaches this gateway, if not at `server.public_url` or the listener's address:
    /// it posts its answers below `/callback` there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!("http://host.docker.internal:8081"))]
    pub callback_base: Option<WebUrl>,
    /// Waits before the second and each later try of a post that failed or was met with 408, 425, 429
    /// or 5xx, each up to a fifth longer or shorter. After the last one the task fails. At most 20.
    #[serde(default = "default_retry_delays")]
    pub retry_delays: Vec<Duration>,
    /// How long the webhook may take to say that it has taken a message.
    #[serde(default = "default_post_timeout")]
    pub post_timeout: Duration,
    /// How long a turn may take; then the task fails, and an answer that comes later is refused.
    #[serde(default = "super::default_turn_timeout")]
    pub turn_timeout: Duration,
    /// What an agent may post in one turn, in bytes; then the task fails.
    #[serde(default = "super::default_max_output_bytes")]
    #[schemars(range(min = 1))]
    pub max_output_bytes: usize,
}

/// How posts to an agent's webhook are signed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum WebhookSignature {
    /// `X-Webhook-Signature-V2` over `X-Webhook-Timestamp` and the body: an old post cannot be sent again.
    #[default]
    Timestamped,
    /// `X-Hub-Signature-256` over the body alone.
    Hub,
    /// `webhook-id`, `webhook-timestamp` and `webhook-signature` (Standard Webhooks). The secret is
    /// `whsec_` and base64 of 24 to 64 bytes, or `whsk_` and base64 of an Ed25519 seed.
    Standard,
}

impl WebhookConfig {
    /// The key and the fault of what cannot be.
    pub(super) fn problem(&self) -> Option<(&'static str, String)> {
        let message = format!("`retry_delays` must have at most {MAX_RETRIES} waits");
        (self.retry_delays.len() > MAX_RETRIES).then_some(("retry_delays", message))
    }
}

fn default_retry_delays() -> Vec<Duration> {
    RETRY_DELAYS.to_vec()
}

fn default_post_timeout() -> Duration {
    DEFAULT_POST_TIMEOUT
}
