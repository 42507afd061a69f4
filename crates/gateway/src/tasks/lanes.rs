//! Turns of one context run one at a time and in order; different contexts run side by side.
//!
//! A lane exists only while somebody is in it, so idle contexts cost nothing.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::future::Future;
use std::hash::BuildHasher;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore, TryAcquireError};

/// Shards of the lane table: enough that two cores seldom meet in one.
const SHARDS: usize = 64;

/// Whose turns are kept in order: agent, owner, context.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct LaneKey {
    pub(super) agent: Arc<str>,
    pub(super) owner: Arc<str>,
    pub(super) context_id: Arc<str>,
}

type Shard = Mutex<HashMap<LaneKey, Weak<Lane>>>;

/// All lanes that somebody is in.
pub(super) struct Lanes {
    shards: Arc<[Shard]>,
    hasher: RandomState,
}

struct Lane {
    key: LaneKey,
    turn: Arc<Semaphore>,
    shards: Arc<[Shard]>,
    shard: usize,
}

impl Drop for Lane {
    fn drop(&mut self) {
        let mut shard = self.shards[self.shard].lock();
        // A successor may stand there already; it is alive then.
        if shard
            .get(&self.key)
            .is_some_and(|lane| lane.strong_count() == 0)
        {
            shard.remove(&self.key);
        }
    }
}

impl Lanes {
    pub(super) fn new() -> Self {
        let shards: Vec<Shard> = (0..SHARDS).map(|_| Mutex::default()).collect();
        Self {
            shards: shards.into(),
            hasher: RandomState::new(),
        }
    }

    /// Takes the next place in the lane of `key`, and one of the agent's `slots` when its turn
    /// comes. The order of calls is the order of turns.
    pub(super) fn enter(&self, key: LaneKey, slots: &Arc<Semaphore>) -> Place {
        let lane = self.lane(key);
        let slots = slots.clone();
        match lane.turn.clone().try_acquire_owned() {
            Ok(turn) => match slots.clone().try_acquire_owned() {
                Ok(slot) => Place::Ready(Permit {
                    _slot: slot,
                    _turn: turn,
                    _lane: lane,
                }),
                Err(TryAcquireError::NoPermits | TryAcquireError::Closed) => {
                    Place::waiting(async move { Permit::with_slot(lane, turn, slots).await })
                }
            },
            Err(_) => {
                let turn = lane.turn.clone().acquire_owned();
                Place::waiting(async move {
                    let turn = open(turn.await);
                    Permit::with_slot(lane, turn, slots).await
                })
            }
        }
    }

    fn lane(&self, key: LaneKey) -> Arc<Lane> {
        let shard = self.hasher.hash_one(&key) as usize % SHARDS;
        let mut lanes = self.shards[shard].lock();
        if let Some(lane) = lanes.get(&key).and_then(Weak::upgrade) {
            return lane;
        }
        let lane = Arc::new(Lane {
            key: key.clone(),
            turn: Arc::new(Semaphore::new(1)),
            shards: self.shards.clone(),
            shard,
        });
        lanes.insert(key, Arc::downgrade(&lane));
        lane
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().len()).sum()
    }
}

/// Neither kind of semaphore is ever closed.
fn open(permit: Result<OwnedSemaphorePermit, AcquireError>) -> OwnedSemaphorePermit {
    permit.expect("lane and slot semaphores are never closed")
}

/// The right to run a turn; given back when dropped.
pub(super) struct Permit {
    _slot: OwnedSemaphorePermit,
    _turn: OwnedSemaphorePermit,
    _lane: Arc<Lane>,
}

impl Permit {
    async fn with_slot(lane: Arc<Lane>, turn: OwnedSemaphorePermit, slots: Arc<Semaphore>) -> Self {
        Self {
            _slot: open(slots.acquire_owned().await),
            _turn: turn,
            _lane: lane,
        }
    }
}

/// A place in a lane.
pub(super) enum Place {
    /// It is our turn.
    Ready(Permit),
    /// Others are before us.
    Waiting(Pin<Box<dyn Future<Output = Permit> + Send>>),
}

impl Place {
    /// Polls once, so that the place in the queue is taken now and not when somebody awaits.
    fn waiting(future: impl Future<Output = Permit> + Send + 'static) -> Self {
        let mut future: Pin<Box<dyn Future<Output = Permit> + Send>> = Box::pin(future);
        match future
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            Poll::Ready(permit) => Self::Ready(permit),
            Poll::Pending => Self::Waiting(future),
        }
    }

    pub(super) fn is_ready(&self) -> bool {
        matches!(self, Self::Ready(_))
    }

    /// Waits until it is our turn.
    pub(super) async fn turn(self) -> Permit {
        match self {
            Self::Ready(permit) => permit,
            Self::Waiting(future) => future.await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(context: &str) -> LaneKey {
        LaneKey {
            agent: "a".into(),
            owner: "o".into(),
            context_id: context.into(),
        }
    }

    #[tokio::test]
    async fn turns_of_a_context_come_in_the_order_of_their_calls() {
        let (lanes, slots) = (Lanes::new(), Arc::new(Semaphore::new(8)));
        let first = lanes.enter(key("c"), &slots).turn().await;
        let (second, third) = (lanes.enter(key("c"), &slots), lanes.enter(key("c"), &slots));
        assert!(!second.is_ready() && !third.is_ready());
        let mut third = Box::pin(third.turn());
        drop(first);
        assert!(futures_util::poll!(third.as_mut()).is_pending());
        drop(second.turn().await);
        drop(third.await);
        assert_eq!(lanes.len(), 0);
    }

    #[tokio::test]
    async fn an_agents_slots_bound_its_turns_over_all_contexts() {
        let (lanes, slots) = (Lanes::new(), Arc::new(Semaphore::new(1)));
        let first = lanes.enter(key("c1"), &slots).turn().await;
        let other = lanes.enter(key("c2"), &slots);
        assert!(!other.is_ready());
        drop(first);
        drop(other.turn().await);
        assert_eq!((lanes.len(), slots.available_permits()), (0, 1));
    }

    #[tokio::test]
    async fn who_gives_up_a_place_lets_the_next_one_through() {
        let (lanes, slots) = (Lanes::new(), Arc::new(Semaphore::new(8)));
        let first = lanes.enter(key("c"), &slots).turn().await;
        let (second, third) = (lanes.enter(key("c"), &slots), lanes.enter(key("c"), &slots));
        drop(second);
        drop(first);
        drop(third.turn().await);
    }
}
