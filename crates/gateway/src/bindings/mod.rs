//! Between HTTP and the operations: one module per binding or kind of answer.
//!
//! `jsonrpc` serves 1.0, the slash names and 0.3; `openfang` the 2025-04 dialect; `stream` turns a
//! subscription into frames; `cards` serves what is public; `answer` holds the plain answers.

pub mod answer;
pub mod cards;
pub mod jsonrpc;
pub mod openfang;
mod stream;
