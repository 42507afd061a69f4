//! `[push]`: how webhooks of callers are called.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Duration, SecretRef};

/// Waits before the second and each later try of a notification: eight tries in about 28 hours.
const RETRY_DELAYS: [Duration; 7] = [
    Duration::from_secs(5),
    Duration::from_secs(5 * 60),
    Duration::from_secs(30 * 60),
    Duration::from_secs(2 * 60 * 60),
    Duration::from_secs(5 * 60 * 60),
    Duration::from_secs(10 * 60 * 60),
    Duration::from_secs(10 * 60 * 60),
];
/// Longer than a good receiver takes to note something down.
const TIMEOUT: Duration = Duration::from_secs(15);
/// Time for a receiver that says it is overloaded.
const SLOW_DOWN: Duration = Duration::from_secs(60);

/// How the webhooks that callers register for their tasks are called.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PushConfig {
    /// Key of the `X-A2A-Signature` header, the HMAC-SHA256 over the body. Without it
    /// `security.bearer_token` is the key, and without that there is no such header.
    #[schemars(example = serde_json::json!("env:A2A_PUSH_SECRET"))]
    pub secret: Option<SecretRef>,
    /// Keys of the `webhook-signature` header (Standard Webhooks), each `whsec_` and base64 of 24
    /// to 64 bytes, which receivers have, too, or `whsk_` and base64 of an Ed25519 seed, whose
    /// public half the log tells at the start. Every one signs, so that receivers can change from
    /// one to the next; at most 4.
    #[schemars(example = serde_json::json!(["file:webhook.key"]))]
    pub signing_keys: Vec<SecretRef>,
    /// Key that callers of the fleet's dialect must show in `X-HMAC-Key` to use push
    /// configurations, besides their credential. Without it the credential is enough.
    #[schemars(example = serde_json::json!("env:A2A_HMAC_KEY"))]
    pub fleet_key: Option<SecretRef>,
    /// Waits before the second and each later try of a notification, each up to a fifth longer or
    /// shorter. After the last one it is given up. At most 20.
    pub retry_delays: Vec<Duration>,
    /// What a receiver's wait grows by when it answers 429, 502 or 504.
    pub slow_down: Duration,
    /// How long one try may take.
    pub timeout: Duration,
}

impl Default for PushConfig {
    fn default() -> PushConfig {
        PushConfig {
            secret: None,
            signing_keys: Vec::new(),
            fleet_key: None,
            retry_delays: RETRY_DELAYS.to_vec(),
            slow_down: SLOW_DOWN,
            timeout: TIMEOUT,
        }
    }
}
