//! How posts to webhooks are signed and checked: Standard Webhooks 1.0.0 (`v1`, `v1a`), a hash over the
//! body (`X-Hub-Signature-256`), and one over time and body (`X-Webhook-Signature-V2`).
//!
//! Knows no headers of a request and no clock but the one it is given.

use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac as _};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use sha2::Sha256;
use subtle::ConstantTimeEq as _;

/// What a shared key of Standard Webhooks begins with.
pub const SHARED_PREFIX: &str = "whsec_";
/// What a private key begins with.
pub const PRIVATE_PREFIX: &str = "whsk_";
/// What a public key begins with.
pub const PUBLIC_PREFIX: &str = "whpk_";
/// Sizes of a shared key, in bytes.
pub const SHARED_KEY_BYTES: RangeInclusive<usize> = 24..=64;
/// Size of an Ed25519 seed and of a public key, in bytes (RFC 8032 section 5.1.5).
pub const ED25519_BYTES: usize = 32;
/// How far a post's time may be from ours: what Standard Webhooks suggests.
pub const TOLERANCE: Duration = Duration::from_secs(5 * 60);
/// Most signatures of one post: a sender has a few keys during a change of them.
pub const MAX_SIGNATURES: usize = 10;
/// Most characters of a `webhook-id`: twice those of a UUID and a prefix.
pub const MAX_ID_CHARS: usize = 64;

/// A key that signs as Standard Webhooks says. Shows nothing of itself.
pub struct SigningKey(Kind);

enum Kind {
    /// `v1`: shared with the receiver.
    Shared(Hmac<Sha256>),
    /// `v1a`: Ed25519, whose public half anybody may have.
    Private(Ed25519KeyPair),
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl SigningKey {
    /// Reads `whsec_` and base64 of [`SHARED_KEY_BYTES`], or `whsk_` and base64 of an Ed25519 seed, alone
    /// or with its public key behind it. `None`: it is neither.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        if let Some(text) = text.strip_prefix(PRIVATE_PREFIX) {
            let bytes = STANDARD.decode(text).ok()?;
            let pair = match bytes.len() {
                ED25519_BYTES => Ed25519KeyPair::from_seed_unchecked(&bytes),
                _ => {
                    let (seed, public) = bytes.split_at_checked(ED25519_BYTES)?;
                    Ed25519KeyPair::from_seed_and_public_key(seed, public)
                }
            };
            return pair.ok().map(|pair| Self(Kind::Private(pair)));
        }
        shared_key(text).map(|mac| Self(Kind::Shared(mac)))
    }

    /// What receivers check with, unless it is the secret itself.
    #[must_use]
    pub fn public(&self) -> Option<String> {
        match &self.0 {
            Kind::Shared(_) => None,
            Kind::Private(pair) => {
                let public = STANDARD.encode(pair.public_key());
                Some(format!("{PUBLIC_PREFIX}{public}"))
            }
        }
    }

    /// One entry of `webhook-signature` for a post with this `webhook-id` and `webhook-timestamp`, in
    /// seconds since the epoch.
    #[must_use]
    pub fn sign(&self, id: &str, timestamp: i64, body: &[u8]) -> String {
        let head = format!("{id}.{timestamp}.");
        match &self.0 {
            Kind::Shared(mac) => {
                let mac = over(mac, head.as_bytes(), body).finalize().into_bytes();
                format!("v1,{}", STANDARD.encode(mac))
            }
            Kind::Private(pair) => {
                let signature = pair.sign(&[head.as_bytes(), body].concat());
                format!("v1a,{}", STANDARD.encode(signature))
            }
        }
    }
}

/// A key that checks what Standard Webhooks signs. Shows nothing of itself.
#[derive(Clone)]
pub struct CheckingKey(Check);

#[derive(Clone)]
enum Check {
    Shared(Hmac<Sha256>),
    Public(Vec<u8>),
}

impl fmt::Debug for CheckingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

