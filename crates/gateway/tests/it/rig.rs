//! A gateway under test and a bare HTTP client for it.

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use nuncio_gateway::Gateway;
use nuncio_gateway::config::{self, StoreUrl};
use nuncio_wire::bindings::grpc::FrameReader;
use nuncio_wire::bindings::sse::SseReader;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::binding::{Binding, grpc_event, grpc_status};
use crate::postgres_server::Database;

/// Nothing in these tests takes longer unless it hangs.
pub const LIMIT: Duration = Duration::from_secs(20);

/// Which store a test runs over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    Memory,
    Sqlite,
    Postgres,
}

/// What a test runs over.
#[derive(Clone, Copy, Debug)]
pub struct Over {
    pub store: Store,
    pub binding: Binding,
}

/// JSON-RPC, for tests that care for the store alone.
impl From<Store> for Over {
    fn from(store: Store) -> Self {
        Self {
            store,
            binding: Binding::JsonRpc,
        }
    }
}

/// Runs an async test body over every store.
macro_rules! over_stores {
    ($(async fn $name:ident($store:ident: Store) $body:block)*) => {$(
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            async fn run($store: crate::rig::Store) $body
            crate::rig::variants! {
                memory: crate::rig::Store::Memory,
                sqlite: crate::rig::Store::Sqlite,
                postgres: crate::rig::Store::Postgres,
            }
        }
    )*};
}
pub(crate) use over_stores;

/// Runs an async test body over every store that outlives a gateway.
macro_rules! over_databases {
    ($(async fn $name:ident($store:ident: Store) $body:block)*) => {$(
        mod $name {
            use super::*;
            async fn run($store: crate::rig::Store) $body
            crate::rig::variants! {
                sqlite: crate::rig::Store::Sqlite,
                postgres: crate::rig::Store::Postgres,
            }
        }
    )*};
}
pub(crate) use over_databases;

/// Runs an async test body over every binding and store; PostgreSQL with one binding, as its
/// databases take time to make.
macro_rules! over_bindings {
    ($(async fn $name:ident($over:ident: Over) $body:block)*) => {$(
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            use crate::binding::Binding;
            use crate::rig::{Over, Store};
            async fn run($over: Over) $body
            crate::rig::variants! {
                json_rpc_memory: Over { store: Store::Memory, binding: Binding::JsonRpc },
                json_rpc_sqlite: Over { store: Store::Sqlite, binding: Binding::JsonRpc },
                json_rpc_postgres: Over { store: Store::Postgres, binding: Binding::JsonRpc },
                rest_memory: Over { store: Store::Memory, binding: Binding::Rest },
                rest_sqlite: Over { store: Store::Sqlite, binding: Binding::Rest },
                grpc_memory: Over { store: Store::Memory, binding: Binding::Grpc },
                grpc_sqlite: Over { store: Store::Sqlite, binding: Binding::Grpc },
            }
        }
    )*};
}
pub(crate) use over_bindings;

/// The same over the bindings that carry JSON and server-sent events.
macro_rules! over_json_bindings {
    ($(async fn $name:ident($over:ident: Over) $body:block)*) => {$(
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            use crate::binding::Binding;
            use crate::rig::{Over, Store};
            async fn run($over: Over) $body
            crate::rig::variants! {
                json_rpc_memory: Over { store: Store::Memory, binding: Binding::JsonRpc },
                json_rpc_sqlite: Over { store: Store::Sqlite, binding: Binding::JsonRpc },
                rest_memory: Over { store: Store::Memory, binding: Binding::Rest },
                rest_sqlite: Over { store: Store::Sqlite, binding: Binding::Rest },
            }
        }
    )*};
}
pub(crate) use over_json_bindings;

/// One test for each variant that `run` is to be run over.
macro_rules! variants {
    ($($variant:ident: $over:expr,)*) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $variant() {
            tokio::time::timeout(crate::rig::LIMIT, run($over)).await.expect("hangs");
        }
    )*};
}
pub(crate) use variants;

/// A gateway and where it is.
pub struct Rig {
    gateway: Option<Gateway>,
    pub dir: tempfile::TempDir,
    pub base: String,
    config: String,
    over: Over,
    store: StoreUrl,
    _database: Option<Database>,
    client: Client<HttpConnector, Full<Bytes>>,
    http2: Client<HttpConnector, Full<Bytes>>,
}

/// An echo agent.
pub const ECHO: &str = "[agents.echo]\nbackend = \"echo\"\n";

impl Rig {
    /// A gateway with this configuration, its addresses and store aside.
    pub async fn start(over: impl Into<Over>, config: &str) -> Self {
        Self::with_secrets(over, config, &[]).await
    }

