//! The floor: the least work that any server of this protocol does. Parses the request into plain
//! structs, keeps the task in a map and answers with as many bytes as nuncio. Knows no rules, no
//! limits and no other version; what nuncio costs is told in multiples of it.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::hash::{BuildHasher, RandomState};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::net::TcpListener;
use tokio::task::{JoinSet, LocalSet};

/// Parts of the map: each grows by itself, so that no request waits for one large move.
const SHARDS: usize = 4096;

/// Serves on a free loopback port until the process is killed; prints the URL first.
///
/// # Errors
/// When no port can be opened.
pub fn serve() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    LocalSet::new().block_on(&runtime, async {
        let listener = TcpListener::bind("127.0.0.1:0")
            .await
            .context("cannot open a port")?;
        println!("floor: listening on http://{}", listener.local_addr()?);
        let floor = Rc::new(Floor::new());
        let mut connections = JoinSet::new();
        loop {
            let (stream, _) = listener
                .accept()
                .await
                .context("cannot accept a connection")?;
            stream.set_nodelay(true)?;
            let floor = Rc::clone(&floor);
            connections.spawn_local(async move {
                let service = service_fn(|request| answer(&floor, request));
                let connection = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service);
                // A caller that hangs up is no event of a benchmark.
                connection.await.ok();
            });
            while connections.try_join_next().is_some() {}
        }
    })
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct SendParams<'a> {
    #[serde(borrow)]
    message: Message<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message<'a> {
    #[serde(borrow)]
    message_id: Cow<'a, str>,
    #[serde(borrow)]
    parts: Vec<Part<'a>>,
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
}

#[derive(Deserialize)]
struct GetParams<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
}

/// A finished task as it is answered, and the events that led to it.
struct Task {
    json: String,
    events: [String; 3],
}

struct Floor {
    tasks: Vec<RefCell<HashMap<String, String>>>,
    hasher: RandomState,
    random: Cell<u64>,
}

impl Floor {
    fn new() -> Self {
        let hasher = RandomState::new();
        let random = Cell::new(hasher.hash_one("seed") | 1);
        Self {
            tasks: (0..SHARDS).map(|_| RefCell::default()).collect(),
            hasher,
            random,
        }
    }

    fn shard(&self, id: &str) -> &RefCell<HashMap<String, String>> {
        &self.tasks[self.hasher.hash_one(id) as usize % SHARDS]
    }

    /// A random id of the usual 36 characters.
    fn new_id(&self) -> String {
        let next = || {
            let mut value = self.random.get();
            value ^= value << 13;
            value ^= value >> 7;
            value ^= value << 17;
            self.random.set(value);
            value
        };
        let (a, b) = (next(), next());
        let (c, d) = ((a >> 16) & 0xffff, a & 0x0fff);
        format!(
            "{:08x}-{c:04x}-7{d:03x}-{:04x}-{:012x}",
            a >> 32,
            b >> 48,
            b & 0xffff_ffff_ffff
        )
    }

