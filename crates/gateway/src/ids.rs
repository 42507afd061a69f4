//! Ids that the gateway makes: tasks, contexts, messages.

/// A new id: UUID version 7, so that ids made later sort later and index pages stay warm.
#[must_use]
pub fn new_id() -> String {
    uuid::Uuid::now_v7().to_string()
}
