//! Reads the agent card of any generation into the one of 1.0.
//!
//! Cards mix the generations freely, so every member is taken where it stands. It never judges
//! whether a card may be trusted: addresses and texts in it are a stranger's word.

mod security;

use std::collections::BTreeMap;

use crate::agent_card::{
    AgentCapabilities, AgentCard, AgentCardSignature, AgentExtension, AgentInterface,
    AgentProvider, AgentSkill, SecurityRequirement,
};
use crate::dialects::{hermes_fleet, openfang};
use crate::json::{RawJson, is_deeper_than, json_object};
use crate::limits::MAX_JSON_DEPTH;
use crate::version::Version;

/// Whose shape a card has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CardGeneration {
    /// `supportedInterfaces`; members of 0.3 may stand beside it.
    V1,
    /// Top-level `url`: 0.3 or 0.2. `protocol_version` of the interfaces says which.
    V0_3,
    /// The first public A2A of April 2025, such as OpenFang's. `protocol_version` of its interface
    /// is [`openfang::PROTOCOL_VERSION`].
    Legacy,
}

/// The bytes are no agent card.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CardError {
    /// Not one JSON value in UTF-8, or nested too deeply.
    #[error("the agent card is not JSON: {0}")]
    NotJson(String),
    /// JSON, but without name and address.
    #[error("this is no agent card: {0}")]
    NotACard(String),
}

/// Reads a card: of 1.0, 0.3, 0.2 or 2025-04, merged ones, and in camelCase or snake_case. Old
/// addresses become entries of `supported_interfaces`, the main one first.
pub fn read_card(json: &[u8]) -> Result<(AgentCard, CardGeneration), CardError> {
    let text = std::str::from_utf8(json).map_err(|_| CardError::NotJson("not UTF-8".to_owned()))?;
    if is_deeper_than(text, MAX_JSON_DEPTH) {
        return Err(CardError::NotJson("nested too deeply".to_owned()));
    }
    let card: AnyCard = serde_json::from_str(text).map_err(|error| {
        if error.is_data() {
            CardError::NotACard(error.to_string())
        } else {
            CardError::NotJson(error.to_string())
        }
    })?;
    if card.name.is_empty() && card.url.is_none() && card.supported_interfaces.is_empty() {
        let message = "it has neither a name nor an address";
        return Err(CardError::NotACard(message.to_owned()));
    }
    Ok(card.convert())
}

struct AnyCard {
    name: String,
    description: String,
    version: String,
    provider: Option<AgentProvider>,
    documentation_url: Option<String>,
    icon_url: Option<String>,
    capabilities: AnyCapabilities,
    default_input_modes: Vec<String>,
    default_output_modes: Vec<String>,
    skills: Vec<AnySkill>,
    security_schemes: Option<RawJson>,
    security_requirements: Option<RawJson>,
    security: Option<RawJson>,
    signatures: Vec<AgentCardSignature>,
    supported_interfaces: Vec<AgentInterface>,
    url: Option<String>,
    protocol_version: Option<String>,
    preferred_transport: Option<String>,
    additional_interfaces: Option<Vec<OldInterface>>,
    supports_extended_card: Option<bool>,
    agent_id: Option<RawJson>,
    protocol: Option<RawJson>,
}

json_object!(AnyCard {
    name: "name",
    description: "description",
    version: "version",
    provider: "provider",
    documentation_url: "documentationUrl" | "documentation_url",
    icon_url: "iconUrl" | "icon_url",
    capabilities: "capabilities",
    default_input_modes: "defaultInputModes" | "default_input_modes",
    default_output_modes: "defaultOutputModes" | "default_output_modes",
    skills: "skills",
    security_schemes: "securitySchemes" | "security_schemes",
    security_requirements: "securityRequirements" | "security_requirements",
    security: "security",
    signatures: "signatures",
    supported_interfaces: "supportedInterfaces" | "supported_interfaces",
    url: "url",
    protocol_version: "protocolVersion" | "protocol_version",
    preferred_transport: "preferredTransport" | "preferred_transport",
    additional_interfaces: "additionalInterfaces" | "additional_interfaces",
    supports_extended_card: "supportsAuthenticatedExtendedCard"
        | "supports_authenticated_extended_card",
    agent_id: "agentId" | "agent_id",
    protocol: "protocol",
});

