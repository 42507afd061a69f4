//! `nuncio agents pause`, `resume` and `drain`: the kill switch.

use clap::Args;
use serde_json::Value;
use std::io::IsTerminal as _;
use std::path::Path;
use std::time::Duration;

use super::Desk;
use super::list::agent_text;
use crate::control;
use crate::exit_code::ExitCode;
use crate::output::{self, CliError};

/// The gateway only turns a switch.
const LIMIT: Duration = Duration::from_secs(10);
/// Pause between two looks at an agent that ends what it has.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(250);

/// Which agent.
#[derive(Debug, Args)]
pub(crate) struct GateArgs {
    /// The agent's name.
    agent: String,
    #[command(flatten)]
    desk: Desk,
}

/// Runs the command.
pub(super) async fn run(args: GateArgs, verb: &str) -> ExitCode {
    let output = args.desk.output();
    match turn(&args, verb).await {
        Ok(agent) => {
            output.result(&agent, || agent_text(&agent));
            ExitCode::Success
        }
        Err(error) => output.failure(&error),
    }
}

async fn turn(args: &GateArgs, verb: &str) -> Result<Value, CliError> {
    let home = args.desk.home()?;
    let path = format!("/admin/agents/{}/{verb}", args.agent);
    let mut agent: Value = control::post(&home, &path, LIMIT)
        .await
        .map_err(super::told)?;
    while verb == "drain" && turns_of(&agent) > 0 {
        if std::io::stderr().is_terminal() {
            output::write_stderr(&format!("\r{} turns left ", turns_of(&agent)));
        }
        tokio::time::sleep(LOOK_AGAIN_AFTER).await;
        agent = look(&home, &args.agent).await?;
    }
    Ok(agent)
}

fn turns_of(agent: &Value) -> u64 {
    let count = |key: &str| agent[key].as_u64().unwrap_or_default();
    count("running_turns") + count("waiting_turns")
}

async fn look(home: &Path, name: &str) -> Result<Value, CliError> {
    let answer: Value = control::get(home, "/admin/agents")
        .await
        .map_err(super::told)?;
    let agents = answer["agents"].as_array().into_iter().flatten();
    let found = agents.into_iter().find(|agent| agent["name"] == name);
    let gone = || CliError::internal(format!("agent `{name}` is no longer served"));
    found.cloned().ok_or_else(gone)
}
