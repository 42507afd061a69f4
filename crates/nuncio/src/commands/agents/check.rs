//! `nuncio agents check`: starts each backend and asks it for a reply.

use clap::Args;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

use super::Desk;
use crate::control;
use crate::exit_code::ExitCode;
use crate::output::{self, CliError, Fields};

/// Longer than the gateway waits for an agent.
const LIMIT: Duration = Duration::from_secs(180);

/// Ask agents for a reply, and say what is wrong with those that give none.
///
/// Each check is a task of the operator: a model is asked, and may cost. The exit status is 1 if one
/// of them does not answer.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Which agents. Else all that are served.
    agents: Vec<String>,
    #[command(flatten)]
    desk: Desk,
}

/// Runs the command.
pub(super) async fn run(args: CheckArgs) -> ExitCode {
    let output = args.desk.output();
    match check(&args).await {
        Ok(checks) => {
            if output.is_json() {
                output::print_json(&json!({ "checks": checks }));
            }
            let all = checks.iter().all(|check| check["ok"] == true);
            if all {
                ExitCode::Success
            } else {
                ExitCode::Failure
            }
        }
        Err(error) => output.failure(&error),
    }
}

/// Checks one after the other; for people each is printed as soon as it is known.
async fn check(args: &CheckArgs) -> Result<Vec<Value>, CliError> {
    let home = args.desk.home()?;
    let names = if args.agents.is_empty() {
        served(&home).await?
    } else {
        args.agents.clone()
    };
    let mut checks = Vec::with_capacity(names.len());
    for name in names {
        let path = format!("/admin/agents/{name}/check");
        let check: Value = control::post(&home, &path, LIMIT)
            .await
            .map_err(super::told)?;
        if !args.desk.output().is_json() {
            output::write_stdout(&as_text(&check));
        }
        checks.push(check);
    }
    Ok(checks)
}

async fn served(home: &Path) -> Result<Vec<String>, CliError> {
    let answer: Value = control::get(home, "/admin/agents")
        .await
        .map_err(super::told)?;
    let agents = answer["agents"].as_array().into_iter().flatten();
    let names = agents.filter_map(|agent| agent["name"].as_str());
    Ok(names.map(str::to_owned).collect())
}

fn as_text(check: &Value) -> String {
    let mut fields = Fields::default();
    fields.field("Name", check["agent"].as_str().unwrap_or_default());
    let verdict = if check["ok"] == true {
        "answers"
    } else {
        "does not answer"
    };
    fields.field("Check", verdict);
    fields.optional("Found", check["found"].as_str());
    fields.optional("Answer", check["answer"].as_str());
    let took = check["answer_millis"].as_u64();
    fields.optional("Took", took.map(|millis| format!("{millis} ms")).as_deref());
    fields.finish() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_says_what_was_found_and_answered() {
        let check = json!({ "agent": "a", "ok": true, "found": "built in", "answer": "ready",
            "answer_millis": 3 });
        assert_eq!(
            as_text(&check),
            "Name: a\nCheck: answers\nFound: built in\nAnswer: ready\nTook: 3 ms\n\n"
        );
        let check = json!({ "agent": "a", "ok": false, "found": "no program" });
        assert_eq!(
            as_text(&check),
            "Name: a\nCheck: does not answer\nFound: no program\n\n"
        );
    }
}
