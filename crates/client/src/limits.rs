//! Bounds of what a peer may make us read, follow or wait for.
//!
//! Each protects memory or patience against a peer that lies; none of them ends a task.

use std::time::Duration;

/// Largest agent card, in bytes: real ones have a few KiB.
pub const MAX_CARD_BYTES: usize = 256 * 1024;
/// Largest answer to one call, in bytes: one message may have as much.
pub const MAX_ANSWER_BYTES: usize = 16 * 1024 * 1024;
/// Largest body of an HTTP error that is quoted, in bytes.
pub const MAX_ERROR_BODY_BYTES: usize = 64 * 1024;
/// Longest piece of a peer's text that an error of ours repeats, in characters.
pub const MAX_QUOTED_CHARS: usize = 500;
/// Redirects followed while a card is fetched; calls follow none.
pub const MAX_CARD_REDIRECTS: usize = 4;
/// Time to resolve a name and open a connection, TLS included.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Head start of one address of a host before the next is tried beside it (RFC 8305 section 8).
pub const NEXT_ADDRESS_DELAY: Duration = Duration::from_millis(250);
/// Silence on a connection before it is probed: home routers forget one after a few minutes.
pub const KEEPALIVE_AFTER: Duration = Duration::from_secs(60);
/// Time between two probes of a silent connection.
pub const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(15);
/// Time for one card fetch, redirects included.
pub const CARD_TIMEOUT: Duration = Duration::from_secs(30);
/// Time for a call that does not wait for an agent (get, list, cancel) and for the head of a stream.
pub const QUICK_CALL_TIMEOUT: Duration = Duration::from_secs(60);
/// Silence after which a stream counts as lost: servers send a comment every 15 s or so.
pub const STREAM_SILENCE: Duration = Duration::from_secs(60);
/// How often a call is repeated after a refusal that ran nothing.
pub const MAX_RETRIES: u32 = 3;
/// Longest `Retry-After` that a call waits for by itself; a longer one is reported.
pub const MAX_RETRY_AFTER: Duration = Duration::from_secs(30);
