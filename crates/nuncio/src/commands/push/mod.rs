//! `nuncio push`: webhooks in trouble, as the operator of the running gateway sees and mends them.

mod list;
mod mend;

use clap::Subcommand;

use crate::exit_code::ExitCode;

/// What to do with webhooks.
#[derive(Debug, Subcommand)]
pub(crate) enum PushCommand {
    List(list::ListArgs),
    /// Send again what was given up, in order and under the same webhook-ids.
    ///
    /// Events are sent before anything that was never tried. A webhook that is switched off has to be
    /// enabled first.
    Replay(mend::MendArgs),
    /// Switch on a webhook that was switched off; it goes on where it stood.
    Enable(mend::MendArgs),
}

/// Runs the command.
pub(crate) async fn run(command: PushCommand) -> ExitCode {
    match command {
        PushCommand::List(args) => list::run(args).await,
        PushCommand::Replay(args) => mend::run(args, "replay").await,
        PushCommand::Enable(args) => mend::run(args, "enable").await,
    }
}
