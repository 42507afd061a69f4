//! One turn at a time in a session of another program, which itself lets them run into each other.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Weak};
use tokio::sync::OwnedMutexGuard;

/// The right to run a turn in a session; it ends when this is dropped.
pub(crate) type Place = OwnedMutexGuard<()>;

/// The sessions in use, of all agents: two of them may lead to the same one.
static IN_USE: LazyLock<Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>> =
    LazyLock::new(Mutex::default);

/// Waits until no other turn of ours runs in the session `name` of the program at `peer`.
pub(crate) async fn place(peer: &str, name: &str) -> Place {
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
