//! What is said, in the terms of the other side: messages with the ids that are known there or here, and
//! errors by the names they have here.

use nuncio_client::{ClientError, ClientErrorKind, plain};
use nuncio_wire::operation::SendMessageRequest;
use nuncio_wire::{A2aError, ErrorKind, Message, Role};

use super::known::Known;
use super::relay::Halt;
use crate::agents::{Turn, TurnEnd, fault};

/// What is said of a task that the agent does not know any more.
const LOST: &str = "The agent behind the gateway has lost this task; send the message again.";

/// The turn's message as it goes there. `theirs` is the task it continues.
pub(super) fn request(turn: &Turn, known: &Known, theirs: Option<&str>) -> SendMessageRequest {
    let said = &turn.message;
    let mut message = Message::new(known.message_id(turn), Role::User, said.parts.clone());
    message.metadata.clone_from(&said.metadata);
    message.extensions.clone_from(&said.extensions);
    message.context_id = known.context().map(str::to_owned);
    message.task_id = theirs.map(str::to_owned);
    let referred = said.reference_task_ids.iter();
    let referred = referred.filter_map(|ours| known.task(ours));
    message.reference_task_ids = referred.map(|task| task.theirs.clone()).collect();
    let mut request = SendMessageRequest::new(message);
    request.metadata.clone_from(&turn.metadata);
    let modes = &turn.accepted_output_modes;
    request
        .configuration
        .accepted_output_modes
        .clone_from(modes);
    request
}

/// A message of the agent as it is told here.
pub(super) fn told(turn: &Turn, known: &Known, said: Message) -> Message {
    let mut message = turn.reply(said.parts);
    message.metadata = said.metadata;
    message.extensions = said.extensions;
    let referred = said.reference_task_ids.iter();
    let referred = referred.filter_map(|theirs| known.ours(theirs));
    message.reference_task_ids = referred.map(str::to_owned).collect();
    message
}

/// How a turn ends that got no end from the agent. `secret` are ids that only count there.
pub(super) fn end_of(turn: &Turn, halt: Halt, has_begun: bool, secret: &[&str]) -> TurnEnd {
    let error = match halt {
        Halt::Stopped => return TurnEnd::Canceled,
        Halt::Fault(reason, detail) => return fault::failed(turn, &reason, &detail),
        Halt::Lost => return fault::lost(turn, LOST),
        Halt::Client(error) => *error,
    };
    if !has_begun && let Some(refused) = refusal(&error, secret) {
        return TurnEnd::Refused(refused);
    }
    fault::failed(turn, &reason(&error, secret), &error.message)
}

/// Errors that are about what the caller has sent, or when.
fn refusal(error: &ClientError, secret: &[&str]) -> Option<A2aError> {
    if error.kind == ClientErrorKind::Busy {
        let text = "The agent behind the gateway takes no messages now; try again later.";
        let mut refused = A2aError::new(ErrorKind::Unavailable, text);
        let seconds = error.retry_after.map(|after| after.as_secs());
        refused.retry_after = seconds.and_then(|seconds| seconds.try_into().ok());
        return Some(refused);
    }
    let named = error.as_protocol()?;
    let concerns_caller = matches!(
        named.kind,
        ErrorKind::UnsupportedOperation
            | ErrorKind::ContentTypeNotSupported
            | ErrorKind::InvalidAgentResponse
            | ErrorKind::ExtensionSupportRequired
            | ErrorKind::InvalidParams
    );
    concerns_caller.then(|| A2aError::new(named.kind, hidden(&error.message, secret)))
}

/// What the caller is told of a failure: the cause, but no address.
fn reason(error: &ClientError, secret: &[&str]) -> String {
    match &error.kind {
        ClientErrorKind::Unreachable(_) => {
            "the agent behind the gateway cannot be reached".to_owned()
        }
        ClientErrorKind::ConnectionLost | ClientErrorKind::TimedOut => {
            "the connection to the agent behind the gateway was lost".to_owned()
        }
        ClientErrorKind::CredentialsMissing | ClientErrorKind::AuthFailed => {
            "the agent behind the gateway does not accept the gateway's credential".to_owned()
        }
        ClientErrorKind::Busy => "the agent behind the gateway is too busy".to_owned(),
        ClientErrorKind::Protocol(_) => {
            let said = hidden(&error.message, secret);
            format!("the agent behind the gateway ended with an error: {said}")
        }
        ClientErrorKind::InvalidAnswer => {
            "the agent behind the gateway gave an answer that cannot be read".to_owned()
        }
        _ => "the agent behind the gateway cannot be called".to_owned(),
    }
}

/// A text of the agent without ids of its own.
fn hidden(text: &str, secret: &[&str]) -> String {
    let mut text = plain(text);
    for id in secret.iter().filter(|id| !id.is_empty()) {
        text = text.replace(id, "…");
    }
    text
}
