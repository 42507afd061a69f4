//! The operations of A2A: one request and one response variant each (specification 3.1).
//!
//! Every binding and dialect reads into and writes from these types; `validate` holds what the
//! proto marks REQUIRED and the bounds of [`crate::limits`]. Where it goes next is the server's.

mod method;
mod push;
mod send;
mod tasks;

pub use method::Method;
pub use push::{
    DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest, ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
};
pub use send::{SendMessageConfiguration, SendMessageRequest, SendMessageResponse};
pub use tasks::{
    CancelTaskRequest, GetTaskRequest, ListTasksRequest, ListTasksResponse, SubscribeToTaskRequest,
};

use crate::agent_card::AgentCard;
use crate::error::{A2aError, FieldViolation};
use crate::limits::{MAX_PAGE_SIZE, MAX_PAGE_TOKEN_BYTES};
use crate::message::no_nul;
use crate::push_config::TaskPushNotificationConfig;
use crate::task::Task;

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

    /// Where the request keeps its tenant.
    pub fn tenant_mut(&mut self) -> &mut Option<String> {
        match self {
            Self::SendMessage(r) | Self::SendStreamingMessage(r) => &mut r.tenant,
            Self::GetTask(r) => &mut r.tenant,
            Self::ListTasks(r) => &mut r.tenant,
            Self::CancelTask(r) => &mut r.tenant,
            Self::SubscribeToTask(r) => &mut r.tenant,
            Self::CreateTaskPushNotificationConfig(r) => &mut r.tenant,
            Self::GetTaskPushNotificationConfig(r) | Self::DeleteTaskPushNotificationConfig(r) => {
                &mut r.tenant
            }
            Self::ListTaskPushNotificationConfigs(r) => &mut r.tenant,
            Self::GetExtendedAgentCard(r) => &mut r.tenant,
        }
    }

    /// Checks required members and bounds; the error names every field that is wrong.
    pub fn validate(&self) -> Result<(), A2aError> {
        let mut violations = Vec::new();
        if let Some(Err(reason)) = self.tenant().map(no_nul) {
            violations.push(FieldViolation::new("tenant", reason));
        }
        match self {
            Self::SendMessage(r) | Self::SendStreamingMessage(r) => r.validate(&mut violations),
            Self::GetTask(r) => {
                require("id", &r.id, &mut violations);
                check_history_length("historyLength", r.history_length, &mut violations);
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
                check_page(r.page_size, r.page_token.as_deref(), &mut violations);
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

impl Request {
    /// Gives the message of a send this id if it has none.
    pub(crate) fn offer_message_id(&mut self, message_id: Option<&str>) {
        if let Self::SendMessage(send) | Self::SendStreamingMessage(send) = self
            && let Some(id) = message_id.filter(|_| send.message.message_id.is_empty())
        {
            send.message.message_id = id.to_owned();
        }
    }
}

fn require(field: &str, value: &str, violations: &mut Vec<FieldViolation>) {
    if value.is_empty() {
        violations.push(FieldViolation::new(field, "is required"));
    } else if let Err(reason) = no_nul(value) {
        violations.push(FieldViolation::new(field, reason));
    }
}

fn check_history_length(field: &str, length: Option<i32>, violations: &mut Vec<FieldViolation>) {
    if length.is_some_and(|length| length < 0) {
        violations.push(FieldViolation::new(field, "must not be negative"));
    }
}

fn check_page(size: Option<i32>, token: Option<&str>, violations: &mut Vec<FieldViolation>) {
    let sizes = 1..=MAX_PAGE_SIZE as i32;
    if size.is_some_and(|size| !sizes.contains(&size)) {
        let description = format!("must be from 1 to {MAX_PAGE_SIZE}");
        violations.push(FieldViolation::new("pageSize", description));
    }
    if token.is_some_and(|token| token.len() > MAX_PAGE_TOKEN_BYTES) {
        violations.push(FieldViolation::new(
            "pageToken",
            "is not a token of this server",
        ));
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
