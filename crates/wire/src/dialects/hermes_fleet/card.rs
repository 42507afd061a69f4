//! The card of a fleet agent: snake_case, security schemes as a list, and a binding of its own.

use serde::Serialize;
use std::collections::BTreeMap;

use crate::agent_card::{AgentCard, AgentInterface, AgentProvider, AgentSkill};
use crate::dialects::v1;

/// The name of the binding on such cards.
pub const BINDING: &str = "http://a2a-protocol.hermes.ai";
/// Stands as `protocol_version` on the interface of a card of this dialect, which itself says 1.0.
/// It tells a client to speak this dialect.
pub const PROTOCOL_VERSION: &str = "hermes-fleet";

/// Whether a card is one of this dialect: by its binding, else by two members that no other has.
pub(in crate::dialects) fn describes(
    interfaces: &[AgentInterface],
    has_agent_id: bool,
    protocol: &str,
) -> bool {
    interfaces.iter().any(|it| it.protocol_binding == BINDING) || has_agent_id && protocol == "a2a"
}

/// The card of the agent `agent_id`, which is called at `url`.
#[must_use]
pub fn write_card(card: &AgentCard, agent_id: &str, url: &str) -> Vec<u8> {
    let mut out = Vec::new();
    v1::write(&FleetCard::of(card, agent_id, url), &mut out);
    out
}

/// Appends an extended card; it is called where its first interface says.
pub(super) fn write_extended_card(card: &AgentCard, out: &mut Vec<u8>) {
    let url = card.supported_interfaces.first().map_or("", |it| &it.url);
    v1::write(&FleetCard::of(card, &card.name, url), out);
}

#[derive(Serialize)]
struct FleetCard<'a> {
    name: &'a str,
    #[serde(rename = "agentId")]
    agent_id: &'a str,
    description: &'a str,
    url: &'a str,
    version: &'a str,
    protocol: &'a str,
    #[serde(rename = "protocolVersion")]
    protocol_version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<&'a AgentProvider>,
    capabilities: Capabilities,
    skills: Vec<Skill<'a>>,
    supported_interfaces: [Interface<'a>; 1],
    default_input_modes: &'a [String],
    default_output_modes: &'a [String],
    security_schemes: Vec<Scheme>,
    security_requirements: Vec<BTreeMap<&'a str, [&'a str; 0]>>,
}

#[derive(Serialize)]
struct Capabilities {
    streaming: bool,
    push_notifications: bool,
    extensions: bool,
    extended_agent_card: bool,
}

#[derive(Serialize)]
struct Skill<'a> {
    id: &'a str,
    name: &'a str,
    description: &'a str,
    tags: &'a [String],
}

#[derive(Serialize)]
struct Interface<'a> {
    url: &'a str,
    protocol_binding: &'a str,
    protocol_version: &'a str,
}

#[derive(Serialize)]
struct Scheme {
    #[serde(rename = "type")]
    kind: &'static str,
}

impl<'a> FleetCard<'a> {
    fn of(card: &'a AgentCard, agent_id: &'a str, url: &'a str) -> Self {
        let capabilities = &card.capabilities;
        let bearer = !card.security_schemes.is_empty();
        let required = !card.security_requirements.is_empty();
        Self {
            name: &card.name,
            agent_id,
            description: &card.description,
            url,
            version: &card.version,
            protocol: "a2a",
            protocol_version: "1.0",
            provider: card.provider.as_ref(),
            capabilities: Capabilities {
                streaming: capabilities.streaming.unwrap_or(false),
                push_notifications: capabilities.push_notifications.unwrap_or(false),
                extensions: false,
                extended_agent_card: capabilities.extended_agent_card.unwrap_or(false),
            },
            skills: card.skills.iter().map(skill).collect(),
            supported_interfaces: [Interface {
                url,
                protocol_binding: BINDING,
                protocol_version: "1.0",
            }],
            default_input_modes: &card.default_input_modes,
            default_output_modes: &card.default_output_modes,
            // The one scheme that clients of this dialect know.
            security_schemes: bearer
                .then_some(Scheme { kind: "bearer" })
                .into_iter()
                .collect(),
            security_requirements: required
                .then(|| BTreeMap::from([("bearer", [])]))
                .into_iter()
                .collect(),
        }
    }
}

fn skill(skill: &AgentSkill) -> Skill<'_> {
    Skill {
        id: &skill.id,
        name: &skill.name,
        description: &skill.description,
        tags: &skill.tags,
    }
}
