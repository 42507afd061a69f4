//! Signing and verifying: the JWS with its payload left out (RFC 7515 appendix F).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use super::CanonicalError;
use super::canonical::{CanonicalForm, Card};
use super::key::{Algorithm, KeyError, PublicKey, SigningKey};
use crate::agent_card::AgentCardSignature;

/// Most signatures of one card that are looked at: each costs a verification.
const MAX_SIGNATURES: usize = 16;

/// A card with a good signature of a trusted key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// The key that signed.
    pub kid: String,
    /// Its algorithm.
    pub algorithm: Algorithm,
    /// What the signature covers.
    pub form: CanonicalForm,
    /// Members at the top of the card that the signature does not cover, because 1.0 does not know
    /// them; none in [`CanonicalForm::Specification`].
    pub uncovered: Vec<String>,
}

/// Why a card is not verified.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unverified {
    /// It has no signature.
    #[error("the card has no signature")]
    Absent,
    /// None of its signatures counts; one reason for each.
    #[error("{}", reasons(.0))]
    Unverifiable(Vec<String>),
}

fn reasons(reasons: &[String]) -> String {
    let several = reasons.len() > 1;
    let numbered = reasons.iter().enumerate().map(|(at, reason)| {
        if several {
            format!("signature {}: {reason}", at + 1)
        } else {
            reason.clone()
        }
    });
    numbered.collect::<Vec<_>>().join("; ")
}

/// What a protected header says, as far as it may be heeded: its `jku`, `jwk` and the like are
/// not read at all.
#[derive(Serialize, Deserialize)]
struct Header {
    alg: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    crit: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    typ: Option<String>,
}

/// Signs the JSON of a card with a key, in each form that differs: one signature for readers that go
/// by the text, one for the official SDKs. They go into `signatures`, which is never covered.
///
/// # Errors
/// When the card has no canonical form, or the system no randomness.
pub fn sign(card: &[u8], key: &SigningKey) -> Result<Vec<AgentCardSignature>, CanonicalError> {
    let card = Card::read(card)?;
    let mut payloads: Vec<Vec<u8>> = Vec::new();
    for form in CanonicalForm::ALL {
        let payload = card.canonical(form);
        if !payloads.contains(&payload) {
            payloads.push(payload);
        }
    }
    let signed = payloads.iter().map(|payload| sign_payload(payload, key));
    let signed: Result<Vec<_>, KeyError> = signed.collect();
    signed.map_err(|error| CanonicalError(error.to_string()))
}

fn sign_payload(payload: &[u8], key: &SigningKey) -> Result<AgentCardSignature, KeyError> {
    let header = Header {
        alg: key.public().algorithm().as_str().to_owned(),
        crit: None,
        kid: Some(key.public().kid().to_owned()),
        typ: Some("JOSE".to_owned()),
    };
    let header = serde_json::to_vec(&header).expect("a header has a JSON form");
    let protected = URL_SAFE_NO_PAD.encode(header);
    let signature = key.sign(&signing_input(&protected, payload))?;
    Ok(AgentCardSignature {
        protected,
        signature: URL_SAFE_NO_PAD.encode(signature),
        header: None,
    })
}

fn signing_input(protected: &str, payload: &[u8]) -> Vec<u8> {
    format!("{protected}.{}", URL_SAFE_NO_PAD.encode(payload)).into_bytes()
}

/// Looks for a signature of `card`, as it was received, by one of these keys. One suffices.
///
/// # Errors
/// [`Unverified::Absent`] for a card without signatures, else one reason for each of them.
pub fn verify(card: &[u8], trusted: &[PublicKey]) -> Result<Verified, Unverified> {
    let signatures = signatures_of(card)?;
    if signatures.is_empty() {
        return Err(Unverified::Absent);
    }
    let card = Card::read(card).map_err(|error| unverifiable(error.to_string()))?;
    let payloads = CanonicalForm::ALL.map(|form| (form, card.canonical(form)));
    let mut reasons = Vec::new();
    for signature in signatures.iter().take(MAX_SIGNATURES) {
        match check(signature, &payloads, trusted) {
            Ok((key, form)) => {
                return Ok(Verified {
                    kid: key.kid().to_owned(),
                    algorithm: key.algorithm(),
                    form,
                    uncovered: match form {
                        CanonicalForm::Specification => Vec::new(),
                        CanonicalForm::Sdk => card.unknown_members(),
                    },
                });
            }
            Err(reason) => reasons.push(reason),
        }
    }
    Err(Unverified::Unverifiable(reasons))
}

fn unverifiable(reason: String) -> Unverified {
    Unverified::Unverifiable(vec![reason])
}

fn signatures_of(card: &[u8]) -> Result<Vec<AgentCardSignature>, Unverified> {
    #[derive(Deserialize)]
    struct Signed {
        #[serde(default)]
        signatures: Option<Vec<AgentCardSignature>>,
    }
    let signed: Signed = serde_json::from_slice(card)
        .map_err(|error| unverifiable(format!("the card's signatures cannot be read: {error}")))?;
    Ok(signed.signatures.unwrap_or_default())
}

fn check<'a>(
    signature: &AgentCardSignature,
    payloads: &[(CanonicalForm, Vec<u8>)],
    trusted: &'a [PublicKey],
) -> Result<(&'a PublicKey, CanonicalForm), String> {
    let header = read_header(&signature.protected).ok_or("its protected header cannot be read")?;
    if header.crit.is_some() {
        return Err("it asks for an extension of JWS (`crit`), and none is known here".to_owned());
    }
    // The algorithms are fixed; `none` is not among them.
    let algorithm: Algorithm = header.alg.parse().map_err(|_| {
        format!(
            "its algorithm {:?} is none of ES256 and EdDSA",
            shortened(&header.alg)
        )
    })?;
    let kid = header.kid.ok_or("it names no key (`kid`)")?;
    let key = trusted
        .iter()
        .find(|key| key.kid() == kid)
        .ok_or_else(|| format!("its key {:?} is not trusted", shortened(&kid)))?;
    if key.algorithm() != algorithm {
        let text = format!("its key {:?} is for {}", shortened(&kid), key.algorithm());
        return Err(text);
    }
    let bytes = URL_SAFE_NO_PAD
        .decode(&signature.signature)
        .map_err(|_| "it is not base64url")?;
    let fits = |payload: &[u8]| key.verifies(&signing_input(&signature.protected, payload), &bytes);
    payloads
        .iter()
        .find(|(_, payload)| fits(payload))
        .map(|(form, _)| (key, *form))
        .ok_or_else(|| {
            format!(
                "key {:?} did not sign this card: it was changed, or the signature is another's",
                shortened(&kid)
            )
        })
}

fn read_header(protected: &str) -> Option<Header> {
    let bytes = URL_SAFE_NO_PAD.decode(protected).ok()?;
    // A name that stands twice could be read in two ways.
    serde_json::from_slice::<super::jcs::Json>(&bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// A stranger's word for an error's text.
fn shortened(text: &str) -> String {
    const MAX_SHOWN: usize = 64;
    text.chars().take(MAX_SHOWN).collect()
}
