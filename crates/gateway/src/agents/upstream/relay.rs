//! The events of one turn there, passed on as they come; what was missed is made good from the task
//! itself. How the events are got is `follow`'s business.

use indexmap::IndexMap;
use nuncio_client::{Client, ClientError, ClientErrorKind};
use nuncio_store::StoreError;
use nuncio_wire::{
    Artifact, Message, Metadata, Part, Role, StreamResponse, Task, TaskArtifactUpdateEvent,
    TaskState, TaskStatus,
};
use tokio_util::sync::CancellationToken;

use super::bell::{Bell, Doorbell};
use super::follow::{CANCEL_LIMIT, cancel_there, within};
use super::growth::{growth, joined};
use super::known::Known;
use super::letter;
use crate::agents::output_limit::weight;
use crate::agents::{Turn, TurnEnd, TurnEvent, TurnEvents};
use crate::config::UpstreamConfig;
use crate::tasks::Stopped;

/// Why a turn has no end of the agent's.
#[derive(Debug)]
pub(super) enum Halt {
    /// The turn is over here.
    Stopped,
    /// The agent refused, or cannot be called.
    Client(Box<ClientError>),
    /// Something is wrong: in words for the caller, and more for the log.
    Fault(String, String),
    /// The agent does not know the task.
    Lost,
}

impl Halt {
    /// Whether the agent may go on with work that the turn gives up.
    pub(super) fn leaves_work(&self) -> bool {
        match self {
            Self::Stopped | Self::Fault(..) => true,
            Self::Client(error) => matches!(
                error.kind,
                ClientErrorKind::InvalidAnswer | ClientErrorKind::Protocol(_)
            ),
            Self::Lost => false,
        }
    }
}

impl From<Stopped> for Halt {
    fn from(_: Stopped) -> Self {
        Self::Stopped
    }
}

impl From<ClientError> for Halt {
    fn from(error: ClientError) -> Self {
        Self::Client(Box::new(error))
    }
}

impl From<StoreError> for Halt {
    fn from(error: StoreError) -> Self {
        let reason = "what is known of the conversation could not be read or kept";
        Self::Fault(reason.to_owned(), error.to_string())
    }
}

/// A turn on its way.
pub(super) struct Relay<'a> {
    pub(super) turn: &'a Turn,
    pub(super) events: &'a mut TurnEvents,
    pub(super) client: Client,
    pub(super) config: &'a UpstreamConfig,
    pub(super) known: Known,
    /// The task there, once it is known.
    pub(super) task: Option<String>,
    /// Fires when it is.
    pub(super) learned: CancellationToken,
    /// Whether the message has arrived there.
    pub(super) has_begun: bool,
    /// What was handed over, whole, with texts that follow each other made one.
    artifacts: IndexMap<String, Artifact>,
    /// Bytes of it, chunk by chunk.
    bytes: usize,
    /// The last message of a status that was handed over.
    last_said: Option<String>,
    /// Whether events may have been missed.
    pub(super) has_gap: bool,
    /// Events that came.
    pub(super) count: u64,
    /// Where the agent may post news.
    pub(super) bell: Bell<'a>,
}

impl<'a> Relay<'a> {
    pub(super) async fn new(
        turn: &'a Turn,
        events: &'a mut TurnEvents,
        client: Client,
        config: &'a UpstreamConfig,
        doorbell: Option<&'a Doorbell>,
        learned: CancellationToken,
    ) -> Result<Self, Halt> {
        let known = Known::of(&turn.session).await?;
        let task = known.task(&turn.task_id).map(|task| task.theirs.clone());
        Ok(Self {
            turn,
            events,
            client,
            config,
            known,
            task,
            learned,
            has_begun: false,
            artifacts: IndexMap::new(),
            bytes: 0,
            last_said: None,
            has_gap: false,
            count: 0,
            bell: Bell::silent(doorbell),
        })
    }

    /// Whether the agent has the message.
    pub(super) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// How the turn ends without an end of the agent's.
    pub(super) fn end_of(&self, halt: Halt) -> TurnEnd {
        let ids = [self.task.as_deref(), self.known.context()];
        let ids: Vec<&str> = ids.into_iter().flatten().collect();
        letter::end_of(self.turn, halt, self.has_begun, &ids)
    }

