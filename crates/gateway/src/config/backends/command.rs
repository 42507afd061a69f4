//! `backend = "command"`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DEFAULT_MAX_OUTPUT_BYTES, DEFAULT_TURN_TIMEOUT, ProgramConfig};
use crate::config::Duration;

/// `backend = "command"`: a program for every turn.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct CommandConfig {
    /// The program and its arguments. A relative path is meant from this file's directory; a
    /// bare name is looked up in `PATH`. No shell is involved.
    #[schemars(length(min = 1))]
    #[schemars(example = serde_json::json!(["./review.sh"]))]
    pub command: Vec<String>,
    /// The program's surroundings.
    #[serde(flatten)]
    pub program: ProgramConfig,
    /// `text`: the message on standard input, the answer on standard output. `jsonl`: one Message
    /// on standard input, one StreamResponse a line on standard output.
    #[serde(default)]
    pub protocol: CommandProtocol,
    /// Give every conversation a directory of its own, which the program starts in.
    #[serde(default)]
    pub context_dir: bool,
    /// How long a turn may take; then its processes are ended and the task fails.
    #[serde(default = "super::default_turn_timeout")]
    pub turn_timeout: Duration,
    /// What a turn may write to standard output, in bytes; then it is ended and the task fails.
    #[serde(default = "super::default_max_output_bytes")]
    #[schemars(range(min = 1))]
    pub max_output_bytes: usize,
}

impl CommandConfig {
    /// `command` with the defaults of everything else.
    pub fn new(command: Vec<String>) -> CommandConfig {
        CommandConfig {
            protocol: CommandProtocol::Text,
            command,
            program: ProgramConfig::default(),
            context_dir: false,
            turn_timeout: DEFAULT_TURN_TIMEOUT,
            max_output_bytes: DEFAULT_MAX_OUTPUT_BYTES,
        }
    }
}

/// How a program is spoken to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum CommandProtocol {
    /// Plain text on both sides.
    #[default]
    Text,
    /// A2A JSON, one object a line.
    Jsonl,
}
