//! When a process that died may be started again, and what those learn who do not want to wait.

use std::time::Duration;
use tokio::time::Instant;

use crate::spread::spread;

/// Pause after the first death; doubles up to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// Longest pause before the next start.
const LAST_PAUSE: Duration = Duration::from_secs(30);
/// Longest pause that is waited for when the last start failed: who comes earlier is told how it failed.
const MAX_WAIT: Duration = Duration::from_secs(2);

/// The pauses between starts. They grow until a process has done some work.
#[derive(Debug, Default)]
pub(super) struct BackOff {
    pause: Option<Duration>,
    ready_at: Option<Instant>,
    /// The last start, if it failed: when, and why.
    failed: Option<(Instant, String)>,
}

impl BackOff {
    /// A process that did some work ended: the next is started at once.
    pub(super) fn worked(&mut self) {
        *self = Self::default();
    }

    /// A process is started. If it is given up meanwhile, its pause counts from now.
    pub(super) fn begins(&mut self, now: Instant) {
        let longer = self
            .pause
            .map_or(FIRST_PAUSE, |it| (it * 2).min(LAST_PAUSE));
        self.pause = Some(longer);
        self.died(now);
    }

    /// It has started.
    pub(super) fn started(&mut self) {
        self.failed = None;
    }

    /// It could not be started.
    pub(super) fn failed(&mut self, now: Instant, reason: &str) {
        self.failed = Some((now, reason.to_owned()));
        self.died(now);
    }

    /// The process ended then.
    pub(super) fn died(&mut self, at: Instant) {
        self.ready_at = self.pause.map(|pause| at + spread(pause));
    }

    /// When the next may be started, for one who has waited since then. The error is that of a start that
    /// failed meanwhile, or whose pause takes long: else each of a queue would wait for a start of its own.
    pub(super) fn next(&self, since: Instant, now: Instant) -> Result<Instant, String> {
        let ready_at = self.ready_at.unwrap_or(now);
        match &self.failed {
            Some((at, reason)) if *at >= since || ready_at > now + MAX_WAIT => Err(reason.clone()),
            _ => Ok(ready_at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Between 0.8 and 1.2 of it, as [`spread`] has it.
    fn is_about(measured: Duration, planned: Duration) -> bool {
        measured >= planned.mul_f64(0.79) && measured <= planned.mul_f64(1.21)
    }

    #[test]
    fn pauses_double_from_the_last_death_up_to_the_longest() {
        let mut back_off = BackOff::default();
        let mut now = Instant::now();
        assert_eq!(
            back_off.next(now, now),
            Ok(now),
            "the first start is at once"
        );
        for planned in [
            200, 400, 800, 1600, 3200, 6400, 12800, 25600, 30_000, 30_000,
        ] {
            back_off.begins(now);
            // It runs for a while, which is not taken off the pause.
            now += Duration::from_secs(60);
            back_off.started();
            back_off.died(now);
            let pause = back_off.next(now, now).unwrap() - now;
            let planned = Duration::from_millis(planned);
            assert!(is_about(pause, planned), "{pause:?} {planned:?}");
        }
        back_off.worked();
        assert_eq!(back_off.next(now, now), Ok(now), "after some work");
    }

    #[test]
    fn a_failure_is_shared_by_all_who_waited_and_in_a_long_pause_by_all() {
        let mut back_off = BackOff::default();
        let start = Instant::now();
        let died = start + Duration::from_secs(1);
        let why = Err("no program".to_owned());
        back_off.begins(start);
        back_off.failed(died, "no program");
        assert_eq!(back_off.next(start, died), why, "it waited for that start");
        let later = died + Duration::from_millis(1);
        let ready_at = back_off.next(later, later).expect("a short pause");
        assert!(is_about(ready_at - died, FIRST_PAUSE));
        for _ in 0..4 {
            back_off.begins(later);
        }
        assert_eq!(back_off.next(later, later), why, "a long pause");
        back_off.started();
        back_off.died(later);
        assert!(back_off.next(later, later).is_ok(), "it can be started");
    }
}
