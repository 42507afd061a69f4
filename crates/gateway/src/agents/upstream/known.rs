//! Which of another agent's ids belong to which of ours, kept with the conversation.
//!
//! Only the conversation's turn writes it, and one turn runs at a time.

use nuncio_store::StoreError;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::bell::Hook;
use crate::agents::Turn;
use crate::sessions::Session;

/// Tasks of one conversation that are remembered: a task that was asked about is kept before others.
const MAX_TASKS: usize = 64;
/// Bytes of a hash that make a message id: no two messages share 128 bits.
const ID_BYTES: usize = 16;

/// What is known of a conversation there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Known {
    /// The context there, once it was told.
    context: Option<String>,
    tasks: Vec<KnownTask>,
    /// Where the news of the last turn are posted to, if anywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) hook: Option<Hook>,
}

/// One task here and there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KnownTask {
    /// Its id here.
    pub(super) ours: String,
    /// Its id there.
    pub(super) theirs: String,
    /// How many messages of it have arrived there.
    messages: u32,
    /// The id of the last of them there.
    last_message: String,
    /// Whether it waits for its caller.
    waits: bool,
}

impl Known {
    /// What is kept with the session; nothing if another backend has kept something else there.
    pub(super) async fn of(session: &Session) -> Result<Self, StoreError> {
        let kept = session.name().await?;
        let known = kept.and_then(|kept| serde_json::from_str(&kept).ok());
        Ok(known.unwrap_or_default())
    }

    /// Keeps it with the session.
    pub(super) async fn keep(&self, session: &Session) -> Result<(), StoreError> {
        let kept = serde_json::to_string(self).expect("texts and numbers have a JSON form");
        session.keep(&kept).await
    }

    pub(super) fn context(&self) -> Option<&str> {
        self.context.as_deref()
    }

    /// The task with this id of ours.
    pub(super) fn task(&self, ours: &str) -> Option<&KnownTask> {
        self.tasks.iter().find(|task| task.ours == ours)
    }

    /// Our id of a task there.
    pub(super) fn ours(&self, theirs: &str) -> Option<&str> {
        let task = self.tasks.iter().find(|task| task.theirs == theirs);
        task.map(|task| task.ours.as_str())
    }

    /// The id under which the turn's message goes there. The same after a restart, so that a repeat can
    /// be recognised, and another one for each message of a task, whatever ids its caller chose.
    pub(super) fn message_id(&self, turn: &Turn) -> String {
        let arrived = self.task(&turn.task_id).map_or(0, |task| task.messages);
        message_id(turn, arrived)
    }

    /// Whether the turn's message has arrived there before the turn was cut off.
    pub(super) fn has_arrived(&self, turn: &Turn) -> bool {
        self.task(&turn.task_id).is_some_and(|task| {
            let before = task.messages.saturating_sub(1);
            task.last_message == message_id(turn, before)
        })
    }

    /// Notes where the turn's message has arrived.
    pub(super) fn arrived(&mut self, turn: &Turn, theirs: &str, context: &str) {
        if !context.is_empty() {
            self.context = Some(context.to_owned());
        }
        let last_message = self.message_id(turn);
        let place = self.tasks.iter().position(|it| *it.ours == *turn.task_id);
        let messages = place.map_or(0, |place| self.tasks.remove(place).messages) + 1;
        if self.tasks.len() >= MAX_TASKS {
            let oldest = self.tasks.iter().position(|task| !task.waits);
            self.tasks.remove(oldest.unwrap_or(0));
        }
        self.tasks.push(KnownTask {
            ours: turn.task_id.to_string(),
            theirs: theirs.to_owned(),
            messages,
            last_message,
            waits: false,
        });
    }

    /// Notes the context of an answer without a task; false: it was known.
    pub(super) fn answered_in(&mut self, context: Option<&str>) -> bool {
        let is_news = context.is_some() && self.context.as_deref() != context;
        if is_news {
            self.context = context.map(str::to_owned);
        }
        is_news
    }

    /// Notes that the task waits for its caller.
    pub(super) fn waits(&mut self, ours: &str) {
        if let Some(task) = self.tasks.iter_mut().find(|task| task.ours == ours) {
            task.waits = true;
        }
    }
}

fn message_id(turn: &Turn, arrived: u32) -> String {
    let message = &turn.message;
    let said = (&message.message_id, &message.parts, &message.metadata);
    let mut hash = Sha256::new();
    hash.update(turn.task_id.as_bytes());
    hash.update(arrived.to_be_bytes());
    hash.update(serde_json::to_vec(&said).expect("a message has a JSON form"));
    let mut id = String::with_capacity(2 * ID_BYTES);
    for byte in &hash.finalize()[..ID_BYTES] {
        use std::fmt::Write as _;
        write!(id, "{byte:02x}").expect("writing to a String cannot fail");
    }
    id
}
