//! `nuncio doctor`: looks at everything that a gateway needs, and says what is wrong and what to do.

mod clock;

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use futures_util::future::join_all;
use nuncio_gateway::SOCKET_NAME;
use nuncio_gateway::agents::probe_all;
use nuncio_gateway::config::Config;
use serde::Serialize;
use serde_json::json;

use super::agents::Desk;
use crate::agent::find_card;
use crate::client_settings::{AgentOptions, Layers, agent_settings};
use crate::exit_code::ExitCode;
use crate::load_config::{Flags, Loaded, load, process_env};
use crate::output::{self, CliError};

/// How long an agent may take to be found.
const AGENT_LIMIT: Duration = Duration::from_secs(60);
/// How long a peer's card may take.
const PEER_LIMIT: Duration = Duration::from_secs(15);
/// Variables that lead other programs' requests over a proxy.
const PROXY_VARIABLES: [&str; 3] = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];

/// Look at configuration, addresses, store, agents, peers and clock, and say what is wrong.
///
/// Agents are started or reached, but asked for nothing: `nuncio agents check` asks them. The exit
/// status is 1 if something keeps the gateway from its work.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Configuration file. Else the one that `nuncio serve` would use.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    desk: Desk,
}

/// One look, and what came of it.
#[derive(Debug, Serialize)]
struct Finding {
    /// What was looked at: `agent reviewer`.
    what: String,
    verdict: Verdict,
    /// What was found, and what to do about it.
    found: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Good,
    /// It works, but perhaps not as meant.
    Odd,
    /// It keeps the gateway from its work.
    Bad,
}

impl Finding {
    fn of(what: impl Into<String>, looked: Result<String, String>) -> Self {
        let (verdict, found) = match looked {
            Ok(found) => (Verdict::Good, found),
            Err(found) => (Verdict::Bad, found),
        };
        Self {
            what: what.into(),
            verdict,
            found,
        }
    }

    fn odd(what: impl Into<String>, found: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            verdict: Verdict::Odd,
            found: found.into(),
        }
    }
}

/// Runs the command.
pub(crate) async fn run(args: DoctorArgs) -> ExitCode {
    let output = args.desk.output();
    let flags = Flags {
        config: args.config.clone(),
        home: args.desk.home().ok(),
        ..Flags::default()
    };
    let loaded = match load(&flags, &process_env) {
        Ok(loaded) => loaded,
        Err(errors) => return output.failure(&CliError::internal(errors.to_string())),
    };
    let findings = look(&loaded).await;
    let is_bad = findings.iter().any(|it| it.verdict == Verdict::Bad);
    if output.is_json() {
        output::print_json(&json!({ "findings": findings }));
    } else {
        output::write_stdout(&as_text(&findings));
    }
    if is_bad {
        ExitCode::Failure
    } else {
        ExitCode::Success
    }
}

async fn look(loaded: &Loaded) -> Vec<Finding> {
    let mut findings = vec![configuration(loaded)];
    let warnings = loaded.warnings.iter();
    findings.extend(warnings.map(|it| Finding::odd("configuration", it.to_string())));
    let runs = gateway_runs(&loaded.home);
    if runs {
        let found = "a gateway runs with this data directory".to_owned();
        findings.push(Finding::of("gateway", Ok(found)));
    } else {
        let addresses = loaded.config.server.listen.iter();
        findings.extend(addresses.map(|it| Finding::of(format!("address {it}"), free(*it))));
        findings.push(Finding::of("store", store(loaded).await));
    }
    let agents = probe_all(&loaded.config, &loaded.home, AGENT_LIMIT).await;
    findings.extend(
        agents
            .into_iter()
            .map(|(name, found)| Finding::of(format!("agent {name}"), found)),
    );
    findings.extend(peers(&loaded.config).await);
    findings.push(clock::look(&loaded.config, &loaded.home).await);
    findings.extend(proxies());
    findings
}

