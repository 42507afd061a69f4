//! The operations of A2A: one request and one response variant each (specification 3.1).
//!
//! Every binding and dialect reads into and writes from these types; `validate` holds what the
//! proto marks REQUIRED and the bounds of [`crate::limits`]. Where it goes next is the server's.

use serde::Serialize;

use crate::agent_card::AgentCard;
use crate::error::{A2aError, FieldViolation};
use crate::json::{Metadata, is_false, json_object};
use crate::limits::{DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, MAX_PAGE_TOKEN_BYTES};
use crate::message::{Message, check_id};
use crate::push_config::TaskPushNotificationConfig;
use crate::task::{Task, TaskState};
use crate::timestamp::Timestamp;

/// The operations, without their parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the names are the specification's
pub enum Method {
    SendMessage,
    SendStreamingMessage,
    GetTask,
    ListTasks,
    CancelTask,
    SubscribeToTask,
    CreateTaskPushNotificationConfig,
    GetTaskPushNotificationConfig,
    ListTaskPushNotificationConfigs,
    DeleteTaskPushNotificationConfig,
    GetExtendedAgentCard,
}

impl Method {
    /// Every operation.
    pub const ALL: [Self; 11] = [
        Self::SendMessage,
        Self::SendStreamingMessage,
        Self::GetTask,
        Self::ListTasks,
        Self::CancelTask,
        Self::SubscribeToTask,
        Self::CreateTaskPushNotificationConfig,
        Self::GetTaskPushNotificationConfig,
        Self::ListTaskPushNotificationConfigs,
        Self::DeleteTaskPushNotificationConfig,
        Self::GetExtendedAgentCard,
    ];

    /// The name in JSON-RPC 1.0 and gRPC.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::SendMessage => "SendMessage",
            Self::SendStreamingMessage => "SendStreamingMessage",
            Self::GetTask => "GetTask",
            Self::ListTasks => "ListTasks",
            Self::CancelTask => "CancelTask",
            Self::SubscribeToTask => "SubscribeToTask",
            Self::CreateTaskPushNotificationConfig => "CreateTaskPushNotificationConfig",
            Self::GetTaskPushNotificationConfig => "GetTaskPushNotificationConfig",
            Self::ListTaskPushNotificationConfigs => "ListTaskPushNotificationConfigs",
            Self::DeleteTaskPushNotificationConfig => "DeleteTaskPushNotificationConfig",
            Self::GetExtendedAgentCard => "GetExtendedAgentCard",
        }
    }

    /// The operation with this 1.0 name; names are never folded.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }

    /// Whether the answer is a stream of events.
    #[must_use]
    pub fn is_streaming(self) -> bool {
        matches!(self, Self::SendStreamingMessage | Self::SubscribeToTask)
    }
}

/// A request with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, clippy::large_enum_variant)] // one per operation; moved once, never stored
pub enum Request {
    SendMessage(SendMessageRequest),
    SendStreamingMessage(SendMessageRequest),
    GetTask(GetTaskRequest),
    ListTasks(ListTasksRequest),
    CancelTask(CancelTaskRequest),
    SubscribeToTask(SubscribeToTaskRequest),
    CreateTaskPushNotificationConfig(TaskPushNotificationConfig),
    GetTaskPushNotificationConfig(GetTaskPushNotificationConfigRequest),
    ListTaskPushNotificationConfigs(ListTaskPushNotificationConfigsRequest),
    DeleteTaskPushNotificationConfig(DeleteTaskPushNotificationConfigRequest),
    GetExtendedAgentCard(GetExtendedAgentCardRequest),
}

