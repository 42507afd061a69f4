//! Parameters of the operations of `lf.a2a.v1`.

use super::objects::{message_in, message_out, metadata_in, metadata_out};
use crate::dialects::protobuf::generated::lf::a2a::v1 as pb;
use crate::dialects::protobuf::wrong::{InField as _, Wrong, given, maybe, required};
use crate::dialects::protobuf::{state_in, time_in, time_out};
use crate::operation::{
    CancelTaskRequest, GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest,
    GetTaskRequest, ListTaskPushNotificationConfigsRequest, ListTasksRequest,
    SendMessageConfiguration, SendMessageRequest, SubscribeToTaskRequest,
};
use crate::push_config::{AuthenticationInfo, TaskPushNotificationConfig};

pub(super) fn send_out(request: SendMessageRequest) -> Result<pb::SendMessageRequest, Wrong> {
    let configuration = request.configuration;
    Ok(pb::SendMessageRequest {
        tenant: request.tenant.unwrap_or_default(),
        message: Some(message_out(request.message).in_field("message")?),
        configuration: Some(pb::SendMessageConfiguration {
            accepted_output_modes: configuration.accepted_output_modes,
            task_push_notification_config: configuration
                .task_push_notification_config
                .map(push_out),
            history_length: configuration.history_length,
            return_immediately: configuration.return_immediately,
        }),
        metadata: metadata_out(request.metadata.as_ref())?,
    })
}

/// The idempotency key has no field here: metadata of the call carries it.
pub(super) fn send_in(request: pb::SendMessageRequest) -> Result<SendMessageRequest, Wrong> {
    let configuration = request.configuration.unwrap_or_default();
    Ok(SendMessageRequest {
        tenant: given(request.tenant),
        message: message_in(required(request.message, "message")?).in_field("message")?,
        configuration: SendMessageConfiguration {
            accepted_output_modes: configuration.accepted_output_modes,
            task_push_notification_config: configuration.task_push_notification_config.map(push_in),
            history_length: configuration.history_length,
            return_immediately: configuration.return_immediately,
        },
        metadata: metadata_in(request.metadata.as_ref())?,
        idempotency_key: None,
    })
}

pub(super) fn get_out(request: GetTaskRequest) -> pb::GetTaskRequest {
    pb::GetTaskRequest {
        tenant: request.tenant.unwrap_or_default(),
        id: request.id,
        history_length: request.history_length,
    }
}

pub(super) fn get_in(request: pb::GetTaskRequest) -> GetTaskRequest {
    GetTaskRequest {
        tenant: given(request.tenant),
        id: request.id,
        history_length: request.history_length,
    }
}

pub(super) fn list_out(request: ListTasksRequest) -> pb::ListTasksRequest {
    pb::ListTasksRequest {
        tenant: request.tenant.unwrap_or_default(),
        context_id: request.context_id.unwrap_or_default(),
        status: request.status.unwrap_or_default().number().into(),
        page_size: request.page_size,
        page_token: request.page_token.unwrap_or_default(),
        history_length: request.history_length,
        status_timestamp_after: request.status_timestamp_after.map(time_out),
        include_artifacts: request.include_artifacts,
    }
}

pub(super) fn list_in(request: pb::ListTasksRequest) -> Result<ListTasksRequest, Wrong> {
    // 0 is how protobuf says that no state is asked for.
    let status = Some(request.status).filter(|number| *number != 0);
    let after = request.status_timestamp_after;
    Ok(ListTasksRequest {
        tenant: given(request.tenant),
        context_id: given(request.context_id),
        status: maybe(status, "status", state_in)?,
        page_size: request.page_size,
        page_token: given(request.page_token),
        history_length: request.history_length,
        status_timestamp_after: maybe(after, "statusTimestampAfter", time_in)?,
        include_artifacts: request.include_artifacts,
    })
}

