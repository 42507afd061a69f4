//! Bytes to operations and back, one module per binding of specification 9 to 11.

pub mod jsonrpc;
pub mod sse;
