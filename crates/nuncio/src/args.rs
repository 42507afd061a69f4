//! The command line: which commands exist and how a wrong one is refused.
//!
//! Each command's own arguments stand beside it in `commands`; nothing is run from here.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand};

use crate::commands::{
    agents, card, chat, config, config_show, demo, discover, doctor, generate, history, peers,
    push, send, serve, task, worker,
};
use crate::exit_code::ExitCode;
use crate::output::{self, CliError, Format, Output};

/// Puts any agent on A2A, in both directions.
#[derive(Debug, Parser)]
#[command(
    name = "nuncio",
    version,
    disable_version_flag = true,
    arg_required_else_help = true,
    max_term_width = 100
)]
struct Arguments {
    /// Print the version.
    #[arg(short = 'v', long, short_alias = 'V', action = clap::ArgAction::Version)]
    version: Option<bool>,
    #[command(subcommand)]
    command: Command,
}

/// Every command.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Serve(Box<serve::ServeArgs>),
    Demo(Box<demo::DemoArgs>),
    Send(Box<send::SendArgs>),
    Chat(Box<chat::ChatArgs>),
    /// Tasks of an agent: get, list, cancel, subscribe.
    Task(Noun<task::TaskCommand>),
    /// Agent cards: who an agent is, how it is reached, and who says so.
    Card(Noun<card::CardCommand>),
    Discover(Box<discover::DiscoverArgs>),
    /// The address book: names for agents elsewhere.
    Peers(Noun<peers::PeersCommand>),
    /// The agents that are served here.
    Agents(Noun<agents::AgentsCommand>),
    Doctor(Box<doctor::DoctorArgs>),
    /// Webhooks of the tasks that are served here, where they do not work.
    Push(Noun<push::PushCommand>),
    History(Box<history::HistoryArgs>),
    /// Agents started for one piece of work.
    Worker(Noun<worker::WorkerCommand>),
    /// Configuration of the gateway and settings of the client commands.
    Config(Noun<ConfigCommand>),
    /// Print a reference that comes from the code.
    #[command(hide = true)]
    Generate {
        /// Which one.
        what: generate::Reference,
    },
}

/// What to do with configuration.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    Check(config::CheckArgs),
    /// Print the JSON Schema of `nuncio.toml`.
    Schema,
    Show(config_show::ShowArgs),
}

/// A noun with its verbs, such as `card get`.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct Noun<C: Subcommand> {
    #[command(subcommand)]
    pub(crate) command: C,
}

/// What the process was called with is no command, or asks only for help.
pub(crate) struct Refusal {
    error: clap::Error,
    json: bool,
}

impl Refusal {
    /// Prints the help asked for, or the error where the chosen output format wants it.
    pub(crate) fn report(&self) -> ExitCode {
        match self.error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                output::write_stdout(&self.error.render().to_string());
                ExitCode::Success
            }
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                output::write_stderr(&self.error.render().to_string());
                ExitCode::Usage
            }
            _ => {
                let format = if self.json {
                    Format::Json
                } else {
                    Format::Text
                };
                Output {
                    format,
                    verbose: false,
                }
                .failure(&self.as_usage_error())
            }
        }
    }

    /// The parser's own words without its decoration; what it adds below them becomes the hint.
    fn as_usage_error(&self) -> CliError {
        let text = self.error.render().to_string();
        let text = text.strip_prefix("error: ").unwrap_or(&text);
        let (message, below) = text.split_once("\n\n").unwrap_or((text, ""));
        let tip = below
            .lines()
            .find_map(|line| line.trim().strip_prefix("tip: "));
        let usage = below
            .lines()
            .find_map(|line| line.trim().strip_prefix("Usage: "))
            .filter(|usage| !usage.ends_with("<COMMAND>"));
        let hint = match (tip, usage) {
            (Some(tip), _) => tip.to_owned(),
            (None, Some(usage)) => format!("usage: {usage}"),
            (None, None) => "see nuncio help".to_owned(),
        };
        let words: Vec<&str> = message.split_whitespace().collect();
        CliError::usage(words.join(" ")).with_hint(hint)
    }
}

/// Reads the arguments of the process.
pub(crate) fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, Refusal> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    match Arguments::try_parse_from(&arguments) {
        Ok(parsed) => Ok(parsed.command),
        Err(error) => Err(Refusal {
            error,
            json: wants_json(&arguments),
        }),
    }
}

/// The whole command line as clap sees it, for generated reference and completion.
pub(crate) fn command() -> clap::Command {
    <Arguments as clap::CommandFactory>::command()
}

/// Whether a line that could not be parsed asked for JSON all the same.
fn wants_json(arguments: &[OsString]) -> bool {
    let words: Vec<&str> = arguments.iter().filter_map(|word| word.to_str()).collect();
    let by_flag = words
        .iter()
        .enumerate()
        .rev()
        .find_map(|(at, word)| match *word {
            "-o" | "--output" => words.get(at + 1).map(|value| value.to_string()),
            word => ["--output=", "-o=", "-o"]
                .iter()
                .find_map(|it| word.strip_prefix(it))
                .map(str::to_owned),
        });
    let chosen = by_flag.or_else(|| std::env::var("A2ACLI_OUTPUT").ok());
    chosen.is_some_and(|value| value == "json")
}
