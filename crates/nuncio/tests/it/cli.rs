//! Runs one client command of the real binary in a clean environment and an empty directory.

#![allow(clippy::unwrap_used)] // a surprise in a helper ends the test

use std::path::Path;
use std::process::Stdio;

use serde_json::Value;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};

/// What a run came to.
#[derive(Debug)]
pub struct Ran {
    pub stdout: String,
    pub stderr: String,
    pub code: i32,
}

impl Ran {
    /// Standard output as its one JSON document.
    pub fn json(&self) -> Value {
        let one = serde_json::from_str(&self.stdout);
        one.unwrap_or_else(|error| panic!("not one JSON document ({error}): {self:?}"))
    }

    /// Standard output as JSON Lines.
    pub fn lines(&self) -> Vec<Value> {
        let lines = self.stdout.lines();
        lines
            .map(|line| serde_json::from_str(line).expect("a line of JSON"))
            .collect()
    }

    /// `error.code` of the envelope.
    pub fn error_code(&self) -> String {
        self.json()["error"]["code"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// Everything the user sees.
    pub fn shown(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}

/// A place to run in: its own home and working directory.
pub struct Program {
    home: TempDir,
    variables: Vec<(String, String)>,
}

impl Program {
    pub fn new() -> Self {
        Self {
            home: tempfile::tempdir().unwrap(),
            variables: Vec::new(),
        }
    }

    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Writes a file below the working directory.
    pub fn file(&self, name: &str, content: &str) {
        let path = self.home().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub fn spawn(&self, arguments: &[&str]) -> Child {
        self.command(arguments).spawn().unwrap()
    }

    /// The command, with pipes on all sides.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nuncio"));
        command
            .args(arguments)
            .env_clear()
            .env("HOME", self.home())
            .env("PATH", "/usr/bin:/bin")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(self.home())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    pub async fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with(arguments, "").await
    }

    /// Runs with this on standard input.
    pub async fn run_with(&self, arguments: &[&str], input: &str) -> Ran {
        let mut child = self.spawn(arguments);
        let mut stdin = child.stdin.take().unwrap();
        // The program may end without reading it.
        let _ = stdin.write_all(input.as_bytes()).await;
        drop(stdin);
        finish(child).await
    }
}

/// Waits for the end of a run.
pub async fn finish(child: Child) -> Ran {
    let output = child.wait_with_output().await.unwrap();
    Ran {
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        code: output.status.code().unwrap_or(-1),
    }
}

/// Runs with nothing special set.
pub async fn nuncio(arguments: &[&str]) -> Ran {
    Program::new().run(arguments).await
}
