//! `cargo xtask test`: the suites, their order and the one line it ends with. Owns the table of
//! suites with the minutes each may take; what a suite does stands in `rust` (cargo's own work) and
//! `peers` (the official SDKs), `tidy` and `docs`.

mod install;
mod peers;
mod rust;

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::{docs, process, tidy};

/// One part of `cargo xtask test`.
struct Suite {
    name: &'static str,
    /// Minutes it may take warm on two cores; CONTRIBUTING.md shows the same number.
    minutes: u64,
    covers: &'static str,
    run: fn(Duration) -> Result<()>,
}

/// Cheap suites first, so that a slip shows at once.
const SUITES: [Suite; 8] = [
    Suite {
        name: "format",
        minutes: 1,
        covers: "rustfmt finds nothing to change",
        run: rust::format,
    },
    Suite {
        name: "tidy",
        minutes: 1,
        covers: "the repository's own rules: files, boundaries, links",
        run: |_| tidy::check_repository(),
    },
    Suite {
        name: "lint",
        minutes: 4,
        covers: "clippy on all targets, warnings are errors",
        run: rust::lint,
    },
    Suite {
        name: "unit",
        minutes: 8,
        covers: "unit and integration tests of every crate",
        run: rust::unit,
    },
    Suite {
        name: "doc",
        minutes: 1,
        covers: "examples in the documentation",
        run: rust::doc,
    },
    Suite {
        name: "docs",
        minutes: 2,
        covers: "the generated reference is up to date",
        run: |_| docs::check_all(),
    },
    Suite {
        name: "demo",
        minutes: 1,
        covers: "`nuncio demo --once` takes its tour and ends well",
        run: rust::demo,
    },
    Suite {
        name: "peers",
        minutes: 6,
        covers: "the official Python and JavaScript SDKs as clients and servers",
        run: peers::run,
    },
];

/// A suite is killed after this many times its minutes: a cold build comes on top of the tests.
const COLD_FACTOR: u32 = 4;
/// The least a suite is given before it is killed: a cold debug build on a slow machine.
const LEAST_LIMIT: Duration = Duration::from_mins(20);

/// The `test` task.
///
/// # Errors
/// When an argument names no suite, or any suite fails; the others have run all the same.
pub fn main(arguments: &[String]) -> Result<()> {
    let mut wanted: Vec<&str> = Vec::new();
    for argument in arguments {
        match argument.as_str() {
            "--list" | "-l" => {
                print!("{}", list());
                return Ok(());
            }
            "--help" | "-h" => {
                print!("{}", help());
                return Ok(());
            }
            name if SUITES.iter().any(|suite| suite.name == name) => wanted.push(name),
            unknown => bail!("xtask test: there is no suite `{unknown}`\n\n{}", help()),
        }
    }
    let chosen = SUITES
        .iter()
        .filter(|it| wanted.is_empty() || wanted.contains(&it.name));
    run_all(&chosen.collect::<Vec<_>>())
}

fn run_all(suites: &[&Suite]) -> Result<()> {
    let started = Instant::now();
    let mut failed = Vec::new();
    let mut times = Vec::new();
    for suite in suites {
        println!(
            "\n==> {}: {} (up to {} min)",
            suite.name, suite.covers, suite.minutes
        );
        let began = Instant::now();
        let outcome = (suite.run)(limit(suite));
        let took = began.elapsed();
        let verdict = if outcome.is_ok() { "passed" } else { "FAILED" };
        println!(
            "<== {}: {verdict} after {}",
            suite.name,
            process::minutes(took)
        );
        times.push(format!(
            "  {:8} {verdict}  {}",
            suite.name,
            process::minutes(took)
        ));
        if took > Duration::from_mins(suite.minutes) {
            times.push(format!(
                "           (over its {} min, see CONTRIBUTING.md)",
                suite.minutes
            ));
        }
        if let Err(error) = outcome {
            println!("{error:#}");
            failed.push(suite.name);
        }
    }
    println!("\n{}", times.join("\n"));
    let took = process::minutes(started.elapsed());
    if !failed.is_empty() {
        let again = failed.join(" ");
        bail!("test: FAILED: {again} (after {took}); again: `cargo xtask test {again}`");
    }
    println!("test: {} passed in {took}", counted(suites.len()));
    Ok(())
}

fn counted(suites: usize) -> String {
    match suites {
        1 => "the suite".to_owned(),
        many => format!("all {many} suites"),
    }
}

fn limit(suite: &Suite) -> Duration {
    (Duration::from_mins(suite.minutes) * COLD_FACTOR).max(LEAST_LIMIT)
}

fn list() -> String {
    let line = |it: &Suite| format!("  {:8} {:>2} min  {}\n", it.name, it.minutes, it.covers);
    SUITES.iter().map(line).collect()
}

fn help() -> String {
    let suites = list();
    format!(
        "\
Runs the test suites, all of them without a name, in this order. Fetches what they need: nothing
has to be set up before. The minutes are what each may take on two cores once it has been built.

Usage: cargo xtask test [SUITE…] [--list]

Suites:
{suites}
Environment:
  NUNCIO_TEST_PEERS    where the official SDKs were installed (set by the `peers` suite)
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contributing_shows_the_minutes_of_every_suite() {
        let path = process::repository_root().join("CONTRIBUTING.md");
        let text = std::fs::read_to_string(path).unwrap();
        for suite in &SUITES {
            let row = format!("| `{}` | {} |", suite.name, suite.minutes);
            assert!(text.contains(&row), "CONTRIBUTING.md has no row `{row}`");
        }
    }

    #[test]
    fn all_suites_together_keep_to_25_minutes() {
        assert!(SUITES.iter().map(|suite| suite.minutes).sum::<u64>() <= 25);
    }

    #[test]
    fn an_unknown_suite_is_named_with_those_there_are() {
        let error = main(&["units".to_owned()]).unwrap_err().to_string();
        assert!(
            error.contains("no suite `units`") && error.contains("  unit "),
            "{error}"
        );
    }

    #[test]
    fn every_suite_runs_even_after_a_failure_and_the_last_line_names_it() {
        let fails = Suite {
            name: "a",
            minutes: 1,
            covers: "x",
            run: |_| bail!("broken"),
        };
        let passes = Suite {
            name: "b",
            minutes: 1,
            covers: "x",
            run: |_| Ok(()),
        };
        let error = run_all(&[&fails, &passes]).unwrap_err().to_string();
        assert!(error.starts_with("test: FAILED: a (after "), "{error}");
        assert!(run_all(&[&passes]).is_ok());
    }
}
