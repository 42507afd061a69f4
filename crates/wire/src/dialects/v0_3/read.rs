//! Requests of 0.3: read leniently, validated as strictly as those of 1.0, and written by clients.

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::write::{Inner, Old, write};
use crate::dialects::lenient::{AnyMessage, AnyPushConfig};
use crate::dialects::params::read_params;
use crate::error::A2aError;
use crate::json::{Metadata, json_object};
use crate::operation::{
    CancelTaskRequest, GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest,
    GetTaskRequest, ListTaskPushNotificationConfigsRequest, Method, Request,
    SendMessageConfiguration, SendMessageRequest, SubscribeToTaskRequest,
};

struct SendParams {
    message: AnyMessage,
    message_id: String,
    configuration: Configuration,
    metadata: Option<Metadata>,
    idempotency_key: Option<String>,
}

// `request` is the name that one client takes from the proto; a `messageId` beside the message
// stands in an example of the text.
json_object!(SendParams {
    message: "message" | "request",
    message_id: "messageId" | "message_id",
    configuration: "configuration",
    metadata: "metadata",
    idempotency_key: "idempotencyKey" | "idempotency_key",
});

#[derive(Default)]
struct Configuration {
    accepted_output_modes: Vec<String>,
    history_length: Option<i32>,
    push: Option<AnyPushConfig>,
    blocking: Option<bool>,
}

json_object!(Configuration {
    accepted_output_modes: "acceptedOutputModes" | "accepted_output_modes",
    history_length: "historyLength" | "history_length",
    push: "pushNotificationConfig"
        | "push_notification_config"
        | "pushNotification"
        | "push_notification",
    blocking: "blocking",
});

impl SendParams {
    fn into_request(self, message_id: Option<&str>) -> SendMessageRequest {
        let mut message: crate::Message = self.message.into();
        if message.message_id.is_empty() {
            message.message_id = self.message_id;
        }
        if let Some(id) = message_id.filter(|_| message.message_id.is_empty()) {
            message.message_id = id.to_owned();
        }
        let configuration = SendMessageConfiguration {
            accepted_output_modes: self.configuration.accepted_output_modes,
            task_push_notification_config: self.configuration.push.map(Into::into),
            history_length: limited(self.configuration.history_length),
            // Absent means blocking.
            return_immediately: self.configuration.blocking == Some(false),
        };
        SendMessageRequest {
            tenant: None,
            message,
            configuration,
            metadata: self.metadata,
            idempotency_key: self.idempotency_key,
        }
    }
}

/// 0 is "all of it" in 0.3 and "none of it" in 1.0.
fn limited(history_length: Option<i32>) -> Option<i32> {
    history_length.filter(|length| *length != 0)
}

/// Parameters of all operations on one task. `id` is the task.
struct TaskParams {
    id: String,
    history_length: Option<i32>,
    config_id: String,
    metadata: Option<Metadata>,
}

json_object!(TaskParams {
    id: "id" | "taskId" | "task_id",
    history_length: "historyLength" | "history_length",
    config_id: "pushNotificationConfigId" | "push_notification_config_id",
    metadata: "metadata",
});

/// Reads and validates. The id of a push configuration to get may be missing: it is then empty, and
/// the newest one of the task is meant.
pub(in crate::dialects) fn read_request(
    method: Method,
    params: Option<&str>,
    message_id: Option<&str>,
) -> Result<Request, A2aError> {
    let request = read_partial(method, params, message_id)?;
    validate(&request)?;
    Ok(request)
}

/// Reads without validating.
pub(in crate::dialects) fn read_partial(
    method: Method,
    params: Option<&str>,
    message_id: Option<&str>,
) -> Result<Request, A2aError> {
    let send = || -> Result<_, A2aError> {
        Ok(read_params::<SendParams>(params)?.into_request(message_id))
    };
    let task = || read_params::<TaskParams>(params);
    Ok(match method {
        Method::SendMessage => Request::SendMessage(send()?),
        Method::SendStreamingMessage => Request::SendStreamingMessage(send()?),
        Method::CreateTaskPushNotificationConfig => {
            Request::CreateTaskPushNotificationConfig(read_params::<AnyPushConfig>(params)?.into())
        }
        Method::GetExtendedAgentCard => {
            Request::GetExtendedAgentCard(GetExtendedAgentCardRequest::default())
        }
        // 0.3 has no list; where it is asked for all the same, the parameters are those of 1.0.
        Method::ListTasks => Request::ListTasks(read_params(params)?),
        method => about_task(method, task()?),
    })
}

/// Validates, naming the fields at fault as 0.3 does.
pub(in crate::dialects) fn validate(request: &Request) -> Result<(), A2aError> {
    if let Request::GetTaskPushNotificationConfig(names) = request
        && names.id.is_empty()
        && !names.task_id.is_empty()
    {
        return Ok(());
    }
    request
        .validate()
        .map_err(|error| with_old_names(request.method(), error))
}

