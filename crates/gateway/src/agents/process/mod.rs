//! Programs behind agents: found, given a clean environment, led in a group of their own, and never
//! left behind.
//!
//! What is said to a program is its backend's business: `command` starts one for every turn, others
//! keep one alive.

mod environment;
mod find;
mod group;
mod lines;
mod stderr_tail;

pub use environment::{BASE_VARIABLES, Environment};
pub use find::{check_program, find_program};
pub use group::{Group, kill_all};
pub use lines::Lines;
pub use stderr_tail::StderrTail;

use std::path::Path;
use std::process::Stdio;
use tokio::process::Command;

/// A program that is spoken to over pipes, in a group of its own and with nothing but this environment.
/// It is killed when its handle is dropped.
pub fn piped(
    program: &Path,
    arguments: &[String],
    cwd: &Path,
    environment: &Environment,
) -> Command {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(environment.iter())
        .current_dir(cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    command
}
