//! Child processes of a task: run with a time limit, capture output, find tools. Never swallows a
//! failure: each error names the command and what it ended with.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// How often a running child is looked at; short enough not to be felt after a one-second suite.
const POLL: Duration = Duration::from_millis(50);

/// The root of the repository: the parent of this package's folder.
pub fn repository_root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package
        .parent()
        .expect("the xtask package lies in a folder of the repository")
        .to_path_buf()
}

/// `cargo ARGUMENTS`, in the repository's root, without the settings of a developer's own nuncio.
pub fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(repository_root());
    without_own_settings(&mut command);
    command
}

/// Removes every variable that nuncio reads, so that results do not depend on who runs the task.
pub fn without_own_settings(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let Some(text) = name.to_str() else { continue };
        let ours = ["A2A_", "A2ACLI_", "NUNCIO_"]
            .iter()
            .any(|prefix| text.starts_with(prefix));
        if ours && !text.starts_with("NUNCIO_TEST_") {
            command.env_remove(&name);
        }
    }
}

/// Runs `command` with the task's own output and waits for success, at most for `limit`; then the
/// child and all its descendants are killed.
///
/// # Errors
/// When the command cannot start, ends with another code than 0, or outlives `limit`.
pub fn run(command: &mut Command, limit: Duration) -> Result<()> {
    let shown = show(command);
    let mut child = command
        .spawn()
        .with_context(|| format!("cannot start `{shown}`"))?;
    let status = wait(&mut child, limit).with_context(|| format!("`{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` ended with {status}");
    }
    Ok(())
}

/// Runs `command` and returns what it printed on stdout.
///
/// # Errors
/// When the command cannot start or ends with another code than 0; its stderr is in the message.
pub fn output(command: &mut Command) -> Result<String> {
    let shown = show(command);
    let output = command
        .output()
        .with_context(|| format!("cannot start `{shown}`"))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        bail!(
            "`{shown}` ended with {}: {}",
            output.status,
            complaint.trim()
        );
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{shown}` printed invalid UTF-8"))
}

/// Whether `command` starts and ends with code 0; its output is dropped.
pub fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

fn wait(child: &mut Child, limit: Duration) -> Result<ExitStatus> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if started.elapsed() > limit {
            kill_tree(child.id());
            child.wait()?;
            bail!("did not end within {} and was killed", minutes(limit));
        }
        std::thread::sleep(POLL);
    }
}

/// Kills a process and its descendants, youngest first, so that no test server outlives its suite.
fn kill_tree(root: u32) {
    let mut tree = vec![root];
    let parents = parents_by_process();
    let mut next = 0;
    while let Some(&parent) = tree.get(next) {
        tree.extend(
            parents
                .iter()
                .filter(|(_, of)| *of == parent)
                .map(|(process, _)| *process),
        );
        next += 1;
    }
    for process in tree.iter().rev() {
        succeeds(Command::new("kill").args(["-KILL", &process.to_string()]));
    }
}

/// Every process of the machine with its parent, from `/proc`; empty where there is no `/proc`.
fn parents_by_process() -> Vec<(u32, u32)> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let stat = |process: u32| std::fs::read_to_string(format!("/proc/{process}/stat")).ok();
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|process| Some((process, parent_in_stat(&stat(process)?)?)))
        .collect()
}

/// The parent's id in a line of `/proc/PID/stat`. The name in parentheses may hold anything.
fn parent_in_stat(stat: &str) -> Option<u32> {
    stat.rsplit_once(')')?
        .1
        .split_whitespace()
        .nth(1)?
        .parse()
        .ok()
}

/// A duration as people say it: `3 min 5 s`, `4.2 s`.
pub fn minutes(duration: Duration) -> String {
    let seconds = duration.as_secs();
    if seconds >= 60 {
        format!("{} min {} s", seconds / 60, seconds % 60)
    } else {
        format!("{:.1} s", duration.as_secs_f64())
    }
}

fn show(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let program = program.file_name().unwrap_or(program.as_os_str());
    let mut words = vec![program.to_string_lossy().into_owned()];
    words.extend(
        command
            .get_args()
            .map(|word| word.to_string_lossy().into_owned()),
    );
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_past_its_limit_is_killed_with_its_children() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 1000.5 & wait"]);
        let error = run(&mut command, Duration::from_millis(200)).unwrap_err();
        assert!(
            format!("{error:#}").contains("did not end within"),
            "{error:#}"
        );
        let left = std::fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| std::fs::read_to_string(entry.ok()?.path().join("cmdline")).ok());
        assert!(
            !left.into_iter().any(|line| line == "sleep\x001000.5\0"),
            "the grandchild lives"
        );
    }

    #[test]
    fn a_failure_names_the_command() {
        let error = run(Command::new("sh").args(["-c", "exit 3"]), POLL * 100).unwrap_err();
        assert!(format!("{error:#}").contains("`sh -c exit 3` ended with exit status: 3"));
    }

    #[test]
    fn the_parent_is_read_past_a_name_with_parentheses() {
        assert_eq!(parent_in_stat("42 (a) b (c)) S 7 42 42 0"), Some(7));
    }

    #[test]
    fn durations_read_as_people_say_them() {
        assert_eq!(minutes(Duration::from_secs(185)), "3 min 5 s");
        assert_eq!(minutes(Duration::from_millis(4200)), "4.2 s");
    }
}
