//! Push configurations: flat as in 1.0, nested as in 0.3 and in early 1.0, alone or in lists.

use serde::Deserialize;

use super::event::read;
use crate::error::A2aError;
use crate::json::json_object;
use crate::operation::ListTaskPushNotificationConfigsResponse;
use crate::push_config::{AuthenticationInfo, TaskPushNotificationConfig};

/// A push configuration in any shape; the inner object's members win.
pub(in crate::dialects) struct AnyPushConfig {
    tenant: Option<String>,
    id: Option<String>,
    task_id: Option<String>,
    url: String,
    token: Option<String>,
    authentication: Option<AnyAuthentication>,
    nested: Option<Nested>,
}

json_object!(AnyPushConfig {
    tenant: "tenant",
    id: "id" | "configId" | "config_id",
    task_id: "taskId" | "task_id",
    url: "url",
    token: "token",
    authentication: "authentication",
    nested: "pushNotificationConfig" | "push_notification_config" | "config",
});

struct Nested {
    id: Option<String>,
    task_id: Option<String>,
    url: String,
    token: Option<String>,
    authentication: Option<AnyAuthentication>,
}

json_object!(Nested {
    id: "id",
    task_id: "taskId" | "task_id",
    url: "url",
    token: "token",
    authentication: "authentication",
});

struct AnyAuthentication {
    scheme: String,
    schemes: Vec<String>,
    credentials: Option<String>,
}

json_object!(AnyAuthentication {
    scheme: "scheme",
    schemes: "schemes",
    credentials: "credentials",
});

impl From<AnyAuthentication> for AuthenticationInfo {
    fn from(any: AnyAuthentication) -> Self {
        let first = any.schemes.into_iter().next().unwrap_or_default();
        let scheme = if any.scheme.is_empty() {
            first
        } else {
            any.scheme
        };
        Self {
            scheme,
            credentials: any.credentials,
        }
    }
}

impl From<AnyPushConfig> for TaskPushNotificationConfig {
    fn from(any: AnyPushConfig) -> Self {
        let Some(nested) = any.nested else {
            return Self {
                tenant: any.tenant,
                id: any.id,
                task_id: any.task_id,
                url: any.url,
                token: any.token,
                authentication: any.authentication.map(AuthenticationInfo::from),
            };
        };
        Self {
            tenant: any.tenant,
            id: nested.id.or(any.id),
            task_id: any.task_id.or(nested.task_id),
            url: nested.url,
            token: nested.token,
            authentication: nested.authentication.map(AuthenticationInfo::from),
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum AnyPushConfigs {
    List(Vec<AnyPushConfig>),
    Page(Page),
}

struct Page {
    configs: Vec<AnyPushConfig>,
    next_page_token: String,
}

json_object!(Page {
    configs: "configs",
    next_page_token: "nextPageToken" | "next_page_token",
});

/// Reads a list of configurations: the page of 1.0 or the array of 0.3.
pub(in crate::dialects) fn read_push_configs(
    text: &str,
) -> Result<ListTaskPushNotificationConfigsResponse, A2aError> {
    let (configs, next_page_token) = match read(text)? {
        AnyPushConfigs::List(configs) => (configs, String::new()),
        AnyPushConfigs::Page(page) => (page.configs, page.next_page_token),
    };
    Ok(ListTaskPushNotificationConfigsResponse {
        configs: super::all(configs),
        next_page_token,
    })
}
