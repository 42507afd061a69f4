//! Parameters and answers of the operations on push configurations, and of the extended card.

use serde::Serialize;

use crate::json::json_object;
use crate::push_config::TaskPushNotificationConfig;

/// Parameters of GetTaskPushNotificationConfig.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GetTaskPushNotificationConfigRequest {
    /// Routing label of the agent's interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The task; required.
    pub task_id: String,
    /// The configuration; required.
    pub id: String,
}

json_object!(required GetTaskPushNotificationConfigRequest {
    tenant: "tenant",
    task_id: "taskId" | "task_id",
    id: "id",
});

/// Parameters of DeleteTaskPushNotificationConfig: the same as of the get.
pub type DeleteTaskPushNotificationConfigRequest = GetTaskPushNotificationConfigRequest;

/// Parameters of ListTaskPushNotificationConfigs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListTaskPushNotificationConfigsRequest {
    /// Routing label of the agent's interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The task; required.
    pub task_id: String,
    /// Configurations per page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_size: Option<i32>,
    /// `nextPageToken` of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_token: Option<String>,
}

json_object!(required ListTaskPushNotificationConfigsRequest {
    tenant: "tenant",
    task_id: "taskId" | "task_id",
    page_size: "pageSize" | "page_size",
    page_token: "pageToken" | "page_token",
});

/// Answer to ListTaskPushNotificationConfigs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListTaskPushNotificationConfigsResponse {
    /// The configurations.
    pub configs: Vec<TaskPushNotificationConfig>,
    /// Token of the next page; empty on the last one.
    pub next_page_token: String,
}

json_object!(required ListTaskPushNotificationConfigsResponse {
    configs: "configs",
    next_page_token: "nextPageToken" | "next_page_token",
});

/// Parameters of GetExtendedAgentCard.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GetExtendedAgentCardRequest {
    /// Routing label of the agent's interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
}

json_object!(GetExtendedAgentCardRequest { tenant: "tenant" });
