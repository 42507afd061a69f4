//! `[workers]`: who may start agents for one piece of work.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Agents started for one piece of work, with a session and a directory of their own. The operator
/// may always do so.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WorkersConfig {
    /// Agents that others than the operator may start that way.
    #[schemars(example = serde_json::json!(["reviewer"]))]
    pub agents: Vec<String>,
    /// Callers that may start them, as owners are written: `peer:NAME` or `mtls:NAME`.
    #[schemars(example = serde_json::json!(["peer:alice"]))]
    pub callers: Vec<String>,
}