fn configuration(loaded: &Loaded) -> Finding {
    let file = match &loaded.file {
        Some(file) => file.display().to_string(),
        None => "no file: defaults and variables".to_owned(),
    };
    let data = loaded.home.display();
    Finding::of("configuration", Ok(format!("{file}; data in {data}")))
}

fn gateway_runs(home: &Path) -> bool {
    std::os::unix::net::UnixStream::connect(home.join(SOCKET_NAME)).is_ok()
}

fn free(address: SocketAddr) -> Result<String, String> {
    match TcpListener::bind(address) {
        Ok(_) => Ok("free".to_owned()),
        Err(error) => Err(format!(
            "{error}: choose another with --listen or `server.listen`"
        )),
    }
}

async fn store(loaded: &Loaded) -> Result<String, String> {
    let store = nuncio_gateway::open_store(&loaded.config, &loaded.home)
        .await
        .map_err(|error| error.to_string())?;
    store.close().await.map_err(|error| error.to_string())?;
    Ok(format!("{} can be used", loaded.config.store.url))
}

async fn peers(config: &Config) -> Vec<Finding> {
    let looks = config.peers.keys().map(async |name| {
        let options = AgentOptions {
            agent_card: Some(name.clone()),
            ..AgentOptions::default()
        };
        let what = format!("peer {name}");
        let settings = match agent_settings(&options, &Layers::default()) {
            Ok(settings) => settings,
            Err(error) => return Finding::of(what, Err(error.message().to_owned())),
        };
        match tokio::time::timeout(PEER_LIMIT, find_card(&settings)).await {
            Ok(Ok(found)) => {
                let card = &found.discovered.card;
                Finding::of(
                    what,
                    Ok(format!("'{}' is there", nuncio_client::plain(&card.name))),
                )
            }
            // It is somebody else's: the gateway works without it.
            Ok(Err(missing)) => Finding::odd(what, missing.error.message()),
            Err(_) => {
                let limit = PEER_LIMIT.as_secs();
                Finding::odd(what, format!("no card within {limit} s"))
            }
        }
    });
    join_all(looks).await
}

fn proxies() -> Vec<Finding> {
    let set = PROXY_VARIABLES.iter().filter(|name| {
        process_env(name)
            .or_else(|| process_env(&name.to_lowercase()))
            .is_some()
    });
    let found =
        "is set and not used: nuncio dials directly, so that it knows which address it calls";
    set.map(|name| Finding::odd(*name, found)).collect()
}

fn as_text(findings: &[Finding]) -> String {
    let line = |it: &Finding| {
        let mark = match it.verdict {
            Verdict::Good => "ok  ",
            Verdict::Odd => "odd ",
            Verdict::Bad => "BAD ",
        };
        let found: String = it
            .found
            .chars()
            .map(|c| if nuncio_client::is_unsafe(c) { ' ' } else { c })
            .collect();
        format!("{mark} {}: {}\n", it.what, found.trim())
    };
    let count = |verdict| findings.iter().filter(|it| it.verdict == verdict).count();
    let lines: String = findings.iter().map(line).collect();
    let (bad, odd) = (count(Verdict::Bad), count(Verdict::Odd));
    let summary = match (bad, odd) {
        (0, 0) => "Nothing is wrong.".to_owned(),
        (0, odd) => format!("Nothing is wrong; {odd} to look at."),
        (bad, _) => format!("{bad} to mend."),
    };
    format!("{lines}{summary}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_finding_is_a_line_and_the_last_one_sums_up() {
        let findings = [
            Finding::of("agent a", Ok("built in".to_owned())),
            Finding::odd("HTTP_PROXY", "is set"),
        ];
        assert_eq!(
            as_text(&findings),
            "ok   agent a: built in\nodd  HTTP_PROXY: is set\nNothing is wrong; 1 to look at.\n"
        );
        let bad = [Finding::of("agent a", Err("no program\nat all".to_owned()))];
        assert_eq!(
            as_text(&bad),
            "BAD  agent a: no program at all\n1 to mend.\n"
        );
    }
}
