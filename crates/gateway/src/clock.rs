//! What time it is. The only place of the gateway that asks.

use nuncio_wire::Timestamp;
use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970-01-01T00:00:00Z; 0 if the clock stands before that.
#[must_use]
pub fn now_millis() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// The present time as the protocol writes it.
#[must_use]
pub fn now() -> Timestamp {
    Timestamp::from_millis(now_millis())
}
