//! A2A 1.0 JSON, the model's own spelling, also under the old method names.

use serde::Serialize;

use super::lenient::{self, AnyPushConfig, AnyTask};
use super::params::read_params;
use crate::error::{A2aError, ErrorKind};
use crate::event::StreamResponse;
use crate::json::json_object;
use crate::operation::{
    ListTasksResponse, Method, Request, Response, SendMessageRequest, SendMessageResponse,
};
use crate::push_config::TaskPushNotificationConfig;

/// Appends a value of the model.
pub(super) fn write<T: Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) {
    serde_json::to_writer(out, value).expect("a Vec takes all bytes and the model is always JSON");
}

pub(super) fn read_request(
    method: Method,
    params: Option<&str>,
    message_id: Option<&str>,
) -> Result<Request, A2aError> {
    let request = read_partial(method, params, message_id)?;
    request.validate()?;
    Ok(request)
}

/// Reads without validating.
pub(super) fn read_partial(
    method: Method,
    params: Option<&str>,
    message_id: Option<&str>,
) -> Result<Request, A2aError> {
    let send = || -> Result<SendMessageRequest, A2aError> {
        let mut request: SendMessageRequest = read_params(params)?;
        if let Some(id) = message_id.filter(|_| request.message.message_id.is_empty()) {
            request.message.message_id = id.to_owned();
            let beside = read_params::<BesideMessage>(params)?;
            request.message.task_id = request.message.task_id.or(beside.task_id);
        }
        Ok(request)
    };
    Ok(match method {
        Method::SendMessage => Request::SendMessage(send()?),
        Method::SendStreamingMessage => Request::SendStreamingMessage(send()?),
        Method::GetTask => Request::GetTask(read_params(params)?),
        Method::ListTasks => Request::ListTasks(read_params(params)?),
        Method::CancelTask => Request::CancelTask(read_params(params)?),
        Method::SubscribeToTask => Request::SubscribeToTask(read_params(params)?),
        Method::CreateTaskPushNotificationConfig => {
            Request::CreateTaskPushNotificationConfig(read_push_config(params)?)
        }
        Method::GetTaskPushNotificationConfig => {
            Request::GetTaskPushNotificationConfig(read_params(params)?)
        }
        Method::ListTaskPushNotificationConfigs => {
            Request::ListTaskPushNotificationConfigs(read_params(params)?)
        }
        Method::DeleteTaskPushNotificationConfig => {
            Request::DeleteTaskPushNotificationConfig(read_params(params)?)
        }
        Method::GetExtendedAgentCard => Request::GetExtendedAgentCard(read_params(params)?),
    })
}

/// Callers that leave out a message's id may also put the task beside the message.
struct BesideMessage {
    task_id: Option<String>,
}

json_object!(BesideMessage {
    task_id: "taskId" | "task_id",
});

/// The nested form that earlier texts of 1.0 showed and peers still send; the flat one is current.
struct NestedPushConfig {
    config: Option<TaskPushNotificationConfig>,
}

json_object!(NestedPushConfig {
    config: "config" | "pushNotificationConfig" | "push_notification_config",
});

fn read_push_config(params: Option<&str>) -> Result<TaskPushNotificationConfig, A2aError> {
    let outer: TaskPushNotificationConfig = read_params(params)?;
    if !outer.url.is_empty() {
        return Ok(outer);
    }
    let Some(inner) = read_params::<NestedPushConfig>(params)?.config else {
        return Ok(outer);
    };
    Ok(TaskPushNotificationConfig {
        tenant: outer.tenant.or(inner.tenant),
        id: inner.id.or(outer.id),
        task_id: outer.task_id.or(inner.task_id),
        ..inner
    })
}

/// `bare` leaves out the wrapper of a sent message's answer.
pub(super) fn write_response(method: Method, response: &Response, bare: bool, out: &mut Vec<u8>) {
    debug_assert!(
        answers(method, response),
        "{method:?} is not answered by this"
    );
    match response {
        Response::SendMessage(SendMessageResponse::Task(task)) if bare => write(task, out),
        Response::SendMessage(SendMessageResponse::Message(message)) if bare => write(message, out),
        Response::SendMessage(answer) => write(answer, out),
        Response::Task(task) => write(task, out),
        Response::ListTasks(page) => write(page, out),
        Response::PushConfig(config) => write(config, out),
        Response::PushConfigs(configs) => write(configs, out),
        Response::Deleted => out.extend_from_slice(b"{}"),
        Response::AgentCard(card) => write(card, out),
    }
}

