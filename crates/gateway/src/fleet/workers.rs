//! Workers: an agent started for one piece of work, with a session and a directory of its own, which
//! go when the work is done.
//!
//! Asked for by the metadata that the fleet plugin sends (`worker_at`, `hermes.route`); otherwise an
//! ordinary task: followed, answered and cancelled like any other.

use nuncio_wire::operation::SendMessageRequest;
use nuncio_wire::{A2aError, ErrorKind, Metadata};
use serde::Deserialize;

use crate::config::WorkersConfig;
use crate::security::Caller;

/// What marks a task as a worker's.
const ROUTE: &str = "worker";

/// Who asks for a worker, as far as it matters to what the task says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Here, by the operator's hand.
    Local,
    /// On the gateway of somebody else.
    Remote,
}

/// The metadata of a request or a message, as far as workers need it.
#[derive(Default, Deserialize)]
struct Asked {
    #[serde(default)]
    worker_at: Option<String>,
    #[serde(default)]
    hermes: Option<Hermes>,
}

#[derive(Deserialize)]
struct Hermes {
    #[serde(default)]
    route: Option<String>,
    #[serde(default)]
    execution: Option<String>,
}

/// What the metadata of a task says if the task is a worker's.
///
/// # Errors
/// PermissionDenied for callers who may not have work done by this agent that way, InvalidParams for
/// work that is to go on in a conversation.
pub fn admit(
    agent: &str,
    caller: &Caller,
    request: &SendMessageRequest,
    config: &WorkersConfig,
) -> Result<Option<Metadata>, A2aError> {
    let in_message = request.message.metadata.as_ref().and_then(asked_for);
    let Some(form) = in_message.or_else(|| request.metadata.as_ref().and_then(asked_for)) else {
        return Ok(None);
    };
    // A message to a task that is there says nothing new about it.
    if request.message.task_id.is_some() {
        return Ok(None);
    }
    let may_call = config.callers.iter().any(|it| **it == *caller.owner);
    let may_run = config.agents.iter().any(|it| it == agent);
    let may = caller.is_operator() || (may_call && may_run);
    if !may {
        let text = format!(
            "You may not run workers of agent '{agent}' here. Its operator can allow it ([workers] agents and callers); without worker metadata the message is an ordinary one."
        );
        return Err(A2aError::new(ErrorKind::PermissionDenied, text));
    }
    if request.message.context_id.is_some() {
        let text = "is not for a worker, which begins a conversation of its own; leave it out";
        return Err(A2aError::invalid_field("message.contextId", text));
    }
    Ok(Some(metadata_of(form)))
}

/// The refusal of an ordinary message to an agent that takes only work for a worker.
#[must_use]
pub fn ordinary(agent: &str) -> A2aError {
    let text = format!(
        "Agent '{agent}' takes only work for a worker: send the metadata that asks for one, as `nuncio worker run --remote` does."
    );
    A2aError::new(ErrorKind::UnsupportedOperation, text)
}

/// The metadata of a message that asks for a worker here.
#[must_use]
pub fn local_metadata() -> Metadata {
    metadata_of(Form::Local)
}

/// Whether the task with this metadata is a worker's.
#[must_use]
pub fn is_worker(metadata: Option<&Metadata>) -> bool {
    metadata.is_some_and(|metadata| asked_for(metadata).is_some())
}

fn asked_for(metadata: &Metadata) -> Option<Form> {
    let asked: Asked = metadata.read().ok()?;
    let hermes = asked.hermes.as_ref();
    let is = |value: Option<&String>, word: &str| value.is_some_and(|it| it == word);
    let execution = hermes.and_then(|it| it.execution.as_ref());
    let is_worker = is(hermes.and_then(|it| it.route.as_ref()), ROUTE);
    if is(asked.worker_at.as_ref(), "target") || is(execution, "remote_subprocess") {
        Some(Form::Remote)
    } else {
        is_worker.then_some(Form::Local)
    }
}

fn metadata_of(form: Form) -> Metadata {
    let (execution, isolation) = match form {
        Form::Local => ("local_subprocess", "local_profile"),
        Form::Remote => ("remote_subprocess", "target_profile"),
    };
    let json = format!(
        r#"{{"hermes":{{"version":"1","route":"{ROUTE}","execution":"{execution}","isolation":"{isolation}"}}}}"#
    );
    Metadata::parse(json).expect("an object of words")
}

#[cfg(test)]
mod tests {
    use super::*;
    use nuncio_wire::{Message, Role};

    fn request(metadata: &str) -> SendMessageRequest {
        let mut request = SendMessageRequest::new(Message::new("m", Role::User, vec![]));
        request.metadata = Some(Metadata::parse(metadata).unwrap());
        request
    }

    fn config() -> WorkersConfig {
        WorkersConfig {
            agents: vec!["a".to_owned()],
            callers: vec!["peer:bob".to_owned()],
            ..WorkersConfig::default()
        }
    }

    #[test]
    fn workers_are_run_for_those_who_may_and_by_agents_that_may() {
        let asked = request(r#"{"worker_at":"target"}"#);
        let run = |agent: &str, caller: &Caller| admit(agent, caller, &asked, &config());
        let metadata = run("a", &Caller::peer("bob")).unwrap().unwrap();
        assert!(is_worker(Some(&metadata)));
        assert!(metadata.get().contains("target_profile"));
        assert!(run("b", &Caller::operator()).unwrap().is_some());
        for (agent, caller) in [("b", "bob"), ("a", "carol")] {
            let refused = run(agent, &Caller::peer(caller)).unwrap_err();
            assert_eq!(refused.kind, ErrorKind::PermissionDenied);
        }
        for ordinary in [
            "{}",
            r#"{"hermes":{"route":"protocol"}}"#,
            r#"{"hermes":7}"#,
        ] {
            let asked = request(ordinary);
            assert!(
                admit("b", &Caller::peer("x"), &asked, &config())
                    .unwrap()
                    .is_none()
            );
        }
    }

    #[test]
    fn a_worker_begins_a_conversation_of_its_own() {
        let mut asked = request(r#"{"hermes":{"route":"worker"}}"#);
        asked.message.context_id = Some("c".to_owned());
        let refused = admit("a", &Caller::operator(), &asked, &config()).unwrap_err();
        assert_eq!(refused.kind, ErrorKind::InvalidParams);
    }
}
