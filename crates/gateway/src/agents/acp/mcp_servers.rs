//! MCP servers that an agent is given with each session, in the form of the Agent Client Protocol.

use indexmap::IndexMap;
use serde_json::{Value, json};
use std::path::Path;

use super::host::About;
use crate::agents::process::find_program;
use crate::config::{McpServerConfig, SecretRef};

/// The servers that this agent can take. One that it cannot, or whose program is not there, is left out and
/// told of in the log: the agent may do without.
pub(super) fn offered(
    agent: &str,
    servers: &IndexMap<String, McpServerConfig>,
    about: &About,
) -> Vec<Value> {
    let offers = servers.iter().map(|(name, config)| match &config.url {
        Some(_) if !about.takes_mcp_over_http => {
            Err((name, "the agent takes no MCP servers over HTTP".to_owned()))
        }
        Some(url) => Ok(at_address(name, url.url().as_str(), config.bearer.as_ref())),
        None => program(name, config).map_err(|reason| (name, reason)),
    });
    let offered = offers.filter_map(|offer| {
        offer
            .inspect_err(|(server, reason)| {
                tracing::warn!(
                    agent,
                    server,
                    reason,
                    "the agent goes without an MCP server"
                );
            })
            .ok()
    });
    offered.collect()
}

fn at_address(name: &str, url: &str, bearer: Option<&SecretRef>) -> Value {
    let token = bearer.and_then(SecretRef::secret);
    let headers: Vec<_> = token
        .iter()
        .map(|it| json!({ "name": "Authorization", "value": format!("Bearer {}", it.expose()) }))
        .collect();
    json!({ "type": "http", "name": name, "url": url, "headers": headers })
}

fn program(name: &str, config: &McpServerConfig) -> Result<Value, String> {
    let environment = config.program.environment();
    let cwd = config.program.cwd.as_deref().unwrap_or(Path::new("."));
    let cwd = std::path::absolute(cwd).map_err(|error| format!("{}: {error}", cwd.display()))?;
    // The agent looks programs up in a PATH of its own.
    let program = find_program(&config.command, &cwd, &environment)?;
    let variables: Vec<_> = environment
        .iter()
        .filter_map(|(name, value)| {
            Some(json!({ "name": name.to_str()?, "value": value.to_str()? }))
        })
        .collect();
    Ok(json!({
        "name": name,
        "command": program.to_string_lossy(),
        "args": config.command[1..],
        "env": variables,
    }))
}