impl Request {
    /// Which operation this asks for.
    #[must_use]
    pub fn method(&self) -> Method {
        match self {
            Self::SendMessage(_) => Method::SendMessage,
            Self::SendStreamingMessage(_) => Method::SendStreamingMessage,
            Self::GetTask(_) => Method::GetTask,
            Self::ListTasks(_) => Method::ListTasks,
            Self::CancelTask(_) => Method::CancelTask,
            Self::SubscribeToTask(_) => Method::SubscribeToTask,
            Self::CreateTaskPushNotificationConfig(_) => Method::CreateTaskPushNotificationConfig,
            Self::GetTaskPushNotificationConfig(_) => Method::GetTaskPushNotificationConfig,
            Self::ListTaskPushNotificationConfigs(_) => Method::ListTaskPushNotificationConfigs,
            Self::DeleteTaskPushNotificationConfig(_) => Method::DeleteTaskPushNotificationConfig,
            Self::GetExtendedAgentCard(_) => Method::GetExtendedAgentCard,
        }
    }

    /// The tenant the request names, if any.
    #[must_use]
    pub fn tenant(&self) -> Option<&str> {
        match self {
            Self::SendMessage(r) | Self::SendStreamingMessage(r) => r.tenant.as_deref(),
            Self::GetTask(r) => r.tenant.as_deref(),
            Self::ListTasks(r) => r.tenant.as_deref(),
            Self::CancelTask(r) => r.tenant.as_deref(),
            Self::SubscribeToTask(r) => r.tenant.as_deref(),
            Self::CreateTaskPushNotificationConfig(r) => r.tenant.as_deref(),
            Self::GetTaskPushNotificationConfig(r) => r.tenant.as_deref(),
            Self::ListTaskPushNotificationConfigs(r) => r.tenant.as_deref(),
            Self::DeleteTaskPushNotificationConfig(r) => r.tenant.as_deref(),
            Self::GetExtendedAgentCard(r) => r.tenant.as_deref(),
        }
    }

    /// Checks required members and bounds; the error names every field that is wrong.
    pub fn validate(&self) -> Result<(), A2aError> {
        let mut violations = Vec::new();
        match self {
            Self::SendMessage(r) | Self::SendStreamingMessage(r) => r.validate(&mut violations),
            Self::GetTask(r) => {
                require("id", &r.id, &mut violations);
                check_history_length(r.history_length, &mut violations);
            }
            Self::ListTasks(r) => r.validate(&mut violations),
            Self::CancelTask(r) => require("id", &r.id, &mut violations),
            Self::SubscribeToTask(r) => require("id", &r.id, &mut violations),
            Self::CreateTaskPushNotificationConfig(r) => {
                require(
                    "taskId",
                    r.task_id.as_deref().unwrap_or_default(),
                    &mut violations,
                );
                r.validate("", &mut violations);
            }
            Self::GetTaskPushNotificationConfig(r) => {
                require("taskId", &r.task_id, &mut violations);
                require("id", &r.id, &mut violations);
            }
            Self::ListTaskPushNotificationConfigs(r) => {
                require("taskId", &r.task_id, &mut violations);
            }
            Self::DeleteTaskPushNotificationConfig(r) => {
                require("taskId", &r.task_id, &mut violations);
                require("id", &r.id, &mut violations);
            }
            Self::GetExtendedAgentCard(_) => {}
        }
        if violations.is_empty() {
            Ok(())
        } else {
            Err(A2aError::invalid_params(violations))
        }
    }
}

fn require(field: &str, value: &str, violations: &mut Vec<FieldViolation>) {
    if value.is_empty() {
        violations.push(FieldViolation::new(field, "is required"));
    }
}

fn check_history_length(length: Option<i32>, violations: &mut Vec<FieldViolation>) {
    if length.is_some_and(|length| length < 0) {
        violations.push(FieldViolation::new("historyLength", "must not be negative"));
    }
}

/// A successful answer. Streams are answered by [`crate::StreamResponse`] events instead.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant)] // moved once, never stored
pub enum Response {
    /// SendMessage.
    SendMessage(SendMessageResponse),
    /// GetTask and CancelTask.
    Task(Task),
    /// ListTasks.
    ListTasks(ListTasksResponse),
    /// CreateTaskPushNotificationConfig and GetTaskPushNotificationConfig.
    PushConfig(TaskPushNotificationConfig),
    /// ListTaskPushNotificationConfigs.
    PushConfigs(ListTaskPushNotificationConfigsResponse),
    /// DeleteTaskPushNotificationConfig.
    Deleted,
    /// GetExtendedAgentCard.
    AgentCard(Box<AgentCard>),
}

