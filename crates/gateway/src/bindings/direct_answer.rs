//! A direct answer in the dialects that know only tasks.

use nuncio_wire::{Message, Task, TaskState, TaskStatus};

/// A completed task that says the message and is nowhere kept.
pub(super) fn as_task(message: Message) -> Task {
    Task {
        id: message.message_id.clone(),
        context_id: message.context_id.clone().unwrap_or_default(),
        status: TaskStatus {
            state: TaskState::Completed,
            message: Some(message),
            timestamp: None,
        },
        artifacts: None,
        history: Vec::new(),
        metadata: None,
    }
}
