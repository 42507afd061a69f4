//! An agent that an SDK serves, as a process of its own.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use super::script::Script;

/// The address of a server that runs; it is killed when dropped.
pub(super) struct Server {
    pub(super) url: String,
    child: Child,
}

impl Server {
    /// Starts the script and waits until it prints its port.
    pub(super) fn start(script: Script, arguments: &[&str]) -> Server {
        Server::start_in(script, arguments, &[])
    }

    /// The same with these variables.
    pub(super) fn start_in(
        script: Script,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Server {
        let mut command = script.command();
        command.envs(variables.iter().copied());
        let mut child = command
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut first = String::new();
        let stdout = child.stdout.take().expect("a pipe");
        BufReader::new(stdout)
            .read_line(&mut first)
            .expect("a line");
        let Ok(port) = first.trim().parse::<u16>() else {
            let _ = child.kill();
            panic!("{command:?} printed no port but `{first}`");
        };
        let url = format!("http://127.0.0.1:{port}");
        Server { url, child }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Fails only when it has ended already, which some test then noticed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
