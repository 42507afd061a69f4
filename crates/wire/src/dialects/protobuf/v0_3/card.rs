//! Agent cards of `a2a.v1`. Signatures are left out: they cover another shape.

use crate::agent_card::{AgentCapabilities, AgentCard, AgentInterface};
use crate::dialects::protobuf::generated::a2a::v1 as pb;
use crate::dialects::protobuf::v1;
use crate::dialects::protobuf::wrong::{Wrong, given};
use crate::version::Version;

/// Version that is written where a card names none: the SDKs of that time write the patch number.
const PROTOCOL_VERSION: &str = "0.3.0";
/// What an absent `preferred_transport` means.
const DEFAULT_TRANSPORT: &str = "JSONRPC";

/// The main address is the first interface of 0.x, else the first one.
pub(super) fn card_out(card: AgentCard) -> Result<pb::AgentCard, Wrong> {
    let is_old = |interface: &&AgentInterface| {
        interface.protocol_version.is_empty() || interface.protocol_version.starts_with("0.")
    };
    let interfaces = &card.supported_interfaces;
    let main = interfaces
        .iter()
        .find(is_old)
        .or_else(|| interfaces.first());
    let interface = |interface: &AgentInterface| pb::AgentInterface {
        url: interface.url.clone(),
        transport: interface.protocol_binding.clone(),
    };
    Ok(pb::AgentCard {
        url: main.map(|main| main.url.clone()).unwrap_or_default(),
        preferred_transport: main
            .map(|main| main.protocol_binding.clone())
            .unwrap_or_default(),
        additional_interfaces: interfaces.iter().filter(is_old).map(interface).collect(),
        protocol_version: PROTOCOL_VERSION.to_owned(),
        name: card.name,
        description: card.description,
        provider: card.provider.map(v1::provider_out),
        version: card.version,
        documentation_url: card.documentation_url.unwrap_or_default(),
        capabilities: Some(pb::AgentCapabilities {
            streaming: card.capabilities.streaming.unwrap_or_default(),
            push_notifications: card.capabilities.push_notifications.unwrap_or_default(),
            extensions: v1::extensions_out(card.capabilities.extensions)?,
        }),
        security_schemes: v1::schemes_out(card.security_schemes),
        security: v1::requirements_out(card.security_requirements),
        default_input_modes: card.default_input_modes,
        default_output_modes: card.default_output_modes,
        skills: v1::skills_out(card.skills),
        supports_authenticated_extended_card: card
            .capabilities
            .extended_agent_card
            .unwrap_or_default(),
        signatures: Vec::new(),
        icon_url: card.icon_url.unwrap_or_default(),
    })
}

pub(super) fn card_in(card: pb::AgentCard) -> Result<AgentCard, Wrong> {
    let version = card.protocol_version.parse::<Version>();
    let version = version.unwrap_or(Version::V0_3).to_string();
    let interface = |url: String, transport: String| AgentInterface {
        url,
        protocol_binding: given(transport).unwrap_or_else(|| DEFAULT_TRANSPORT.to_owned()),
        tenant: None,
        protocol_version: version.clone(),
    };
    let mut interfaces = vec![interface(card.url, card.preferred_transport)];
    for other in card.additional_interfaces {
        let other = interface(other.url, other.transport);
        if !interfaces.contains(&other) {
            interfaces.push(other);
        }
    }
    let capabilities = card.capabilities.unwrap_or_default();
    Ok(AgentCard {
        name: card.name,
        description: card.description,
        supported_interfaces: interfaces,
        provider: card.provider.map(v1::provider_in),
        version: card.version,
        documentation_url: given(card.documentation_url),
        capabilities: AgentCapabilities {
            streaming: Some(capabilities.streaming),
            push_notifications: Some(capabilities.push_notifications),
            extensions: v1::extensions_in(capabilities.extensions)?,
            extended_agent_card: Some(card.supports_authenticated_extended_card),
        },
        security_schemes: v1::schemes_in(card.security_schemes)?,
        security_requirements: v1::requirements_in(card.security),
        default_input_modes: card.default_input_modes,
        default_output_modes: card.default_output_modes,
        skills: v1::skills_in(card.skills),
        signatures: v1::signatures_in(card.signatures)?,
        icon_url: given(card.icon_url),
    })
}
