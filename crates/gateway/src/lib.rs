//! The daemon: listening, bindings, operations, task engine, agent backends.
//!
//! One message takes six hops: `serve` (path and layers), `bindings` (bytes to a request),
//! `operations` (policy), `tasks` (the engine), the store, `agents` (who answers), and its events
//! come back the same way. [`Gateway`] puts the parts together. Never prints and never reads the
//! environment; the binary does.

pub mod agents;
mod bindings;
pub mod card;
mod clock;
pub mod config;
mod fleet;
mod gateway;
mod ids;
mod operations;
mod push;
mod security;
mod serve;
pub mod sessions;
mod spread;
mod tasks;

pub use gateway::{Gateway, StartError, open_store};
pub use serve::control::SOCKET_NAME;
