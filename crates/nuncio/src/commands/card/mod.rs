//! `card`: an agent's card looked at, signed, verified; the keys for it made and trusted.

mod get;
mod keygen;
mod sign;
mod trust;
mod verify;

use clap::Subcommand;

use crate::exit_code::ExitCode;
use crate::output::{CliError, Format, Output};

/// Agent cards.
#[derive(Debug, Subcommand)]
pub(crate) enum CardCommand {
    /// Fetch an agent's card and show it.
    Get(Box<get::GetArgs>),
    /// Make a key that signs cards.
    Keygen(keygen::KeygenArgs),
    /// Sign a card in a file.
    Sign(sign::SignArgs),
    /// Check who signed an agent's card.
    Verify(Box<verify::VerifyArgs>),
    /// Keys whose signatures count.
    #[command(subcommand, arg_required_else_help = true)]
    Trust(trust::TrustCommand),
}

/// Runs the command.
pub(crate) async fn run(command: CardCommand) -> ExitCode {
    match command {
        CardCommand::Get(args) => get::run(*args).await,
        CardCommand::Keygen(args) => ended(Format::Text, keygen::run(&args)),
        CardCommand::Sign(args) => ended(Format::Text, sign::run(&args)),
        CardCommand::Verify(args) => verify::run(*args).await,
        CardCommand::Trust(command) => ended(command.format(), trust::run(&command)),
    }
}

fn ended(format: Format, result: Result<(), CliError>) -> ExitCode {
    let output = Output {
        format,
        verbose: false,
    };
    match result {
        Ok(()) => ExitCode::Success,
        Err(error) => output.failure(&error),
    }
}
