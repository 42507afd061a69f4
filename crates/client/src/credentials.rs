//! Credentials and where a card wants them: a header, a query parameter or a cookie
//! (specification 7.3). Bound to the origins they were set for; sent nowhere else.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, COOKIE};
use http::{HeaderMap, HeaderName, HeaderValue};
use nuncio_wire::{AgentCard, ApiKeySecurityScheme, SecurityScheme};
use url::Url;

use crate::error::{ClientError, ClientErrorKind};
use crate::origin::Origin;
use crate::secret::Secret;

/// Header for an API key when the card names no place for it.
const DEFAULT_API_KEY_HEADER: &str = "X-API-Key";

/// One thing that proves who calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    /// `Authorization: Bearer`; also for OAuth 2 and OpenID Connect.
    Bearer(Secret),
    /// An API key, placed as the card's scheme says.
    ApiKey(Secret),
    /// A value in a header of the operator's choice.
    Header {
        /// The header's name.
        name: String,
        /// Its value.
        value: Secret,
    },
    /// `Authorization: Basic` (RFC 7617).
    Basic {
        /// The user; must not hold a colon.
        user: String,
        /// The password.
        password: Secret,
    },
}

/// The credentials for one agent.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    items: Vec<Credential>,
    origins: Vec<Origin>,
}

