//! Where a task's events are pushed to (specification 4.3).

use serde::{Deserialize, Serialize};
use std::fmt;

use crate::json::null_as_default;
use crate::message::empty_as_none;

/// One webhook of one task (specification 4.3.1).
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskPushNotificationConfig {
    /// Routing label of the agent's interface.
    #[serde(
        default,
        deserialize_with = "empty_as_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub tenant: Option<String>,
    /// Chosen by the client, else made by the server.
    #[serde(
        default,
        deserialize_with = "empty_as_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub id: Option<String>,
    /// The task; absent in an inline configuration.
    #[serde(
        default,
        alias = "task_id",
        deserialize_with = "empty_as_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub task_id: Option<String>,
    /// Where to POST; required.
    #[serde(default, deserialize_with = "null_as_default")]
    pub url: String,
    /// Sent as `X-A2A-Notification-Token`. A secret.
    #[serde(
        default,
        deserialize_with = "empty_as_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub token: Option<String>,
    /// Sent as `Authorization`. A secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authentication: Option<AuthenticationInfo>,
}

/// Credentials for a webhook (specification 4.3.2).
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthenticationInfo {
    /// Scheme of the `Authorization` header, such as `Bearer`; required.
    #[serde(default, deserialize_with = "null_as_default")]
    pub scheme: String,
    /// What follows the scheme. A secret.
    #[serde(
        default,
        deserialize_with = "empty_as_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub credentials: Option<String>,
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
            .field(
                "credentials",
                &self.credentials.as_ref().map(|_| "[secret]"),
            )
            .finish()
    }
}