    /// Ends the task there, if it is known.
    pub(super) async fn cancel(&self) {
        let Some(theirs) = &self.task else {
            return;
        };
        let canceled = within(CANCEL_LIMIT, cancel_there(&self.client, theirs)).await;
        if let Err(error) = canceled {
            let task = &*self.turn.task_id;
            tracing::warn!(error, task, "a canceled task may go on there");
        }
    }

    /// The message has arrived there.
    pub(super) fn begin(&mut self) {
        self.has_begun = true;
        if self.task.is_some() {
            self.learned.cancel();
        }
    }

    /// Notes the ids of an event before anything of it is shown; false: it is of another task.
    async fn learn(&mut self, task: &str, context: &str) -> Result<bool, Halt> {
        self.count += 1;
        if self.has_begun {
            let is_ours = task.is_empty() || self.task.as_deref() == Some(task);
            return Ok(is_ours);
        }
        if task.is_empty() {
            return Err(no_answer("a task without an id"));
        }
        self.known.arrived(self.turn, task, context);
        self.known.keep(&self.turn.session).await?;
        self.task = Some(task.to_owned());
        self.begin();
        Ok(true)
    }

    /// Passes one event on. `Some`: it ended the turn.
    pub(super) async fn take(&mut self, event: StreamResponse) -> Result<Option<TurnEnd>, Halt> {
        match event {
            StreamResponse::Message(message) => self.take_message(message).await,
            StreamResponse::Task(task) => {
                if !self.learn(&task.id, &task.context_id).await? {
                    return Ok(None);
                }
                let is_over = task.status.state.is_terminal();
                let artifacts = task.artifacts.unwrap_or_default();
                self.catch_up(artifacts, is_over).await?;
                self.take_status(task.status, None).await
            }
            StreamResponse::StatusUpdate(update) => {
                if !self.learn(&update.task_id, &update.context_id).await? {
                    return Ok(None);
                }
                self.take_status(update.status, update.metadata).await
            }
            StreamResponse::ArtifactUpdate(update) => {
                if self.learn(&update.task_id, &update.context_id).await? {
                    self.take_artifact(update).await?;
                }
                Ok(None)
            }
        }
    }

    /// Passes on what has come to a task that was asked for: it tells all there is. `Some`: it ended the
    /// turn.
    pub(super) async fn take_whole(&mut self, task: Task) -> Result<Option<TurnEnd>, Halt> {
        if !self.learn(&task.id, &task.context_id).await? {
            return Ok(None);
        }
        let status = self.see_whole(task).await?;
        if status.state.is_terminal() {
            return self.end(status).await.map(Some);
        }
        self.take_status(status, None).await
    }

    async fn take_message(&mut self, message: Message) -> Result<Option<TurnEnd>, Halt> {
        self.count += 1;
        if self.has_begun {
            self.say(message, None).await?;
            return Ok(None);
        }
        if self.known.answered_in(message.context_id.as_deref()) {
            self.known.keep(&self.turn.session).await?;
        }
        self.has_begun = true;
        let mut told = letter::told(self.turn, &self.known, message);
        told.task_id = None;
        Ok(Some(TurnEnd::Answered(told)))
    }

    async fn take_artifact(&mut self, update: TaskArtifactUpdateEvent) -> Result<(), Halt> {
        let (artifact, last_chunk) = (update.artifact, update.last_chunk);
        if artifact.parts.is_empty() {
            return Ok(());
        }
        self.weigh(&artifact.parts)?;
        // What begins in the middle begins here.
        let known = self.artifacts.get_mut(&artifact.artifact_id);
        let append = update.append && known.is_some();
        match known {
            Some(known) if append => known.append(artifact.clone()),
            _ => {
                let id = artifact.artifact_id.clone();
                self.artifacts.insert(id, joined(&artifact));
            }
        }
        let event = TurnEvent::Artifact {
            artifact,
            append,
            last_chunk,
            metadata: update.metadata,
        };
        Ok(self.events.emit(event).await?)
    }

