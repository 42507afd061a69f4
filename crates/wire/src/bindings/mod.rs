//! Bytes to operations and back, one module per binding (specification 9 to 11).
//!
//! They know envelopes and frames, never what is inside: that is [`crate::dialects`].

pub mod grpc;
pub mod jsonrpc;
pub mod rest;
pub mod sse;
