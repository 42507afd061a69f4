//! `nuncio push replay` and `enable`: the operator's two remedies.

use clap::Args;
use serde_json::Value;
use std::time::Duration;

use crate::commands::agents::Desk;
use crate::control;
use crate::exit_code::ExitCode;
use crate::output::{CliError, Fields};

/// Thousands of webhooks are a few writes each.
const LIMIT: Duration = Duration::from_secs(120);

/// Which webhooks.
#[derive(Debug, Args)]
pub(crate) struct MendArgs {
    /// The task, as `nuncio push list` shows it.
    #[arg(required_unless_present = "all")]
    task: Option<String>,
    /// The configuration. Else all of the task.
    config: Option<String>,
    /// Every webhook that needs it.
    #[arg(long, conflicts_with = "task")]
    all: bool,
    #[command(flatten)]
    desk: Desk,
}

/// Runs the command.
pub(super) async fn run(args: MendArgs, verb: &str) -> ExitCode {
    let output = args.desk.output();
    match mend(&args, verb).await {
        Ok(mended) => {
            output.result(&mended, || as_text(&mended));
            let refused = mended["refused"].as_array();
            if refused.is_some_and(|refused| !refused.is_empty()) {
                ExitCode::Failure
            } else {
                ExitCode::Success
            }
        }
        Err(error) => output.failure(&error),
    }
}

async fn mend(args: &MendArgs, verb: &str) -> Result<Value, CliError> {
    let home = args.desk.home()?;
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in [("task", &args.task), ("config", &args.config)] {
        if let Some(value) = value {
            query.append_pair(name, value);
        }
    }
    let path = format!("/admin/push/{verb}?{}", query.finish());
    let mended = control::post(&home, &path, LIMIT).await;
    mended.map_err(|error| CliError::internal(error.into_text()))
}

fn as_text(mended: &Value) -> String {
    let mut text = String::new();
    for (key, outcome) in [("changed", "done"), ("refused", "not done")] {
        for webhook in mended[key].as_array().into_iter().flatten() {
            let shown = |key: &str| webhook[key].as_str().unwrap_or_default();
            let mut fields = Fields::default();
            fields.field("Task", shown("task"));
            fields.field("Config", shown("config"));
            fields.field("Outcome", outcome);
            fields.optional("Reason", webhook["reason"].as_str());
            text.push_str(&fields.finish());
            text.push('\n');
        }
    }
    if text.is_empty() {
        text.push_str("No webhook needs it; `nuncio push list` shows those in trouble.\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_webhook_is_told_with_its_outcome() {
        let mended = json!({ "changed": [{ "task": "t", "config": "c" }],
            "refused": [{ "task": "u", "config": "d", "reason": "it is off" }] });
        assert_eq!(
            as_text(&mended),
            "Task: t\nConfig: c\nOutcome: done\n\n\
             Task: u\nConfig: d\nOutcome: not done\nReason: it is off\n\n"
        );
        let nothing = as_text(&json!({ "changed": [], "refused": [] }));
        assert!(nothing.contains("nuncio push list"), "{nothing}");
    }
}