    /// Hands over what a whole task has and its events did not tell: of an artifact that has grown, what
    /// is new. `is_over`: nothing more will come to it.
    async fn catch_up(&mut self, artifacts: Vec<Artifact>, is_over: bool) -> Result<(), Halt> {
        let mut news = Vec::new();
        for artifact in artifacts {
            let now = joined(&artifact);
            let known = self.artifacts.get(&now.artifact_id);
            if known == Some(&now) || now.parts.is_empty() {
                continue;
            }
            let growth = known.and_then(|known| growth(known, &now));
            let append = growth.is_some();
            let artifact = growth.unwrap_or(artifact);
            self.weigh(&artifact.parts)?;
            self.artifacts.insert(now.artifact_id.clone(), now);
            news.push(TurnEvent::Artifact {
                artifact,
                append,
                last_chunk: is_over,
                metadata: None,
            });
        }
        if news.is_empty() {
            return Ok(());
        }
        Ok(self.events.emit_all(news).await?)
    }

    /// Counts what is said against the limit.
    fn weigh(&mut self, parts: &[Part]) -> Result<(), Halt> {
        self.bytes = self.bytes.saturating_add(weight(parts));
        if self.bytes <= self.config.max_output_bytes {
            return Ok(());
        }
        let limit = self.config.max_output_bytes;
        let reason = format!("the agent said more than {limit} bytes");
        Err(Halt::Fault(reason, String::new()))
    }

    async fn take_status(
        &mut self,
        status: TaskStatus,
        metadata: Option<Metadata>,
    ) -> Result<Option<TurnEnd>, Halt> {
        if status.state.is_terminal() || status.state.is_interrupted() {
            return self.conclude(status).await.map(Some);
        }
        if let Some(message) = status.message {
            self.say(message, metadata).await?;
        }
        Ok(None)
    }

    /// Passes on what is said on the way, once.
    async fn say(&mut self, message: Message, metadata: Option<Metadata>) -> Result<(), Halt> {
        if self.last_said.as_ref() == Some(&message.message_id) {
            return Ok(());
        }
        self.weigh(&message.parts)?;
        self.last_said = Some(message.message_id.clone());
        let message = Some(letter::told(self.turn, &self.known, message));
        let event = TurnEvent::Progress { message, metadata };
        Ok(self.events.emit(event).await?)
    }

    /// The end that the agent's state is, after what its events did not tell was looked for.
    async fn conclude(&mut self, mut status: TaskStatus) -> Result<TurnEnd, Halt> {
        let is_mute = status.state == TaskState::Completed
            && status.message.is_none()
            && self.artifacts.is_empty();
        if is_mute || (self.has_gap && status.state.is_terminal()) {
            match self.ask().await {
                Ok(task) => {
                    let seen = self.see_whole(task).await?;
                    status.message = status.message.or(seen.message);
                }
                Err(halt) => tracing::debug!(?halt, "the task cannot be seen whole"),
            }
        }
        self.end(status).await
    }

    /// Hands over the results of a task that was asked for; its status. The answer of some agents stands
    /// at the end of the history.
    async fn see_whole(&mut self, task: Task) -> Result<TaskStatus, Halt> {
        self.has_gap = false;
        let mut status = task.status;
        let is_over = status.state.is_terminal();
        self.catch_up(task.artifacts.unwrap_or_default(), is_over)
            .await?;
        if is_over && status.message.is_none() && self.artifacts.is_empty() {
            let last = task.history.into_iter().next_back();
            status.message = last.filter(|last| last.role == Role::Agent);
        }
        Ok(status)
    }

    async fn end(&mut self, status: TaskStatus) -> Result<TurnEnd, Halt> {
        let TaskStatus { state, message, .. } = status;
        if state.is_interrupted() {
            self.known.waits(&self.turn.task_id);
            self.known.keep(&self.turn.session).await?;
        }
        let (turn, known) = (self.turn, &self.known);
        let told = message.map(|message| letter::told(turn, known, message));
        let or = |text: &str| told.clone().unwrap_or_else(|| turn.reply_text(text));
        Ok(match state {
            TaskState::Completed => TurnEnd::Completed(told),
            TaskState::Canceled => TurnEnd::Canceled,
            TaskState::Rejected => TurnEnd::Rejected(or("The agent would not do this.")),
            TaskState::InputRequired => TurnEnd::InputRequired(or("The agent needs more input.")),
            TaskState::AuthRequired => {
                TurnEnd::AuthRequired(or("The agent needs an authorisation."))
            }
            _ => TurnEnd::FailedWith(or("The agent failed and gave no reason.")),
        })
    }
}

/// The agent gave what is no answer.
pub(super) fn no_answer(what: &str) -> Halt {
    let text = format!("the agent gave {what}");
    ClientError::new(ClientErrorKind::InvalidAnswer, text).into()
}
