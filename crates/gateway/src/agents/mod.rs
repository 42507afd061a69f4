//! Who answers: one module per backend behind the [`Agent`] trait.
//!
//! A backend turns one message into events and one end. It never sees stores, sockets of callers or
//! other tasks, and it never changes a task's state: the engine (`tasks`) does, from what is
//! emitted here. To add a backend see CONTRIBUTING.

use async_trait::async_trait;
use nuncio_wire::dialects::Dialect;
use nuncio_wire::{A2aError, AgentSkill, Artifact, Message, Metadata, Part, Role};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

use crate::ids;
use crate::security::Hops;
use crate::sessions::Session;
pub use crate::tasks::TurnEvents;

pub mod acp;
mod callbacks;
pub mod command;
mod completions;
pub mod conformance;
mod conversation_dir;
pub mod echo;
mod fault;
mod file_name;
mod gate;
pub mod hermes;
mod mcp;
pub mod openai;
pub mod openfang;
mod output_limit;
mod own_words;
mod part_text;
mod place;
pub mod process;
mod prompt;
mod reply;
mod served;
mod told;
mod upstream;
mod webhook;

pub use callbacks::{Callback, Callbacks, Receipt};
pub(crate) use fault::WORKER_LOST;
pub use gate::{AgentGate, Gate};
pub use own_words::About;
pub(crate) use part_text::parts_text;
pub use reply::INPUT_REQUIRED_MARKER;
pub use served::{Agents, ServedAgent, TurnLimits, probe_all};

/// An agent behind the gateway.
#[async_trait]
pub trait Agent: Send + Sync + 'static {
    /// Whether a turn may end in [`TurnEnd::Answered`] or [`TurnEnd::Refused`] before it emits
    /// anything. The engine then waits a moment before it makes the task, so that such an answer
    /// leaves none behind.
    fn answers_directly(&self) -> bool {
        false
    }

    /// Whether turns need to know if the caller made up their context ([`Turn::context_is_callers`]);
    /// finding out costs a look into the store.
    fn asks_for_context_origin(&self) -> bool {
        false
    }

    /// Whether a turn that was cut off by a restart can be taken up again ([`Turn::is_resumed`]).
    /// When the gateway stops, such a turn is dropped and not told to stop: its work goes on.
    fn resumes(&self) -> bool {
        false
    }

    /// A turn of this task will be taken up again, once it is its turn: called at the start, before the
    /// first request.
    fn will_resume(&self, task_id: &str) {
        let _ = task_id;
    }

    /// What it says of itself, for the card: its skills, unless it says more.
    ///
    /// The error says why it cannot be asked, for the operator.
    async fn about(&self) -> Result<About, String> {
        Ok(About {
            skills: self.skills().await?.unwrap_or_default(),
            ..About::default()
        })
    }

    /// What it says itself that it can do; `None`: it says nothing of that. Errors are as those of
    /// [`Agent::about`].
    async fn skills(&self) -> Result<Option<Vec<AgentSkill>>, String> {
        Ok(None)
    }

    /// Whether it could answer, without asking it for an answer: what was found, or what is wrong
    /// and what to do, for the operator.
    async fn probe(&self) -> Result<String, String> {
        Ok("built in".to_owned())
    }

    /// A task that waits for its caller, or for a turn that is to be taken up again, was cancelled: what
    /// was kept for that turn may go.
    async fn abandon(&self, session: &Session, task_id: &str) {
        let _ = (session, task_id);
    }

    /// A conversation is over and nothing of it is needed any more: its directory and its session
    /// may go.
    async fn forget(&self, session: &Session) {
        let _ = session;
    }

    /// Ends what outlives a turn: the gateway stops.
    async fn stop(&self) {}

    /// Runs one turn to its end.
    ///
    /// When `turn.cancel` fires the work must really stop (process gone, request aborted) before
    /// this returns; what it returns then does not matter. Dropping the future must stop the work
    /// too. A panic ends the turn as failed.
    async fn run(&self, turn: Turn, events: &mut TurnEvents) -> TurnEnd;
}

