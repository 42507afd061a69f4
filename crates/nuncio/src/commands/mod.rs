//! One module per command: its arguments and what it does with them.

pub(crate) mod agents;
pub(crate) mod card;
pub(crate) mod chat;
pub(crate) mod config;
pub(crate) mod config_show;
pub(crate) mod demo;
pub(crate) mod discover;
pub(crate) mod doctor;
mod exchange;
pub(crate) mod generate;
pub(crate) mod history;
pub(crate) mod peers;
pub(crate) mod push;
pub(crate) mod send;
pub(crate) mod serve;
mod session;
pub(crate) mod task;
mod wait;
mod webhook;
pub(crate) mod worker;

use crate::args::{Command, ConfigCommand};
use crate::exit_code::ExitCode;

/// Runs one command to its end.
pub(crate) async fn run(command: Command) -> ExitCode {
    match command {
        Command::Serve(args) => serve::run(*args).await,
        Command::Demo(args) => demo::run(*args).await,
        Command::Send(args) => send::run(*args).await,
        Command::Chat(args) => chat::run(*args).await,
        Command::Task(noun) => task::run(noun.command).await,
        Command::Card(noun) => card::run(noun.command).await,
        Command::Discover(args) => discover::run(*args).await,
        Command::Peers(noun) => peers::run(noun.command),
        Command::Agents(noun) => agents::run(noun.command).await,
        Command::Doctor(args) => doctor::run(*args).await,
        Command::Push(noun) => push::run(noun.command).await,
        Command::History(args) => history::run(*args).await,
        Command::Worker(noun) => worker::run(noun.command).await,
        Command::Config(noun) => match noun.command {
            ConfigCommand::Check(args) => config::check(args),
            ConfigCommand::Schema => config::schema(),
            ConfigCommand::Show(args) => config_show::run(&args),
        },
        Command::Generate { what } => generate::run(what),
    }
}