impl Credentials {
    /// Credentials that were set for these origins.
    #[must_use]
    pub fn new(items: Vec<Credential>, origins: Vec<Origin>) -> Self {
        Self { items, origins }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Whether they were set for where `url` points.
    #[must_use]
    pub fn are_for(&self, url: &Url) -> bool {
        let target = Origin::of(url);
        target.is_some_and(|target| self.origins.iter().any(|origin| origin.covers(&target)))
    }

    /// Adds the credentials to a request, unless it goes to another origin.
    ///
    /// # Errors
    /// [`ClientErrorKind::Usage`] when a value cannot stand in a header.
    pub fn attach(
        &self,
        card: Option<&AgentCard>,
        url: &mut Url,
        headers: &mut HeaderMap,
    ) -> Result<(), ClientError> {
        if self.items.is_empty() {
            return Ok(());
        }
        if !self.are_for(url) {
            tracing::debug!("credentials withheld: the address is of another origin");
            return Ok(());
        }
        for item in &self.items {
            match item {
                Credential::Bearer(token) => {
                    let value =
                        secret_value(&format!("Bearer {}", token.expose()), "bearer token")?;
                    headers.insert(AUTHORIZATION, value);
                }
                Credential::Basic { user, password } => {
                    let pair = STANDARD.encode(format!("{user}:{}", password.expose()));
                    headers.insert(
                        AUTHORIZATION,
                        secret_value(&format!("Basic {pair}"), "password")?,
                    );
                }
                Credential::Header { name, value } => {
                    headers.insert(header_name(name)?, secret_value(value.expose(), name)?);
                }
                Credential::ApiKey(key) => {
                    attach_api_key(key, card.and_then(api_key_scheme), url, headers)?;
                }
            }
        }
        Ok(())
    }

    /// Names of the schemes of which the agent requires one while no credential was given at all;
    /// empty when a call may be tried.
    #[must_use]
    pub fn missing(&self, card: &AgentCard) -> Vec<String> {
        let requirements = &card.security_requirements;
        if !self.items.is_empty() || requirements.iter().any(|it| it.schemes.is_empty()) {
            return Vec::new();
        }
        let mut names: Vec<String> = requirements
            .iter()
            .flat_map(|it| it.schemes.keys().cloned())
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

fn attach_api_key(
    key: &Secret,
    scheme: Option<&ApiKeySecurityScheme>,
    url: &mut Url,
    headers: &mut HeaderMap,
) -> Result<(), ClientError> {
    let (place, name) = match scheme {
        Some(scheme) if !scheme.name.is_empty() => (scheme.location.as_str(), scheme.name.as_str()),
        _ => ("header", DEFAULT_API_KEY_HEADER),
    };
    if place.eq_ignore_ascii_case("query") {
        url.query_pairs_mut().append_pair(name, key.expose());
    } else if place.eq_ignore_ascii_case("cookie") {
        headers.append(
            COOKIE,
            secret_value(&format!("{name}={}", key.expose()), "API key")?,
        );
    } else {
        let name = header_name(name)?;
        headers.insert(name, secret_value(key.expose(), "API key")?);
    }
    Ok(())
}

/// The scheme that says where an API key goes: a required one first.
fn api_key_scheme(card: &AgentCard) -> Option<&ApiKeySecurityScheme> {
    let required = card
        .security_requirements
        .iter()
        .flat_map(|it| it.schemes.keys());
    let required = required.filter_map(|name| card.security_schemes.get(name));
    required
        .chain(card.security_schemes.values())
        .find_map(|scheme| match scheme {
            SecurityScheme::ApiKeySecurityScheme(scheme) => Some(scheme),
            _ => None,
        })
}

fn header_name(name: &str) -> Result<HeaderName, ClientError> {
    HeaderName::from_bytes(name.as_bytes()).map_err(|_| {
        let text = format!("a credential is wanted in a header named {name:?}, which is no name");
        ClientError::new(ClientErrorKind::Usage, text)
    })
}

fn secret_value(text: &str, what: &str) -> Result<HeaderValue, ClientError> {
    let mut value = HeaderValue::from_str(text).map_err(|_| {
        let text = format!("the {what} holds characters that no header can carry (a line break?)");
        ClientError::new(ClientErrorKind::Usage, text)
    })?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(json: &str) -> AgentCard {
        serde_json::from_str(json).unwrap()
    }

    fn attached(item: Credential, card_json: &str, to: &str) -> (Url, HeaderMap) {
        let origin = Origin::of(&Url::parse("https://h").unwrap()).unwrap();
        let credentials = Credentials::new(vec![item], vec![origin]);
        let (mut url, mut headers) = (Url::parse(to).unwrap(), HeaderMap::new());
        credentials
            .attach(Some(&card(card_json)), &mut url, &mut headers)
            .unwrap();
        (url, headers)
    }

    #[test]
    fn an_api_key_goes_where_the_card_wants_it() {
        let key = || Credential::ApiKey(Secret::new("k&1"));
        let scheme = |place: &str| {
            format!(
                r#"{{"securitySchemes":{{"a":{{"apiKeySecurityScheme":{{"location":"{place}","name":"Key"}}}}}}}}"#
            )
        };
        assert_eq!(attached(key(), "{}", "https://h/rpc").1["x-api-key"], "k&1");
        assert_eq!(
            attached(key(), &scheme("header"), "https://h/rpc").1["key"],
            "k&1"
        );
        assert_eq!(
            attached(key(), &scheme("cookie"), "https://h/rpc").1["cookie"],
            "Key=k&1"
        );
        let (url, headers) = attached(key(), &scheme("query"), "https://h/rpc?a=b");
        assert_eq!(url.as_str(), "https://h/rpc?a=b&Key=k%261");
        assert!(headers.is_empty());
    }

    #[test]
    fn nothing_is_sent_to_another_origin() {
        let bearer = || Credential::Bearer(Secret::new("t"));
        assert_eq!(
            attached(bearer(), "{}", "https://h/rpc").1["authorization"],
            "Bearer t"
        );
        for other in ["https://g/rpc", "http://h/rpc", "https://h:8443/rpc"] {
            assert!(attached(bearer(), "{}", other).1.is_empty(), "{other}");
        }
    }

    #[test]
    fn a_user_and_password_are_sent_as_basic() {
        let basic = Credential::Basic {
            user: "u".to_owned(),
            password: Secret::new("p"),
        };
        assert_eq!(
            attached(basic, "{}", "https://h/").1["authorization"],
            "Basic dTpw"
        );
    }

    #[test]
    fn only_a_requirement_without_a_way_around_it_makes_a_credential_missing() {
        let none = Credentials::default();
        let required = card(r#"{"securityRequirements":[{"schemes":{"b":{"list":[]}}}]}"#);
        assert_eq!(none.missing(&required), ["b"]);
        let optional = card(r#"{"securityRequirements":[{"schemes":{"b":{}}},{"schemes":{}}]}"#);
        assert!(none.missing(&optional).is_empty());
        assert!(none.missing(&card("{}")).is_empty());
        let given = Credentials::new(vec![Credential::Bearer(Secret::new("t"))], Vec::new());
        assert!(given.missing(&required).is_empty());
    }
}
