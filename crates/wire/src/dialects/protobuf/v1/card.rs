//! Agent cards of `lf.a2a.v1`, and the pieces of them that look the same in 0.3.

use std::collections::BTreeMap;

use crate::agent_card::{
    AgentCapabilities, AgentCard, AgentCardSignature, AgentExtension, AgentInterface,
    AgentProvider, AgentSkill, ApiKeySecurityScheme, HttpAuthSecurityScheme,
    MutualTlsSecurityScheme, OAuth2SecurityScheme, OAuthFlow, OAuthFlows,
    OpenIdConnectSecurityScheme, SecurityRequirement, SecurityScheme, StringList,
};
use crate::dialects::protobuf::generated::lf::a2a::v1 as pb;
use crate::dialects::protobuf::user_json::{struct_in, struct_out};
use crate::dialects::protobuf::wrong::{InField as _, Wrong, each, given, maybe};

pub(super) fn card_out(card: AgentCard) -> Result<pb::AgentCard, Wrong> {
    let interface = |interface: AgentInterface| pb::AgentInterface {
        url: interface.url,
        protocol_binding: interface.protocol_binding,
        tenant: interface.tenant.unwrap_or_default(),
        protocol_version: interface.protocol_version,
    };
    let capabilities = pb::AgentCapabilities {
        streaming: card.capabilities.streaming,
        push_notifications: card.capabilities.push_notifications,
        extensions: extensions_out(card.capabilities.extensions)?,
        extended_agent_card: card.capabilities.extended_agent_card,
    };
    Ok(pb::AgentCard {
        name: card.name,
        description: card.description,
        supported_interfaces: card
            .supported_interfaces
            .into_iter()
            .map(interface)
            .collect(),
        provider: card.provider.map(provider_out),
        version: card.version,
        documentation_url: card.documentation_url,
        capabilities: Some(capabilities),
        security_schemes: schemes_out(card.security_schemes),
        security_requirements: requirements_out(card.security_requirements),
        default_input_modes: card.default_input_modes,
        default_output_modes: card.default_output_modes,
        skills: skills_out(card.skills),
        signatures: each(card.signatures, "signatures", signature_out)?,
        icon_url: card.icon_url,
    })
}

pub(super) fn card_in(card: pb::AgentCard) -> Result<AgentCard, Wrong> {
    let interface = |interface: pb::AgentInterface| AgentInterface {
        url: interface.url,
        protocol_binding: interface.protocol_binding,
        tenant: given(interface.tenant),
        protocol_version: interface.protocol_version,
    };
    let capabilities = card.capabilities.unwrap_or_default();
    Ok(AgentCard {
        name: card.name,
        description: card.description,
        supported_interfaces: card
            .supported_interfaces
            .into_iter()
            .map(interface)
            .collect(),
        provider: card.provider.map(provider_in),
        version: card.version,
        documentation_url: card.documentation_url,
        capabilities: AgentCapabilities {
            streaming: capabilities.streaming,
            push_notifications: capabilities.push_notifications,
            extensions: extensions_in(capabilities.extensions)?,
            extended_agent_card: capabilities.extended_agent_card,
        },
        security_schemes: schemes_in(card.security_schemes)?,
        security_requirements: requirements_in(card.security_requirements),
        default_input_modes: card.default_input_modes,
        default_output_modes: card.default_output_modes,
        skills: skills_in(card.skills),
        signatures: signatures_in(card.signatures)?,
        icon_url: card.icon_url,
    })
}

pub(in crate::dialects::protobuf) fn provider_out(provider: AgentProvider) -> pb::AgentProvider {
    pb::AgentProvider {
        url: provider.url,
        organization: provider.organization,
    }
}

pub(in crate::dialects::protobuf) fn provider_in(provider: pb::AgentProvider) -> AgentProvider {
    AgentProvider {
        url: provider.url,
        organization: provider.organization,
    }
}

pub(in crate::dialects::protobuf) fn extensions_out(
    extensions: Vec<AgentExtension>,
) -> Result<Vec<pb::AgentExtension>, Wrong> {
    each(extensions, "capabilities.extensions", |extension| {
        Ok(pb::AgentExtension {
            params: maybe(extension.params.as_ref(), "params", struct_out)?,
            uri: extension.uri,
            description: extension.description,
            required: extension.required,
        })
    })
}

pub(in crate::dialects::protobuf) fn extensions_in(
    extensions: Vec<pb::AgentExtension>,
) -> Result<Vec<AgentExtension>, Wrong> {
    each(extensions, "capabilities.extensions", |extension| {
        Ok(AgentExtension {
            params: maybe(extension.params.as_ref(), "params", struct_in)?,
            uri: extension.uri,
            description: extension.description,
            required: extension.required,
        })
    })
}

