//! What `nuncio serve` says on standard output once it serves: where, whom, and what to try.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use nuncio_gateway::config::Config;

use crate::load_config::Loaded;

/// The text for people. Its first line holds the address, also for programs that start nuncio.
pub(crate) fn banner(loaded: &Loaded, addresses: &[SocketAddr]) -> String {
    let config = &loaded.config;
    let base = base_url(config, addresses);
    let count = config.agents.len();
    let noun = if count == 1 { "agent" } else { "agents" };
    let version = env!("CARGO_PKG_VERSION");
    let mut text = format!("nuncio {version} serves {count} {noun} at {base}\n");
    for address in addresses.iter().skip(1) {
        text.push_str(&format!("  also at {}\n", local_url(config, *address)));
    }
    for (index, (name, agent)) in config.agents.iter().enumerate() {
        let path = if index == 0 {
            String::new()
        } else {
            format!("/agents/{name}")
        };
        let about = agent.description.as_deref().unwrap_or(agent.backend.kind());
        text.push_str(&format!("\n  {name}: {about}\n"));
        text.push_str(&format!("  {base}{path}/.well-known/agent-card.json\n"));
    }
    let file = match &loaded.file {
        Some(file) => file.display().to_string(),
        None => "none (see nuncio.example.toml)".to_owned(),
    };
    text.push_str(&format!("\nConfiguration: {file}\n"));
    text.push_str(&format!("Store: {}\n", config.store.url));
    text.push_str(&format!("Data directory: {}\n", loaded.home.display()));
    let credential = if config.has_tokens() {
        " --bearer TOKEN"
    } else if config.takes_client_certificates() {
        " --client-cert FILE --client-key FILE"
    } else {
        ""
    };
    text.push_str(&format!(
        "\nTry: nuncio send -a {base}{credential} \"hello\"\n"
    ));
    text.push_str("Stop with Ctrl-C.\n");
    text
}

/// The address that people and cards use.
pub(crate) fn base_url(config: &Config, addresses: &[SocketAddr]) -> String {
    match (&config.server.public_url, addresses.first()) {
        (Some(public), _) => public.as_str().trim_end_matches('/').to_owned(),
        (None, Some(address)) => local_url(config, *address),
        (None, None) => String::new(),
    }
}

/// The address as this machine reaches it: nobody can call `0.0.0.0`.
fn local_url(config: &Config, mut address: SocketAddr) -> String {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    format!("{}://{address}", config.scheme())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_an_address_that_can_be_called() {
        let mut config = Config::default();
        let url = |config: &Config, address: &str| base_url(config, &[address.parse().unwrap()]);
        assert_eq!(url(&config, "127.0.0.1:1"), "http://127.0.0.1:1");
        assert_eq!(url(&config, "0.0.0.0:1"), "http://127.0.0.1:1");
        assert_eq!(url(&config, "[::]:1"), "http://[::1]:1");
        config.server.public_url = Some("https://agents.example.org/".parse().unwrap());
        assert_eq!(url(&config, "0.0.0.0:1"), "https://agents.example.org");
    }
}
