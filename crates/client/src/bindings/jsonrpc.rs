//! The JSON-RPC binding from the client's side (specification 9): one POST per call, one answer or
//! one stream of them.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method as HttpMethod, Request as HttpRequest};
use http_body_util::Full;
use nuncio_wire::bindings::jsonrpc::{self, RequestId};
use nuncio_wire::{A2aError, ErrorKind, Method, Request, Response, Version};
use url::Url;

use crate::bindings::refusal;
use crate::choose_binding::Endpoint;
use crate::error::{ClientError, ClientErrorKind};
use crate::http_client::{HttpClient, peer_of, read_body};
use crate::limits::{MAX_ANSWER_BYTES, MAX_ERROR_BODY_BYTES};
use crate::stream::EventStream;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS_OR_JSON: HeaderValue = HeaderValue::from_static("text/event-stream, application/json");

/// One call, ready to be sent as often as needed: the same bytes each time.
pub(crate) struct Call {
    pub(crate) url: Url,
    pub(crate) method: Method,
    pub(crate) id: RequestId,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Call {
    /// Writes the call in the endpoint's dialect.
    pub(crate) fn new(
        endpoint: &Endpoint,
        request: &Request,
        id: RequestId,
        mut headers: HeaderMap,
    ) -> Result<Self, ClientError> {
        let method = request.method();
        let Some(name) = endpoint.dialect.method_name(method) else {
            return Err(not_in_dialect(endpoint, method));
        };
        let mut params = Vec::new();
        endpoint.dialect.write_params(request, &mut params);
        let mut body = Vec::with_capacity(params.len() + 96);
        jsonrpc::write_call(&id, name, &params, &mut body);
        headers.insert(CONTENT_TYPE, JSON);
        headers.insert(
            ACCEPT,
            if method.is_streaming() {
                EVENTS_OR_JSON
            } else {
                JSON
            },
        );
        headers.insert(version_header(), version_value(endpoint.version));
        Ok(Self {
            url: endpoint.url.clone(),
            method,
            id,
            headers,
            body: body.into(),
        })
    }

    fn to_http(&self) -> HttpRequest<Full<Bytes>> {
        let mut request = HttpRequest::new(Full::new(self.body.clone()));
        *request.method_mut() = HttpMethod::POST;
        *request.headers_mut() = self.headers.clone();
        request
    }
}

/// The dialect has no such operation: known before anything is sent.
fn not_in_dialect(endpoint: &Endpoint, method: Method) -> ClientError {
    let text = format!(
        "{} does not exist in the protocol version that {} speaks",
        method.name(),
        peer_of(&endpoint.url)
    );
    ClientError::protocol(A2aError::new(ErrorKind::UnsupportedOperation, text))
}

pub(crate) fn version_header() -> HeaderName {
    HeaderName::from_bytes(Version::HEADER.as_bytes()).expect("a constant header name")
}

pub(crate) fn version_value(version: Version) -> HeaderValue {
    HeaderValue::from_str(&version.to_string()).expect("digits and a dot")
}

/// Sends a call and reads its one answer.
pub(crate) async fn call(
    http: &HttpClient,
    endpoint: &Endpoint,
    call: &Call,
) -> Result<Response, ClientError> {
    let (parts, body) = http.send(&call.url, call.to_http()).await?.into_parts();
    check_encoding(&parts.headers, &call.url)?;
    let limit = if parts.status.is_success() {
        MAX_ANSWER_BYTES
    } else {
        MAX_ERROR_BODY_BYTES
    };
    let body = read_body(body, limit, &call.url).await?;
    read_answer(&parts, &body, endpoint, call)
}

fn read_answer(
    parts: &http::response::Parts,
    body: &[u8],
    endpoint: &Endpoint,
    call: &Call,
) -> Result<Response, ClientError> {
    let answer = match call.method {
        Method::DeleteTaskPushNotificationConfig => jsonrpc::read_void_answer(body),
        _ => jsonrpc::read_answer(body),
    };
    let answer = match answer {
        // Whatever the body looks like, these statuses say more.
        Err(_) if !parts.status.is_success() => {
            return Err(refusal::from_status(
                parts.status,
                &parts.headers,
                body,
                &call.url,
            ));
        }
        answer => answer.map_err(|error| invalid(&call.url, &error))?,
    };
    let result = answer.outcome.map_err(|error| refused(error, parts))?;
    check_id(answer.id.as_ref(), call)?;
    endpoint
        .dialect
        .read_response(call.method, result)
        .map_err(|error| invalid(&call.url, &error))
}

/// The peer's error; a status that says more than a free-form body decides what it is.
fn refused(error: A2aError, parts: &http::response::Parts) -> ClientError {
    let unnamed = error.kind == ErrorKind::Internal;
    let mut error = ClientError::protocol(error);
    let by_status = match parts.status.as_u16() {
        401 | 403 => Some(ClientErrorKind::AuthFailed),
        429 | 503 => Some(ClientErrorKind::Busy),
        _ => None,
    };
    if let Some(kind) = by_status {
        error.kind = kind;
        if unnamed {
            error.code = Some(parts.status.as_u16().into());
        }
    }
    refusal::annotate(&mut error, &parts.headers);
    error
}

/// Sends a call whose answer is a stream. An ordinary answer is taken too: an error is an error, a
/// result becomes a stream of one event.
pub(crate) async fn open_stream(
    http: &HttpClient,
    endpoint: &Endpoint,
    call: &Call,
) -> Result<EventStream, ClientError> {
    let (parts, body) = http.send(&call.url, call.to_http()).await?.into_parts();
    check_encoding(&parts.headers, &call.url)?;
    let media_type = parts
        .headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let media_type = media_type.unwrap_or_default().to_ascii_lowercase();
    if parts.status.is_success() && media_type.starts_with("text/event-stream") {
        return Ok(EventStream::new(body, endpoint.dialect, call.url.clone()));
    }
    let limit = if parts.status.is_success() {
        MAX_ANSWER_BYTES
    } else {
        MAX_ERROR_BODY_BYTES
    };
    let body = read_body(body, limit, &call.url).await?;
    if parts.status.is_success() && !media_type.contains("json") {
        let text = format!(
            "{} answered with '{}' instead of a stream of events",
            peer_of(&call.url),
            crate::plain(&media_type)
        );
        return Err(ClientError::new(ClientErrorKind::InvalidAnswer, text));
    }
    let response = read_answer(&parts, &body, endpoint, call)?;
    EventStream::of_answer(response, endpoint.dialect, call.url.clone())
}

/// An answer may lack its id, but it must not carry another call's.
fn check_id(found: Option<&RequestId>, call: &Call) -> Result<(), ClientError> {
    match found {
        Some(id) if *id != call.id && !id.is_null() => {
            let text = format!("{} answered another call than ours", peer_of(&call.url));
            Err(ClientError::new(ClientErrorKind::InvalidAnswer, text))
        }
        _ => Ok(()),
    }
}

pub(crate) fn invalid(url: &Url, error: &A2aError) -> ClientError {
    let text = format!("{}: {}", peer_of(url), crate::plain(&error.message));
    ClientError::new(ClientErrorKind::InvalidAnswer, text)
}

/// We ask for no compression; a body that is compressed all the same may be a bomb.
fn check_encoding(headers: &HeaderMap, url: &Url) -> Result<(), ClientError> {
    match headers.get(CONTENT_ENCODING) {
        Some(encoding) if encoding != "identity" => {
            let text = format!("{} compressed its answer without being asked", peer_of(url));
            Err(ClientError::new(ClientErrorKind::InvalidAnswer, text))
        }
        _ => Ok(()),
    }
}
