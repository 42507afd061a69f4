//! `task`: look at tasks of an agent, wait for them, list them, cancel them, name webhooks for them.

mod cancel;
mod get;
mod list;
mod push_config;
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
    /// The webhooks of a task: where the agent posts its events.
    #[command(subcommand, arg_required_else_help = true)]
    PushConfig(Box<push_config::PushConfigCommand>),
}

/// Runs the command.
pub(crate) async fn run(command: TaskCommand) -> ExitCode {
    match command {
        TaskCommand::Get(args) => get::run(*args).await,
        TaskCommand::List(args) => list::run(*args).await,
        TaskCommand::Cancel(args) => cancel::run(*args).await,
        TaskCommand::Subscribe(args) => subscribe::run(*args).await,
        TaskCommand::PushConfig(command) => push_config::run(*command).await,
    }
}
