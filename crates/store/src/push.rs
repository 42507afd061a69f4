//! Push configurations as stored: where a task's events go, and how far each place has them.
//!
//! There is no row per event and configuration: each configuration has one cursor over the task's
//! event log, and retention waits for the cursors. What is sent and when is the gateway's.

use bytes::Bytes;
use nuncio_wire::TaskState;
use nuncio_wire::dialects::Dialect;
use std::sync::Arc;

use crate::{GivenUp, StoreError};

/// Most configurations of one task.
pub const MAX_PUSH_CONFIGS_PER_TASK: usize = 32;
/// Most configurations of one owner that may still have something to send. One whose task has
/// ended and that has sent everything counts no longer, nor does one that was switched off.
pub const MAX_PUSH_CONFIGS_PER_OWNER: usize = 1000;

/// A configuration to be kept with a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPushConfig {
    /// Unique within the task.
    pub id: Arc<str>,
    /// Whether the caller chose the id: then it replaces the configuration that has it. Else a full
    /// repeat (dialect and `config`) gives back the first.
    pub id_is_callers: bool,
    /// The dialect it was registered in: the shape of what is sent.
    pub dialect: Dialect,
    /// What the gateway needs to send; the store does not look into it.
    pub config: Bytes,
}

/// A configuration as read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushConfig {
    /// The task.
    pub task: Arc<str>,
    /// Unique within the task.
    pub id: Arc<str>,
    /// The task's owner.
    pub owner: Arc<str>,
    /// The dialect it was registered in.
    pub dialect: Dialect,
    /// As it was given.
    pub config: Bytes,
    /// JSON of the status that the task was made with, for one that came with its task: what is
    /// sent of the creation stays the same, whenever it is sent.
    pub first_status: Option<Bytes>,
    /// Its place in the order of registration; a replacement keeps it.
    pub number: u64,
    /// Raised by each replacement: what was read before it no longer holds.
    pub revision: u64,
    /// How far it is.
    pub progress: PushProgress,
    /// The task's version when this was read.
    pub task_version: u64,
    /// The task's state when this was read.
    pub task_state: TaskState,
}

impl PushConfig {
    /// Whether there is an event that it has not had and shall have.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.progress.is_pending(self.task_version)
    }

    /// Whether it will never send anything more.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.progress.off || (self.task_state.is_terminal() && !self.is_pending())
    }
}

/// How far a configuration is, and how its last tries went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PushProgress {
    /// The version up to which the receiver has the task, or will never have it. 0: nothing yet,
    /// and the task's creation comes first.
    pub delivered: u64,
    /// Failed tries of what comes next.
    pub attempts: u32,
    /// When what comes next is tried again, milliseconds since the epoch; 0: at once.
    pub next_try_millis: i64,
    /// Since when every try has failed, milliseconds since the epoch.
    pub failing_since_millis: Option<i64>,
    /// It was switched off and gets nothing more.
    pub off: bool,
    /// The HTTP status that the last failed try was answered with; `None`: there was no answer.
    pub last_status: Option<u16>,
    /// What was given up, by version: at most [`MAX_GIVEN_UP`](crate::MAX_GIVEN_UP).
    pub given_up: Vec<GivenUp>,
}

impl PushProgress {
    pub(crate) fn is_pending(&self, task_version: u64) -> bool {
        !self.off && (self.delivered < task_version || self.is_replaying())
    }

    /// What a replacement starts with: nothing failed, and what was missed while it was off or given
    /// up stays missed.
    pub(crate) fn renewed(&self, task_version: u64) -> Self {
        Self {
            delivered: if self.off {
                task_version
            } else {
                self.delivered
            },
            ..Self::default()
        }
    }
}

/// A step of one configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushAdvance {
    /// The task.
    pub task: Arc<str>,
    /// The configuration.
    pub id: Arc<str>,
    /// The revision that was read; a later one is left alone.
    pub revision: u64,
    /// How far it is now.
    pub progress: PushProgress,
    /// Of a step of the operator: how far it was read to be. If it is there no longer, nothing is
    /// changed; else the revision rises, so that whoever served it before changes nothing more.
    pub instead_of: Option<Box<PushProgress>>,
}

/// Refuses one more where there are so many already.
pub(crate) fn check_counts(of_task: usize, of_owner: usize) -> Result<(), StoreError> {
    if of_task >= MAX_PUSH_CONFIGS_PER_TASK {
        return Err(StoreError::TooManyPushConfigs {
            max: MAX_PUSH_CONFIGS_PER_TASK,
            of: "task",
        });
    }
    if of_owner >= MAX_PUSH_CONFIGS_PER_OWNER {
        return Err(StoreError::TooManyPushConfigs {
            max: MAX_PUSH_CONFIGS_PER_OWNER,
            of: "caller",
        });
    }
    Ok(())
}
