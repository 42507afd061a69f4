//! `grpc-timeout`: up to eight digits and a unit.

use std::time::Duration;

/// Most digits the value may have.
const MAX_DIGITS: usize = 8;

/// Reads the value of `grpc-timeout`; `None` for what is none.
#[must_use]
pub fn read_timeout(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number || digits.len() > MAX_DIGITS {
        return None;
    }
    let count: u64 = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(count * 3_600),
        "M" => Duration::from_secs(count * 60),
        "S" => Duration::from_secs(count),
        "m" => Duration::from_millis(count),
        "u" => Duration::from_micros(count),
        "n" => Duration::from_nanos(count),
        _ => return None,
    })
}

/// The value of `grpc-timeout` for this time, rounded up to milliseconds or seconds.
#[must_use]
pub fn write_timeout(time: Duration) -> String {
    let millis = time.as_micros().div_ceil(1_000);
    if millis < 10_u128.pow(MAX_DIGITS as u32) {
        return format!("{millis}m");
    }
    let most = 10_u64.pow(MAX_DIGITS as u32) - 1;
    format!("{}S", time.as_secs().saturating_add(1).min(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_case_sensitive_and_digits_are_bounded() {
        for (text, time) in [
            ("1H", Duration::from_secs(3_600)),
            ("2M", Duration::from_secs(120)),
            ("3S", Duration::from_secs(3)),
            ("4m", Duration::from_millis(4)),
            ("5u", Duration::from_micros(5)),
            ("99999999n", Duration::from_nanos(99_999_999)),
        ] {
            assert_eq!(read_timeout(text), Some(time), "{text}");
        }
        for text in ["", "S", "1", "1s", "+1S", "123456789S", "1.5S", "é"] {
            assert_eq!(read_timeout(text), None, "{text}");
        }
        assert_eq!(write_timeout(Duration::from_micros(1_500)), "2m");
        let long = write_timeout(Duration::from_secs(400_000));
        assert_eq!(read_timeout(&long), Some(Duration::from_secs(400_001)));
    }
}
