//! The card at `agent.json`: one document that clients of 2025-04 accept, which insist on many
//! members, and that readers of 1.0 understand too.

use serde::Serialize;
use std::collections::BTreeMap;

use crate::agent_card::{
    AgentCard, AgentExtension, AgentInterface, AgentProvider, AgentSkill, SecurityRequirement,
    SecurityScheme,
};
use crate::dialects::v1;

/// Stands as `protocol_version` on the interface of a card of this generation, which itself names
/// none. It tells a client to speak this dialect.
pub const PROTOCOL_VERSION: &str = "2025-04";
/// Version that all cards of OpenFang carry.
pub const CARD_VERSION: &str = "0.1.0";

/// Whether a card's address is the one that all cards of OpenFang name: nothing answers there.
#[must_use]
pub fn is_card_url(url: &str) -> bool {
    url.ends_with("/a2a")
}

/// Whether a card that was read is OpenFang's: messages to it then go to `{base}/a2a/tasks/send`.
#[must_use]
pub fn is_openfang(card: &AgentCard) -> bool {
    let is_legacy = card
        .supported_interfaces
        .iter()
        .any(|i| i.protocol_version == PROTOCOL_VERSION && is_card_url(&i.url));
    is_legacy
        && card.version == CARD_VERSION
        && card.capabilities.streaming == Some(true)
        && card.capabilities.push_notifications != Some(true)
}

/// The dual card: `legacy_url` is where JSON-RPC of this dialect is served. Members by which a 0.3
/// client would take that address for its own are left out, and so are signatures.
#[must_use]
pub fn write_card(card: &AgentCard, legacy_url: &str) -> Vec<u8> {
    let dual = DualCard {
        name: &card.name,
        description: or(&card.description, &card.name),
        url: legacy_url,
        version: &card.version,
        capabilities: DualCapabilities {
            streaming: card.capabilities.streaming.unwrap_or(false),
            push_notifications: card.capabilities.push_notifications.unwrap_or(false),
            state_transition_history: false,
            extended_agent_card: card.capabilities.extended_agent_card.unwrap_or(false),
            extensions: &card.capabilities.extensions,
        },
        skills: card.skills.iter().map(DualSkill::of).collect(),
        default_input_modes: &card.default_input_modes,
        default_output_modes: &card.default_output_modes,
        supported_interfaces: &card.supported_interfaces,
        provider: card.provider.as_ref(),
        documentation_url: card.documentation_url.as_deref(),
        icon_url: card.icon_url.as_deref(),
        security_schemes: &card.security_schemes,
        security_requirements: &card.security_requirements,
    };
    let mut json = Vec::new();
    v1::write(&dual, &mut json);
    json
}

fn or<'a>(text: &'a str, otherwise: &'a str) -> &'a str {
    if text.is_empty() { otherwise } else { text }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DualCard<'a> {
    name: &'a str,
    description: &'a str,
    url: &'a str,
    version: &'a str,
    capabilities: DualCapabilities<'a>,
    skills: Vec<DualSkill<'a>>,
    default_input_modes: &'a [String],
    default_output_modes: &'a [String],
    supported_interfaces: &'a [AgentInterface],
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<&'a AgentProvider>,
    #[serde(skip_serializing_if = "Option::is_none")]
    documentation_url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    icon_url: Option<&'a str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    security_schemes: &'a BTreeMap<String, SecurityScheme>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    security_requirements: &'a [SecurityRequirement],
}

/// All three booleans of 2025-04 must be there.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DualCapabilities<'a> {
    streaming: bool,
    push_notifications: bool,
    state_transition_history: bool,
    extended_agent_card: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    extensions: &'a [AgentExtension],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DualSkill<'a> {
    id: &'a str,
    name: &'a str,
    description: &'a str,
    tags: &'a [String],
    examples: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    input_modes: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    output_modes: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    security_requirements: &'a [SecurityRequirement],
}

impl<'a> DualSkill<'a> {
    fn of(skill: &'a AgentSkill) -> Self {
        let name = or(&skill.name, &skill.id);
        Self {
            id: or(&skill.id, &skill.name),
            name,
            description: or(&skill.description, name),
            tags: &skill.tags,
            examples: &skill.examples,
            input_modes: &skill.input_modes,
            output_modes: &skill.output_modes,
            security_requirements: &skill.security_requirements,
        }
    }
}
