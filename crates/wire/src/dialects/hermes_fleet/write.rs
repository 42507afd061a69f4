//! Tasks and answers as this dialect spells them.

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::card::write_extended_card;
use super::push::{write_push_config, write_push_configs};
use crate::dialects::v1;
use crate::json::Metadata;
use crate::message::{Message, Role};
use crate::operation::{ListTasksResponse, Response, SendMessageResponse};
use crate::part::{Part, PartContent, encode_base64};
use crate::task::{Task, TaskState, TaskStatus};
use crate::timestamp::Timestamp;

/// The name of a state.
pub(super) fn state_name(state: TaskState) -> &'static str {
    match state {
        TaskState::Unspecified => "unknown",
        TaskState::Submitted => "submitted",
        TaskState::Working => "working",
        TaskState::InputRequired => "input_required",
        TaskState::AuthRequired => "auth_required",
        TaskState::Completed => "completed",
        TaskState::Failed => "failed",
        TaskState::Canceled => "canceled",
        TaskState::Rejected => "rejected",
    }
}

/// Appends a bare task, as the answer to a send over REST is one; elsewhere it is wrapped in
/// `{"task":…}`.
pub fn write_task(task: &Task, out: &mut Vec<u8>) {
    v1::write(&FleetTask(task), out);
}

/// Appends a result.
pub(in crate::dialects) fn write_response(response: &Response, out: &mut Vec<u8>) {
    match response {
        Response::SendMessage(SendMessageResponse::Task(task)) | Response::Task(task) => {
            write_wrapped(task, out);
        }
        Response::SendMessage(SendMessageResponse::Message(message)) => {
            write_wrapped(&task_of_answer(message), out);
        }
        Response::ListTasks(page) => v1::write(&List(page), out),
        Response::PushConfig(config) => write_push_config(config, out),
        Response::PushConfigs(configs) => write_push_configs(&configs.configs, out),
        Response::Deleted => out.extend_from_slice(b"null"),
        Response::AgentCard(card) => write_extended_card(card, out),
    }
}

pub(super) fn write_wrapped(task: &Task, out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"task":"#);
    write_task(task, out);
    out.push(b'}');
}

/// A direct answer is a completed task here: there is nothing else to answer with.
fn task_of_answer(message: &Message) -> Task {
    let id = message.task_id.as_ref().unwrap_or(&message.message_id);
    Task {
        id: id.clone(),
        context_id: message.context_id.clone().unwrap_or_default(),
        status: TaskStatus {
            state: TaskState::Completed,
            message: Some(message.clone()),
            timestamp: None,
        },
        artifacts: None,
        history: Vec::new(),
        metadata: None,
    }
}

struct FleetTask<'a>(&'a Task);

impl Serialize for FleetTask<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let task = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &task.id)?;
        map.serialize_entry("context_id", &task.context_id)?;
        map.serialize_entry("status", &TaskStatusObject(&task.status))?;
        if let Some(artifacts) = task.artifacts.as_ref().filter(|list| !list.is_empty()) {
            let artifacts = artifacts.iter().enumerate();
            let artifacts: Vec<_> = artifacts
                .map(|(index, artifact)| Artifact::of(artifact, index))
                .collect();
            map.serialize_entry("artifacts", &artifacts)?;
        }
        if let Some(metadata) = &task.metadata {
            map.serialize_entry("metadata", metadata)?;
        }
        map.end()
    }
}

struct List<'a>(&'a ListTasksResponse);

impl Serialize for List<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let page = self.0;
        let tasks: Vec<_> = page.tasks.iter().map(FleetTask).collect();
        let mut map = serializer.serialize_map(Some(4))?;
        // The name is what clients of the plugin look for.
        map.serialize_entry("task", &tasks)?;
        map.serialize_entry("pageSize", &page.page_size)?;
        map.serialize_entry("totalSize", &page.total_size)?;
        map.serialize_entry("nextPageToken", &page.next_page_token)?;
        map.end()
    }
}

