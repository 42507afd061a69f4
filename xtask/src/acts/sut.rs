//! The agent under test: `nuncio serve` with a profile of the conformance backend, on a free port,
//! with a data directory of its own. Never leaves a process behind.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use tempfile::TempDir;

use super::bindings::{Peer, fetch};
use super::corpus::Transport;
use crate::process;

/// Behaviours that the conformance backend has; a test that needs another one fails.
pub const BEHAVIOURS: [&str; 15] = [
    "tck-complete-task",
    "tck-long-running",
    "tck-multi-turn",
    "tck-stream-basic",
    "tck-stream-chunked",
    "tck-message-response",
    "tck-cancel",
    "tck-task-failure",
    "tck-auth-required",
    "tck-artifact-text",
    "tck-artifact-data",
    "tck-artifact-file",
    "tck-artifact-file-url",
    "tck-input-required",
    "tck-reject-task",
];

/// The credential that may do everything.
pub const VALID_TOKEN: &str = "itk-valid-token";
/// The credential that is known and may do nothing.
pub const INSUFFICIENT_TOKEN: &str = "itk-insufficient-token";

/// A server that has not printed its URL by then is not coming.
const START_LIMIT: Duration = Duration::from_secs(35);
/// Where the public card is, below the server's URL.
const CARD: &str = "/.well-known/agent-card.json";

/// Which card and switches the agent has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Everything on, no credential needed but for the extended card.
    Default,
    /// No streaming, push or extended card.
    Reduced,
    /// A credential for everything.
    Auth,
}

impl Profile {
    /// The conformance backend's name for it.
    #[must_use]
    pub fn backend(self) -> &'static str {
        match self {
            Self::Default => "acts",
            Self::Reduced => "acts-reduced",
            Self::Auth => "acts-auth",
        }
    }
}

/// A running agent.
#[derive(Debug)]
pub struct Sut {
    child: Child,
    _home: TempDir,
    url: String,
    /// Its public card.
    pub card: Value,
}

impl Drop for Sut {
    fn drop(&mut self) {
        // Both fail only when the process is gone already; its data goes with it.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Sut {
    /// Starts `program` and waits for its card.
    ///
    /// # Errors
    /// When it does not start, with what it printed.
    pub async fn start(program: &Path, profile: Profile, version: &str) -> Result<Self> {
        let home = TempDir::new()?;
        let config = home.path().join("nuncio.toml");
        std::fs::write(&config, configuration(profile))?;
        let mut command = Command::new(program);
        process::without_own_settings(&mut command);
        let mut child = command
            .args(["serve", "--config"])
            .arg(&config)
            .env("NUNCIO_HOME", home.path())
            .current_dir(home.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let url = url(&mut child);
        let mut sut = Self {
            child,
            _home: home,
            url: String::new(),
            card: Value::Null,
        };
        sut.url = url.with_context(|| format!("profile {} did not start", profile.backend()))?;
        let card = fetch(&format!("{}{CARD}", sut.url), &[("A2A-Version", version)]).await;
        let (status, _, card) = card.map_err(|trouble| anyhow::anyhow!("no card: {trouble}"))?;
        if status != 200 {
            bail!("the card is answered with {status}");
        }
        sut.card = serde_json::from_slice(&card).context("the card is no JSON")?;
        Ok(sut)
    }

    /// The agent's end of this binding; `None` when the card does not name it.
    #[must_use]
    pub fn peer(&self, transport: Transport, version: &str) -> Option<Peer> {
        Some(Peer {
            transport,
            base: interface(&self.card, transport)?
                .trim_end_matches('/')
                .to_owned(),
            card_url: format!("{}{CARD}", self.url),
            version: version.to_owned(),
            token: Some(VALID_TOKEN.to_owned()),
        })
    }
}

/// The URL of a binding: one of version 1.0 before any other.
fn interface(card: &Value, transport: Transport) -> Option<&str> {
    let interfaces = card["supportedInterfaces"].as_array()?;
    let bound: Vec<_> = interfaces
        .iter()
        .filter(|it| {
            let binding = it["protocolBinding"].as_str();
            binding.is_some_and(|binding| transport.card_names().contains(&binding))
        })
        .collect();
    let current = bound.iter().find(|it| it["protocolVersion"] == "1.0");
    current.or(bound.first())?["url"].as_str()
}

fn configuration(profile: Profile) -> String {
    let name = profile.backend();
    format!(
        "[server]\nlisten = [\"127.0.0.1:0\"]\n\
         [store]\nurl = \"memory:\"\n\
         [agents.acts]\nbackend = \"conformance\"\nprofile = \"{name}\"\n"
    )
}

/// The first URL that the child prints on either stream.
fn url(child: &mut Child) -> Result<String> {
    let (sender, lines) = channel();
    drain(
        child.stdout.take().context("stdout is not piped")?,
        sender.clone(),
    );
    drain(child.stderr.take().context("stderr is not piped")?, sender);
    let mut seen = String::new();
    let deadline = Instant::now() + START_LIMIT;
    while let Ok(line) = lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        if let Some(url) = url_in(&line) {
            return Ok(url);
        }
        seen.push_str(&line);
        seen.push('\n');
    }
    bail!("no line with a URL; it printed:\n{seen}")
}

/// Reads a stream to its end, so that the server never blocks on it; passes lines on while asked.
fn drain(stream: impl Read + Send + 'static, lines: Sender<String>) {
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            // Nobody listens any more once the URL is known.
            lines.send(line).ok();
        }
    });
}

fn url_in(line: &str) -> Option<String> {
    let rest = line.split("http://").nth(1)?;
    let end = rest.find(|it: char| !(it.is_ascii_digit() || ".:".contains(it)));
    let address = rest[..end.unwrap_or(rest.len())].trim_end_matches(['.', ':']);
    let address: std::net::SocketAddr = address.parse().ok()?;
    Some(format!("http://{address}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_binding_is_found_by_any_of_its_names_and_current_versions_first() {
        let card = json!({"supportedInterfaces": [
            {"url": "http://a/old", "protocolBinding": "REST", "protocolVersion": "0.3"},
            {"url": "http://a/new/", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
        ]});
        assert_eq!(interface(&card, Transport::Rest), Some("http://a/new/"));
        assert_eq!(interface(&card, Transport::Grpc), None);
    }

    #[test]
    fn urls_are_found_in_what_a_server_says() {
        let line = "2026 INFO listening url=http://127.0.0.1:4711/ agent";
        assert_eq!(url_in(line).as_deref(), Some("http://127.0.0.1:4711"));
        assert_eq!(url_in("http://example.org"), None);
    }
}
