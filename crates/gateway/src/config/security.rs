//! `[security]`: who may call.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AllowedAddress, SecretRef};

/// Who may call. Without a token everybody on this machine may, and nobody else.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SecurityConfig {
    /// One token per caller: the name is who they are, and whose tasks they see. A caller sends
    /// it as `Authorization: Bearer`, as `X-API-Key` or as the password of Basic.
    #[schemars(example = serde_json::json!({ "alice": "env:ALICE_TOKEN" }))]
    pub peer_tokens: IndexMap<String, SecretRef>,
    /// One token that several callers share; each is known by their address.
    #[schemars(example = serde_json::json!("file:shared.token"))]
    pub bearer_token: Option<SecretRef>,
    /// Callers that may give work, by name; empty means every caller with a credential.
    #[schemars(example = serde_json::json!(["alice"]))]
    pub trusted_peers: Vec<String>,
    /// Addresses that URLs of callers, such as those of webhooks, may name although they are not
    /// public, or do not speak https: networks, addresses or names, with a port or for all ports.
    #[schemars(example = serde_json::json!(["10.1.0.0/16", "hooks.internal:8080"]))]
    pub push_allow_addresses: Vec<AllowedAddress>,
}
