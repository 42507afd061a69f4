//! The official SDKs and nuncio, both ways, as real processes.
//!
//! `cargo xtask test peers` installs the SDKs and names the place in `NUNCIO_TEST_PEERS`; without
//! that variable these tests have nothing to talk to and pass over. The scripts that use the SDKs
//! lie in `tests/peers`: each tells what it saw as plain values, and is judged here.

mod acp;
mod agents;
mod behind;
mod caller;
mod card_signatures;
mod clients;
mod conversation;
mod dealings;
mod fleet;
mod hermes;
mod hermes_api;
mod hermes_plugin;
mod hermes_profiles;
mod hops;
mod instruction;
mod mcp_servers;
mod outcomes;
mod script;
mod server;
mod servers;
