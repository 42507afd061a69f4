//! gRPC over HTTP/2 without TLS (specification 10). Messages go by the project's `.proto` file and
//! protobuf's own JSON mapping, not by nuncio's codecs.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use bytes::{Buf as _, Bytes, BytesMut};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use percent_encoding::percent_decode_str;
use prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, MethodDescriptor};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::{Answer, Events, Item, Opened, Peer, Source, Trouble};
use crate::acts::checks::error::Refusal;
use crate::acts::corpus::Operation;
use crate::process;

/// The service of A2A 1.0.
const SERVICE: &str = "lf.a2a.v1.A2AService";
/// Where the `.proto` files are, and the ones that matter.
const PROTO: &str = "crates/wire/proto";
const FILES: [&str; 2] = ["lf/a2a/v1/a2a.proto", "google/rpc/status.proto"];
/// Before each message: a flag for compression and the length (gRPC over HTTP/2).
const FRAME_HEAD: usize = 5;
/// For an answer that is no stream: the longest blocking send of the suite takes two seconds.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);

pub(super) async fn call(
    peer: &Peer,
    operation: Operation,
    params: &Value,
) -> Result<Answer, Trouble> {
    let late = |_| Trouble::Broken(format!("{}: no answer", operation.method()));
    let all = async {
        let mut messages = Messages::send(peer, operation, params).await?;
        let first = messages.next().await?;
        let more = messages.next().await?.is_some();
        Ok((first, more, messages))
    };
    let (first, more, messages) = timeout(ANSWER_LIMIT, all).await.map_err(late)??;
    let (code, refusal) = messages.status()?;
    let root = match (first, refusal.is_some()) {
        (Some(root), false) if !more => root,
        (None, true) => Value::Null,
        (first, _) => {
            let text = format!("not exactly one message or an error: {first:?}, status {code}");
            return Err(Trouble::Shape(text));
        }
    };
    Ok(Answer {
        status: http_status(code),
        headers: messages.headers.clone(),
        root: with_page_token(operation, root),
        refusal,
    })
}

pub(super) async fn open(
    peer: &Peer,
    operation: Operation,
    params: &Value,
) -> Result<Opened, Trouble> {
    let late = |_| Trouble::Broken(format!("{}: no answer", operation.method()));
    let opening = Messages::send(peer, operation, params);
    let messages = timeout(ANSWER_LIMIT, opening).await.map_err(late)??;
    if messages.headers.contains_key("grpc-status") {
        let (code, refusal) = messages.status()?;
        return Ok(Opened::Refused(Answer {
            status: http_status(code),
            headers: messages.headers.clone(),
            root: Value::Null,
            refusal,
        }));
    }
    Ok(Opened::Stream(Box::new(Events {
        status: http_status(0),
        headers: messages.headers.clone(),
        source: Source::Grpc(Box::new(messages)),
    })))
}

/// A text that is empty is not on the wire, but always part of the answer.
fn with_page_token(operation: Operation, mut root: Value) -> Value {
    if operation == Operation::ListTasks
        && let Some(page) = root.as_object_mut()
    {
        page.entry("nextPageToken").or_insert_with(|| json!(""));
    }
    root
}

/// The messages of one call.
#[derive(Debug)]
pub(super) struct Messages {
    response: Response<Incoming>,
    connection: AbortHandle,
    kind: MessageDescriptor,
    headers: BTreeMap<String, String>,
    trailers: BTreeMap<String, String>,
    buffer: BytesMut,
}

