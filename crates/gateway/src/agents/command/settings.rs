//! What a `command` agent needs to know.
//!
//! Reads nothing from the environment or a configuration file itself: the values come resolved.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::agents::conversation_dir::{ConversationDirs, absolute};
use crate::agents::process::Environment;
use crate::config::{CommandConfig, CommandProtocol, DEFAULT_KILL_GRACE, DEFAULT_MAX_OUTPUT_BYTES};

/// Directory of the data directory that holds those of running turns.
const TURN_DIRS: &str = "turns";
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
    /// its conversation has one of its own.
    pub cwd: PathBuf,
    /// All variables the program gets besides the `A2A_*` ones.
    pub environment: Environment,
    /// Where conversations have directories of their own.
    pub(super) dirs: ConversationDirs,
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
            dirs: ConversationDirs::default(),
            scratch_dir: None,
            max_output_bytes: DEFAULT_MAX_OUTPUT_BYTES as u64,
            kill_grace: DEFAULT_KILL_GRACE.get(),
        }
    }

    /// The settings that `config` describes. Whoever read it made its paths absolute and looked up
    /// the variables of this process.
    pub(super) fn of(config: &CommandConfig, data_dir: &Path) -> Result<Self, String> {
        let program = &config.program;
        let cwd = absolute(program.cwd.as_deref().unwrap_or(Path::new(".")))?;
        Ok(Self {
            protocol: match config.protocol {
                CommandProtocol::Text => Protocol::Text,
                CommandProtocol::Jsonl => Protocol::Jsonl,
            },
            dirs: ConversationDirs::below(data_dir, config.context_dir)?,
            scratch_dir: Some(absolute(&data_dir.join(TURN_DIRS))?),
            max_output_bytes: config.max_output_bytes as u64,
            kill_grace: program.kill_grace.get(),
            ..Self::new(config.command.clone(), cwd, program.environment())
        })
    }
}
