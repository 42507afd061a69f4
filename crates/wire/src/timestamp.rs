//! Points in time as A2A writes them: RFC 3339 in UTC with at least milliseconds.
//!
//! This module reads and writes; it never asks what time it is.

use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;

/// A point in time with nanosecond precision (`google.protobuf.Timestamp`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(jiff::Timestamp);

const NANOS_PER_SECOND: i128 = 1_000_000_000;

impl Timestamp {
    /// Milliseconds since 1970-01-01T00:00:00Z; what is out of range is cut to the nearest bound.
    #[must_use]
    pub fn from_millis(millis: i64) -> Self {
        let bounded = millis.clamp(
            jiff::Timestamp::MIN.as_millisecond(),
            jiff::Timestamp::MAX.as_millisecond(),
        );
        Self(jiff::Timestamp::from_millisecond(bounded).unwrap_or(jiff::Timestamp::UNIX_EPOCH))
    }

    /// Whole milliseconds since the epoch, rounded down.
    #[must_use]
    pub fn as_millis(self) -> i64 {
        self.0.as_nanosecond().div_euclid(1_000_000) as i64
    }

    /// Whole milliseconds since the epoch, rounded up: for a lower bound on stored milliseconds.
    #[must_use]
    pub fn as_millis_ceil(self) -> i64 {
        -((-self.0.as_nanosecond()).div_euclid(1_000_000) as i64)
    }

    /// Whole seconds since the epoch, rounded down, and the nanoseconds on top.
    #[must_use]
    pub fn as_unix(self) -> (i64, i32) {
        let nanos = self.0.as_nanosecond();
        let seconds = nanos.div_euclid(NANOS_PER_SECOND) as i64;
        (seconds, nanos.rem_euclid(NANOS_PER_SECOND) as i32)
    }

    /// The time of so many seconds and nanoseconds; `None` if it is no such pair or out of range.
    #[must_use]
    pub fn from_unix(seconds: i64, nanos: i32) -> Option<Self> {
        let whole_second = (0..1_000_000_000).contains(&nanos);
        let time = jiff::Timestamp::new(seconds, nanos).ok()?;
        whole_second.then_some(Self(time))
    }

    /// Reads RFC 3339 with any offset and 0 to 9 fraction digits. A time without a zone is read as
    /// UTC, since texts of A2A 0.3 carry such.
    pub fn parse(text: &str) -> Result<Self, String> {
        let zoned = text.parse::<jiff::Timestamp>();
        let parsed = zoned.or_else(|error| format!("{text}Z").parse().map_err(|_| error));
        parsed.map(Self).map_err(|_| {
            format!(
                "'{}' is not an RFC 3339 time such as 2026-01-02T03:04:05.678Z",
                shorten(text)
            )
        })
    }
}

fn shorten(text: &str) -> String {
    text.chars().take(40).collect()
}

/// `2026-01-02T03:04:05.678Z`; six or nine fraction digits where the value needs them.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let precision = match self.0.subsec_nanosecond() {
            nanos if nanos % 1_000_000 == 0 => 3,
            nanos if nanos % 1_000 == 0 => 6,
            _ => 9,
        };
        write!(f, "{:.precision$}", self.0)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        Self::parse(&text).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_and_fractions_are_converted_to_utc_with_milliseconds() {
        for (input, output) in [
            ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000Z"),
            ("2026-01-02T05:04:05.5+02:00", "2026-01-02T03:04:05.500Z"),
            ("2026-01-02T03:04:05.123456Z", "2026-01-02T03:04:05.123456Z"),
            ("2025-04-02T16:59:25.331844", "2025-04-02T16:59:25.331844Z"),
        ] {
            assert_eq!(Timestamp::parse(input).unwrap().to_string(), output);
        }
        assert!(Timestamp::parse("yesterday").is_err());
    }

    #[test]
    fn a_lower_bound_rounds_up() {
        let time = Timestamp::parse("2026-01-02T03:04:05.0001Z").unwrap();
        assert_eq!(time.as_millis_ceil(), time.as_millis() + 1);
    }
}
