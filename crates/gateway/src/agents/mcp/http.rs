//! An MCP server at an address (Streamable HTTP): each message is a post, whose answer is JSON or a stream of
//! events that holds it.

use async_trait::async_trait;
use bytes::Bytes;
use http::header::ACCEPT;
use http::{HeaderMap, HeaderValue, Method};
use nuncio_client::{HttpService, ServiceAnswer, ServiceReply};
use serde_json::Value;
use std::time::Duration;
use url::Url;

use super::exchange::{self, Channel, list_tools};
use super::late;
use crate::config::SecretRef;

/// What answers may be.
const ACCEPTED: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
/// The server's name for the exchange.
const SESSION: &str = "mcp-session-id";
/// The version that is spoken.
const VERSION: &str = "mcp-protocol-version";
/// How long the end of a session may take; the server ends it by itself some time.
const GOODBYE: Duration = Duration::from_secs(1);

/// Where the server is.
#[derive(Debug)]
pub(super) struct Endpoint {
    service: HttpService,
    /// Its last segment, with the query.
    path: String,
}

impl Endpoint {
    pub(super) fn new(url: &Url, bearer: Option<&SecretRef>) -> Self {
        let bearer = bearer.and_then(SecretRef::secret);
        let last = url.path().rsplit('/').next().unwrap_or_default();
        let query = url.query().map(|query| format!("?{query}"));
        // A segment may hold a colon, which would make a scheme of it.
        let path = format!("./{last}{}", query.unwrap_or_default());
        let mut folder = url.clone();
        let above = url.path().len() - last.len();
        folder.set_path(&url.path()[..above]);
        folder.set_query(None);
        Self {
            service: HttpService::new(&folder, bearer.map(crate::config::Secret::expose)),
            path,
        }
    }
}

/// Asks for the server's tools.
pub(super) async fn ask(endpoint: &Endpoint, limit: Duration) -> Result<Vec<Value>, String> {
    let mut channel = Posts {
        endpoint,
        headers: HeaderMap::new(),
        last_id: 0,
        limit,
    };
    let told = tokio::time::timeout(limit, list_tools(&mut channel)).await;
    channel.end().await;
    told.unwrap_or_else(|_| Err(late(limit)))
}

/// One post for each message.
struct Posts<'a> {
    endpoint: &'a Endpoint,
    /// Session and version, once they are known.
    headers: HeaderMap,
    last_id: u64,
    limit: Duration,
}

impl Posts<'_> {
    async fn post(&mut self, message: &Value) -> Result<ServiceReply, String> {
        let mut headers = self.headers.clone();
        headers.insert(ACCEPT, ACCEPTED);
        let body = Some(Bytes::from(message.to_string()));
        let Endpoint { service, path } = self.endpoint;
        let sent = service.stream(Method::POST, path, headers, body, self.limit);
        let reply = sent.await.map_err(|error| error.to_string())?;
        let headers = match &reply {
            ServiceReply::Answer(answer) if !answer.status.is_success() => {
                return Err(answer.refusal());
            }
            ServiceReply::Answer(answer) => &answer.headers,
            ServiceReply::Stream(headers, _) => headers,
        };
        if let Some(session) = headers.get(SESSION) {
            self.headers.insert(SESSION, session.clone());
        }
        Ok(reply)
    }

    /// Tells a server that keeps sessions that this one is over. Not all of them can be told.
    async fn end(self) {
        if self.headers.contains_key(SESSION) {
            let Endpoint { service, path } = self.endpoint;
            let ended = service.call(Method::DELETE, path, self.headers, None, GOODBYE);
            if let Err(error) = ended.await {
                tracing::debug!(%error, "a session of an MCP server is left to itself");
            }
        }
    }
}

#[async_trait]
impl Channel for Posts<'_> {
    async fn call(&mut self, method: &'static str, params: Value) -> Result<Value, String> {
        self.last_id += 1;
        let id = self.last_id;
        let request = exchange::request(id, method, params);
        let mut stream = match self.post(&request).await? {
            ServiceReply::Answer(answer) => return whole(&answer, id),
            ServiceReply::Stream(_, stream) => stream,
        };
        while let Some(event) = stream.next().await.map_err(|error| error.to_string())? {
            // An event may be empty: servers begin a stream so that it can be taken up again.
            let Ok(mut message) = serde_json::from_str::<Value>(&event.data) else {
                continue;
            };
            if let Some(answer) = exchange::answer(&mut message, id) {
                return answer;
            }
        }
        Err(format!("its stream ended without an answer to `{method}`"))
    }

    async fn notify(&mut self, method: &'static str) -> Result<(), String> {
        self.post(&exchange::notification(method)).await.map(drop)
    }

    fn agreed(&mut self, version: &str) {
        if let Ok(version) = HeaderValue::from_str(version) {
            self.headers.insert(VERSION, version);
        }
    }
}

fn whole(answer: &ServiceAnswer, id: u64) -> Result<Value, String> {
    let message = serde_json::from_slice::<Value>(&answer.body);
    let mut message = message.map_err(|error| format!("its answer is no JSON: {error}"))?;
    let answer = exchange::answer(&mut message, id);
    answer.unwrap_or_else(|| Err("its answer is to no question of ours".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_segment_stays_as_it_is() {
        for (url, path) in [
            ("http://h/mcp", "./mcp"),
            ("http://h/a/mcp/", "./"),
            ("http://h/a/m:1?k=v%20w", "./m:1?k=v%20w"),
            ("http://h", "./"),
        ] {
            let endpoint = Endpoint::new(&url.parse().unwrap(), None);
            assert_eq!(endpoint.path, path, "{url}");
        }
    }
}
