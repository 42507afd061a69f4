//! The gRPC binding from the client's side (specification 10): one message out, one or a stream of
//! them back, and a status in the trailers.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName, TE};
use http::response::Parts;
use http::{HeaderMap, HeaderValue, Method as HttpMethod, Request as HttpRequest};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use nuncio_wire::bindings::grpc::{self, FrameReader, GrpcStatus, code};
use nuncio_wire::dialects::protobuf::Package;
use nuncio_wire::{Dialect, Method, Request, Response};
use url::Url;

use crate::bindings::exchange::{invalid, not_in_dialect, version_header, version_value};
use crate::bindings::refusal;
use crate::choose_binding::Endpoint;
use crate::error::{ClientError, ClientErrorKind};
use crate::http_client::{HttpClient, lost, peer_of, read_body};
use crate::limits::{MAX_ANSWER_BYTES, MAX_ERROR_BODY_BYTES, QUICK_CALL_TIMEOUT};
use crate::stream::{EventStream, StreamEvent};

const PROTOBUF: HeaderValue = HeaderValue::from_static(grpc::CONTENT_TYPE);
/// Servers and proxies look at it to see that trailers come through (gRPC over HTTP/2).
const TRAILERS: HeaderValue = HeaderValue::from_static("trailers");
const TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");

/// One call, ready to be sent as often as needed.
pub(crate) struct Call {
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    package: Package,
    method: Method,
    body: Bytes,
}

impl Call {
    /// Writes the call for the service of the endpoint's generation.
    pub(crate) fn new(
        endpoint: &Endpoint,
        request: &Request,
        mut headers: HeaderMap,
    ) -> Result<Self, ClientError> {
        let method = request.method();
        let package = match endpoint.dialect {
            Dialect::V1 | Dialect::V1Slash => Package::V1,
            Dialect::V0_3 | Dialect::Legacy | Dialect::Fleet => Package::V0_3,
        };
        let path = grpc::path(package, method).ok_or_else(|| not_in_dialect(endpoint, method))?;
        let message = package
            .write_request(request.clone())
            .map_err(ClientError::protocol)?;
        let mut url = endpoint.url.clone();
        url.set_path(&path);
        headers.insert(CONTENT_TYPE, PROTOBUF);
        headers.insert(TE, TRAILERS);
        headers.insert(version_header(), version_value(endpoint.version));
        if method != Method::SendMessage && !method.is_streaming() {
            let timeout = HeaderValue::try_from(grpc::write_timeout(QUICK_CALL_TIMEOUT));
            headers.insert(TIMEOUT, timeout.expect("digits and a letter"));
        }
        Ok(Self {
            url,
            headers,
            package,
            method,
            body: grpc::frame(&message),
        })
    }

    /// Refuses what was put behind the path, which names a method and nothing else.
    pub(crate) fn check_url(&self) -> Result<(), ClientError> {
        if self.url.query().is_none() {
            return Ok(());
        }
        let text = format!(
            "{} wants its key in the query of a URL, which gRPC does not have",
            peer_of(&self.url)
        );
        let error = ClientError::new(ClientErrorKind::Usage, text);
        Err(error.with_hint("choose another binding with --transport"))
    }

    fn to_http(&self) -> HttpRequest<Full<Bytes>> {
        let mut request = HttpRequest::new(Full::new(self.body.clone()));
        *request.method_mut() = HttpMethod::POST;
        *request.headers_mut() = self.headers.clone();
        request
    }

    /// Sends the call; what comes back is a stream of messages, be it of one.
    async fn open(&self, http: &HttpClient) -> Result<Messages, ClientError> {
        let answer = http.send_http2(&self.url, self.to_http()).await?;
        let (parts, body) = answer.into_parts();
        if !parts.status.is_success() || !is_grpc(&parts) {
            return Err(not_grpc(&parts, body, &self.url).await);
        }
        if let Some(status) = status_of(&parts.headers)
            && status.code != code::OK
        {
            return Err(refused(&status));
        }
        Ok(Messages {
            body,
            reader: FrameReader::new(MAX_ANSWER_BYTES),
            package: self.package,
            url: self.url.clone(),
            begun: false,
        })
    }
}

/// Sends a call and reads its one answer.
pub(crate) async fn call(http: &HttpClient, call: &Call) -> Result<Response, ClientError> {
    let mut messages = call.open(http).await?;
    let message = messages.next().await.unwrap_or_else(|| {
        let text = format!("{} answered with nothing", peer_of(&call.url));
        Err(ClientError::new(ClientErrorKind::InvalidAnswer, text))
    })?;
    // The status comes after the message and may say that it was not meant.
    if let Some(further) = messages.next().await {
        further?;
        let text = format!("{} answered more than once", peer_of(&call.url));
        return Err(ClientError::new(ClientErrorKind::InvalidAnswer, text));
    }
    let read = call.package.read_response(call.method, message);
    read.map_err(|error| invalid(&call.url, &error))
}

