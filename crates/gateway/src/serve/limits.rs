//! Bounds of one connection that are not settings.

use std::time::Duration;

/// Most headers of a request; more is answered with 431.
pub(super) const MAX_HEADERS: usize = 100;
/// Most bytes of a request's head, and of what is read ahead: 32 KiB.
pub(super) const MAX_HEAD_BYTES: usize = 32 * 1024;
/// Most bytes of an HTTP/2 header list: 16 KiB, so that no compressed head blows up.
pub(super) const MAX_HTTP2_HEADER_LIST: u32 = 16 * 1024;
/// Streams one HTTP/2 connection may have open.
pub(super) const MAX_HTTP2_STREAMS: u32 = 200;
/// A peer that takes nothing for this long while there is something to take is cut off.
pub(super) const WRITE_STALL: Duration = Duration::from_secs(30);
/// Pause after `accept` failed for want of file numbers or memory, so that it does not spin.
pub(super) const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
