//! The time, as rows have it.

use std::time::{SystemTime, UNIX_EPOCH};

/// The time now in milliseconds since the epoch.
pub(crate) fn now_millis() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
