//! `[agents.NAME.mcp_servers.SERVER]`: the MCP servers that an agent has.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Duration, ProgramConfig, SecretRef, WebUrl};

/// Longer than a package runner usually takes to fetch a server for the first time.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// An MCP server of an agent, as a program or at an address: its tools stand on the card as skills. An
/// agent with `backend = "acp"` is given the server for its work, too.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, deny_unknown_fields)]
pub struct McpServerConfig {
    /// The program and its arguments, if it is one. A relative path is meant from this file's
    /// directory; a bare name is looked up in `PATH`. No shell is involved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(example = serde_json::json!(["npx", "-y", "@modelcontextprotocol/server-everything"]))]
    pub command: Vec<String>,
    /// The program's surroundings.
    #[serde(flatten)]
    pub program: ProgramConfig,
    /// The server's address, if it is reached by Streamable HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!("https://tools.example.org/mcp"))]
    pub url: Option<WebUrl>,
    /// The token for that address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!("env:TOOLS_TOKEN"))]
    pub bearer: Option<SecretRef>,
    /// Names of the tools that the card tells of. Without it all of them; an empty list tells of none,
    /// and the server is not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!(["search", "fetch"]))]
    pub advertised_tools: Option<Vec<String>>,
    /// How long it may take to start and to list its tools. No card waits as long: it shows what is
    /// known.
    #[serde(default = "default_timeout")]
    pub timeout: Duration,
}

impl McpServerConfig {
    /// The key and the fault of settings that do not fit together.
    pub(super) fn problem(&self) -> Option<(&'static str, String)> {
        match (self.command.is_empty(), &self.url) {
            (true, None) => {
                let message = "an MCP server needs a `command` or a `url`".to_owned();
                Some(("command", message))
            }
            (false, Some(_)) => {
                let message = "an MCP server has a `command` or a `url`, not both".to_owned();
                Some(("url", message))
            }
            _ if self.bearer.is_some() && self.url.is_none() => {
                let message = "`bearer` is for a server with a `url`: a program gets its secrets by \
                               `pass_env`";
                Some(("bearer", message.to_owned()))
            }
            _ if self.timeout.get().is_zero() => {
                Some(("timeout", "`timeout` must be longer than 0".to_owned()))
            }
            _ => None,
        }
    }
}

fn default_timeout() -> Duration {
    DEFAULT_TIMEOUT
}

#[cfg(test)]
mod tests {
    use crate::config::{Severity, parse};
    use std::path::Path;

    fn read(server: &str) -> Result<Vec<(String, Severity)>, String> {
        let text = format!("[agents.a]\nbackend = \"echo\"\n[agents.a.mcp_servers.{server}\n");
        let config = parse(&text, Path::new("nuncio.toml")).map_err(|error| error.to_string())?;
        let problems = config.problems().into_iter();
        Ok(problems.map(|it| (it.key, it.severity)).collect())
    }

    #[test]
    fn a_server_is_a_program_or_at_an_address() {
        for server in [
            "s]\ncommand = [\"run\"]\npass_env = [\"KEY\"]\ntimeout = \"3s\"",
            "s]\nurl = \"https://tools.example.org/mcp\"\nbearer = \"env:T\"",
            "s]\ncommand = [\"run\"]\nadvertised_tools = []",
        ] {
            assert_eq!(read(server), Ok(Vec::new()), "{server}");
        }
        for (server, key) in [
            ("s]", "s.command"),
            ("s]\ncommand = [\"run\"]\nurl = \"http://h/\"", "s.url"),
            ("s]\ncommand = [\"run\"]\nbearer = \"env:T\"", "s.bearer"),
            ("s]\ncommand = [\"run\"]\ntimeout = \"0s\"", "s.timeout"),
            ("S]\ncommand = [\"run\"]", "S"),
        ] {
            let problem = (format!("agents.a.mcp_servers.{key}"), Severity::Error);
            assert_eq!(read(server), Ok(vec![problem]), "{server}");
        }
    }

    #[test]
    fn unknown_keys_and_literal_secrets_are_refused() {
        let error = read("s]\ncomand = [\"run\"]").unwrap_err();
        assert!(
            error.contains("comand") && error.contains("`command`"),
            "{error}"
        );
        let error = read("s]\nurl = \"http://h/\"\nbearer = \"hush-hush\"").unwrap_err();
        assert!(error.contains("bearer"), "{error}");
    }

    #[test]
    fn relative_programs_are_meant_from_the_files_directory() {
        let text = "[agents.a]\nbackend = \"echo\"\n\
                    [agents.a.mcp_servers.s]\ncommand = [\"./run\", \"./as-it-is\"]\n";
        let mut config = parse(text, Path::new("nuncio.toml")).unwrap();
        config.anchor_programs(Path::new("/etc/nuncio"));
        let server = &config.agents["a"].mcp_servers["s"];
        assert_eq!(server.command, ["/etc/nuncio/./run", "./as-it-is"]);
        assert_eq!(
            server.program.cwd.as_deref(),
            Some(Path::new("/etc/nuncio"))
        );
    }
}
