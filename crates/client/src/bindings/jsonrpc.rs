//! The JSON-RPC binding from the client's side (specification 9): one POST per call, one answer or
//! one stream of them.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, Method as HttpMethod, Request as HttpRequest};
use http_body_util::Full;
use nuncio_wire::bindings::jsonrpc::{self, RequestId};
use nuncio_wire::{Method, Request, Response};
use url::Url;

use crate::bindings::exchange::{
    EVENTS_OR_JSON, JSON, Received, exchange, invalid, not_in_dialect, open, refused,
    version_header, version_value,
};
use crate::bindings::refusal;
use crate::choose_binding::Endpoint;
use crate::error::{ClientError, ClientErrorKind};
use crate::http_client::{HttpClient, peer_of};
use crate::stream::{EventStream, Framing};

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

/// Sends a call and reads its one answer.
pub(crate) async fn call(
    http: &HttpClient,
    endpoint: &Endpoint,
    call: &Call,
) -> Result<Response, ClientError> {
    let (parts, body) = exchange(http, &call.url, call.to_http()).await?;
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

/// Sends a call whose answer is a stream. An ordinary answer is taken too: an error is an error, a
/// result becomes a stream of one event.
pub(crate) async fn open_stream(
    http: &HttpClient,
    endpoint: &Endpoint,
    call: &Call,
) -> Result<EventStream, ClientError> {
    match open(http, &call.url, call.to_http()).await? {
        Received::Stream(body) => Ok(EventStream::new(
            body,
            Framing::JsonRpc,
            endpoint.dialect,
            call.url.clone(),
        )),
        Received::Answer(parts, body) => {
            let response = read_answer(&parts, &body, endpoint, call)?;
            EventStream::of_answer(response, endpoint.dialect, call.url.clone())
        }
    }
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
