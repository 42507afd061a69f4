//! `backend = "a2a"`.

use indexmap::IndexMap;
use nuncio_client::Binding;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::{Duration, PeerAuth, PeerConfig, PeerProtocol, WebUrl};

/// Pause between two questions after a task that cannot be followed by a stream.
const DEFAULT_POLL_INTERVAL: Duration = Duration::from_secs(2);
/// How long an agent may be away in the middle of a task: long enough for a restart.
const DEFAULT_RECONNECT_FOR: Duration = Duration::from_secs(2 * 60);

/// `backend = "a2a"`: another A2A agent, in whatever generation and over whatever binding its card
/// offers.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct UpstreamConfig {
    /// Where its card is: the base address or the card itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!("https://research.example.org"))]
    pub url: Option<WebUrl>,
    /// The name of a table `[peers.NAME]`: what is not set here is taken from there, its credential only
    /// together with its `url`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!("research"))]
    pub peer: Option<String>,
    /// The credential it wants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!({ "type": "bearer", "token": "env:RESEARCH_TOKEN" }))]
    pub auth: Option<PeerAuth>,
    /// The protocol to speak with it. Without it the card decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!("0.3"))]
    pub a2a_version: Option<PeerProtocol>,
    /// How to call it: `jsonrpc`, `grpc` or `rest`. Without it, as its card prefers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!("grpc"))]
    pub transport: Option<PeerTransport>,
    /// Other origins that its card may name for its calls, each as `http://HOST:PORT` or
    /// `https://HOST:PORT`: a gRPC server has a port of its own. They get its credential, too. Without
    /// any, only the origin of `url` is called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(example = serde_json::json!(["https://grpc.research.example.org"]))]
    pub allow_origins: Vec<WebUrl>,
    /// A header that tells it who asks, as in `peer:NAME`. Without it, it is not told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!("X-Caller"))]
    pub caller_header: Option<String>,
    /// Whether an agent that can post the news of a task, but has no streams, is told to post them here.
    /// Until it does, and once a minute after that, it is asked all the same.
    #[serde(default)]
    pub push: bool,
    /// Where the agent reaches this gateway for that, if not at `server.public_url` or the listener's
    /// address: it posts below `/callback` there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!("http://host.docker.internal:8081"))]
    pub callback_base: Option<WebUrl>,
    /// Pause between two questions after a task that cannot be followed by a stream.
    #[serde(default = "default_poll_interval")]
    pub poll_interval: Duration,
    /// How long it may be away in the middle of a task before the task fails.
    #[serde(default = "default_reconnect_for")]
    pub reconnect_for: Duration,
    /// How long a turn may take; then its task is canceled there and fails here.
    #[serde(default = "super::default_turn_timeout")]
    pub turn_timeout: Duration,
    /// What a turn may say, in bytes; then its task is canceled there and fails here.
    #[serde(default = "super::default_max_output_bytes")]
    #[schemars(range(min = 1))]
    pub max_output_bytes: usize,
}

impl UpstreamConfig {
    /// What is wrong with how the agent is named, and under which key; `peers` are those it may name.
    pub(crate) fn problem(
        &self,
        peers: &IndexMap<String, PeerConfig>,
    ) -> Option<(&'static str, String)> {
        match (&self.peer, &self.url) {
            (Some(peer), _) if !peers.contains_key(peer) => {
                Some(("peer", format!("there is no table `[peers.{peer}]`")))
            }
            (None, None) => {
                let text = "an agent with `backend = \"a2a\"` needs a `url` or a `peer`";
                Some(("backend", text.to_owned()))
            }
            _ => self.allow_origins.iter().find_map(|origin| {
                let url = origin.url();
                let is_more = url.path() != "/" || url.query().is_some();
                let text =
                    format!("`{origin}` is more than an origin: leave out what follows its port");
                is_more.then_some(("allow_origins", text))
            }),
        }
    }
}

/// How another agent is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum PeerTransport {
    /// JSON-RPC over HTTP.
    JsonRpc,
    /// gRPC.
    Grpc,
    /// HTTP and JSON with a path per operation.
    Rest,
}

impl From<PeerTransport> for Binding {
    fn from(transport: PeerTransport) -> Self {
        match transport {
            PeerTransport::JsonRpc => Self::JsonRpc,
            PeerTransport::Grpc => Self::Grpc,
            PeerTransport::Rest => Self::Rest,
        }
    }
}

fn default_poll_interval() -> Duration {
    DEFAULT_POLL_INTERVAL
}

fn default_reconnect_for() -> Duration {
    DEFAULT_RECONNECT_FOR
}
