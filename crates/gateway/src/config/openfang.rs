//! `[a2a]`: OpenFang's table, so that its configuration can be carried over as it stands.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::WebUrl;

/// OpenFang's table of the same name, understood as it stands.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OpenFangConfig {
    /// Whether the external agents of this table become peers. (OpenFang's own switch for A2A;
    /// nuncio serves A2A in any case.)
    pub enabled: bool,
    /// Where OpenFang would serve its dialect. nuncio always serves it at `/a2a` and at
    /// `/legacy/AGENT`; another path here only brings a warning.
    #[schemars(example = serde_json::json!("/a2a"))]
    pub listen_path: Option<String>,
    /// Agents elsewhere; each becomes a peer of the same name.
    #[schemars(example = serde_json::json!([{ "name": "Researcher", "url": "http://127.0.0.1:4200" }]))]
    pub external_agents: Vec<ExternalAgent>,
}

/// An agent elsewhere, in OpenFang's form.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct ExternalAgent {
    /// Its name; becomes the peer's name in lower case, with `-` for what no name may hold.
    pub name: String,
    /// Its base address.
    pub url: WebUrl,
}
