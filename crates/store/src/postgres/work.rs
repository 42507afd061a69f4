//! What the writer is asked to do, and how each piece is run and found again.
//!
//! A piece whose answer was lost with its connection may have been done or not:
//! [`Link::was_done`] tells, so that nothing is done twice.

use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_postgres::Error;

use super::link::Link;
use super::{events, push, retention, sessions, tasks};
use crate::{
    Append, Conversation, Created, Durability, NewPushConfig, NewTask, PushAdvance, PushConfig,
    StoreError,
};

/// A change to the rows.
#[derive(Clone)]
pub(super) enum Work {
    Create(Box<NewTask>),
    Append(Append),
    Retire {
        surplus: i64,
        days: u32,
    },
    Discard {
        id: String,
    },
    PutPush {
        task: String,
        config: NewPushConfig,
    },
    DeletePush {
        task: String,
        id: String,
    },
    AdvancePush(PushAdvance),
    KeepSession {
        of: Conversation,
        name: Option<String>,
    },
}

/// What became of it.
#[derive(Clone, Debug)]
pub(super) enum Outcome {
    Created(Created),
    Version(u64),
    Deleted(usize),
    /// There is nothing to say of it.
    Done,
    Push(Box<PushConfig>),
    /// Whether there was something to change.
    Changed(bool),
}

/// Work, and who waits for it.
pub(super) struct Job {
    pub(super) work: Work,
    pub(super) answer: oneshot::Sender<Result<Outcome, StoreError>>,
    pub(super) asked: Instant,
    /// It was sent, and its answer was lost.
    pub(super) in_doubt: bool,
}

impl Job {
    pub(super) fn answer(self, result: Result<Outcome, StoreError>) {
        // What nobody waits for any more is dropped.
        let _ = self.answer.send(result);
    }

    /// How many bytes of JSON it brings.
    pub(super) fn bytes(&self) -> usize {
        match &self.work {
            Work::Create(new) => new.message.len() + new.metadata.as_ref().map_or(0, |m| m.len()),
            Work::Append(append) => append.bytes(),
            Work::PutPush { config, .. } => config.config.len(),
            _ => 0,
        }
    }
}

impl Work {
    /// Whether it may be answered before a sync.
    pub(super) fn needs_no_sync(&self) -> bool {
        matches!(self, Self::Append(append) if append.durability == Durability::Committed)
    }

    /// Whether it may be answered before a sync, but is in no hurry to be.
    pub(super) fn needs_no_sync_of_its_own(&self) -> bool {
        self.needs_no_sync() || matches!(self, Self::AdvancePush(_))
    }

    /// The task that it changes.
    pub(super) fn task(&self) -> Option<&str> {
        match self {
            Self::Create(new) => Some(&new.id),
            Self::Append(append) => Some(&append.task),
            Self::Discard { id } => Some(id),
            Self::PutPush { task, .. } | Self::DeletePush { task, .. } => Some(task),
            Self::AdvancePush(step) => Some(&step.task),
            Self::Retire { .. } | Self::KeepSession { .. } => None,
        }
    }
}

impl Link {
    /// Does the work with one statement. The outer error undoes the transaction it runs in.
    pub(super) async fn run(&self, work: &Work) -> Result<Result<Outcome, StoreError>, Error> {
        match work {
            Work::Create(new) => Ok(tasks::create(self, new).await?.map(Outcome::Created)),
            Work::Append(append) => Ok(events::append(self, append).await?.map(Outcome::Version)),
            Work::Retire { surplus, days } => {
                let deleted = retention::retire(self, *surplus, *days).await?;
                Ok(Ok(Outcome::Deleted(deleted)))
            }
            Work::Discard { id } => {
                retention::discard(self, id).await?;
                Ok(Ok(Outcome::Done))
            }
            Work::PutPush { task, config } => {
                let put = push::put(self, task, config).await?;
                Ok(put.map(|config| Outcome::Push(Box::new(config))))
            }
            Work::DeletePush { task, id } => {
                let deleted = push::delete(self, task, id).await?;
                Ok(Ok(Outcome::Changed(deleted)))
            }
            Work::AdvancePush(step) => {
                let moved = push::advance(self, step).await?;
                Ok(Ok(Outcome::Changed(moved)))
            }
            Work::KeepSession { of, name } => {
                sessions::keep(self, of, name.as_deref()).await?;
                Ok(Ok(Outcome::Done))
            }
        }
    }

    /// What became of work whose answer was lost; `None`: nothing, or nothing that running it
    /// again would change.
    pub(super) async fn was_done(&self, work: &Work) -> Result<Option<Outcome>, Error> {
        match work {
            Work::Create(new) => Ok(tasks::is_there(self, &new.id)
                .await?
                .then_some(Outcome::Created(Created::New))),
            Work::Append(append) => Ok(events::was_appended(self, append)
                .await?
                .map(Outcome::Version)),
            // What is not there any more was deleted, as far as its caller can tell.
            Work::DeletePush { task, id } => {
                Ok((!push::is_there(self, task, id).await?).then_some(Outcome::Changed(true)))
            }
            Work::Retire { .. }
            | Work::Discard { .. }
            | Work::PutPush { .. }
            | Work::AdvancePush(_)
            | Work::KeepSession { .. } => Ok(None),
        }
    }
}

impl Outcome {
    /// Each work has one kind of outcome, so this is never seen.
    pub(super) fn unexpected(self) -> StoreError {
        StoreError::Damaged(format!("{self:?} is no answer to this"))
    }
}
