//! 0.3 as the JSON of its proto, which the official SDKs send and expect over REST: no `kind`,
//! states and roles in capitals, `content` for a message's parts, data wrapped once more.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::file_bytes::write_file_bytes;
use super::read::at_least_one;
use super::write::{Inner, Old, Wrapped, entry, filled, labels};
use crate::artifact::Artifact;
use crate::event::StreamResponse;
use crate::message::{Message, Role};
use crate::operation::{
    ListTasksResponse, Request, Response, SendMessageRequest, SendMessageResponse,
};
use crate::part::{Part, PartContent, encode_base64};
use crate::push_config::TaskPushNotificationConfig;
use crate::task::{Task, TaskState, TaskStatus};

/// A value of the model that is written as the JSON of 0.3's proto. `FILES`: inline files are written as
/// their own bytes and not as the text of them (see `file_bytes`).
struct Proto<T, const FILES: bool>(T);

/// Inline files as the text of their bytes, as the Python SDKs have them.
pub(crate) const TEXT: bool = false;
/// Inline files as their own bytes, as the JavaScript SDK has them.
pub(crate) const BYTES: bool = true;

/// One member around a value.
struct Member<T>(&'static str, T);

impl<T> Serialize for Member<T>
where
    T: Serialize,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(self.0, &self.1)?;
        map.end()
    }
}

fn write<T: Serialize>(value: T, out: &mut Vec<u8>) {
    serde_json::to_writer(out, &value).expect("a Vec takes all bytes and this is JSON");
}

/// Appends an answer as the JSON of the proto.
pub(crate) fn write_proto_response<const FILES: bool>(response: &Response, out: &mut Vec<u8>) {
    match response {
        Response::SendMessage(SendMessageResponse::Task(task)) => {
            write(Member("task", Proto::<_, FILES>(task)), out);
        }
        Response::SendMessage(SendMessageResponse::Message(message)) => {
            write(Member("message", Proto::<_, FILES>(message)), out);
        }
        Response::Task(task) => write(Proto::<_, FILES>(task), out),
        Response::ListTasks(page) => write(Proto::<_, FILES>(page), out),
        Response::PushConfig(config) => write(Proto::<_, FILES>(config), out),
        Response::PushConfigs(page) => {
            write(Member("configs", ProtoList::<_, FILES>(&page.configs)), out);
        }
        Response::Deleted => out.extend_from_slice(b"{}"),
        Response::AgentCard(_) => super::write::write_response(response, out),
    }
}

/// Appends an event as the JSON of the proto.
pub(crate) fn write_proto_event<const FILES: bool>(
    event: &StreamResponse,
    last: bool,
    out: &mut Vec<u8>,
) {
    match event {
        StreamResponse::Task(task) => write(Member("task", Proto::<_, FILES>(task)), out),
        StreamResponse::Message(message) => {
            write(Member("message", Proto::<_, FILES>(message)), out)
        }
        StreamResponse::StatusUpdate(_) => {
            write(
                Member("statusUpdate", Proto::<_, FILES>((event, last))),
                out,
            );
        }
        StreamResponse::ArtifactUpdate(_) => {
            write(
                Member("artifactUpdate", Proto::<_, FILES>((event, last))),
                out,
            );
        }
    }
}

/// Appends an answer as the text of 0.3 has it: the objects of JSON-RPC, a sent message's wrapped.
pub(crate) fn write_wrapped_response(response: &Response, out: &mut Vec<u8>) {
    match response {
        Response::SendMessage(SendMessageResponse::Task(task)) => {
            write(Member("task", Old(task)), out);
        }
        Response::SendMessage(SendMessageResponse::Message(message)) => {
            write(Member("message", Old(message)), out);
        }
        Response::Deleted => out.extend_from_slice(b"{}"),
        other => super::write::write_response(other, out),
    }
}

/// Appends an event as the text of 0.3 has it, wrapped.
pub(crate) fn write_wrapped_event(event: &StreamResponse, last: bool, out: &mut Vec<u8>) {
    match event {
        StreamResponse::Task(task) => write(Member("task", Old(task)), out),
        StreamResponse::Message(message) => write(Member("message", Old(message)), out),
        StreamResponse::StatusUpdate(_) => write(Member("statusUpdate", Old((event, last))), out),
        StreamResponse::ArtifactUpdate(_) => {
            write(Member("artifactUpdate", Old((event, last))), out);
        }
    }
}

