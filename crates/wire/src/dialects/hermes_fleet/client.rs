//! The client's side: requests out, and answers of servers that leave much out.
//!
//! They answer a completed task without its text to all but ListTasks, call a lost delivery
//! completed, and end each stream twice.

use serde::ser::{Serialize, SerializeMap, Serializer};
use std::borrow::Cow;

use super::error::kind_of_code;
use super::push::write_new_push_config;
use super::write::FleetMessage;
use crate::artifact::Artifact;
use crate::bindings::rest::{Outgoing, Resource, Verb};
use crate::dialects::lenient::{self, AnyTask, read_task};
use crate::dialects::{read_card, v1};
use crate::error::{A2aError, ErrorKind};
use crate::event::StreamResponse;
use crate::json::{RawJson, json_object};
use crate::message::Message;
use crate::operation::{
    ListTaskPushNotificationConfigsResponse, ListTasksResponse, Method, Request, Response,
    SendMessageRequest, SendMessageResponse,
};
use crate::part::Part;
use crate::push_config::{AuthenticationInfo, TaskPushNotificationConfig};
use crate::task::{Task, TaskState};

/// Tasks that a reader of texts asks for at once: the most that a server gives.
pub const READER_PAGE_SIZE: i32 = 100;

/// Texts that such a server gives a task it calls completed, and what really became of it.
const FAILURES: [(&str, TaskState); 4] = [
    ("(webhook delivery failed)", TaskState::Failed),
    ("(orphaned — no response)", TaskState::Failed),
    ("(dropped — queue overflow)", TaskState::Failed),
    ("(canceled)", TaskState::Canceled),
];

/// The JSON-RPC name of an operation. Streams of new tasks and webhooks exist over REST only.
pub(in crate::dialects) fn method_name(method: Method) -> Option<&'static str> {
    match method {
        Method::SendMessage
        | Method::GetTask
        | Method::CancelTask
        | Method::SubscribeToTask
        | Method::ListTasks => Some(method.name()),
        _ => None,
    }
}

/// Appends the parameters of a request.
pub(in crate::dialects) fn write_params(request: &Request, out: &mut Vec<u8>) {
    match request {
        Request::SendMessage(r) | Request::SendStreamingMessage(r) => {
            v1::write(&SendParams(r), out)
        }
        Request::GetTask(r) => write_id("id", &r.id, out),
        Request::CancelTask(r) => write_id("id", &r.id, out),
        Request::SubscribeToTask(r) => write_id("taskId", &r.id, out),
        Request::ListTasks(r) => {
            #[derive(serde::Serialize)]
            #[serde(rename_all = "camelCase")]
            struct ListParams<'a> {
                #[serde(skip_serializing_if = "Option::is_none")]
                page_size: Option<i32>,
                #[serde(skip_serializing_if = "Option::is_none")]
                continuation_token: Option<&'a str>,
            }
            let params = ListParams {
                page_size: r.page_size,
                continuation_token: r.page_token.as_deref(),
            };
            v1::write(&params, out);
        }
        _ => out.extend_from_slice(b"{}"),
    }
}

/// Writes what exists over REST only: streams, webhooks, the extended card.
pub(crate) fn write_rest_request(request: &Request) -> Option<Outgoing> {
    let of = |id: &str| Cow::Owned(id.to_owned());
    let (verb, resource) = match request {
        Request::SendStreamingMessage(_) => (Verb::Post, Resource::Stream),
        Request::SubscribeToTask(r) => (Verb::Get, Resource::Subscribe(of(&r.id))),
        Request::CreateTaskPushNotificationConfig(r) => {
            let task = r.task_id.as_deref().unwrap_or_default();
            (Verb::Post, Resource::PushConfigs(of(task)))
        }
        Request::ListTaskPushNotificationConfigs(r) => {
            (Verb::Get, Resource::PushConfigs(of(&r.task_id)))
        }
        Request::GetTaskPushNotificationConfig(r) => {
            (Verb::Get, Resource::PushConfig(of(&r.task_id), of(&r.id)))
        }
        Request::DeleteTaskPushNotificationConfig(r) => (
            Verb::Delete,
            Resource::PushConfig(of(&r.task_id), of(&r.id)),
        ),
        Request::GetExtendedAgentCard(_) => (Verb::Get, Resource::ExtendedCard),
        _ => return None,
    };
    let mut path = String::new();
    resource.write(&mut path);
    let mut body = Vec::new();
    match request {
        Request::CreateTaskPushNotificationConfig(config) => {
            write_new_push_config(config, &mut body)
        }
        request => write_params(request, &mut body),
    }
    Some(Outgoing {
        verb,
        path,
        query: None,
        body: (verb == Verb::Post).then_some(body),
    })
}

