//! A turn that failed: a short reason for the caller, the rest for the operator's log, an id that joins
//! the two.

use nuncio_wire::Metadata;

use super::{Turn, TurnEnd};
use crate::ids;

/// The reason of a task whose work is gone and will not be taken up again.
pub(crate) const WORKER_LOST: &str = "worker_lost";
/// Characters of an error id: enough to find one line in a log.
const ERROR_ID_CHARS: usize = 12;

/// Ends the turn for this reason. `detail` may name paths and inner addresses.
pub(crate) fn failed(turn: &Turn, reason: &str, detail: &str) -> TurnEnd {
    let id = error_id();
    tracing::warn!(agent = %turn.agent, task = %turn.task_id, error_id = %id, %reason, detail,
        "agent failed");
    told(reason, &id)
}

/// Ends the turn whose work went with what did it, in a text for the caller: programs find the reason
/// [`WORKER_LOST`] in the message's metadata.
pub(crate) fn lost(turn: &Turn, text: &str) -> TurnEnd {
    tracing::warn!(agent = %turn.agent, task = %turn.task_id, text, "work of an agent is lost");
    let mut message = turn.reply_text(text);
    message.metadata = Metadata::parse(format!(r#"{{"reason":"{WORKER_LOST}"}}"#)).ok();
    TurnEnd::FailedWith(message)
}

/// What the caller is told.
pub(crate) fn told(reason: &str, id: &str) -> TurnEnd {
    TurnEnd::Failed(format!("{reason} (error id {id})"))
}

/// What joins a failed task with its lines in the log.
pub(crate) fn error_id() -> String {
    // The end of the id is its random part.
    ids::new_id()
        .chars()
        .rev()
        .filter(char::is_ascii_hexdigit)
        .take(ERROR_ID_CHARS)
        .collect()
}
