//! The steps of the demo: each runs a command that the user could type, and shows what it prints.

use std::path::Path;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

use crate::output;

/// What a tour needs.
pub(super) struct Tour<'a> {
    /// The nuncio binary.
    pub(super) program: &'a Path,
    /// The data directory of the demo, with its address book.
    pub(super) home: &'a Path,
    /// The gateway's address.
    pub(super) base: &'a str,
    /// What the agents work on.
    pub(super) text: &'a str,
}

impl Tour<'_> {
    /// Takes the tour.
    ///
    /// # Errors
    ///
    /// The first command that failed, or whose answer was not what the tour is about.
    pub(super) async fn take(&self) -> Result<(), String> {
        let Tour { base, text, .. } = *self;
        let (writer, researcher) = (
            format!("{base}/agents/writer"),
            format!("{base}/agents/researcher"),
        );
        output::write_stdout(&format!(
            "Two agents are up at {base}, each a shell script behind nuncio:\n\n  \
             {writer}\n  {researcher}\n\n\
             The commands below run with NUNCIO_HOME={}\n",
            self.home.display()
        ));

        heading("1. Discover: who is the writer, and what can it do?");
        self.run(&["card", "get", "-a", &writer]).await?;

        heading("2. Address book: the writer knows the researcher by name");
        self.run(&["peers", "add", "researcher", &researcher])
            .await?;

        heading("3. Stream: the researcher answers line by line");
        let answer = self
            .run(&["send", "-a", "researcher", "--stream", text])
            .await?;
        expect_state(&answer, "TASK_STATE_COMPLETED")?;

        heading("4. Two agents: the writer asks the researcher over A2A, then asks back");
        let question = self.run(&["send", "-a", &writer, text]).await?;
        expect_state(&question, "TASK_STATE_INPUT_REQUIRED")?;
        let task = last_value(&question, "Task ID").ok_or("the writer's answer names no task")?;

        heading("5. Continue: the same task goes on with the answer to its question");
        let finished = self
            .run(&["send", "-a", &writer, "--task-id", &task, "my colleagues"])
            .await?;
        expect_state(&finished, "TASK_STATE_COMPLETED")?;
        if !finished.contains("- it has ") {
            return Err("the writer's text holds none of the researcher's findings".to_owned());
        }

        heading("6. Recall: what was asked of both, the writer's own call among it");
        let asked = self.run(&["task", "list", "-a", "researcher"]).await?;
        if !asked.contains("Tasks: 2") {
            return Err("the researcher should have been asked twice".to_owned());
        }
        self.run(&["task", "list", "-a", &writer]).await?;
        self.run(&["task", "get", &task, "-a", &writer, "--history", "10"])
            .await?;
        Ok(())
    }

    /// Runs nuncio with these arguments, shows the command and what it prints as it comes, and
    /// hands that back.
    async fn run(&self, arguments: &[&str]) -> Result<String, String> {
        let shown = command_line(arguments);
        output::write_stdout(&format!("$ {shown}\n"));
        let failed = |error: std::io::Error| format!("`{shown}` cannot be run: {error}");
        let mut command = Command::new(self.program);
        command
            .args(arguments)
            .current_dir(self.home)
            .stdin(Stdio::null());
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .kill_on_drop(true);
        // The user's own settings would change what the tour shows.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("A2ACLI_") {
                command.env_remove(name);
            }
        }
        command
            .env_remove("NUNCIO_CONFIG")
            .env("NUNCIO_HOME", self.home);
        command.env("HOME", self.home).env_remove("XDG_CONFIG_HOME");
        let mut child = command.spawn().map_err(failed)?;
        let stdout = child
            .stdout
            .take()
            .ok_or_else(|| format!("`{shown}` has no output"))?;
        let mut lines = BufReader::new(stdout).lines();
        let mut answer = String::new();
        while let Some(line) = lines.next_line().await.map_err(failed)? {
            output::write_stdout(&format!("{}\n", format!("  {line}").trim_end()));
            answer.push_str(&line);
            answer.push('\n');
        }
        let status = child.wait().await.map_err(failed)?;
        match status.success() {
            true => Ok(answer),
            false => Err(format!("`{shown}` failed ({status})")),
        }
    }
}

fn heading(text: &str) {
    output::write_stdout(&format!("\n== {text}\n\n"));
}

/// The command as it can be pasted into a shell.
fn command_line(arguments: &[&str]) -> String {
    let mut line = "nuncio".to_owned();
    for argument in arguments {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=".contains(c);
        if !argument.is_empty() && argument.chars().all(plain) {
            line.push_str(&format!(" {argument}"));
        } else {
            line.push_str(&format!(" '{}'", argument.replace('\'', "'\\''")));
        }
    }
    line
}

/// The value of the last line `LABEL: value`.
fn last_value(answer: &str, label: &str) -> Option<String> {
    let prefix = format!("{label}: ");
    let found = answer
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix(&prefix));
    found.map(|value| value.trim().to_owned())
}

fn expect_state(answer: &str, state: &str) -> Result<(), String> {
    match last_value(answer, "State") {
        Some(found) if found == state => Ok(()),
        found => Err(format!(
            "the task should be {state} and is {}",
            found.as_deref().unwrap_or("not shown")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_can_be_pasted() {
        let line = command_line(&["send", "-a", "http://127.0.0.1:1/agents/a", "it's me", ""]);
        assert_eq!(
            line,
            "nuncio send -a http://127.0.0.1:1/agents/a 'it'\\''s me' ''"
        );
    }

    #[test]
    fn the_last_state_counts() {
        let answer = "Task ID: a\nState: WORKING\nText:\nState of things\n\nState: DONE\n";
        assert_eq!(last_value(answer, "State").as_deref(), Some("DONE"));
        assert!(expect_state(answer, "DONE").is_ok());
        assert!(
            expect_state(answer, "WORKING")
                .unwrap_err()
                .contains("is DONE")
        );
        assert!(expect_state("", "DONE").unwrap_err().contains("not shown"));
    }
}