fn about_task(method: Method, params: TaskParams) -> Request {
    let TaskParams {
        id,
        history_length,
        config_id,
        metadata,
    } = params;
    match method {
        Method::GetTask => Request::GetTask(GetTaskRequest {
            tenant: None,
            id,
            history_length: limited(history_length),
        }),
        Method::CancelTask => Request::CancelTask(CancelTaskRequest {
            tenant: None,
            id,
            metadata,
        }),
        Method::ListTaskPushNotificationConfigs => {
            Request::ListTaskPushNotificationConfigs(ListTaskPushNotificationConfigsRequest {
                tenant: None,
                task_id: id,
                page_size: None,
                page_token: None,
            })
        }
        Method::GetTaskPushNotificationConfig | Method::DeleteTaskPushNotificationConfig => {
            let names = GetTaskPushNotificationConfigRequest {
                tenant: None,
                task_id: id,
                id: config_id,
            };
            if method == Method::DeleteTaskPushNotificationConfig {
                Request::DeleteTaskPushNotificationConfig(names)
            } else {
                Request::GetTaskPushNotificationConfig(names)
            }
        }
        _ => Request::SubscribeToTask(SubscribeToTaskRequest { tenant: None, id }),
    }
}

/// Names the fields at fault as the caller spelled them.
fn with_old_names(method: Method, error: A2aError) -> A2aError {
    let is_create = method == Method::CreateTaskPushNotificationConfig;
    let names_config = matches!(
        method,
        Method::GetTaskPushNotificationConfig | Method::DeleteTaskPushNotificationConfig
    );
    let renamed = error.violations.into_iter().map(|mut violation| {
        violation.field = match violation.field.as_str() {
            "id" if names_config => "pushNotificationConfigId".to_owned(),
            "taskId" if !is_create => "id".to_owned(),
            "url" => "pushNotificationConfig.url".to_owned(),
            field => field.replace("taskPushNotificationConfig", "pushNotificationConfig"),
        };
        violation
    });
    A2aError::invalid_params(renamed.collect())
}

/// Appends the parameters of a request as a 0.3 server reads them.
pub(in crate::dialects) fn write_params(request: &Request, out: &mut Vec<u8>) {
    match request {
        Request::SendMessage(r) | Request::SendStreamingMessage(r) => write(r, out),
        Request::CreateTaskPushNotificationConfig(config) => write(config, out),
        Request::ListTasks(r) => crate::dialects::v1::write(r, out),
        Request::GetExtendedAgentCard(_) => out.extend_from_slice(b"{}"),
        Request::GetTask(r) => {
            let history_length = r.history_length;
            write(
                Named {
                    history_length,
                    ..Named::task(&r.id)
                },
                out,
            );
        }
        Request::CancelTask(r) => {
            write(
                Named {
                    metadata: r.metadata.as_ref(),
                    ..Named::task(&r.id)
                },
                out,
            );
        }
        Request::SubscribeToTask(r) => write(Named::task(&r.id), out),
        Request::ListTaskPushNotificationConfigs(r) => write(Named::task(&r.task_id), out),
        Request::GetTaskPushNotificationConfig(r)
        | Request::DeleteTaskPushNotificationConfig(r) => {
            let config_id = Some(r.id.as_str()).filter(|id| !id.is_empty());
            write(
                Named {
                    config_id,
                    ..Named::task(&r.task_id)
                },
                out,
            );
        }
    }
}

struct Named<'a> {
    id: &'a str,
    history_length: Option<i32>,
    config_id: Option<&'a str>,
    metadata: Option<&'a Metadata>,
}

impl<'a> Named<'a> {
    fn task(id: &'a str) -> Self {
        Self {
            id,
            history_length: None,
            config_id: None,
            metadata: None,
        }
    }
}

impl Serialize for Old<Named<'_>> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", self.0.id)?;
        if let Some(length) = self.0.history_length {
            map.serialize_entry("historyLength", &at_least_one(length))?;
        }
        if let Some(id) = self.0.config_id {
            map.serialize_entry("pushNotificationConfigId", id)?;
        }
        if let Some(metadata) = self.0.metadata {
            map.serialize_entry("metadata", metadata)?;
        }
        map.end()
    }
}

/// 0.3 cannot ask for no history: one message is the least, and the reader of the answer cuts it.
pub(crate) fn at_least_one(history_length: i32) -> i32 {
    history_length.max(1)
}

impl Serialize for Old<&SendMessageRequest> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("message", &Old(&self.0.message))?;
        map.serialize_entry("configuration", &Old(&self.0.configuration))?;
        if let Some(metadata) = &self.0.metadata {
            map.serialize_entry("metadata", metadata)?;
        }
        if let Some(key) = &self.0.idempotency_key {
            map.serialize_entry("idempotencyKey", key)?;
        }
        map.end()
    }
}

impl Serialize for Old<&SendMessageConfiguration> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        // Servers disagree on what its absence means.
        map.serialize_entry("blocking", &!self.0.return_immediately)?;
        if !self.0.accepted_output_modes.is_empty() {
            map.serialize_entry("acceptedOutputModes", &self.0.accepted_output_modes)?;
        }
        if let Some(length) = self.0.history_length {
            map.serialize_entry("historyLength", &at_least_one(length))?;
        }
        if let Some(push) = &self.0.task_push_notification_config {
            map.serialize_entry("pushNotificationConfig", &Old(Inner(push)))?;
        }
        map.end()
    }
}
