//! The agent card as 0.3 has it, alone or merged into one of 1.0.
//!
//! What 0.3 has no member for (device codes, PKCE, tenants) is left out. So are signatures from the
//! card of 0.3 alone: they cover another shape.

use serde::Serialize;
use std::collections::BTreeMap;

use crate::agent_card::{
    AgentCard, AgentExtension, AgentProvider, AgentSkill, OAuthFlow, OAuthFlows,
    SecurityRequirement, SecurityScheme,
};

/// The 0.3 card, or `None` if no interface of the card speaks 0.3.
#[must_use]
pub fn write_card(card: &AgentCard) -> Option<Vec<u8>> {
    let address = Address::of(card)?;
    let old = OldCard {
        name: &card.name,
        description: &card.description,
        version: &card.version,
        provider: card.provider.as_ref(),
        documentation_url: card.documentation_url.as_deref(),
        icon_url: card.icon_url.as_deref(),
        capabilities: OldCapabilities {
            streaming: card.capabilities.streaming,
            push_notifications: card.capabilities.push_notifications,
            extensions: &card.capabilities.extensions,
        },
        security_schemes: card
            .security_schemes
            .iter()
            .map(|(n, s)| (&**n, old_scheme(s)))
            .collect(),
        security: old_requirements(&card.security_requirements),
        default_input_modes: &card.default_input_modes,
        default_output_modes: &card.default_output_modes,
        skills: card.skills.iter().map(OldSkill::of).collect(),
        address,
    };
    Some(serde_json::to_vec(&old).expect("a card is always JSON"))
}

/// One card for readers of 1.0 and of 0.3: that of 1.0 with the members of 0.3 added, its security
/// schemes in both shapes. `None` if no interface of the card speaks 0.3. Strict readers of 1.0
/// refuse it, so it must not be the default. Signatures are copied; they hold only if they were made
/// over what this writes without them.
#[must_use]
pub fn write_merged_card(card: &AgentCard) -> Option<Vec<u8>> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Added<'a> {
        #[serde(flatten)]
        address: Address<'a>,
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        security_schemes: BTreeMap<&'a str, BothSchemes<'a>>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        security: Vec<BTreeMap<&'a str, &'a [String]>>,
    }
    #[derive(Serialize)]
    struct BothSchemes<'a> {
        #[serde(flatten)]
        new: &'a SecurityScheme,
        #[serde(flatten)]
        old: OldScheme<'a>,
    }
    let both = |scheme| BothSchemes {
        new: scheme,
        old: old_scheme(scheme),
    };
    let added = Added {
        address: Address::of(card)?,
        security_schemes: card
            .security_schemes
            .iter()
            .map(|(n, s)| (&**n, both(s)))
            .collect(),
        security: old_requirements(&card.security_requirements),
    };
    let new = AgentCard {
        security_schemes: BTreeMap::new(),
        ..card.clone()
    };
    let mut json = serde_json::to_vec(&new).expect("a card is always JSON");
    let added = serde_json::to_vec(&added).expect("a card is always JSON");
    json.pop();
    json.push(b',');
    json.extend_from_slice(&added[1..]);
    Some(json)
}

/// Version that is written for `0.3`: the SDKs of that time write the patch number.
const PROTOCOL_VERSION: &str = "0.3.0";

/// The members by which a 0.3 client finds its way.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Address<'a> {
    protocol_version: &'a str,
    url: &'a str,
    preferred_transport: &'a str,
    additional_interfaces: Vec<OldInterface<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    supports_authenticated_extended_card: Option<bool>,
}

#[derive(Serialize)]
struct OldInterface<'a> {
    url: &'a str,
    transport: &'a str,
}