fn answers(method: Method, response: &Response) -> bool {
    match response {
        Response::SendMessage(_) => method == Method::SendMessage,
        Response::Task(_) => matches!(method, Method::GetTask | Method::CancelTask),
        Response::ListTasks(_) => method == Method::ListTasks,
        Response::PushConfig(_) => matches!(
            method,
            Method::CreateTaskPushNotificationConfig | Method::GetTaskPushNotificationConfig
        ),
        Response::PushConfigs(_) => method == Method::ListTaskPushNotificationConfigs,
        Response::Deleted => method == Method::DeleteTaskPushNotificationConfig,
        Response::AgentCard(_) => method == Method::GetExtendedAgentCard,
    }
}

pub(super) fn write_params(request: &Request, out: &mut Vec<u8>) {
    match request {
        Request::SendMessage(r) | Request::SendStreamingMessage(r) => write(r, out),
        Request::GetTask(r) => write(r, out),
        Request::ListTasks(r) => write(r, out),
        Request::CancelTask(r) => write(r, out),
        Request::SubscribeToTask(r) => write(r, out),
        Request::CreateTaskPushNotificationConfig(r) => write(r, out),
        Request::GetTaskPushNotificationConfig(r)
        | Request::DeleteTaskPushNotificationConfig(r) => {
            write(r, out);
        }
        Request::ListTaskPushNotificationConfigs(r) => write(r, out),
        Request::GetExtendedAgentCard(r) => write(r, out),
    }
}

/// Reads an event, and whether the stream ends with it.
type ReadEvent = fn(&str) -> Result<(StreamResponse, bool), A2aError>;

/// Reads the `result` of `method` from a peer that may speak any generation but the first.
pub(super) fn read_response(
    method: Method,
    result: &str,
    read_event: ReadEvent,
) -> Result<Response, A2aError> {
    Ok(match method {
        Method::SendMessage | Method::SendStreamingMessage => {
            Response::SendMessage(match read_event(result)?.0 {
                StreamResponse::Task(task) => SendMessageResponse::Task(task),
                StreamResponse::Message(message) => SendMessageResponse::Message(message),
                _ => {
                    let message = "The agent answered a message with an update of a task";
                    return Err(A2aError::new(ErrorKind::InvalidAgentResponse, message));
                }
            })
        }
        Method::GetTask | Method::CancelTask | Method::SubscribeToTask => {
            Response::Task(lenient::read_task(result)?)
        }
        Method::ListTasks => Response::ListTasks(lenient::read::<AnyPage>(result)?.into()),
        Method::CreateTaskPushNotificationConfig | Method::GetTaskPushNotificationConfig => {
            Response::PushConfig(lenient::read::<AnyPushConfig>(result)?.into())
        }
        Method::ListTaskPushNotificationConfigs => {
            Response::PushConfigs(lenient::read_push_configs(result)?)
        }
        Method::DeleteTaskPushNotificationConfig => Response::Deleted,
        Method::GetExtendedAgentCard => {
            let (card, _) = super::read_card(result.as_bytes()).map_err(|error| {
                A2aError::new(ErrorKind::InvalidAgentResponse, error.to_string())
            })?;
            Response::AgentCard(Box::new(card))
        }
    })
}

struct AnyPage {
    tasks: Vec<AnyTask>,
    next_page_token: String,
    page_size: u32,
    total_size: u32,
}

json_object!(AnyPage {
    tasks: "tasks",
    next_page_token: "nextPageToken" | "next_page_token",
    page_size: "pageSize" | "page_size",
    total_size: "totalSize" | "total_size",
});

impl From<AnyPage> for ListTasksResponse {
    fn from(any: AnyPage) -> Self {
        Self {
            tasks: lenient::all(any.tasks),
            next_page_token: any.next_page_token,
            page_size: any.page_size,
            total_size: any.total_size,
        }
    }
}

/// Reads an event: what is well-formed 1.0 in one pass, anything else leniently.
pub(super) fn read_event(result: &str) -> Result<(StreamResponse, bool), A2aError> {
    match serde_json::from_str::<StreamResponse>(result) {
        Ok(event) => {
            let ends = matches!(event, StreamResponse::Message(_));
            Ok((event, ends))
        }
        Err(_) => lenient::read_event(result),
    }
}
