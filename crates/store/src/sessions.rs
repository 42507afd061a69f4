//! Which session of its backend a conversation goes on in.

use sha2::{Digest, Sha256};
use std::sync::Arc;

/// A conversation: what one caller and one agent say to each other in one context. Two callers who
/// name the same context are in two conversations.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Conversation {
    /// The agent.
    pub agent: Arc<str>,
    /// The caller, as owners are written.
    pub owner: Arc<str>,
    /// The context's id.
    pub context_id: Arc<str>,
}

impl Conversation {
    /// SHA-256 of agent, owner and context: a name of one length for what strangers may make long.
    #[must_use]
    pub fn hash(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        for field in [&self.agent, &self.owner, &self.context_id] {
            // With its length before it, no field can reach into the next one.
            hash.update((field.len() as u64).to_be_bytes());
            hash.update(field.as_bytes());
        }
        hash.finalize().into()
    }
}

/// The session of a backend, as it was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptSession {
    /// What the backend calls it.
    pub name: String,
    /// When it was last kept, milliseconds since the epoch: retention goes by it.
    pub kept_millis: i64,
}
