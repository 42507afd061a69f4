//! `[workers]`: who may start agents for one piece of work, and which profiles of Hermes are such agents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

use super::{AcpConfig, AcpPreset, AgentConfig, BackendConfig, Config};

/// Where Hermes keeps its profiles, below its own directory.
const PROFILES: &str = "profiles";
/// Hermes' own directory, below the user's.
const HERMES_DIR: &str = ".hermes";
/// Names the directory of a Hermes, or of a profile of one.
const HERMES_HOME: &str = "HERMES_HOME";

/// Agents started for one piece of work, with a session and a directory of their own. The operator
/// may always do so.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WorkersConfig {
    /// Agents that others than the operator may start that way.
    #[schemars(example = serde_json::json!(["reviewer"]))]
    pub agents: Vec<String>,
    /// Callers that may start them, as owners are written: `peer:NAME` or `mtls:NAME`.
    #[schemars(example = serde_json::json!(["peer:alice"]))]
    pub callers: Vec<String>,
    /// Profiles of a Hermes on this machine that may be started for one piece of work. Each is served
    /// as an agent of that name that takes nothing else.
    #[schemars(example = serde_json::json!(["writer"]))]
    pub hermes_profiles: Vec<String>,
    /// The directory of that Hermes. Without it the one of `HERMES_HOME`, else `~/.hermes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!("/home/me/.hermes"))]
    pub hermes_home: Option<PathBuf>,
    /// How it is started, in place of `hermes acp`.
    #[schemars(example = serde_json::json!(["/opt/hermes/bin/hermes", "acp"]))]
    pub hermes_command: Vec<String>,
}

impl Config {
    /// Adds an agent for each profile of Hermes that may be a worker. Names that are taken already
    /// are left to [`Config::problems`].
    pub fn add_profiles(&mut self, env: &dyn Fn(&str) -> Option<String>) {
        let workers = &self.workers;
        let home = workers.hermes_home.clone().or_else(|| hermes_home(env));
        let Some(home) = home else { return };
        for profile in &workers.hermes_profiles {
            let agent = self.agents.entry(profile.clone());
            agent.or_insert_with(|| worker(profile, &home, &workers.hermes_command));
        }
    }
}

/// The agent that a profile is.
fn worker(profile: &str, home: &Path, command: &[String]) -> AgentConfig {
    let dir = home.join(PROFILES).join(profile);
    let mut acp = AcpConfig::of_preset(AcpPreset::Hermes);
    acp.command = command.to_vec();
    let variable = (HERMES_HOME.to_owned(), dir.to_string_lossy().into_owned());
    acp.program.env.extend([variable]);
    acp.program.cwd = Some(dir);
    let mut agent = AgentConfig::new(BackendConfig::Acp(acp));
    agent.description = Some(format!(
        "The profile {profile} of a Hermes, for one piece of work"
    ));
    agent.workers_only = true;
    agent
}

/// The directory of the Hermes that this user has.
fn hermes_home(env: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let Some(named) = env(HERMES_HOME).map(PathBuf::from) else {
        return env("HOME").map(|home| Path::new(&home).join(HERMES_DIR));
    };
    // It may be a profile's.
    let of_profile = named.parent().filter(|it| it.ends_with(PROFILES));
    let root = of_profile.and_then(Path::parent).map(Path::to_owned);
    Some(root.unwrap_or(named))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;

    fn with(text: &str, env: &[(&str, &str)]) -> Config {
        let mut config = parse(text, Path::new("test.toml")).unwrap();
        config.add_profiles(&|name| {
            let found = env.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        });
        config
    }

    const TEXT: &str =
        "[agents.echo]\nbackend = \"echo\"\n[workers]\nhermes_profiles = [\"writer\"]\n";

    #[test]
    fn a_profile_is_an_agent_after_all_others_in_its_own_directory() {
        for (env, dir) in [
            (("HOME", "/home/me"), "/home/me/.hermes/profiles/writer"),
            (("HERMES_HOME", "/srv/h"), "/srv/h/profiles/writer"),
            (
                ("HERMES_HOME", "/srv/h/profiles/x"),
                "/srv/h/profiles/writer",
            ),
        ] {
            let mut config = with(TEXT, &[env]);
            assert_eq!(config.default_agent().unwrap().0, "echo");
            let agent = &mut config.agents["writer"];
            assert!(agent.workers_only);
            let (command, program) = agent.backend.program_mut().unwrap();
            assert!(command.is_empty(), "the preset's");
            assert_eq!(program.env["HERMES_HOME"], dir);
            assert_eq!(program.cwd.as_deref(), Some(Path::new(dir)));
            assert!(config.problems().is_empty(), "{:?}", config.problems());
        }
    }

    #[test]
    fn profiles_that_cannot_be_agents_are_named() {
        let env = [("HOME", "/home/me")];
        for name in ["echo", "../x", "Writer", ""] {
            let text = TEXT.replace("\"writer\"", &format!("\"{name}\""));
            let problems = with(&text, &env).problems().into_iter();
            let keys: Vec<_> = problems.map(|it| it.key).collect();
            assert!(
                keys.contains(&"workers.hermes_profiles.0".to_owned()),
                "{name}: {keys:?}"
            );
        }
        let keys: Vec<_> = with(TEXT, &[])
            .problems()
            .into_iter()
            .map(|it| it.key)
            .collect();
        assert_eq!(keys, ["workers.hermes_home"]);
    }
}
