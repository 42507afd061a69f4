//! What a `command` agent needs to know, and whether its program can be started at all.
//!
//! Reads nothing from the environment or a configuration file itself: the values come resolved.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::environment::Environment;
use crate::config::{CommandConfig, CommandProtocol};

/// Output of one turn, in bytes (16 MiB): as much as one message may carry.
pub const DEFAULT_MAX_OUTPUT_BYTES: u64 = 16 * 1024 * 1024;
/// Time between the polite and the forced end of a program: long enough to save a file, short
/// enough that a cancelled group is gone within 5 seconds.
pub const DEFAULT_KILL_GRACE: Duration = Duration::from_secs(2);
/// Directory of the data directory that holds those of conversations.
const CONTEXT_DIRS: &str = "contexts";
/// Directory of the data directory that holds those of running turns.
const TURN_DIRS: &str = "turns";
/// Longest first line of a script that is looked at, in bytes (what Linux itself reads).
const MAX_SHEBANG_BYTES: u64 = 256;

/// How a program is spoken to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// Text on stdin, text on stdout, the exit code tells how it went.
    #[default]
    Text,
    /// One Message as JSON on stdin, one StreamResponse as JSON per line of stdout.
    Jsonl,
}

/// Settings of one `command` agent.
#[derive(Clone, Debug)]
pub struct CommandSettings {
    /// The program and its arguments; never empty. A program without a slash is looked up in the
    /// `PATH` of `environment`.
    pub command: Vec<String>,
    /// How the program is spoken to.
    pub protocol: Protocol,
    /// Where a relative program path starts, and the program's working directory unless
    /// `context_dirs` is set.
    pub cwd: PathBuf,
    /// All variables the program gets besides the `A2A_*` ones.
    pub environment: Environment,
    /// Gives each conversation its own working directory below this one.
    pub context_dirs: Option<PathBuf>,
    /// Where the directories of single turns are made; `None`: the system's temporary directory.
    pub scratch_dir: Option<PathBuf>,
    /// Most bytes of output of one turn: standard output, and the files it leaves.
    pub max_output_bytes: u64,
    /// Time between SIGTERM and SIGKILL when a turn is stopped.
    pub kill_grace: Duration,
}

impl CommandSettings {
    /// Settings for this program with every default, working in `cwd`.
    #[must_use]
    pub fn new(command: Vec<String>, cwd: PathBuf, environment: Environment) -> Self {
        Self {
            command,
            protocol: Protocol::Text,
            cwd,
            environment,
            context_dirs: None,
            scratch_dir: None,
            max_output_bytes: DEFAULT_MAX_OUTPUT_BYTES,
            kill_grace: DEFAULT_KILL_GRACE,
        }
    }

    /// The settings that `config` describes. Whoever read it made its paths absolute and looked up
    /// the variables of this process.
    pub(super) fn of(config: &CommandConfig, data_dir: &Path) -> Result<Self, String> {
        let place = |path: &Path| {
            std::path::absolute(path).map_err(|error| format!("{}: {error}", path.display()))
        };
        let set = config
            .env
            .iter()
            .map(|(name, value)| (name.into(), value.into()));
        let environment = config.inherited.clone().and(set);
        let cwd = place(config.cwd.as_deref().unwrap_or(Path::new(".")))?;
        let context_dirs = config
            .context_dir
            .then(|| place(&data_dir.join(CONTEXT_DIRS)));
        Ok(Self {
            protocol: match config.protocol {
                CommandProtocol::Text => Protocol::Text,
                CommandProtocol::Jsonl => Protocol::Jsonl,
            },
            context_dirs: context_dirs.transpose()?,
            scratch_dir: Some(place(&data_dir.join(TURN_DIRS))?),
            max_output_bytes: config.max_output_bytes as u64,
            kill_grace: config.kill_grace.get(),
            ..Self::new(config.command.clone(), cwd, environment)
        })
    }
}

