//! `config show`: every setting of the client commands with its value and where it comes from.
//!
//! Shows what a command without flags would use; credentials show as `[secret]`.

use clap::Args;
use serde::Serialize;

use crate::client_settings::{KNOWN_SETTINGS, OutputOptions, Source};
use crate::commands::session::Session;
use crate::exit_code::ExitCode;
use crate::output::Fields;

/// Show the settings of the client commands and where they come from.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    output: OutputOptions,
}

#[derive(Serialize)]
struct Shown {
    name: &'static str,
    variable: String,
    value: Option<String>,
    source: String,
}

/// Runs the command.
pub(crate) fn run(args: &ShowArgs) -> ExitCode {
    let session = match Session::begin(&args.output) {
        Ok(session) => session,
        Err(code) => return code,
    };
    let shown: Vec<Shown> = KNOWN_SETTINGS
        .iter()
        .map(|setting| {
            let flag = match setting.name {
                "output" => args
                    .output
                    .output
                    .map(|_| session.output.format_name().to_owned()),
                "verbose" if args.output.verbose => Some("true".to_owned()),
                "debug" if args.output.debug => Some("true".to_owned()),
                _ => None,
            };
            let below = || {
                session
                    .layers
                    .get(setting.name)
                    .map(|(value, it)| (value.to_owned(), it))
            };
            let found = flag.map(|value| (value, Source::Flag)).or_else(below);
            let (value, source) = match found {
                Some((_, source)) if setting.secret => (Some("[secret]".to_owned()), source),
                Some((value, source)) => (Some(value), source),
                None => (setting.default.map(str::to_owned), Source::BuiltIn),
            };
            let variable = crate::client_settings::variable_name(setting.name);
            Shown {
                name: setting.name,
                variable,
                value,
                source: source.to_string(),
            }
        })
        .collect();
    session.output.result(&shown, || {
        let mut fields = Fields::default();
        for setting in &shown {
            let value = setting.value.as_deref().unwrap_or("(none)");
            fields.field(setting.name, &format!("{value} ({})", setting.source));
        }
        fields.finish()
    });
    ExitCode::Success
}