impl Drop for Messages {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

impl Messages {
    async fn send(peer: &Peer, operation: Operation, params: &Value) -> Result<Self, Trouble> {
        let method = method(operation)?;
        let host = peer
            .base
            .split_once("://")
            .map_or(peer.base.as_str(), |(_, host)| host);
        let broken = |error: &dyn std::fmt::Display| Trouble::Broken(format!("{host}: {error}"));
        let message = DynamicMessage::deserialize(method.input(), params).map_err(|error| {
            broken(&format!(
                "the parameters are no {}: {error}",
                method.input().name()
            ))
        })?;
        let mut request = Request::post(format!("http://{host}/{SERVICE}/{}", method.name()))
            .header("content-type", "application/grpc")
            .header("te", "trailers");
        let bearer = peer.bearer();
        for (name, value) in peer.headers(&[], &bearer) {
            request = request.header(name, value);
        }
        let body = Full::new(frame(&message.encode_to_vec()));
        let request = request.body(body).map_err(|error| broken(&error))?;
        let stream = TcpStream::connect(host)
            .await
            .map_err(|error| broken(&error))?;
        let io = TokioIo::new(stream);
        let (mut sender, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), io)
                .await
                .map_err(|error| broken(&error))?;
        let connection = tokio::spawn(connection).abort_handle();
        let response = sender
            .send_request(request)
            .await
            .map_err(|error| broken(&error))?;
        let headers = texts(response.headers());
        let kind = headers.get("content-type").map_or("", String::as_str);
        if response.status() != 200 || !kind.starts_with("application/grpc") {
            let text = format!("no gRPC answer: {} `{kind}`", response.status());
            return Err(Trouble::Shape(text));
        }
        Ok(Self {
            response,
            connection,
            kind: method.output(),
            headers,
            trailers: BTreeMap::new(),
            buffer: BytesMut::new(),
        })
    }

    /// The next message as JSON; `None` at the end.
    async fn next(&mut self) -> Result<Option<Value>, Trouble> {
        loop {
            if let Some(message) = take_frame(&mut self.buffer)? {
                return as_json(&self.kind, &message).map(Some);
            }
            let Some(piece) = self.response.body_mut().frame().await else {
                break;
            };
            let piece =
                piece.map_err(|error| Trouble::Broken(format!("the call breaks off: {error}")))?;
            match piece.into_data() {
                Ok(data) => self.buffer.extend_from_slice(&data),
                Err(piece) => {
                    if let Ok(trailers) = piece.into_trailers() {
                        self.trailers = texts(&trailers);
                    }
                }
            }
        }
        if self.buffer.is_empty() {
            Ok(None)
        } else {
            Err(Trouble::Shape("the call ends within a message".to_owned()))
        }
    }

    /// The next event, or the refusal that the stream ends with.
    pub(super) async fn next_item(&mut self) -> Result<Option<Item>, Trouble> {
        if let Some(event) = self.next().await? {
            return Ok(Some(Item::Event(event)));
        }
        Ok(self.status()?.1.map(Item::Refused))
    }

    /// The status that the call ended with, and what it tells of when it is no success.
    fn status(&self) -> Result<(u8, Option<Refusal>), Trouble> {
        let get = |name: &str| self.trailers.get(name).or_else(|| self.headers.get(name));
        let code = get("grpc-status").and_then(|code| code.parse().ok());
        let code =
            code.ok_or_else(|| Trouble::Shape("the call ends without a status".to_owned()))?;
        if code == 0 {
            return Ok((0, None));
        }
        let message = get("grpc-message").map(|it| percent_decode_str(it).decode_utf8_lossy());
        let details = match get("grpc-status-details-bin") {
            Some(text) => Some(details(text)?),
            None => None,
        };
        Ok((
            code,
            Some(Refusal::of_status(message.as_deref(), details.as_ref())),
        ))
    }
}

fn texts(headers: &hyper::HeaderMap) -> BTreeMap<String, String> {
    let text =
        |value: &hyper::header::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let all = headers.iter();
    all.map(|(name, value)| (name.as_str().to_owned(), text(value)))
        .collect()
}

fn frame(message: &[u8]) -> Bytes {
    let length = u32::try_from(message.len()).expect("a message of the suite is small");
    let mut framed = vec![0];
    framed.extend_from_slice(&length.to_be_bytes());
    framed.extend_from_slice(message);
    framed.into()
}

fn take_frame(buffer: &mut BytesMut) -> Result<Option<Bytes>, Trouble> {
    let Some((head, rest)) = buffer.split_at_checked(FRAME_HEAD) else {
        return Ok(None);
    };
    if head[0] != 0 {
        return Err(Trouble::Shape(
            "a compressed message, which was not asked for".to_owned(),
        ));
    }
    let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
    if rest.len() < length {
        return Ok(None);
    }
    buffer.advance(FRAME_HEAD);
    Ok(Some(buffer.split_to(length).freeze()))
}

fn as_json(kind: &MessageDescriptor, bytes: &[u8]) -> Result<Value, Trouble> {
    let wrong =
        |error: &dyn std::fmt::Display| Trouble::Shape(format!("no {}: {error}", kind.name()));
    let message = DynamicMessage::decode(kind.clone(), bytes).map_err(|error| wrong(&error))?;
    if let Some(field) = message.unknown_fields().next() {
        return Err(wrong(&format!(
            "field {} is not in the proto",
            field.number()
        )));
    }
    serde_json::to_value(&message).map_err(|error| wrong(&error))
}

