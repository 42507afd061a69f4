//! Tasks as clients of 2025-04 insist on them: five members, always all of them, parts with `type`,
//! statuses as bare strings, no null where a list belongs.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use crate::artifact::Artifact;
use crate::dialects::v1;
use crate::event::StreamResponse;
use crate::message::{Message, Role};
use crate::operation::{Method, Request, Response, SendMessageResponse};
use crate::part::{Part, PartContent, encode_base64};
use crate::task::{Task, TaskState};

/// Appends a task under `id`: the caller's, if it chose one, else the task's own.
///
/// `messages` has the user's and the agent's turns in order and ends with the answer, the question
/// or the reason, since that is what a model behind such a client looks at.
pub fn write_task(task: &Task, id: &str, out: &mut Vec<u8>) {
    v1::write(&LegacyTask { task, id }, out);
}

/// Appends a result of the three operations this dialect has.
pub(in crate::dialects) fn write_response(response: &Response, out: &mut Vec<u8>) {
    match response {
        Response::SendMessage(SendMessageResponse::Task(task)) | Response::Task(task) => {
            write_task(task, &task.id, out);
        }
        Response::SendMessage(SendMessageResponse::Message(message)) => write_answer(message, out),
        Response::ListTasks(page) => v1::write(page, out),
        Response::PushConfig(config) => v1::write(config, out),
        Response::PushConfigs(page) => v1::write(page, out),
        Response::Deleted => out.extend_from_slice(b"null"),
        Response::AgentCard(card) => v1::write(card, out),
    }
}

/// Appends an event as a whole task where it is one. There are no streams here, so updates have no
/// spelling of their own.
pub(in crate::dialects) fn write_event(event: &StreamResponse, out: &mut Vec<u8>) {
    match event {
        StreamResponse::Task(task) => write_task(task, &task.id, out),
        StreamResponse::Message(message) => write_answer(message, out),
        StreamResponse::StatusUpdate(_) | StreamResponse::ArtifactUpdate(_) => {
            v1::write(event, out);
        }
    }
}

/// A direct answer is a completed task here: there is nothing else to answer with.
fn write_answer(message: &Message, out: &mut Vec<u8>) {
    v1::write(&LegacyAnswer(message), out);
}

/// The JSON-RPC name of an operation.
pub(in crate::dialects) fn method_name(method: Method) -> Option<&'static str> {
    match method {
        Method::SendMessage => Some("tasks/send"),
        Method::GetTask => Some("tasks/get"),
        Method::CancelTask => Some("tasks/cancel"),
        _ => None,
    }
}

/// Appends the parameters of a request; operations that do not exist here get an empty object.
pub(in crate::dialects) fn write_params(request: &Request, out: &mut Vec<u8>) {
    let id = match request {
        Request::SendMessage(r) | Request::SendStreamingMessage(r) => {
            return v1::write(&SendParams(&r.message), out);
        }
        Request::GetTask(r) => &r.id,
        Request::CancelTask(r) => &r.id,
        _ => return out.extend_from_slice(b"{}"),
    };
    out.extend_from_slice(br#"{"id":"#);
    v1::write(id, out);
    out.push(b'}');
}

fn status_name(state: TaskState) -> &'static str {
    match state {
        TaskState::Unspecified | TaskState::Submitted => "submitted",
        TaskState::Working => "working",
        TaskState::InputRequired | TaskState::AuthRequired => "inputRequired",
        TaskState::Completed => "completed",
        TaskState::Canceled => "cancelled",
        TaskState::Failed | TaskState::Rejected => "failed",
    }
}

struct LegacyTask<'a> {
    task: &'a Task,
    id: &'a str,
}

impl Serialize for LegacyTask<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(5))?;
        map.serialize_entry("id", self.id)?;
        map.serialize_entry("sessionId", &session(&self.task.context_id))?;
        map.serialize_entry("status", status_name(self.task.status.state))?;
        map.serialize_entry("messages", &Turns(self.task))?;
        map.serialize_entry("artifacts", &Artifacts(self.task.artifacts()))?;
        map.end()
    }
}

fn session(context_id: &str) -> Option<&str> {
    Some(context_id).filter(|id| !id.is_empty())
}

struct LegacyAnswer<'a>(&'a Message);

impl Serialize for LegacyAnswer<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let message = self.0;
        let mut map = serializer.serialize_map(Some(5))?;
        map.serialize_entry(
            "id",
            message.task_id.as_deref().unwrap_or(&message.message_id),
        )?;
        map.serialize_entry("sessionId", &message.context_id)?;
        map.serialize_entry("status", status_name(TaskState::Completed))?;
        map.serialize_entry("messages", &[Turn::agent(&message.parts)])?;
        map.serialize_entry("artifacts", &Artifacts(&[]))?;
        map.end()
    }
}

/// Said when a task waits for an authorisation without words of its own: the status name alone
/// would read as a question.
const AUTHORISATION_NEEDED: &str = "Authorisation is needed before this can go on.";

/// The turns of a task in order.
struct Turns<'a>(&'a Task);

