//! One HTTP request on one connection: what was asked, nothing added, nothing followed.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::{Request, Response, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::Trouble;

/// Names in lower case; a name that comes twice has its values joined by commas.
pub type HeaderMap = BTreeMap<String, String>;

/// For an answer that is no stream: the longest blocking send of the suite takes two seconds.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);

/// An answer whose body is still to come. Dropping it closes the connection.
#[derive(Debug)]
pub(super) struct Reply {
    response: Response<Incoming>,
    connection: AbortHandle,
}

impl Drop for Reply {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

pub(super) async fn send(
    method: &str,
    url: &str,
    headers: &[(&str, &str)],
    body: Bytes,
) -> Result<Reply, Trouble> {
    let answer = timeout(ANSWER_LIMIT, exchange(method, url, headers, body)).await;
    answer.unwrap_or_else(|_| Err(Trouble::Broken(format!("{method} {url}: no answer"))))
}

async fn exchange(
    method: &str,
    url: &str,
    headers: &[(&str, &str)],
    body: Bytes,
) -> Result<Reply, Trouble> {
    let broken =
        |error: &dyn std::fmt::Display| Trouble::Broken(format!("{method} {url}: {error}"));
    let uri: Uri = url
        .parse()
        .map_err(|error: hyper::http::uri::InvalidUri| broken(&error))?;
    let authority = uri.authority().ok_or_else(|| broken(&"no host"))?.as_str();
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", authority);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request
        .body(Full::new(body))
        .map_err(|error| broken(&error))?;
    let stream = TcpStream::connect(authority)
        .await
        .map_err(|error| broken(&error))?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| broken(&error))?;
    let connection = tokio::spawn(connection).abort_handle();
    let response = sender
        .send_request(request)
        .await
        .map_err(|error| broken(&error))?;
    Ok(Reply {
        response,
        connection,
    })
}

impl Reply {
    pub(super) fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    pub(super) fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in self.response.headers() {
            let value = String::from_utf8_lossy(value.as_bytes());
            let known = headers.entry(name.as_str().to_owned()).or_default();
            if !known.is_empty() {
                known.push_str(", ");
            }
            known.push_str(&value);
        }
        headers
    }

    /// The whole body.
    pub(super) async fn read(mut self) -> Result<Bytes, Trouble> {
        let broken = |text: String| Trouble::Broken(format!("the answer breaks off: {text}"));
        let body = timeout(ANSWER_LIMIT, self.response.body_mut().collect()).await;
        let body = body.map_err(|error| broken(error.to_string()))?;
        Ok(body.map_err(|error| broken(error.to_string()))?.to_bytes())
    }

    /// The next piece of the body; `None` at its end.
    pub(super) async fn piece(&mut self) -> Result<Option<Bytes>, Trouble> {
        loop {
            let Some(frame) = self.response.body_mut().frame().await else {
                return Ok(None);
            };
            let frame = frame
                .map_err(|error| Trouble::Broken(format!("the stream breaks off: {error}")))?;
            if let Ok(data) = frame.into_data() {
                return Ok(Some(data));
            }
        }
    }
}

/// A plain GET: status, headers and body.
///
/// # Errors
/// When nobody answers.
pub async fn fetch(
    url: &str,
    headers: &[(&str, &str)],
) -> Result<(u16, HeaderMap, Bytes), Trouble> {
    let reply = send("GET", url, headers, Bytes::new()).await?;
    let (status, headers) = (reply.status(), reply.headers());
    Ok((status, headers, reply.read().await?))
}