    /// The same with secret files, named relative to the gateway's directory.
    pub async fn with_secrets(over: impl Into<Over>, config: &str, files: &[(&str, &str)]) -> Self {
        let over = over.into();
        let dir = tempfile::tempdir().unwrap();
        for (name, secret) in files {
            let path = dir.path().join(name);
            std::fs::write(&path, secret).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        }
        let (store, database) = match over.store {
            Store::Memory => (StoreUrl::Memory, None),
            Store::Sqlite => (StoreUrl::Sqlite("test.db".into()), None),
            Store::Postgres => {
                let database = Database::new();
                let url = database.url().parse().expect("a URL of a database");
                (url, Some(database))
            }
        };
        let (gateway, base) = serve(&store, config, dir.path()).await;
        let client = Client::builder(TokioExecutor::new()).build_http();
        // The head and the message of a call are two frames: the second would wait for the first.
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let http2 = Client::builder(TokioExecutor::new())
            .http2_only(true)
            .build(connector);
        Self {
            gateway: Some(gateway),
            dir,
            base,
            config: config.to_owned(),
            over,
            store,
            _database: database,
            client,
            http2,
        }
    }

    /// A gateway whose only agent runs `script` with `sh`.
    pub async fn with_script(over: impl Into<Over>, script: &str) -> Self {
        Self::start(over, &script_agent("worker", script, "")).await
    }

    /// Ends the gateway in order.
    pub async fn stop(mut self) {
        self.gateway.take().unwrap().shutdown(LIMIT).await;
    }

    /// Stops the gateway with its grace and starts it again over the same store.
    pub async fn restart(&mut self, grace: Duration) {
        self.gateway.take().unwrap().shutdown(grace).await;
        let (gateway, base) = serve(&self.store, &self.config, self.dir.path()).await;
        (self.gateway, self.base) = (Some(gateway), base);
    }

    pub async fn request(&self, request: http::Request<Full<Bytes>>) -> http::Response<Incoming> {
        let value = request.headers().get("content-type");
        let is_grpc = value.is_some_and(|value| value.as_bytes().starts_with(b"application/grpc"));
        let client = if is_grpc { &self.http2 } else { &self.client };
        client.request(request).await.unwrap()
    }

    /// A POST of JSON with these headers.
    pub async fn post(&self, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        Answer::of(self.request(self.post_request(path, headers, body)).await).await
    }

