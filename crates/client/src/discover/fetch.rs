//! Fetches one card: redirects by hand, each hop under the guard, credentials never across origins.

use bytes::Bytes;
use http::header::{ACCEPT, LOCATION, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Request, StatusCode};
use http_body_util::Full;
use nuncio_wire::dialects::CardGeneration;
use nuncio_wire::{AgentCard, Version};
use url::Url;

use crate::bindings::exchange::{version_header, version_value};
use crate::bindings::refusal;
use crate::credentials::Credentials;
use crate::discover::{parse_card, shown};
use crate::error::{ClientError, ClientErrorKind};
use crate::http_client::{HttpClient, peer_of, read_body};
use crate::limits::{CARD_TIMEOUT, MAX_CARD_BYTES, MAX_CARD_REDIRECTS};

const CARD_TYPES: HeaderValue = HeaderValue::from_static("application/json, application/a2a+json");

/// The card at `url`, its generation, the bytes it came in, and where it was after redirects.
pub(super) async fn fetch(
    http: &HttpClient,
    url: &Url,
    credentials: &Credentials,
) -> Result<(AgentCard, CardGeneration, Bytes, Url), ClientError> {
    let fetched =
        tokio::time::timeout(CARD_TIMEOUT, follow_redirects(http, url, credentials)).await;
    let (body, url) = fetched.unwrap_or_else(|_| {
        let seconds = CARD_TIMEOUT.as_secs();
        let text = format!("{} gave no card within {seconds} s", peer_of(url));
        Err(ClientError::new(ClientErrorKind::ConnectionLost, text))
    })?;
    let (card, generation) = parse_card(&body, &shown(&url))?;
    Ok((card, generation, body, url))
}

async fn follow_redirects(
    http: &HttpClient,
    first: &Url,
    credentials: &Credentials,
) -> Result<(Bytes, Url), ClientError> {
    let mut url = first.clone();
    for _ in 0..=MAX_CARD_REDIRECTS {
        let (status, headers, body) = get(http, &url, credentials).await?;
        if !status.is_redirection() {
            return answer(status, &headers, body, url);
        }
        url = redirect_target(&url, &headers)?;
        tracing::debug!(to = %shown(&url), "redirected");
    }
    let text = format!(
        "{} redirects more than {MAX_CARD_REDIRECTS} times",
        shown(first)
    );
    Err(ClientError::new(ClientErrorKind::CardInvalid, text))
}

/// One GET, repeated with credentials where the server asks for some (a2a-cli specification 12.4:
/// none is shown to an endpoint that did not declare a scheme).
async fn get(
    http: &HttpClient,
    url: &Url,
    credentials: &Credentials,
) -> Result<(StatusCode, HeaderMap, Bytes), ClientError> {
    let first = get_once(http, url.clone(), HeaderMap::new()).await?;
    let asked = first.0 == StatusCode::UNAUTHORIZED && first.1.contains_key(WWW_AUTHENTICATE);
    if !asked || credentials.is_empty() || !credentials.are_for(url) {
        return Ok(first);
    }
    let (mut url, mut headers) = (url.clone(), HeaderMap::new());
    credentials.attach(None, &mut url, &mut headers)?;
    get_once(http, url, headers).await
}

async fn get_once(
    http: &HttpClient,
    url: Url,
    mut headers: HeaderMap,
) -> Result<(StatusCode, HeaderMap, Bytes), ClientError> {
    headers.insert(ACCEPT, CARD_TYPES);
    headers.insert(version_header(), version_value(Version::V1_0));
    let mut request = Request::new(Full::new(Bytes::new()));
    *request.headers_mut() = headers;
    let (parts, body) = http.send(&url, request).await?.into_parts();
    let body = read_body(body, MAX_CARD_BYTES, &url)
        .await
        .map_err(|mut error| {
            if error.kind == ClientErrorKind::InvalidAnswer {
                error.kind = ClientErrorKind::CardInvalid;
            }
            error
        })?;
    Ok((parts.status, parts.headers, body))
}

fn answer(
    status: StatusCode,
    headers: &HeaderMap,
    body: Bytes,
    url: Url,
) -> Result<(Bytes, Url), ClientError> {
    if status.is_success() {
        return Ok((body, url));
    }
    let mut error = refusal::from_status(status, headers, &body, &url);
    if matches!(error.kind, ClientErrorKind::InvalidAnswer) {
        error.kind = ClientErrorKind::CardNotFound;
    }
    Err(error)
}

/// Where a redirect leads. From https to http is refused: the card could be anybody's then.
fn redirect_target(from: &Url, headers: &HeaderMap) -> Result<Url, ClientError> {
    let refused = |why: &str| {
        let text = format!("{} redirects {why}", shown(from));
        ClientError::new(ClientErrorKind::CardInvalid, text)
    };
    let location = headers.get(LOCATION).and_then(|value| value.to_str().ok());
    let target = location
        .and_then(|to| from.join(to).ok())
        .ok_or_else(|| refused("to nowhere"))?;
    if from.scheme() == "https" && target.scheme() == "http" {
        return Err(refused("from https to http"));
    }
    Ok(target)
}
