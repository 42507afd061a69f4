//! `[agents.NAME] capabilities.extensions`: extensions of the protocol that an agent declares
//! (specification 4.6).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An extension of the protocol.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct ExtensionConfig {
    /// Names the extension and its version.
    pub uri: String,
    /// How the agent uses it.
    #[serde(default)]
    pub description: String,
    /// Refuse every request that does not name the extension in `A2A-Extensions`.
    #[serde(default)]
    pub required: bool,
    /// Settings of the extension, for the card.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub params: serde_json::Map<String, serde_json::Value>,
}

/// What is wrong with a list of extensions, by index. Clients name them in a header, as a list with
/// commas, so that a URI can have none.
pub(super) fn wrong_extensions(
    extensions: &[ExtensionConfig],
) -> impl Iterator<Item = (usize, String)> {
    let wrong = |(index, extension): (usize, &ExtensionConfig)| {
        let uri = &extension.uri;
        if uri.is_empty() || !uri.bytes().all(|b| b.is_ascii_graphic() && b != b',') {
            let text = format!("`{}` is no URI of an extension", uri.escape_debug());
            return Some((index, text));
        }
        let is_double = extensions[..index].iter().any(|other| other.uri == *uri);
        is_double.then(|| (index, format!("the extension `{uri}` is there twice")))
    };
    extensions.iter().enumerate().filter_map(wrong)
}