/// Sends a call whose answer is a stream.
pub(crate) async fn open_stream(
    http: &HttpClient,
    endpoint: &Endpoint,
    call: &Call,
) -> Result<EventStream, ClientError> {
    let messages = call.open(http).await?;
    Ok(EventStream::of_messages(
        messages,
        endpoint.dialect,
        call.url.clone(),
    ))
}

/// The messages of an answer as they come.
#[derive(Debug)]
pub(crate) struct Messages {
    body: Incoming,
    reader: FrameReader,
    package: Package,
    url: Url,
    begun: bool,
}

impl Messages {
    /// The next event of a stream; `None` at its good end.
    pub(crate) async fn next_event(&mut self) -> Option<Result<StreamEvent, ClientError>> {
        let message = match self.next().await? {
            Ok(message) => message,
            Err(error) => return Some(Err(error)),
        };
        let read = self.package.read_event(message);
        let event = read.map_err(|error| invalid(&self.url, &error));
        Some(event.map(|(event, last)| StreamEvent {
            id: None,
            event,
            last,
        }))
    }

    /// The next message; `None` at the good end. Cancel-safe.
    async fn next(&mut self) -> Option<Result<Bytes, ClientError>> {
        loop {
            match self.reader.next_message() {
                Ok(Some(message)) => {
                    self.begun = true;
                    return Some(Ok(message));
                }
                Ok(None) => {}
                Err(error) => {
                    let text = format!("{}: {error}", peer_of(&self.url));
                    let error = ClientError::new(ClientErrorKind::InvalidAnswer, text);
                    return Some(Err(error));
                }
            }
            let frame = match self.body.frame().await {
                Some(Ok(frame)) => frame,
                Some(Err(error)) => return Some(Err(lost(&self.url, &error))),
                None => return Some(Err(self.broken_off())),
            };
            match frame.into_data() {
                Ok(data) => self.reader.feed(&data),
                Err(frame) => {
                    let trailers = frame.into_trailers().unwrap_or_default();
                    return self.ended(status_of(&trailers));
                }
            }
        }
    }

    fn ended(&self, status: Option<GrpcStatus>) -> Option<Result<Bytes, ClientError>> {
        let status = match status {
            Some(status) if status.code == code::OK && !self.reader.is_inside() => return None,
            Some(status) if status.code != code::OK => status,
            _ => return Some(Err(self.broken_off())),
        };
        let mut error = refused(&status);
        // What a server that stops says in the middle of a stream is no answer to a question.
        let stops = matches!(status.code, code::UNAVAILABLE | code::CANCELLED);
        if self.begun && stops {
            error.kind = ClientErrorKind::ConnectionLost;
        }
        Some(Err(error))
    }

    fn broken_off(&self) -> ClientError {
        let text = format!(
            "{} ended the call without saying how it went",
            peer_of(&self.url)
        );
        ClientError::new(ClientErrorKind::ConnectionLost, text)
    }
}

fn is_grpc(parts: &Parts) -> bool {
    let value = parts.headers.get(CONTENT_TYPE);
    value
        .and_then(|value| value.to_str().ok())
        .is_some_and(grpc::is_content_type)
}

fn status_of(headers: &HeaderMap) -> Option<GrpcStatus> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    GrpcStatus::read(
        text(grpc::STATUS)?,
        text(grpc::MESSAGE),
        text(grpc::DETAILS),
    )
}

/// The peer's error; a deadline that it kept is our own wait that is over.
fn refused(status: &GrpcStatus) -> ClientError {
    let mut error = ClientError::protocol(status.to_error());
    if status.code == code::DEADLINE_EXCEEDED {
        error.kind = ClientErrorKind::TimedOut;
    }
    if error.message.is_empty() {
        error.message = format!(
            "the agent refused the call with gRPC status {}",
            status.code
        );
    }
    error
}

/// Something else than a gRPC server answered.
async fn not_grpc(parts: &Parts, body: Incoming, url: &Url) -> ClientError {
    if parts.status.is_success() {
        let text = format!("{} does not speak gRPC at this address", peer_of(url));
        return ClientError::new(ClientErrorKind::InvalidAnswer, text);
    }
    match read_body(body, MAX_ERROR_BODY_BYTES, url).await {
        Ok(body) => refusal::from_status(parts.status, &parts.headers, &body, url),
        Err(error) => error,
    }
}
