//! The agent card: who an agent is and how it is reached (specification 4.4, 8).
//!
//! Presence matters here, because signatures cover it: members that the proto marks `optional` stay
//! when they are set, all others are left out when empty.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::json::{Metadata, is_false, null_as_default, optional_metadata};
use crate::message::empty_as_none;

/// The self-description an agent publishes (specification 4.4.1).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentCard {
    /// Name for people; required.
    #[serde(default, deserialize_with = "null_as_default")]
    pub name: String,
    /// What it does; required.
    #[serde(default, deserialize_with = "null_as_default")]
    pub description: String,
    /// Where it is reached, most wanted first; required.
    #[serde(
        default,
        alias = "supported_interfaces",
        deserialize_with = "null_as_default"
    )]
    pub supported_interfaces: Vec<AgentInterface>,
    /// Who runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<AgentProvider>,
    /// The agent's own version; required.
    #[serde(default, deserialize_with = "null_as_default")]
    pub version: String,
    /// Where its manual is.
    #[serde(
        default,
        alias = "documentation_url",
        skip_serializing_if = "Option::is_none"
    )]
    pub documentation_url: Option<String>,
    /// What it can; required.
    #[serde(default, deserialize_with = "null_as_default")]
    pub capabilities: AgentCapabilities,
    /// Ways to authenticate, by name.
    #[serde(
        default,
        alias = "security_schemes",
        deserialize_with = "null_as_default",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub security_schemes: BTreeMap<String, SecurityScheme>,
    /// Which of them are needed: one entry suffices, all schemes inside an entry are needed.
    #[serde(
        default,
        alias = "security_requirements",
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub security_requirements: Vec<SecurityRequirement>,
    /// Media types it takes; required.
    #[serde(
        default,
        alias = "default_input_modes",
        deserialize_with = "null_as_default"
    )]
    pub default_input_modes: Vec<String>,
    /// Media types it gives; required.
    #[serde(
        default,
        alias = "default_output_modes",
        deserialize_with = "null_as_default"
    )]
    pub default_output_modes: Vec<String>,
    /// What it is good at; required.
    #[serde(default, deserialize_with = "null_as_default")]
    pub skills: Vec<AgentSkill>,
    /// Signatures over the canonical form of everything else (specification 8.4).
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub signatures: Vec<AgentCardSignature>,
    /// Its picture.
    #[serde(default, alias = "icon_url", skip_serializing_if = "Option::is_none")]
    pub icon_url: Option<String>,
}

/// One address of an agent (specification 4.4.6).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentInterface {
    /// The endpoint, used exactly as written; for gRPC `host:port`.
    #[serde(default, deserialize_with = "null_as_default")]
    pub url: String,
    /// `JSONRPC`, `GRPC`, `HTTP+JSON` or a URI.
    #[serde(
        default,
        alias = "protocol_binding",
        deserialize_with = "null_as_default"
    )]
    pub protocol_binding: String,
    /// Routing label to copy into every request.
    #[serde(
        default,
        deserialize_with = "empty_as_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub tenant: Option<String>,
    /// `1.0`, `0.3`.
    #[serde(
        default,
        alias = "protocol_version",
        deserialize_with = "null_as_default"
    )]
    pub protocol_version: String,
}

/// Who runs an agent (specification 4.4.2).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentProvider {
    /// Its web address.
    #[serde(default, deserialize_with = "null_as_default")]
    pub url: String,
    /// Its name.
    #[serde(default, deserialize_with = "null_as_default")]
    pub organization: String,
}

/// What an agent can (specification 4.4.3). All three switches have explicit presence.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentCapabilities {
    /// Streams events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streaming: Option<bool>,
    /// Sends push notifications.
    #[serde(
        default,
        alias = "push_notifications",
        skip_serializing_if = "Option::is_none"
    )]
    pub push_notifications: Option<bool>,
    /// Extensions of the protocol it knows or requires.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub extensions: Vec<AgentExtension>,
    /// Has an extended card for authenticated callers.
    #[serde(
        default,
        alias = "extended_agent_card",
        skip_serializing_if = "Option::is_none"
    )]
    pub extended_agent_card: Option<bool>,
}

/// One extension of the protocol (specification 4.6).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentExtension {
    /// Names the extension and its version.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub uri: String,
    /// How the agent uses it.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub description: String,
    /// Whether a client must declare it.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "is_false"
    )]
    pub required: bool,
    /// Settings of the extension.
    #[serde(
        default,
        deserialize_with = "optional_metadata",
        skip_serializing_if = "Option::is_none"
    )]
    pub params: Option<Metadata>,
}

/// One thing an agent is good at (specification 4.4.5).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentSkill {
    /// Unique on the card; required.
    #[serde(default, deserialize_with = "null_as_default")]
    pub id: String,
    /// Name for people; required.
    #[serde(default, deserialize_with = "null_as_default")]
    pub name: String,
    /// What it does; required.
    #[serde(default, deserialize_with = "null_as_default")]
    pub description: String,
    /// Words to find it by; required.
    #[serde(default, deserialize_with = "null_as_default")]
    pub tags: Vec<String>,
    /// Things one may say to it.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub examples: Vec<String>,
    /// Media types it takes, if not the card's.
    #[serde(
        default,
        alias = "input_modes",
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub input_modes: Vec<String>,
    /// Media types it gives, if not the card's.
    #[serde(
        default,
        alias = "output_modes",
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub output_modes: Vec<String>,
    /// Which security schemes it needs, if not the card's.
    #[serde(
        default,
        alias = "security_requirements",
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub security_requirements: Vec<SecurityRequirement>,
}

