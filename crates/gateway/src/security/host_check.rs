//! Which `Host` and `Origin` a request may name: the guard against pages of other origins and
//! against DNS rebinding, on loopback too.

use http::uri::Authority;
use std::net::{IpAddr, SocketAddr};

use crate::config::Config;

/// The names this gateway answers to.
#[derive(Clone, Debug, Default)]
pub struct HostCheck {
    names: Vec<String>,
    any_address: bool,
}

impl HostCheck {
    /// The bound addresses, localhost, the hosts of the public URL, of agents and of the addresses they
    /// post answers to, and the configured names.
    #[must_use]
    pub fn new(config: &Config, bound: &[SocketAddr]) -> Self {
        let agents = config.agents.values();
        let hosts = agents.filter_map(|agent| agent.host.as_deref());
        let mut names = vec!["localhost".to_owned()];
        let allowed = config.server.allowed_hosts.iter().map(String::as_str);
        names.extend(allowed.chain(hosts).map(str::to_ascii_lowercase));
        if let Some(host) = config
            .server
            .public_url
            .as_ref()
            .and_then(|url| url.url().host_str())
        {
            names.push(host.to_ascii_lowercase());
        }
        let callbacks = config.agents.values().filter_map(|agent| {
            let host = agent.backend.callback_base()?.url().host_str()?;
            Some(host.to_ascii_lowercase())
        });
        names.extend(callbacks);
        names.extend(bound.iter().map(|address| address.ip().to_string()));
        // Bound to every address, it is reached under addresses it does not know; an address in
        // `Host` cannot come from rebinding, only a name can.
        let any_address = bound.iter().any(|address| address.ip().is_unspecified());
        Self { names, any_address }
    }

    /// Whether `authority` (`host` or `host:port`) is one of ours.
    #[must_use]
    pub fn allows(&self, authority: &str) -> bool {
        let Ok(authority) = authority.parse::<Authority>() else {
            return false;
        };
        if authority.as_str().contains('@') {
            return false;
        }
        let host = authority
            .host()
            .trim_start_matches('[')
            .trim_end_matches(']');
        let host = host.to_ascii_lowercase();
        let address: Option<IpAddr> = host.parse().ok();
        match address {
            Some(address) if address.is_loopback() || self.any_address => true,
            _ => self.names.contains(&host),
        }
    }

    /// Whether a page of `origin` may call: only one of our own.
    #[must_use]
    pub fn allows_origin(&self, origin: &str) -> bool {
        let authority = origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://"));
        authority.is_some_and(|authority| self.allows(authority))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_names_are_answered_to() {
        let mut config = Config::default();
        config.server.allowed_hosts = vec!["Agents.example".to_owned()];
        let check = HostCheck::new(&config, &["127.0.0.1:8081".parse().unwrap()]);
        for host in [
            "localhost",
            "LOCALHOST:8081",
            "127.0.0.1:1",
            "[::1]:8081",
            "agents.example",
        ] {
            assert!(check.allows(host), "{host}");
        }
        for host in [
            "evil.example",
            "evil.localhost",
            "10.0.0.1",
            "a@localhost",
            "",
            "x/y",
        ] {
            assert!(!check.allows(host), "{host}");
        }
        assert!(check.allows_origin("http://localhost:3000"));
        for origin in ["null", "https://evil", "file://localhost"] {
            assert!(!check.allows_origin(origin), "{origin}");
        }
    }
}
