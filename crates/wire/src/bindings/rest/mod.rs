//! The HTTP+JSON binding: paths, queries, bodies and errors both ways (specification 11).
//!
//! A server finds the [`Resource`] of a path, reads with [`read_request`] and writes in the
//! [`Form`] that gave it; a client writes with [`write_request`] and reads with [`read_response`],
//! [`read_event`] and [`read_error`]. Which HTTP library carries the bytes is their business.

mod answer;
mod error;
mod form;
mod path;
mod query;
mod request;

pub use answer::{read_event, read_response};
pub use error::{ErrorShape, read_error, write_error};
pub use form::Form;
pub use path::{Resource, Verb};
pub use request::{Input, Outgoing, read_request, read_request_with, write_request};
