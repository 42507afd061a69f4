//! A server under measurement: starts the floor or nuncio pinned to one core with a data directory
//! of its own, waits until it answers, and ends it. Never leaves a server behind.

use std::fmt;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::process_facts;
use crate::process;

/// Core of the server; the load generator has the other one.
pub(super) const SERVER_CORE: &str = "1";
/// Core of the load generator.
pub(super) const LOAD_CORE: &str = "0";

/// A server that has not printed its URL by then is not coming.
const START_LIMIT: Duration = Duration::from_secs(20);

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Server {
    Floor,
    Memory,
    Sqlite,
}

impl fmt::Display for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Floor => "floor",
            Self::Memory => "nuncio memory",
            Self::Sqlite => "nuncio sqlite",
        })
    }
}

/// How a server is started beyond its defaults.
#[derive(Debug, Default)]
pub(super) struct Options {
    /// Tasks that the memory store keeps; without it nuncio's default holds.
    pub(super) max_tasks: Option<u64>,
    /// Serve an agent `slow`, whose turns last minutes.
    pub(super) slow_agent: bool,
    /// Serve an agent that asks back when it is told to, and post to receivers on this machine.
    pub(super) webhooks: bool,
    /// Serve a live agent that answers at once.
    pub(super) acp_agent: bool,
}

/// A running server.
#[derive(Debug)]
pub(super) struct Served {
    child: Child,
    pub(super) address: SocketAddr,
    /// From the start of the process to the first agent card.
    pub(super) to_first_card: Duration,
}

impl Served {
    /// Starts `server` with an empty data directory below `target/bench/`.
    ///
    /// # Errors
    /// When it does not start, prints no URL in time, or answers no card.
    pub(super) fn start(server: Server, options: &Options) -> Result<Self> {
        let root = process::repository_root();
        let home = root.join("target/bench/home");
        if home.exists() {
            std::fs::remove_dir_all(&home)?;
        }
        std::fs::create_dir_all(&home)?;
        let binaries = root.join("target/release");
        let mut command = pinned(SERVER_CORE);
        match server {
            Server::Floor => {
                command.arg(binaries.join("bench-floor"));
            }
            Server::Memory => nuncio(&mut command, &binaries, &home, "memory:", options)?,
            Server::Sqlite => nuncio(&mut command, &binaries, &home, "sqlite:bench.db", options)?,
        }
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let started = Instant::now();
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot start {server}"))?;
        let address = match address(&mut child) {
            Ok(address) => address,
            Err(error) => {
                end(&mut child);
                return Err(error.context(format!("{server} did not start")));
            }
        };
        let mut served = Self {
            child,
            address,
            to_first_card: Duration::ZERO,
        };
        served.wait_for_card()?;
        served.to_first_card = started.elapsed();
        Ok(served)
    }

    pub(super) fn process(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn memory_kib(&self) -> Result<u64> {
        process_facts::memory_kib(self.process())
    }

    fn wait_for_card(&self) -> Result<()> {
        let mut stream = TcpStream::connect(self.address)?;
        let host = self.address;
        write!(
            stream,
            "GET /.well-known/agent-card.json HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        if !answer.starts_with("HTTP/1.1 200") {
            bail!("the server answers no card: {answer}");
        }
        Ok(())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// A data directory is thrown away, so the server need not shut down in order.
fn end(child: &mut Child) {
    // Both fail only when the process is gone already.
    child.kill().ok();
    child.wait().ok();
}

/// `taskset -c CORE`, or `env` where there is a single core to share.
pub(super) fn pinned(core: &str) -> Command {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if cores < 2 {
        return Command::new("env");
    }
    let mut command = Command::new("taskset");
    command.args(["-c", core]);
    command
}

fn nuncio(
    command: &mut Command,
    binaries: &Path,
    home: &Path,
    store: &str,
    options: &Options,
) -> Result<()> {
    process::without_own_settings(command);
    command
        .arg(binaries.join("nuncio"))
        .env("NUNCIO_HOME", home)
        .current_dir(home);
    command.args(["serve", "--listen", "127.0.0.1:0"]);
    command.args(["--store", store]);
    let mut text = String::new();
    if let Some(max_tasks) = options.max_tasks {
        text.push_str(&format!("[store]\nmax_tasks = {max_tasks}\n"));
    }
    if options.webhooks {
        text.push_str(WEBHOOKS);
    }
    if options.acp_agent {
        let agent = binaries.join("bench-agent");
        text.push_str(&format!(
            "[agents.live]\nbackend = \"acp\"\ncommand = [{agent:?}]\n"
        ));
    }
    if !text.is_empty() {
        let config = home.join("nuncio.toml");
        std::fs::write(&config, text).with_context(|| format!("cannot write {config:?}"))?;
        command.arg("--config").arg(config);
    }
    if options.slow_agent {
        command
            .arg("--agent")
            .arg(format!("slow={}", slow_agent(home)?));
    }
    Ok(())
}

/// Two agents, the first of which answers at once, and receivers on this machine.
const WEBHOOKS: &str = "\
[agents.echo]
backend = \"echo\"
[agents.asks]
backend = \"conformance\"
[security]
push_allow_addresses = [\"127.0.0.1\"]
";

/// Writes the program of an agent that takes its time: longer than the measurement, but not for
/// ever, since the server under measurement is killed and cannot end it.
fn slow_agent(home: &Path) -> Result<String> {
    use std::os::unix::fs::PermissionsExt;
    let program = home.join("slow.sh");
    std::fs::write(&program, "#!/bin/sh\nexec sleep 120\n")?;
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
    Ok(program.to_string_lossy().into_owned())
}

/// The address in the first URL that the child prints on either stream.
fn address(child: &mut Child) -> Result<SocketAddr> {
    let (sender, lines) = channel();
    let stdout = child.stdout.take().context("stdout is not piped")?;
    let stderr = child.stderr.take().context("stderr is not piped")?;
    drain(stdout, sender.clone());
    drain(stderr, sender);
    let mut seen = String::new();
    let deadline = Instant::now() + START_LIMIT;
    while let Ok(line) = lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        if let Some(address) = address_in(&line) {
            return Ok(address);
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

fn address_in(line: &str) -> Option<SocketAddr> {
    let rest = line.split("http://").nth(1)?;
    let end = rest.find(|it: char| !(it.is_ascii_digit() || ".:".contains(it)));
    rest[..end.unwrap_or(rest.len())].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_url_of_a_line_is_found() {
        let address = address_in("card: http://127.0.0.1:4711/.well-known/agent-card.json");
        assert_eq!(address.unwrap().port(), 4711);
        assert_eq!(address_in("no url"), None);
    }

    #[test]
    fn a_server_that_prints_no_url_is_shown_with_what_it_printed() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo port in use >&2"]);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let error = address(&mut child).unwrap_err().to_string();
        assert!(error.contains("port in use"), "{error}");
        end(&mut child);
    }
}
