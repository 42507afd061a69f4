//! Deliveries that were given up: what the operator can look through and have sent again.
//!
//! Owns how they are kept beside a configuration's cursor ([`crate::push`]); when a delivery is given
//! up is the gateway's to say.

use serde::{Deserialize, Serialize};

use crate::{PushProgress, StoreError};

/// Most deliveries given up that are remembered of one configuration; the oldest go first. One is
/// given up in about 28 hours and a receiver that only fails is switched off after five days, so
/// that there are seldom more than a handful.
pub const MAX_GIVEN_UP: usize = 64;

/// A delivery that was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenUp {
    /// The task's version that it tells of.
    pub version: u64,
    /// When it was given up, milliseconds since the epoch.
    pub millis: i64,
    /// Tries that failed.
    pub tries: u32,
    /// The HTTP status that the last try was answered with; `None`: there was no answer.
    pub last_status: Option<u16>,
    /// It is to be sent again, before anything that was never tried.
    pub again: bool,
}

impl PushProgress {
    /// The version that is to be sent next: the oldest that is to be sent again, else the one after
    /// what was delivered.
    #[must_use]
    pub fn next(&self) -> u64 {
        let again = self.given_up.iter().find(|it| it.again);
        again.map_or(self.delivered + 1, |it| it.version)
    }

    /// Whether something that was given up is to be sent again.
    #[must_use]
    pub fn is_replaying(&self) -> bool {
        self.given_up.iter().any(|it| it.again)
    }

    /// What was next has been delivered.
    pub fn deliver_next(&mut self) {
        let version = self.next();
        let mut given_up = std::mem::take(&mut self.given_up);
        given_up.retain(|it| it.version != version);
        *self = Self {
            delivered: self.delivered.max(version),
            given_up,
            ..Self::default()
        };
    }

    /// What was next has been given up at this time, after `attempts` tries.
    pub fn give_up_next(&mut self, now_millis: i64) {
        let version = self.next();
        let mut given_up = std::mem::take(&mut self.given_up);
        given_up.retain(|it| it.version != version);
        given_up.push(GivenUp {
            version,
            millis: now_millis,
            tries: self.attempts,
            last_status: self.last_status,
            again: false,
        });
        given_up.sort_unstable_by_key(|it| it.version);
        let surplus = given_up.len().saturating_sub(MAX_GIVEN_UP);
        given_up.drain(..surplus);
        *self = Self {
            delivered: self.delivered.max(version),
            failing_since_millis: self.failing_since_millis,
            last_status: self.last_status,
            given_up,
            ..Self::default()
        };
    }

    /// The same with everything that was given up to be sent again, at once.
    #[must_use]
    pub fn replayed(&self) -> Self {
        let mut given_up = self.given_up.clone();
        given_up.iter_mut().for_each(|it| it.again = true);
        Self {
            attempts: 0,
            next_try_millis: 0,
            given_up,
            ..self.clone()
        }
    }

    /// The same switched on, as if nothing had failed: it goes on where it stood.
    #[must_use]
    pub fn switched_on(&self) -> Self {
        Self {
            delivered: self.delivered,
            given_up: self.given_up.clone(),
            ..Self::default()
        }
    }

    /// Whether the operator has reason to look at it.
    pub(crate) fn is_troubled(&self) -> bool {
        self.off || self.failing_since_millis.is_some() || !self.given_up.is_empty()
    }

    /// Deliveries given up as a column holds them; `None`: there are none.
    pub(crate) fn given_up_json(&self) -> Option<Vec<u8>> {
        let json = || serde_json::to_vec(&self.given_up).expect("numbers have a JSON form");
        (!self.given_up.is_empty()).then(json)
    }
}

/// Reads such a column.
pub(crate) fn given_up_of(column: Option<&[u8]>) -> Result<Vec<GivenUp>, StoreError> {
    let Some(json) = column else {
        return Ok(Vec::new());
    };
    serde_json::from_slice(json)
        .map_err(|error| StoreError::Damaged(format!("deliveries given up: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn versions(progress: &PushProgress) -> Vec<u64> {
        progress.given_up.iter().map(|it| it.version).collect()
    }

    #[test]
    fn what_was_given_up_is_sent_again_in_order_and_then_what_is_new() {
        let mut progress = PushProgress::default();
        progress.give_up_next(5);
        progress.deliver_next();
        progress.attempts = 8;
        progress.last_status = Some(500);
        progress.give_up_next(6);
        assert_eq!((versions(&progress), progress.delivered), (vec![1, 3], 3));
        assert_eq!(
            (progress.given_up[1].tries, progress.given_up[1].last_status),
            (8, Some(500))
        );
        assert_eq!(progress.next(), 4);
        let mut progress = progress.replayed();
        assert!(progress.is_replaying() && progress.is_pending(3));
        assert_eq!(progress.next(), 1);
        progress.deliver_next();
        assert_eq!((progress.next(), progress.delivered), (3, 3));
        progress.give_up_next(7);
        assert_eq!((versions(&progress), progress.next()), (vec![3], 4));
        assert!(!progress.is_replaying() && !progress.is_pending(3));
    }

    #[test]
    fn the_oldest_are_forgotten_beyond_the_bound() {
        let mut progress = PushProgress::default();
        for now in 0..=MAX_GIVEN_UP {
            progress.give_up_next(now as i64);
        }
        assert_eq!(progress.given_up.len(), MAX_GIVEN_UP);
        assert_eq!(progress.given_up[0].version, 2);
        let kept = given_up_of(progress.given_up_json().as_deref());
        assert_eq!(kept.as_ref(), Ok(&progress.given_up));
    }
}
