//! `nuncio agents list`: the agents that the running gateway serves.

use clap::Args;
use serde_json::Value;

use super::Desk;
use crate::control;
use crate::exit_code::ExitCode;
use crate::output::Fields;

/// List the agents that the running gateway serves.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    desk: Desk,
}

/// Runs the command.
pub(super) async fn run(args: ListArgs) -> ExitCode {
    let output = args.desk.output();
    let answer = async {
        let home = args.desk.home()?;
        let answer = control::get(&home, "/admin/agents").await;
        answer.map_err(super::told)
    };
    match answer.await {
        Ok(answer) => {
            output.result(&answer, || as_text(&answer));
            ExitCode::Success
        }
        Err(error) => output.failure(&error),
    }
}

/// One block of lines for each agent: whatever the gateway says of it, in its order.
fn as_text(answer: &Value) -> String {
    let agents = answer
        .get("agents")
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    let mut text: String = agents.iter().map(agent_text).collect();
    let mut fields = Fields::default();
    let in_motion = answer.get("tasks_in_motion").map(Value::to_string);
    fields.optional("Tasks in Motion", in_motion.as_deref());
    text.push_str(&fields.finish());
    text
}

/// The lines of one agent, and a blank one.
pub(super) fn agent_text(agent: &Value) -> String {
    let mut fields = Fields::default();
    for (label, key) in [
        ("Name", "name"),
        ("Backend", "backend"),
        ("URL", "url"),
        ("Gate", "gate"),
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
    fields.finish() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_agent_is_a_block() {
        let answer = serde_json::json!({ "tasks_in_motion": 2, "agents": [
            { "name": "echo", "backend": "echo", "url": "http://127.0.0.1:1", "gate": "open", "running_turns": 2 },
            { "name": "other", "backend": "command", "url": null },
        ]});
        assert_eq!(
            as_text(&answer),
            "Name: echo\nBackend: echo\nURL: http://127.0.0.1:1\nGate: open\nRunning Turns: 2\n\n\
             Name: other\nBackend: command\n\nTasks in Motion: 2\n"
        );
    }
}
