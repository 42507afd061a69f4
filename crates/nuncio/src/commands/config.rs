//! `nuncio config`: checks a configuration and prints its schema.

use std::path::PathBuf;

use clap::Args;
use nuncio_gateway::agents::Agents;
use nuncio_gateway::config::json_schema;

use crate::exit_code::ExitCode;
use crate::load_config::{Flags, Loaded, load, process_env};
use crate::output;

/// Checks a configuration as `nuncio serve` would.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The file. Else the one that `nuncio serve` would use.
    file: Option<PathBuf>,
    /// Data directory. Else NUNCIO_HOME, ~/.local/share/nuncio.
    #[arg(long, value_name = "DIRECTORY")]
    home: Option<PathBuf>,
}

/// Says what is wrong with line and column, or what the configuration amounts to.
pub(crate) fn check(args: CheckArgs) -> ExitCode {
    let flags = Flags {
        config: args.file,
        home: args.home,
        ..Flags::default()
    };
    let loaded = match load(&flags, &process_env) {
        Ok(loaded) => loaded,
        Err(errors) => return output::failure(&errors.to_string()),
    };
    for warning in &loaded.warnings {
        output::warn(&warning.to_string());
    }
    // Looks for each agent's program, and starts none.
    if let Err(error) = Agents::start(&loaded.config, &loaded.home, None) {
        return output::failure(&error);
    }
    output::write_stdout(&summary(&loaded));
    ExitCode::Success
}

/// Prints the JSON Schema of `nuncio.toml`.
pub(crate) fn schema() -> ExitCode {
    output::write_stdout(&schema_text());
    ExitCode::Success
}

/// The JSON Schema as text.
pub(crate) fn schema_text() -> String {
    format!("{:#}\n", json_schema())
}

fn summary(loaded: &Loaded) -> String {
    let config = &loaded.config;
    let file = match &loaded.file {
        Some(file) => file.display().to_string(),
        None => "no file; defaults, variables and flags".to_owned(),
    };
    let agents: Vec<String> = config
        .agents
        .iter()
        .map(|(name, agent)| format!("{name} ({})", agent.backend.kind()))
        .collect();
    let listen: Vec<String> = config
        .server
        .listen
        .iter()
        .map(ToString::to_string)
        .collect();
    let mut text = format!("ok: {file}\n");
    text.push_str(&format!("Agents: {}\n", agents.join(", ")));
    text.push_str(&format!("Listen: {}\n", listen.join(", ")));
    if let Some(url) = &config.server.public_url {
        text.push_str(&format!("Public URL: {url}\n"));
    }
    text.push_str(&format!("Store: {}\n", config.store.url));
    text.push_str(&format!("Data directory: {}\n", loaded.home.display()));
    if !config.peers.is_empty() {
        let peers: Vec<&str> = config.peers.keys().map(String::as_str).collect();
        text.push_str(&format!("Peers: {}\n", peers.join(", ")));
    }
    let callers = match (
        config.security.peer_tokens.len(),
        &config.security.bearer_token,
    ) {
        (0, None) => "everybody on this machine".to_owned(),
        (0, Some(_)) => "everybody with the shared token".to_owned(),
        (named, shared) => {
            let names: Vec<&str> = config
                .security
                .peer_tokens
                .keys()
                .map(String::as_str)
                .collect();
            let more = if shared.is_some() {
                ", and everybody with the shared token"
            } else {
                ""
            };
            format!(
                "{named} with a token of their own ({}){more}",
                names.join(", ")
            )
        }
    };
    text.push_str(&format!("Callers: {callers}\n"));
    text
}