/// One message to be answered.
#[derive(Clone, Debug)]
pub struct Turn {
    /// Name of the agent in the configuration.
    pub agent: Arc<str>,
    /// Who asks, as authenticated: `peer:NAME`, `ip:ADDR`, `operator`.
    pub owner: Arc<str>,
    /// The task the turn belongs to.
    pub task_id: Arc<str>,
    /// The conversation the task belongs to.
    pub context_id: Arc<str>,
    /// What is asked, as it came; `context_id` and `task_id` are filled in.
    pub message: Arc<Message>,
    /// The task's first message; the same as `message` in its first turn.
    pub opening: Arc<Message>,
    /// User JSON of the request.
    pub metadata: Option<Metadata>,
    /// The gateways that the message came through, as far as that is known: a turn that waits over a
    /// restart forgets them.
    pub hops: Hops,
    /// The dialect the caller speaks.
    pub dialect: Dialect,
    /// Media types the caller can take; empty: any.
    pub accepted_output_modes: Vec<String>,
    /// Whether the context is new to this gateway and was named by the caller. Only where the
    /// backend asks for it, else false.
    pub context_is_callers: bool,
    /// Whether it had begun before the gateway was restarted. Only where the backend resumes turns.
    pub is_resumed: bool,
    /// The session of its conversation.
    pub session: Session,
    /// Whether the conversation ends with the task: it gets a directory of its own, and a session
    /// that nobody comes back to.
    pub is_worker: bool,
    /// Fires when the turn must stop: cancelled, out of time, or shutting down.
    pub cancel: CancellationToken,
}

impl Turn {
    /// A message of the agent in this task, with ids filled in.
    #[must_use]
    pub fn reply(&self, parts: Vec<Part>) -> Message {
        let mut message = Message::new(ids::new_id(), Role::Agent, parts);
        message.context_id = Some(self.context_id.to_string());
        message.task_id = Some(self.task_id.to_string());
        message
    }

    /// A text message of the agent in this task.
    #[must_use]
    pub fn reply_text(&self, text: impl Into<String>) -> Message {
        self.reply(vec![Part::text(text)])
    }
}

/// What a turn produces on its way.
#[derive(Clone, Debug)]
pub enum TurnEvent {
    /// An artifact or a chunk of one.
    Artifact {
        /// The artifact or chunk; its id is unique within the task.
        artifact: Artifact,
        /// False starts or replaces the artifact with this id, true adds to it.
        append: bool,
        /// True on the last chunk.
        last_chunk: bool,
        /// User JSON about the event.
        metadata: Option<Metadata>,
    },
    /// Progress: the task stays WORKING, with this message.
    Progress {
        /// What is going on, if there is something to say.
        message: Option<Message>,
        /// User JSON about the event.
        metadata: Option<Metadata>,
    },
}

impl TurnEvent {
    /// A whole artifact in one event.
    #[must_use]
    pub fn artifact(artifact: Artifact) -> Self {
        Self::Artifact {
            artifact,
            append: false,
            last_chunk: true,
            metadata: None,
        }
    }
}

/// How a turn ended.
#[derive(Clone, Debug)]
pub enum TurnEnd {
    /// Done; results are in the artifacts, the message says what else is to be said.
    Completed(Option<Message>),
    /// The agent asks; the caller's next message to this task starts its next turn.
    InputRequired(Message),
    /// The agent needs an authorisation that is given out of band.
    AuthRequired(Message),
    /// The agent would not do it, for this reason.
    Rejected(Message),
    /// A fault. The text goes to the caller: short, without inner details.
    Failed(String),
    /// The agent itself reports a failed task with this message.
    FailedWith(Message),
    /// A direct answer without a task, if nothing was emitted and the task was not made yet; else
    /// the task completes with the message's parts as its artifact.
    Answered(Message),
    /// The request is refused by name, if nothing was emitted and the task was not made yet; else
    /// the task is rejected with the error's text.
    Refused(A2aError),
    /// Stopped because `turn.cancel` fired.
    Canceled,
}
