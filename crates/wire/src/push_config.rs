//! Where a task's events are pushed to (specification 4.3).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use std::fmt;

use crate::error::FieldViolation;
use crate::json::{Metadata, json_object};
use crate::limits::{
    MAX_PUSH_SCHEME_BYTES, MAX_PUSH_SCHEMES, MAX_PUSH_SECRET_BYTES, MAX_PUSH_URL_BYTES,
};
use crate::message::check_free_id;

/// One webhook of one task (specification 4.3.1).
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskPushNotificationConfig {
    /// Routing label of the agent's interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Chosen by the client, else made by the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The task; absent in an inline configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// Where to POST; required.
    pub url: String,
    /// Sent as `X-A2A-Notification-Token`. A secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Sent as `Authorization`. A secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authentication: Option<AuthenticationInfo>,
    /// User JSON about it. Only the fleet's dialect has that, and only its callers are shown it.
    #[serde(rename = "fleetMetadata", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
}

json_object!(required TaskPushNotificationConfig {
    tenant: "tenant",
    id: "id",
    task_id: "taskId" | "task_id",
    url: "url",
    token: "token",
    authentication: "authentication",
    metadata: "fleetMetadata",
});

/// Credentials for a webhook (specification 4.3.2).
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct AuthenticationInfo {
    /// Scheme of the `Authorization` header, such as `Bearer`; required.
    pub scheme: String,
    /// Further schemes that the receiver takes, after the first: 0.3 has a list of them, and only its
    /// callers are shown it.
    #[serde(rename = "otherSchemes", skip_serializing_if = "Vec::is_empty")]
    pub other_schemes: Vec<String>,
    /// What follows the scheme. A secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<String>,
}

json_object!(required AuthenticationInfo {
    scheme: "scheme",
    other_schemes: "otherSchemes",
    credentials: "credentials",
});

impl AuthenticationInfo {
    /// The scheme that the credentials are sent under. Of several it is Basic where they can be a
    /// name and a password in base64 (RFC 7617 section 2), else the first other one.
    #[must_use]
    pub fn scheme_of_credentials(&self) -> &str {
        let is_pair = self.credentials.as_deref().is_some_and(|text| {
            let decoded = STANDARD.decode(text);
            decoded.is_ok_and(|pair| pair.contains(&b':'))
        });
        let mut schemes = std::iter::once(&self.scheme).chain(&self.other_schemes);
        let fitting = schemes.find(|scheme| scheme.eq_ignore_ascii_case("basic") == is_pair);
        fitting.unwrap_or(&self.scheme)
    }
}

impl TaskPushNotificationConfig {
    /// Checks what a caller registers. Token and credentials go into headers: what could end a
    /// header there is refused here. Where the URL may point is the server's to say.
    pub(crate) fn validate(&self, path: &str, violations: &mut Vec<FieldViolation>) {
        let mut wrong = |field: &str, description: String| {
            violations.push(FieldViolation::new(format!("{path}{field}"), description));
        };
        if self.url.is_empty() {
            wrong("url", "is required".to_owned());
        } else if self.url.len() > MAX_PUSH_URL_BYTES {
            wrong("url", format!("must not exceed {MAX_PUSH_URL_BYTES} bytes"));
        }
        if let Some(Err(reason)) = self.id.as_deref().map(check_free_id) {
            wrong("id", reason);
        }
        let authentication = self.authentication.as_ref();
        let credentials = authentication.and_then(|a| a.credentials.as_deref());
        for (field, value) in [
            ("token", self.token.as_deref()),
            ("authentication.credentials", credentials),
        ] {
            if let Some(Err(reason)) = value.map(check_header_value) {
                wrong(field, reason);
            }
        }
        if let Some(Err(reason)) = self.metadata.as_ref().map(Metadata::check_limits) {
            wrong("metadata", reason);
        }
        if let Some(Err(reason)) = authentication.map(|a| check_scheme(&a.scheme)) {
            wrong("authentication.scheme", reason);
        }
        let others = authentication.map_or(&[][..], |a| &a.other_schemes);
        if others.len() >= MAX_PUSH_SCHEMES {
            let reason = format!("must not hold more than {MAX_PUSH_SCHEMES}");
            wrong("authentication.schemes", reason);
        } else if let Some(reason) = others.iter().find_map(|it| check_scheme(it).err()) {
            wrong("authentication.schemes", reason);
        }
    }
}

/// Whether a value can stand in an HTTP header as it is (RFC 9110 section 5.5).
fn check_header_value(value: &str) -> Result<(), String> {
    if value.len() > MAX_PUSH_SECRET_BYTES {
        return Err(format!("must not exceed {MAX_PUSH_SECRET_BYTES} bytes"));
    }
    let fits = |byte: u8| byte.is_ascii_graphic() || byte == b' ';
    if value.bytes().all(fits) {
        Ok(())
    } else {
        Err("must be printable ASCII without control characters: it is sent in a header".to_owned())
    }
}

/// Whether a text names an authentication scheme (RFC 9110 section 11.1).
fn check_scheme(scheme: &str) -> Result<(), String> {
    if scheme.is_empty() {
        return Err("is required".to_owned());
    }
    if scheme.len() > MAX_PUSH_SCHEME_BYTES {
        return Err(format!("must not exceed {MAX_PUSH_SCHEME_BYTES} bytes"));
    }
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if scheme.bytes().all(is_token) {
        Ok(())
    } else {
        Err("must be the name of a scheme such as Bearer".to_owned())
    }
}

impl fmt::Debug for TaskPushNotificationConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskPushNotificationConfig")
            .field("id", &self.id)
            .field("task_id", &self.task_id)
            .field("url", &self.url)
            .field("token", &self.token.as_ref().map(|_| "[secret]"))
            .field("authentication", &self.authentication)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for AuthenticationInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthenticationInfo")
            .field("scheme", &self.scheme)
            .field("other_schemes", &self.other_schemes)
            .field(
                "credentials",
                &self.credentials.as_ref().map(|_| "[secret]"),
            )
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_schemes_the_one_that_the_credentials_fit_is_sent() {
        // `name:password` in base64.
        let (pair, token) = ("bmFtZTpwYXNzd29yZA==", "eyJhbGciOiJFUzI1NiJ9.e30.c2ln");
        for (schemes, credentials, expected) in [
            (&["Bearer"][..], pair, "Bearer"),
            (&["Basic"], token, "Basic"),
            (&["Bearer", "Basic"], pair, "Basic"),
            (&["Bearer", "basic"], token, "Bearer"),
            (&["Basic", "Bearer"], token, "Bearer"),
            (&["Basic", "Bearer"], pair, "Basic"),
            (&["ApiKey", "Bearer"], token, "ApiKey"),
        ] {
            let info = AuthenticationInfo {
                scheme: schemes[0].to_owned(),
                other_schemes: schemes[1..].iter().map(|it| (*it).to_owned()).collect(),
                credentials: Some(credentials.to_owned()),
            };
            assert_eq!(
                info.scheme_of_credentials(),
                expected,
                "{schemes:?} {credentials}"
            );
        }
    }
}
