//! `a2a.v1`, the protobuf of A2A 0.3: the model message by message. What 0.3 has no field for goes
//! where its JSON puts it, or is left out.

mod card;
mod names;
mod objects;
mod requests;

use bytes::Bytes;
use prost::Message as _;

use super::generated::a2a::v1 as pb;
use super::wrong::{Wrong, each, required};
use super::{decode, decode_answer};
use crate::error::{A2aError, ErrorKind};
use crate::event::StreamResponse;
use crate::operation::{
    ListTaskPushNotificationConfigsResponse, Method, Request, Response, SendMessageResponse,
};
use objects::{message_in, message_out, task_in, task_out};

pub(super) fn method_name(method: Method) -> Option<&'static str> {
    match method {
        Method::ListTasks => None,
        Method::SubscribeToTask => Some("TaskSubscription"),
        Method::ListTaskPushNotificationConfigs => Some("ListTaskPushNotificationConfig"),
        Method::GetExtendedAgentCard => Some("GetAgentCard"),
        same => Some(same.name()),
    }
}

pub(super) fn read_request(
    method: Method,
    message: Bytes,
    message_id: Option<&str>,
) -> Result<Request, A2aError> {
    let mut request = match method {
        Method::SendMessage => Request::SendMessage(requests::send_in(decode(message)?)?),
        Method::SendStreamingMessage => {
            Request::SendStreamingMessage(requests::send_in(decode(message)?)?)
        }
        Method::GetTask => Request::GetTask(requests::get_in(decode(message)?)?),
        Method::CancelTask => Request::CancelTask(requests::cancel_in(decode(message)?)?),
        Method::SubscribeToTask => {
            Request::SubscribeToTask(requests::subscribe_in(decode(message)?)?)
        }
        Method::CreateTaskPushNotificationConfig => {
            Request::CreateTaskPushNotificationConfig(requests::create_in(decode(message)?)?)
        }
        Method::GetTaskPushNotificationConfig => {
            let names = requests::config_names_in(decode(message)?)?;
            // Without an id the newest configuration of the task is meant.
            return Ok(Request::GetTaskPushNotificationConfig(names));
        }
        Method::ListTaskPushNotificationConfigs => {
            Request::ListTaskPushNotificationConfigs(requests::push_list_in(decode(message)?)?)
        }
        // On the wire the same as the parameters of the get.
        Method::DeleteTaskPushNotificationConfig => {
            Request::DeleteTaskPushNotificationConfig(requests::config_names_in(decode(message)?)?)
        }
        Method::GetExtendedAgentCard => Request::GetExtendedAgentCard(Default::default()),
        Method::ListTasks => {
            let text = "A2A 0.3 cannot list tasks; use the service of 1.0.";
            return Err(A2aError::new(ErrorKind::MethodNotFound, text));
        }
    };
    request.offer_message_id(message_id);
    request.validate().map_err(with_old_names)?;
    Ok(request)
}

/// Names the fields at fault as the caller knows them.
fn with_old_names(error: A2aError) -> A2aError {
    let renamed = error.violations.into_iter().map(|mut violation| {
        violation.field = match violation.field.as_str() {
            "id" => "name".to_owned(),
            "url" => "config.pushNotificationConfig.url".to_owned(),
            field => field
                .replace("taskPushNotificationConfig", "pushNotification")
                .replace("message.parts", "message.content"),
        };
        violation
    });
    A2aError::invalid_params(renamed.collect())
}

pub(super) fn write_request(request: Request) -> Result<Vec<u8>, Wrong> {
    Ok(match request {
        Request::SendMessage(r) | Request::SendStreamingMessage(r) => {
            requests::send_out(r)?.encode_to_vec()
        }
        Request::GetTask(r) => requests::get_out(&r).encode_to_vec(),
        Request::CancelTask(r) => pb::CancelTaskRequest {
            name: names::task_name(&r.id),
        }
        .encode_to_vec(),
        Request::SubscribeToTask(r) => pb::TaskSubscriptionRequest {
            name: names::task_name(&r.id),
        }
        .encode_to_vec(),
        Request::CreateTaskPushNotificationConfig(r) => requests::create_out(r).encode_to_vec(),
        Request::GetTaskPushNotificationConfig(r)
        | Request::DeleteTaskPushNotificationConfig(r) => {
            requests::config_names_out(&r).encode_to_vec()
        }
        Request::ListTaskPushNotificationConfigs(r) => requests::push_list_out(r).encode_to_vec(),
        Request::GetExtendedAgentCard(_) => Vec::new(),
        Request::ListTasks(_) => return Err(Wrong::here("A2A 0.3 cannot list tasks")),
    })
}

pub(super) fn write_response(response: Response) -> Result<Vec<u8>, Wrong> {
    Ok(match response {
        Response::SendMessage(answer) => {
            use pb::send_message_response::Payload;
            let payload = Some(match answer {
                SendMessageResponse::Task(task) => Payload::Task(task_out(task)?),
                SendMessageResponse::Message(message) => Payload::Msg(message_out(message)?),
            });
            pb::SendMessageResponse { payload }.encode_to_vec()
        }
        Response::Task(task) => task_out(task)?.encode_to_vec(),
        Response::PushConfig(config) => requests::push_out(config).encode_to_vec(),
        Response::PushConfigs(page) => pb::ListTaskPushNotificationConfigResponse {
            configs: page.configs.into_iter().map(requests::push_out).collect(),
            next_page_token: page.next_page_token,
        }
        .encode_to_vec(),
        Response::Deleted => Vec::new(),
        Response::AgentCard(card) => card::card_out(*card)?.encode_to_vec(),
        Response::ListTasks(_) => return Err(Wrong::here("A2A 0.3 cannot list tasks")),
    })
}

pub(super) fn read_response(method: Method, message: Bytes) -> Result<Response, Wrong> {
    Ok(match method {
        Method::SendMessage | Method::SendStreamingMessage => {
            use pb::send_message_response::Payload;
            let answer: pb::SendMessageResponse = decode_answer(message)?;
            Response::SendMessage(match required(answer.payload, "payload")? {
                Payload::Task(task) => SendMessageResponse::Task(task_in(task)?),
                Payload::Msg(message) => SendMessageResponse::Message(message_in(message)?),
            })
        }
        Method::GetTask | Method::CancelTask | Method::SubscribeToTask => {
            Response::Task(task_in(decode_answer(message)?)?)
        }
        Method::CreateTaskPushNotificationConfig | Method::GetTaskPushNotificationConfig => {
            Response::PushConfig(requests::push_in(decode_answer(message)?)?)
        }
        Method::ListTaskPushNotificationConfigs => {
            let page: pb::ListTaskPushNotificationConfigResponse = decode_answer(message)?;
            Response::PushConfigs(ListTaskPushNotificationConfigsResponse {
                configs: each(page.configs, "configs", requests::push_in)?,
                next_page_token: page.next_page_token,
            })
        }
        Method::DeleteTaskPushNotificationConfig => Response::Deleted,
        Method::GetExtendedAgentCard => {
            Response::AgentCard(Box::new(card::card_in(decode_answer(message)?)?))
        }
        Method::ListTasks => return Err(Wrong::here("A2A 0.3 cannot list tasks")),
    })
}

pub(super) fn write_event(event: StreamResponse, last: bool) -> Result<Vec<u8>, Wrong> {
    Ok(objects::event_out(event, last)?.encode_to_vec())
}

pub(super) fn read_event(message: Bytes) -> Result<(StreamResponse, bool), Wrong> {
    objects::event_in(decode_answer(message)?)
}
