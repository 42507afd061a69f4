//! A2A 0.3: objects with `kind`, lower-case states, nested push configurations (specification
//! appendix A; the 0.3.0 text for what it leaves out).
//!
//! Requests are read by `read`, everything is written by `write`, cards are converted by `card`.
//! `proto_read` and `proto_write` have the JSON of its proto, which is spoken over REST.

mod card;
mod file_bytes;
mod proto_read;
mod proto_write;
mod read;
mod write;

pub use card::{write_card, write_merged_card};

pub(crate) use file_bytes::{read_file_bytes, write_file_bytes};
pub(crate) use proto_read::{
    is_text_form, settle_request, unwrap_event_parts, unwrap_response_parts,
};
pub(crate) use proto_write::{
    BYTES, TEXT, write_proto_body, write_proto_event, write_proto_response, write_wrapped_event,
    write_wrapped_response,
};
pub(crate) use read::at_least_one;
pub(super) use read::{read_partial, read_request, validate, write_params};
pub(super) use write::{labels, write_event, write_response, write_task};
