//! The first public A2A, of April 2025, as OpenFang speaks it: `tasks/send`, parts with `type`, a
//! `sessionId` for the context, statuses in camelCase.
//!
//! It is served at addresses of its own, because `tasks/get` collides with 0.3. Its clients refuse
//! what they do not expect, so `write` sends exactly that; `read` and `client` take much more.

mod card;
mod client;
mod read;
mod write;

pub use card::{CARD_VERSION, PROTOCOL_VERSION, is_card_url, is_openfang, write_card};
pub use client::read_task;
pub use read::{LegacySend, method, read_rest_send, read_send};
pub use write::write_task;

pub(super) use client::{read_event, read_response};
pub(super) use read::read_request;
pub(super) use write::{method_name, write_event, write_params, write_response};
