//! `[server]`: addresses, connection limits, proxies.

use std::net::SocketAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Cidr, Duration, SecretRef, TlsConfig, WebUrl};

/// Where the gateway listens unless it is told otherwise.
pub const DEFAULT_LISTEN: &str = "127.0.0.1:8081";
/// 16 MiB, in bytes: a message of nine megabytes in base64 passes with room for its envelope.
pub const DEFAULT_MAX_BODY_BYTES: usize = 16 * 1024 * 1024;
/// Connections at one time; each may hold a body of [`DEFAULT_MAX_BODY_BYTES`].
const DEFAULT_MAX_CONNECTIONS: usize = 1024;
/// Half of all, so that one address cannot lock out the others, nor a proxy starve early.
const DEFAULT_MAX_CONNECTIONS_PER_ADDRESS: usize = 512;
/// A head is a few kilobytes: who needs longer holds the connection on purpose.
const DEFAULT_HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// Between two pieces of a body, so that slow links pass and stalled ones do not.
const DEFAULT_BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// Longer than the 60 s after which common proxies give up a kept-alive connection.
const DEFAULT_IDLE_TIMEOUT: Duration = Duration::from_secs(75);
/// Enough for a turn that is about to end; systemd waits 90 s before it kills.
const DEFAULT_SHUTDOWN_GRACE: Duration = Duration::from_secs(10);

/// Where the gateway listens, and the limits of its connections.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ServerConfig {
    /// Addresses to listen on, as IP:PORT. Port 0 lets the system choose. Addresses that other
    /// machines can reach need a credential in `[security]`.
    #[schemars(schema_with = "listen_schema")]
    pub listen: Vec<SocketAddr>,
    /// The address under which callers reach this gateway, as agent cards give it. Without it
    /// cards name the address that a trusted proxy gives, else the one by which the connection
    /// came in.
    #[schemars(example = serde_json::json!("https://agents.example.org"))]
    pub public_url: Option<WebUrl>,
    /// Private keys that sign the agent cards, by reference; make one with `nuncio card keygen`.
    /// Several may stand side by side while one replaces another. Signed cards name set addresses
    /// only, so `public_url` must be set, too.
    #[schemars(example = serde_json::json!(["file:card-key.jwk"]))]
    pub card_keys: Vec<SecretRef>,
    /// TLS on every address of `listen`: the server's certificate, its private key and, where
    /// client certificates are credentials, the authorities that give them out, as PEM files. A
    /// relative path is meant from this file's directory. The files are taken anew when they
    /// change; connections that are open stay open.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!({ "certificate": "tls/cert.pem", "key": "tls/key.pem", "client_ca": "tls/clients.pem" }))]
    pub tls: Option<TlsConfig>,
    /// Proxies in front of this gateway, as addresses or ranges. What they say in `Forwarded` or
    /// `X-Forwarded-For`, `-Proto`, `-Host` and `-Prefix` counts for the addresses on agent cards
    /// (unless `public_url` is set) and for who a caller is; from anybody else it is ignored. A
    /// proxy named here must set these headers itself, or take away what callers send.
    #[schemars(example = serde_json::json!(["10.0.0.0/8", "::1"]))]
    pub trusted_proxies: Vec<Cidr>,
    /// Host names that callers may put into the `Host` header, besides loopback, the listen
    /// addresses and the host of `public_url`.
    #[schemars(example = serde_json::json!(["agents.example.org"]))]
    pub allowed_hosts: Vec<String>,
    /// The largest body of a request, in bytes.
    #[schemars(range(min = 1024))]
    pub max_body_bytes: usize,
    /// Connections at one time; more wait in the system's queue.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_connections: usize,
    /// Connections that one remote address may hold at one time.
    #[schemars(range(min = 1))]
    pub max_connections_per_address: usize,
    /// How long the head of a request may take to arrive.
    pub header_timeout: Duration,
    /// How long a body may pause between two pieces.
    pub body_timeout: Duration,
    /// How long a connection may stay open without a request.
    pub idle_timeout: Duration,
    /// How long running turns may go on after the gateway was told to stop.
    pub shutdown_grace: Duration,
    /// What makes a repeated send the same send: `key` (the `Idempotency-Key` header or the
    /// `idempotencyKey` parameter) or `message-id` (the id of every message counts as its key).
    pub idempotency: Idempotency,
}

/// What makes a repeated send the same send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum Idempotency {
    /// Only a key that the caller sends.
    #[default]
    Key,
    /// Every message id counts as a key.
    MessageId,
}

impl Default for ServerConfig {
    fn default() -> ServerConfig {
        ServerConfig {
            listen: vec![DEFAULT_LISTEN.parse().expect("the default is an address")],
            public_url: None,
            card_keys: Vec::new(),
            tls: None,
            trusted_proxies: Vec::new(),
            allowed_hosts: Vec::new(),
            max_body_bytes: DEFAULT_MAX_BODY_BYTES,
            max_connections: DEFAULT_MAX_CONNECTIONS,
            max_connections_per_address: DEFAULT_MAX_CONNECTIONS_PER_ADDRESS,
            header_timeout: DEFAULT_HEADER_TIMEOUT,
            body_timeout: DEFAULT_BODY_TIMEOUT,
            idle_timeout: DEFAULT_IDLE_TIMEOUT,
            shutdown_grace: DEFAULT_SHUTDOWN_GRACE,
            idempotency: Idempotency::Key,
        }
    }
}

fn listen_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "array",
        "items": { "type": "string", "format": "ip-port" },
        "minItems": 1
    })
}