/// A time without its fraction of a second.
fn seconds(time: Timestamp) -> String {
    let whole = Timestamp::from_unix(time.as_unix().0, 0).unwrap_or(time);
    whole.to_string().replace(".000Z", "Z")
}

struct TaskStatusObject<'a>(&'a TaskStatus);

impl Serialize for TaskStatusObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let status = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("state", state_name(status.state))?;
        if let Some(time) = status.timestamp {
            map.serialize_entry("timestamp", &seconds(time))?;
        }
        if let Some(message) = &status.message {
            map.serialize_entry("message", &FleetMessage(message))?;
        }
        map.end()
    }
}

/// A message, its speaker as a number.
pub(super) struct FleetMessage<'a>(pub(super) &'a Message);

impl Serialize for FleetMessage<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let message = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("message_id", &message.message_id)?;
        map.serialize_entry("role", &message.role.number())?;
        map.serialize_entry("parts", &parts(&message.parts))?;
        match &message.metadata {
            Some(metadata) => map.serialize_entry("metadata", metadata)?,
            None => map.serialize_entry("metadata", &Empty {})?,
        }
        map.end()
    }
}

#[derive(serde::Serialize)]
struct Empty {}

/// A status as events have it: the speaker by name.
pub(super) struct EventStatus<'a>(&'a TaskStatus);

impl<'a> EventStatus<'a> {
    pub(super) fn of(status: &'a TaskStatus) -> Self {
        Self(status)
    }
}

impl Serialize for EventStatus<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let status = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("state", state_name(status.state))?;
        if let Some(message) = &status.message {
            map.serialize_entry("message", &Spoken(message))?;
        }
        if let Some(time) = status.timestamp {
            map.serialize_entry("timestamp", &seconds(time))?;
        }
        map.end()
    }
}

struct Spoken<'a>(&'a Message);

impl Serialize for Spoken<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let message = self.0;
        let role = if message.role == Role::User {
            "user"
        } else {
            "agent"
        };
        let mut map = serializer.serialize_map(None)?;
        if !message.message_id.is_empty() {
            map.serialize_entry("message_id", &message.message_id)?;
        }
        map.serialize_entry("role", role)?;
        map.serialize_entry("parts", &parts(&message.parts))?;
        if let Some(metadata) = &message.metadata {
            map.serialize_entry("metadata", metadata)?;
        }
        map.end()
    }
}

/// An artifact with its place among the others.
#[derive(serde::Serialize)]
pub(super) struct Artifact<'a> {
    artifact_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    parts: Vec<FleetPart<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Metadata>,
    index: usize,
}

impl<'a> Artifact<'a> {
    pub(super) fn of(artifact: &'a crate::Artifact, index: usize) -> Self {
        Self {
            artifact_id: &artifact.artifact_id,
            name: artifact.name.as_deref(),
            description: artifact.description.as_deref(),
            parts: parts(&artifact.parts),
            metadata: artifact.metadata.as_ref(),
            index,
        }
    }
}

fn parts(parts: &[Part]) -> Vec<FleetPart<'_>> {
    parts.iter().map(FleetPart).collect()
}

/// A part: text as the plugin has it, other contents as 1.0 has them, in snake_case.
struct FleetPart<'a>(&'a Part);

impl Serialize for FleetPart<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let part = self.0;
        let mut map = serializer.serialize_map(None)?;
        match &part.content {
            PartContent::Text(text) => map.serialize_entry("text", text)?,
            PartContent::Raw(bytes) => map.serialize_entry("raw", &encode_base64(bytes))?,
            PartContent::Url(url) => map.serialize_entry("url", url)?,
            PartContent::Data(data) => map.serialize_entry("data", data)?,
        }
        if let Some(metadata) = &part.metadata {
            map.serialize_entry("metadata", metadata)?;
        }
        if let Some(filename) = &part.filename {
            map.serialize_entry("filename", filename)?;
        }
        if let Some(media_type) = &part.media_type {
            map.serialize_entry("media_type", media_type)?;
        }
        map.end()
    }
}