/// The details in a `google.rpc.Status` in base64.
fn details(text: &str) -> Result<Value, Trouble> {
    let wrong =
        |error: &dyn std::fmt::Display| Trouble::Shape(format!("the status details: {error}"));
    let bytes = STANDARD_NO_PAD
        .decode(text.trim_end_matches('='))
        .map_err(|error| wrong(&error))?;
    let kind = pool()?.get_message_by_name("google.rpc.Status");
    let kind =
        kind.ok_or_else(|| Trouble::Broken("no google.rpc.Status in the proto".to_owned()))?;
    Ok(as_json(&kind, &bytes)?["details"].take())
}

/// The HTTP status that corresponds to a gRPC one (google.rpc.Code).
fn http_status(code: u8) -> u16 {
    match code {
        0 => 200,
        1 => 499,
        3 | 9 | 11 => 400,
        4 => 504,
        5 => 404,
        6 | 10 => 409,
        7 => 403,
        8 => 429,
        12 => 501,
        14 => 503,
        16 => 401,
        _ => 500,
    }
}

fn method(operation: Operation) -> Result<MethodDescriptor, Trouble> {
    let service = pool()?.get_service_by_name(SERVICE);
    let mut methods = service.iter().flat_map(|service| service.methods());
    let method = methods.find(|method| method.name() == operation.method());
    method.ok_or_else(|| Trouble::Broken(format!("no {} in the proto", operation.method())))
}

fn pool() -> Result<&'static DescriptorPool, Trouble> {
    static POOL: OnceLock<Result<DescriptorPool, String>> = OnceLock::new();
    let read = || {
        let mut compiler = protox::Compiler::new([process::repository_root().join(PROTO)])
            .map_err(|error| error.to_string())?;
        let compiler = compiler.include_imports(true).open_files(FILES);
        Ok(compiler
            .map_err(|error| error.to_string())?
            .descriptor_pool())
    };
    let pool = POOL.get_or_init(read);
    pool.as_ref()
        .map_err(|error| Trouble::Broken(error.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_cut_out_of_any_pieces() {
        let whole = [frame(b"one"), frame(b""), frame(b"three")].concat();
        let mut buffer = BytesMut::new();
        let mut seen = Vec::new();
        for byte in whole {
            buffer.extend_from_slice(&[byte]);
            while let Some(message) = take_frame(&mut buffer).unwrap() {
                seen.push(message);
            }
        }
        assert_eq!(seen, [&b"one"[..], b"", b"three"]);
        let mut compressed = BytesMut::from(&[1, 0, 0, 0, 0][..]);
        assert!(take_frame(&mut compressed).is_err());
    }

    #[test]
    fn details_are_read_by_name_and_unknown_fields_are_seen() {
        // {5, "no", [ErrorInfo {reason: "TASK_NOT_FOUND"}]}
        let info = b"\x0a\x0eTASK_NOT_FOUND";
        let url = b"type.googleapis.com/google.rpc.ErrorInfo";
        let mut any = vec![0x0a, url.len() as u8];
        any.extend_from_slice(url);
        any.extend_from_slice(&[0x12, info.len() as u8]);
        any.extend_from_slice(info);
        let mut status = b"\x08\x05\x12\x02no\x1a".to_vec();
        status.push(any.len() as u8);
        status.extend_from_slice(&any);
        let read = details(&STANDARD_NO_PAD.encode(&status)).unwrap();
        let refusal = Refusal::of_status(Some("no"), Some(&read));
        assert_eq!(refusal.name.as_deref(), Some("TaskNotFoundError"));

        status.extend_from_slice(&[0x48, 0x01]);
        assert!(details(&STANDARD_NO_PAD.encode(&status)).is_err());
        assert!(details("?").is_err());
    }

    #[test]
    fn every_operation_is_in_the_proto() {
        let all = [
            Operation::SendMessage,
            Operation::SubscribeToTask,
            Operation::GetExtendedAgentCard,
            Operation::DeletePushConfig,
        ];
        for operation in all {
            assert!(method(operation).is_ok(), "{operation:?}");
        }
    }
}
