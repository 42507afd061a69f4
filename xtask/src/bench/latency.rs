//! Latencies of one run: a log-linear histogram, exact to 1 % from nanoseconds to hours in 64 KiB,
//! and the quantiles read from it. Never keeps single samples, so a run of any length costs the
//! same.

use serde::{Deserialize, Serialize};

/// Each power of two is split into this many equal steps: an error below 1/128.
const STEPS: u64 = 128;
/// `log2(STEPS)`.
const STEP_BITS: u32 = STEPS.trailing_zeros();
/// One row of steps for values below `STEPS`, and one per power of two above.
const ROWS: usize = 64 - STEP_BITS as usize + 1;

/// Counts of nanoseconds.
#[derive(Debug)]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
    longest: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            counts: vec![0; ROWS * STEPS as usize],
            total: 0,
            longest: 0,
        }
    }
}

impl Histogram {
    /// Counts one value in nanoseconds.
    pub fn record(&mut self, nanoseconds: u64) {
        self.counts[bucket(nanoseconds)] += 1;
        self.total += 1;
        self.longest = self.longest.max(nanoseconds);
    }

    /// Number of values counted.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The value in nanoseconds that `share` (0 to 1) of all values do not exceed; 0 without values.
    pub fn quantile(&self, share: f64) -> u64 {
        let rank = (share * self.total as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return highest(bucket).min(self.longest);
            }
        }
        self.longest
    }

    /// The quantiles a report shows.
    pub fn quantiles(&self) -> Quantiles {
        let microseconds = |share| self.quantile(share) as f64 / 1e3;
        Quantiles {
            p50: microseconds(0.5),
            p99: microseconds(0.99),
            p9999: microseconds(0.9999),
            longest: self.longest as f64 / 1e3,
        }
    }
}

/// Quantiles in microseconds.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Quantiles {
    /// The median.
    pub p50: f64,
    /// 99 of 100 are no longer than this.
    pub p99: f64,
    /// 9,999 of 10,000 are no longer than this.
    pub p9999: f64,
    /// The longest of all.
    pub longest: f64,
}

fn bucket(value: u64) -> usize {
    if value < STEPS {
        return value as usize;
    }
    let shift = 63 - value.leading_zeros() - STEP_BITS;
    let step = (value >> shift) - STEPS;
    ((u64::from(shift) + 1) * STEPS + step) as usize
}

/// The highest value that falls into `bucket`.
fn highest(bucket: usize) -> u64 {
    let (row, step) = (bucket as u64 / STEPS, bucket as u64 % STEPS);
    if row == 0 {
        return step;
    }
    let shift = row - 1;
    ((STEPS + step) << shift) + ((1 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_exact_to_one_percent() {
        let mut histogram = Histogram::default();
        (1..=100_000u64).for_each(|value| histogram.record(value * 10));
        for (share, exact) in [(0.5, 500_000.0), (0.99, 990_000.0), (0.9999, 999_900.0)] {
            let found = histogram.quantile(share) as f64;
            assert!(
                (found / exact - 1.0).abs() < 0.01,
                "{share}: {found} for {exact}"
            );
        }
        assert_eq!(histogram.quantile(1.0), 1_000_000);
        assert_eq!(histogram.total(), 100_000);
    }

    #[test]
    fn every_value_lies_in_its_bucket() {
        for value in [0, 1, 127, 128, 129, 255, 256, 1_000_003, u64::MAX] {
            let bucket = bucket(value);
            assert!(highest(bucket) >= value, "{value}");
            assert!(bucket == 0 || highest(bucket - 1) < value, "{value}");
        }
    }

    #[test]
    fn without_values_all_quantiles_are_zero() {
        assert_eq!(Histogram::default().quantile(0.99), 0);
    }
}
