//! `task`: look at tasks of an agent, wait for them, list them, cancel them.

mod cancel;
mod get;
mod list;
mod subscribe;

use clap::Subcommand;

use crate::exit_code::ExitCode;

/// Tasks of an agent.
#[derive(Debug, Subcommand)]
pub(crate) enum TaskCommand {
    /// Show a task: its state, its artifacts, its history.
    Get(Box<get::GetArgs>),
    /// List tasks, the newest first.
    List(Box<list::ListArgs>),
    /// Cancel a task.
    Cancel(Box<cancel::CancelArgs>),
    /// Attach to a running task until it is done or needs something.
    Subscribe(Box<subscribe::SubscribeArgs>),
}

/// Runs the command.
pub(crate) async fn run(command: TaskCommand) -> ExitCode {
    match command {
        TaskCommand::Get(args) => get::run(*args).await,
        TaskCommand::List(args) => list::run(*args).await,
        TaskCommand::Cancel(args) => cancel::run(*args).await,
        TaskCommand::Subscribe(args) => subscribe::run(*args).await,
    }
}
