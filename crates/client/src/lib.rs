//! Calls other A2A agents: finds their card, picks an interface, sends, streams and follows tasks.
//!
//! The only crate of nuncio that dials out. It prints nothing and reads no environment. Start with
//! [`discover`], then [`Client`].

pub mod address_guard;
mod dial;
mod error;
pub mod http_client;
mod insecure;
pub mod limits;
mod origin;
mod secret;

pub use address_guard::AddressPolicy;
pub use error::{ClientError, ClientErrorKind, Unreachable, plain};
pub use http_client::HttpClient;
pub use origin::Origin;
pub use secret::Secret;
