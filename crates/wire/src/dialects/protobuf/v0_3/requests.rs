//! Parameters of the operations of `a2a.v1`.

use super::names::{config_name, config_of, task_name, task_of};
use super::objects::{message_in, message_out, metadata_in, metadata_out};
use crate::dialects::protobuf::generated::a2a::v1 as pb;
use crate::dialects::protobuf::wrong::{InField as _, Wrong, given, required};
use crate::dialects::v0_3::at_least_one;
use crate::operation::{
    CancelTaskRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
    ListTaskPushNotificationConfigsRequest, SendMessageConfiguration, SendMessageRequest,
    SubscribeToTaskRequest,
};
use crate::push_config::{AuthenticationInfo, TaskPushNotificationConfig};

fn history_out(length: Option<i32>) -> i32 {
    length.map_or(0, at_least_one)
}

/// 0 is how protobuf says that no length is asked for.
fn history_in(length: i32) -> Option<i32> {
    Some(length).filter(|length| *length != 0)
}

pub(super) fn send_out(request: SendMessageRequest) -> Result<pb::SendMessageRequest, Wrong> {
    let configuration = request.configuration;
    let push = configuration.task_push_notification_config;
    Ok(pb::SendMessageRequest {
        request: Some(message_out(request.message).in_field("message")?),
        configuration: Some(pb::SendMessageConfiguration {
            accepted_output_modes: configuration.accepted_output_modes,
            push_notification: push.map(inner_out),
            history_length: history_out(configuration.history_length),
            blocking: !configuration.return_immediately,
        }),
        metadata: metadata_out(request.metadata.as_ref())?,
    })
}

/// `blocking` false means what it says, though the caller may only not have set it; without any
/// configuration a send waits, as over the other bindings.
pub(super) fn send_in(request: pb::SendMessageRequest) -> Result<SendMessageRequest, Wrong> {
    let configuration = request.configuration.map(|given| SendMessageConfiguration {
        accepted_output_modes: given.accepted_output_modes,
        task_push_notification_config: given.push_notification.map(inner_in),
        history_length: history_in(given.history_length),
        return_immediately: !given.blocking,
    });
    Ok(SendMessageRequest {
        tenant: None,
        message: message_in(required(request.request, "message")?).in_field("message")?,
        configuration: configuration.unwrap_or_default(),
        metadata: metadata_in(request.metadata.as_ref())?,
        idempotency_key: None,
    })
}

pub(super) fn get_out(request: &GetTaskRequest) -> pb::GetTaskRequest {
    pb::GetTaskRequest {
        name: task_name(&request.id),
        history_length: history_out(request.history_length),
    }
}

pub(super) fn get_in(request: pb::GetTaskRequest) -> Result<GetTaskRequest, Wrong> {
    Ok(GetTaskRequest {
        tenant: None,
        id: task_of("name", &request.name)?,
        history_length: history_in(request.history_length),
    })
}

pub(super) fn cancel_in(request: pb::CancelTaskRequest) -> Result<CancelTaskRequest, Wrong> {
    Ok(CancelTaskRequest {
        tenant: None,
        id: task_of("name", &request.name)?,
        metadata: None,
    })
}

pub(super) fn subscribe_in(
    request: pb::TaskSubscriptionRequest,
) -> Result<SubscribeToTaskRequest, Wrong> {
    Ok(SubscribeToTaskRequest {
        tenant: None,
        id: task_of("name", &request.name)?,
    })
}

pub(super) fn create_out(
    config: TaskPushNotificationConfig,
) -> pb::CreateTaskPushNotificationConfigRequest {
    pb::CreateTaskPushNotificationConfigRequest {
        parent: task_name(config.task_id.as_deref().unwrap_or_default()),
        config_id: config.id.clone().unwrap_or_default(),
        config: Some(push_out(config)),
    }
}

pub(super) fn create_in(
    request: pb::CreateTaskPushNotificationConfigRequest,
) -> Result<TaskPushNotificationConfig, Wrong> {
    let config = request.config.unwrap_or_default();
    let inner = inner_in(config.push_notification_config.unwrap_or_default());
    Ok(TaskPushNotificationConfig {
        task_id: Some(task_of("parent", &request.parent)?),
        id: inner.id.or_else(|| given(request.config_id)),
        ..inner
    })
}

pub(super) fn push_out(config: TaskPushNotificationConfig) -> pb::TaskPushNotificationConfig {
    let task = config.task_id.as_deref().unwrap_or_default();
    pb::TaskPushNotificationConfig {
        name: config_name(task, config.id.as_deref().unwrap_or_default()),
        push_notification_config: Some(inner_out(config)),
    }
}

pub(super) fn push_in(
    config: pb::TaskPushNotificationConfig,
) -> Result<TaskPushNotificationConfig, Wrong> {
    let (task, id) = config_of("name", &config.name)?;
    let inner = inner_in(config.push_notification_config.unwrap_or_default());
    Ok(TaskPushNotificationConfig {
        task_id: Some(task),
        id: inner.id.or_else(|| given(id)),
        ..inner
    })
}

fn inner_out(config: TaskPushNotificationConfig) -> pb::PushNotificationConfig {
    pb::PushNotificationConfig {
        id: config.id.unwrap_or_default(),
        url: config.url,
        token: config.token.unwrap_or_default(),
        authentication: config.authentication.map(|info| pb::AuthenticationInfo {
            schemes: [vec![info.scheme], info.other_schemes].concat(),
            credentials: info.credentials.unwrap_or_default(),
        }),
    }
}

fn inner_in(config: pb::PushNotificationConfig) -> TaskPushNotificationConfig {
    TaskPushNotificationConfig {
        tenant: None,
        id: given(config.id),
        task_id: None,
        url: config.url,
        token: given(config.token),
        metadata: None,
        authentication: config.authentication.map(|info| {
            let mut schemes = info.schemes.into_iter();
            AuthenticationInfo {
                scheme: schemes.next().unwrap_or_default(),
                other_schemes: schemes.collect(),
                credentials: given(info.credentials),
            }
        }),
    }
}

pub(super) fn config_names_out(
    request: &GetTaskPushNotificationConfigRequest,
) -> pb::GetTaskPushNotificationConfigRequest {
    let name = if request.id.is_empty() {
        task_name(&request.task_id)
    } else {
        config_name(&request.task_id, &request.id)
    };
    pb::GetTaskPushNotificationConfigRequest { name }
}

pub(super) fn config_names_in(
    request: pb::GetTaskPushNotificationConfigRequest,
) -> Result<GetTaskPushNotificationConfigRequest, Wrong> {
    let (task_id, id) = config_of("name", &request.name)?;
    Ok(GetTaskPushNotificationConfigRequest {
        tenant: None,
        task_id,
        id,
    })
}

pub(super) fn push_list_out(
    request: ListTaskPushNotificationConfigsRequest,
) -> pb::ListTaskPushNotificationConfigRequest {
    pb::ListTaskPushNotificationConfigRequest {
        parent: task_name(&request.task_id),
        page_size: request.page_size.unwrap_or_default(),
        page_token: request.page_token.unwrap_or_default(),
    }
}

pub(super) fn push_list_in(
    request: pb::ListTaskPushNotificationConfigRequest,
) -> Result<ListTaskPushNotificationConfigsRequest, Wrong> {
    Ok(ListTaskPushNotificationConfigsRequest {
        tenant: None,
        task_id: task_of("parent", &request.parent)?,
        page_size: Some(request.page_size).filter(|size| *size != 0),
        page_token: given(request.page_token),
    })
}
