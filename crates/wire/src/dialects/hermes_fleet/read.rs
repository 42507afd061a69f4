//! Requests of this dialect, and how one is recognised among those of 1.0.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::push::FleetPushConfig;
use crate::dialects::lenient::AnyMessage;
use crate::dialects::params::read_params;
use crate::error::{A2aError, ErrorKind};
use crate::json::{Metadata, json_object};
use crate::limits::{MAX_ID_CHARS, MAX_PAGE_SIZE};
use crate::message::{Message, Role, check_free_id, check_id};
use crate::operation::{
    CancelTaskRequest, GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest,
    GetTaskRequest, ListTaskPushNotificationConfigsRequest, ListTasksRequest, Method, Request,
    SendMessageConfiguration, SendMessageRequest, SubscribeToTaskRequest,
};
use crate::part::Part;

/// How the plugin's client names itself.
const USER_AGENT: &str = "Hermes-A2A/3.0";
/// Tasks per page where none are named.
const PAGE_SIZE: i32 = 20;

/// Whether a request to an address of 1.0 is of this dialect: its sender says so, or a send names
/// the task it wants, which 1.0 has no member for.
#[must_use]
pub fn is_spoken(method: &str, params: Option<&str>, user_agent: Option<&str>) -> bool {
    #[derive(Deserialize)]
    struct Sent {
        #[serde(default)]
        id: Option<IgnoredAny>,
    }
    if user_agent == Some(USER_AGENT) {
        return true;
    }
    // Looked for in the text first: nearly no request has it, and each would be read twice.
    let Some(params) = params.filter(|text| method == "SendMessage" && text.contains("\"id\""))
    else {
        return false;
    };
    serde_json::from_str::<Sent>(params).is_ok_and(|sent| sent.id.is_some())
}

/// The operation of a JSON-RPC method; there are five.
pub fn method(name: &str) -> Result<Method, A2aError> {
    let known = Method::from_name(name).filter(|method| super::method_name(*method).is_some());
    known.ok_or_else(|| {
        let shown: String = name.chars().take(64).collect();
        let text = format!(
            "Method not found: {shown} (SendMessage, GetTask, CancelTask, SubscribeToTask, ListTasks)"
        );
        A2aError::new(ErrorKind::MethodNotFound, text)
    })
}

/// A sent message and what this dialect says beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetSend {
    /// The message as 1.0 has it. A push configuration that it brings keeps its key as `token`.
    pub request: SendMessageRequest,
    /// The task id the caller chose: free, or that of a task that waits for this message.
    pub caller_task_id: Option<String>,
    /// There is nothing in the message. Callers expect a failed task, not an error.
    pub is_empty: bool,
}

struct SendParams {
    id: Option<String>,
    context_id: Option<String>,
    idempotency_key: Option<String>,
    configuration: Configuration,
    message: Option<AnyMessage>,
    metadata: Option<Metadata>,
}

json_object!(SendParams {
    id: "id",
    context_id: "contextId" | "context_id",
    idempotency_key: "idempotencyKey" | "idempotency_key",
    configuration: "configuration",
    message: "message",
    metadata: "metadata",
});

#[derive(Default)]
struct Configuration {
    return_immediately: bool,
    accepted_output_modes: Vec<String>,
    history_length: Option<i32>,
    push: Option<FleetPushConfig>,
}

json_object!(Configuration {
    return_immediately: "return_immediately" | "returnImmediately",
    accepted_output_modes: "accepted_output_modes" | "acceptedOutputModes",
    history_length: "history_length" | "historyLength",
    push: "task_push_notification_config" | "taskPushNotificationConfig",
});

/// Reads and validates a send, from the parameters of JSON-RPC or the body of REST. A message
/// without an id gets `message_id`.
pub fn read_send(params: Option<&str>, message_id: &str) -> Result<FleetSend, A2aError> {
    read_params::<SendParams>(params)?.convert(message_id)
}

impl SendParams {
    fn convert(self, message_id: &str) -> Result<FleetSend, A2aError> {
        if let Some(Err(reason)) = self.id.as_deref().map(check_free_id) {
            return Err(A2aError::invalid_field("id", reason));
        }
        let message = self.message.map(Message::from);
        let mut message =
            message.ok_or_else(|| A2aError::invalid_field("message", "is required"))?;
        // Whatever role a caller claims, what it sends is the user's.
        message.role = Role::User;
        if message.message_id.is_empty() {
            message_id.clone_into(&mut message.message_id);
        }
        let in_metadata = || {
            let metadata = message.metadata.as_ref()?;
            metadata.member("context_id")?.read::<String>().ok()
        };
        let context_id = self.context_id.or(message.context_id.take());
        let context_id = context_id.or_else(in_metadata).filter(|id| !id.is_empty());
        // Without one the conversation has the name of its task, if that can be one.
        let by_task = self.id.clone().filter(|id| check_id(id).is_ok());
        message.context_id = context_id.or(by_task.filter(|_| message.task_id.is_none()));
        let is_blank = |part: &Part| part.as_text().is_some_and(|text| text.trim().is_empty());
        let is_empty = message.parts.iter().all(is_blank);
        if message.parts.is_empty() {
            message.parts.push(Part::text(""));
        }
        let mut request = SendMessageRequest::new(message);
        request.metadata = self.metadata;
        request.idempotency_key = self.idempotency_key;
        request.configuration = SendMessageConfiguration {
            accepted_output_modes: self.configuration.accepted_output_modes,
            history_length: self.configuration.history_length,
            return_immediately: self.configuration.return_immediately,
            task_push_notification_config: None,
        };
        let request = Request::SendMessage(request);
        request.validate()?;
        let Request::SendMessage(mut request) = request else {
            unreachable!("made just above")
        };
        let push = self.configuration.push.map(|push| push.convert(""));
        request.configuration.task_push_notification_config = push.transpose()?;
        Ok(FleetSend {
            request,
            caller_task_id: self.id,
            is_empty,
        })
    }
}