/// A JWS over the card (specification 8.4.2).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentCardSignature {
    /// base64url of the protected header.
    #[serde(default, deserialize_with = "null_as_default")]
    pub protected: String,
    /// base64url of the signature.
    #[serde(default, deserialize_with = "null_as_default")]
    pub signature: String,
    /// Unprotected header.
    #[serde(
        default,
        deserialize_with = "optional_metadata",
        skip_serializing_if = "Option::is_none"
    )]
    pub header: Option<Metadata>,
}

/// Schemes that are needed together, each with its scopes (specification 4.5.1).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecurityRequirement {
    /// Scopes by scheme name.
    #[serde(default, deserialize_with = "null_as_default")]
    pub schemes: BTreeMap<String, StringList>,
}

/// A list in its own object, as the proto's maps need it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StringList {
    /// The strings.
    #[serde(default, deserialize_with = "null_as_default")]
    pub list: Vec<String>,
}

/// One way to authenticate (specification 4.5.2): exactly one member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SecurityScheme {
    /// A key in a header, a query parameter or a cookie.
    #[serde(alias = "api_key_security_scheme")]
    ApiKeySecurityScheme(ApiKeySecurityScheme),
    /// An HTTP scheme such as Bearer or Basic.
    #[serde(alias = "http_auth_security_scheme")]
    HttpAuthSecurityScheme(HttpAuthSecurityScheme),
    /// OAuth 2.
    #[serde(rename = "oauth2SecurityScheme", alias = "oauth2_security_scheme")]
    OAuth2SecurityScheme(OAuth2SecurityScheme),
    /// OpenID Connect.
    #[serde(alias = "open_id_connect_security_scheme")]
    OpenIdConnectSecurityScheme(OpenIdConnectSecurityScheme),
    /// A client certificate.
    #[serde(alias = "mtls_security_scheme")]
    MtlsSecurityScheme(MutualTlsSecurityScheme),
}

/// A key in a header, a query parameter or a cookie.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiKeySecurityScheme {
    /// For people.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub description: String,
    /// `query`, `header` or `cookie`; required.
    #[serde(default, deserialize_with = "null_as_default")]
    pub location: String,
    /// Name of the header, parameter or cookie; required.
    #[serde(default, deserialize_with = "null_as_default")]
    pub name: String,
}

/// An HTTP authentication scheme.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HttpAuthSecurityScheme {
    /// For people.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub description: String,
    /// `Bearer`, `Basic`; required.
    #[serde(default, deserialize_with = "null_as_default")]
    pub scheme: String,
    /// A hint such as `JWT`.
    #[serde(
        default,
        alias = "bearer_format",
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub bearer_format: String,
}

/// OAuth 2 with one flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OAuth2SecurityScheme {
    /// For people.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub description: String,
    /// The flow; required.
    pub flows: OAuthFlows,
    /// Authorization server metadata (RFC 8414).
    #[serde(
        default,
        rename = "oauth2MetadataUrl",
        alias = "oauth2_metadata_url",
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub oauth2_metadata_url: String,
}

/// OpenID Connect discovery.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenIdConnectSecurityScheme {
    /// For people.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub description: String,
    /// The discovery document; required.
    #[serde(
        default,
        alias = "open_id_connect_url",
        deserialize_with = "null_as_default"
    )]
    pub open_id_connect_url: String,
}

/// A client certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MutualTlsSecurityScheme {
    /// For people.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub description: String,
}

/// How tokens are got (specification 4.5.9): exactly one member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OAuthFlows {
    /// In a browser, by redirect.
    #[serde(alias = "authorization_code")]
    AuthorizationCode(OAuthFlow),
    /// For machines.
    #[serde(alias = "client_credentials")]
    ClientCredentials(OAuthFlow),
    /// Deprecated.
    Implicit(OAuthFlow),
    /// Deprecated.
    Password(OAuthFlow),
    /// On another device (RFC 8628).
    #[serde(alias = "device_code")]
    DeviceCode(OAuthFlow),
}

/// The endpoints of a flow; which of them it has depends on the flow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OAuthFlow {
    /// Where the user consents.
    #[serde(
        default,
        alias = "authorization_url",
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub authorization_url: String,
    /// Where a device asks for its code.
    #[serde(
        default,
        alias = "device_authorization_url",
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub device_authorization_url: String,
    /// Where tokens are got.
    #[serde(
        default,
        alias = "token_url",
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub token_url: String,
    /// Where tokens are refreshed.
    #[serde(
        default,
        alias = "refresh_url",
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub refresh_url: String,
    /// Scopes with their meaning; required.
    #[serde(default, deserialize_with = "null_as_default")]
    pub scopes: BTreeMap<String, String>,
    /// Whether PKCE is needed.
    #[serde(
        default,
        alias = "pkce_required",
        deserialize_with = "null_as_default",
        skip_serializing_if = "is_false"
    )]
    pub pkce_required: bool,
}
