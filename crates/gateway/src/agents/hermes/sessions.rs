//! Which session of Hermes a turn goes on in. Names are made here, never taken from a caller.

use sha2::{Digest as _, Sha256};

use crate::agents::Turn;

/// Bytes of a hash in a header: nothing collides in 128 bits.
const HASH_BYTES: usize = 16;

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
