//! What can go wrong in a store, and whether trying again helps.

use nuncio_wire::TaskState;

/// A store could not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Disk full, I/O error, database gone. Nothing was changed; the same call may succeed later.
    #[error("the store cannot be written or read now: {0}")]
    Unavailable(String),
    /// Every place is taken by unfinished tasks. Later, when some have ended, it may work.
    #[error("the store holds {max} unfinished tasks, which is all it may hold")]
    Full {
        /// The bound (`store.max_tasks`).
        max: usize,
    },
    /// The version or lease epoch moved on, or the task is in a final state.
    #[error("the task moved on to version {version} in {state}")]
    Stale {
        /// The version now.
        version: u64,
        /// The state now.
        state: TaskState,
    },
    /// There is no such task.
    #[error("there is no such task")]
    NotFound,
    /// The idempotency key was used before with another payload.
    #[error("the idempotency key was used with another payload")]
    RepeatConflict,
    /// The caller has a task under this id of its own already.
    #[error("the caller has a task under this id already")]
    AliasTaken,
    /// One more push configuration would be too many.
    #[error("there are {max} push configurations of this {of}, which is all there may be")]
    TooManyPushConfigs {
        /// The bound.
        max: usize,
        /// Of what: `task` or `caller`.
        of: &'static str,
    },
    /// The store could not be opened; the text says why and what to do.
    #[error("{0}")]
    Open(String),
    /// What is stored cannot be understood; needs an operator.
    #[error("the store is damaged: {0}")]
    Damaged(String),
}
