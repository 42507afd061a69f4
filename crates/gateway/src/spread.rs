//! Waits that differ a little, so that those who failed together do not come back together.

use std::time::Duration;

/// How much of a planned wait it may be longer or shorter.
const SPREAD: f64 = 0.2;

/// The wait, some longer or shorter: by how much is left to chance.
pub(crate) fn spread(planned: Duration) -> Duration {
    by(planned, any())
}

/// The wait with all of the spread added at 1, and taken away at -1.
pub(crate) fn by(planned: Duration, spread: f64) -> Duration {
    planned.mul_f64(1.0 + SPREAD * spread)
}

/// A random number from -1 to 1.
pub(crate) fn any() -> f64 {
    let random = getrandom::u32().unwrap_or(u32::MAX / 2);
    f64::from(random) / f64::from(u32::MAX) * 2.0 - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_a_fifth_longer_or_shorter_at_most_and_not_always_the_same() {
        let planned = Duration::from_secs(10);
        assert_eq!(by(planned, -1.0), Duration::from_secs(8));
        assert_eq!(by(planned, 1.0), Duration::from_secs(12));
        let waits: Vec<_> = (0..100).map(|_| spread(planned)).collect();
        assert!(
            waits
                .iter()
                .all(|it| it.as_secs_f64() >= 8.0 && it.as_secs_f64() <= 12.0)
        );
        assert!(waits.iter().any(|it| *it != waits[0]));
    }
}
