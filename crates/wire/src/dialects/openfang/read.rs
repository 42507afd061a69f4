//! Requests of the 2025-04 dialect.

use crate::dialects::lenient::{AnyPart, all};
use crate::dialects::params::read_params;
use crate::error::{A2aError, ErrorKind};
use crate::json::{Metadata, json_object};
use crate::limits::MAX_ID_CHARS;
use crate::message::{Message, Role};
use crate::operation::{
    CancelTaskRequest, GetTaskRequest, Method, Request, SendMessageConfiguration,
    SendMessageRequest,
};
use crate::part::Part;

/// A sent message and what this dialect says beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LegacySend {
    /// The message as 1.0 has it: `sessionId` became its context, its text parts one text. Its
    /// `message_id` is empty, since messages have none here: whoever takes the request makes one.
    pub request: SendMessageRequest,
    /// The task id the caller chose; later `tasks/get` may ask for it.
    pub caller_task_id: Option<String>,
    /// The agent that `params.metadata.agent` names.
    pub agent: Option<String>,
}

/// The operation of a method name. `tasks/sendSubscribe` is known but not offered
/// (UnsupportedOperation); other names are MethodNotFound.
pub fn method(name: &str) -> Result<Method, A2aError> {
    match name {
        "tasks/send" => Ok(Method::SendMessage),
        "tasks/get" => Ok(Method::GetTask),
        "tasks/cancel" => Ok(Method::CancelTask),
        "tasks/sendSubscribe" => Err(A2aError::new(
            ErrorKind::UnsupportedOperation,
            "tasks/sendSubscribe is not supported here: use tasks/send and poll with tasks/get",
        )),
        _ => {
            let shown: String = name.chars().take(64).collect();
            let message =
                format!("Method not found: {shown} (tasks/send, tasks/get, tasks/cancel)");
            Err(A2aError::new(ErrorKind::MethodNotFound, message))
        }
    }
}

struct SendParams {
    id: Option<String>,
    session_id: Option<String>,
    message: SentMessage,
    history_length: Option<i32>,
    accepted_output_modes: Vec<String>,
    metadata: Option<Metadata>,
}

json_object!(SendParams {
    id: "id",
    session_id: "sessionId" | "session_id",
    message: "message",
    history_length: "historyLength" | "history_length",
    accepted_output_modes: "acceptedOutputModes" | "accepted_output_modes",
    metadata: "metadata",
});

/// Whatever role a caller claims, what it sends is the user's.
struct SentMessage {
    parts: Vec<AnyPart>,
    metadata: Option<Metadata>,
}

json_object!(required SentMessage {
    parts: "parts",
    metadata: "metadata",
});

/// Reads and validates the parameters of `tasks/send`.
pub fn read_send(params: Option<&str>) -> Result<LegacySend, A2aError> {
    read_params::<SendParams>(params)?.convert()
}

/// Reads the body of `POST /a2a/tasks/send`: the parameters in a JSON-RPC envelope of which nothing
/// else counts.
pub fn read_rest_send(body: &[u8]) -> Result<LegacySend, A2aError> {
    struct Body {
        params: Option<SendParams>,
    }
    json_object!(Body { params: "params" });

    let text = std::str::from_utf8(body)
        .map_err(|_| A2aError::new(ErrorKind::ParseError, "Invalid JSON payload: not UTF-8"))?;
    if crate::json::is_deeper_than(text, crate::limits::MAX_JSON_DEPTH) {
        let message = "Invalid JSON payload: nested too deeply";
        return Err(A2aError::new(ErrorKind::ParseError, message));
    }
    let body: Body = read_params(Some(text))?;
    body.params
        .ok_or_else(|| A2aError::invalid_field("params", "is required"))?
        .convert()
}

impl SendParams {
    fn convert(self) -> Result<LegacySend, A2aError> {
        if self
            .id
            .as_ref()
            .is_some_and(|id| id.chars().count() > MAX_ID_CHARS || id.contains('\0'))
        {
            let description = format!("must be at most {MAX_ID_CHARS} characters without U+0000");
            return Err(A2aError::invalid_field("id", description));
        }
        let parts = join_texts(all(self.message.parts))?;
        // The id only stands in for the one that is made later, so that all else can be validated.
        let mut message = Message::new("later", Role::User, parts);
        message.context_id = self.session_id;
        message.metadata = self.message.metadata;
        let agent = self
            .metadata
            .as_ref()
            .and_then(|metadata| metadata.member("agent"));
        let configuration = SendMessageConfiguration {
            accepted_output_modes: self.accepted_output_modes,
            history_length: self.history_length,
            ..SendMessageConfiguration::default()
        };
        let mut request = SendMessageRequest::new(message);
        request.configuration = configuration;
        request.metadata = self.metadata;
        let request = Request::SendMessage(request);
        request.validate()?;
        let Request::SendMessage(mut request) = request else {
            unreachable!("made just above")
        };
        request.message.message_id.clear();
        Ok(LegacySend {
            request,
            caller_task_id: self.id,
            agent: agent.and_then(|name| name.read().ok()),
        })
    }
}

/// One text instead of many, in front; a message without any text says nothing here.
fn join_texts(parts: Vec<Part>) -> Result<Vec<Part>, A2aError> {
    let texts: Vec<&str> = parts.iter().filter_map(Part::as_text).collect();
    if texts.is_empty() {
        let description = "must have a part {\"type\":\"text\",\"text\":\"...\"}";
        return Err(A2aError::invalid_field("message.parts", description));
    }
    let mut joined = vec![Part::text(texts.join("\n"))];
    joined.extend(parts.into_iter().filter(|part| part.as_text().is_none()));
    Ok(joined)
}

struct TaskParams {
    id: String,
    history_length: Option<i32>,
}

json_object!(TaskParams {
    id: "id",
    history_length: "historyLength" | "history_length",
});

pub(in crate::dialects) fn read_request(
    method: Method,
    params: Option<&str>,
    message_id: Option<&str>,
) -> Result<Request, A2aError> {
    let request = match method {
        Method::SendMessage => {
            let mut request = read_send(params)?.request;
            message_id
                .unwrap_or_default()
                .clone_into(&mut request.message.message_id);
            return Ok(Request::SendMessage(request));
        }
        Method::GetTask => {
            let TaskParams { id, history_length } = read_params(params)?;
            Request::GetTask(GetTaskRequest {
                tenant: None,
                id,
                history_length,
            })
        }
        Method::CancelTask => {
            let TaskParams { id, .. } = read_params(params)?;
            Request::CancelTask(CancelTaskRequest {
                tenant: None,
                id,
                metadata: None,
            })
        }
        other => {
            let message = format!("{} does not exist in this dialect", other.name());
            return Err(A2aError::new(ErrorKind::UnsupportedOperation, message));
        }
    };
    request.validate()?;
    Ok(request)
}
