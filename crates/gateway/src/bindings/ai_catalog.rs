//! `/.well-known/ai-catalog.json`: every agent served here with the address of its card.
//!
//! The shape is that of the AI Catalog specification 0.9, "Core Catalog": <https://ai-catalog.io/>.
//! An A2A card bears its own name, description and version, so an entry repeats none of them.

use http::HeaderValue;
use nuncio_wire::AgentSkill;
use serde::Serialize;
use std::collections::BTreeSet;

use crate::agents::Agents;
use crate::card::BaseUrl;

/// The media type of a catalog.
pub(super) const MEDIA_TYPE: HeaderValue = HeaderValue::from_static("application/ai-catalog+json");
/// The edition of the specification.
const SPEC_VERSION: &str = "0.9";
/// What an entry's address leads to.
const AGENT_CARD: &str = "application/a2a-agent-card+json";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Catalog {
    spec_version: &'static str,
    entries: Vec<Entry>,
}

#[derive(Serialize)]
struct Entry {
    identifier: String,
    r#type: &'static str,
    url: String,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    tags: BTreeSet<String>,
}

/// The catalog of these agents, in the order of the configuration.
pub(super) fn write(agents: &Agents, base: &BaseUrl) -> Vec<u8> {
    let publisher = base.host();
    let entries = agents.listed().map(|agent| Entry {
        identifier: format!("urn:air:{publisher}:agent:{}", agent.name),
        r#type: AGENT_CARD,
        url: base
            .of_agent(agent)
            .card_url(&agent.name, agents.is_at_root(agent)),
        tags: agent
            .config
            .skills
            .iter()
            .map(crate::card::skill)
            .flat_map(|skill: AgentSkill| skill.tags)
            .collect(),
    });
    let catalog = Catalog {
        spec_version: SPEC_VERSION,
        entries: entries.collect(),
    };
    serde_json::to_vec(&catalog).expect("a catalog has a JSON form")
}
