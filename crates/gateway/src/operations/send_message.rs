//! SendMessage and SendStreamingMessage (specification 3.1.1, 3.1.2).

use nuncio_wire::operation::{SendMessageRequest, SendMessageResponse};
use nuncio_wire::{A2aError, ErrorKind, Message, Part, Response};
use std::sync::Arc;

use super::{Asked, Operations, Reply, history_length};
use crate::agents::ServedAgent;
use crate::config::Idempotency;
use crate::fleet::workers;
use crate::tasks::{Answer, Closes, Submission, Subscription};

impl Operations {
    pub(super) async fn send_message(
        &self,
        asked: Asked,
        request: SendMessageRequest,
    ) -> Result<Reply, A2aError> {
        let history = history_length(request.configuration.history_length);
        let at_once = request.configuration.return_immediately;
        let limit = asked.answer_within;
        let submission = self.admit(asked, request).await?;
        let answer = if at_once {
            self.engine.submit_and_return(submission).await?
        } else {
            self.engine.submit_and_wait(submission, limit).await?
        };
        Ok(Reply::Answer(Response::SendMessage(match answer {
            Answer::Task(live) => {
                let mut task = live.task();
                task.limit_history(history);
                SendMessageResponse::Task(task)
            }
            Answer::Message(message) => SendMessageResponse::Message(Message::clone(&message)),
        })))
    }

    pub(super) async fn send_streaming_message(
        &self,
        asked: Asked,
        request: SendMessageRequest,
    ) -> Result<Reply, A2aError> {
        require_streaming(&asked.agent)?;
        let dialect = asked.dialect;
        let submission = Submission {
            streams: true,
            ..self.admit(asked, request).await?
        };
        let (answer, snapshot) = self.engine.submit_and_watch(submission).await?;
        Ok(match answer {
            Answer::Task(live) => {
                let first = snapshot.unwrap_or_else(|| live.snapshot(None));
                let closes = Closes::WhenInputIsRequired;
                let stream = Subscription::starting_with(first, self.engine.clone(), live, closes);
                Reply::Stream(stream, dialect)
            }
            Answer::Message(message) => Reply::MessageStream(message),
        })
    }

    /// Checks what the agent declares before anything is made.
    async fn admit(
        &self,
        asked: Asked,
        mut request: SendMessageRequest,
    ) -> Result<Submission, A2aError> {
        let goes_on = request.message.task_id.is_some();
        asked.agent.admit_message(goes_on)?;
        let rules = &self.config.workers;
        let task_metadata = workers::admit(&asked.agent.name, &asked.caller, &request, rules)?;
        if task_metadata.is_none() && asked.agent.config.workers_only && !goes_on {
            return Err(workers::ordinary(&asked.agent.name));
        }
        let push_config = request.configuration.task_push_notification_config.take();
        let push_config = self.inline_push_config(&asked, push_config)?;
        for part in &request.message.parts {
            require_media_type(&asked.agent, part)?;
        }
        let visibility = asked.caller.visibility(&asked.agent.name);
        self.drop_foreign_references(&mut request.message, &visibility)
            .await?;
        request.idempotency_key = request.idempotency_key.or(asked.idempotency_key);
        if self.config.server.idempotency == Idempotency::MessageId
            && request.idempotency_key.is_none()
        {
            request.idempotency_key = Some(request.message.message_id.clone());
        }
        Ok(Submission {
            agent: asked.agent,
            owner: asked.caller.owner,
            visibility,
            request,
            hops: asked.hops,
            dialect: asked.dialect,
            alias: asked.alias,
            payload_hash: asked.payload_hash,
            task_metadata,
            push_config,
            streams: false,
        })
    }

    /// A reference to another caller's task is left out just as one to no task is.
    async fn drop_foreign_references(
        &self,
        message: &mut Message,
        visibility: &nuncio_store::Visibility,
    ) -> Result<(), A2aError> {
        if message.reference_task_ids.len() > MAX_REFERENCES {
            let text = format!("must not name more than {MAX_REFERENCES} tasks");
            return Err(A2aError::invalid_field("message.referenceTaskIds", text));
        }
        let mut known = Vec::new();
        for id in std::mem::take(&mut message.reference_task_ids) {
            match self.engine.read_task(&id, visibility).await {
                Ok(_) => known.push(id),
                Err(error) if error.kind == ErrorKind::TaskNotFound => {}
                Err(error) => return Err(error),
            }
        }
        message.reference_task_ids = known;
        Ok(())
    }
}

/// Most tasks one message may refer to: each is looked up.
const MAX_REFERENCES: usize = 16;

pub(super) fn require_streaming(agent: &Arc<ServedAgent>) -> Result<(), A2aError> {
    if agent.config.capabilities.streaming {
        return Ok(());
    }
    let text = "This agent does not stream (capabilities.streaming); use SendMessage and GetTask.";
    Err(A2aError::new(ErrorKind::UnsupportedOperation, text))
}

/// Text of any kind and parts without a type are always taken; other types only where the agent
/// declares them (specification 3.1.1).
fn require_media_type(agent: &Arc<ServedAgent>, part: &Part) -> Result<(), A2aError> {
    let Some(media_type) = &part.media_type else {
        return Ok(());
    };
    let essence = media_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    let declared = agent.config.input_modes();
    if essence.starts_with("text/") || declared.iter().any(|mode| covers(mode, &essence)) {
        return Ok(());
    }
    let text = format!(
        "This agent does not take parts of type '{essence}'; it takes {}.",
        declared.join(", ")
    );
    Err(A2aError::new(ErrorKind::ContentTypeNotSupported, text).with("mediaType", essence))
}

/// Whether a declared type, maybe with a wildcard, covers this one.
fn covers(mode: &str, essence: &str) -> bool {
    let mode = mode.to_ascii_lowercase();
    match mode.split_once('/') {
        Some(("*", "*")) => true,
        Some((class, "*")) => essence.split('/').next() == Some(class),
        _ => mode == essence,
    }
}

#[cfg(test)]
mod tests {
    use super::covers;

    #[test]
    fn declared_types_may_have_wildcards() {
        assert!(covers("*/*", "a/b") && covers("image/*", "image/png") && covers("A/b", "a/b"));
        assert!(!covers("image/*", "imagex/png") && !covers("a/b", "a/c"));
    }
}
