//! Durations as people write them: `500ms`, `2s`, `1.5m`, `1h`, and a bare number of seconds.

use std::time::Duration;

/// Longest duration that makes sense for a wait: a year.
const MAX_SECONDS: f64 = 366.0 * 24.0 * 3600.0;

/// Reads a duration.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim() {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => {
            return Err(format!(
                "'{text}' is no duration such as 500ms, 30s, 5m or 1h"
            ));
        }
    };
    let seconds = number
        .parse::<f64>()
        .map(|number| number * factor)
        .unwrap_or(-1.0);
    if !(0.0..=MAX_SECONDS).contains(&seconds) {
        return Err(format!(
            "'{text}' is no duration such as 500ms, 30s, 5m or 1h"
        ));
    }
    Ok(Duration::from_secs_f64(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_and_fractions_are_read() {
        for (text, millis) in [
            ("500ms", 500),
            ("2", 2000),
            ("2s", 2000),
            ("1.5m", 90_000),
            ("1h", 3_600_000),
        ] {
            assert_eq!(
                parse_duration(text).unwrap(),
                Duration::from_millis(millis),
                "{text}"
            );
        }
        for text in ["", "s", "-1s", "1d", "1e9h", "1.2.3", "∞"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }
}
