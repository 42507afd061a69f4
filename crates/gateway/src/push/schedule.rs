//! When a delivery that failed is tried again.

use std::time;

use crate::config::Duration;
use crate::spread;

/// The plan of deliveries.
pub(crate) struct Schedule {
    delays: Vec<time::Duration>,
    slow_down: time::Duration,
}

/// What a failed try asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plea {
    /// The receiver is overloaded (429, 502, 504).
    pub(crate) slow_down: bool,
    /// What the receiver says itself.
    pub(crate) retry_after: Option<time::Duration>,
}

impl Schedule {
    /// `delays` are the waits before the second and each later try; `slow_down` is added where the
    /// receiver is overloaded.
    pub(crate) fn new(delays: &[Duration], slow_down: Duration) -> Self {
        Self {
            delays: delays.iter().map(|delay| delay.get()).collect(),
            slow_down: slow_down.get(),
        }
    }

    /// How long to wait after so many failed tries; `None`: that was the last one.
    pub(crate) fn wait(&self, failed: u32, plea: Plea) -> Option<time::Duration> {
        self.wait_at(failed, plea, spread::any())
    }

    /// `spread` is from -1 to 1.
    fn wait_at(&self, failed: u32, plea: Plea, spread: f64) -> Option<time::Duration> {
        let place = usize::try_from(failed).ok()?.checked_sub(1)?;
        let mut planned = spread::by(*self.delays.get(place)?, spread);
        if plea.slow_down {
            planned += self.slow_down;
        }
        // A receiver may ask for more, but it cannot park its deliveries here.
        let asked = plea.retry_after.unwrap_or_default();
        Some(asked.clamp(planned, planned * 2))
    }

    /// The longest wait there can be: a clock that was set back keeps nobody longer.
    pub(super) fn longest(&self) -> time::Duration {
        let longest = self.delays.iter().max().copied().unwrap_or_default();
        (spread::by(longest, 1.0) + self.slow_down) * 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::PushConfig;
    use std::time::Duration;

    fn schedule() -> Schedule {
        let config = PushConfig::default();
        Schedule::new(&config.retry_delays, config.slow_down)
    }

    fn seconds(failed: u32, plea: Plea, spread: f64) -> Option<u64> {
        schedule()
            .wait_at(failed, plea, spread)
            .map(|wait| wait.as_secs())
    }

    #[test]
    fn eight_tries_take_about_28_hours() {
        let waits: Vec<_> = (1..=8).map(|n| seconds(n, Plea::default(), 0.0)).collect();
        let hour = 3600;
        let expected = [5, 300, 1800, 2 * hour, 5 * hour, 10 * hour, 10 * hour];
        assert_eq!(waits[..7], expected.map(Some));
        assert_eq!(waits[7], None);
        assert_eq!(seconds(2, Plea::default(), 1.0), Some(360));
        assert_eq!(seconds(2, Plea::default(), -1.0), Some(240));
    }

    #[test]
    fn a_receiver_is_heard_within_bounds() {
        let plea = |slow_down, retry_after: Option<u64>| Plea {
            slow_down,
            retry_after: retry_after.map(Duration::from_secs),
        };
        assert_eq!(seconds(2, plea(true, None), 0.0), Some(360));
        assert_eq!(seconds(2, plea(false, Some(400)), 0.0), Some(400));
        assert_eq!(seconds(2, plea(false, Some(1)), 0.0), Some(300));
        assert_eq!(seconds(2, plea(true, Some(1_000_000_000)), 0.0), Some(720));
        let schedule = schedule();
        for _ in 0..1000 {
            let wait = schedule.wait(1, Plea::default()).unwrap();
            assert!((4.0..=6.0).contains(&wait.as_secs_f64()), "{wait:?}");
        }
        assert!(schedule.longest() > Duration::from_secs(24 * 3600));
    }
}
