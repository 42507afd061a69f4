//! The options that all client commands share, under the names of the a2a-cli specification.
//!
//! Every default is shown here and set in `mod.rs`; later spellings are accepted as aliases.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args};
use nuncio_client::Binding;

use crate::client_settings::duration::parse_duration;
use crate::output::Format;

/// Which agent, and how it is spoken to.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Agent")]
pub(crate) struct AgentOptions {
    /// The agent: a URL or host, a card's address, a card's file, or a known peer
    /// [env: A2ACLI_AGENT_CARD]
    #[arg(short = 'a', long, value_name = "REF")]
    pub(crate) agent_card: Option<String>,
    /// Transport to use, most wanted first: jsonrpc, grpc, rest; repeatable
    /// [default: the card's order] [env: A2ACLI_TRANSPORT]
    #[arg(long, value_name = "BINDING")]
    pub(crate) transport: Vec<Binding>,
    /// Protocol version to announce: 1.0, 0.3, 2025-04, hermes-fleet; `any` takes what the card offers
    /// [default: the highest 1.x of both sides] [env: A2ACLI_A2A_VERSION]
    #[arg(long, value_name = "VERSION")]
    pub(crate) a2a_version: Option<String>,
    /// Service parameter, sent as a header; repeatable [env: A2ACLI_SVC_PARAM]
    #[arg(long, value_name = "NAME:VALUE")]
    pub(crate) svc_param: Vec<String>,
    /// Token for the agent. On a command line it is seen in the process table and in the shell's
    /// history: prefer the variable [env: A2ACLI_BEARER]
    #[arg(long, value_name = "TOKEN", hide_env_values = true)]
    pub(crate) bearer: Option<String>,
    /// API key for the agent, placed as its card says. As visible on a command line as a token:
    /// prefer the variable [env: A2ACLI_API_KEY]
    #[arg(long, value_name = "KEY", hide_env_values = true)]
    pub(crate) api_key: Option<String>,
    /// Another origin that the agent's card may point to, trusted with the same credentials;
    /// repeatable [default: the card's own origin only] [env: A2ACLI_ALLOW_ORIGIN]
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) allow_origin: Vec<String>,
    /// Authorities whose TLS certificates are accepted, as a PEM file, in place of the machine's
    /// [env: A2ACLI_CA_CERT]
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_cert: Option<PathBuf>,
    /// Client certificate to show, as a PEM file [env: A2ACLI_CLIENT_CERT]
    #[arg(long, value_name = "FILE", requires = "client_key")]
    pub(crate) client_cert: Option<PathBuf>,
    /// Private key of the client certificate, as a PEM file [env: A2ACLI_CLIENT_KEY]
    #[arg(long, value_name = "FILE", requires = "client_cert")]
    pub(crate) client_key: Option<PathBuf>,
    /// Accept any TLS certificate [default: certificates are verified] [env: A2ACLI_INSECURE]
    #[arg(long)]
    pub(crate) insecure: bool,
}

/// How results are shown and where settings come from.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputOptions {
    /// Format of the result [default: text] [env: A2ACLI_OUTPUT]
    #[arg(short = 'o', long, value_name = "FORMAT")]
    pub(crate) output: Option<Format>,
    /// Print each event as it comes; with json as JSON Lines [default: one result at the end]
    #[arg(long)]
    pub(crate) stream: bool,
    /// Show everything that was exchanged [default: concise] [env: A2ACLI_VERBOSE]
    #[arg(long)]
    pub(crate) verbose: bool,
    /// Say on standard error how it is done [env: A2ACLI_DEBUG]
    #[arg(long)]
    pub(crate) debug: bool,
    /// File of settings in place of the nearest .env
    #[arg(long, alias = "env-file", value_name = "PATH")]
    pub(crate) config: Option<PathBuf>,
}

/// How long and how to wait for a task.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Waiting")]
pub(crate) struct WaitOptions {
    /// Pause between two questions about a task [default: 2s, at first shorter]
    /// [env: A2ACLI_POLL_INTERVAL]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) poll_interval: Option<Duration>,
    /// Longest time to wait; the task itself goes on [default: none] [env: A2ACLI_TIMEOUT]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) timeout: Option<Duration>,
    /// Wait until the task is done or needs something [default: on for send, off for task get]
    /// [env: A2ACLI_WAIT]
    #[arg(long, alias = "watch", action = ArgAction::SetTrue, overrides_with = "wait")]
    pub(crate) wait: bool,
}