impl Serialize for Turns<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let task = self.0;
        let mut list = serializer.serialize_seq(None)?;
        for message in &task.history {
            list.serialize_element(&Turn::of(message))?;
        }
        let said = task
            .status
            .message
            .as_ref()
            .filter(|message| !is_known(task, message));
        let is_answer = task.status.state == TaskState::Completed;
        let results = task
            .artifacts()
            .iter()
            .filter(|_| is_answer)
            .map(|artifact| &*artifact.parts);
        let results: Vec<&[Part]> = results.collect();
        // Some agents say the answer twice, as status and as artifact: once is enough here.
        let said = said.filter(|message| !results.contains(&&*message.parts));
        if let Some(message) = said {
            list.serialize_element(&Turn::of(message))?;
        }
        if !results.is_empty() {
            let parts = results.concat();
            list.serialize_element(&Turn::agent(&parts))?;
        }
        if task.status.state == TaskState::AuthRequired && task.status.message.is_none() {
            let parts = [Part::text(AUTHORISATION_NEEDED)];
            list.serialize_element(&Turn::agent(&parts))?;
        }
        list.end()
    }
}

fn is_known(task: &Task, message: &Message) -> bool {
    let id = &message.message_id;
    !id.is_empty() && task.history.iter().any(|known| known.message_id == *id)
}

struct Turn<'a> {
    role: &'static str,
    parts: &'a [Part],
}

impl<'a> Turn<'a> {
    fn of(message: &'a Message) -> Self {
        let role = if message.role == Role::User {
            "user"
        } else {
            "agent"
        };
        Self {
            role,
            parts: &message.parts,
        }
    }

    fn agent(parts: &'a [Part]) -> Self {
        Self {
            role: "agent",
            parts,
        }
    }
}

impl Serialize for Turn<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("role", self.role)?;
        map.serialize_entry("parts", &Parts(self.parts))?;
        map.end()
    }
}

struct Parts<'a>(&'a [Part]);

impl Serialize for Parts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(LegacyPart))
    }
}

struct LegacyPart<'a>(&'a Part);

impl Serialize for LegacyPart<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let part = self.0;
        let mut map = serializer.serialize_map(None)?;
        match &part.content {
            PartContent::Text(text) => {
                map.serialize_entry("type", "text")?;
                map.serialize_entry("text", text)?;
            }
            PartContent::Raw(bytes) => {
                let media_type = part.media_type.as_deref();
                map.serialize_entry("type", "file")?;
                map.serialize_entry("name", part.filename.as_deref().unwrap_or("file"))?;
                map.serialize_entry(
                    "mime_type",
                    media_type.unwrap_or("application/octet-stream"),
                )?;
                map.serialize_entry("data", &encode_base64(bytes))?;
            }
            PartContent::Url(url) => {
                map.serialize_entry("type", "text")?;
                map.serialize_entry("text", &describe_link(part, url))?;
            }
            PartContent::Data(data) => {
                let media_type = part.media_type.as_deref();
                map.serialize_entry("type", "data")?;
                map.serialize_entry("mime_type", media_type.unwrap_or("application/json"))?;
                map.serialize_entry("data", data)?;
            }
        }
        map.end()
    }
}

/// There are no links here: `[file: NAME] URL (TYPE)`.
fn describe_link(part: &Part, url: &str) -> String {
    let label = match &part.filename {
        Some(name) => format!("[file: {name}] {url}"),
        None => format!("[file] {url}"),
    };
    match &part.media_type {
        Some(media_type) => format!("{label} ({media_type})"),
        None => label,
    }
}

struct Artifacts<'a>(&'a [Artifact]);

impl Serialize for Artifacts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let entries = self.0.iter().enumerate();
        serializer.collect_seq(entries.map(|(index, artifact)| LegacyArtifact { artifact, index }))
    }
}

struct LegacyArtifact<'a> {
    artifact: &'a Artifact,
    index: usize,
}

impl Serialize for LegacyArtifact<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(name) = &self.artifact.name {
            map.serialize_entry("name", name)?;
        }
        if let Some(description) = &self.artifact.description {
            map.serialize_entry("description", description)?;
        }
        map.serialize_entry("parts", &Parts(&self.artifact.parts))?;
        if let Some(metadata) = &self.artifact.metadata {
            map.serialize_entry("metadata", metadata)?;
        }
        map.serialize_entry("index", &self.index)?;
        map.end()
    }
}

/// A message to such a server. OpenFang reads the first text part only: all text goes there.
struct SendParams<'a>(&'a Message);

impl Serialize for SendParams<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut parts = vec![Part::text(self.0.text())];
        parts.extend(
            self.0
                .parts
                .iter()
                .filter(|part| part.as_text().is_none())
                .cloned(),
        );
        let role = if self.0.role == Role::Agent {
            "agent"
        } else {
            "user"
        };
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(
            "message",
            &Turn {
                role,
                parts: &parts,
            },
        )?;
        map.serialize_entry("sessionId", &self.0.context_id)?;
        map.end()
    }
}
