//! The agent card: who an agent is and how it is reached (specification 4.4, 8).
//!
//! Presence matters here, because signatures cover it: members that the proto marks `optional` stay
//! when they are set, all others are left out when empty.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::json::{Metadata, is_false, json_object};

/// The self-description an agent publishes (specification 4.4.1).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentCard {
    /// Name for people; required.
    pub name: String,
    /// What it does; required.
    pub description: String,
    /// Where it is reached, most wanted first; required.
    pub supported_interfaces: Vec<AgentInterface>,
    /// Who runs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<AgentProvider>,
    /// The agent's own version; required.
    pub version: String,
    /// Where its manual is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub documentation_url: Option<String>,
    /// What it can; required.
    pub capabilities: AgentCapabilities,
    /// Ways to authenticate, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub security_schemes: BTreeMap<String, SecurityScheme>,
    /// Which of them are needed: one entry suffices, all schemes inside an entry are needed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub security_requirements: Vec<SecurityRequirement>,
    /// Media types it takes; required.
    pub default_input_modes: Vec<String>,
    /// Media types it gives; required.
    pub default_output_modes: Vec<String>,
    /// What it is good at; required.
    pub skills: Vec<AgentSkill>,
    /// Signatures over the canonical form of everything else (specification 8.4).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub signatures: Vec<AgentCardSignature>,
    /// Its picture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icon_url: Option<String>,
}

json_object!(AgentCard {
    name: "name",
    description: "description",
    supported_interfaces: "supportedInterfaces" | "supported_interfaces",
    provider: "provider",
    version: "version",
    documentation_url: "documentationUrl" | "documentation_url",
    capabilities: "capabilities",
    security_schemes: "securitySchemes" | "security_schemes",
    security_requirements: "securityRequirements" | "security_requirements",
    default_input_modes: "defaultInputModes" | "default_input_modes",
    default_output_modes: "defaultOutputModes" | "default_output_modes",
    skills: "skills",
    signatures: "signatures",
    icon_url: "iconUrl" | "icon_url",
});

/// One address of an agent (specification 4.4.6).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentInterface {
    /// The endpoint, used exactly as written; for gRPC `host:port`.
    pub url: String,
    /// `JSONRPC`, `GRPC`, `HTTP+JSON` or a URI.
    pub protocol_binding: String,
    /// Routing label to copy into every request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// `1.0`, `0.3`.
    pub protocol_version: String,
}

json_object!(AgentInterface {
    url: "url",
    protocol_binding: "protocolBinding" | "protocol_binding",
    tenant: "tenant",
    protocol_version: "protocolVersion" | "protocol_version",
});

/// Who runs an agent (specification 4.4.2).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AgentProvider {
    /// Its web address.
    pub url: String,
    /// Its name.
    pub organization: String,
}

json_object!(AgentProvider {
    url: "url",
    organization: "organization",
});

/// What an agent can (specification 4.4.3). All three switches have explicit presence.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentCapabilities {
    /// Streams events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streaming: Option<bool>,
    /// Sends push notifications.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub push_notifications: Option<bool>,
    /// Extensions of the protocol it knows or requires.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<AgentExtension>,
    /// Has an extended card for authenticated callers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extended_agent_card: Option<bool>,
}

json_object!(AgentCapabilities {
    streaming: "streaming",
    push_notifications: "pushNotifications" | "push_notifications",
    extensions: "extensions",
    extended_agent_card: "extendedAgentCard" | "extended_agent_card",
});

/// One extension of the protocol (specification 4.6).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AgentExtension {
    /// Names the extension and its version.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uri: String,
    /// How the agent uses it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Whether a client must declare it.
    #[serde(skip_serializing_if = "is_false")]
    pub required: bool,
    /// Settings of the extension.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub params: Option<Metadata>,
}

json_object!(AgentExtension {
    uri: "uri",
    description: "description",
    required: "required",
    params: "params",
});