/// The body of a client's request; `None` for those without one.
pub(crate) fn write_proto_body(request: &Request) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    match request {
        Request::SendMessage(r) | Request::SendStreamingMessage(r) => {
            write(Proto::<_, TEXT>(r), &mut out)
        }
        Request::CreateTaskPushNotificationConfig(config) => {
            write(NewConfig(config), &mut out);
        }
        Request::CancelTask(_) | Request::SubscribeToTask(_) => out.extend_from_slice(b"{}"),
        _ => return None,
    }
    Some(out)
}

/// A list whose entries are written as the JSON of the proto.
struct ProtoList<'a, T, const FILES: bool>(&'a [T]);

impl<'a, T, const FILES: bool> Serialize for ProtoList<'a, T, FILES>
where
    Proto<&'a T, FILES>: Serialize,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for entry in self.0 {
            list.serialize_element(&Proto::<_, FILES>(entry))?;
        }
        list.end()
    }
}

impl<const FILES: bool> Serialize for Proto<&Task, FILES> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let task = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &task.id)?;
        map.serialize_entry("contextId", &task.context_id)?;
        map.serialize_entry("status", &Proto::<_, FILES>(&task.status))?;
        let artifacts = task.artifacts.as_deref().and_then(filled);
        entry(&mut map, "artifacts", artifacts.map(ProtoList::<_, FILES>))?;
        entry(
            &mut map,
            "history",
            filled(&task.history).map(ProtoList::<_, FILES>),
        )?;
        entry(&mut map, "metadata", task.metadata.as_ref())?;
        map.end()
    }
}

fn state_name(state: TaskState) -> &'static str {
    match state {
        TaskState::Canceled => "TASK_STATE_CANCELLED",
        state => state.as_str(),
    }
}

impl<const FILES: bool> Serialize for Proto<&TaskStatus, FILES> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("state", state_name(self.0.state))?;
        entry(
            &mut map,
            "message",
            self.0.message.as_ref().map(Proto::<_, FILES>),
        )?;
        entry(&mut map, "timestamp", self.0.timestamp)?;
        map.end()
    }
}

/// The proto has no references to other tasks: they are lost here.
impl<const FILES: bool> Serialize for Proto<&Message, FILES> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let message = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("messageId", &message.message_id)?;
        entry(&mut map, "contextId", message.context_id.as_deref())?;
        entry(&mut map, "taskId", message.task_id.as_deref())?;
        let is_user = message.role == Role::User;
        map.serialize_entry("role", if is_user { "ROLE_USER" } else { "ROLE_AGENT" })?;
        map.serialize_entry("content", &ProtoList::<_, FILES>(&message.parts))?;
        entry(&mut map, "metadata", message.metadata.as_ref())?;
        entry(&mut map, "extensions", filled(&message.extensions))?;
        map.end()
    }
}

impl<const FILES: bool> Serialize for Proto<&Artifact, FILES> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let artifact = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("artifactId", &artifact.artifact_id)?;
        entry(&mut map, "name", artifact.name.as_deref())?;
        entry(&mut map, "description", artifact.description.as_deref())?;
        map.serialize_entry("parts", &ProtoList::<_, FILES>(&artifact.parts))?;
        entry(&mut map, "metadata", artifact.metadata.as_ref())?;
        entry(&mut map, "extensions", filled(&artifact.extensions))?;
        map.end()
    }
}

impl<const FILES: bool> Serialize for Proto<&Part, FILES> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let part = self.0;
        let mut map = serializer.serialize_map(None)?;
        match &part.content {
            PartContent::Text(text) => map.serialize_entry("text", text)?,
            PartContent::Raw(_) | PartContent::Url(_) => {
                map.serialize_entry("file", &ProtoFile::<FILES>(part))?;
            }
            PartContent::Data(data) if data.is_object() => {
                map.serialize_entry("data", &Member("data", data))?;
            }
            PartContent::Data(data) => {
                map.serialize_entry("data", &Member("data", Wrapped { value: data }))?;
            }
        }
        let labelled = labels(part);
        entry(
            &mut map,
            "metadata",
            labelled.as_ref().or(part.metadata.as_ref()),
        )?;
        map.end()
    }
}

