//! `nuncio push list`: webhooks that are off or failing or have given up a delivery.

use clap::Args;
use serde_json::{Value, json};

use crate::commands::agents::Desk;
use crate::control;
use crate::exit_code::ExitCode;
use crate::output::{CliError, Fields};

/// List webhooks that are switched off or failing, and deliveries that were given up.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    desk: Desk,
}

/// Runs the command.
pub(super) async fn run(args: ListArgs) -> ExitCode {
    let output = args.desk.output();
    match read(&args.desk).await {
        Ok(troubles) => {
            let answer = json!({ "troubles": troubles });
            output.result(&answer, || troubles.iter().map(as_text).collect());
            ExitCode::Success
        }
        Err(error) => output.failure(&error),
    }
}

/// Reads page after page.
async fn read(desk: &Desk) -> Result<Vec<Value>, CliError> {
    let home = desk.home()?;
    let (mut troubles, mut after) = (Vec::new(), 0);
    loop {
        let path = format!("/admin/push?after={after}");
        let mut page: Value = control::get(&home, &path)
            .await
            .map_err(|error| CliError::internal(error.into_text()))?;
        if let Some(found) = page["troubles"].as_array_mut() {
            troubles.append(found);
        }
        match page["next"].as_u64() {
            Some(next) => after = next,
            None => return Ok(troubles),
        }
    }
}

/// The lines of one webhook, and a blank one.
fn as_text(trouble: &Value) -> String {
    let mut fields = Fields::default();
    for (label, key) in [
        ("Task", "task"),
        ("Config", "config"),
        ("Owner", "owner"),
        ("Receiver", "receiver"),
        ("State", "state"),
        ("Failing Since", "failing_since"),
        ("Tries", "tries"),
        ("Last Status", "last_status"),
    ] {
        fields.optional(label, shown(&trouble[key]).as_deref());
    }
    for missed in trouble["given_up"].as_array().into_iter().flatten() {
        let text = |key: &str| shown(&missed[key]).unwrap_or_default();
        let answered = match shown(&missed["last_status"]) {
            Some(status) => format!("the last answered {status}"),
            None => "the last without an answer".to_owned(),
        };
        let queued = if missed["queued"] == true {
            "; it is to be sent again"
        } else {
            ""
        };
        let line = format!(
            "version {} ({}) at {} after {} tries, {answered}{queued}",
            text("version"),
            text("webhook_id"),
            text("given_up_at"),
            text("tries"),
        );
        fields.field("Given Up", &line);
    }
    fields.finish() + "\n"
}

fn shown(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_webhook_is_a_block_with_what_it_missed() {
        let trouble = json!({
            "task": "t", "config": "c", "owner": "anonymous", "receiver": "https://h.example",
            "state": "gave up", "tries": 0,
            "given_up": [
                { "version": 2, "webhook_id": "msg_1", "given_up_at": "now", "tries": 8,
                  "last_status": 500 },
                { "version": 3, "webhook_id": "msg_2", "given_up_at": "now", "tries": 8,
                  "queued": true },
            ],
        });
        assert_eq!(
            as_text(&trouble),
            "Task: t\nConfig: c\nOwner: anonymous\nReceiver: https://h.example\nState: gave up\n\
             Tries: 0\n\
             Given Up: version 2 (msg_1) at now after 8 tries, the last answered 500\n\
             Given Up: version 3 (msg_2) at now after 8 tries, the last without an answer; it is to \
             be sent again\n\n"
        );
    }
}
