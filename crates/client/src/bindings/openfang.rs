//! The REST interface of OpenFang servers: bare tasks of the 2025-04 dialect at fixed paths.
//!
//! Such a server reads one text part only and takes everything else for nothing, so the message is
//! turned into one text before it goes out.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, Method as HttpMethod, Request as HttpRequest, StatusCode};
use http_body_util::Full;
use nuncio_wire::bindings::jsonrpc::{self, RequestId};
use nuncio_wire::dialects::Dialect;
use nuncio_wire::{A2aError, ErrorKind, Method, Part, PartContent, Request, Response};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use url::Url;

use crate::bindings::exchange::{JSON, invalid, version_header, version_value};
use crate::bindings::refusal;
use crate::choose_binding::Endpoint;
use crate::error::{ClientError, ClientErrorKind};
use crate::http_client::{HttpClient, peer_of, read_body};
use crate::limits::MAX_ANSWER_BYTES;

/// Sends one operation below `base` (which ends in `/a2a/`) and reads the bare task.
pub(crate) async fn call(
    http: &HttpClient,
    endpoint: &Endpoint,
    base: &Url,
    request: &Request,
    mut headers: HeaderMap,
) -> Result<Response, ClientError> {
    let (verb, path, body) = route(request).ok_or_else(|| {
        let text = format!("{} has no {}", peer_of(base), request.method().name());
        ClientError::protocol(A2aError::new(ErrorKind::UnsupportedOperation, text))
    })?;
    let mut url = base.join(&path).map_err(|error| {
        ClientError::new(
            ClientErrorKind::Usage,
            format!("the task id makes no path: {error}"),
        )
    })?;
    url.set_query(base.query());
    headers.insert(CONTENT_TYPE, JSON);
    headers.insert(ACCEPT, JSON);
    headers.insert(version_header(), version_value(endpoint.version));
    let mut outgoing = HttpRequest::new(Full::new(body));
    *outgoing.method_mut() = verb;
    *outgoing.headers_mut() = headers;
    let (parts, body) = http.send(&url, outgoing).await?.into_parts();
    let body = read_body(body, MAX_ANSWER_BYTES, &url).await?;
    read_task(request, parts.status, &parts.headers, &body, &url)
}

fn route(request: &Request) -> Option<(HttpMethod, String, Bytes)> {
    let of_task = |id: &str| format!("tasks/{}", utf8_percent_encode(id, NON_ALPHANUMERIC));
    Some(match request {
        Request::SendMessage(send) => {
            let mut send = send.clone();
            send.message.parts = vec![Part::text(as_one_text(&send.message.parts))];
            let name = Dialect::Legacy.method_name(Method::SendMessage)?;
            let (mut params, mut body) = (Vec::new(), Vec::new());
            Dialect::Legacy.write_params(&Request::SendMessage(send), &mut params);
            jsonrpc::write_call(&RequestId::number(1), name, &params, &mut body);
            (HttpMethod::POST, "tasks/send".to_owned(), body.into())
        }
        Request::GetTask(get) => (HttpMethod::GET, of_task(&get.id), Bytes::new()),
        Request::CancelTask(cancel) => (
            HttpMethod::POST,
            format!("{}/cancel", of_task(&cancel.id)),
            Bytes::from_static(b"{}"),
        ),
        _ => return None,
    })
}

/// Everything a message holds, as text.
fn as_one_text(parts: &[Part]) -> String {
    let pieces = parts.iter().map(|part| match &part.content {
        PartContent::Text(text) => text.clone(),
        PartContent::Data(data) => data.get().to_owned(),
        PartContent::Url(url) => {
            format!("[file: {} {url}]", part.filename.as_deref().unwrap_or(""))
        }
        PartContent::Raw(bytes) => {
            let name = part.filename.as_deref().unwrap_or("unnamed");
            format!(
                "[file: {name}, {} bytes, cannot be passed on to this agent]",
                bytes.len()
            )
        }
    });
    pieces.collect::<Vec<_>>().join("\n")
}

/// A failed run is a task too, with HTTP 500. Other servers of the dialect wrap it in JSON-RPC.
fn read_task(
    request: &Request,
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
    url: &Url,
) -> Result<Response, ClientError> {
    let read = |text: &str| Dialect::Legacy.read_response(request.method(), text);
    let bare = std::str::from_utf8(body)
        .ok()
        .and_then(|text| read(text).ok());
    if let Some(response) = bare.filter(|_| status.is_success() || status.is_server_error()) {
        return Ok(response);
    }
    if status.is_success() {
        let answer = jsonrpc::read_answer(body).map_err(|error| invalid(url, &error))?;
        let result = answer.outcome.map_err(ClientError::protocol)?;
        return read(result).map_err(|error| invalid(url, &error));
    }
    let error = refusal::from_status(status, headers, body, url);
    match request {
        Request::GetTask(it) if status == StatusCode::NOT_FOUND => Err(not_found(&it.id)),
        Request::CancelTask(it) if status == StatusCode::NOT_FOUND => Err(not_found(&it.id)),
        Request::CancelTask(_) if status == StatusCode::CONFLICT => {
            let refused = A2aError::new(ErrorKind::TaskNotCancelable, error.message);
            Err(ClientError::protocol(refused))
        }
        _ => Err(error),
    }
}

fn not_found(id: &str) -> ClientError {
    ClientError::protocol(A2aError::task_not_found(id))
}
