//! Keys that sign cards and keys that are trusted to: ES256 and EdDSA, read from a JWK ([`super::jwk`])
//! or, the private ones, from PKCS #8 in PEM.
//!
//! A key knows its algorithm; a signature's header can only agree with it. ring does the
//! arithmetic, because TLS brings it along already.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{
    self, ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
    KeyPair as _, UnparsedPublicKey,
};
use std::fmt;
use std::str::FromStr;

use super::jwk::{Jwk, coordinate, thumbprint};

/// Bytes of a coordinate, a private key and an Ed25519 public key.
pub(super) const KEY_BYTES: usize = 32;
/// A signature algorithm (RFC 7518, RFC 8037). There are no others here, so none can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// ECDSA with P-256 and SHA-256.
    Es256,
    /// Ed25519.
    EdDsa,
}

impl Algorithm {
    /// The name in a JWS header.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::EdDsa => "EdDSA",
        }
    }

    pub(super) fn curve(self) -> (&'static str, &'static str) {
        match self {
            Self::Es256 => ("EC", "P-256"),
            Self::EdDsa => ("OKP", "Ed25519"),
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Algorithm {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        [Self::Es256, Self::EdDsa]
            .into_iter()
            .find(|algorithm| algorithm.as_str() == text)
            .ok_or(KeyError("the algorithm is neither ES256 nor EdDSA"))
    }
}

/// What is wrong with a key. Never shows any part of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct KeyError(pub(super) &'static str);

pub(super) const NOT_A_KEY: KeyError =
    KeyError("this is neither a JWK of P-256 or Ed25519 nor a PKCS #8 key of such a curve in PEM");

/// A key that may verify a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    pub(super) algorithm: Algorithm,
    pub(super) kid: String,
    /// Uncompressed point, or the 32 bytes of Ed25519.
    pub(super) bytes: Vec<u8>,
}

impl PublicKey {
    /// Reads a JWK; a private one gives its public half. Without `kid`, the key's id is its
    /// thumbprint (RFC 7638).
    ///
    /// # Errors
    /// When it is no key of P-256 or Ed25519, or is not for signatures.
    pub fn from_jwk(jwk: &str) -> Result<Self, KeyError> {
        let jwk: Jwk = serde_json::from_str(jwk).map_err(|_| KeyError("this is no JWK"))?;
        jwk.public()
    }

    /// The key as a JWK.
    #[must_use]
    pub fn to_jwk(&self) -> String {
        serde_json::to_string(&Jwk::of(self)).expect("a key has a JSON form")
    }

    /// The key's id.
    #[must_use]
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// The one algorithm it is for.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    pub(super) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let algorithm: &dyn signature::VerificationAlgorithm = match self.algorithm {
            Algorithm::Es256 => &ECDSA_P256_SHA256_FIXED,
            Algorithm::EdDsa => &signature::ED25519,
        };
        UnparsedPublicKey::new(algorithm, &self.bytes)
            .verify(message, signature)
            .is_ok()
    }
}

/// A key that signs cards. Its private half never shows, but for [`SigningKey::to_private_jwk`].
pub struct SigningKey {
    pair: Pair,
    public: PublicKey,
}

enum Pair {
    Es256(EcdsaKeyPair, SystemRandom),
    EdDsa(Ed25519KeyPair),
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey")
            .field("kid", &self.public.kid)
            .finish_non_exhaustive()
    }
}