impl<'a> Address<'a> {
    /// The first interface that speaks 0.x is the main one; the list repeats it, as 0.3 asks.
    fn of(card: &'a AgentCard) -> Option<Self> {
        let old = || {
            card.supported_interfaces
                .iter()
                .filter(|i| i.protocol_version.is_empty() || i.protocol_version.starts_with("0."))
        };
        let main = old().next()?;
        let protocol_version = match main.protocol_version.as_str() {
            "" | "0.3" => PROTOCOL_VERSION,
            other => other,
        };
        Some(Self {
            protocol_version,
            url: &main.url,
            preferred_transport: &main.protocol_binding,
            additional_interfaces: old()
                .map(|i| OldInterface {
                    url: &i.url,
                    transport: &i.protocol_binding,
                })
                .collect(),
            supports_authenticated_extended_card: card.capabilities.extended_agent_card,
        })
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OldCard<'a> {
    name: &'a str,
    description: &'a str,
    version: &'a str,
    #[serde(flatten)]
    address: Address<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<&'a AgentProvider>,
    #[serde(skip_serializing_if = "Option::is_none")]
    documentation_url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    icon_url: Option<&'a str>,
    capabilities: OldCapabilities<'a>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    security_schemes: BTreeMap<&'a str, OldScheme<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    security: Vec<BTreeMap<&'a str, &'a [String]>>,
    default_input_modes: &'a [String],
    default_output_modes: &'a [String],
    skills: Vec<OldSkill<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OldCapabilities<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    streaming: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    push_notifications: Option<bool>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    extensions: &'a [AgentExtension],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OldSkill<'a> {
    id: &'a str,
    name: &'a str,
    description: &'a str,
    tags: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    examples: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    input_modes: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    output_modes: &'a [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    security: Vec<BTreeMap<&'a str, &'a [String]>>,
}

impl<'a> OldSkill<'a> {
    fn of(skill: &'a AgentSkill) -> Self {
        Self {
            id: &skill.id,
            name: &skill.name,
            description: &skill.description,
            tags: &skill.tags,
            examples: &skill.examples,
            input_modes: &skill.input_modes,
            output_modes: &skill.output_modes,
            security: old_requirements(&skill.security_requirements),
        }
    }
}

fn old_requirements(requirements: &[SecurityRequirement]) -> Vec<BTreeMap<&str, &[String]>> {
    fn old(requirement: &SecurityRequirement) -> BTreeMap<&str, &[String]> {
        requirement
            .schemes
            .iter()
            .map(|(name, scopes)| (&**name, &*scopes.list))
            .collect()
    }
    requirements.iter().map(old).collect()
}

/// A security scheme, told apart by `type` as in OpenAPI.
#[derive(Serialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
enum OldScheme<'a> {
    ApiKey {
        r#in: &'a str,
        name: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        description: &'a str,
    },
    Http {
        scheme: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        bearer_format: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        description: &'a str,
    },
    #[serde(rename = "oauth2")]
    OAuth2 {
        flows: Box<OldFlows<'a>>,
        #[serde(rename = "oauth2MetadataUrl", skip_serializing_if = "str::is_empty")]
        metadata_url: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        description: &'a str,
    },
    OpenIdConnect {
        open_id_connect_url: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        description: &'a str,
    },
    #[serde(rename = "mutualTLS")]
    MutualTls {
        #[serde(skip_serializing_if = "str::is_empty")]
        description: &'a str,
    },
}

fn old_scheme(scheme: &SecurityScheme) -> OldScheme<'_> {
    match scheme {
        SecurityScheme::ApiKeySecurityScheme(s) => OldScheme::ApiKey {
            r#in: &s.location,
            name: &s.name,
            description: &s.description,
        },
        SecurityScheme::HttpAuthSecurityScheme(s) => OldScheme::Http {
            scheme: &s.scheme,
            bearer_format: &s.bearer_format,
            description: &s.description,
        },
        SecurityScheme::OAuth2SecurityScheme(s) => OldScheme::OAuth2 {
            flows: Box::new(OldFlows::of(&s.flows)),
            metadata_url: &s.oauth2_metadata_url,
            description: &s.description,
        },
        SecurityScheme::OpenIdConnectSecurityScheme(s) => OldScheme::OpenIdConnect {
            open_id_connect_url: &s.open_id_connect_url,
            description: &s.description,
        },
        SecurityScheme::MtlsSecurityScheme(s) => OldScheme::MutualTls {
            description: &s.description,
        },
    }
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct OldFlows<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    authorization_code: Option<OldFlow<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_credentials: Option<OldFlow<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    implicit: Option<OldFlow<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    password: Option<OldFlow<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OldFlow<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    authorization_url: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    token_url: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    refresh_url: &'a str,
    scopes: &'a BTreeMap<String, String>,
}

impl<'a> OldFlows<'a> {
    /// 0.3 knows no device codes: such a scheme has no flow that a 0.3 client could use.
    fn of(flows: &'a OAuthFlows) -> Self {
        let old = |flow: &'a OAuthFlow| {
            Some(OldFlow {
                authorization_url: &flow.authorization_url,
                token_url: &flow.token_url,
                refresh_url: &flow.refresh_url,
                scopes: &flow.scopes,
            })
        };
        match flows {
            OAuthFlows::AuthorizationCode(f) => Self {
                authorization_code: old(f),
                ..Self::default()
            },
            OAuthFlows::ClientCredentials(f) => Self {
                client_credentials: old(f),
                ..Self::default()
            },
            OAuthFlows::Implicit(f) => Self {
                implicit: old(f),
                ..Self::default()
            },
            OAuthFlows::Password(f) => Self {
                password: old(f),
                ..Self::default()
            },
            OAuthFlows::DeviceCode(_) => Self::default(),
        }
    }
}