#[derive(Default)]
struct OldInterface {
    url: String,
    transport: String,
}

json_object!(OldInterface {
    url: "url",
    transport: "transport"
});

/// Some servers put other types where booleans belong: then the capability is unknown.
#[derive(Default)]
struct AnyCapabilities {
    streaming: Option<RawJson>,
    push_notifications: Option<RawJson>,
    old_push_notifications: Option<RawJson>,
    extended_agent_card: Option<RawJson>,
    state_transition_history: Option<RawJson>,
    extensions: Option<RawJson>,
}

// One server writes the same capability in both spellings, so they are no doubles here.
json_object!(AnyCapabilities {
    streaming: "streaming",
    push_notifications: "pushNotifications",
    old_push_notifications: "push_notifications",
    extended_agent_card: "extendedAgentCard" | "extended_agent_card",
    state_transition_history: "stateTransitionHistory" | "state_transition_history",
    extensions: "extensions",
});

impl AnyCapabilities {
    fn convert(&self, supports_extended_card: Option<bool>) -> AgentCapabilities {
        let extensions: Option<Vec<AgentExtension>> =
            self.extensions.as_ref().and_then(|list| list.read().ok());
        let push = flag(&self.push_notifications).or(flag(&self.old_push_notifications));
        AgentCapabilities {
            streaming: flag(&self.streaming),
            push_notifications: push,
            extensions: extensions.unwrap_or_default(),
            extended_agent_card: flag(&self.extended_agent_card).or(supports_extended_card),
        }
    }
}

fn flag(value: &Option<RawJson>) -> Option<bool> {
    value.as_ref().and_then(|value| value.read().ok())
}

#[derive(Default)]
struct AnySkill {
    id: String,
    name: String,
    description: String,
    tags: Vec<String>,
    examples: Vec<String>,
    input_modes: Vec<String>,
    output_modes: Vec<String>,
    security_requirements: Option<RawJson>,
    security: Option<RawJson>,
}

json_object!(AnySkill {
    id: "id",
    name: "name",
    description: "description",
    tags: "tags",
    examples: "examples",
    input_modes: "inputModes" | "input_modes",
    output_modes: "outputModes" | "output_modes",
    security_requirements: "securityRequirements" | "security_requirements",
    security: "security",
});

impl From<AnySkill> for AgentSkill {
    fn from(any: AnySkill) -> Self {
        Self {
            id: any.id,
            name: any.name,
            description: any.description,
            tags: any.tags,
            examples: any.examples,
            input_modes: any.input_modes,
            output_modes: any.output_modes,
            security_requirements: requirements(any.security_requirements, any.security),
        }
    }
}

fn requirements(new: Option<RawJson>, old: Option<RawJson>) -> Vec<SecurityRequirement> {
    let read = |raw: Option<RawJson>| raw.map(|raw| security::read_requirements(&raw));
    let new = read(new).filter(|list| !list.is_empty());
    new.or_else(|| read(old)).unwrap_or_default()
}

impl AnyCard {
    fn convert(mut self) -> (AgentCard, CardGeneration) {
        let generation = self.generation();
        let supported_interfaces = self.interfaces(generation);
        let schemes = self.security_schemes.take();
        let card = AgentCard {
            name: self.name,
            description: self.description,
            supported_interfaces,
            provider: self.provider,
            version: self.version,
            documentation_url: self.documentation_url,
            capabilities: self.capabilities.convert(self.supports_extended_card),
            security_schemes: schemes.map_or_else(BTreeMap::new, |s| security::read_schemes(&s)),
            security_requirements: requirements(self.security_requirements, self.security),
            default_input_modes: self.default_input_modes,
            default_output_modes: self.default_output_modes,
            skills: self.skills.into_iter().map(AgentSkill::from).collect(),
            signatures: self.signatures,
            icon_url: self.icon_url,
        };
        (card, generation)
    }

