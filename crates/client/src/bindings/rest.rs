//! The HTTP+JSON binding from the client's side (specification 11): a path per operation below the
//! interface's URL, bare answers, errors by status and body.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::response::Parts;
use http::{HeaderMap, HeaderValue, Method as HttpMethod, Request as HttpRequest, StatusCode};
use http_body_util::Full;
use nuncio_wire::bindings::rest::{self, Outgoing, Verb};
use nuncio_wire::{Method, Request, Response};
use url::Url;

use crate::bindings::exchange::{
    EVENTS_OR_JSON, JSON, Received, exchange, invalid, not_in_dialect, open, refused,
    version_header, version_value,
};
use crate::bindings::refusal;
use crate::choose_binding::Endpoint;
use crate::error::{ClientError, ClientErrorKind};
use crate::http_client::HttpClient;
use crate::stream::{EventStream, Framing};

/// Servers answer in the type of the request's body; the longer one is for those that insist on it
/// where there is none.
const EITHER_JSON: HeaderValue =
    HeaderValue::from_static("application/json, application/a2a+json;q=0.9");

/// One call, ready to be sent as often as needed.
pub(crate) struct Call {
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    method: Method,
    verb: HttpMethod,
    body: Bytes,
}

impl Call {
    /// Writes the call in the endpoint's dialect.
    pub(crate) fn new(
        endpoint: &Endpoint,
        request: &Request,
        mut headers: HeaderMap,
    ) -> Result<Self, ClientError> {
        let method = request.method();
        let outgoing = rest::write_request(endpoint.dialect, request)
            .ok_or_else(|| not_in_dialect(endpoint, method))?;
        let url = address(&endpoint.url, &outgoing)?;
        if outgoing.body.is_some() {
            headers.insert(CONTENT_TYPE, JSON);
        }
        headers.insert(
            ACCEPT,
            if method.is_streaming() {
                EVENTS_OR_JSON
            } else {
                EITHER_JSON
            },
        );
        headers.insert(version_header(), version_value(endpoint.version));
        Ok(Self {
            url,
            headers,
            method,
            verb: match outgoing.verb {
                Verb::Get => HttpMethod::GET,
                Verb::Post => HttpMethod::POST,
                Verb::Delete => HttpMethod::DELETE,
            },
            body: outgoing.body.unwrap_or_default().into(),
        })
    }

    fn to_http(&self) -> HttpRequest<Full<Bytes>> {
        let mut request = HttpRequest::new(Full::new(self.body.clone()));
        *request.method_mut() = self.verb.clone();
        *request.headers_mut() = self.headers.clone();
        request
    }

    /// The same as GET, without a body.
    fn to_get(&self) -> HttpRequest<Full<Bytes>> {
        let mut request = HttpRequest::new(Full::default());
        *request.headers_mut() = self.headers.clone();
        request.headers_mut().remove(CONTENT_TYPE);
        request
    }
}

/// The interface's URL with path and query of the request behind its own.
fn address(base: &Url, outgoing: &Outgoing) -> Result<Url, ClientError> {
    let mut url = base.clone();
    let path = format!("{}{}", base.path().trim_end_matches('/'), outgoing.path);
    url.set_path(&path);
    // A URL has no way to say `.` and `..` other than as a step on the way.
    if url.path() != path {
        let text = "an id of this form cannot stand in the path of an address";
        return Err(ClientError::new(ClientErrorKind::Usage, text));
    }
    if let Some(query) = &outgoing.query {
        let joined = match base.query() {
            Some(own) if !own.is_empty() => format!("{own}&{query}"),
            _ => query.clone(),
        };
        url.set_query(Some(&joined));
    }
    Ok(url)
}

/// Sends a call and reads its one answer.
pub(crate) async fn call(
    http: &HttpClient,
    endpoint: &Endpoint,
    call: &Call,
) -> Result<Response, ClientError> {
    let (parts, body) = exchange(http, &call.url, call.to_http()).await?;
    read_answer(&parts, &body, endpoint, call)
}

/// Sends a call whose answer is a stream. An ordinary answer is taken too: an error is an error, a
/// result becomes a stream of one event.
pub(crate) async fn open_stream(
    http: &HttpClient,
    endpoint: &Endpoint,
    call: &Call,
) -> Result<EventStream, ClientError> {
    let mut received = open(http, &call.url, call.to_http()).await?;
    // The proto has GET for a subscription, the table of the text POST; servers take one or both.
    if call.method == Method::SubscribeToTask
        && let Received::Answer(parts, _) = &received
        && parts.status == StatusCode::METHOD_NOT_ALLOWED
    {
        received = open(http, &call.url, call.to_get()).await?;
    }
    match received {
        Received::Stream(body) => Ok(EventStream::new(
            body,
            Framing::Bare,
            endpoint.dialect,
            call.url.clone(),
        )),
        Received::Answer(parts, body) => {
            let response = read_answer(&parts, &body, endpoint, call)?;
            EventStream::of_answer(response, endpoint.dialect, call.url.clone())
        }
    }
}

fn read_answer(
    parts: &Parts,
    body: &[u8],
    endpoint: &Endpoint,
    call: &Call,
) -> Result<Response, ClientError> {
    if parts.status.is_success() {
        return rest::read_response(endpoint.dialect, call.method, body)
            .map_err(|error| invalid(&call.url, &error));
    }
    Err(match rest::read_error(parts.status.as_u16(), body) {
        Some(error) => refused(error, parts),
        None => refusal::from_status(parts.status, &parts.headers, body, &call.url),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use nuncio_wire::Dialect;
    use nuncio_wire::operation::GetTaskRequest;

    fn addressed(base: &str, id: &str) -> Result<String, ClientError> {
        let request = Request::GetTask(GetTaskRequest {
            tenant: Some("t".to_owned()),
            id: id.to_owned(),
            history_length: Some(1),
        });
        let outgoing = rest::write_request(Dialect::V1, &request).unwrap();
        address(&Url::parse(base).unwrap(), &outgoing).map(|url| url.to_string())
    }

    #[test]
    fn paths_are_appended_to_the_interfaces_own() {
        for (base, id, expected) in [
            ("https://h", "x", "https://h/t/tasks/x?historyLength=1"),
            ("https://h/", "x", "https://h/t/tasks/x?historyLength=1"),
            (
                "https://h/a/?k=v",
                "a/../b c",
                "https://h/a/t/tasks/a%2F..%2Fb%20c?k=v&historyLength=1",
            ),
        ] {
            assert_eq!(addressed(base, id).unwrap(), expected);
        }
        for id in [".", ".."] {
            let error = addressed("https://h/a", id).unwrap_err();
            assert_eq!(error.kind, ClientErrorKind::Usage);
        }
    }
}
