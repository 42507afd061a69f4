//! Asks the agent under test, over whichever binding is measured. Written for the runner alone, so
//! that a fault of nuncio's own client cannot hide one of its gateway.
//!
//! [`Peer`] is the agent's end; `prepare` builds requests, `jsonrpc`, `rest` and `grpc` put them
//! on the wire, `http` and `sse` carry the bytes.

mod grpc;
mod http;
mod jsonrpc;
mod prepare;
mod rest;
mod sse;

pub use http::{HeaderMap, fetch};
pub use prepare::prepare;

use bytes::Bytes;
use serde_json::Value;
use std::fmt;

use super::checks::error::Refusal;
use super::corpus::{Operation, RawRequest, Transport};

/// The agent under test behind one binding.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Which binding.
    pub transport: Transport,
    /// The binding's URL from the card, without a slash at its end.
    pub base: String,
    /// Where the public card is.
    pub card_url: String,
    /// Sent as `A2A-Version` with every operation.
    pub version: String,
    /// Sent with every operation.
    pub token: Option<String>,
}

/// An answer that is no stream.
#[derive(Clone, Debug)]
pub struct Answer {
    /// HTTP's, or the one gRPC's corresponds to.
    pub status: u16,
    /// Names in lower case.
    pub headers: HeaderMap,
    /// What assertions look at; null where the operation answers nothing.
    pub root: Value,
    /// Why the operation was refused, if it was.
    pub refusal: Option<Refusal>,
}

/// Why there is no answer to judge.
#[derive(Clone, Debug, PartialEq)]
pub enum Trouble {
    /// The run broke: nobody answers.
    Broken(String),
    /// The answer is none the binding allows.
    Shape(String),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken(text) | Self::Shape(text) => f.write_str(text),
        }
    }
}

/// How a streaming operation began.
#[derive(Debug)]
pub enum Opened {
    /// With a stream.
    Stream(Box<Events>),
    /// Not at all.
    Refused(Answer),
}

/// A stream that is open.
#[derive(Debug)]
pub struct Events {
    /// As it was opened with.
    pub status: u16,
    /// Of the opening answer.
    pub headers: HeaderMap,
    source: Source,
}

/// Where events come from.
#[derive(Debug)]
enum Source {
    Sse(Box<sse::Frames>, fn(Value) -> Result<Item, Trouble>),
    Grpc(Box<grpc::Messages>),
}

/// One thing on a stream.
#[derive(Debug, PartialEq)]
pub enum Item {
    /// A StreamResponse, or a whole frame of a raw stream.
    Event(Value),
    /// The stream ends with this error.
    Refused(Refusal),
}

impl Events {
    /// The next thing; `None` when the agent has closed the stream.
    ///
    /// # Errors
    /// When the connection breaks or a frame is none the binding allows.
    pub async fn next(&mut self) -> Result<Option<Item>, Trouble> {
        match &mut self.source {
            Source::Sse(frames, read) => frames.next().await?.map(read).transpose(),
            Source::Grpc(messages) => messages.next_item().await,
        }
    }
}

impl Peer {
    /// Asks `operation` and waits for its one answer.
    ///
    /// # Errors
    /// Why there is no answer to judge.
    pub async fn call(&self, operation: Operation, params: &Value) -> Result<Answer, Trouble> {
        if operation == Operation::GetAgentCard {
            return self.card().await;
        }
        match self.transport {
            Transport::Jsonrpc => jsonrpc::call(self, operation, params).await,
            Transport::Rest => rest::call(self, operation, params).await,
            Transport::Grpc => grpc::call(self, operation, params).await,
        }
    }

    /// Asks a streaming `operation`.
    ///
    /// # Errors
    /// Why there is neither stream nor refusal.
    pub async fn open(&self, operation: Operation, params: &Value) -> Result<Opened, Trouble> {
        match self.transport {
            Transport::Jsonrpc => jsonrpc::open(self, operation, params).await,
            Transport::Rest => rest::open(self, operation, params).await,
            Transport::Grpc => grpc::open(self, operation, params).await,
        }
    }

    /// The public card, by plain HTTP.
    ///
    /// # Errors
    /// Why there is no answer to judge.
    pub async fn card(&self) -> Result<Answer, Trouble> {
        let headers = [("A2A-Version", self.version.as_str())];
        let reply = http::send("GET", &self.card_url, &headers, Bytes::new()).await?;
        let (status, headers) = (reply.status(), reply.headers());
        let root = json_or_text(&reply.read().await?);
        Ok(Answer {
            status,
            headers,
            root,
            refusal: None,
        })
    }

    /// Sends a request as the test gives it.
    ///
    /// # Errors
    /// When nobody answers.
    pub async fn raw(&self, request: &RawRequest) -> Result<Answer, Trouble> {
        let reply = self.send_raw(request).await?;
        let (status, headers) = (reply.status(), reply.headers());
        let root = json_or_text(&reply.read().await?);
        let refusal = if let Some(error) = root.get("error").filter(|it| it["status"].is_null()) {
            Some(Refusal::of_jsonrpc(error))
        } else if status >= 400 {
            Some(rest::refusal(&root))
        } else {
            None
        };
        Ok(Answer {
            status,
            headers,
            root,
            refusal,
        })
    }

    /// The same, where the answer should be a stream.
    ///
    /// # Errors
    /// When nobody answers.
    pub async fn open_raw(&self, request: &RawRequest) -> Result<Events, Trouble> {
        let reply = self.send_raw(request).await?;
        Ok(Events {
            status: reply.status(),
            headers: reply.headers(),
            source: Source::Sse(Box::new(sse::Frames::new(reply)), |frame| {
                Ok(Item::Event(frame))
            }),
        })
    }

    async fn send_raw(&self, request: &RawRequest) -> Result<http::Reply, Trouble> {
        let at_root = request.path.starts_with("/.well-known/");
        let url = if at_root {
            let end = self
                .card_url
                .find("/.well-known/")
                .unwrap_or(self.card_url.len());
            format!("{}{}", &self.card_url[..end], request.path)
        } else {
            format!("{}{}", self.base, request.path)
        };
        let texts = request.headers.iter().filter_map(|(name, value)| {
            let text = value.as_str()?;
            Some((name.as_str(), text))
        });
        let headers: Vec<_> = texts.collect();
        let body = match (&request.body, &request.body_raw) {
            (_, Some(text)) => Bytes::from(text.clone()),
            (Some(json), None) => Bytes::from(json.to_string()),
            (None, None) => Bytes::new(),
        };
        http::send(&request.method, &url, &headers, body).await
    }

    /// Headers of every operation.
    fn headers<'h>(
        &'h self,
        more: &[(&'h str, &'h str)],
        bearer: &'h str,
    ) -> Vec<(&'h str, &'h str)> {
        let mut headers = vec![("A2A-Version", self.version.as_str())];
        headers.extend_from_slice(more);
        if self.token.is_some() {
            headers.push(("Authorization", bearer));
        }
        headers
    }

    fn bearer(&self) -> String {
        format!("Bearer {}", self.token.as_deref().unwrap_or_default())
    }
}

fn json_or_text(body: &[u8]) -> Value {
    serde_json::from_slice(body)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(body).into_owned()))
}

fn as_json(body: &[u8]) -> Result<Value, Trouble> {
    serde_json::from_slice(body).map_err(|error| {
        let text = String::from_utf8_lossy(body);
        Trouble::Shape(format!("the answer is no JSON ({error}): {text}"))
    })
}