struct ProtoFile<'a, const FILES: bool>(&'a Part);

impl<const FILES: bool> Serialize for ProtoFile<'_, FILES> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match &self.0.content {
            PartContent::Raw(bytes) => {
                let written = match FILES {
                    true => encode_base64(bytes),
                    false => encode_base64(&write_file_bytes(bytes)),
                };
                map.serialize_entry("fileWithBytes", &written)?;
            }
            PartContent::Url(url) => map.serialize_entry("fileWithUri", url)?,
            PartContent::Text(_) | PartContent::Data(_) => {}
        }
        entry(&mut map, "mimeType", self.0.media_type.as_deref())?;
        entry(&mut map, "name", self.0.filename.as_deref())?;
        map.end()
    }
}

impl<const FILES: bool> Serialize for Proto<(&StreamResponse, bool), FILES> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self.0 {
            (StreamResponse::StatusUpdate(event), last) => {
                map.serialize_entry("taskId", &event.task_id)?;
                map.serialize_entry("contextId", &event.context_id)?;
                map.serialize_entry("status", &Proto::<_, FILES>(&event.status))?;
                entry(&mut map, "final", Some(true).filter(|_| last))?;
                entry(&mut map, "metadata", event.metadata.as_ref())?;
            }
            (StreamResponse::ArtifactUpdate(event), _) => {
                map.serialize_entry("taskId", &event.task_id)?;
                map.serialize_entry("contextId", &event.context_id)?;
                map.serialize_entry("artifact", &Proto::<_, FILES>(&event.artifact))?;
                entry(&mut map, "append", Some(true).filter(|_| event.append))?;
                entry(
                    &mut map,
                    "lastChunk",
                    Some(true).filter(|_| event.last_chunk),
                )?;
                entry(&mut map, "metadata", event.metadata.as_ref())?;
            }
            (StreamResponse::Task(_) | StreamResponse::Message(_), _) => {}
        }
        map.end()
    }
}

impl<const FILES: bool> Serialize for Proto<&ListTasksResponse, FILES> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("tasks", &ProtoList::<_, FILES>(&self.0.tasks))?;
        map.serialize_entry("nextPageToken", &self.0.next_page_token)?;
        map.serialize_entry("pageSize", &self.0.page_size)?;
        map.serialize_entry("totalSize", &self.0.total_size)?;
        map.end()
    }
}

impl<const FILES: bool> Serialize for Proto<&TaskPushNotificationConfig, FILES> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let task = self.0.task_id.as_deref().unwrap_or_default();
        let config = self.0.id.as_deref().unwrap_or_default();
        let name = format!("tasks/{task}/pushNotificationConfigs/{config}");
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &name)?;
        map.serialize_entry("pushNotificationConfig", &Old(Inner(self.0)))?;
        map.end()
    }
}

/// The body that registers a configuration.
struct NewConfig<'a>(&'a TaskPushNotificationConfig);

impl Serialize for NewConfig<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let task = self.0.task_id.as_deref().unwrap_or_default();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("parent", &format!("tasks/{task}"))?;
        entry(&mut map, "configId", self.0.id.as_deref())?;
        map.serialize_entry("config", &Proto::<_, TEXT>(self.0))?;
        map.end()
    }
}

impl<const FILES: bool> Serialize for Proto<&SendMessageRequest, FILES> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("message", &Proto::<_, FILES>(&self.0.message))?;
        map.serialize_entry("configuration", &Configuration(self.0))?;
        entry(&mut map, "metadata", self.0.metadata.as_ref())?;
        map.end()
    }
}

struct Configuration<'a>(&'a SendMessageRequest);

impl Serialize for Configuration<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let configuration = &self.0.configuration;
        let mut map = serializer.serialize_map(None)?;
        // Servers disagree on what its absence means.
        map.serialize_entry("blocking", &!configuration.return_immediately)?;
        let modes = filled(&configuration.accepted_output_modes);
        entry(&mut map, "acceptedOutputModes", modes)?;
        let length = configuration.history_length.map(at_least_one);
        entry(&mut map, "historyLength", length)?;
        let push = configuration.task_push_notification_config.as_ref();
        entry(
            &mut map,
            "pushNotification",
            push.map(|push| Old(Inner(push))),
        )?;
        map.end()
    }
}
