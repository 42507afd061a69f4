//! `nuncio generate`: the reference that comes from the code. Hidden; `cargo xtask docs` runs it.

mod cli_reference;
mod config_example;
mod environment_table;

use clap::ValueEnum;

use crate::exit_code::ExitCode;
use crate::output;

/// What can be generated.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Reference {
    /// nuncio.example.toml
    ConfigExample,
    /// docs/reference/environment.md
    Environment,
    /// docs/reference/cli.md
    Cli,
    /// docs/reference/nuncio.schema.json
    ConfigSchema,
}

/// Prints the file.
pub(crate) fn run(what: Reference) -> ExitCode {
    output::write_stdout(&match what {
        Reference::ConfigExample => config_example::text(),
        Reference::Environment => environment_table::text(),
        Reference::Cli => cli_reference::text(crate::args::command()),
        Reference::ConfigSchema => super::config::schema_text(),
    });
    ExitCode::Success
}
