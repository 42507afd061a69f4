//! Runs the real binary in a directory of its own: one command to its end, or a gateway that stays.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use tempfile::TempDir;

/// A place to run nuncio in: its working directory is also its data directory.
pub(crate) struct Place {
    dir: TempDir,
    variables: Vec<(String, String)>,
}

/// How a command ended.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A gateway that runs; it is killed when dropped.
pub(crate) struct Served {
    pub(crate) url: String,
    child: Child,
    stdout: BufReader<ChildStdout>,
}

/// The log of a gateway, in the directory that it was started in.
const LOG: &str = "serve.log";

impl Place {
    pub(crate) fn new() -> Place {
        Place {
            dir: tempfile::tempdir().expect("a temporary directory"),
            variables: Vec::new(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Sets an environment variable for all that follows.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path
    }

    /// Writes an executable shell script.
    pub(crate) fn script(&self, name: &str, body: &str) -> PathBuf {
        let path = self.write(name, &format!("#!/bin/sh\n{body}\n"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
        path
    }

    /// The binary with these arguments, deaf to the variables of whoever runs the tests.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nuncio"));
        command
            .args(arguments)
            .current_dir(self.path())
            .stdin(Stdio::null())
            .env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
            .env("HOME", self.path())
            .env("NUNCIO_HOME", self.path());
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        let output = self.command(arguments).output().expect("nuncio starts");
        Ended {
            status: output.status,
            stdout: String::from_utf8(output.stdout).expect("UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8"),
        }
    }

    /// Starts a gateway on a free port and waits until it says where.
    pub(crate) fn serve(&self, arguments: &[&str]) -> Served {
        let mut all = vec!["serve", "--listen", "127.0.0.1:0"];
        all.extend(arguments);
        self.serve_as(&all)
    }

    /// The same with nothing but these arguments.
    pub(crate) fn serve_as(&self, arguments: &[&str]) -> Served {
        let log = std::fs::File::create(self.path().join(LOG)).expect("a log");
        self.serve_with(arguments, log.into())
    }

    /// The same, with standard error where it is wanted.
    pub(crate) fn serve_with(&self, arguments: &[&str], stderr: Stdio) -> Served {
        let mut command = self.command(arguments);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .expect("nuncio starts");
        let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut first = String::new();
        stdout.read_line(&mut first).expect("a line");
        let Some((_, url)) = first.trim_end().rsplit_once(" at ") else {
            let _ = child.kill();
            panic!("no address in `{first}`; log: {}", self.log());
        };
        Served {
            url: url.to_owned(),
            child,
            stdout,
        }
    }

    /// What the gateway wrote to standard error.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.path().join(LOG)).unwrap_or_default()
    }
}

impl Ended {
    pub(crate) fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// Standard output of a command that must have ended well.
    pub(crate) fn expect_success(self) -> String {
        assert!(
            self.status.success(),
            "{}\n{}\n{}",
            self.status,
            self.stdout,
            self.stderr
        );
        self.stdout
    }
}

impl Served {
    /// Reads a piped standard error up to the line that holds `text`.
    pub(crate) fn await_on_stderr(&mut self, text: &str) {
        let stderr = self.child.stderr.take().expect("a pipe");
        let said = BufReader::new(stderr)
            .lines()
            .any(|line| line.expect("UTF-8").contains(text));
        assert!(said, "`{text}` was never said");
    }

    /// The most memory that it has had at once, in KiB.
    pub(crate) fn peak_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.expect("it runs");
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.expect("a line").trim().trim_end_matches(" kB");
        peak.parse().expect("a number")
    }

    pub(crate) fn signal(&self, signal: nix::sys::signal::Signal) {
        let id = i32::try_from(self.child.id()).expect("a process id");
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(id), signal).expect("it runs");
    }

    /// Waits for its end; hands back how, and the rest of standard output.
    pub(crate) fn wait(mut self) -> (ExitStatus, String) {
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).expect("UTF-8");
        (self.child.wait().expect("it ends"), rest)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // Fails when it has ended already, as it should have.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
