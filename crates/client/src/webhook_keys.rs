//! What the posts to a webhook must be signed with: Standard Webhooks, `X-A2A-Signature` over the body, or
//! both. Several keys of one kind stand for a change of keys: any of them is good.
//!
//! Reads headers and keeps no state; who was seen before is for whoever takes the posts.

use std::time::Duration;

use http::HeaderMap;
use nuncio_wire::sorted_json;

use crate::webhook_signature::{
    CheckingKey, ED25519_BYTES, HashKey, PRIVATE_PREFIX, PUBLIC_PREFIX, SHARED_KEY_BYTES,
    SHARED_PREFIX, SignatureFault, Signed,
};

/// Keys of a receiver. Shows nothing of them.
#[derive(Clone, Debug, Default)]
pub struct WebhookKeys {
    /// For `webhook-signature`.
    messages: Vec<CheckingKey>,
    /// For `X-A2A-Signature`.
    bodies: Vec<HashKey>,
}

impl WebhookKeys {
    /// Adds a secret: with the prefixes of Standard Webhooks a key of those, else the one of
    /// `X-A2A-Signature`.
    ///
    /// # Errors
    /// What is wrong with it, without showing it.
    pub fn add(&mut self, secret: &str) -> Result<(), String> {
        if secret.is_empty() {
            return Err("it is empty".to_owned());
        }
        if secret.starts_with(PRIVATE_PREFIX) {
            return Err(format!(
                "a private key is for the one who signs: give its public half, `{PUBLIC_PREFIX}…`"
            ));
        }
        let is_standard = [SHARED_PREFIX, PUBLIC_PREFIX]
            .iter()
            .any(|prefix| secret.starts_with(prefix));
        if !is_standard {
            self.bodies.push(HashKey::new(secret.as_bytes()));
            return Ok(());
        }
        let key = CheckingKey::read(secret).ok_or_else(|| {
            format!(
                "`{SHARED_PREFIX}` is followed by base64 of {} to {} bytes, `{PUBLIC_PREFIX}` by base64 \
                 of an Ed25519 public key of {ED25519_BYTES} bytes",
                SHARED_KEY_BYTES.start(),
                SHARED_KEY_BYTES.end()
            )
        })?;
        self.messages.push(key);
        Ok(())
    }

    /// Whether nothing has to be signed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.bodies.is_empty()
    }

    /// Checks a post at the time `now`, in seconds since the epoch. It must be signed in each of the ways
    /// that there is a key for: whoever could leave one out could replay what the other one covers.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        now: i64,
        tolerance: Duration,
    ) -> Result<(), SignatureFault> {
        if !self.messages.is_empty() {
            let signed = Signed {
                id: only(headers, "webhook-id")?,
                timestamp: only(headers, "webhook-timestamp")?,
                signatures: only(headers, "webhook-signature")?,
            };
            let checked = self.messages.iter();
            let mut checked = checked.map(|key| key.check(signed, body, now, tolerance));
            first_good(&mut checked)?;
        }
        if !self.bodies.is_empty() {
            let hash = only(headers, "x-a2a-signature")?;
            let is_over = |body: &[u8]| self.bodies.iter().any(|key| key.is_over_body(hash, body));
            // The Hermes plugin signs another rendering of the same JSON than it sends.
            if !is_over(body) && !is_over(&sorted_json(body)) {
                return Err(SignatureFault::Wrong);
            }
        }
        Ok(())
    }
}

/// The one value of a header: of two, other readers may take the other one.
fn only<'a>(headers: &'a HeaderMap, name: &str) -> Result<&'a str, SignatureFault> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().map_err(|_| SignatureFault::Missing),
        _ => Err(SignatureFault::Missing),
    }
}