/// Parameters of SendMessage and SendStreamingMessage (specification 3.2.1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SendMessageRequest {
    /// Routing label of the agent's interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// What is said; required.
    pub message: Message,
    /// How to answer.
    #[serde(skip_serializing_if = "SendMessageConfiguration::is_default")]
    pub configuration: SendMessageConfiguration,
    /// User JSON about the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    /// Key under which a repeat gives the same task. An addition of nuncio's that others ignore; on
    /// HTTP the `Idempotency-Key` header says the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

json_object!(required SendMessageRequest {
    tenant: "tenant",
    message: "message",
    configuration: "configuration",
    metadata: "metadata",
    idempotency_key: "idempotencyKey" | "idempotency_key",
});

impl SendMessageRequest {
    /// A request that sends `message` and waits for the end.
    #[must_use]
    pub fn new(message: Message) -> Self {
        Self {
            tenant: None,
            message,
            configuration: SendMessageConfiguration::default(),
            metadata: None,
            idempotency_key: None,
        }
    }

    fn validate(&self, violations: &mut Vec<FieldViolation>) {
        self.message.validate("message", violations);
        if self
            .configuration
            .history_length
            .is_some_and(|length| length < 0)
        {
            violations.push(FieldViolation::new(
                "configuration.historyLength",
                "must not be negative",
            ));
        }
        if let Some(Err(reason)) = self.metadata.as_ref().map(Metadata::check_limits) {
            violations.push(FieldViolation::new("metadata", reason));
        }
        if let Some(push) = &self.configuration.task_push_notification_config {
            push.validate("configuration.taskPushNotificationConfig.", violations);
        }
    }
}

/// How a send is to be answered (specification 3.2.2).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SendMessageConfiguration {
    /// Media types the caller can take.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accepted_output_modes: Vec<String>,
    /// A webhook registered before the first event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_push_notification_config: Option<TaskPushNotificationConfig>,
    /// Most messages of history in the answer; absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history_length: Option<i32>,
    /// Answer once the task exists instead of waiting for its end.
    #[serde(skip_serializing_if = "is_false")]
    pub return_immediately: bool,
}

json_object!(SendMessageConfiguration {
    accepted_output_modes: "acceptedOutputModes" | "accepted_output_modes",
    task_push_notification_config: "taskPushNotificationConfig" | "task_push_notification_config",
    history_length: "historyLength" | "history_length",
    return_immediately: "returnImmediately" | "return_immediately",
});

impl SendMessageConfiguration {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Answer to SendMessage: exactly one member (specification 3.2.3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(clippy::large_enum_variant)] // moved once, never stored
pub enum SendMessageResponse {
    /// The task that was made or continued.
    Task(Task),
    /// A direct answer without a task.
    Message(Message),
}

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
    fn validate(&self, violations: &mut Vec<FieldViolation>) {
        let sizes = 1..=MAX_PAGE_SIZE as i32;
        if self.page_size.is_some_and(|size| !sizes.contains(&size)) {
            let description = format!("must be from 1 to {MAX_PAGE_SIZE}");
            violations.push(FieldViolation::new("pageSize", description));
        }
        if self
            .page_token
            .as_ref()
            .is_some_and(|token| token.len() > MAX_PAGE_TOKEN_BYTES)
        {
            violations.push(FieldViolation::new(
                "pageToken",
                "is not a token of this server",
            ));
        }
        if let Some(Err(reason)) = self.context_id.as_deref().map(check_id) {
            violations.push(FieldViolation::new("contextId", reason));
        }
        if self.status == Some(TaskState::Unspecified) {
            violations.push(FieldViolation::new("status", "must name a state"));
        }
        check_history_length(self.history_length, violations);
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
