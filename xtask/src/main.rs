//! The command line of `cargo xtask`: reads the arguments and calls one task. Owns the help text
//! and the exit code; the tasks themselves are modules of the library.

// A task speaks to the developer at the terminal.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;

use xtask::{acts, bench, docs, suites, tidy};

const HELP: &str = "\
nuncio's own tasks

Usage: cargo xtask <TASK> [OPTIONS]

Tasks:
  test [SUITE…]     runs the test suites (all without a name), with all set-up they need
  docs [--check]    writes the reference that comes from the code, or compares it
  tidy              checks the rules of the repository
  bench             measures nuncio beside a bare floor server
  acts              runs the conformance suite ACTS from a folder against nuncio

`cargo xtask <TASK> --help` tells more about a task.
";

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let task = if arguments.is_empty() {
        "--help".to_owned()
    } else {
        arguments.remove(0)
    };
    let outcome = match task.as_str() {
        "test" => suites::main(&arguments),
        "docs" => docs::main(&arguments),
        "tidy" => tidy::main(&arguments),
        "bench" => bench::main(&arguments),
        "acts" => acts::main(&arguments),
        "--help" | "-h" | "help" => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        unknown => {
            eprintln!("xtask: there is no task `{unknown}`\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}
