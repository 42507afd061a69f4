//! Conversations: which session of its backend one goes on in, and what was said in it.
//!
//! A conversation is kept by us, outside any agent's own memory: it outlives the agent's compaction,
//! its process and ours. What was said is read from the tasks themselves ([`transcript`]); only the
//! backend's name for the session is kept beside them.

pub mod record;
pub mod transcript;

use nuncio_store::{Conversation, Store, StoreError};
use std::fmt::{self, Write as _};
use std::sync::Arc;

use crate::clock;
use transcript::{Budget, Utterance};

/// A session that goes on is kept anew after this time, so that retention, which goes by when it was
/// last kept, leaves it: a day, in milliseconds.
const KEEP_AGAIN_AFTER_MILLIS: i64 = 24 * 60 * 60 * 1000;
/// A file name for what belongs to a conversation: the hash of it in hexadecimal.
pub(crate) fn file_name(of: &Conversation) -> String {
    hexadecimal(&of.hash())
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        write!(text, "{byte:02x}").expect("writing to a String cannot fail");
    }
    text
}

/// Bytes of the hash in a session's key: no two conversations of one gateway share 128 bits.
const KEY_BYTES: usize = 16;

/// One conversation and the place where it is kept.
#[derive(Clone)]
pub struct Session {
    store: Arc<dyn Store>,
    of: Conversation,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Session").field(&self.of).finish()
    }
}

impl Session {
    /// The session of a conversation.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, of: Conversation) -> Self {
        Self { store, of }
    }

    /// Whose conversation it is.
    #[must_use]
    pub fn conversation(&self) -> &Conversation {
        &self.of
    }

    /// A name for it that is safe in paths and headers, the same after a restart and no other
    /// conversation's: 32 hexadecimal digits.
    #[must_use]
    pub fn key(&self) -> String {
        hexadecimal(&self.of.hash()[..KEY_BYTES])
    }

    /// A file name for it: 64 hexadecimal digits, so that no id of a caller becomes a path.
    #[must_use]
    pub fn file_name(&self) -> String {
        file_name(&self.of)
    }

    /// What the backend calls it, if that is known.
    pub async fn name(&self) -> Result<Option<String>, StoreError> {
        let Some(kept) = self.store.session(&self.of).await? else {
            return Ok(None);
        };
        if kept.kept_millis + KEEP_AGAIN_AFTER_MILLIS < clock::now().as_millis() {
            self.keep(&kept.name).await?;
        }
        Ok(Some(kept.name))
    }

    /// Remembers what the backend calls it.
    pub async fn keep(&self, name: &str) -> Result<(), StoreError> {
        let name = Some(name.to_owned());
        self.store.keep_session(self.of.clone(), name).await
    }

    /// Forgets what the backend called it: the next turn begins a new session.
    pub async fn forget(&self) -> Result<(), StoreError> {
        self.store.keep_session(self.of.clone(), None).await
    }

    /// What was said before the message with this id, oldest first, as much as the budget takes.
    pub async fn before(
        &self,
        message_id: &str,
        budget: Budget,
    ) -> Result<Vec<Utterance>, StoreError> {
        let mut said = transcript::read(&*self.store, &self.of, budget).await?;
        if let Some(place) = said.iter().rposition(|it| it.message_id == message_id) {
            said.truncate(place);
        }
        Ok(said)
    }
}
