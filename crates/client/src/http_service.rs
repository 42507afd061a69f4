//! An HTTP service that is no A2A agent: a model's endpoint, an agent's own API. JSON goes in; JSON or
//! a stream of server-sent events comes out.
//!
//! Calls what the operator named, wherever that is, and nothing else. Repeats nothing by itself.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, DATE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use nuncio_wire::bindings::sse::{SseEvent, SseReader};
use url::Url;

use crate::address_guard::AddressPolicy;
use crate::error::{ClientError, ClientErrorKind, plain};
use crate::http_client::{HttpClient, lost, peer_of, read_body};
use crate::limits::{MAX_ANSWER_BYTES, MAX_ERROR_BODY_BYTES};
use crate::secret::Secret;
use crate::tls::TlsSettings;

/// One service, with the credential it wants. Clones share their connections.
#[derive(Clone)]
pub struct HttpService {
    http: HttpClient,
    base: Url,
    authorization: Option<Secret>,
}

impl std::fmt::Debug for HttpService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("HttpService")
            .field(&self.base.as_str())
            .finish()
    }
}

/// A whole answer.
#[derive(Clone, Debug)]
pub struct ServiceAnswer {
    /// The HTTP status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
}

impl ServiceAnswer {
    /// What time it was for the service (RFC 9110 section 6.6.1), if it says so.
    #[must_use]
    pub fn date(&self) -> Option<SystemTime> {
        let date = self.headers.get(DATE)?.to_str().ok()?;
        httpdate::parse_http_date(date).ok()
    }
}

/// An answer to a request for a stream.
#[derive(Debug)]
pub enum ServiceReply {
    /// The stream has begun; these are its headers.
    Stream(HeaderMap, Box<ServiceStream>),
    /// Another answer: a refusal, or one that is no stream.
    Answer(ServiceAnswer),
}

impl HttpService {
    /// The service below `base`, which the operator named. `bearer` goes along with every request.
    #[must_use]
    pub fn new(base: &Url, bearer: Option<&str>) -> Self {
        let mut policy = AddressPolicy::public_only();
        policy.allow(base);
        let mut base = base.clone();
        if !base.path().ends_with('/') {
            let path = format!("{}/", base.path());
            base.set_path(&path);
        }
        Self {
            http: HttpClient::new(policy, TlsSettings::default()),
            base,
            authorization: bearer.map(|token| Secret::new(format!("Bearer {token}"))),
        }
    }

    /// `host:port` of the service, as errors name it.
    #[must_use]
    pub fn peer(&self) -> String {
        peer_of(&self.base)
    }

    /// Sends a request and reads the whole answer, whatever its status. `limit` is for all of it.
    ///
    /// # Errors
    /// [`ClientErrorKind::Unreachable`], [`ClientErrorKind::ConnectionLost`],
    /// [`ClientErrorKind::TimedOut`], [`ClientErrorKind::InvalidAnswer`] above 16 MiB.
    pub async fn call(
        &self,
        method: Method,
        path: &str,
        headers: HeaderMap,
        body: Option<Bytes>,
        limit: Duration,
    ) -> Result<ServiceAnswer, ClientError> {
        let url = self.url(path)?;
        let exchange = async {
            let response = self.send(&url, method, headers, body).await?;
            whole(response, MAX_ANSWER_BYTES, &url).await
        };
        let answered = tokio::time::timeout(limit, exchange).await;
        answered.unwrap_or_else(|_| Err(self.silent(limit)))
    }

    /// Sends a request that is answered by a stream. `silence` is how long the service may say
    /// nothing: before the head, and between two pieces of the stream. Asks for nothing but a stream,
    /// unless `headers` say what it may be.
    ///
    /// # Errors
    /// As [`HttpService::call`].
    pub async fn stream(
        &self,
        method: Method,
        path: &str,
        mut headers: HeaderMap,
        body: Option<Bytes>,
        silence: Duration,
    ) -> Result<ServiceReply, ClientError> {
        let url = self.url(path)?;
        let stream = HeaderValue::from_static("text/event-stream");
        headers.entry(ACCEPT).or_insert(stream);
        let sent = self.send(&url, method, headers, body);
        let response = tokio::time::timeout(silence, sent)
            .await
            .map_err(|_| self.silent(silence))??;
        let is_stream = response.headers().get(CONTENT_TYPE).is_some_and(|value| {
            let value = value.as_bytes();
            value.len() >= 17 && value[..17].eq_ignore_ascii_case(b"text/event-stream")
        });
        if !response.status().is_success() || !is_stream {
            let limit = if response.status().is_success() {
                MAX_ANSWER_BYTES
            } else {
                MAX_ERROR_BODY_BYTES
            };
            let answer = tokio::time::timeout(silence, whole(response, limit, &url)).await;
            let answer = answer.map_err(|_| self.silent(silence))??;
            return Ok(ServiceReply::Answer(answer));
        }
        let (head, body) = response.into_parts();
        let stream = ServiceStream {
            body,
            reader: SseReader::new(MAX_ANSWER_BYTES),
            url,
            silence,
        };
        Ok(ServiceReply::Stream(head.headers, Box::new(stream)))
    }

