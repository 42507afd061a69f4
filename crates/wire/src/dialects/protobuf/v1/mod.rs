//! `lf.a2a.v1`, the protobuf of A2A 1.0: the model message by message.

mod card;
mod objects;
mod requests;

pub(super) use card::{
    extensions_in, extensions_out, provider_in, provider_out, requirements_in, requirements_out,
    schemes_in, schemes_out, signatures_in, skills_in, skills_out,
};

use bytes::Bytes;
use prost::Message as _;

use super::generated::lf::a2a::v1 as pb;
use super::wrong::{InField as _, Wrong, each};
use super::{decode, decode_answer};
use crate::error::A2aError;
use crate::event::StreamResponse;
use crate::operation::{
    ListTaskPushNotificationConfigsResponse, ListTasksResponse, Method, Request, Response,
    SendMessageResponse,
};
use objects::{event_in, event_out, message_in, message_out, task_in, task_out};
use requests::{push_in, push_out};

/// The field that all requests but one have the tenant in.
#[derive(prost::Message)]
struct Tenant {
    #[prost(string, tag = "1")]
    tenant: String,
}

/// The tenant of a request; what else it holds is not looked at.
pub(super) fn tenant_of(method: Method, message: Bytes) -> Option<String> {
    let tenant = match method {
        Method::ListTaskPushNotificationConfigs => {
            requests::push_list_in(decode(message).ok()?).tenant
        }
        _ => Some(decode::<Tenant>(message).ok()?.tenant),
    };
    tenant.filter(|tenant| !tenant.is_empty())
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
        Method::GetTask => Request::GetTask(requests::get_in(decode(message)?)),
        Method::ListTasks => Request::ListTasks(requests::list_in(decode(message)?)?),
        Method::CancelTask => Request::CancelTask(requests::cancel_in(decode(message)?)?),
        Method::SubscribeToTask => {
            Request::SubscribeToTask(requests::subscribe_in(decode(message)?))
        }
        Method::CreateTaskPushNotificationConfig => {
            Request::CreateTaskPushNotificationConfig(push_in(decode(message)?))
        }
        Method::GetTaskPushNotificationConfig => {
            Request::GetTaskPushNotificationConfig(requests::push_names_in(decode(message)?))
        }
        Method::ListTaskPushNotificationConfigs => {
            Request::ListTaskPushNotificationConfigs(requests::push_list_in(decode(message)?))
        }
        // On the wire the same as the parameters of the get.
        Method::DeleteTaskPushNotificationConfig => {
            Request::DeleteTaskPushNotificationConfig(requests::push_names_in(decode(message)?))
        }
        Method::GetExtendedAgentCard => {
            Request::GetExtendedAgentCard(requests::extended_card_in(decode(message)?))
        }
    };
    request.offer_message_id(message_id);
    request.validate()?;
    Ok(request)
}

pub(super) fn write_request(request: Request) -> Result<Vec<u8>, Wrong> {
    Ok(match request {
        Request::SendMessage(r) | Request::SendStreamingMessage(r) => {
            requests::send_out(r)?.encode_to_vec()
        }
        Request::GetTask(r) => requests::get_out(r).encode_to_vec(),
        Request::ListTasks(r) => requests::list_out(r).encode_to_vec(),
        Request::CancelTask(r) => requests::cancel_out(r)?.encode_to_vec(),
        Request::SubscribeToTask(r) => requests::subscribe_out(r).encode_to_vec(),
        Request::CreateTaskPushNotificationConfig(r) => push_out(r).encode_to_vec(),
        Request::GetTaskPushNotificationConfig(r)
        | Request::DeleteTaskPushNotificationConfig(r) => {
            requests::push_names_out(r).encode_to_vec()
        }
        Request::ListTaskPushNotificationConfigs(r) => requests::push_list_out(r).encode_to_vec(),
        Request::GetExtendedAgentCard(r) => requests::extended_card_out(r).encode_to_vec(),
    })
}

pub(super) fn write_response(response: Response) -> Result<Vec<u8>, Wrong> {
    Ok(match response {
        Response::SendMessage(answer) => {
            use pb::send_message_response::Payload;
            let payload = match answer {
                SendMessageResponse::Task(task) => Payload::Task(task_out(task).in_field("task")?),
                SendMessageResponse::Message(message) => {
                    Payload::Message(message_out(message).in_field("message")?)
                }
            };
            let payload = Some(payload);
            pb::SendMessageResponse { payload }.encode_to_vec()
        }
        Response::Task(task) => task_out(task)?.encode_to_vec(),
        Response::ListTasks(page) => pb::ListTasksResponse {
            tasks: each(page.tasks, "tasks", task_out)?,
            next_page_token: page.next_page_token,
            page_size: i32::try_from(page.page_size).unwrap_or(i32::MAX),
            total_size: i32::try_from(page.total_size).unwrap_or(i32::MAX),
        }
        .encode_to_vec(),
        Response::PushConfig(config) => push_out(config).encode_to_vec(),
        Response::PushConfigs(page) => pb::ListTaskPushNotificationConfigsResponse {
            configs: page.configs.into_iter().map(push_out).collect(),
            next_page_token: page.next_page_token,
        }
        .encode_to_vec(),
        Response::Deleted => Vec::new(),
        Response::AgentCard(card) => card::card_out(*card)?.encode_to_vec(),
    })
}

pub(super) fn read_response(method: Method, message: Bytes) -> Result<Response, Wrong> {
    Ok(match method {
        Method::SendMessage | Method::SendStreamingMessage => {
            use pb::send_message_response::Payload;
            let answer: pb::SendMessageResponse = decode_answer(message)?;
            Response::SendMessage(match answer.payload {
                Some(Payload::Task(task)) => SendMessageResponse::Task(task_in(task)?),
                Some(Payload::Message(message)) => {
                    SendMessageResponse::Message(message_in(message)?)
                }
                None => return Err(Wrong::here("must have a task or a message")),
            })
        }
        Method::GetTask | Method::CancelTask | Method::SubscribeToTask => {
            Response::Task(task_in(decode_answer(message)?)?)
        }
        Method::ListTasks => {
            let page: pb::ListTasksResponse = decode_answer(message)?;
            Response::ListTasks(ListTasksResponse {
                tasks: each(page.tasks, "tasks", task_in)?,
                next_page_token: page.next_page_token,
                page_size: u32::try_from(page.page_size).unwrap_or(0),
                total_size: u32::try_from(page.total_size).unwrap_or(0),
            })
        }
        Method::CreateTaskPushNotificationConfig | Method::GetTaskPushNotificationConfig => {
            Response::PushConfig(push_in(decode_answer(message)?))
        }
        Method::ListTaskPushNotificationConfigs => {
            let page: pb::ListTaskPushNotificationConfigsResponse = decode_answer(message)?;
            Response::PushConfigs(ListTaskPushNotificationConfigsResponse {
                configs: page.configs.into_iter().map(push_in).collect(),
                next_page_token: page.next_page_token,
            })
        }
        Method::DeleteTaskPushNotificationConfig => Response::Deleted,
        Method::GetExtendedAgentCard => {
            Response::AgentCard(Box::new(card::card_in(decode_answer(message)?)?))
        }
    })
}

pub(super) fn write_event(event: StreamResponse) -> Result<Vec<u8>, Wrong> {
    Ok(event_out(event)?.encode_to_vec())
}

pub(super) fn read_event(message: Bytes) -> Result<(StreamResponse, bool), Wrong> {
    let event = event_in(decode_answer(message)?)?;
    let ends = matches!(event, StreamResponse::Message(_));
    Ok((event, ends))
}