fn write_id(name: &str, id: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("{{\"{name}\":").as_bytes());
    v1::write(id, out);
    out.push(b'}');
}

/// A send. The new task is called as the message is, so that a repeat names the same one; a message
/// to a task that waits for it has that task's id.
struct SendParams<'a>(&'a SendMessageRequest);

impl Serialize for SendParams<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let SendMessageRequest {
            message,
            configuration,
            idempotency_key,
            ..
        } = self.0;
        let id = message.task_id.as_ref().unwrap_or(&message.message_id);
        let key = idempotency_key.as_ref().unwrap_or(&message.message_id);
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", id)?;
        if let Some(context_id) = &message.context_id {
            map.serialize_entry("contextId", context_id)?;
        }
        map.serialize_entry("idempotencyKey", key)?;
        if configuration.return_immediately || !configuration.accepted_output_modes.is_empty() {
            map.serialize_entry("configuration", &Configuration(self.0))?;
        }
        map.serialize_entry("message", &FleetMessage(message))?;
        if let Some(metadata) = &self.0.metadata {
            map.serialize_entry("metadata", metadata)?;
        }
        map.end()
    }
}

struct Configuration<'a>(&'a SendMessageRequest);

impl Serialize for Configuration<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let configuration = &self.0.configuration;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("return_immediately", &configuration.return_immediately)?;
        if !configuration.accepted_output_modes.is_empty() {
            map.serialize_entry(
                "accepted_output_modes",
                &configuration.accepted_output_modes,
            )?;
        }
        map.end()
    }
}

struct Page {
    tasks: Vec<AnyTask>,
    next_page_token: String,
    page_size: u32,
    total_size: u32,
}

json_object!(Page {
    tasks: "task" | "tasks",
    next_page_token: "nextPageToken" | "next_page_token",
    page_size: "pageSize" | "page_size",
    total_size: "totalSize" | "total_size",
});

/// Reads the result of `method`.
pub(in crate::dialects) fn read_response(
    method: Method,
    result: &str,
) -> Result<Response, A2aError> {
    Ok(match method {
        Method::SendMessage | Method::SendStreamingMessage => {
            Response::SendMessage(SendMessageResponse::Task(bare_task(result)?))
        }
        Method::GetTask | Method::CancelTask | Method::SubscribeToTask => {
            Response::Task(bare_task(result)?)
        }
        Method::ListTasks => {
            let page: Page = lenient::read(result)?;
            let tasks = page.tasks.into_iter().map(Task::from).map(mended);
            Response::ListTasks(ListTasksResponse {
                tasks: tasks.collect(),
                next_page_token: page.next_page_token,
                page_size: page.page_size,
                total_size: page.total_size,
            })
        }
        Method::CreateTaskPushNotificationConfig | Method::GetTaskPushNotificationConfig => {
            Response::PushConfig(read_config(result)?)
        }
        Method::ListTaskPushNotificationConfigs => Response::PushConfigs(read_configs(result)?),
        Method::DeleteTaskPushNotificationConfig => Response::Deleted,
        Method::GetExtendedAgentCard => {
            let card = read_card(result.as_bytes());
            let (card, _) = card.map_err(|error| {
                A2aError::new(ErrorKind::InvalidAgentResponse, error.to_string())
            })?;
            Response::AgentCard(Box::new(card))
        }
    })
}

/// Reads a task, bare or wrapped.
///
/// Errors: InvalidAgentResponse, also where an unknown task is answered as none.
pub fn bare_task(result: &str) -> Result<Task, A2aError> {
    let task = mended(read_task(result)?);
    if task.id.is_empty() {
        let text = "The agent's answer is no task: it has no id";
        return Err(A2aError::new(ErrorKind::InvalidAgentResponse, text));
    }
    Ok(task)
}

