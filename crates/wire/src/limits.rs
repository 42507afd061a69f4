//! Bounds of what a message may carry, whoever sends it and over whichever binding.
//!
//! Transport bounds (body size, head size, time) belong to the server; these hold for the data
//! model and are checked by `validate` on each request.

/// Most parts in one message or artifact chunk a caller may send.
pub const MAX_PARTS: usize = 100;
/// Most entries of a list of names or ids that a caller may send (extensions, references, modes).
pub const MAX_LIST_ENTRIES: usize = 100;
/// Longest idempotency key, in characters: it is part of a row's key for a day.
pub const MAX_IDEMPOTENCY_KEY_CHARS: usize = 255;
/// Most bytes of one `metadata` object (256 KiB): it is kept with the task for its whole life.
pub const MAX_METADATA_BYTES: usize = 256 * 1024;
/// Most members of one `metadata` object.
pub const MAX_METADATA_KEYS: usize = 1_000;
/// Deepest nesting of user JSON (`metadata`, `data`): readers in other languages recurse.
pub const MAX_USER_JSON_DEPTH: usize = 64;
/// Longest id a caller may choose, in characters.
pub const MAX_ID_CHARS: usize = 128;
/// Longest JSON-RPC id, in bytes: it is repeated in every frame of a stream.
pub const MAX_RPC_ID_BYTES: usize = 1_024;
/// Longest address of a webhook, in bytes: what common servers and proxies take.
pub const MAX_PUSH_URL_BYTES: usize = 2_048;
/// Longest token or credentials of a webhook, in bytes: they fit the 8 KiB that common servers take
/// for all headers together.
pub const MAX_PUSH_SECRET_BYTES: usize = 4_096;
/// Longest authentication scheme of a webhook, in bytes: registered ones have under 20.
pub const MAX_PUSH_SCHEME_BYTES: usize = 64;
/// Most authentication schemes of a webhook: there are some dozen registered ones in all.
pub const MAX_PUSH_SCHEMES: usize = 16;
/// Page size of ListTasks when the request names none (specification 3.1.4).
pub const DEFAULT_PAGE_SIZE: u32 = 50;
/// Largest page of ListTasks (specification 3.1.4).
pub const MAX_PAGE_SIZE: u32 = 100;
/// Longest opaque page token, in bytes.
pub const MAX_PAGE_TOKEN_BYTES: usize = 512;
/// Deepest nesting of a whole body: far above any legal one, far below what readers stand.
pub const MAX_JSON_DEPTH: usize = 127;
