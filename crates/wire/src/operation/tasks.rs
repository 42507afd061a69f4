//! Parameters and answers of the operations on tasks.

use serde::Serialize;

use super::{check_history_length, check_page};
use crate::error::FieldViolation;
use crate::json::{Metadata, json_object};
use crate::limits::DEFAULT_PAGE_SIZE;
use crate::message::check_id;
use crate::task::{Task, TaskState};
use crate::timestamp::Timestamp;

/// Parameters of GetTask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GetTaskRequest {
    /// Routing label of the agent's interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The task; required.
    pub id: String,
    /// Most messages of history in the answer; absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history_length: Option<i32>,
}

json_object!(required GetTaskRequest {
    tenant: "tenant",
    id: "id",
    history_length: "historyLength" | "history_length",
});

/// Parameters of ListTasks (specification 3.1.4).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListTasksRequest {
    /// Routing label of the agent's interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Only tasks of this conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_id: Option<String>,
    /// Only tasks in this state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<TaskState>,
    /// Tasks per page, 1 to 100; absent: 50.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_size: Option<i32>,
    /// `nextPageToken` of the page before; absent or empty: the first page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_token: Option<String>,
    /// Most messages of history per task; absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history_length: Option<i32>,
    /// Only tasks whose status is not older than this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_timestamp_after: Option<Timestamp>,
    /// Whether artifacts are in the answer; absent: no.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_artifacts: Option<bool>,
}

json_object!(ListTasksRequest {
    tenant: "tenant",
    context_id: "contextId" | "context_id",
    status: "status",
    page_size: "pageSize" | "page_size",
    page_token: "pageToken" | "page_token",
    history_length: "historyLength" | "history_length",
    status_timestamp_after: "statusTimestampAfter" | "status_timestamp_after",
    include_artifacts: "includeArtifacts" | "include_artifacts",
});

impl ListTasksRequest {
    pub(super) fn validate(&self, violations: &mut Vec<FieldViolation>) {
        check_page(self.page_size, self.page_token.as_deref(), violations);
        if let Some(Err(reason)) = self.context_id.as_deref().map(check_id) {
            violations.push(FieldViolation::new("contextId", reason));
        }
        if self.status == Some(TaskState::Unspecified) {
            violations.push(FieldViolation::new("status", "must name a state"));
        }
        check_history_length("historyLength", self.history_length, violations);
    }

    /// Tasks per page; call after `validate`.
    #[must_use]
    pub fn effective_page_size(&self) -> u32 {
        self.page_size
            .and_then(|size| u32::try_from(size).ok())
            .unwrap_or(DEFAULT_PAGE_SIZE)
    }
}

/// Answer to ListTasks. All members are always written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListTasksResponse {
    /// The page, newest status first.
    pub tasks: Vec<Task>,
    /// Token of the next page; empty on the last one.
    pub next_page_token: String,
    /// Page size that was used.
    pub page_size: u32,
    /// Matches before paging.
    pub total_size: u32,
}

json_object!(required ListTasksResponse {
    tasks: "tasks",
    next_page_token: "nextPageToken" | "next_page_token",
    page_size: "pageSize" | "page_size",
    total_size: "totalSize" | "total_size",
});

/// Parameters of CancelTask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CancelTaskRequest {
    /// Routing label of the agent's interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The task; required.
    pub id: String,
    /// User JSON about the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
}

json_object!(required CancelTaskRequest {
    tenant: "tenant",
    id: "id",
    metadata: "metadata",
});

/// Parameters of SubscribeToTask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SubscribeToTaskRequest {
    /// Routing label of the agent's interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The task; required.
    pub id: String,
}

json_object!(required SubscribeToTaskRequest {
    tenant: "tenant",
    id: "id",
});