/// Says why the program of these settings could not be started, and what to do.
///
/// For the operator: the text names paths of this machine.
pub fn check(settings: &CommandSettings) -> Result<(), String> {
    if !settings.cwd.is_dir() {
        return Err(format!(
            "the working directory {} does not exist: make it or change `cwd`",
            settings.cwd.display()
        ));
    }
    find_program(settings).map(drop)
}

/// The program's file, absolute if `cwd` is.
pub(super) fn find_program(settings: &CommandSettings) -> Result<PathBuf, String> {
    let Some(name) = settings.command.first().filter(|name| !name.is_empty()) else {
        return Err("`command` is empty: name the program to run".to_owned());
    };
    if name.contains('/') {
        let path = settings.cwd.join(name);
        check_executable(&path)?;
        return Ok(path);
    }
    let search: OsString = settings
        .environment
        .get("PATH")
        .unwrap_or_default()
        .to_owned();
    let found = std::env::split_paths(&search)
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(name))
        .find(|path| is_executable_file(path));
    let Some(path) = found else {
        return Err(format!(
            "the program {name} is in no directory of PATH: install it or write its full path"
        ));
    };
    check_executable(&path)?;
    Ok(path)
}

fn is_executable_file(path: &Path) -> bool {
    path.is_file() && nix::unistd::access(path, nix::unistd::AccessFlags::X_OK).is_ok()
}

fn check_executable(path: &Path) -> Result<(), String> {
    let shown = path.display();
    match std::fs::metadata(path) {
        Err(error) => return Err(format!("the program {shown} cannot be found: {error}")),
        Ok(about) if !about.is_file() => return Err(format!("{shown} is not a program file")),
        Ok(_) => {}
    }
    if !is_executable_file(path) {
        return Err(format!("{shown} is not executable: run `chmod +x {shown}`"));
    }
    match interpreter(path) {
        Some(interpreter) if interpreter.is_absolute() && !interpreter.exists() => Err(format!(
            "the first line of {shown} names {}, which does not exist",
            interpreter.display()
        )),
        _ => Ok(()),
    }
}

/// What the `#!` line of a script names. A file that cannot be read may still be run.
fn interpreter(path: &Path) -> Option<PathBuf> {
    let file = std::fs::File::open(path).ok()?;
    let mut line = Vec::new();
    BufReader::new(file.take(MAX_SHEBANG_BYTES))
        .read_until(b'\n', &mut line)
        .ok()?;
    let rest = std::str::from_utf8(line.strip_prefix(b"#!")?).ok()?;
    rest.split_ascii_whitespace().next().map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn settings(dir: &Path, program: &str) -> CommandSettings {
        let environment = Environment::new([("PATH".into(), "/usr/bin:/bin".into())]);
        CommandSettings::new(vec![program.to_owned()], dir.to_owned(), environment)
    }

    fn script(dir: &Path, name: &str, text: &str, mode: u32) {
        let path = dir.join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_program_is_found_in_path_or_beside_the_configuration() {
        let dir = tempfile::tempdir().unwrap();
        script(dir.path(), "run.sh", "#!/bin/sh\n", 0o755);
        assert_eq!(check(&settings(dir.path(), "sh")), Ok(()));
        assert_eq!(check(&settings(dir.path(), "./run.sh")), Ok(()));
    }

    #[test]
    fn what_cannot_start_is_said_with_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        script(dir.path(), "plain.sh", "#!/bin/sh\n", 0o644);
        script(dir.path(), "odd.sh", "#!/no/such/interpreter -x\n", 0o755);
        for (program, expected) in [
            (
                "no-such-program-of-nuncio",
                "install it or write its full path",
            ),
            ("./missing.sh", "cannot be found"),
            ("./plain.sh", "chmod +x"),
            (
                "./odd.sh",
                "names /no/such/interpreter, which does not exist",
            ),
            ("/", "is not a program file"),
            ("", "`command` is empty"),
        ] {
            let error = check(&settings(dir.path(), program)).unwrap_err();
            assert!(error.contains(expected), "{program}: {error}");
        }
        let mut lost = settings(dir.path(), "sh");
        lost.cwd = dir.path().join("nowhere");
        assert!(check(&lost).unwrap_err().contains("change `cwd`"));
    }
}