pub(in crate::dialects::protobuf) fn skills_out(skills: Vec<AgentSkill>) -> Vec<pb::AgentSkill> {
    let skill = |skill: AgentSkill| pb::AgentSkill {
        id: skill.id,
        name: skill.name,
        description: skill.description,
        tags: skill.tags,
        examples: skill.examples,
        input_modes: skill.input_modes,
        output_modes: skill.output_modes,
        security_requirements: requirements_out(skill.security_requirements),
    };
    skills.into_iter().map(skill).collect()
}

pub(in crate::dialects::protobuf) fn skills_in(skills: Vec<pb::AgentSkill>) -> Vec<AgentSkill> {
    let skill = |skill: pb::AgentSkill| AgentSkill {
        id: skill.id,
        name: skill.name,
        description: skill.description,
        tags: skill.tags,
        examples: skill.examples,
        input_modes: skill.input_modes,
        output_modes: skill.output_modes,
        security_requirements: requirements_in(skill.security_requirements),
    };
    skills.into_iter().map(skill).collect()
}

fn signature_out(signature: AgentCardSignature) -> Result<pb::AgentCardSignature, Wrong> {
    Ok(pb::AgentCardSignature {
        header: maybe(signature.header.as_ref(), "header", struct_out)?,
        protected: signature.protected,
        signature: signature.signature,
    })
}

pub(in crate::dialects::protobuf) fn signatures_in(
    signatures: Vec<pb::AgentCardSignature>,
) -> Result<Vec<AgentCardSignature>, Wrong> {
    each(signatures, "signatures", |signature| {
        Ok(AgentCardSignature {
            header: maybe(signature.header.as_ref(), "header", struct_in)?,
            protected: signature.protected,
            signature: signature.signature,
        })
    })
}

pub(in crate::dialects::protobuf) fn requirements_out(
    requirements: Vec<SecurityRequirement>,
) -> Vec<pb::SecurityRequirement> {
    let list = |scopes: StringList| pb::StringList { list: scopes.list };
    let requirement = |requirement: SecurityRequirement| pb::SecurityRequirement {
        schemes: named(requirement.schemes, list),
    };
    requirements.into_iter().map(requirement).collect()
}

pub(in crate::dialects::protobuf) fn requirements_in(
    requirements: Vec<pb::SecurityRequirement>,
) -> Vec<SecurityRequirement> {
    let list = |scopes: pb::StringList| StringList { list: scopes.list };
    let requirement = |requirement: pb::SecurityRequirement| SecurityRequirement {
        schemes: named(requirement.schemes, list),
    };
    requirements.into_iter().map(requirement).collect()
}

fn named<A, B>(map: BTreeMap<String, A>, convert: impl Fn(A) -> B) -> BTreeMap<String, B> {
    map.into_iter()
        .map(|(name, value)| (name, convert(value)))
        .collect()
}

pub(in crate::dialects::protobuf) fn schemes_out(
    schemes: BTreeMap<String, SecurityScheme>,
) -> BTreeMap<String, pb::SecurityScheme> {
    named(schemes, scheme_out)
}

fn scheme_out(scheme: SecurityScheme) -> pb::SecurityScheme {
    use pb::security_scheme::Scheme;
    let scheme = match scheme {
        SecurityScheme::ApiKeySecurityScheme(s) => {
            Scheme::ApiKeySecurityScheme(pb::ApiKeySecurityScheme {
                description: s.description,
                location: s.location,
                name: s.name,
            })
        }
        SecurityScheme::HttpAuthSecurityScheme(s) => {
            Scheme::HttpAuthSecurityScheme(pb::HttpAuthSecurityScheme {
                description: s.description,
                scheme: s.scheme,
                bearer_format: s.bearer_format,
            })
        }
        SecurityScheme::OAuth2SecurityScheme(s) => {
            Scheme::Oauth2SecurityScheme(pb::OAuth2SecurityScheme {
                description: s.description,
                flows: Some(flows_out(s.flows)),
                oauth2_metadata_url: s.oauth2_metadata_url,
            })
        }
        SecurityScheme::OpenIdConnectSecurityScheme(s) => {
            Scheme::OpenIdConnectSecurityScheme(pb::OpenIdConnectSecurityScheme {
                description: s.description,
                open_id_connect_url: s.open_id_connect_url,
            })
        }
        SecurityScheme::MtlsSecurityScheme(s) => {
            Scheme::MtlsSecurityScheme(pb::MutualTlsSecurityScheme {
                description: s.description,
            })
        }
    };
    pb::SecurityScheme {
        scheme: Some(scheme),
    }
}

pub(in crate::dialects::protobuf) fn schemes_in(
    schemes: BTreeMap<String, pb::SecurityScheme>,
) -> Result<BTreeMap<String, SecurityScheme>, Wrong> {
    let read = |(name, scheme): (String, pb::SecurityScheme)| {
        let scheme = scheme_in(scheme).in_field(&format!("securitySchemes.{name}"))?;
        Ok((name, scheme))
    };
    schemes.into_iter().map(read).collect()
}

