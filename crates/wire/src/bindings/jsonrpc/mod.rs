//! The JSON-RPC 2.0 binding: envelopes both ways (specification 9).
//!
//! A server reads with [`read_call`] and writes with [`write_result`] or [`write_error`]; a client
//! writes with [`write_call`] and reads with [`read_answer`]. `params` and `result` stay JSON text:
//! a [`crate::dialects::Dialect`] reads and writes them.

mod answer;
mod call;
mod request_id;

pub(super) use answer::read_error;
pub(crate) use answer::write_error_object;
pub use answer::{Answer, read_answer, read_void_answer, write_error, write_result};
pub use call::{Call, Refused, read_call, write_call};
pub use request_id::RequestId;