impl SigningKey {
    /// Reads a private key: a JWK, or PKCS #8 in PEM as OpenSSL writes it.
    ///
    /// # Errors
    /// When it is no private key of P-256 or Ed25519, or its halves do not belong together.
    pub fn read(text: &str) -> Result<Self, KeyError> {
        if text.trim_start().starts_with('{') {
            let jwk: Jwk = serde_json::from_str(text).map_err(|_| NOT_A_KEY)?;
            return Self::from_jwk(&jwk);
        }
        let der = pem_body(text).ok_or(NOT_A_KEY)?;
        let random = SystemRandom::new();
        if let Ok(pair) = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der) {
            return Ok(Self::new(Pair::EdDsa(pair), None));
        }
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &der, &random);
        let pair = pair.map_err(|_| NOT_A_KEY)?;
        Ok(Self::new(Pair::Es256(pair, random), None))
    }

    /// A new key and its private JWK, which only its owner may see.
    ///
    /// # Errors
    /// When the system gives no randomness.
    pub fn generate(algorithm: Algorithm) -> Result<(Self, String), KeyError> {
        let failed = |_| KeyError("the system gave no randomness for a key");
        let random = SystemRandom::new();
        let secret = match algorithm {
            Algorithm::EdDsa => {
                let seed: [u8; KEY_BYTES] = ring::rand::generate(&random).map_err(failed)?.expose();
                seed.to_vec()
            }
            Algorithm::Es256 => {
                let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
                let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).map_err(failed)?;
                let pair = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random)
                    .expect("a key that was just made can be read");
                let secret = private_scalar(document.as_ref());
                let key = Self::new(Pair::Es256(pair, random), None);
                let jwk = key.private_jwk(&secret);
                return Ok((key, jwk));
            }
        };
        let pair = Ed25519KeyPair::from_seed_unchecked(&secret).expect("the seed has its length");
        let key = Self::new(Pair::EdDsa(pair), None);
        let jwk = key.private_jwk(&secret);
        Ok((key, jwk))
    }

    /// The half that may be given away.
    #[must_use]
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// Signs. ECDSA draws randomness, so two signatures of one message differ.
    pub(super) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        match &self.pair {
            Pair::EdDsa(pair) => Ok(pair.sign(message).as_ref().to_vec()),
            Pair::Es256(pair, random) => {
                let signature = pair.sign(random, message);
                let signature = signature
                    .map_err(|_| KeyError("the system gave no randomness to sign with"))?;
                Ok(signature.as_ref().to_vec())
            }
        }
    }

    fn new(pair: Pair, kid: Option<String>) -> Self {
        let (algorithm, bytes) = match &pair {
            Pair::Es256(pair, _) => (Algorithm::Es256, pair.public_key().as_ref().to_vec()),
            Pair::EdDsa(pair) => (Algorithm::EdDsa, pair.public_key().as_ref().to_vec()),
        };
        let kid = kid.unwrap_or_else(|| thumbprint(algorithm, &bytes));
        Self {
            pair,
            public: PublicKey {
                algorithm,
                kid,
                bytes,
            },
        }
    }

    fn from_jwk(jwk: &Jwk) -> Result<Self, KeyError> {
        let public = jwk.public()?;
        let mismatch =
            KeyError("the private and the public half of the key do not belong together");
        let missing = KeyError("this is a public key; signing needs the private one (`d`)");
        let secret = coordinate(jwk.d.as_deref().ok_or(missing)?)?;
        let random = SystemRandom::new();
        let pair = match public.algorithm {
            Algorithm::EdDsa => Pair::EdDsa(
                Ed25519KeyPair::from_seed_and_public_key(&secret, &public.bytes)
                    .map_err(|_| mismatch)?,
            ),
            Algorithm::Es256 => Pair::Es256(
                EcdsaKeyPair::from_private_key_and_public_key(
                    &ECDSA_P256_SHA256_FIXED_SIGNING,
                    &secret,
                    &public.bytes,
                    &random,
                )
                .map_err(|_| mismatch)?,
                random,
            ),
        };
        Ok(Self::new(pair, Some(public.kid)))
    }

    fn private_jwk(&self, secret: &[u8]) -> String {
        let jwk = Jwk::with_secret(&self.public, secret);
        serde_json::to_string_pretty(&jwk).expect("a key has a JSON form")
    }
}

/// The DER of the first PEM block that is a PKCS #8 private key.
fn pem_body(text: &str) -> Option<Vec<u8>> {
    let (_, rest) = text.split_once("-----BEGIN PRIVATE KEY-----")?;
    let (body, _) = rest.split_once("-----END PRIVATE KEY-----")?;
    let body: String = body.split_whitespace().collect();
    STANDARD.decode(body).ok()
}

/// The private scalar in a document that ring has made (RFC 5915: version 1, then 32 octets).
fn private_scalar(document: &[u8]) -> Vec<u8> {
    const BEFORE: [u8; 5] = [0x02, 0x01, 0x01, 0x04, KEY_BYTES as u8];
    let at = document
        .windows(BEFORE.len())
        .position(|window| window == BEFORE)
        .expect("a P-256 key holds its scalar behind its version");
    let start = at + BEFORE.len();
    document[start..start + KEY_BYTES].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_key_reads_back_and_shows_nothing() {
        for algorithm in [Algorithm::Es256, Algorithm::EdDsa] {
            let (key, jwk) = SigningKey::generate(algorithm).unwrap();
            let read = SigningKey::read(&jwk).unwrap();
            assert_eq!(read.public(), key.public());
            let signature = read.sign(b"m").unwrap();
            let public = PublicKey::from_jwk(&key.public().to_jwk()).unwrap();
            assert!(public.verifies(b"m", &signature) && !public.verifies(b"n", &signature));
            let secret = serde_json::from_str::<Jwk>(&jwk).unwrap().d.unwrap();
            assert!(!format!("{key:?}").contains(&secret));
            assert!(!key.public().to_jwk().contains(&secret));
        }
    }

    #[test]
    fn keys_of_openssl_are_taken() {
        let ed25519 = "-----BEGIN PRIVATE KEY-----\n\
            MC4CAQAwBQYDK2VwBCIEIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f\n\
            -----END PRIVATE KEY-----\n";
        let key = SigningKey::read(ed25519).unwrap();
        assert!(
            key.public()
                .to_jwk()
                .contains("A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg")
        );
    }

    #[test]
    fn what_is_no_fitting_key_is_refused() {
        let (_, jwk) = SigningKey::generate(Algorithm::EdDsa).unwrap();
        let (other, _) = SigningKey::generate(Algorithm::EdDsa).unwrap();
        let other: Jwk = serde_json::from_str(&other.public().to_jwk()).unwrap();
        let mine: Jwk = serde_json::from_str(&jwk).unwrap();
        for text in [
            jwk.replace("EdDSA", "ES256"),
            jwk.replace(&mine.x, &other.x),
            jwk.replace("\"sig\"", "\"enc\""),
            jwk.replace(mine.d.as_deref().unwrap(), "AAAA"),
            r#"{"kty":"oct","k":"AAAA"}"#.to_owned(),
            "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----".to_owned(),
        ] {
            let error = SigningKey::read(&text).unwrap_err();
            assert!(!error.to_string().contains(mine.d.as_deref().unwrap()));
        }
    }
}