fn scheme_in(scheme: pb::SecurityScheme) -> Result<SecurityScheme, Wrong> {
    use pb::security_scheme::Scheme;
    Ok(match scheme.scheme {
        Some(Scheme::ApiKeySecurityScheme(s)) => {
            SecurityScheme::ApiKeySecurityScheme(ApiKeySecurityScheme {
                description: s.description,
                location: s.location,
                name: s.name,
            })
        }
        Some(Scheme::HttpAuthSecurityScheme(s)) => {
            SecurityScheme::HttpAuthSecurityScheme(HttpAuthSecurityScheme {
                description: s.description,
                scheme: s.scheme,
                bearer_format: s.bearer_format,
            })
        }
        Some(Scheme::Oauth2SecurityScheme(s)) => {
            let flow = s.flows.and_then(|flows| flows.flow);
            SecurityScheme::OAuth2SecurityScheme(OAuth2SecurityScheme {
                description: s.description,
                flows: flow.map(flow_in).ok_or_else(|| Wrong::missing("flows"))?,
                oauth2_metadata_url: s.oauth2_metadata_url,
            })
        }
        Some(Scheme::OpenIdConnectSecurityScheme(s)) => {
            SecurityScheme::OpenIdConnectSecurityScheme(OpenIdConnectSecurityScheme {
                description: s.description,
                open_id_connect_url: s.open_id_connect_url,
            })
        }
        Some(Scheme::MtlsSecurityScheme(s)) => {
            SecurityScheme::MtlsSecurityScheme(MutualTlsSecurityScheme {
                description: s.description,
            })
        }
        None => return Err(Wrong::here("must be one of the known schemes")),
    })
}

fn flows_out(flows: OAuthFlows) -> pb::OAuthFlows {
    use pb::o_auth_flows::Flow;
    let flow = match flows {
        OAuthFlows::AuthorizationCode(f) => {
            Flow::AuthorizationCode(pb::AuthorizationCodeOAuthFlow {
                authorization_url: f.authorization_url,
                token_url: f.token_url,
                refresh_url: f.refresh_url,
                scopes: f.scopes,
                pkce_required: f.pkce_required,
            })
        }
        OAuthFlows::ClientCredentials(f) => {
            Flow::ClientCredentials(pb::ClientCredentialsOAuthFlow {
                token_url: f.token_url,
                refresh_url: f.refresh_url,
                scopes: f.scopes,
            })
        }
        OAuthFlows::Implicit(f) => Flow::Implicit(pb::ImplicitOAuthFlow {
            authorization_url: f.authorization_url,
            refresh_url: f.refresh_url,
            scopes: f.scopes,
        }),
        OAuthFlows::Password(f) => Flow::Password(pb::PasswordOAuthFlow {
            token_url: f.token_url,
            refresh_url: f.refresh_url,
            scopes: f.scopes,
        }),
        OAuthFlows::DeviceCode(f) => Flow::DeviceCode(pb::DeviceCodeOAuthFlow {
            device_authorization_url: f.device_authorization_url,
            token_url: f.token_url,
            refresh_url: f.refresh_url,
            scopes: f.scopes,
        }),
    };
    pb::OAuthFlows { flow: Some(flow) }
}

fn flow_in(flow: pb::o_auth_flows::Flow) -> OAuthFlows {
    use pb::o_auth_flows::Flow;
    match flow {
        Flow::AuthorizationCode(f) => OAuthFlows::AuthorizationCode(OAuthFlow {
            authorization_url: f.authorization_url,
            token_url: f.token_url,
            refresh_url: f.refresh_url,
            scopes: f.scopes,
            pkce_required: f.pkce_required,
            ..OAuthFlow::default()
        }),
        Flow::ClientCredentials(f) => OAuthFlows::ClientCredentials(OAuthFlow {
            token_url: f.token_url,
            refresh_url: f.refresh_url,
            scopes: f.scopes,
            ..OAuthFlow::default()
        }),
        Flow::Implicit(f) => OAuthFlows::Implicit(OAuthFlow {
            authorization_url: f.authorization_url,
            refresh_url: f.refresh_url,
            scopes: f.scopes,
            ..OAuthFlow::default()
        }),
        Flow::Password(f) => OAuthFlows::Password(OAuthFlow {
            token_url: f.token_url,
            refresh_url: f.refresh_url,
            scopes: f.scopes,
            ..OAuthFlow::default()
        }),
        Flow::DeviceCode(f) => OAuthFlows::DeviceCode(OAuthFlow {
            device_authorization_url: f.device_authorization_url,
            token_url: f.token_url,
            refresh_url: f.refresh_url,
            scopes: f.scopes,
            ..OAuthFlow::default()
        }),
    }
}
