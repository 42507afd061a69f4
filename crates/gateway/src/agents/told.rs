//! What an agent tells in A2A's own terms: events of 1.0, one after the other, as a turn's events and end.
//!
//! The agent says what happens; whose task and context it is, is ours to say.

use nuncio_wire::limits::MAX_USER_JSON_DEPTH;
use nuncio_wire::{
    Artifact, Message, Metadata, Part, PartContent, Role, StreamResponse, Task, TaskState,
    TaskStatus,
};

use super::{Turn, TurnEnd, TurnEvent, TurnEvents};
use crate::ids;
use crate::tasks::Stopped;

/// Takes events and gives them to the engine in batches.
#[derive(Debug)]
pub(crate) struct Told<'a> {
    turn: &'a Turn,
    batch: Vec<TurnEvent>,
    /// Whether an artifact was among the events.
    pub(crate) gave_artifact: bool,
}

impl<'a> Told<'a> {
    pub(crate) fn new(turn: &'a Turn) -> Self {
        Self {
            turn,
            batch: Vec::new(),
            gave_artifact: false,
        }
    }

    /// Commits what was told since the last time.
    pub(crate) async fn emit(&mut self, events: &mut TurnEvents) -> Result<(), Stopped> {
        if self.batch.is_empty() {
            return Ok(());
        }
        events.emit_all(std::mem::take(&mut self.batch)).await
    }

    /// Keeps what was told back for the end of the turn.
    pub(crate) fn push(&mut self, events: &mut TurnEvents) {
        for event in self.batch.drain(..) {
            events.push(event);
        }
    }

    /// Takes one event; `Some` if it ends the turn. An error says what is wrong with it; then nothing of
    /// it was taken.
    pub(crate) fn take(&mut self, event: StreamResponse) -> Result<Option<TurnEnd>, String> {
        let before = self.batch.len();
        let taken = self.read(event);
        if taken.is_err() {
            self.batch.truncate(before);
        }
        taken
    }

    fn read(&mut self, event: StreamResponse) -> Result<Option<TurnEnd>, String> {
        match event {
            StreamResponse::ArtifactUpdate(update) => {
                let artifact = check_artifact(update.artifact)?;
                self.artifact(artifact, update.append, update.last_chunk, update.metadata);
                Ok(None)
            }
            StreamResponse::StatusUpdate(update) => self.status(update.status, update.metadata),
            StreamResponse::Message(message) => {
                let mut message = self.message(message)?;
                message.task_id = None;
                Ok(Some(TurnEnd::Answered(message)))
            }
            StreamResponse::Task(task) => self.task(task),
        }
    }

    fn task(&mut self, task: Task) -> Result<Option<TurnEnd>, String> {
        for artifact in task.artifacts.unwrap_or_default() {
            let artifact = check_artifact(artifact)?;
            self.artifact(artifact, false, true, None);
        }
        self.status(task.status, None)
    }

    fn artifact(
        &mut self,
        artifact: Artifact,
        append: bool,
        last_chunk: bool,
        metadata: Option<Metadata>,
    ) {
        self.gave_artifact = true;
        self.batch.push(TurnEvent::Artifact {
            artifact,
            append,
            last_chunk,
            metadata,
        });
    }

    fn status(
        &mut self,
        status: TaskStatus,
        metadata: Option<Metadata>,
    ) -> Result<Option<TurnEnd>, String> {
        let message = status
            .message
            .map(|message| self.message(message))
            .transpose()?;
        let or_say = |text: &str| {
            message
                .clone()
                .unwrap_or_else(|| self.turn.reply_text(text))
        };
        let end = match status.state {
            TaskState::Submitted | TaskState::Working => {
                if message.is_some() || metadata.is_some() || status.state == TaskState::Working {
                    self.batch.push(TurnEvent::Progress { message, metadata });
                }
                return Ok(None);
            }
            TaskState::Completed => TurnEnd::Completed(message),
            TaskState::InputRequired => {
                TurnEnd::InputRequired(or_say("The agent needs more input."))
            }
            TaskState::AuthRequired => {
                TurnEnd::AuthRequired(or_say("The agent needs an authorisation."))
            }
            TaskState::Rejected => TurnEnd::Rejected(or_say("The agent declined the task.")),
            TaskState::Failed => match message {
                Some(message) => TurnEnd::FailedWith(message),
                None => TurnEnd::Failed("the agent reported a failure without a reason".to_owned()),
            },
            TaskState::Canceled => TurnEnd::FailedWith(or_say(
                "The agent gave up the task although nobody cancelled it.",
            )),
            TaskState::Unspecified => return Err("has a status without a state".to_owned()),
        };
        Ok(Some(end))
    }

    /// The message as one of ours.
    fn message(&self, message: Message) -> Result<Message, String> {
        if message.parts.is_empty() {
            return Err("has a message without parts".to_owned());
        }
        check_parts(&message.parts)?;
        let id = without_nul(message.message_id);
        Ok(Message {
            message_id: if id.is_empty() { ids::new_id() } else { id },
            context_id: Some(self.turn.context_id.to_string()),
            task_id: Some(self.turn.task_id.to_string()),
            role: Role::Agent,
            ..message
        })
    }
}

/// U+0000 in names and ids becomes U+FFFD, as it does in every text of an agent.
fn without_nul(text: String) -> String {
    if text.contains('\0') {
        text.replace('\0', "\u{FFFD}")
    } else {
        text
    }
}

fn check_artifact(artifact: Artifact) -> Result<Artifact, String> {
    if artifact.artifact_id.is_empty() {
        return Err("has an artifact without artifactId".to_owned());
    }
    if artifact.parts.is_empty() {
        return Err("has an artifact without parts".to_owned());
    }
    check_parts(&artifact.parts)?;
    Ok(Artifact {
        artifact_id: without_nul(artifact.artifact_id),
        name: artifact.name.map(without_nul),
        description: artifact.description.map(without_nul),
        ..artifact
    })
}

fn check_parts(parts: &[Part]) -> Result<(), String> {
    for part in parts {
        match &part.content {
            PartContent::Url(url) if url.is_empty() => {
                return Err("has a part with an empty url".to_owned());
            }
            PartContent::Data(data) if data.depth() > MAX_USER_JSON_DEPTH => {
                return Err(format!(
                    "has data nested deeper than {MAX_USER_JSON_DEPTH} levels"
                ));
            }
            _ => {}
        }
    }
    Ok(())
}
