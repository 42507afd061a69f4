//! A2A 0.3: objects with `kind`, lower-case states, nested push configurations (specification
//! appendix A; the 0.3.0 text for what it leaves out).
//!
//! Requests are read by `read`, everything is written by `write`, cards are converted by `card`.

mod card;
mod read;
mod write;

pub use card::{write_card, write_merged_card};

pub(super) use read::{read_request, write_params};
pub(super) use write::{write_event, write_response, write_task};
