//! `jsonl` mode, outward: each line of standard output is one event of A2A 1.0.
//!
//! The program says what happens; whose task and context it is, is ours to say.

use bytes::BytesMut;
use nuncio_wire::limits::MAX_USER_JSON_DEPTH;
use nuncio_wire::{
    Artifact, Message, Metadata, Part, PartContent, Role, StreamResponse, Task, TaskState,
    TaskStatus,
};

use super::Halt;
use super::output::Output;
use crate::agents::{Turn, TurnEnd, TurnEvent, TurnEvents};
use crate::ids;

/// Longest line, in bytes (16 MiB): the largest event there may be.
const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

/// Reads events from lines and gives them to the engine in batches.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    turn: &'a Turn,
    number: u64,
    batch: Vec<TurnEvent>,
    /// Whether an artifact was among the events.
    pub(super) gave_artifact: bool,
    /// What is wrong with a last line that has no line end.
    pub(super) cut_short: Option<String>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(turn: &'a Turn) -> Self {
        Self {
            turn,
            number: 0,
            batch: Vec::new(),
            gave_artifact: false,
            cut_short: None,
        }
    }

    /// Streams the events until the program says how the turn ends ([`Halt::Ended`]) or writes
    /// nothing more.
    pub(super) async fn stream(
        &mut self,
        output: &mut Output,
        events: &mut TurnEvents,
    ) -> Result<(), Halt> {
        let mut buffer = BytesMut::new();
        let mut searched = 0;
        while output.read(&mut buffer).await? {
            let end = loop {
                let Some(at) = memchr::memchr(b'\n', &buffer[searched..]) else {
                    searched = buffer.len();
                    break None;
                };
                let line = buffer.split_to(searched + at + 1);
                searched = 0;
                if let Some(end) = self.take(&line).transpose() {
                    break Some(end);
                }
            };
            self.flush(events).await?;
            if let Some(end) = end {
                return Err(self.halt(end));
            }
            if buffer.len() > MAX_LINE_BYTES {
                self.number += 1;
                return Err(self.halt(Err(format!("is longer than {MAX_LINE_BYTES} bytes"))));
            }
        }
        match self.take(&buffer).transpose() {
            Some(Ok(end)) => {
                self.flush(events).await?;
                Err(Halt::Ended(end))
            }
            // Half a line is what a crash leaves behind; the exit code then tells more.
            Some(Err(fault)) => {
                self.cut_short = Some(self.describe(&fault));
                Ok(())
            }
            None => self.flush(events).await,
        }
    }

    async fn flush(&mut self, events: &mut TurnEvents) -> Result<(), Halt> {
        if self.batch.is_empty() {
            return Ok(());
        }
        events
            .emit_all(std::mem::take(&mut self.batch))
            .await
            .map_err(|_| Halt::Stopped)
    }

    fn halt(&self, end: Result<TurnEnd, String>) -> Halt {
        match end {
            Ok(end) => Halt::Ended(end),
            Err(fault) => Halt::Fault(self.describe(&fault)),
        }
    }

    fn describe(&self, fault: &str) -> String {
        format!("line {} of the agent's output {fault}", self.number)
    }

    /// Takes one line; `Some` if it ends the turn. An error says what is wrong with it.
    fn take(&mut self, line: &[u8]) -> Result<Option<TurnEnd>, String> {
        self.number += u64::from(!line.is_empty());
        if line.trim_ascii().is_empty() {
            return Ok(None);
        }
        let event = serde_json::from_slice(line).map_err(|error| not_an_event(&error))?;
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

fn not_an_event(error: &serde_json::Error) -> String {
    let text = error.to_string();
    // Each line is read for itself, so the reader's own count of lines would mislead.
    let position = format!(" at line {} column {}", error.line(), error.column());
    let reason = text.strip_suffix(&position).unwrap_or(&text);
    format!("is not an A2A event: {reason} (column {})", error.column())
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
