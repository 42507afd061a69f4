//! When a call may be repeated, and how long to wait before it.
//!
//! Only refusals that ran nothing are repeated for every call; a lost connection only for calls
//! that change nothing.

use std::time::Duration;

use nuncio_wire::Method;

use crate::error::{ClientError, ClientErrorKind, Unreachable};
use crate::limits::{MAX_RETRIES, MAX_RETRY_AFTER};

/// Pause before the first repetition; doubled before each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// Longest pause that we choose by ourselves.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// The pause before repetition `attempt` (from 0); `None` when the error is to be reported.
pub(crate) fn pause_before_retry(
    error: &ClientError,
    method: Method,
    attempt: u32,
) -> Option<Duration> {
    if attempt >= MAX_RETRIES || !may_repeat(error, method) {
        return None;
    }
    match error.retry_after {
        Some(asked) if asked > MAX_RETRY_AFTER => None,
        Some(asked) => Some(asked.max(FIRST_PAUSE)),
        None => Some(growing_pause(FIRST_PAUSE, LONGEST_PAUSE, attempt)),
    }
}

fn may_repeat(error: &ClientError, method: Method) -> bool {
    match error.kind {
        ClientErrorKind::Busy => true,
        ClientErrorKind::Unreachable(cause) => {
            matches!(cause, Unreachable::Refused | Unreachable::Network)
        }
        ClientErrorKind::ConnectionLost => changes_nothing(method),
        _ => false,
    }
}

/// Whether a repetition does no harm even if the first call arrived.
fn changes_nothing(method: Method) -> bool {
    !matches!(
        method,
        Method::SendMessage
            | Method::SendStreamingMessage
            | Method::CreateTaskPushNotificationConfig
    )
}

/// `first` doubled `step` times, at most `longest`.
pub(crate) fn growing_pause(first: Duration, longest: Duration, step: u32) -> Duration {
    first
        .saturating_mul(1u32.checked_shl(step).unwrap_or(u32::MAX))
        .min(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_send_is_repeated_only_when_nothing_can_have_run() {
        let error = |kind| ClientError::new(kind, "x");
        let repeats = |kind, method| pause_before_retry(&error(kind), method, 0).is_some();
        let lost = ClientErrorKind::ConnectionLost;
        assert!(!repeats(lost.clone(), Method::SendMessage));
        assert!(repeats(lost, Method::GetTask));
        assert!(repeats(ClientErrorKind::Busy, Method::SendMessage));
        assert!(repeats(
            ClientErrorKind::Unreachable(Unreachable::Refused),
            Method::SendMessage
        ));
        assert!(!repeats(
            ClientErrorKind::Unreachable(Unreachable::Dns),
            Method::GetTask
        ));
        assert!(!repeats(ClientErrorKind::AuthFailed, Method::GetTask));
    }

    #[test]
    fn the_peer_decides_the_pause_within_reason() {
        let mut busy = ClientError::new(ClientErrorKind::Busy, "x");
        busy.retry_after = Some(Duration::from_secs(2));
        assert_eq!(
            pause_before_retry(&busy, Method::GetTask, 0),
            busy.retry_after
        );
        busy.retry_after = Some(Duration::from_secs(3600));
        assert_eq!(pause_before_retry(&busy, Method::GetTask, 0), None);
        assert_eq!(growing_pause(FIRST_PAUSE, LONGEST_PAUSE, 60), LONGEST_PAUSE);
    }
}
