//! The dialect of the Hermes fleet plugin (hermes-agent-a2a 3.x): method names of 1.0, objects in
//! snake_case, states in lower case, roles as numbers, task ids that the caller chooses.
//!
//! `read` and `write` are the server's side, `client` the other one; `event` is what streams and
//! webhooks carry, `error` its codes from -38000 on. Its card names no binding that A2A knows.

mod card;
mod client;
mod error;
mod event;
mod payload;
mod push;
mod read;
mod write;

pub use card::{BINDING, PROTOCOL_VERSION, write_card};
pub use client::{READER_PAGE_SIZE, bare_task};
pub use error::{code, http_status, kind_of_code, write_error};
pub use event::{write_error_frame, write_frames, write_notification};
pub use payload::payload_hash;
pub use push::{read_push_config, write_push_config, write_push_configs};
pub use read::{FleetSend, is_spoken, list_request, method, read_send};
pub use write::write_task;

pub(super) use card::describes;
pub(crate) use client::write_rest_request;
pub(super) use client::{method_name, read_event, read_response, write_params};
pub(super) use event::write_event;
pub(super) use read::read_request;
pub(super) use write::write_response;
