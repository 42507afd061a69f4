//! `nuncio serve`: runs the gateway until it is told to stop.
//!
//! Owns the flags, the words on the terminal and the signals; everything else is the gateway's.

mod banner;
mod logging;
mod port_holder;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use nuncio_gateway::config::{StoreUrl, WebUrl};
use nuncio_gateway::{Gateway, StartError};
use tokio::signal::unix::{Signal, SignalKind, signal};

pub(crate) use banner::base_url;
pub(crate) use logging::start as start_logging;

use crate::exit_code::ExitCode;
use crate::load_config::{Flags, Loaded, ProgramFlag, home, load, process_env};
use crate::output;

/// Run the gateway: serve agents over A2A.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Without a configuration a built-in `echo` agent is served. Flags count before A2A_* variables, \
which count before the file.")]
pub(crate) struct ServeArgs {
    /// Configuration file. Else NUNCIO_CONFIG, ./nuncio.toml, nuncio.toml in the data directory.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Data directory. Else NUNCIO_HOME, ~/.local/share/nuncio.
    #[arg(long, value_name = "DIRECTORY")]
    home: Option<PathBuf>,
    /// Address to listen on; may be repeated. Port 0 lets the system choose. [default: 127.0.0.1:8081]
    #[arg(long, value_name = "IP:PORT")]
    listen: Vec<SocketAddr>,
    /// Where tasks are kept: memory: or sqlite:PATH. [default: sqlite:nuncio.db]
    #[arg(long, value_name = "URL")]
    store: Option<StoreUrl>,
    /// Serve a program as an agent, without a file; may be repeated. Arguments may follow the
    /// program: NAME="./program --flag".
    #[arg(long = "agent", value_name = "NAME=PROGRAM", value_parser = program_flag)]
    agents: Vec<ProgramFlag>,
    /// The address under which callers reach this gateway, as agent cards give it.
    #[arg(long, value_name = "URL")]
    public_url: Option<WebUrl>,
}

/// Serves until SIGINT or SIGTERM; a second signal ends it at once.
pub(crate) async fn run(args: ServeArgs) -> ExitCode {
    let flags = Flags {
        config: args.config,
        home: args.home,
        listen: args.listen,
        store: args.store,
        public_url: args.public_url,
        agents: args.agents,
    };
    let loaded = match load(&flags, &process_env) {
        Ok(loaded) => loaded,
        Err(errors) => return output::failure(&errors.to_string()),
    };
    start_logging(&loaded.config.log);
    for warning in &loaded.warnings {
        tracing::warn!("{warning}");
    }
    let mut signals = match Signals::new() {
        Ok(signals) => signals,
        Err(error) => return output::failure(&format!("cannot listen for signals: {error}")),
    };
    let gateway = match start(&loaded).await {
        Ok(gateway) => gateway,
        Err(message) => return output::failure(&message),
    };
    output::write_stdout(&banner::banner(&loaded, gateway.addresses()));
    tokio::select! {
        () = signals.next() => stop(gateway, &loaded, &mut signals).await,
        () = gateway.broken() => output::failure(
            "the store cannot be used any more, see the log; what was acknowledged is kept, and the \
             next start goes on from there",
        ),
    }
}

/// Makes the data directory and starts the gateway.
///
/// # Errors
///
/// A text that says what to do.
pub(crate) async fn start(loaded: &Loaded) -> Result<Gateway, String> {
    home::create(&loaded.home)?;
    let config = Arc::new(loaded.config.clone());
    Gateway::start(config, &loaded.home)
        .await
        .map_err(|error| explain(&error))
}

/// Ends the gateway in peace, or at once when a second signal comes.
async fn stop(gateway: Gateway, loaded: &Loaded, signals: &mut Signals) -> ExitCode {
    let grace = loaded.config.server.shutdown_grace;
    output::write_stderr(&format!(
        "stopping: running turns have {grace}; a second Ctrl-C stops at once\n"
    ));
    tokio::select! {
        () = gateway.shutdown(grace.get()) => ExitCode::Success,
        () = signals.next() => ExitCode::Interrupted,
    }
}

/// The gateway's own words, and who holds the port if that is what stands in the way.
fn explain(error: &StartError) -> String {
    let holder = match error {
        StartError::Listen { address, .. } => port_holder::port_holder(*address),
        _ => None,
    };
    match holder {
        Some(holder) => format!("{error}\n = note: {holder} holds it"),
        None => error.to_string(),
    }
}

/// `NAME=PROGRAM`, where PROGRAM is a file as it stands, else words.
fn program_flag(text: &str) -> Result<ProgramFlag, String> {
    let (name, program) = text
        .split_once('=')
        .filter(|(name, program)| !name.is_empty() && !program.trim().is_empty())
        .ok_or("write NAME=PROGRAM, such as --agent reviewer=./review.sh")?;
    let command = if std::path::Path::new(program).is_file() {
        vec![program.to_owned()]
    } else {
        program
            .split_ascii_whitespace()
            .map(str::to_owned)
            .collect()
    };
    Ok(ProgramFlag {
        name: name.to_owned(),
        command,
    })
}

/// SIGINT and SIGTERM.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// Takes over both signals.
    pub(crate) fn new() -> std::io::Result<Signals> {
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for one of them.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_a_file_or_words() {
        let flag = |text: &str| program_flag(text).map(|flag| flag.command);
        assert_eq!(flag("a=cat -n").unwrap(), ["cat", "-n"]);
        assert_eq!(flag("a=./x").unwrap(), ["./x"]);
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("my program");
        std::fs::write(&path, "").unwrap();
        let path = path.to_str().unwrap();
        assert_eq!(flag(&format!("a={path}")).unwrap(), [path]);
        for text in ["a", "=x", "a=", "a= "] {
            assert!(program_flag(text).is_err(), "{text}");
        }
    }
}