    /// An old card that names no version is of 2025-04 if it has all three capabilities of that
    /// time, since its readers insist on them, or OpenFang's address.
    fn generation(&self) -> CardGeneration {
        if !self.supported_interfaces.is_empty() {
            return CardGeneration::V1;
        }
        let is_named = self.protocol_version.is_some()
            || self.preferred_transport.is_some()
            || self.additional_interfaces.is_some()
            || self.supports_extended_card.is_some();
        let capabilities = &self.capabilities;
        let has_all = flag(&capabilities.streaming).is_some()
            && flag(&capabilities.push_notifications).is_some()
            && flag(&capabilities.state_transition_history).is_some();
        let is_openfang = self.version == openfang::CARD_VERSION
            && self.url.as_deref().is_some_and(openfang::is_card_url);
        if !is_named && (has_all || is_openfang) {
            CardGeneration::Legacy
        } else {
            CardGeneration::V0_3
        }
    }

    fn interfaces(&mut self, generation: CardGeneration) -> Vec<AgentInterface> {
        let mut interfaces = std::mem::take(&mut self.supported_interfaces);
        let protocol = self
            .protocol
            .as_ref()
            .and_then(|it| it.read::<String>().ok());
        let has_agent_id = self.agent_id.is_some();
        if hermes_fleet::describes(&interfaces, has_agent_id, &protocol.unwrap_or_default()) {
            return self.fleet_interface(interfaces);
        }
        for interface in &mut interfaces {
            if interface.protocol_version.is_empty() {
                Version::V1_0
                    .to_string()
                    .clone_into(&mut interface.protocol_version);
            }
        }
        let version = match (generation, self.protocol_version.as_deref()) {
            (CardGeneration::Legacy, _) => openfang::PROTOCOL_VERSION.to_owned(),
            (CardGeneration::V0_3, None) => Version::V0_3.to_string(),
            (_, Some(text)) => text
                .parse::<Version>()
                .map_or(text.to_owned(), |v| v.to_string()),
            // The top-level url of a 1.0 card without a version repeats one of its interfaces.
            (CardGeneration::V1, None) => return interfaces,
        };
        if !version.starts_with("0.") && generation == CardGeneration::V1 {
            return interfaces;
        }
        let main = self.url.take().map(|url| {
            let transport = self.preferred_transport.take().unwrap_or_default();
            OldInterface { url, transport }
        });
        let others = self.additional_interfaces.take().unwrap_or_default();
        for old in main.into_iter().chain(others) {
            add(&mut interfaces, old, &version);
        }
        interfaces
    }
}

impl AnyCard {
    /// Fleet agents have one address: the card's own, else that of their binding.
    fn fleet_interface(&mut self, interfaces: Vec<AgentInterface>) -> Vec<AgentInterface> {
        let listed = interfaces.into_iter().map(|interface| interface.url).next();
        let url = self.url.take().filter(|url| !url.is_empty()).or(listed);
        let interface = |url| AgentInterface {
            url,
            protocol_binding: "JSONRPC".to_owned(),
            tenant: None,
            protocol_version: hermes_fleet::PROTOCOL_VERSION.to_owned(),
        };
        url.map(interface).into_iter().collect()
    }
}

/// The list of a 0.3 card repeats its main address, and a merged card repeats them all.
fn add(interfaces: &mut Vec<AgentInterface>, old: OldInterface, version: &str) {
    let OldInterface { url, mut transport } = old;
    if transport.is_empty() {
        "JSONRPC".clone_into(&mut transport);
    }
    let minor = |version: &str| version.parse::<Version>().ok();
    let is_known = interfaces.iter().any(|known| {
        known.url == url
            && known.protocol_binding.eq_ignore_ascii_case(&transport)
            && (known.protocol_version == version
                || minor(&known.protocol_version) == minor(version))
    });
    if !is_known {
        interfaces.push(AgentInterface {
            url,
            protocol_binding: transport,
            tenant: None,
            protocol_version: version.to_owned(),
        });
    }
}
