//! Where a webhook is and what it is to be shown: a configuration read for sending.

use http::{HeaderMap, HeaderName, HeaderValue};
use nuncio_client::AddressPolicy;
use nuncio_client::webhook_signature::HashKey;
use nuncio_store::PushConfig;
use nuncio_wire::TaskPushNotificationConfig;
use nuncio_wire::dialects::Dialect;
use url::Url;

/// A custom of SDKs and conformance kits; the specification's older texts show it.
const NOTIFICATION_TOKEN: HeaderName = HeaderName::from_static("x-a2a-notification-token");

/// A webhook, ready to be posted to.
pub(super) struct Target {
    pub(super) url: Url,
    /// What does not change from one try to the next.
    pub(super) headers: HeaderMap,
    /// Signs each body for a webhook of the fleet's dialect.
    pub(super) hub: Option<HashKey>,
}

impl Target {
    /// Reads what was stored. The text says what no longer holds.
    pub(super) fn of(policy: &AddressPolicy, config: &PushConfig) -> Result<Self, String> {
        let read: TaskPushNotificationConfig =
            serde_json::from_slice(&config.config).map_err(|error| error.to_string())?;
        let url = parse_url(policy, &read.url)?;
        let mut headers = HeaderMap::new();
        headers.insert(http::header::CONTENT_TYPE, content_type(config.dialect));
        let mut hub = None;
        let token = read.token.filter(|token| !token.is_empty());
        if config.dialect == Dialect::Fleet {
            hub = token.map(|key| HashKey::new(key.as_bytes()));
        } else if let Some(token) = token {
            headers.insert(NOTIFICATION_TOKEN, secret(&token)?);
        }
        // A scheme without credentials says nothing (specification 4.3.2).
        if let Some(authentication) = read.authentication
            && let Some(credentials) = authentication.credentials.as_ref()
            && !credentials.is_empty()
        {
            let scheme = authentication.scheme_of_credentials();
            let value = format!("{scheme} {credentials}");
            headers.insert(http::header::AUTHORIZATION, secret(&value)?);
        }
        Ok(Self { url, headers, hub })
    }
}

/// Reads the address of a webhook: https, or http where the operator named the host; no user info;
/// no address that is not public. A name is checked again, by its addresses, when it is dialled.
pub(super) fn parse_url(policy: &AddressPolicy, text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("is not a URL: {error}"))?;
    policy
        .check_url(&url)
        .map_err(|refused| refused.to_string())?;
    if url.scheme() == "http" && !policy.is_allowed_by_name(&url) {
        return Err(
            "must begin with https://; http is for hosts that the operator allows".to_owned(),
        );
    }
    Ok(url)
}

/// What is posted to a webhook registered in this dialect.
fn content_type(dialect: Dialect) -> HeaderValue {
    match dialect {
        Dialect::V1 | Dialect::V1Slash => HeaderValue::from_static("application/a2a+json"),
        Dialect::V0_3 | Dialect::Legacy | Dialect::Fleet => {
            HeaderValue::from_static("application/json")
        }
    }
}

fn secret(text: &str) -> Result<HeaderValue, String> {
    let mut value = HeaderValue::from_str(text)
        .map_err(|_| "a token or credentials cannot stand in a header".to_owned())?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(url: &str) -> Option<String> {
        parse_url(&AddressPolicy::public_only(), url).err()
    }

    #[test]
    fn only_plain_public_https_is_taken() {
        for url in [
            "https://example.com/a?b=c",
            "https://example.com:8443",
            "https://[2606:4700::1]/",
        ] {
            assert_eq!(refusal(url), None, "{url}");
        }
        for url in [
            "http://example.com/",
            "ftp://example.com/",
            "file:///etc/passwd",
            "gopher://127.0.0.1/",
            "javascript:alert(1)",
            "https://user@example.com/",
            "https://a:b@example.com/",
            "https://127.0.0.1/",
            "https://localhost/",
            "https://2130706433/",
            "https://[::ffff:10.0.0.1]/",
            "https://169.254.169.254/",
            "https://100.64.0.1/",
            "example.com",
            "/hook",
            "",
        ] {
            assert!(refusal(url).is_some(), "{url}");
        }
    }

    #[test]
    fn what_the_operator_names_passes_plain_too() {
        let mut policy = AddressPolicy::public_only();
        for allowed in ["127.0.0.0/8", "hooks.internal:8080"] {
            policy.allow_address(allowed.parse().unwrap());
        }
        for url in [
            "http://127.0.0.1:9/h",
            "http://localhost/",
            "http://hooks.internal:8080/",
        ] {
            assert!(parse_url(&policy, url).is_ok(), "{url}");
        }
        for url in [
            "http://10.0.0.1/",
            "http://hooks.internal/",
            "http://user@127.0.0.1/",
        ] {
            assert!(parse_url(&policy, url).is_err(), "{url}");
        }
    }
}
