//! What surrounds a program that answers: where it starts, what it is told, how it is ended.

use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agents::process::{BASE_VARIABLES, Environment};
use crate::config::Duration;

/// Long enough to save a file, short enough that a cancelled turn is gone within five seconds.
pub(crate) const DEFAULT_KILL_GRACE: Duration = Duration::from_secs(2);

/// The surroundings of a program.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct ProgramConfig {
    /// The directory the program starts in. Without it, this file's directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!("work"))]
    pub cwd: Option<PathBuf>,
    /// Variables that the program gets with these values. Its environment is clean otherwise.
    #[serde(default)]
    #[schemars(example = serde_json::json!({ "LANG": "C.UTF-8" }))]
    pub env: IndexMap<String, String>,
    /// Variables that the program gets from nuncio's own environment, by name.
    #[serde(default)]
    #[schemars(example = serde_json::json!(["OPENAI_API_KEY"]))]
    pub pass_env: Vec<String>,
    /// How long processes may clean up after SIGTERM, before SIGKILL.
    #[serde(default = "default_kill_grace")]
    pub kill_grace: Duration,
    /// What the program gets from nuncio's own environment: see [`ProgramConfig::inherit`].
    #[serde(skip)]
    pub inherited: Environment,
}

impl Default for ProgramConfig {
    fn default() -> ProgramConfig {
        ProgramConfig {
            cwd: None,
            env: IndexMap::new(),
            pass_env: Vec::new(),
            kill_grace: DEFAULT_KILL_GRACE,
            inherited: Environment::default(),
        }
    }
}

impl ProgramConfig {
    /// Relative paths, of the program that `command` begins with and of its directory, are meant
    /// from `base`, not from where nuncio was started.
    pub fn anchor(&mut self, command: &mut [String], base: &Path) {
        if let Some(program) = command.first_mut()
            && program.contains('/')
        {
            *program = base.join(&program).to_string_lossy().into_owned();
        }
        self.cwd = Some(match &self.cwd {
            Some(cwd) => base.join(cwd),
            None => base.to_owned(),
        });
    }

    /// Looks up the variables that the program gets from nuncio's own environment: those every
    /// program gets, and the ones of `pass_env`.
    pub fn inherit(&mut self, env: &dyn Fn(&str) -> Option<String>) {
        let names = BASE_VARIABLES
            .into_iter()
            .chain(self.pass_env.iter().map(String::as_str));
        self.inherited = Environment::look_up(names, env);
    }

    /// All variables that the program gets whatever it is asked.
    pub fn environment(&self) -> Environment {
        let set = self
            .env
            .iter()
            .map(|(name, value)| (name.into(), value.into()));
        self.inherited.clone().and(set)
    }
}

fn default_kill_grace() -> Duration {
    DEFAULT_KILL_GRACE
}
