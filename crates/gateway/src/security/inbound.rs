//! What an agent gets to see of a caller's text. The stored text is never touched.
//!
//! Programs (`echo`, `command`, `conformance`) see it as it came: who sent it stands in variables
//! and metadata there, and altering a program's input would only break it.

use nuncio_wire::Message;
use std::sync::Arc;

/// The message as the backend gets it.
#[must_use]
pub fn present(message: Message) -> Arc<Message> {
    Arc::new(message)
}
