//! What was said in a conversation, read from its tasks.
//!
//! A task knows its messages and its statuses; which came when follows from the protocol: the first
//! message makes the task, each further one answers a status that waited for it.

use nuncio_store::{
    Conversation, Include, ListQuery, Store, StoreError, StoredEvent, TaskRecord, Visibility,
};
use nuncio_wire::{Message, Part, Role, StreamResponse, Task, TaskState, TaskStatus};
use std::collections::VecDeque;

use crate::agents::parts_text;
use crate::ids;

/// Tasks read at a time.
const PAGE_SIZE: u32 = 20;
/// Bytes that count as one token: what English text has on average.
const BYTES_PER_TOKEN: usize = 4;

/// How much of a conversation is read; the newest is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Most bytes of text.
    pub bytes: usize,
    /// Most utterances.
    pub utterances: usize,
}

impl Budget {
    /// So many tokens, and at most so many utterances, whatever their size.
    #[must_use]
    pub fn of_tokens(tokens: u32, utterances: usize) -> Self {
        Self {
            bytes: tokens as usize * BYTES_PER_TOKEN,
            utterances,
        }
    }

    /// Everything.
    pub const ALL: Self = Self {
        bytes: usize::MAX,
        utterances: usize::MAX,
    };
}

/// One thing that was said.
#[derive(Clone, Debug, PartialEq)]
pub struct Utterance {
    /// When, milliseconds since the epoch.
    pub millis: i64,
    /// By whom.
    pub role: Role,
    /// What.
    pub parts: Vec<Part>,
    /// The id of the message; empty for an answer that is made of artifacts.
    pub message_id: String,
    /// In which task.
    pub task_id: String,
    /// What the task became by it: how an answer is meant. WORKING for what the caller said.
    pub state: TaskState,
}

impl Utterance {
    /// Its text, with data as JSON and files by name.
    #[must_use]
    pub fn text(&self) -> String {
        parts_text(&self.parts)
    }
}

/// Reads a conversation, oldest first.
pub async fn read(
    store: &dyn Store,
    of: &Conversation,
    budget: Budget,
) -> Result<Vec<Utterance>, StoreError> {
    let mut said = VecDeque::new();
    let mut left = budget;
    let mut query = query(of);
    loop {
        let page = store.list_tasks(query.clone()).await?;
        for record in &page.tasks {
            let statuses = store.statuses(&record.id).await?;
            for utterance in of_task(record, &statuses)?.into_iter().rev() {
                let bytes = utterance.text().len();
                if left.utterances == 0 || left.bytes < bytes {
                    return Ok(in_order(said));
                }
                left.utterances -= 1;
                left.bytes -= bytes;
                said.push_front(utterance);
            }
        }
        match page.next {
            Some(next) => query.after = Some(next),
            None => return Ok(in_order(said)),
        }
    }
}

fn query(of: &Conversation) -> ListQuery {
    ListQuery {
        visibility: Visibility {
            agent: Some(of.agent.clone()),
            owner: Some(of.owner.clone()),
        },
        context_id: Some(of.context_id.to_string()),
        state: None,
        status_from_millis: None,
        page_size: PAGE_SIZE,
        after: None,
        include: Include::ALL,
    }
}

/// A task that waited for its caller may have begun before another one ended.
fn in_order(said: VecDeque<Utterance>) -> Vec<Utterance> {
    let mut said = Vec::from(said);
    said.sort_by_key(|utterance| utterance.millis);
    said
}

/// What was said in one task, oldest first.
fn of_task(record: &TaskRecord, statuses: &[StoredEvent]) -> Result<Vec<Utterance>, StoreError> {
    let task = record.to_task()?;
    let made = ids::millis_of(&task.id).unwrap_or(record.status_millis);
    let mut said = Vec::with_capacity(2 * task.history.len());
    let mut messages = task.history.iter().filter(|it| it.role == Role::User);
    said.extend(messages.next().map(|message| asked(&task, message, made)));
    let mut waits = false;
    for event in statuses {
        let status = read_status(event)?;
        let millis = status.timestamp.map_or(made, |it| it.as_millis());
        if waits && status.state == TaskState::Working {
            said.extend(messages.next().map(|message| asked(&task, message, millis)));
        }
        waits = status.state.is_interrupted();
        if waits || status.state.is_terminal() {
            said.extend(answered(&task, &status, millis));
        }
    }
    Ok(said)
}

fn asked(task: &Task, message: &Message, millis: i64) -> Utterance {
    Utterance {
        millis,
        role: Role::User,
        parts: message.parts.clone(),
        message_id: message.message_id.clone(),
        task_id: task.id.clone(),
        state: TaskState::Working,
    }
}

/// What the agent said when it entered a state: at the end with its artifacts.
fn answered(task: &Task, status: &TaskStatus, millis: i64) -> Option<Utterance> {
    let artifacts = task.artifacts.iter().flatten();
    let mut parts: Vec<Part> = match status.state.is_terminal() {
        true => artifacts.flat_map(|it| it.parts.iter().cloned()).collect(),
        false => Vec::new(),
    };
    let message = status.message.as_ref();
    parts.extend(message.into_iter().flat_map(|it| it.parts.iter().cloned()));
    Some(Utterance {
        millis,
        role: Role::Agent,
        parts,
        message_id: message.map(|it| it.message_id.clone()).unwrap_or_default(),
        task_id: task.id.clone(),
        state: status.state,
    })
    .filter(|it| !it.parts.is_empty() || it.state != TaskState::Completed)
}

fn read_status(event: &StoredEvent) -> Result<TaskStatus, StoreError> {
    let damaged = |text: String| StoreError::Damaged(text);
    match serde_json::from_slice(&event.payload).map_err(|error| damaged(error.to_string()))? {
        StreamResponse::StatusUpdate(update) => Ok(update.status),
        _ => Err(damaged("a status event tells of no status".to_owned())),
    }
}
