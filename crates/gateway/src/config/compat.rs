//! `[compat]`: how the gateway meets older and stricter peers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the gateway meets older and stricter peers.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CompatConfig {
    /// The edition whose HTTP and gRPC statuses errors carry: `1.0.1` or `1.0.0`.
    pub statuses: StatusEdition,
    /// Refuse a method of 1.0 that comes without an `A2A-Version` header.
    pub strict_version: bool,
    /// Add the fields of 0.3 to the 1.0 agent card. Strict readers of 1.0 refuse them.
    pub merged_card: bool,
    /// Serve A2A 0.3 (method names with a slash) beside 1.0.
    pub v0_3: bool,
    /// Serve the dialect of the Hermes fleet plugin at `/fleet/a2a/AGENT`, and recognise its callers
    /// at the other JSON-RPC addresses.
    pub fleet: bool,
}

impl Default for CompatConfig {
    fn default() -> CompatConfig {
        CompatConfig {
            statuses: StatusEdition::V1_0_1,
            strict_version: false,
            merged_card: false,
            v0_3: true,
            fleet: true,
        }
    }
}

/// An edition of the A2A specification that sets the HTTP and gRPC statuses of errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum StatusEdition {
    /// A2A 1.0.1.
    #[default]
    #[serde(rename = "1.0.1")]
    V1_0_1,
    /// A2A 1.0.0.
    #[serde(rename = "1.0.0")]
    V1_0_0,
}

impl From<StatusEdition> for nuncio_wire::StatusTable {
    fn from(edition: StatusEdition) -> Self {
        match edition {
            StatusEdition::V1_0_1 => Self::V1_0_1,
            StatusEdition::V1_0_0 => Self::V1_0_0,
        }
    }
}
