//! A receiver of webhooks that does what a test tells it, path by path.

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

/// What is done with one request; without an act it is answered with 200.
#[derive(Clone, Debug)]
pub enum Act {
    Answer(u16),
    /// A status with one header.
    With(u16, &'static str, String),
    /// No answer, ever.
    Hang,
}

/// A request as it came.
#[derive(Debug)]
pub struct Post {
    pub path: String,
    pub headers: http::HeaderMap,
    pub raw: Bytes,
    pub body: Value,
}

impl Post {
    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }

    /// The member that says what kind of event it is, and the state or text in it.
    pub fn gist(&self) -> String {
        let body = &self.body;
        let state = |status: &Value| status["state"].as_str().unwrap_or("?").to_owned();
        if body["task"].is_object() {
            format!("task {}", state(&body["task"]["status"]))
        } else if body["statusUpdate"].is_object() {
            state(&body["statusUpdate"]["status"])
        } else if body["artifactUpdate"].is_object() {
            let part = &body["artifactUpdate"]["artifact"]["parts"][0];
            part["text"].as_str().unwrap_or("?").to_owned()
        } else {
            format!(
                "{} {}",
                body["kind"].as_str().unwrap_or("?"),
                state(&body["status"])
            )
        }
    }
}

type Script = Arc<Mutex<HashMap<String, VecDeque<Act>>>>;

pub struct Receiver {
    pub base: String,
    posts: mpsc::UnboundedReceiver<Post>,
    script: Script,
}

impl Receiver {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let (tell, posts) = mpsc::unbounded_channel();
        let script = Script::default();
        tokio::spawn(serve(listener, tell, script.clone()));
        Self {
            base,
            posts,
            script,
        }
    }

    /// The next requests to `path` are met with these acts.
    pub fn act(&self, path: &str, acts: impl IntoIterator<Item = Act>) {
        let mut script = self.script.lock().unwrap();
        script.entry(path.to_owned()).or_default().extend(acts);
    }

    pub async fn next(&mut self) -> Post {
        self.posts.recv().await.expect("the receiver runs")
    }

    /// The next so many.
    pub async fn take(&mut self, count: usize) -> Vec<Post> {
        let mut posts = Vec::new();
        while posts.len() < count {
            posts.push(self.next().await);
        }
        posts
    }

    /// What came and was not looked at yet.
    pub fn more(&mut self) -> Option<Post> {
        self.posts.try_recv().ok()
    }
}

async fn serve(listener: TcpListener, tell: mpsc::UnboundedSender<Post>, script: Script) {
    while let Ok((socket, _)) = listener.accept().await {
        let (tell, script) = (tell.clone(), script.clone());
        tokio::spawn(async move {
            let service = service_fn(move |request| answer(request, tell.clone(), script.clone()));
            let http = hyper::server::conn::http1::Builder::new();
            // A gateway that was killed leaves half a request behind.
            let _ = http.serve_connection(TokioIo::new(socket), service).await;
        });
    }
}

async fn answer(
    request: http::Request<Incoming>,
    tell: mpsc::UnboundedSender<Post>,
    script: Script,
) -> Result<http::Response<Full<Bytes>>, Infallible> {
    let (parts, body) = request.into_parts();
    let Ok(body) = body.collect().await else {
        return Ok(http::Response::default());
    };
    let raw = body.to_bytes();
    let path = parts.uri.path().to_owned();
    let act = script
        .lock()
        .unwrap()
        .get_mut(&path)
        .and_then(VecDeque::pop_front);
    let post = Post {
        body: serde_json::from_slice(&raw).unwrap_or_default(),
        raw,
        headers: parts.headers,
        path,
    };
    let _ = tell.send(post);
    let mut response = http::Response::default();
    match act {
        None => {}
        Some(Act::Answer(status)) => *response.status_mut() = status.try_into().unwrap(),
        Some(Act::With(status, name, value)) => {
            *response.status_mut() = status.try_into().unwrap();
            response.headers_mut().insert(name, value.parse().unwrap());
        }
        Some(Act::Hang) => std::future::pending().await,
    }
    Ok(response)
}
