//! Keys as JSON (RFC 7517, RFC 8037): one key, a set of trusted ones, and the thumbprint that names
//! a key without an id. Never signs or verifies; that is [`super::key`]'s.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use super::jcs::Json;
use super::key::{Algorithm, KEY_BYTES, KeyError, NOT_A_KEY, PublicKey};

/// Longest key id taken, in characters: it is repeated in every signature.
const MAX_KEY_ID_CHARS: usize = 256;
/// Most keys of one set: each is tried.
const MAX_KEYS: usize = 100;

/// Reads trusted keys: a JWK set (RFC 7517 section 5) or one JWK. Keys of other kinds are left out,
/// as the RFC wants it.
///
/// # Errors
/// When it is neither, names a key id twice, has too many keys, or none that can verify a card.
pub fn read_key_set(text: &str) -> Result<Vec<PublicKey>, KeyError> {
    #[derive(Deserialize)]
    struct KeySet {
        keys: Vec<serde_json::Value>,
    }
    let keys = match serde_json::from_str::<KeySet>(text) {
        Ok(set) => set.keys,
        Err(_) => return Ok(vec![PublicKey::from_jwk(text)?]),
    };
    if keys.len() > MAX_KEYS {
        return Err(KeyError("the key set has more than 100 keys"));
    }
    let keys = keys
        .into_iter()
        .filter_map(|key| serde_json::from_value::<Jwk>(key).ok()?.public().ok());
    let keys: Vec<PublicKey> = keys.collect();
    if keys.is_empty() {
        return Err(KeyError("the key set has no key of P-256 or Ed25519"));
    }
    let twice = |(at, key): (usize, &PublicKey)| keys[..at].iter().any(|it| it.kid == key.kid);
    if keys.iter().enumerate().any(twice) {
        return Err(KeyError("the key set names a key id (`kid`) twice"));
    }
    Ok(keys)
}

/// A key as JSON; `d` is the private half.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Jwk {
    kty: String,
    #[serde(default)]
    crv: String,
    #[serde(default)]
    pub(super) x: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    y: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) d: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kid: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    alg: Option<String>,
    #[serde(default, rename = "use", skip_serializing_if = "Option::is_none")]
    usage: Option<String>,
}

impl Jwk {
    pub(super) fn of(key: &PublicKey) -> Self {
        let (kty, crv) = key.algorithm.curve();
        let (x, y) = match key.algorithm {
            Algorithm::EdDsa => (&key.bytes[..], None),
            // An uncompressed point: 4, then both coordinates.
            Algorithm::Es256 => (
                &key.bytes[1..=KEY_BYTES],
                Some(URL_SAFE_NO_PAD.encode(&key.bytes[1 + KEY_BYTES..])),
            ),
        };
        Self {
            kty: kty.to_owned(),
            crv: crv.to_owned(),
            x: URL_SAFE_NO_PAD.encode(x),
            y,
            d: None,
            kid: Some(key.kid.clone()),
            alg: Some(key.algorithm.as_str().to_owned()),
            usage: Some("sig".to_owned()),
        }
    }

    /// The same with the private half.
    pub(super) fn with_secret(key: &PublicKey, secret: &[u8]) -> Self {
        Self {
            d: Some(URL_SAFE_NO_PAD.encode(secret)),
            ..Self::of(key)
        }
    }

    pub(super) fn public(&self) -> Result<PublicKey, KeyError> {
        let algorithm = [Algorithm::Es256, Algorithm::EdDsa]
            .into_iter()
            .find(|algorithm| algorithm.curve() == (self.kty.as_str(), self.crv.as_str()))
            .ok_or(NOT_A_KEY)?;
        if self
            .alg
            .as_deref()
            .is_some_and(|alg| alg != algorithm.as_str())
        {
            return Err(KeyError("the key's `alg` does not fit its curve"));
        }
        if self.usage.as_deref().is_some_and(|usage| usage != "sig") {
            return Err(KeyError("the key is not for signatures (`use`)"));
        }
        let mut bytes = coordinate(&self.x)?;
        if algorithm == Algorithm::Es256 {
            bytes.insert(0, 4);
            bytes.extend(coordinate(self.y.as_deref().ok_or(NOT_A_KEY)?)?);
        }
        let named = self.kid.as_deref().filter(|kid| !kid.is_empty());
        if named.is_some_and(|kid| kid.chars().count() > MAX_KEY_ID_CHARS) {
            return Err(KeyError(
                "the key's id (`kid`) has more than 256 characters",
            ));
        }
        let kid = named.map_or_else(|| thumbprint(algorithm, &bytes), str::to_owned);
        Ok(PublicKey {
            algorithm,
            kid,
            bytes,
        })
    }
}

/// A coordinate or a private key, which have one length.
pub(super) fn coordinate(text: &str) -> Result<Vec<u8>, KeyError> {
    let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| NOT_A_KEY)?;
    Some(bytes)
        .filter(|bytes| bytes.len() == KEY_BYTES)
        .ok_or(NOT_A_KEY)
}

/// The SHA-256 thumbprint of a key (RFC 7638 section 3): its required members in canonical form.
pub(super) fn thumbprint(algorithm: Algorithm, bytes: &[u8]) -> String {
    let key = PublicKey {
        algorithm,
        kid: String::new(),
        bytes: bytes.to_vec(),
    };
    let jwk = Jwk::of(&key);
    let text = |value: String| Json::Text(value);
    let mut members = vec![
        ("kty".to_owned(), text(jwk.kty)),
        ("crv".to_owned(), text(jwk.crv)),
        ("x".to_owned(), text(jwk.x)),
    ];
    members.extend(jwk.y.map(|y| ("y".to_owned(), text(y))));
    let canonical = Json::Object(members).to_canonical();
    let digest = ring::digest::digest(&ring::digest::SHA256, canonical.as_bytes());
    URL_SAFE_NO_PAD.encode(digest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::card_signature::SigningKey;

    /// The key and thumbprint of RFC 8037 appendix A.3.
    #[test]
    fn a_key_without_an_id_is_known_by_its_thumbprint() {
        let jwk =
            r#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;
        let key = PublicKey::from_jwk(jwk).unwrap();
        assert_eq!(key.kid(), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
    }

    #[test]
    fn a_set_gives_the_keys_it_can_and_no_id_twice() {
        let (one, _) = SigningKey::generate(Algorithm::Es256).unwrap();
        let jwk = one.public().to_jwk();
        let set = format!(r#"{{"keys":[{{"kty":"RSA","n":"AQ","e":"AQAB"}},{jwk}]}}"#);
        assert_eq!(read_key_set(&set).unwrap(), vec![one.public().clone()]);
        assert_eq!(read_key_set(&jwk).unwrap().len(), 1);
        assert!(read_key_set(&format!(r#"{{"keys":[{jwk},{jwk}]}}"#)).is_err());
        assert!(read_key_set(r#"{"keys":[]}"#).is_err() && read_key_set("x").is_err());
    }
}
