//! Posts to a webhook that a stranger named: one try, bounded in time and in what is read.
//!
//! Owns what an answer means for the next try; decides no retry. The guard checks the address that
//! is dialled, no redirect is followed, and nothing of the answer's body is kept.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::{HOST, RETRY_AFTER};
use http::{HeaderMap, Method, Request};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use tokio::time::Instant;
use url::Url;

use crate::address_guard::AddressPolicy;
use crate::error::{ClientError, ClientErrorKind};
use crate::http_client::{HttpClient, peer_of};
use crate::tls::TlsSettings;

/// Most bytes of an answer that are read, so that its connection can be used again (16 KiB).
pub const MAX_WEBHOOK_ANSWER_BYTES: usize = 16 * 1024;
/// How long the rest of an answer is read for after its head has come.
const DRAIN_LIMIT: Duration = Duration::from_secs(1);

/// Posts to webhooks. Clones share their connections.
#[derive(Clone)]
pub struct Webhooks {
    http: HttpClient,
}

/// How a webhook answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WebhookAnswer {
    /// The HTTP status.
    pub status: u16,
    /// How long the receiver asks to be left alone, if it says so in a way that can be read.
    pub retry_after: Option<Duration>,
}

impl Webhooks {
    /// Posts to what `policy` allows.
    #[must_use]
    pub fn new(policy: AddressPolicy) -> Self {
        Self {
            http: HttpClient::new(policy, TlsSettings::default()),
        }
    }

    /// Posts once and waits at most `limit` for the head of the answer.
    ///
    /// # Errors
    /// [`ClientErrorKind::TimedOut`], [`ClientErrorKind::AddressRefused`],
    /// [`ClientErrorKind::Unreachable`] or [`ClientErrorKind::ConnectionLost`].
    pub async fn post(
        &self,
        url: &Url,
        mut headers: HeaderMap,
        body: Bytes,
        limit: Duration,
    ) -> Result<WebhookAnswer, ClientError> {
        headers.remove(HOST);
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.headers_mut() = headers;
        let end = Instant::now() + limit;
        let answered = tokio::time::timeout_at(end, self.http.send_quietly(url, request));
        let response = answered.await.map_err(|_| {
            let text = format!("{} did not answer within {limit:?}", peer_of(url));
            ClientError::new(ClientErrorKind::TimedOut, text)
        })??;
        let answer = WebhookAnswer {
            status: response.status().as_u16(),
            retry_after: response.headers().get(RETRY_AFTER).and_then(retry_after),
        };
        let drained = end.min(Instant::now() + DRAIN_LIMIT);
        let _ = tokio::time::timeout_at(drained, drain(response.into_body())).await;
        Ok(answer)
    }
}

/// Reads what is left of an answer, up to the bound.
async fn drain(mut body: Incoming) {
    let mut read = 0;
    while let Some(Ok(frame)) = body.frame().await {
        read += frame.data_ref().map_or(0, Bytes::len);
        if read > MAX_WEBHOOK_ANSWER_BYTES {
            return;
        }
    }
}

/// Seconds or a date (RFC 9110 section 10.2.3); a date that has passed is no wait.
fn retry_after(value: &http::HeaderValue) -> Option<Duration> {
    let text = value.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(SystemTime::now()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_read_as_seconds_or_as_a_date() {
        let read = |text: &str| retry_after(&text.parse().unwrap());
        assert_eq!(read("120"), Some(Duration::from_secs(120)));
        assert_eq!(read("1000000000"), Some(Duration::from_secs(1_000_000_000)));
        assert_eq!(read("Wed, 21 Oct 2015 07:28:00 GMT"), Some(Duration::ZERO));
        let later = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(100));
        assert!(read(&later).is_some_and(|wait| wait > Duration::from_secs(90)));
        for wrong in ["-5", "", "soon", "1.5", "99999999999999999999999"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