/// What is wrong with a post.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureFault {
    /// A header of its signature is missing or cannot be read.
    #[error("it lacks a header of its signature, or has one that cannot be read")]
    Missing,
    /// It was signed too long ago, or the clocks differ.
    #[error("it was not signed just now: it is an old one, or the clocks differ")]
    Stale,
    /// None of its signatures is by the key.
    #[error("it is not signed with the key")]
    Wrong,
}

/// The three headers of a post, as they came.
#[derive(Clone, Copy, Debug)]
pub struct Signed<'a> {
    /// `webhook-id`: the same for each try of one delivery.
    pub id: &'a str,
    /// `webhook-timestamp`: seconds since the epoch.
    pub timestamp: &'a str,
    /// `webhook-signature`: signatures with blanks between them.
    pub signatures: &'a str,
}

impl CheckingKey {
    /// Reads `whsec_` and base64 of [`SHARED_KEY_BYTES`], or `whpk_` and base64 of an Ed25519 public key.
    /// `None`: it is neither.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        if let Some(text) = text.strip_prefix(PUBLIC_PREFIX) {
            let bytes = STANDARD.decode(text).ok()?;
            let fits = bytes.len() == ED25519_BYTES;
            return fits.then_some(Self(Check::Public(bytes)));
        }
        shared_key(text).map(|mac| Self(Check::Shared(mac)))
    }

    /// Checks a post at the time `now`, in seconds since the epoch.
    ///
    /// # Errors
    /// What is wrong with it. A signature is looked at before the time it covers.
    pub fn check(
        &self,
        signed: Signed<'_>,
        body: &[u8],
        now: i64,
        tolerance: Duration,
    ) -> Result<(), SignatureFault> {
        let Signed { id, timestamp, .. } = signed;
        let seconds = seconds(timestamp).ok_or(SignatureFault::Missing)?;
        let entries = signed.signatures.split(' ');
        if !is_id(id) || entries.clone().nth(MAX_SIGNATURES).is_some() {
            return Err(SignatureFault::Missing);
        }
        let head = format!("{id}.{timestamp}.");
        if !entries
            .filter_map(|entry| entry.split_once(','))
            .any(|(version, signature)| self.is_ours(version, signature, &head, body))
        {
            return Err(SignatureFault::Wrong);
        }
        match now.abs_diff(seconds) <= tolerance.as_secs() {
            true => Ok(()),
            false => Err(SignatureFault::Stale),
        }
    }

    fn is_ours(&self, version: &str, signature: &str, head: &str, body: &[u8]) -> bool {
        let Ok(signature) = STANDARD.decode(signature) else {
            return false;
        };
        match (&self.0, version) {
            // Takes the same time for every wrong one.
            (Check::Shared(mac), "v1") => {
                let mac = over(mac, head.as_bytes(), body);
                mac.verify_slice(&signature).is_ok()
            }
            (Check::Public(key), "v1a") => {
                let signed = [head.as_bytes(), body].concat();
                let key = UnparsedPublicKey::new(&ED25519, key);
                key.verify(&signed, &signature).is_ok()
            }
            _ => false,
        }
    }
}

/// Only with such ids is it clear where the id ends in what is signed.
fn is_id(id: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=MAX_ID_CHARS).contains(&id.len()) && id.bytes().all(fits)
}

/// Digits and nothing else: no sign, no blank, no exponent.
fn seconds(timestamp: &str) -> Option<i64> {
    let is_plain = timestamp.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| timestamp.parse().ok()).flatten()
}

/// A shared secret of any form that makes plain hashes. Shows nothing of itself.
#[derive(Clone)]
pub struct HashKey(Hmac<Sha256>);

impl fmt::Debug for HashKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl HashKey {
    /// Takes the secret as it is.
    #[must_use]
    pub fn new(secret: &[u8]) -> Self {
        Self(keyed(secret))
    }

    /// HMAC-SHA256 over the body, in lower-case hexadecimal.
    #[must_use]
    pub fn over_body(&self, body: &[u8]) -> String {
        hex(&over(&self.0, b"", body).finalize().into_bytes())
    }

