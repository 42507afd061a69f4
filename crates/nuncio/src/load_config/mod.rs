//! Finds the configuration and lays its sources over each other: file, `A2A_*` variables, flags.
//!
//! Each later source wins. Nothing is started and nothing is written here. What can be set stands
//! in `nuncio_gateway::config`; the variables in `environment`; the data directory in `home`.

pub(crate) mod environment;
pub(crate) mod home;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use nuncio_gateway::config::{
    AgentConfig, BackendConfig, CommandConfig, Config, ConfigError, ConfigErrors, EchoConfig,
    PeerConfig, Problem, Severity, StoreUrl, WebUrl, check_path_name, locate, parse,
};

/// The name a configuration file has where it is looked for.
pub(crate) const FILE_NAME: &str = "nuncio.toml";
/// The agent that is served when none is configured.
const BUILT_IN_AGENT: &str = "echo";

/// Looks an environment variable up. Empty values count as absent.
pub(crate) type Env<'a> = &'a dyn Fn(&str) -> Option<String>;

/// What the command line says about the configuration.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flags {
    /// `--config`
    pub(crate) config: Option<PathBuf>,
    /// `--home`
    pub(crate) home: Option<PathBuf>,
    /// `--listen`
    pub(crate) listen: Vec<SocketAddr>,
    /// `--store`
    pub(crate) store: Option<StoreUrl>,
    /// `--public-url`
    pub(crate) public_url: Option<WebUrl>,
    /// `--agent`
    pub(crate) agents: Vec<ProgramFlag>,
}

/// `--agent NAME=PROGRAM`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProgramFlag {
    pub(crate) name: String,
    pub(crate) command: Vec<String>,
}

/// A configuration that fits together, with its secrets at hand.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) config: Config,
    /// The file it came from, if there was one.
    pub(crate) file: Option<PathBuf>,
    /// The data directory. It may not exist yet.
    pub(crate) home: PathBuf,
    /// What is odd, but no reason not to start.
    pub(crate) warnings: Vec<ConfigError>,
}

