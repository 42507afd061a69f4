//! How an operation is put on the wire and its answer taken off again, one module per binding.
//!
//! A binding builds one HTTP request and reads one answer; retries and fallbacks are the client's.
//! `exchange` and `refusal` have what they share. To add one: a module here, an arm of `Prepared` in
//! `client`, its frames in `stream`.

pub(crate) mod exchange;
pub(crate) mod grpc;
pub(crate) mod jsonrpc;
pub(crate) mod openfang;
pub(crate) mod refusal;
pub(crate) mod rest;
