//! Who is who, who may do what, and what text passes in which direction.
//!
//! [`authenticate`] turns a request's head into a [`Caller`]; `inbound` and `outbound` are the two
//! seams every peer's and every agent's text passes.

mod authenticate;
mod caller;
mod hops;
mod host_check;
pub mod inbound;
pub mod outbound;

pub use authenticate::{Authenticator, Denied};
pub use caller::{Caller, Standing};
pub use hops::{Hop, Hops};
pub use host_check::HostCheck;