/// Good if one key is; else what the one says that knew the signature.
fn first_good(
    checked: &mut dyn Iterator<Item = Result<(), SignatureFault>>,
) -> Result<(), SignatureFault> {
    let mut fault = SignatureFault::Wrong;
    for result in checked {
        match result {
            Ok(()) => return Ok(()),
            Err(SignatureFault::Wrong) => {}
            Err(other) => fault = other,
        }
    }
    Err(fault)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::webhook_signature::{SigningKey, TOLERANCE};

    const SHARED: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const OTHER: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSx";
    /// The first test vector of RFC 8032 section 7.1.
    const PRIVATE: &str = "whsk_nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=";
    const PUBLIC: &str = "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
    const NOW: i64 = 1_767_323_045;
    const BODY: &[u8] = br#"{"b": 1, "a": "caf\u00e9"}"#;

    fn keys(secrets: &[&str]) -> WebhookKeys {
        let mut keys = WebhookKeys::default();
        for secret in secrets {
            keys.add(secret).unwrap();
        }
        keys
    }

    /// Headers of a post that is signed with these keys at this time.
    fn signed(secrets: &[&str], time: i64) -> HeaderMap {
        let sign = |secret: &&str| SigningKey::read(secret).unwrap().sign("msg_1", time, BODY);
        let signatures: Vec<_> = secrets.iter().map(sign).collect();
        let mut headers = HeaderMap::new();
        headers.insert("webhook-id", "msg_1".parse().unwrap());
        headers.insert("webhook-timestamp", time.to_string().parse().unwrap());
        headers.insert("webhook-signature", signatures.join(" ").parse().unwrap());
        headers
    }

    fn check(secrets: &[&str], headers: &HeaderMap) -> Result<(), SignatureFault> {
        keys(secrets).check(headers, BODY, NOW, TOLERANCE)
    }

    #[test]
    fn one_good_signature_of_one_key_is_enough() {
        for (receiver, sender) in [
            (&[SHARED][..], &[SHARED][..]),
            (&[PUBLIC], &[PRIVATE]),
            // Changes of keys, on either side.
            (&[SHARED], &[OTHER, SHARED]),
            (&[OTHER, SHARED], &[SHARED]),
            (&[SHARED, PUBLIC], &[OTHER, PRIVATE]),
        ] {
            assert_eq!(check(receiver, &signed(sender, NOW)), Ok(()), "{sender:?}");
        }
        let wrong = Err(SignatureFault::Wrong);
        assert_eq!(check(&[OTHER, PUBLIC], &signed(&[SHARED], NOW)), wrong);
    }

    #[test]
    fn an_old_post_is_stale_whichever_key_it_was_signed_with() {
        for receiver in [&[SHARED, OTHER], &[OTHER, SHARED]] {
            let stale = Err(SignatureFault::Stale);
            assert_eq!(check(receiver, &signed(&[SHARED], NOW - 3600)), stale);
        }
    }

    #[test]
    fn a_header_that_is_missing_or_there_twice_is_none() {
        for name in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
            let mut headers = signed(&[SHARED], NOW);
            let value = headers.get(name).unwrap().clone();
            headers.append(name, value);
            let missing = Err(SignatureFault::Missing);
            assert_eq!(check(&[SHARED], &headers), missing, "two of {name}");
            headers.remove(name);
            assert_eq!(check(&[SHARED], &headers), missing, "no {name}");
        }
    }

    #[test]
    fn a_hash_over_the_body_or_over_its_sorted_form_is_good() {
        let key = HashKey::new(b"push-secret");
        for covered in [BODY, r#"{"a": "café", "b": 1}"#.as_bytes()] {
            let mut headers = HeaderMap::new();
            headers.insert("x-a2a-signature", key.over_body(covered).parse().unwrap());
            assert_eq!(check(&["push-secret"], &headers), Ok(()));
            assert_eq!(check(&["old", "push-secret"], &headers), Ok(()));
            let wrong = Err(SignatureFault::Wrong);
            assert_eq!(check(&["other"], &headers), wrong);
        }
        let missing = Err(SignatureFault::Missing);
        assert_eq!(check(&["push-secret"], &HeaderMap::new()), missing);
    }

    #[test]
    fn keys_of_both_kinds_ask_for_both_signatures() {
        let both = [SHARED, "push-secret"];
        let mut headers = signed(&[SHARED], NOW);
        assert_eq!(check(&both, &headers), Err(SignatureFault::Missing));
        let hash = HashKey::new(b"push-secret").over_body(BODY);
        headers.insert("x-a2a-signature", hash.parse().unwrap());
        assert_eq!(check(&both, &headers), Ok(()));
        headers.remove("webhook-signature");
        assert_eq!(check(&both, &headers), Err(SignatureFault::Missing));
    }

    #[test]
    fn what_is_no_key_is_refused_and_not_shown() {
        for wrong in [
            "",
            "whsec_",
            "whsec_aHVudGVyMg==",
            "whpk_aHVudGVyMg==",
            PRIVATE,
        ] {
            let error = WebhookKeys::default().add(wrong).unwrap_err();
            assert!(!error.contains("aHVudGVyMg") && !error.contains("nWGxne"));
        }
        assert!(keys(&[]).is_empty() && !keys(&["x"]).is_empty() && !keys(&[SHARED]).is_empty());
    }
}
