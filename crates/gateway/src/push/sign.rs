//! Signs what is sent: `X-A2A-Signature` over the body, `webhook-signature` (Standard Webhooks 1.0.0,
//! `v1` and `v1a`) over id, time and body.

use http::HeaderValue;
use nuncio_client::webhook_signature::{
    ED25519_BYTES, HashKey, PRIVATE_PREFIX, SHARED_KEY_BYTES, SHARED_PREFIX, SigningKey,
};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

use crate::config::Config;

/// The keys of one gateway.
pub(super) struct Signer {
    /// HMAC over the body alone.
    body: Option<HashKey>,
    /// Standard Webhooks, several during a change of keys.
    message: Vec<SigningKey>,
}

impl Signer {
    /// Takes the keys of the configuration; the error names the one that is no good.
    pub(super) fn new(config: &Config) -> Result<Self, String> {
        let secret = config.push.secret.as_ref();
        let secret = secret.or(config.security.bearer_token.as_ref());
        let body = secret.and_then(|secret| secret.secret());
        let mut message = Vec::new();
        for (index, key) in config.push.signing_keys.iter().enumerate() {
            let Some(key) = key.secret() else { continue };
            let read = SigningKey::read(key.expose()).ok_or_else(|| {
                format!(
                    "push.signing_keys.{index} must be `{SHARED_PREFIX}` and base64 of {} to {} \
                     bytes, or `{PRIVATE_PREFIX}` and base64 of an Ed25519 seed of \
                     {ED25519_BYTES} bytes: make one with `echo {SHARED_PREFIX}$(openssl rand -base64 \
                     32)`",
                    SHARED_KEY_BYTES.start(),
                    SHARED_KEY_BYTES.end()
                )
            })?;
            if let Some(public) = read.public() {
                tracing::info!(key = index, %public, "webhooks are signed with a private key");
            }
            message.push(read);
        }
        Ok(Self {
            body: body.map(|secret| HashKey::new(secret.expose().as_bytes())),
            message,
        })
    }

    /// `X-A2A-Signature`: lower-case hex of the HMAC over exactly these bytes.
    pub(super) fn body_signature(&self, body: &[u8]) -> Option<HeaderValue> {
        HeaderValue::from_str(&self.body.as_ref()?.over_body(body)).ok()
    }

    /// `webhook-signature`: one `v1,` or `v1a,` entry for each key, divided by blanks.
    pub(super) fn message_signature(
        &self,
        id: &str,
        timestamp: i64,
        body: &[u8],
    ) -> Option<HeaderValue> {
        let keys = self.message.iter();
        let signatures: Vec<_> = keys.map(|key| key.sign(id, timestamp, body)).collect();
        if signatures.is_empty() {
            return None;
        }
        HeaderValue::from_str(&signatures.join(" ")).ok()
    }
}

/// The id of one event for one webhook: the same for every try, in every process.
pub(super) fn delivery_id(task: &str, config: &str, number: u64, version: u64) -> String {
    let mut hash = Sha256::new();
    for text in [task, config] {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    hash.update(number.to_le_bytes());
    hash.update(version.to_le_bytes());
    // 128 bits are enough to tell deliveries apart.
    format!("msg_{}", hex(&hash.finalize()[..16]))
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing into a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Secret, SecretRef};
    use nuncio_wire::sorted_json as canonical;

    fn given(secret: &str) -> SecretRef {
        SecretRef::given(Secret::new(secret), "a test")
    }

    #[test]
    fn the_body_is_signed_in_the_form_that_both_kinds_of_receivers_check() {
        let body = r#"{"statusUpdate": {"taskId": "task-0123456789abcdef", "contextId": "ctx-1", "status": {"state": "TASK_STATE_COMPLETED", "timestamp": "2026-01-02T03:04:05.678Z", "message": {"role": "ROLE_AGENT", "parts": [{"text": "caf\u00e9", "mediaType": "text/plain"}], "messageId": "m1", "contextId": "ctx-1"}}}}"#;
        let mut config = Config::default();
        config.push.secret = Some(given("push-secret"));
        config.security.bearer_token = Some(given("shared"));
        let signer = Signer::new(&config).unwrap();
        let signature = "2e849e6c061f53f1ec8508bb239c826d0e87353af15bb9639707cf1d24c5e591";
        assert_eq!(
            signer.body_signature(&canonical(body.as_bytes())).unwrap(),
            signature
        );
        let as_it_came = "e3c69dfe4edfc62201ce17e9c8dcf4a9b4221ccf05159eb5a2c6f0d0f4855a1f";
        assert_eq!(signer.body_signature(body.as_bytes()).unwrap(), as_it_came);
        assert_eq!(signer.message_signature("m", 1, b""), None);

        config.push.secret = None;
        config.security.bearer_token = Some(given("push-secret"));
        let signer = Signer::new(&config).unwrap();
        assert_eq!(signer.body_signature(body.as_bytes()).unwrap(), as_it_came);
        assert_eq!(
            Signer::new(&Config::default()).unwrap().body_signature(b""),
            None
        );
    }

    #[test]
    fn messages_are_signed_as_standard_webhooks_says() {
        let mut config = Config::default();
        let key = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        config.push.signing_keys = vec![given(key)];
        let body = br#"{"test": 2432232314}"#;
        let sign = |config: &Config| {
            let signer = Signer::new(config).unwrap();
            let id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
            signer.message_signature(id, 1_614_265_330, body).unwrap()
        };
        let alone = sign(&config);
        assert_eq!(alone, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        config
            .push
            .signing_keys
            .push(given("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSx"));
        let both = sign(&config).to_str().unwrap().to_owned();
        let (one, other) = both.split_once(' ').unwrap();
        assert_eq!(one, alone);
        assert!(other.starts_with("v1,") && other != one);
    }

    #[test]
    fn a_private_key_signs_beside_shared_ones() {
        let shared = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        // The first test vector of RFC 8032 section 7.1.
        let private = "whsk_nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=";
        let mut config = Config::default();
        config.push.signing_keys = vec![given(shared), given(private)];
        let signer = Signer::new(&config).unwrap();
        let header = signer.message_signature("msg_1", 7, b"{}").unwrap();
        let (first, second) = header.to_str().unwrap().split_once(' ').unwrap();
        assert!(first.starts_with("v1,") && second.starts_with("v1a,"));
    }

    #[test]
    fn a_key_that_is_none_is_named_and_not_shown() {
        for wrong in [
            "hunter2",
            "whsec_hunter2",
            "whsec_aHVudGVyMg==",
            "whsk_aHVudGVyMg==",
            "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        ] {
            let mut config = Config::default();
            config.push.signing_keys = vec![given(wrong)];
            let error = Signer::new(&config).err().unwrap();
            assert!(
                error.contains("push.signing_keys.0") && !error.contains(wrong),
                "{error}"
            );
        }
    }

    #[test]
    fn ids_tell_deliveries_apart() {
        let id = delivery_id("t", "c", 1, 2);
        assert_eq!(id, delivery_id("t", "c", 1, 2));
        for other in [
            ("u", "c", 1, 2),
            ("t", "d", 1, 2),
            ("t", "c", 2, 2),
            ("t", "c", 1, 3),
            ("tc", "", 1, 2),
        ] {
            assert_ne!(id, delivery_id(other.0, other.1, other.2, other.3));
        }
        assert_eq!(id.len(), 36);
    }
}
