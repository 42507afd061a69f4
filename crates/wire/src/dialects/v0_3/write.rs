//! The model in the spelling of 0.3. Every object gets its `kind`; what 0.3 has no member for goes
//! where [`super::super::lenient`] finds it again, or is left out.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use crate::artifact::Artifact;
use crate::dialects::lenient::{DATA_PART_COMPAT, FILENAME, MEDIA_TYPE, implied_media_type};
use crate::event::StreamResponse;
use crate::json::{Metadata, RawJson};
use crate::message::{Message, Role};
use crate::operation::{Response, SendMessageResponse};
use crate::part::{Part, PartContent, encode_base64};
use crate::push_config::{AuthenticationInfo, TaskPushNotificationConfig};
use crate::task::{Task, TaskState, TaskStatus};

/// A value of the model that is written as 0.3 spells it.
pub(super) struct Old<T>(pub(super) T);

/// Appends a value.
pub(super) fn write<T>(value: T, out: &mut Vec<u8>)
where
    Old<T>: Serialize,
{
    serde_json::to_writer(out, &Old(value)).expect("a Vec takes all bytes and this is JSON");
}

/// Appends a bare task, as answers and push notifications carry it.
pub(in crate::dialects) fn write_task(task: &Task, out: &mut Vec<u8>) {
    write(task, out);
}

/// Appends a result. A push list is an array here, and a deletion is answered by null.
pub(in crate::dialects) fn write_response(response: &Response, out: &mut Vec<u8>) {
    match response {
        Response::SendMessage(SendMessageResponse::Task(task)) | Response::Task(task) => {
            write(task, out);
        }
        Response::SendMessage(SendMessageResponse::Message(message)) => write(message, out),
        // 0.3 names no JSON for a list of tasks; the page of 1.0 with old tasks inside serves those
        // who ask for it all the same.
        Response::ListTasks(page) => write(page, out),
        Response::PushConfig(config) => write(config, out),
        Response::PushConfigs(page) => crate::dialects::v1::write(&OldList(&page.configs), out),
        Response::Deleted => out.extend_from_slice(b"null"),
        Response::AgentCard(card) => match super::write_card(card) {
            Some(json) => out.extend_from_slice(&json),
            None => crate::dialects::v1::write(card, out),
        },
    }
}

/// Appends an event. `last` becomes `final` where the event has such a member.
pub(in crate::dialects) fn write_event(event: &StreamResponse, last: bool, out: &mut Vec<u8>) {
    match event {
        StreamResponse::Task(task) => write(task, out),
        StreamResponse::Message(message) => write(message, out),
        StreamResponse::StatusUpdate(_) | StreamResponse::ArtifactUpdate(_) => {
            write((event, last), out);
        }
    }
}

/// The name of a state.
pub(super) fn state_name(state: TaskState) -> &'static str {
    match state {
        TaskState::Unspecified => "unknown",
        TaskState::Submitted => "submitted",
        TaskState::Working => "working",
        TaskState::Completed => "completed",
        TaskState::Failed => "failed",
        TaskState::Canceled => "canceled",
        TaskState::InputRequired => "input-required",
        TaskState::Rejected => "rejected",
        TaskState::AuthRequired => "auth-required",
    }
}

/// A list whose entries are written as 0.3 spells them.
struct OldList<'a, T>(&'a [T]);

impl<'a, T> Serialize for OldList<'a, T>
where
    Old<&'a T>: Serialize,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for entry in self.0 {
            list.serialize_element(&Old(entry))?;
        }
        list.end()
    }
}

/// Writes the member if there is a value.
pub(super) fn entry<M: SerializeMap, T: Serialize>(
    map: &mut M,
    name: &'static str,
    value: Option<T>,
) -> Result<(), M::Error> {
    match value {
        Some(value) => map.serialize_entry(name, &value),
        None => Ok(()),
    }
}

pub(super) fn filled<T>(list: &[T]) -> Option<&[T]> {
    Some(list).filter(|list| !list.is_empty())
}

impl Serialize for Old<&Task> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let task = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("kind", "task")?;
        map.serialize_entry("id", &task.id)?;
        map.serialize_entry("contextId", &task.context_id)?;
        map.serialize_entry("status", &Old(&task.status))?;
        entry(
            &mut map,
            "artifacts",
            task.artifacts.as_deref().map(OldList),
        )?;
        entry(&mut map, "history", filled(&task.history).map(OldList))?;
        entry(&mut map, "metadata", task.metadata.as_ref())?;
        map.end()
    }
}

impl Serialize for Old<&TaskStatus> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("state", state_name(self.0.state))?;
        entry(&mut map, "message", self.0.message.as_ref().map(Old))?;
        entry(&mut map, "timestamp", self.0.timestamp)?;
        map.end()
    }
}

impl Serialize for Old<&Message> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let message = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("kind", "message")?;
        map.serialize_entry("messageId", &message.message_id)?;
        entry(&mut map, "contextId", message.context_id.as_deref())?;
        entry(&mut map, "taskId", message.task_id.as_deref())?;
        // A message that does not say who speaks can only be the agent's.
        map.serialize_entry(
            "role",
            if message.role == Role::User {
                "user"
            } else {
                "agent"
            },
        )?;
        map.serialize_entry("parts", &OldList(&message.parts))?;
        entry(&mut map, "metadata", message.metadata.as_ref())?;
        entry(&mut map, "extensions", filled(&message.extensions))?;
        entry(
            &mut map,
            "referenceTaskIds",
            filled(&message.reference_task_ids),
        )?;
        map.end()
    }
}

