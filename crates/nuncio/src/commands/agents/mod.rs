//! `nuncio agents`: the agents that the running gateway serves.

mod check;
mod gate;
mod list;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::control::ControlError;
use crate::exit_code::ExitCode;
use crate::load_config::{home, process_env};
use crate::output::{CliError, Format, Output};

/// What to do with the agents served here.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    List(list::ListArgs),
    Check(check::CheckArgs),
    /// Close an agent at once: it takes no messages, and what waits does not begin.
    ///
    /// What it works on goes on; `nuncio task cancel` ends that. It stays closed over a restart.
    Pause(gate::GateArgs),
    /// Open an agent again.
    Resume(gate::GateArgs),
    /// Let an agent end what it has and take nothing new; returns when nothing is left.
    ///
    /// It stays closed to new tasks, over a restart too, until it is resumed.
    Drain(gate::GateArgs),
}

/// Which gateway, and how its answer is printed.
#[derive(Debug, Args)]
pub(crate) struct Desk {
    /// Data directory of the gateway. Else NUNCIO_HOME, ~/.local/share/nuncio.
    #[arg(long, value_name = "DIRECTORY")]
    home: Option<PathBuf>,
    /// How results are printed.
    #[arg(short, long, value_enum, env = "A2ACLI_OUTPUT", default_value_t)]
    output: Format,
}

impl Desk {
    pub(crate) fn output(&self) -> Output {
        Output {
            format: self.output,
            ..Output::default()
        }
    }

    pub(crate) fn home(&self) -> Result<PathBuf, CliError> {
        home::data_dir(self.home.as_deref(), &process_env)
            .map_err(|errors| CliError::internal(errors.to_string()))
    }
}

/// Runs the command.
pub(crate) async fn run(command: AgentsCommand) -> ExitCode {
    match command {
        AgentsCommand::List(args) => list::run(args).await,
        AgentsCommand::Check(args) => check::run(args).await,
        AgentsCommand::Pause(args) => gate::run(args, "pause").await,
        AgentsCommand::Resume(args) => gate::run(args, "resume").await,
        AgentsCommand::Drain(args) => gate::run(args, "drain").await,
    }
}

fn told(error: ControlError) -> CliError {
    CliError::internal(error.into_text())
}