/// One thing an agent is good at (specification 4.4.5).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentSkill {
    /// Unique on the card; required.
    pub id: String,
    /// Name for people; required.
    pub name: String,
    /// What it does; required.
    pub description: String,
    /// Words to find it by; required.
    pub tags: Vec<String>,
    /// Things one may say to it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
    /// Media types it takes, if not the card's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub input_modes: Vec<String>,
    /// Media types it gives, if not the card's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub output_modes: Vec<String>,
    /// Which security schemes it needs, if not the card's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub security_requirements: Vec<SecurityRequirement>,
}

json_object!(AgentSkill {
    id: "id",
    name: "name",
    description: "description",
    tags: "tags",
    examples: "examples",
    input_modes: "inputModes" | "input_modes",
    output_modes: "outputModes" | "output_modes",
    security_requirements: "securityRequirements" | "security_requirements",
});

/// A JWS over the card (specification 8.4.2).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AgentCardSignature {
    /// base64url of the protected header.
    pub protected: String,
    /// base64url of the signature.
    pub signature: String,
    /// Unprotected header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<Metadata>,
}

json_object!(AgentCardSignature {
    protected: "protected",
    signature: "signature",
    header: "header",
});

/// Schemes that are needed together, each with its scopes (specification 4.5.1).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SecurityRequirement {
    /// Scopes by scheme name.
    pub schemes: BTreeMap<String, StringList>,
}

json_object!(SecurityRequirement { schemes: "schemes" });

/// A list in its own object, as the proto's maps need it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StringList {
    /// The strings.
    pub list: Vec<String>,
}

json_object!(StringList { list: "list" });

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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ApiKeySecurityScheme {
    /// For people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// `query`, `header` or `cookie`; required.
    pub location: String,
    /// Name of the header, parameter or cookie; required.
    pub name: String,
}

json_object!(ApiKeySecurityScheme {
    description: "description",
    location: "location",
    name: "name",
});

/// An HTTP authentication scheme.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HttpAuthSecurityScheme {
    /// For people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// `Bearer`, `Basic`; required.
    pub scheme: String,
    /// A hint such as `JWT`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub bearer_format: String,
}

json_object!(HttpAuthSecurityScheme {
    description: "description",
    scheme: "scheme",
    bearer_format: "bearerFormat" | "bearer_format",
});

/// OAuth 2 with one flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OAuth2SecurityScheme {
    /// For people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The flow; required.
    pub flows: OAuthFlows,
    /// Authorization server metadata (RFC 8414).
    #[serde(rename = "oauth2MetadataUrl", skip_serializing_if = "String::is_empty")]
    pub oauth2_metadata_url: String,
}

json_object!(required OAuth2SecurityScheme {
    description: "description",
    flows: "flows",
    oauth2_metadata_url: "oauth2MetadataUrl" | "oauth2_metadata_url",
});

/// OpenID Connect discovery.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenIdConnectSecurityScheme {
    /// For people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The discovery document; required.
    pub open_id_connect_url: String,
}

json_object!(OpenIdConnectSecurityScheme {
    description: "description",
    open_id_connect_url: "openIdConnectUrl" | "open_id_connect_url",
});

/// A client certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MutualTlsSecurityScheme {
    /// For people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
}

json_object!(MutualTlsSecurityScheme {
    description: "description",
});

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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OAuthFlow {
    /// Where the user consents.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub authorization_url: String,
    /// Where a device asks for its code.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub device_authorization_url: String,
    /// Where tokens are got.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub token_url: String,
    /// Where tokens are refreshed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub refresh_url: String,
    /// Scopes with their meaning; required.
    pub scopes: BTreeMap<String, String>,
    /// Whether PKCE is needed.
    #[serde(skip_serializing_if = "is_false")]
    pub pkce_required: bool,
}

json_object!(OAuthFlow {
    authorization_url: "authorizationUrl" | "authorization_url",
    device_authorization_url: "deviceAuthorizationUrl" | "device_authorization_url",
    token_url: "tokenUrl" | "token_url",
    refresh_url: "refreshUrl" | "refresh_url",
    scopes: "scopes",
    pkce_required: "pkceRequired" | "pkce_required",
});
