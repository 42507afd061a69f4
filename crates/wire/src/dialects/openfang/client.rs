//! Answers of 2025-04 servers: a task whose reply is its last agent message.

use crate::artifact::Artifact;
use crate::dialects::lenient::{self, AnyPart, all, any_state};
use crate::error::{A2aError, ErrorKind};
use crate::event::StreamResponse;
use crate::json::{Metadata, RawJson, json_object};
use crate::message::{Message, Role};
use crate::operation::{Method, Response, SendMessageResponse};
use crate::part::Part;
use crate::task::{Task, TaskState, TaskStatus};
use crate::timestamp::Timestamp;

struct LegacyTask {
    id: String,
    session_id: String,
    status: Option<RawJson>,
    messages: Option<Vec<LegacyMessage>>,
    history: Option<Vec<LegacyMessage>>,
    artifacts: Vec<LegacyArtifact>,
    metadata: Option<Metadata>,
}

json_object!(LegacyTask {
    id: "id",
    session_id: "sessionId" | "session_id" | "contextId" | "context_id",
    status: "status",
    messages: "messages",
    history: "history",
    artifacts: "artifacts",
    metadata: "metadata",
});

struct LegacyMessage {
    role: String,
    parts: Vec<AnyPart>,
    metadata: Option<Metadata>,
}

json_object!(LegacyMessage {
    role: "role",
    parts: "parts",
    metadata: "metadata"
});

struct LegacyArtifact {
    artifact_id: Option<String>,
    name: Option<String>,
    description: Option<String>,
    parts: Vec<AnyPart>,
    metadata: Option<Metadata>,
}

json_object!(LegacyArtifact {
    artifact_id: "artifactId" | "artifact_id",
    name: "name",
    description: "description",
    parts: "parts",
    metadata: "metadata",
});

struct StatusObject {
    state: String,
    message: Option<RawJson>,
    timestamp: Option<Timestamp>,
}

json_object!(StatusObject {
    state: "state",
    message: "message",
    timestamp: "timestamp"
});

/// Id of the artifact that is made from the last agent message of a completed task without one.
const ANSWER: &str = "answer";

/// Reads a bare task. The last agent message becomes an artifact if the task is completed and has
/// none, else the message of its status; ids that the dialect does not have are made from the
/// task's, the same on every reading.
pub fn read_task(json: &str) -> Result<Task, A2aError> {
    let legacy: LegacyTask = lenient::read(json)?;
    let status = read_status(legacy.status.as_ref())?;
    let artifacts = legacy
        .artifacts
        .into_iter()
        .enumerate()
        .map(|(index, any)| {
            let id = any.artifact_id.or_else(|| any.name.clone());
            Artifact {
                artifact_id: id.unwrap_or_else(|| format!("artifact-{}", index + 1)),
                name: any.name,
                description: any.description,
                parts: all(any.parts),
                metadata: any.metadata,
                extensions: Vec::new(),
            }
        });
    let mut task = Task {
        id: legacy.id,
        context_id: legacy.session_id,
        status,
        artifacts: Some(artifacts.collect()),
        history: Vec::new(),
        metadata: legacy.metadata,
    };
    let turns = legacy.messages.or(legacy.history).unwrap_or_default();
    for (index, turn) in turns.into_iter().enumerate() {
        let id = format!("{}-{}", task.id, index + 1);
        let message = with_ids(&task, id, turn);
        task.history.push(message);
    }
    place_reply(&mut task);
    Ok(task)
}

fn with_ids(task: &Task, id: String, turn: LegacyMessage) -> Message {
    // The role is a free string: whoever is not the user is the agent.
    let role = if turn.role == "user" {
        Role::User
    } else {
        Role::Agent
    };
    let mut message = Message::new(id, role, all(turn.parts));
    message.task_id = Some(task.id.clone()).filter(|id| !id.is_empty());
    message.context_id = Some(task.context_id.clone()).filter(|id| !id.is_empty());
    message.metadata = turn.metadata;
    message
}

/// Moves the reply out of the history to where 1.0 has it.
fn place_reply(task: &mut Task) {
    let is_reply = |message: &Message| message.role == Role::Agent && !message.parts.is_empty();
    if !task.history.last().is_some_and(is_reply) {
        return;
    }
    let is_completed = task.status.state == TaskState::Completed;
    if is_completed && !task.artifacts().is_empty() {
        return;
    }
    let Some(reply) = task.history.pop() else {
        return;
    };
    if is_completed {
        task.artifacts
            .get_or_insert_default()
            .push(Artifact::new(ANSWER, reply.parts));
    } else if task.status.message.is_none() {
        task.status.message = Some(reply);
    } else {
        task.history.push(reply);
    }
}

/// A bare state, or an object whose message may be anything.
fn read_status(raw: Option<&RawJson>) -> Result<TaskStatus, A2aError> {
    let invalid = |what: &str| {
        let message = format!("The agent's answer cannot be read: {what}");
        A2aError::new(ErrorKind::InvalidAgentResponse, message)
    };
    let raw = raw.ok_or_else(|| invalid("the task has no status"))?;
    let StatusObject {
        state,
        message,
        timestamp,
    } = if raw.is_object() {
        lenient::read(raw.get())?
    } else {
        StatusObject {
            state: lenient::read(raw.get())?,
            message: None,
            timestamp: None,
        }
    };
    let known = any_state(&state).ok_or_else(|| invalid(&format!("unknown status `{state}`")))?;
    let message = message.and_then(|raw| read_note(&raw));
    Ok(TaskStatus {
        state: known,
        message,
        timestamp,
    })
}

fn read_note(raw: &RawJson) -> Option<Message> {
    let text = raw.read::<String>().ok().filter(|text| !text.is_empty());
    let parts = match text {
        Some(text) => vec![Part::text(text)],
        None => all(raw.read::<LegacyMessage>().ok()?.parts),
    };
    (!parts.is_empty()).then(|| Message::new("status", Role::Agent, parts))
}

pub(in crate::dialects) fn read_response(
    method: Method,
    result: &str,
) -> Result<Response, A2aError> {
    let task = read_task(result)?;
    if task.id.is_empty() {
        let message = "The agent's answer is no task: it has no id";
        return Err(A2aError::new(ErrorKind::InvalidAgentResponse, message));
    }
    Ok(match method {
        Method::SendMessage | Method::SendStreamingMessage => {
            Response::SendMessage(SendMessageResponse::Task(task))
        }
        _ => Response::Task(task),
    })
}

pub(in crate::dialects) fn read_event(result: &str) -> Result<(StreamResponse, bool), A2aError> {
    let task = read_task(result)?;
    let ends = task.status.state.is_terminal();
    Ok((StreamResponse::Task(task), ends))
}
