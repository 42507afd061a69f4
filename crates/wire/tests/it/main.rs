//! The one integration binary: behaviour of the codecs as bytes in and bytes out, over every
//! dialect. Golden wire files stand in `tests/golden/<dialect>`.

#![allow(clippy::unwrap_used)] // a test may stop at the first surprise, its helpers too

mod card_signatures;
mod cards;
mod envelope;
mod errors;
mod fleet;
mod golden;
mod legacy;
mod lenient;
mod negotiation;
mod properties;
mod protobuf;
mod requests;
mod rest;
