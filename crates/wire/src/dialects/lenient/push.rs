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
    name: ResourceName,
    parent: ResourceName,
}

json_object!(AnyPushConfig {
    tenant: "tenant",
    id: "id" | "configId" | "config_id",
    task_id: "taskId" | "task_id",
    url: "url",
    token: "token",
    authentication: "authentication",
    nested: "pushNotificationConfig" | "push_notification_config" | "config",
    name: "name",
    parent: "parent",
});

/// `tasks/{id}` or `tasks/{id}/pushNotificationConfigs/{configId}`, as the proto of 0.3 has it.
#[derive(Default)]
struct ResourceName {
    task: Option<String>,
    config: Option<String>,
}

impl<'de> Deserialize<'de> for ResourceName {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let mut segments = text.split('/').filter(|segment| !segment.is_empty());
        let mut name = Self::default();
        while let (Some(kind), Some(id)) = (segments.next(), segments.next()) {
            match kind {
                "tasks" => name.task = Some(id.to_owned()),
                "pushNotificationConfigs" => name.config = Some(id.to_owned()),
                _ => {}
            }
        }
        Ok(name)
    }
}

impl crate::json::Value<'_> for ResourceName {}

struct Nested {
    id: Option<String>,
    task_id: Option<String>,
    url: String,
    token: Option<String>,
    authentication: Option<AnyAuthentication>,
    name: ResourceName,
    nested: Option<Innermost>,
}

json_object!(Nested {
    id: "id",
    task_id: "taskId" | "task_id",
    url: "url",
    token: "token",
    authentication: "authentication",
    name: "name",
    nested: "pushNotificationConfig" | "push_notification_config",
});

/// The configuration itself where 0.3's REST wraps it twice.
struct Innermost {
    id: Option<String>,
    url: String,
    token: Option<String>,
    authentication: Option<AnyAuthentication>,
}

json_object!(Innermost {
    id: "id",
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
        let mut schemes = any.schemes.into_iter();
        let scheme = if any.scheme.is_empty() {
            schemes.next().unwrap_or_default()
        } else {
            any.scheme
        };
        Self {
            other_schemes: schemes.filter(|other| *other != scheme).collect(),
            scheme,
            credentials: any.credentials,
        }
    }
}

impl Nested {
    /// Without its own wrapper.
    fn flattened(self) -> Self {
        let Some(inner) = self.nested else {
            return self;
        };
        Self {
            id: inner.id.or(self.id),
            task_id: self.task_id,
            url: inner.url,
            token: inner.token,
            authentication: inner.authentication,
            name: self.name,
            nested: None,
        }
    }
}

impl From<AnyPushConfig> for TaskPushNotificationConfig {
    fn from(any: AnyPushConfig) -> Self {
        let task_id = any.task_id.or(any.name.task).or(any.parent.task);
        let id = any.id.or(any.name.config);
        let Some(nested) = any.nested.map(Nested::flattened) else {
            return Self {
                tenant: any.tenant,
                id,
                task_id,
                url: any.url,
                token: any.token,
                authentication: any.authentication.map(AuthenticationInfo::from),
                metadata: None,
            };
        };
        Self {
            tenant: any.tenant,
            id: nested.id.or(id).or(nested.name.config),
            task_id: task_id.or(nested.task_id).or(nested.name.task),
            url: nested.url,
            token: nested.token,
            authentication: nested.authentication.map(AuthenticationInfo::from),
            metadata: None,
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
