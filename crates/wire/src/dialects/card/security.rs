//! Security schemes and requirements of cards: one member per kind as in 1.0, or `type` as in 0.3
//! and in some cards of 1.0. A scheme of an unknown kind is left out, so that the rest can be used.

use std::collections::BTreeMap;

use crate::agent_card::{
    ApiKeySecurityScheme, HttpAuthSecurityScheme, MutualTlsSecurityScheme, OAuth2SecurityScheme,
    OAuthFlow, OAuthFlows, OpenIdConnectSecurityScheme, SecurityRequirement, SecurityScheme,
    StringList,
};
use crate::json::{RawJson, json_object};

pub(super) fn read_schemes(raw: &RawJson) -> BTreeMap<String, SecurityScheme> {
    if !raw.is_object() {
        return read_list(raw);
    }
    let schemes: BTreeMap<String, RawJson> = raw.read().unwrap_or_default();
    let read = |scheme: RawJson| scheme.read::<AnyScheme>().ok()?.convert();
    schemes
        .into_iter()
        .filter_map(|(name, scheme)| Some((name, read(scheme)?)))
        .collect()
}

/// Cards of the fleet plugin have a list, whose entries go by their types.
fn read_list(raw: &RawJson) -> BTreeMap<String, SecurityScheme> {
    let schemes: Vec<AnyScheme> = raw.read().unwrap_or_default();
    let named = schemes.into_iter().filter_map(|mut scheme| {
        let name = scheme.kind.clone()?;
        if name == "bearer" {
            scheme.kind = Some("http".to_owned());
            scheme.scheme = "Bearer".to_owned();
        }
        Some((name, scheme.convert()?))
    });
    named.collect()
}

/// Each entry is an object: `{"schemes":{name:{"list":[..]}}}` or `{name:[..]}`.
pub(super) fn read_requirements(raw: &RawJson) -> Vec<SecurityRequirement> {
    let entries: Vec<RawJson> = raw.read().unwrap_or_default();
    entries.iter().filter_map(read_requirement).collect()
}

fn read_requirement(raw: &RawJson) -> Option<SecurityRequirement> {
    let members: BTreeMap<String, RawJson> = raw.read().ok()?;
    let schemes = match members.get("schemes").filter(|inner| inner.is_object()) {
        Some(inner) => inner.read::<BTreeMap<String, RawJson>>().ok()?,
        None => members,
    };
    let scopes = |scopes: RawJson| -> StringList {
        let list = scopes.read::<Vec<String>>().map(|list| StringList { list });
        list.or_else(|_| scopes.read()).unwrap_or_default()
    };
    let schemes = schemes
        .into_iter()
        .map(|(name, raw)| (name, scopes(raw)))
        .collect();
    Some(SecurityRequirement { schemes })
}

struct AnyScheme {
    kind: Option<String>,
    description: String,
    // apiKey
    location: String,
    name: String,
    // http
    scheme: String,
    bearer_format: String,
    // oauth2
    flows: Option<AnyFlows>,
    metadata_url: String,
    // openIdConnect
    open_id_connect_url: String,
    // One member per kind.
    api_key: Option<ApiKeySecurityScheme>,
    http: Option<HttpAuthSecurityScheme>,
    oauth2: Option<OAuth2SecurityScheme>,
    open_id_connect: Option<OpenIdConnectSecurityScheme>,
    mtls: Option<MutualTlsSecurityScheme>,
}

json_object!(AnyScheme {
    kind: "type",
    description: "description",
    location: "in" | "location",
    name: "name",
    scheme: "scheme",
    bearer_format: "bearerFormat" | "bearer_format",
    flows: "flows",
    metadata_url: "oauth2MetadataUrl" | "oauth2_metadata_url",
    open_id_connect_url: "openIdConnectUrl" | "open_id_connect_url",
    api_key: "apiKeySecurityScheme" | "api_key_security_scheme",
    http: "httpAuthSecurityScheme" | "http_auth_security_scheme",
    oauth2: "oauth2SecurityScheme" | "oauth2_security_scheme",
    open_id_connect: "openIdConnectSecurityScheme" | "open_id_connect_security_scheme",
    mtls: "mtlsSecurityScheme" | "mtls_security_scheme",
});

impl AnyScheme {
    fn convert(self) -> Option<SecurityScheme> {
        let new = None
            .or(self.api_key.map(SecurityScheme::ApiKeySecurityScheme))
            .or(self.http.map(SecurityScheme::HttpAuthSecurityScheme))
            .or(self.oauth2.map(SecurityScheme::OAuth2SecurityScheme))
            .or(self
                .open_id_connect
                .map(SecurityScheme::OpenIdConnectSecurityScheme))
            .or(self.mtls.map(SecurityScheme::MtlsSecurityScheme));
        if new.is_some() {
            return new;
        }
        let description = self.description;
        Some(match self.kind?.as_str() {
            "apiKey" => SecurityScheme::ApiKeySecurityScheme(ApiKeySecurityScheme {
                description,
                location: self.location,
                name: self.name,
            }),
            "http" => SecurityScheme::HttpAuthSecurityScheme(HttpAuthSecurityScheme {
                description,
                scheme: self.scheme,
                bearer_format: self.bearer_format,
            }),
            "oauth2" => SecurityScheme::OAuth2SecurityScheme(OAuth2SecurityScheme {
                description,
                flows: self.flows.and_then(AnyFlows::convert)?,
                oauth2_metadata_url: self.metadata_url,
            }),
            "openIdConnect" => {
                SecurityScheme::OpenIdConnectSecurityScheme(OpenIdConnectSecurityScheme {
                    description,
                    open_id_connect_url: self.open_id_connect_url,
                })
            }
            "mutualTLS" => {
                SecurityScheme::MtlsSecurityScheme(MutualTlsSecurityScheme { description })
            }
            _ => return None,
        })
    }
}

/// 0.3 may have several flows, 1.0 has one.
struct AnyFlows {
    authorization_code: Option<OAuthFlow>,
    client_credentials: Option<OAuthFlow>,
    implicit: Option<OAuthFlow>,
    password: Option<OAuthFlow>,
}

json_object!(AnyFlows {
    authorization_code: "authorizationCode" | "authorization_code",
    client_credentials: "clientCredentials" | "client_credentials",
    implicit: "implicit",
    password: "password",
});

impl AnyFlows {
    /// The one that is safest to use; the last two are deprecated.
    fn convert(self) -> Option<OAuthFlows> {
        None.or(self.authorization_code.map(OAuthFlows::AuthorizationCode))
            .or(self.client_credentials.map(OAuthFlows::ClientCredentials))
            .or(self.implicit.map(OAuthFlows::Implicit))
            .or(self.password.map(OAuthFlows::Password))
    }
}
