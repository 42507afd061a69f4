//! Parameters and answer of the two operations that send a message.

use serde::Serialize;

use super::check_history_length;
use crate::error::FieldViolation;
use crate::json::{Metadata, is_false, json_object};
use crate::limits::MAX_IDEMPOTENCY_KEY_CHARS;
use crate::message::{Message, check_list};
use crate::push_config::TaskPushNotificationConfig;
use crate::task::Task;

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

    pub(super) fn validate(&self, violations: &mut Vec<FieldViolation>) {
        self.message.validate("message", violations);
        let length = self.configuration.history_length;
        check_history_length("configuration.historyLength", length, violations);
        if let Some(Err(reason)) = self.metadata.as_ref().map(Metadata::check_limits) {
            violations.push(FieldViolation::new("metadata", reason));
        }
        if let Err(reason) = check_list(&self.configuration.accepted_output_modes) {
            let field = "configuration.acceptedOutputModes";
            violations.push(FieldViolation::new(field, reason));
        }
        if let Some(key) = &self.idempotency_key
            && (key.contains('\0') || key.chars().count() > MAX_IDEMPOTENCY_KEY_CHARS)
        {
            let description =
                format!("must be at most {MAX_IDEMPOTENCY_KEY_CHARS} characters without U+0000");
            violations.push(FieldViolation::new("idempotencyKey", description));
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
    pub(crate) fn is_default(&self) -> bool {
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
