//! Between HTTP and the operations: one module per binding or kind of answer.
//!
//! `jsonrpc` serves 1.0, the slash names and 0.3; `rest` 1.0 and 0.3 with a path per operation;
//! `grpc` both as protobuf; `openfang` the 2025-04 dialect, `fleet` that of the Hermes fleet plugin.
//! `request_head` reads what they have in common, `stream` turns a subscription into frames; `cards`
//! serves what is public; `answer` holds the plain answers.
//! A binding reads a `Request`, hands it to `Operations::run` and writes the `Reply`, nothing else.

mod ai_catalog;
pub mod answer;
pub mod cards;
mod direct_answer;
pub mod fleet;
pub mod grpc;
pub mod jsonrpc;
pub mod media_type;
pub mod openfang;
mod request_head;
pub mod rest;
mod stream;