/// Subscribers name their task by another member than everybody else.
struct TaskParams {
    id: Option<String>,
    task_id: Option<String>,
    config_id: Option<String>,
}

json_object!(TaskParams {
    id: "id",
    task_id: "taskId" | "task_id",
    config_id: "configId" | "config_id",
});

impl TaskParams {
    fn task(self) -> Result<String, A2aError> {
        let id = self.task_id.or(self.id).filter(|id| !id.is_empty());
        let id = id.ok_or_else(|| A2aError::invalid_field("taskId", "is required"))?;
        match check_free_id(&id) {
            Ok(()) => Ok(id),
            // Nobody has a task under such an id.
            Err(_) => Err(A2aError::task_not_found(
                &id.chars().take(MAX_ID_CHARS).collect::<String>(),
            )),
        }
    }
}

struct ListParams {
    page_size: Option<i32>,
    token: Option<String>,
    context_id: Option<String>,
}

json_object!(ListParams {
    page_size: "pageSize" | "page_size",
    token: "continuationToken" | "continuation_token",
    context_id: "contextId" | "context_id",
});

/// A page of the caller's tasks, with their texts. Sizes are cut to 1 to 100, as the plugin does.
#[must_use]
pub fn list_request(page_size: Option<i32>, token: Option<String>) -> ListTasksRequest {
    ListTasksRequest {
        page_size: Some(
            page_size
                .unwrap_or(PAGE_SIZE)
                .clamp(1, MAX_PAGE_SIZE as i32),
        ),
        page_token: token.filter(|token| !token.is_empty()),
        include_artifacts: Some(true),
        ..ListTasksRequest::default()
    }
}

pub(in crate::dialects) fn read_request(
    method: Method,
    params: Option<&str>,
    message_id: Option<&str>,
) -> Result<Request, A2aError> {
    let tenant = None;
    let task = || read_params::<TaskParams>(params)?.task();
    let request = match method {
        Method::SendMessage => {
            return Ok(Request::SendMessage(
                read_send(params, message_id.unwrap_or("message"))?.request,
            ));
        }
        Method::SendStreamingMessage => {
            return Ok(Request::SendStreamingMessage(
                read_send(params, message_id.unwrap_or("message"))?.request,
            ));
        }
        Method::GetTask => Request::GetTask(GetTaskRequest {
            tenant,
            id: task()?,
            history_length: Some(0),
        }),
        Method::CancelTask => Request::CancelTask(CancelTaskRequest {
            tenant,
            id: task()?,
            metadata: None,
        }),
        Method::SubscribeToTask => {
            let id = task()?;
            Request::SubscribeToTask(SubscribeToTaskRequest { tenant, id })
        }
        Method::ListTasks => {
            let params: ListParams = read_params(params)?;
            Request::ListTasks(ListTasksRequest {
                context_id: params.context_id,
                ..list_request(params.page_size, params.token)
            })
        }
        Method::CreateTaskPushNotificationConfig => {
            let config: FleetPushConfig = read_params(params)?;
            return Ok(Request::CreateTaskPushNotificationConfig(
                config.convert(&task()?)?,
            ));
        }
        Method::GetTaskPushNotificationConfig | Method::DeleteTaskPushNotificationConfig => {
            let TaskParams { id, config_id, .. } = read_params(params)?;
            let request = GetTaskPushNotificationConfigRequest {
                tenant,
                task_id: task()?,
                id: config_id.or(id).unwrap_or_default(),
            };
            match method {
                Method::GetTaskPushNotificationConfig => {
                    Request::GetTaskPushNotificationConfig(request)
                }
                _ => Request::DeleteTaskPushNotificationConfig(request),
            }
        }
        Method::ListTaskPushNotificationConfigs => {
            Request::ListTaskPushNotificationConfigs(ListTaskPushNotificationConfigsRequest {
                tenant,
                task_id: task()?,
                page_size: None,
                page_token: None,
            })
        }
        Method::GetExtendedAgentCard => {
            Request::GetExtendedAgentCard(GetExtendedAgentCardRequest { tenant })
        }
    };
    request.validate()?;
    Ok(request)
}