    fn run(&self, params: &SendParams<'_>) -> Task {
        let (id, context) = (self.new_id(), self.new_id());
        let time = timestamp();
        let text = params
            .message
            .parts
            .first()
            .map_or("", |part| part.text.as_ref());
        let text = serde_json::to_string(text).unwrap_or_default();
        let message = serde_json::to_string(&params.message.message_id).unwrap_or_default();
        let ids = format!(r#""taskId":"{id}","contextId":"{context}""#);
        let history = format!(
            r#"[{{"messageId":{message},{ids},"role":"ROLE_USER","parts":[{{"text":{text}}}]}}]"#
        );
        let artifact = format!(r#"{{"artifactId":"echo","parts":[{{"text":{text}}}]}}"#);
        let done = format!(r#"{{"state":"TASK_STATE_COMPLETED","timestamp":"{time}"}}"#);
        let begun = format!(r#"{{"state":"TASK_STATE_SUBMITTED","timestamp":"{time}"}}"#);
        let head = format!(r#""id":"{id}","contextId":"{context}""#);
        let json =
            format!(r#"{{{head},"status":{done},"artifacts":[{artifact}],"history":{history}}}"#);
        let events = [
            format!(r#"{{"task":{{{head},"status":{begun},"history":{history}}}}}"#),
            format!(r#"{{"artifactUpdate":{{{ids},"artifact":{artifact},"lastChunk":true}}}}"#),
            format!(r#"{{"statusUpdate":{{{ids},"status":{done}}}}}"#),
        ];
        self.shard(&id).borrow_mut().insert(id, json.clone());
        Task { json, events }
    }
}

async fn answer(floor: &Floor, request: Request<Incoming>) -> Result<Response<Frames>, Infallible> {
    if request.method() == hyper::Method::GET {
        return Ok(json_response(r#"{"name":"floor"}"#.to_owned()));
    }
    let body = request
        .into_body()
        .collect()
        .await
        .map(|body| body.to_bytes())
        .unwrap_or_default();
    let refusal = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"bad"}}"#;
    Ok(call(floor, &body).unwrap_or_else(|| json_response(refusal.to_owned())))
}

fn call(floor: &Floor, body: &[u8]) -> Option<Response<Frames>> {
    let call: Call<'_> = serde_json::from_slice(body).ok()?;
    let id = call.id.get();
    let params = call.params?.get();
    match call.method.as_ref() {
        "SendMessage" => {
            let task = floor.run(&serde_json::from_str(params).ok()?);
            Some(json_response(result(
                id,
                &format!(r#"{{"task":{}}}"#, task.json),
            )))
        }
        "GetTask" => {
            let params: GetParams<'_> = serde_json::from_str(params).ok()?;
            let tasks = floor.shard(&params.id).borrow();
            Some(json_response(result(id, tasks.get(params.id.as_ref())?)))
        }
        "SendStreamingMessage" => {
            let task = floor.run(&serde_json::from_str(params).ok()?);
            let frame = |(number, event): (usize, &String)| {
                let data = result(id, event);
                Bytes::from(format!("id: 1-{}\ndata: {data}\n\n", number + 1))
            };
            Some(response(
                "text/event-stream",
                task.events.iter().enumerate().map(frame).collect(),
            ))
        }
        _ => None,
    }
}

fn result(id: &str, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

fn json_response(json: String) -> Response<Frames> {
    let mut response = response("application/json", VecDeque::from([Bytes::from(json)]));
    response.body_mut().is_whole = true;
    response
}

fn response(kind: &'static str, frames: VecDeque<Bytes>) -> Response<Frames> {
    let mut response = Response::new(Frames {
        frames,
        is_whole: false,
    });
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert("a2a-version", HeaderValue::from_static("1.0"));
    response
}

/// A body of ready frames: a whole answer with its length, or the events of a stream.
struct Frames {
    frames: VecDeque<Bytes>,
    is_whole: bool,
}

impl Body for Frames {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut TaskContext<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.frames.pop_front().map(|frame| Ok(Frame::data(frame))))
    }

    fn size_hint(&self) -> SizeHint {
        let bytes = self.frames.iter().map(|frame| frame.len() as u64).sum();
        if self.is_whole {
            SizeHint::with_exact(bytes)
        } else {
            SizeHint::default()
        }
    }
}

/// The present time as the protocol writes it: `2026-01-02T03:04:05.678Z`.
fn timestamp() -> String {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let (seconds, millis) = (since.as_secs(), since.subsec_millis());
    let (year, month, day) = date(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// The date of a day counted from 1970-01-01. Years are counted from March, so that the leap day
/// comes last; 719,468 days lie between 0000-03-01 and 1970-01-01.
pub(super) fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    (year + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sent_message_can_be_got_again() {
        let floor = Floor::new();
        let send = br#"{"jsonrpc":"2.0","id":"a","method":"SendMessage","params":{"message":
            {"messageId":"m","role":"ROLE_USER","parts":[{"text":"say \"hi\""}]}}}"#;
        let sent = call(&floor, send)
            .unwrap()
            .into_body()
            .frames
            .remove(0)
            .unwrap();
        let sent: serde_json::Value = serde_json::from_slice(&sent).unwrap();
        let task = &sent["result"]["task"];
        assert_eq!(task["artifacts"][0]["parts"][0]["text"], "say \"hi\"");
        let id = &task["id"];
        let get =
            format!(r#"{{"jsonrpc":"2.0","id":2,"method":"GetTask","params":{{"id":{id}}}}}"#);
        let got = call(&floor, get.as_bytes())
            .unwrap()
            .into_body()
            .frames
            .remove(0)
            .unwrap();
        let got: serde_json::Value = serde_json::from_slice(&got).unwrap();
        assert_eq!(&got["result"], task);
    }

    #[test]
    fn a_stream_has_three_events() {
        let stream = br#"{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":
            {"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}}"#;
        let frames = call(&Floor::new(), stream).unwrap().into_body().frames;
        assert_eq!(frames.len(), 3);
        for frame in frames {
            let text = String::from_utf8(frame.to_vec()).unwrap();
            let data = text.split_once("data: ").unwrap().1;
            assert!(
                serde_json::from_str::<serde_json::Value>(data).is_ok(),
                "{text}"
            );
        }
    }

    #[test]
    fn days_become_dates() {
        assert_eq!(date(0), (1970, 1, 1));
        assert_eq!(date(19_782), (2024, 2, 29));
        assert_eq!(date(20_454), (2026, 1, 1));
    }
}