pub(super) fn cancel_out(request: CancelTaskRequest) -> Result<pb::CancelTaskRequest, Wrong> {
    Ok(pb::CancelTaskRequest {
        tenant: request.tenant.unwrap_or_default(),
        id: request.id,
        metadata: metadata_out(request.metadata.as_ref())?,
    })
}

pub(super) fn cancel_in(request: pb::CancelTaskRequest) -> Result<CancelTaskRequest, Wrong> {
    Ok(CancelTaskRequest {
        tenant: given(request.tenant),
        id: request.id,
        metadata: metadata_in(request.metadata.as_ref())?,
    })
}

pub(super) fn subscribe_out(request: SubscribeToTaskRequest) -> pb::SubscribeToTaskRequest {
    pb::SubscribeToTaskRequest {
        tenant: request.tenant.unwrap_or_default(),
        id: request.id,
    }
}

pub(super) fn subscribe_in(request: pb::SubscribeToTaskRequest) -> SubscribeToTaskRequest {
    SubscribeToTaskRequest {
        tenant: given(request.tenant),
        id: request.id,
    }
}

pub(super) fn push_out(config: TaskPushNotificationConfig) -> pb::TaskPushNotificationConfig {
    pb::TaskPushNotificationConfig {
        tenant: config.tenant.unwrap_or_default(),
        id: config.id.unwrap_or_default(),
        task_id: config.task_id.unwrap_or_default(),
        url: config.url,
        token: config.token.unwrap_or_default(),
        authentication: config.authentication.map(|info| pb::AuthenticationInfo {
            scheme: info.scheme,
            credentials: info.credentials.unwrap_or_default(),
        }),
    }
}

pub(super) fn push_in(config: pb::TaskPushNotificationConfig) -> TaskPushNotificationConfig {
    TaskPushNotificationConfig {
        tenant: given(config.tenant),
        id: given(config.id),
        task_id: given(config.task_id),
        url: config.url,
        token: given(config.token),
        metadata: None,
        authentication: config.authentication.map(|info| AuthenticationInfo {
            scheme: info.scheme,
            other_schemes: Vec::new(),
            credentials: given(info.credentials),
        }),
    }
}

pub(super) fn push_names_out(
    request: GetTaskPushNotificationConfigRequest,
) -> pb::GetTaskPushNotificationConfigRequest {
    pb::GetTaskPushNotificationConfigRequest {
        tenant: request.tenant.unwrap_or_default(),
        task_id: request.task_id,
        id: request.id,
    }
}

pub(super) fn push_names_in(
    request: pb::GetTaskPushNotificationConfigRequest,
) -> GetTaskPushNotificationConfigRequest {
    GetTaskPushNotificationConfigRequest {
        tenant: given(request.tenant),
        task_id: request.task_id,
        id: request.id,
    }
}

pub(super) fn push_list_out(
    request: ListTaskPushNotificationConfigsRequest,
) -> pb::ListTaskPushNotificationConfigsRequest {
    pb::ListTaskPushNotificationConfigsRequest {
        task_id: request.task_id,
        page_size: request.page_size.unwrap_or_default(),
        page_token: request.page_token.unwrap_or_default(),
        tenant: request.tenant.unwrap_or_default(),
    }
}

pub(super) fn push_list_in(
    request: pb::ListTaskPushNotificationConfigsRequest,
) -> ListTaskPushNotificationConfigsRequest {
    ListTaskPushNotificationConfigsRequest {
        tenant: given(request.tenant),
        task_id: request.task_id,
        page_size: Some(request.page_size).filter(|size| *size != 0),
        page_token: given(request.page_token),
    }
}

pub(super) fn extended_card_out(
    request: GetExtendedAgentCardRequest,
) -> pb::GetExtendedAgentCardRequest {
    pb::GetExtendedAgentCardRequest {
        tenant: request.tenant.unwrap_or_default(),
    }
}

pub(super) fn extended_card_in(
    request: pb::GetExtendedAgentCardRequest,
) -> GetExtendedAgentCardRequest {
    GetExtendedAgentCardRequest {
        tenant: given(request.tenant),
    }
}
