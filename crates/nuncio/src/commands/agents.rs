//! `nuncio agents`: the agents that the running gateway serves.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::Value;

use crate::control;
use crate::exit_code::ExitCode;
use crate::load_config::{home, process_env};
use crate::output::{CliError, Fields, Format, Output};

/// What to do with the agents served here.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// List the agents that the running gateway serves.
    List(ListArgs),
}

/// Which gateway, and how its agents are printed.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Data directory of the gateway. Else NUNCIO_HOME, ~/.local/share/nuncio.
    #[arg(long, value_name = "DIRECTORY")]
    home: Option<PathBuf>,
    /// How results are printed.
    #[arg(short, long, value_enum, env = "A2ACLI_OUTPUT", default_value_t)]
    output: Format,
}

/// Runs the command.
pub(crate) async fn run(command: AgentsCommand) -> ExitCode {
    let AgentsCommand::List(args) = command;
    let output = Output {
        format: args.output,
        ..Output::default()
    };
    match list(&args).await {
        Ok(answer) => {
            output.result(&answer, || as_text(&answer));
            ExitCode::Success
        }
        Err(error) => output.failure(&error),
    }
}

async fn list(args: &ListArgs) -> Result<Value, CliError> {
    let home = home::data_dir(args.home.as_deref(), &process_env)
        .map_err(|errors| CliError::internal(errors.to_string()))?;
    control::get(&home, "/admin/agents")
        .await
        .map_err(CliError::internal)
}

/// One block of lines for each agent: whatever the gateway says of it, in its order.
fn as_text(answer: &Value) -> String {
    let agents = answer
        .get("agents")
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    let mut text = String::new();
    for agent in agents {
        let mut fields = Fields::default();
        for (label, key) in [
            ("Name", "name"),
            ("Backend", "backend"),
            ("URL", "url"),
            ("Running Turns", "running_turns"),
            ("Waiting Turns", "waiting_turns"),
        ] {
            let shown = agent
                .get(key)
                .filter(|value| !value.is_null())
                .map(|value| match value {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                });
            fields.optional(label, shown.as_deref());
        }
        text.push_str(&fields.finish());
        text.push('\n');
    }
    let mut fields = Fields::default();
    let in_motion = answer.get("tasks_in_motion").map(Value::to_string);
    fields.optional("Tasks in Motion", in_motion.as_deref());
    text + &fields.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_agent_is_a_block() {
        let answer = serde_json::json!({ "tasks_in_motion": 2, "agents": [
            { "name": "echo", "backend": "echo", "url": "http://127.0.0.1:1", "running_turns": 2 },
            { "name": "other", "backend": "command", "url": null },
        ]});
        assert_eq!(
            as_text(&answer),
            "Name: echo\nBackend: echo\nURL: http://127.0.0.1:1\nRunning Turns: 2\n\n\
             Name: other\nBackend: command\n\nTasks in Motion: 2\n"
        );
    }
}
