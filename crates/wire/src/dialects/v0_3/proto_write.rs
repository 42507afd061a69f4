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

/// A value of the model that is written as the JSON of 0.3's proto.
struct Proto<T>(T);

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
pub(crate) fn write_proto_response(response: &Response, out: &mut Vec<u8>) {
    match response {
        Response::SendMessage(SendMessageResponse::Task(task)) => {
            write(Member("task", Proto(task)), out);
        }
        Response::SendMessage(SendMessageResponse::Message(message)) => {
            write(Member("message", Proto(message)), out);
        }
        Response::Task(task) => write(Proto(task), out),
        Response::ListTasks(page) => write(Proto(page), out),
        Response::PushConfig(config) => write(Proto(config), out),
        Response::PushConfigs(page) => {
            write(Member("configs", ProtoList(&page.configs)), out);
        }
        Response::Deleted => out.extend_from_slice(b"{}"),
        Response::AgentCard(_) => super::write::write_response(response, out),
    }
}

/// Appends an event as the JSON of the proto.
pub(crate) fn write_proto_event(event: &StreamResponse, last: bool, out: &mut Vec<u8>) {
    match event {
        StreamResponse::Task(task) => write(Member("task", Proto(task)), out),
        StreamResponse::Message(message) => write(Member("message", Proto(message)), out),
        StreamResponse::StatusUpdate(_) => {
            write(Member("statusUpdate", Proto((event, last))), out);
        }
        StreamResponse::ArtifactUpdate(_) => {
            write(Member("artifactUpdate", Proto((event, last))), out);
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
        Request::SendMessage(r) | Request::SendStreamingMessage(r) => write(Proto(r), &mut out),
        Request::CreateTaskPushNotificationConfig(config) => {
            write(NewConfig(config), &mut out);
        }
        Request::CancelTask(_) | Request::SubscribeToTask(_) => out.extend_from_slice(b"{}"),
        _ => return None,
    }
    Some(out)
}

/// A list whose entries are written as the JSON of the proto.
struct ProtoList<'a, T>(&'a [T]);

impl<'a, T> Serialize for ProtoList<'a, T>
where
    Proto<&'a T>: Serialize,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for entry in self.0 {
            list.serialize_element(&Proto(entry))?;
        }
        list.end()
    }
}

impl Serialize for Proto<&Task> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let task = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &task.id)?;
        map.serialize_entry("contextId", &task.context_id)?;
        map.serialize_entry("status", &Proto(&task.status))?;
        let artifacts = task.artifacts.as_deref().and_then(filled);
        entry(&mut map, "artifacts", artifacts.map(ProtoList))?;
        entry(&mut map, "history", filled(&task.history).map(ProtoList))?;
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

impl Serialize for Proto<&TaskStatus> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("state", state_name(self.0.state))?;
        entry(&mut map, "message", self.0.message.as_ref().map(Proto))?;
        entry(&mut map, "timestamp", self.0.timestamp)?;
        map.end()
    }
}

/// The proto has no references to other tasks: they are lost here.
impl Serialize for Proto<&Message> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let message = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("messageId", &message.message_id)?;
        entry(&mut map, "contextId", message.context_id.as_deref())?;
        entry(&mut map, "taskId", message.task_id.as_deref())?;
        let is_user = message.role == Role::User;
        map.serialize_entry("role", if is_user { "ROLE_USER" } else { "ROLE_AGENT" })?;
        map.serialize_entry("content", &ProtoList(&message.parts))?;
        entry(&mut map, "metadata", message.metadata.as_ref())?;
        entry(&mut map, "extensions", filled(&message.extensions))?;
        map.end()
    }
}

impl Serialize for Proto<&Artifact> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let artifact = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("artifactId", &artifact.artifact_id)?;
        entry(&mut map, "name", artifact.name.as_deref())?;
        entry(&mut map, "description", artifact.description.as_deref())?;
        map.serialize_entry("parts", &ProtoList(&artifact.parts))?;
        entry(&mut map, "metadata", artifact.metadata.as_ref())?;
        entry(&mut map, "extensions", filled(&artifact.extensions))?;
        map.end()
    }
}

impl Serialize for Proto<&Part> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let part = self.0;
        let mut map = serializer.serialize_map(None)?;
        match &part.content {
            PartContent::Text(text) => map.serialize_entry("text", text)?,
            PartContent::Raw(_) | PartContent::Url(_) => {
                map.serialize_entry("file", &ProtoFile(part))?;
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

struct ProtoFile<'a>(&'a Part);

impl Serialize for ProtoFile<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match &self.0.content {
            PartContent::Raw(bytes) => {
                map.serialize_entry("fileWithBytes", &encode_base64(&write_file_bytes(bytes)))?;
            }
            PartContent::Url(url) => map.serialize_entry("fileWithUri", url)?,
            PartContent::Text(_) | PartContent::Data(_) => {}
        }
        entry(&mut map, "mimeType", self.0.media_type.as_deref())?;
        entry(&mut map, "name", self.0.filename.as_deref())?;
        map.end()
    }
}

impl Serialize for Proto<(&StreamResponse, bool)> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self.0 {
            (StreamResponse::StatusUpdate(event), last) => {
                map.serialize_entry("taskId", &event.task_id)?;
                map.serialize_entry("contextId", &event.context_id)?;
                map.serialize_entry("status", &Proto(&event.status))?;
                entry(&mut map, "final", Some(true).filter(|_| last))?;
                entry(&mut map, "metadata", event.metadata.as_ref())?;
            }
            (StreamResponse::ArtifactUpdate(event), _) => {
                map.serialize_entry("taskId", &event.task_id)?;
                map.serialize_entry("contextId", &event.context_id)?;
                map.serialize_entry("artifact", &Proto(&event.artifact))?;
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

impl Serialize for Proto<&ListTasksResponse> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("tasks", &ProtoList(&self.0.tasks))?;
        map.serialize_entry("nextPageToken", &self.0.next_page_token)?;
        map.serialize_entry("pageSize", &self.0.page_size)?;
        map.serialize_entry("totalSize", &self.0.total_size)?;
        map.end()
    }
}

impl Serialize for Proto<&TaskPushNotificationConfig> {
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
        map.serialize_entry("config", &Proto(self.0))?;
        map.end()
    }
}

impl Serialize for Proto<&SendMessageRequest> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("message", &Proto(&self.0.message))?;
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