/// The task as it is meant: with ids, with its text once, and failed where its text says so.
fn mended(mut task: Task) -> Task {
    let status = &mut task.status;
    status.message = status.message.take().filter(|it| !it.parts.is_empty());
    let artifacts = task.artifacts.get_or_insert_default();
    artifacts.retain(|artifact| !artifact.parts.iter().all(is_blank));
    for (index, artifact) in artifacts.iter_mut().enumerate() {
        if artifact.artifact_id.is_empty() {
            artifact.artifact_id = format!("artifact-{}", index + 1);
        }
    }
    let text = |list: &[Artifact]| -> String {
        let parts = list.iter().flat_map(|artifact| &artifact.parts);
        parts
            .filter_map(Part::as_text)
            .collect::<Vec<_>>()
            .join("\n")
    };
    let result = text(artifacts);
    let said = status
        .message
        .as_ref()
        .map(Message::text)
        .unwrap_or_default();
    let outcome = if result.is_empty() { &said } else { &result };
    let failure = FAILURES.iter().find(|(text, _)| *text == outcome.trim());
    if let Some((_, state)) = failure.filter(|_| status.state == TaskState::Completed) {
        status.state = *state;
        if status.message.is_none() {
            let parts = artifacts.iter().flat_map(|artifact| artifact.parts.clone());
            let message = Message::new("status", crate::Role::Agent, parts.collect());
            status.message = Some(message);
        }
        artifacts.clear();
    } else if !result.is_empty() && said == result {
        status.message = None;
    }
    task.artifacts = task.artifacts.filter(|artifacts| !artifacts.is_empty());
    task.metadata = task.metadata.filter(|it| it.get() != "{}");
    task
}

fn is_blank(part: &Part) -> bool {
    part.as_text().is_some_and(str::is_empty)
}

/// Reads the data of one frame, in either of the two shapes there are; the error is the peer's
/// where the frame holds one. A stream is over with the first final state.
pub(in crate::dialects) fn read_event(data: &str) -> Result<(StreamResponse, bool), A2aError> {
    struct ErrorFrame {
        code: Option<i32>,
        message: Option<String>,
    }
    json_object!(ErrorFrame {
        code: "code",
        message: "message",
    });
    let mut event = match lenient::read_event(data) {
        Ok((event, _)) => event,
        Err(unreadable) => {
            let frame = lenient::read::<ErrorFrame>(data).ok();
            let told = frame.and_then(|frame| Some((frame.code?, frame.message?)));
            return Err(match told {
                Some((code, message)) => {
                    A2aError::new(kind_of_code(code).unwrap_or(ErrorKind::Internal), message)
                }
                None => unreadable,
            });
        }
    };
    let ends = match &mut event {
        StreamResponse::Task(task) => task.status.state.is_terminal(),
        StreamResponse::Message(_) => true,
        StreamResponse::StatusUpdate(update) => {
            let message = update.status.message.take();
            update.status.message = message.filter(|it| !it.parts.is_empty());
            update.metadata = update.metadata.take().filter(|it| it.get() != "{}");
            update.status.state.is_terminal()
        }
        StreamResponse::ArtifactUpdate(update) => {
            update.metadata = update.metadata.take().filter(|it| it.get() != "{}");
            false
        }
    };
    Ok((event, ends))
}

struct ShownConfig {
    id: Option<String>,
    task_id: Option<String>,
    url: String,
    authentication: Option<RawJson>,
    metadata: Option<RawJson>,
}

json_object!(ShownConfig {
    id: "id",
    task_id: "taskId" | "task_id",
    url: "url",
    authentication: "authentication",
    metadata: "metadata",
});

impl From<ShownConfig> for TaskPushNotificationConfig {
    fn from(shown: ShownConfig) -> Self {
        let metadata = shown
            .metadata
            .and_then(|raw| crate::Metadata::from_raw(raw).ok());
        let authentication = shown.authentication.filter(RawJson::is_object);
        Self {
            tenant: None,
            id: shown.id,
            task_id: shown.task_id,
            url: shown.url,
            token: None,
            authentication: authentication.and_then(|raw| raw.read::<AuthenticationInfo>().ok()),
            metadata,
        }
    }
}

fn read_config(result: &str) -> Result<TaskPushNotificationConfig, A2aError> {
    struct Answer {
        config: Option<ShownConfig>,
    }
    json_object!(Answer { config: "config" });
    let answer: Answer = lenient::read(result)?;
    let config = answer.config.ok_or_else(|| {
        let text = "The agent's answer is no push configuration";
        A2aError::new(ErrorKind::InvalidAgentResponse, text)
    })?;
    Ok(config.into())
}

fn read_configs(result: &str) -> Result<ListTaskPushNotificationConfigsResponse, A2aError> {
    struct Answer {
        items: Vec<ShownConfig>,
    }
    json_object!(Answer { items: "items" });
    let answer: Answer = lenient::read(result)?;
    Ok(ListTaskPushNotificationConfigsResponse {
        configs: lenient::all(answer.items),
        next_page_token: String::new(),
    })
}
