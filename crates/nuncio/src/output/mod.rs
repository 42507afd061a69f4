//! What is printed and where: results on standard output, everything else on standard error.
//!
//! Never looks at whether a terminal is there: the shape of the output depends on flags alone.

mod card_text;
mod error;
mod fields;
mod task_text;

use std::io::{self, Write};

use clap::ValueEnum;
use serde::Serialize;

use crate::exit_code::ExitCode;

pub(crate) use card_text::{SignatureState, card_text};
pub(crate) use error::CliError;
pub(crate) use fields::Fields;
pub(crate) use task_text::{
    TaskPrinter, history, message_text, parts_text, repeats_results, task_line, task_text,
};

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Labelled lines for people.
    #[default]
    Text,
    /// The protocol's own objects.
    Json,
}

/// The chosen form of output.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Output {
    pub(crate) format: Format,
    /// Everything that was exchanged, not only what matters most.
    pub(crate) verbose: bool,
}

impl Output {
    pub(crate) fn is_json(self) -> bool {
        self.format == Format::Json
    }

    /// The word for the format.
    pub(crate) fn format_name(self) -> &'static str {
        match self.format {
            Format::Text => "text",
            Format::Json => "json",
        }
    }

    /// Prints one object on one line, or the text that `text` makes.
    pub(crate) fn result<T: Serialize>(self, object: &T, text: impl FnOnce() -> String) {
        if self.is_json() {
            print_json(object)
        } else {
            write_stdout(&text())
        }
    }

    /// Prints the error where the format wants it and gives the exit status that goes with it.
    pub(crate) fn failure(self, error: &CliError) -> ExitCode {
        if self.is_json() {
            print_json(&error.envelope())
        } else {
            write_stderr(&error.text())
        }
        error.exit
    }
}

/// One JSON document and a line end on standard output, at once.
pub(crate) fn print_json<T: Serialize>(object: &T) {
    match serde_json::to_string(object) {
        Ok(line) => write_stdout(&(line + "\n")),
        Err(error) => write_stderr(&format!("Error: the result makes no JSON: {error}\n")),
    }
}

/// Text on standard output, at once. A reader that has gone ends the process quietly: there is
/// nobody left to tell.
pub(crate) fn write_stdout(text: &str) {
    let mut stdout = io::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
        Err(error) => {
            write_stderr(&format!("Error: cannot write the result: {error}\n"));
            std::process::exit(i32::from(ExitCode::Failure.number()));
        }
    }
}

/// Text on standard error. When that is gone too, nothing can be said any more.
pub(crate) fn write_stderr(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// A failure of a command that is not of the a2a-cli contract: its text on standard error.
pub(crate) fn failure(text: &str) -> ExitCode {
    write_stderr(&format!("error: {}\n", text.trim_end()));
    ExitCode::Failure
}

/// A line that warns, on standard error.
pub(crate) fn warn(text: &str) {
    write_stderr(&format!("Warning: {text}\n"));
}