    /// Whether `hash` is the one of [`HashKey::over_body`]. Takes the same time for every wrong one.
    #[must_use]
    pub fn is_over_body(&self, hash: &str, body: &[u8]) -> bool {
        let ours = self.over_body(body);
        bool::from(ours.as_bytes().ct_eq(hash.as_bytes()))
    }

    /// The value of `X-Hub-Signature-256`.
    #[must_use]
    pub fn hub(&self, body: &[u8]) -> String {
        format!("sha256={}", self.over_body(body))
    }

    /// The value of `X-Webhook-Signature-V2`, for a post whose `X-Webhook-Timestamp` is this, in seconds
    /// since the epoch.
    #[must_use]
    pub fn timed(&self, timestamp: i64, body: &[u8]) -> String {
        let head = format!("{timestamp}.");
        hex(&over(&self.0, head.as_bytes(), body).finalize().into_bytes())
    }
}

fn shared_key(text: &str) -> Option<Hmac<Sha256>> {
    let bytes = STANDARD.decode(text.strip_prefix(SHARED_PREFIX)?).ok()?;
    let fits = SHARED_KEY_BYTES.contains(&bytes.len());
    fits.then(|| keyed(&bytes))
}

fn keyed(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("HMAC takes any key length")
}

fn over(mac: &Hmac<Sha256>, head: &[u8], body: &[u8]) -> Hmac<Sha256> {
    let mut mac = mac.clone();
    mac.update(head);
    mac.update(body);
    mac
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of Standard Webhooks.
    const KEY: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    const TIME: i64 = 1_614_265_330;
    const BODY: &[u8] = br#"{"test": 2432232314}"#;
    const SIGNATURE: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
    /// The first test vector of RFC 8032 section 7.1.
    const SEED: &str = "nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=";
    const PUBLIC: &str = "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";

    fn check(key: &str, signed: Signed<'_>, body: &[u8], now: i64) -> Result<(), SignatureFault> {
        let key = CheckingKey::read(key).unwrap();
        key.check(signed, body, now, TOLERANCE)
    }

    #[test]
    fn hashes_are_those_that_hermes_checks() {
        let key = HashKey::new(b"whsecret");
        let body = br#"{"text":"hello"}"#;
        let plain = "605715228c3e335d03625cf04e66b83ca93d7b660e668421b8d940eb1f5e4e1a";
        assert_eq!(key.over_body(body), plain);
        assert!(key.is_over_body(plain, body));
        for wrong in ["", &plain[1..], &plain.to_uppercase()] {
            assert!(!key.is_over_body(wrong, body), "{wrong}");
        }
        assert!(!key.is_over_body(plain, b"{}"));
        assert_eq!(key.hub(body), format!("sha256={plain}"));
        assert_eq!(
            key.timed(1_767_323_045, body),
            "e3fb0ffc7ddd5eb9267e0061cee0a56b17b3aec80333e40a7ab107fcb0756806"
        );
        assert_eq!(format!("{key:?}"), "[secret]");
    }

    #[test]
    fn a_shared_key_signs_as_standard_webhooks_says_and_checks_the_same() {
        let key = SigningKey::read(KEY).unwrap();
        assert_eq!(key.sign(ID, TIME, BODY), SIGNATURE);
        assert_eq!(key.public(), None);
        let timestamp = TIME.to_string();
        let both = format!("v1,AAAA v2,x {SIGNATURE}");
        for signatures in [SIGNATURE, &both] {
            let signed = Signed {
                id: ID,
                timestamp: &timestamp,
                signatures,
            };
            assert_eq!(check(KEY, signed, BODY, TIME), Ok(()));
            let other = Signed {
                id: "msg_other",
                ..signed
            };
            assert_eq!(check(KEY, other, BODY, TIME), Err(SignatureFault::Wrong));
            assert_eq!(check(KEY, signed, b"{}", TIME), Err(SignatureFault::Wrong));
            let later = (TIME + 1).to_string();
            let moved = Signed {
                timestamp: &later,
                ..signed
            };
            assert_eq!(check(KEY, moved, BODY, TIME), Err(SignatureFault::Wrong));
        }
    }

    #[test]
    fn a_post_counts_only_around_its_time() {
        let timestamp = TIME.to_string();
        let signed = Signed {
            id: ID,
            timestamp: &timestamp,
            signatures: SIGNATURE,
        };
        let limit = i64::try_from(TOLERANCE.as_secs()).unwrap();
        for (now, expected) in [
            (TIME - limit, Ok(())),
            (TIME + limit, Ok(())),
            (TIME - limit - 1, Err(SignatureFault::Stale)),
            (TIME + limit + 1, Err(SignatureFault::Stale)),
            (i64::MAX, Err(SignatureFault::Stale)),
        ] {
            assert_eq!(check(KEY, signed, BODY, now), expected, "{now}");
        }
    }

    #[test]
    fn headers_have_one_form() {
        let timestamp = TIME.to_string();
        let long = "a".repeat(MAX_ID_CHARS + 1);
        let sign = |id: &str, seconds: i64| SigningKey::read(KEY).unwrap().sign(id, seconds, BODY);
        let (dotted, lengthy) = (sign("a.b", TIME), sign(&long, TIME));
        let many = format!("{}{SIGNATURE}", "v1,x ".repeat(MAX_SIGNATURES));
        for (id, timestamp, signatures) in [
            ("", timestamp.as_str(), SIGNATURE),
            ("a.b", &timestamp, &dotted),
            (&long, &timestamp, &lengthy),
            (ID, &timestamp, &many),
            (ID, "soon", SIGNATURE),
            (ID, "", SIGNATURE),
            (ID, "1e9", SIGNATURE),
            (ID, " 1", SIGNATURE),
            (ID, "+1614265330", SIGNATURE),
            (ID, "-1", &sign(ID, -1)),
        ] {
            let signed = Signed {
                id,
                timestamp,
                signatures,
            };
            let checked = check(KEY, signed, BODY, TIME);
            assert_eq!(checked, Err(SignatureFault::Missing), "{id} {timestamp}");
        }
        let few = format!("{}{SIGNATURE}", "v1,x ".repeat(MAX_SIGNATURES - 1));
        let signed = Signed {
            id: ID,
            timestamp: &timestamp,
            signatures: &few,
        };
        assert_eq!(check(KEY, signed, BODY, TIME), Ok(()));
        for other in ["v1a", "v2"] {
            let taken = SIGNATURE.replace("v1", other);
            let signed = Signed {
                signatures: &taken,
                ..signed
            };
            assert_eq!(check(KEY, signed, BODY, TIME), Err(SignatureFault::Wrong));
        }
    }

    #[test]
    fn a_private_key_is_checked_with_its_public_half() {
        let both = [
            STANDARD.decode(SEED).unwrap(),
            STANDARD.decode(&PUBLIC[PUBLIC_PREFIX.len()..]).unwrap(),
        ]
        .concat();
        for private in [SEED.to_owned(), STANDARD.encode(both)] {
            let key = SigningKey::read(&format!("whsk_{private}")).unwrap();
            assert_eq!(key.public().as_deref(), Some(PUBLIC));
            let signatures = key.sign("msg_1", 7, b"{}");
            let signed = Signed {
                id: "msg_1",
                timestamp: "7",
                signatures: &signatures,
            };
            assert_eq!(check(PUBLIC, signed, b"{}", 7), Ok(()));
            assert_eq!(check(PUBLIC, signed, b"[]", 7), Err(SignatureFault::Wrong));
            assert_eq!(check(KEY, signed, b"{}", 7), Err(SignatureFault::Wrong));
        }
    }

    #[test]
    fn what_is_no_key_is_none() {
        for wrong in [
            "hunter2",
            "whsec_hunter2",
            "whsec_aHVudGVyMg==",
            "whsk_aHVudGVyMg==",
            // A seed with a public key that is not its own.
            "whsk_nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2CdYbGd7/1aYLqESvSS7CzEREnFaXsyaRlwO6wDHK5/YA==",
            "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "whpk_aHVudGVyMg==",
        ] {
            assert!(SigningKey::read(wrong).is_none(), "{wrong}");
            assert!(CheckingKey::read(wrong).is_none(), "{wrong}");
        }
    }
}