/// The process's environment.
pub(crate) fn process_env(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Finds, reads, overlays and checks the configuration.
///
/// # Errors
///
/// Everything that is wrong with it, each with its place in the file or the variable it is in.
pub(crate) fn load(flags: &Flags, env: Env<'_>) -> Result<Loaded, ConfigErrors> {
    let home = home::data_dir(flags.home.as_deref(), env)?;
    let file = find_file(flags.config.as_deref(), &home, env);
    let mut layers = Layers::read(file.as_deref())?;
    layers.add_program_agents(&flags.agents)?;
    layers.add_built_in_agent();
    let variables = environment::apply(&mut layers.config, env)?;
    layers.origins.extend(variables.origins);
    layers.apply_flags(flags);
    layers.add_openfang_peers();
    layers.config.add_profiles(env);
    layers.config.inherit_environment(env);
    layers.check(env)?;
    let mut warnings = variables.warnings;
    warnings.extend(layers.warnings());
    Ok(Loaded {
        config: layers.config,
        file,
        home,
        warnings,
    })
}

/// `--config`, `NUNCIO_CONFIG`, `./nuncio.toml`, `nuncio.toml` in the data directory: the first
/// that is named or there.
pub(crate) fn find_file(flag: Option<&Path>, home: &Path, env: Env<'_>) -> Option<PathBuf> {
    let named = flag
        .map(Path::to_owned)
        .or_else(|| env("NUNCIO_CONFIG").map(PathBuf::from));
    named.or_else(|| {
        [PathBuf::from(FILE_NAME), home.join(FILE_NAME)]
            .into_iter()
            .find(|path| path.exists())
    })
}

/// The configuration while its sources are laid over each other.
struct Layers {
    config: Config,
    path: PathBuf,
    text: String,
    /// Where values come from that are not the file's: dotted key -> variable or flag.
    origins: HashMap<String, String>,
}

impl Layers {
    fn read(file: Option<&Path>) -> Result<Layers, ConfigErrors> {
        let Some(path) = file else {
            let (path, text) = (PathBuf::new(), String::new());
            return Ok(Layers {
                config: Config::default(),
                path,
                text,
                origins: HashMap::new(),
            });
        };
        let text = std::fs::read_to_string(path).map_err(|error| unreadable(path, &error))?;
        let mut config = parse(&text, path)?;
        let whole = std::path::absolute(path).map_err(|error| unreadable(path, &error))?;
        let base = whole.parent().unwrap_or(Path::new("/"));
        config.anchor_programs(base);
        if let Some(tls) = &mut config.server.tls {
            tls.anchor(base);
        }
        Ok(Layers {
            config,
            path: path.to_owned(),
            text,
            origins: HashMap::new(),
        })
    }

    fn add_program_agents(&mut self, programs: &[ProgramFlag]) -> Result<(), ConfigErrors> {
        for ProgramFlag { name, command } in programs {
            check_path_name(name).map_err(|error| ConfigError::new(format!("--agent: {error}")))?;
            let mut command = CommandConfig::new(command.clone());
            let here = std::env::current_dir().map_err(|error| {
                ConfigError::new(format!("cannot tell the current directory: {error}"))
            })?;
            command.program.anchor(&mut command.command, &here);
            let agent = AgentConfig::new(BackendConfig::Command(command));
            if self.config.agents.insert(name.clone(), agent).is_some() {
                return Err(
                    ConfigError::new(format!("--agent: there are two agents `{name}`"))
                        .with_hint("give one of them another name")
                        .into(),
                );
            }
            self.origins
                .insert(format!("agents.{name}"), "--agent".to_owned());
        }
        Ok(())
    }

    fn add_built_in_agent(&mut self) {
        if self.config.agents.is_empty() {
            let mut echo = AgentConfig::new(BackendConfig::Echo(EchoConfig {}));
            echo.description = Some("Answers with what it was sent".to_owned());
            self.config.agents.insert(BUILT_IN_AGENT.to_owned(), echo);
        }
    }

    fn apply_flags(&mut self, flags: &Flags) {
        let server = &mut self.config.server;
        let mut set = |key: &str, flag: &str| {
            self.origins.insert(key.to_owned(), flag.to_owned());
        };
        if !flags.listen.is_empty() {
            server.listen.clone_from(&flags.listen);
            set("server.listen", "--listen");
        }
        if let Some(url) = &flags.public_url {
            server.public_url = Some(url.clone());
            set("server.public_url", "--public-url");
        }
        if let Some(store) = &flags.store {
            self.config.store.url = store.clone();
            set("store.url", "--store");
        }
    }

    fn add_openfang_peers(&mut self) {
        if !self.config.a2a.enabled {
            return;
        }
        for agent in &self.config.a2a.external_agents {
            let peer = PeerConfig {
                url: agent.url.clone(),
                auth: None,
                ca: None,
                capabilities: Vec::new(),
                a2a_version: None,
                description: Some(agent.name.clone()),
            };
            self.config
                .peers
                .entry(peer_name(&agent.name))
                .or_insert(peer);
        }
    }

    /// Follows the references to secrets and looks at the whole.
    fn check(&mut self, env: Env<'_>) -> Result<(), ConfigErrors> {
        let base = self.path.parent().unwrap_or(Path::new(".")).to_owned();
        let mut errors = Vec::new();
        for (key, secret) in self.config.secrets_mut() {
            if let Err(message) = secret.resolve(env, &base) {
                let severity = Severity::Error;
                errors.push(Problem {
                    message,
                    key,
                    hint: None,
                    severity,
                });
            }
        }
        errors.extend(
            self.config
                .problems()
                .into_iter()
                .filter(|p| p.severity == Severity::Error),
        );
        match errors.is_empty() {
            true => Ok(()),
            false => Err(ConfigErrors(
                errors.into_iter().map(|p| self.place(p)).collect(),
            )),
        }
    }

    fn warnings(&self) -> Vec<ConfigError> {
        let problems = self.config.problems().into_iter();
        let warnings = problems.filter(|problem| problem.severity == Severity::Warning);
        warnings.map(|problem| self.place(problem)).collect()
    }

    /// Says where a problem's value came from: a variable, a flag, else the line of the file.
    fn place(&self, problem: Problem) -> ConfigError {
        let Problem {
            key, message, hint, ..
        } = problem;
        let error = ConfigError {
            position: None,
            message,
            hint,
        };
        let origin = self.origins.iter().find(|(origin, _)| {
            key.strip_prefix(origin.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        });
        if let Some((_, from)) = origin {
            return ConfigError {
                message: format!("{from}: {}", error.message),
                ..error
            };
        }
        match locate(&self.text, &key) {
            Some(span) => error.at(&self.path, &self.text, span),
            None => error,
        }
    }
}

/// OpenFang's names are free text; a peer's name is not.
fn peer_name(name: &str) -> String {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    let lower = name.to_lowercase();
    lower
        .chars()
        .map(|c| if fits(c) { c } else { '-' })
        .collect()
}

fn unreadable(path: &Path, error: &std::io::Error) -> ConfigErrors {
    let shown = path.display();
    let error = ConfigError::new(format!("cannot read the configuration {shown}: {error}"));
    error
        .with_hint("name another file with --config, or leave the flag out")
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load_text(text: &str, vars: &[(&str, &str)], flags: Flags) -> Result<Loaded, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE_NAME);
        std::fs::write(&path, text).unwrap();
        let env = |name: &str| {
            vars.iter()
                .find(|(n, _)| *n == name)
                .map(|(_, v)| (*v).to_owned())
        };
        let flags = Flags {
            config: Some(path),
            home: Some(dir.path().into()),
            ..flags
        };
        load(&flags, &env).map_err(|errors| errors.to_string())
    }

    fn listen(loaded: &Loaded) -> String {
        loaded.config.server.listen[0].to_string()
    }

    #[test]
    fn flags_beat_variables_beat_the_file() {
        let file = "[server]\nlisten = [\"127.0.0.1:1111\"]\n";
        let loaded = load_text(file, &[], Flags::default()).unwrap();
        assert_eq!(listen(&loaded), "127.0.0.1:1111");
        let vars = [("A2A_PORT", "2222")];
        let loaded = load_text(file, &vars, Flags::default()).unwrap();
        assert_eq!(listen(&loaded), "127.0.0.1:2222");
        let flag = Flags {
            listen: vec!["127.0.0.1:3333".parse().unwrap()],
            ..Flags::default()
        };
        let loaded = load_text(file, &vars, flag).unwrap();
        assert_eq!(listen(&loaded), "127.0.0.1:3333");
    }

    #[test]
    fn an_agent_is_always_served() {
        let loaded = load_text("", &[], Flags::default()).unwrap();
        assert_eq!(
            loaded.config.default_agent().unwrap().1.backend.kind(),
            "echo"
        );
        let program = ProgramFlag {
            name: "me".into(),
            command: vec!["./me".into()],
        };
        let flags = Flags {
            agents: vec![program],
            ..Flags::default()
        };
        let loaded = load_text("", &[], flags).unwrap();
        assert_eq!(loaded.config.agents.len(), 1);
        assert_eq!(loaded.config.default_agent().unwrap().0, "me");
    }

    #[test]
    fn relative_programs_are_meant_from_the_file() {
        let text = "[agents.a]\nbackend = \"command\"\ncommand = [\"./a.sh\"]\ncwd = \"w\"\n\
                    [agents.b]\nbackend = \"command\"\ncommand = [\"cat\"]\n";
        let loaded = load_text(text, &[], Flags::default()).unwrap();
        let base = loaded.home.clone();
        let BackendConfig::Command(a) = &loaded.config.agents["a"].backend else {
            panic!()
        };
        assert_eq!(a.command[0], base.join("./a.sh").to_str().unwrap());
        assert_eq!(a.program.cwd, Some(base.join("w")));
        let BackendConfig::Command(b) = &loaded.config.agents["b"].backend else {
            panic!()
        };
        assert_eq!(
            (b.command[0].as_str(), b.program.cwd.clone()),
            ("cat", Some(base))
        );
    }

    #[test]
    fn a_problem_is_placed_where_its_value_came_from() {
        let wide = "[server]\nlisten = [\"0.0.0.0:1\"]\n";
        let error = load_text(wide, &[], Flags::default()).unwrap_err();
        assert!(error.contains("nuncio.toml:2:11"), "{error}");
        let error = load_text("", &[("A2A_HOST", "0.0.0.0")], Flags::default()).unwrap_err();
        assert!(
            error.starts_with("A2A_HOST: other machines can reach 0.0.0.0:8081"),
            "{error}"
        );
        let flag = Flags {
            listen: vec!["0.0.0.0:1".parse().unwrap()],
            ..Flags::default()
        };
        let error = load_text(wide, &[], flag).unwrap_err();
        assert!(error.starts_with("--listen: other machines"), "{error}");
        let vars = [("A2A_BEARER_TOKEN", "hunter2")];
        assert!(load_text(wide, &vars, Flags::default()).is_ok());
    }

    #[test]
    fn secrets_are_fetched_and_missing_ones_are_placed() {
        let text = "[security]\nbearer_token = \"env:TOKEN\"\n";
        let error = load_text(text, &[], Flags::default()).unwrap_err();
        assert!(
            error.contains("TOKEN is not set") && error.contains(":2:1"),
            "{error}"
        );
        let loaded = load_text(text, &[("TOKEN", "hunter2")], Flags::default()).unwrap();
        let token = loaded.config.security.bearer_token.as_ref().unwrap();
        assert_eq!(token.secret().unwrap().expose(), "hunter2");
        assert!(!format!("{loaded:?}").contains("hunter2"));
    }

    #[test]
    fn openfang_agents_become_peers() {
        let text = "[a2a]\nenabled = true\n\
                    [[a2a.external_agents]]\nname = \"My Agent\"\nurl = \"http://127.0.0.1:1\"\n";
        let loaded = load_text(text, &[], Flags::default()).unwrap();
        assert_eq!(
            loaded.config.peers["my-agent"].url.as_str(),
            "http://127.0.0.1:1"
        );
    }
}
