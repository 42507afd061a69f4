//! The one integration binary: behaviour of the codecs as bytes in and bytes out, over every
//! dialect. Golden wire files stand in `tests/golden/<dialect>`.

mod cards;
mod envelope;
mod errors;
mod golden;
mod legacy;
mod lenient;
mod negotiation;
mod properties;
mod requests;
