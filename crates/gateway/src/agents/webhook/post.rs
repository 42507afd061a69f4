//! Posts one message to the agent's webhook: signed, and again under the same id where that may help.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};
use nuncio_client::http_client::peer_of;
use nuncio_client::webhook_signature::{
    ED25519_BYTES, HashKey, PRIVATE_PREFIX, SHARED_KEY_BYTES, SHARED_PREFIX, SigningKey,
};
use nuncio_client::{AddressPolicy, HttpService, Webhooks};
use std::time::Duration;

use crate::agents::completions::Halt;
use crate::clock;
use crate::config::{WebhookConfig, WebhookSignature};
use crate::push::schedule::{Plea, Schedule};

/// How long a receiver may take to show that it is there.
const PROBE_LIMIT: Duration = Duration::from_secs(10);
/// Nothing is added where a receiver is overloaded: the turn's time runs.
const NO_SLOW_DOWN: crate::config::Duration = crate::config::Duration::from_secs(0);

/// A webhook and the key it knows us by.
pub(super) struct Post {
    webhooks: Webhooks,
    url: url::Url,
    key: Key,
    schedule: Schedule,
    limit: Duration,
}

/// The forms of signature, each with its key.
enum Key {
    Hub(HashKey),
    Timestamped(HashKey),
    Standard(SigningKey),
}

/// How a try ended.
enum Tried {
    Taken,
    /// It will not be taken, whatever is done: the status.
    Refused(u16),
    /// It may be taken later: why not now, and what the receiver asks for.
    Failed(String, Plea),
}

impl Post {
    /// The webhook that `config` names, whose secrets have been resolved.
    ///
    /// # Errors
    /// What is wrong with the secret.
    pub(super) fn new(config: &WebhookConfig) -> Result<Self, String> {
        let url = config.url.url().clone();
        let mut policy = AddressPolicy::public_only();
        policy.allow(&url);
        let secret = config.secret.secret().map_or("", |secret| secret.expose());
        let key = match config.signature {
            WebhookSignature::Hub => Key::Hub(HashKey::new(secret.as_bytes())),
            WebhookSignature::Timestamped => Key::Timestamped(HashKey::new(secret.as_bytes())),
            // Without the secret there is nothing to sign with, nor anything to check.
            WebhookSignature::Standard => Key::Standard(standard_key(secret)?),
        };
        Ok(Self {
            webhooks: Webhooks::new(policy),
            url,
            key,
            schedule: Schedule::new(&config.retry_delays, NO_SLOW_DOWN),
            limit: config.post_timeout.get(),
        })
    }

    /// `host:port`, as errors for the operator name it.
    pub(super) fn peer(&self) -> String {
        peer_of(&self.url)
    }

    /// Whether anything answers there, without posting.
    pub(super) async fn probe(&self) -> Result<String, String> {
        let mut origin = self.url.clone();
        origin.set_path("/");
        origin.set_query(None);
        let service = HttpService::new(&origin, None);
        let (get, no_headers) = (http::Method::GET, HeaderMap::new());
        let answered = service.call(get, "", no_headers, None, PROBE_LIMIT).await;
        answered.map_err(|error| error.message)?;
        Ok(format!("a server answers at {}", self.peer()))
    }

    /// Posts until it is taken, or for good not. `id` is the same for each try.
    pub(super) async fn send(&self, id: &str, body: &Bytes) -> Result<(), Halt> {
        for tries in 1.. {
            let (reason, plea) = match self.attempt(id, body.clone()).await {
                Tried::Taken => return Ok(()),
                Tried::Refused(status) => {
                    let reason = format!("the agent's webhook refused the message (HTTP {status})");
                    return Err(Halt::fault(reason, self.peer()));
                }
                Tried::Failed(reason, plea) => (reason, plea),
            };
            let Some(wait) = self.schedule.wait(tries, plea) else {
                let told = "the agent's webhook did not take the message";
                return Err(Halt::fault(told, format!("{}: {reason}", self.peer())));
            };
            tracing::debug!(peer = %self.peer(), tries, %reason, "a webhook is posted to again");
            tokio::time::sleep(wait).await;
        }
        unreachable!("the tries are bounded")
    }

    async fn attempt(&self, id: &str, body: Bytes) -> Tried {
        let headers = self.headers(id, clock::now_millis() / 1000, &body);
        let posted = self.webhooks.post(&self.url, headers, body, self.limit);
        let answer = match posted.await {
            Ok(answer) => answer,
            Err(error) => return Tried::Failed(error.message, Plea::default()),
        };
        match answer.status {
            200..=299 => Tried::Taken,
            status @ (408 | 425 | 429 | 500..) => {
                let plea = Plea {
                    slow_down: false,
                    retry_after: answer.retry_after,
                };
                Tried::Failed(format!("it answered {status}"), plea)
            }
            status => Tried::Refused(status),
        }
    }

    /// The headers of a try at this time, in seconds since the epoch.
    fn headers(&self, id: &str, seconds: i64, body: &[u8]) -> HeaderMap {
        let time = seconds.to_string();
        let json = "application/json".to_owned();
        let mut named = vec![
            (CONTENT_TYPE.as_str(), json),
            ("x-request-id", id.to_owned()),
        ];
        match &self.key {
            Key::Hub(key) => named.push(("x-hub-signature-256", key.hub(body))),
            Key::Timestamped(key) => named.extend([
                ("x-webhook-timestamp", time),
                ("x-webhook-signature-v2", key.timed(seconds, body)),
            ]),
            Key::Standard(key) => named.extend([
                ("webhook-id", id.to_owned()),
                ("webhook-timestamp", time),
                ("webhook-signature", key.sign(id, seconds, body)),
            ]),
        }
        let values = named.into_iter().filter_map(|(name, value)| {
            let value = HeaderValue::from_str(&value).ok()?;
            Some((http::HeaderName::from_static(name), value))
        });
        values.collect()
    }
}

fn standard_key(secret: &str) -> Result<SigningKey, String> {
    SigningKey::read(secret).ok_or_else(|| {
        format!(
            "with `signature = \"standard\"` the secret must be `{SHARED_PREFIX}` and base64 of {} to \
             {} bytes, or `{PRIVATE_PREFIX}` and base64 of an Ed25519 seed of {ED25519_BYTES} bytes: \
             make one with `echo {SHARED_PREFIX}$(openssl rand -base64 32)`",
            SHARED_KEY_BYTES.start(),
            SHARED_KEY_BYTES.end()
        )
    })
}
