//! A length of time as it is written in the configuration: `500ms`, `30s`, `10m`, `2h`, `7d`.

use std::fmt;
use std::str::FromStr;

use super::text_setting::text_setting;

/// A length of time, exact to the millisecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Duration(std::time::Duration);

/// Units from the largest to the smallest, with their milliseconds.
const UNITS: [(&str, u64); 5] = [
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1_000),
    ("ms", 1),
];

impl Duration {
    /// So many seconds.
    pub const fn from_secs(seconds: u64) -> Duration {
        Duration(std::time::Duration::from_secs(seconds))
    }

    /// As the standard library's type.
    pub const fn get(self) -> std::time::Duration {
        self.0
    }
}

impl From<std::time::Duration> for Duration {
    fn from(duration: std::time::Duration) -> Duration {
        Duration(duration)
    }
}

impl FromStr for Duration {
    type Err = String;

    fn from_str(text: &str) -> Result<Duration, String> {
        let refused = || {
            format!("`{text}` is not a length of time: write a whole number and ms, s, m, h or d")
        };
        let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, unit) = text.split_at(digits);
        let number: u64 = number.parse().map_err(|_| refused())?;
        let unit = unit.trim_start();
        let (_, factor) = UNITS
            .iter()
            .find(|(name, _)| *name == unit)
            .ok_or_else(refused)?;
        let milliseconds = number.checked_mul(*factor).ok_or_else(refused)?;
        Ok(Duration(std::time::Duration::from_millis(milliseconds)))
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let milliseconds = u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX);
        if milliseconds == 0 {
            return f.write_str("0s");
        }
        let (unit, factor) = UNITS
            .iter()
            .find(|(_, factor)| milliseconds % factor == 0)
            .expect("one millisecond divides every number of them");
        write!(f, "{}{unit}", milliseconds / factor)
    }
}

text_setting!(Duration, "duration-text");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_unit_and_writes_the_largest_exact_one() {
        for (text, written) in [
            ("500ms", "500ms"),
            ("1000ms", "1s"),
            ("30s", "30s"),
            ("90s", "90s"),
            ("10m", "10m"),
            ("60m", "1h"),
            ("24h", "1d"),
            ("5 s", "5s"),
            ("0s", "0s"),
        ] {
            assert_eq!(
                text.parse::<Duration>().unwrap().to_string(),
                written,
                "{text}"
            );
        }
    }

    #[test]
    fn refuses_what_is_no_length_of_time() {
        for text in [
            "",
            "30",
            "s",
            "-1s",
            "1.5s",
            "30sec",
            "99999999999999999999s",
            "1h30m",
        ] {
            assert!(text.parse::<Duration>().is_err(), "{text}");
        }
    }
}
