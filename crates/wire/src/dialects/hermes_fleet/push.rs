//! Push configurations: created with the key that signs what is sent, shown without it.

use serde::Serialize;

use crate::dialects::params::read_params;
use crate::dialects::v1;
use crate::error::A2aError;
use crate::json::{Metadata, json_object};
use crate::limits::MAX_PUSH_SECRET_BYTES;
use crate::push_config::{AuthenticationInfo, TaskPushNotificationConfig};

/// The body of a creation; `id` is ignored, since the server makes it.
pub(super) struct FleetPushConfig {
    url: String,
    hmac_key: Option<String>,
    authentication: Option<Authentication>,
    scheme: Option<String>,
    credentials: Option<String>,
    metadata: Option<Metadata>,
}

json_object!(FleetPushConfig {
    url: "url",
    hmac_key: "hmacKey" | "hmac_key",
    authentication: "authentication" | "auth",
    scheme: "authType" | "auth_type",
    credentials: "authCode" | "auth_code",
    metadata: "metadata",
});

struct Authentication {
    scheme: String,
    credentials: Option<String>,
}

json_object!(Authentication {
    scheme: "scheme" | "type",
    credentials: "credentials" | "token",
});

impl FleetPushConfig {
    /// The configuration of the model: its `token` is the key here, which is as secret.
    pub(super) fn convert(self, task_id: &str) -> Result<TaskPushNotificationConfig, A2aError> {
        let Some(key) = self.hmac_key else {
            let text = "is required: what is sent is signed with it";
            return Err(A2aError::invalid_field("hmacKey", text));
        };
        if key.len() > MAX_PUSH_SECRET_BYTES {
            let text = format!("must not exceed {MAX_PUSH_SECRET_BYTES} bytes");
            return Err(A2aError::invalid_field("hmacKey", text));
        }
        let nested = self.authentication.map(|it| (it.scheme, it.credentials));
        let flat = self.scheme.map(|scheme| (scheme, self.credentials));
        let authentication = nested.or(flat).filter(|(scheme, _)| !scheme.is_empty());
        let mut config = TaskPushNotificationConfig {
            tenant: None,
            id: None,
            task_id: Some(task_id.to_owned()),
            url: self.url,
            token: None,
            authentication: authentication.map(|(scheme, credentials)| AuthenticationInfo {
                scheme,
                other_schemes: Vec::new(),
                credentials,
            }),
            metadata: self.metadata,
        };
        let mut violations = Vec::new();
        config.validate("", &mut violations);
        if !violations.is_empty() {
            return Err(A2aError::invalid_params(violations));
        }
        // Only now: the key stands in no header, so it may hold anything.
        config.token = Some(key);
        Ok(config)
    }
}

/// Reads and validates the body of a creation. The key becomes the configuration's `token`.
pub fn read_push_config(
    body: Option<&str>,
    task_id: &str,
) -> Result<TaskPushNotificationConfig, A2aError> {
    read_params::<FleetPushConfig>(body)?.convert(task_id)
}

/// Appends the body of a creation, secrets included.
pub(super) fn write_new_push_config(config: &TaskPushNotificationConfig, out: &mut Vec<u8>) {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct New<'a> {
        url: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        hmac_key: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        authentication: Option<&'a AuthenticationInfo>,
        #[serde(skip_serializing_if = "Option::is_none")]
        metadata: Option<&'a Metadata>,
    }
    let new = New {
        url: &config.url,
        hmac_key: config.token.as_deref(),
        authentication: config.authentication.as_ref(),
        metadata: config.metadata.as_ref(),
    };
    v1::write(&new, out);
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown<'a> {
    id: &'a str,
    task_id: &'a str,
    url: &'a str,
    authentication: Option<Scheme<'a>>,
    metadata: Option<&'a Metadata>,
}

#[derive(Serialize)]
struct Scheme<'a> {
    scheme: &'a str,
}

impl<'a> Shown<'a> {
    fn of(config: &'a TaskPushNotificationConfig) -> Self {
        let scheme = |it: &'a AuthenticationInfo| Scheme { scheme: &it.scheme };
        Self {
            id: config.id.as_deref().unwrap_or_default(),
            task_id: config.task_id.as_deref().unwrap_or_default(),
            url: &config.url,
            authentication: config.authentication.as_ref().map(scheme),
            metadata: config.metadata.as_ref(),
        }
    }
}

/// Appends a configuration without its secrets, as it is created and read.
pub fn write_push_config(config: &TaskPushNotificationConfig, out: &mut Vec<u8>) {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Answer<'a> {
        config_id: &'a str,
        config: Shown<'a>,
    }
    let config = Shown::of(config);
    v1::write(
        &Answer {
            config_id: config.id,
            config,
        },
        out,
    );
}

/// Appends a list of configurations without their secrets.
pub fn write_push_configs(configs: &[TaskPushNotificationConfig], out: &mut Vec<u8>) {
    #[derive(Serialize)]
    struct Answer<'a> {
        items: Vec<Shown<'a>>,
    }
    let items = configs.iter().map(Shown::of).collect();
    v1::write(&Answer { items }, out);
}
