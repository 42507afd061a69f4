//! Signatures of agent cards: detached JWS (RFC 7515) over the card's canonical form
//! (specification 8.4).
//!
//! [`verify`] looks at the card as it was received, never at a model of it, and only at keys that it
//! is given: a card's own word about keys (`jku`, `jwk`, `x5c`) counts for nothing. `canonical` holds
//! the form that is signed, `key` and `jwk` the keys.

mod canonical;
mod jcs;
mod jwk;
mod jws;
mod key;

pub use canonical::{CanonicalForm, canonicalize};
pub use jwk::read_key_set;
pub use jws::{Unverified, Verified, sign, verify};
pub use key::{Algorithm, KeyError, PublicKey, SigningKey};

/// The card has no canonical form: it is no JSON object, has a name twice, or a number that no
/// double holds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the card cannot be brought into canonical form: {0}")]
pub struct CanonicalError(pub(crate) String);