    pub fn post_request(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> http::Request<Full<Bytes>> {
        let mut request = http::Request::post(format!("{}{path}", self.base));
        if !headers.iter().any(|(name, _)| *name == "content-type") {
            request = request.header("content-type", "application/json");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request
            .body(Full::new(Bytes::copy_from_slice(body.as_bytes())))
            .unwrap()
    }

    pub async fn get(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.bare("GET", path, headers).await
    }

    /// A call in 1.0; what came of it, in the shape of [`Binding::outcome`].
    pub async fn call(&self, method: &str, params: Value) -> Value {
        self.call_as(&[], method, params).await
    }

    /// The same with another version.
    pub async fn call_in(&self, version: &str, method: &str, params: Value) -> Value {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let headers = [("a2a-version", version)];
        self.post("/", &headers, &body.to_string()).await.json
    }

    /// The same with further headers.
    pub async fn call_as(&self, headers: &[(&str, &str)], method: &str, params: Value) -> Value {
        self.exchange(headers, method, &params.to_string()).await.1
    }

    /// The request of a call. `params` is JSON text.
    pub fn operation(
        &self,
        headers: &[(&str, &str)],
        method: &str,
        params: &str,
    ) -> http::Request<Full<Bytes>> {
        let binding = self.over.binding;
        binding.request(&self.base, headers, method, params)
    }

    /// The whole answer to a call, and what came of it.
    pub async fn exchange(
        &self,
        headers: &[(&str, &str)],
        method: &str,
        params: &str,
    ) -> (Answer, Value) {
        let request = self.operation(headers, method, params);
        let answer = Answer::of(self.request(request).await).await;
        let outcome = self.outcome(method, &answer);
        (answer, outcome)
    }

    /// What came of a call, in the shape of [`Binding::outcome`].
    pub fn outcome(&self, method: &str, answer: &Answer) -> Value {
        self.over.binding.outcome(method, answer)
    }

    /// A request without a body, with any verb.
    pub async fn bare(&self, verb: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        let uri = format!("{}{path}", self.base);
        let mut request = http::Request::builder().method(verb).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        Answer::of(self.request(request.body(Full::default()).unwrap()).await).await
    }

    /// Sends `text` and waits for the end; the task.
    pub async fn send(&self, text: &str) -> Value {
        let answer = self.call("SendMessage", message(text)).await;
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"]["task"].clone()
    }

    /// Sends with `returnImmediately`; the task.
    pub async fn start_task(&self, text: &str) -> Value {
        let mut params = message(text);
        params["configuration"] = json!({"returnImmediately": true});
        let answer = self.call("SendMessage", params).await;
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"]["task"].clone()
    }

    pub async fn get_task(&self, id: &str) -> Value {
        self.call("GetTask", json!({"id": id})).await["result"].clone()
    }

    /// Opens a stream with a call.
    pub async fn stream(&self, headers: &[(&str, &str)], method: &str, params: Value) -> Frames {
        let request = self.operation(headers, method, &params.to_string());
        let response = self.request(request).await;
        let content_type = response.headers()["content-type"]
            .to_str()
            .unwrap()
            .to_owned();
        let (expected, reader) = match self.over.binding {
            Binding::Grpc => (
                "application/grpc",
                Reader::Messages(FrameReader::new(1 << 24)),
            ),
            _ => ("text/event-stream", Reader::Sse(SseReader::new(1 << 24))),
        };
        assert_eq!(content_type, expected, "{:?}", response.status());
        assert!(
            !response.headers().contains_key("grpc-status"),
            "{response:?}"
        );
        assert_eq!(response.headers()["a2a-version"], "1.0");
        Frames {
            response,
            binding: self.over.binding,
            reader,
            ready: VecDeque::new(),
        }
    }
}

/// A gateway and its address.
async fn serve(store: &StoreUrl, config: &str, dir: &Path) -> (Gateway, String) {
    let mut config = config::parse(config, Path::new("test.toml")).expect("the test's own file");
    for (key, secret) in config.secrets_mut() {
        let env = |name: &str| Some(name.to_lowercase());
        secret
            .resolve(&env, dir)
            .unwrap_or_else(|error| panic!("{key}: {error}"));
    }
    config.server.listen = vec!["127.0.0.1:0".parse().unwrap()];
    config.store.url = store.clone();
    config.anchor_programs(dir);
    if let Some(tls) = &mut config.server.tls {
        tls.anchor(dir);
    }
    let scheme = config.scheme();
    let gateway = Gateway::start(Arc::new(config), dir)
        .await
        .expect("the gateway starts");
    let base = format!("{scheme}://{}", gateway.addresses()[0]);
    (gateway, base)
}

/// An agent that runs `script` with `sh`; `settings` are further lines of its table.
pub fn script_agent(name: &str, script: &str, settings: &str) -> String {
    let script = toml::Value::String(script.to_owned());
    format!(
        "[agents.{name}]\nbackend = \"command\"\ncommand = [\"sh\", \"-c\", {script}]\n{settings}\n"
    )
}

/// Parameters that send one text.
pub fn message(text: &str) -> Value {
    json!({"message": {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": text}]}})
}

/// The text of a task's first artifact.
pub fn artifact_text(task: &Value) -> &str {
    task["artifacts"][0]["parts"][0]["text"]
        .as_str()
        .unwrap_or_default()
}

/// An answer with its body read.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: http::HeaderMap,
    pub body: Bytes,
    /// Null if the body is no JSON.
    pub json: Value,
}

impl Answer {
    /// Reads the body; trailers are added to the headers.
    pub async fn of(response: http::Response<Incoming>) -> Self {
        let (mut parts, body) = response.into_parts();
        let body = body.collect().await.unwrap();
        parts
            .headers
            .extend(body.trailers().cloned().unwrap_or_default());
        let body = body.to_bytes();
        let json = serde_json::from_slice(&body).unwrap_or_default();
        Self {
            status: parts.status.as_u16(),
            headers: parts.headers,
            body,
            json,
        }
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }
}

enum Reader {
    Sse(SseReader),
    Messages(FrameReader),
}

/// Frames of a stream as they come.
pub struct Frames {
    response: http::Response<Incoming>,
    binding: Binding,
    reader: Reader,
    ready: VecDeque<(Option<String>, Value)>,
}

impl Frames {
    /// The next frame's SSE id and, in the shape of [`Binding::frame`], its JSON; `None` at the end of the stream.
    pub async fn next(&mut self) -> Option<(Option<String>, Value)> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Some(frame);
            }
            let frame = self.response.frame().await?.unwrap();
            let data = match frame.into_data() {
                Ok(data) => data,
                Err(end) => {
                    let status = grpc_status(&end.into_trailers().unwrap());
                    assert_eq!(status.code, 0, "{status:?}");
                    return None;
                }
            };
            match &mut self.reader {
                Reader::Sse(reader) => {
                    reader.feed(&data).unwrap();
                    while let Some(event) = reader.next_event() {
                        let frame = serde_json::from_str(&event.data).unwrap();
                        self.ready.push_back((event.id, self.binding.frame(frame)));
                    }
                }
                Reader::Messages(reader) => {
                    reader.feed(&data);
                    while let Some(message) = reader.next_message().unwrap() {
                        let frame = self.binding.frame(grpc_event(message));
                        self.ready.push_back((None, frame));
                    }
                }
            }
        }
    }

    /// The next frame's `result`.
    pub async fn result(&mut self) -> Value {
        self.next().await.expect("another frame").1["result"].clone()
    }

    /// Every further frame's `result`, to the end of the stream.
    pub async fn rest(&mut self) -> Vec<Value> {
        let mut results = Vec::new();
        while let Some((_, frame)) = self.next().await {
            results.push(frame["result"].clone());
        }
        results
    }
}