impl Serialize for Old<&Artifact> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let artifact = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("artifactId", &artifact.artifact_id)?;
        entry(&mut map, "name", artifact.name.as_deref())?;
        entry(&mut map, "description", artifact.description.as_deref())?;
        map.serialize_entry("parts", &OldList(&artifact.parts))?;
        entry(&mut map, "metadata", artifact.metadata.as_ref())?;
        entry(&mut map, "extensions", filled(&artifact.extensions))?;
        map.end()
    }
}

impl Serialize for Old<&Part> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let part = self.0;
        let mut map = serializer.serialize_map(None)?;
        let marked;
        let mut metadata = part.metadata.as_ref();
        match &part.content {
            PartContent::Text(text) => {
                map.serialize_entry("kind", "text")?;
                map.serialize_entry("text", text)?;
            }
            PartContent::Raw(_) | PartContent::Url(_) => {
                map.serialize_entry("kind", "file")?;
                map.serialize_entry("file", &File(part))?;
            }
            PartContent::Data(data) => {
                map.serialize_entry("kind", "data")?;
                if data.is_object() {
                    map.serialize_entry("data", data)?;
                } else {
                    map.serialize_entry("data", &Wrapped { value: data })?;
                }
            }
        }
        if let Some(labelled) = labels(part) {
            marked = labelled;
            metadata = Some(&marked);
        }
        entry(&mut map, "metadata", metadata)?;
        map.end()
    }
}

/// Content of a data part that 0.3 would not take as it is.
#[derive(serde::Serialize)]
pub(super) struct Wrapped<'a> {
    pub(super) value: &'a RawJson,
}

/// The metadata of a part that has something to say for which 0.3 has no member.
pub(in crate::dialects) fn labels(part: &Part) -> Option<Metadata> {
    let implied = implied_media_type(&part.content)?;
    let mut metadata = None;
    let mut add = |key: &str, value: RawJson| {
        let before = metadata.as_ref().or(part.metadata.as_ref());
        metadata = Some(Metadata::with_member(before, key, &value));
    };
    let text = |text: &str| RawJson::of(text).expect("a string is always JSON");
    if let Some(media_type) = part.media_type.as_deref().filter(|name| *name != implied) {
        add(MEDIA_TYPE, text(media_type));
    }
    if let Some(filename) = part.filename.as_deref() {
        add(FILENAME, text(filename));
    }
    if matches!(&part.content, PartContent::Data(data) if !data.is_object()) {
        add(
            DATA_PART_COMPAT,
            RawJson::of(&true).expect("a boolean is always JSON"),
        );
    }
    metadata
}

/// The `file` of a part with bytes or a link.
struct File<'a>(&'a Part);

impl Serialize for File<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match &self.0.content {
            PartContent::Raw(bytes) => map.serialize_entry("bytes", &encode_base64(bytes))?,
            PartContent::Url(url) => map.serialize_entry("uri", url)?,
            PartContent::Text(_) | PartContent::Data(_) => {}
        }
        entry(&mut map, "mimeType", self.0.media_type.as_deref())?;
        entry(&mut map, "name", self.0.filename.as_deref())?;
        map.end()
    }
}

impl Serialize for Old<(&StreamResponse, bool)> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self.0 {
            (StreamResponse::StatusUpdate(event), last) => {
                map.serialize_entry("kind", "status-update")?;
                map.serialize_entry("taskId", &event.task_id)?;
                map.serialize_entry("contextId", &event.context_id)?;
                map.serialize_entry("status", &Old(&event.status))?;
                map.serialize_entry("final", &last)?;
                entry(&mut map, "metadata", event.metadata.as_ref())?;
            }
            (StreamResponse::ArtifactUpdate(event), _) => {
                map.serialize_entry("kind", "artifact-update")?;
                map.serialize_entry("taskId", &event.task_id)?;
                map.serialize_entry("contextId", &event.context_id)?;
                map.serialize_entry("artifact", &Old(&event.artifact))?;
                map.serialize_entry("append", &event.append)?;
                map.serialize_entry("lastChunk", &event.last_chunk)?;
                entry(&mut map, "metadata", event.metadata.as_ref())?;
            }
            (StreamResponse::Task(_) | StreamResponse::Message(_), _) => {}
        }
        map.end()
    }
}

impl Serialize for Old<&crate::operation::ListTasksResponse> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("tasks", &OldList(&self.0.tasks))?;
        map.serialize_entry("nextPageToken", &self.0.next_page_token)?;
        map.serialize_entry("pageSize", &self.0.page_size)?;
        map.serialize_entry("totalSize", &self.0.total_size)?;
        map.end()
    }
}

impl Serialize for Old<&TaskPushNotificationConfig> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("taskId", self.0.task_id.as_deref().unwrap_or_default())?;
        map.serialize_entry("pushNotificationConfig", &Old(Inner(self.0)))?;
        map.end()
    }
}

/// A push configuration without its task.
pub(super) struct Inner<'a>(pub(super) &'a TaskPushNotificationConfig);

impl Serialize for Old<Inner<'_>> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let config = self.0.0;
        let mut map = serializer.serialize_map(None)?;
        entry(&mut map, "id", config.id.as_deref())?;
        map.serialize_entry("url", &config.url)?;
        entry(&mut map, "token", config.token.as_deref())?;
        entry(
            &mut map,
            "authentication",
            config.authentication.as_ref().map(Old),
        )?;
        map.end()
    }
}

impl Serialize for Old<&AuthenticationInfo> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let schemes = std::iter::once(&self.0.scheme).chain(&self.0.other_schemes);
        map.serialize_entry("schemes", &schemes.collect::<Vec<_>>())?;
        entry(&mut map, "credentials", self.0.credentials.as_deref())?;
        map.end()
    }
}
