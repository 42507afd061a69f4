//! How an operation is put on the wire and its answer taken off again, one module per binding.
//!
//! A binding builds one HTTP request and reads one answer; retries and fallbacks are the client's.
//! To add one: a module here, an arm in `client`, its name in `Binding::is_spoken`.

pub(crate) mod jsonrpc;
pub(crate) mod openfang;
pub(crate) mod refusal;