    fn url(&self, path: &str) -> Result<Url, ClientError> {
        self.base
            .join(path.trim_start_matches('/'))
            .map_err(|error| {
                let text = format!("{path} is no path below {}: {error}", self.base);
                ClientError::new(ClientErrorKind::Usage, text)
            })
    }

    async fn send(
        &self,
        url: &Url,
        method: Method,
        headers: HeaderMap,
        body: Option<Bytes>,
    ) -> Result<Response<Incoming>, ClientError> {
        let is_json = body.is_some();
        let mut request = Request::new(Full::new(body.unwrap_or_default()));
        *request.method_mut() = method;
        *request.headers_mut() = headers;
        let headers = request.headers_mut();
        if is_json {
            let json = HeaderValue::from_static("application/json");
            headers.entry(CONTENT_TYPE).or_insert(json);
        }
        if let Some(authorization) = &self.authorization {
            let mut value = HeaderValue::from_str(authorization.expose()).map_err(|_| {
                let text = "the key holds characters that no header can carry";
                ClientError::new(ClientErrorKind::Usage, text)
            })?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        self.http.send(url, request).await
    }

    fn silent(&self, limit: Duration) -> ClientError {
        let text = format!("{} said nothing for {} s", self.peer(), limit.as_secs());
        ClientError::new(ClientErrorKind::TimedOut, text)
    }
}

impl ServiceAnswer {
    /// The answer as a refusal: its status and what it says of the reason.
    #[must_use]
    pub fn refusal(&self) -> String {
        let said = String::from_utf8_lossy(&self.body);
        let said = serde_json::from_slice::<serde_json::Value>(&self.body)
            .ok()
            .and_then(|json| {
                let error = json.get("error").unwrap_or(&json);
                let text = error.get("message").unwrap_or(error).as_str()?;
                Some(text.to_owned())
            })
            .unwrap_or_else(|| said.into_owned());
        format!("HTTP {}: {}", self.status.as_u16(), plain(&said))
    }
}

/// A stream of server-sent events. Dropping it closes the connection.
#[derive(Debug)]
pub struct ServiceStream {
    body: Incoming,
    reader: SseReader,
    url: Url,
    silence: Duration,
}

impl ServiceStream {
    /// Waits for the next event; `None`: the stream has ended. Cancel-safe.
    ///
    /// # Errors
    /// [`ClientErrorKind::ConnectionLost`], [`ClientErrorKind::TimedOut`] after the longest silence,
    /// [`ClientErrorKind::InvalidAnswer`] for what is no stream of events.
    pub async fn next(&mut self) -> Result<Option<SseEvent>, ClientError> {
        loop {
            if let Some(event) = self.reader.next_event() {
                return Ok(Some(event));
            }
            let frame = tokio::time::timeout(self.silence, self.body.frame()).await;
            let frame = frame.map_err(|_| {
                let (peer, limit) = (peer_of(&self.url), self.silence.as_secs());
                let text = format!("{peer} said nothing for {limit} s");
                ClientError::new(ClientErrorKind::TimedOut, text)
            })?;
            let Some(frame) = frame else {
                return Ok(None);
            };
            let frame = frame.map_err(|error| lost(&self.url, &error))?;
            if let Some(data) = frame.data_ref() {
                self.reader.feed(data).map_err(|error| {
                    let text = format!("{}: {error}", peer_of(&self.url));
                    ClientError::new(ClientErrorKind::InvalidAnswer, text)
                })?;
            }
        }
    }

    /// The next event that came already, without waiting.
    pub fn ready(&mut self) -> Option<SseEvent> {
        self.reader.next_event()
    }
}

async fn whole(
    response: Response<Incoming>,
    limit: usize,
    url: &Url,
) -> Result<ServiceAnswer, ClientError> {
    let (head, body) = response.into_parts();
    Ok(ServiceAnswer {
        status: head.status,
        headers: head.headers,
        body: read_body(body, limit, url).await?,
    })
}
