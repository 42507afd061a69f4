//! What an HTTP status means that comes instead of an answer of the protocol.

use std::time::Duration;

use http::header::{LOCATION, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, StatusCode};
use url::Url;

use crate::error::{ClientError, ClientErrorKind, plain};
use crate::http_client::peer_of;

/// The error for an answer with this status and body that holds no error of the protocol.
pub(crate) fn from_status(
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
    url: &Url,
) -> ClientError {
    let peer = peer_of(url);
    let said = said(body);
    let (kind, text) = match status.as_u16() {
        401 | 403 => (
            ClientErrorKind::AuthFailed,
            format!("{peer} refused the call ({status}){said}"),
        ),
        429 | 503 => (
            ClientErrorKind::Busy,
            format!("{peer} takes no calls for now ({status}){said}"),
        ),
        300..=399 => {
            let to = headers
                .get(LOCATION)
                .and_then(|value| value.to_str().ok())
                .unwrap_or("nowhere");
            let text = format!(
                "{peer} redirects the call to {} ({status}); calls follow no redirect",
                plain(to)
            );
            (ClientErrorKind::InvalidAnswer, text)
        }
        _ => (
            ClientErrorKind::InvalidAnswer,
            format!("{peer} answered {status}{said}"),
        ),
    };
    let mut error = ClientError::new(kind, text).with_code(status.as_u16().into());
    annotate(&mut error, headers);
    error
}

/// Takes from the headers what the body may lack: how to authenticate, when to come back.
pub(crate) fn annotate(error: &mut ClientError, headers: &HeaderMap) {
    if let Some(after) = retry_after(headers) {
        error.retry_after = Some(after);
    }
    if error.kind == ClientErrorKind::AuthFailed
        && let Some(challenge) = headers
            .get(WWW_AUTHENTICATE)
            .and_then(|value| value.to_str().ok())
    {
        error.hint = Some(format!("the agent asks for: {}", plain(challenge)));
    }
}

/// `Retry-After` in seconds; the form with a date is ignored, since clocks differ.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers
        .get(RETRY_AFTER)?
        .to_str()
        .ok()?
        .trim()
        .parse()
        .ok()?;
    Some(Duration::from_secs(seconds))
}

/// What the body says, for people: the usual members of error objects, else its first words.
fn said(body: &[u8]) -> String {
    #[derive(serde::Deserialize)]
    struct Words {
        #[serde(alias = "message", alias = "detail")]
        error: Option<serde_json::Value>,
    }
    let words = serde_json::from_slice::<Words>(body)
        .ok()
        .and_then(|words| words.error);
    let text = match words {
        Some(serde_json::Value::String(text)) => text,
        Some(other) => other
            .get("message")
            .and_then(|text| text.as_str())
            .map(str::to_owned)
            .unwrap_or_default(),
        None => {
            let text = String::from_utf8_lossy(body);
            if text.trim_start().starts_with('<') {
                String::new()
            } else {
                text.into_owned()
            }
        }
    };
    if text.trim().is_empty() {
        String::new()
    } else {
        format!(": {}", plain(&text))
    }
}
