//! Which session of Hermes a turn goes on in, and that only one turn at a time does.
//!
//! Hermes itself lets turns of one session run into each other. Names are made here, never taken from
//! a caller.

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Weak};
use tokio::sync::OwnedMutexGuard;

use crate::agents::Turn;

/// The right to run a turn in a session; it ends when this is dropped.
pub(super) type Place = OwnedMutexGuard<()>;

/// Bytes of a hash in a header: nothing collides in 128 bits.
const HASH_BYTES: usize = 16;

/// The sessions in use, of all agents: two of them may lead to the same one.
static IN_USE: LazyLock<Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>> =
    LazyLock::new(Mutex::default);

/// Waits until no other turn runs in the session `name` of the Hermes at `peer`.
pub(super) async fn place(peer: &str, name: &str) -> Place {
    let lock = {
        let mut in_use = IN_USE.lock();
        in_use.retain(|_, lock| lock.strong_count() > 0);
        let slot = in_use.entry(format!("{peer} {name}")).or_default();
        slot.upgrade().unwrap_or_else(|| {
            let lock = Arc::default();
            *slot = Arc::downgrade(&lock);
            lock
        })
    };
    lock.lock_owned().await
}

/// The name of a conversation's own session, unless Hermes has given it another one since.
pub(super) fn own_name(turn: &Turn) -> String {
    format!("nuncio-{}-{}", turn.agent, turn.session.key())
}

/// What Hermes may remember across the sessions of one caller goes by this.
pub(super) fn memory_scope(turn: &Turn) -> String {
    format!("nuncio-{}-{}", turn.agent, hash(&[&turn.owner]))
}

/// The same for the same message of a task, and for no other.
pub(super) fn idempotency_key(turn: &Turn) -> String {
    hash(&[&turn.task_id, &turn.message.message_id])
}

fn hash(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    let bytes = hash.finalize();
    bytes[..HASH_BYTES]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_session_is_one_turns_at_a_time_and_forgotten_afterwards() {
        let first = place("test", "s").await;
        let other = place("test", "t").await;
        let mut second = Box::pin(place("test", "s"));
        let early = tokio::time::timeout(std::time::Duration::ZERO, &mut second).await;
        assert!(early.is_err(), "two turns at once");
        drop(early);
        drop((first, other));
        drop(second.await);
        place("test", "u").await;
        let left = IN_USE.lock();
        assert!(!left.contains_key("test s") && !left.contains_key("test t"));
    }
}
