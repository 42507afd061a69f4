//! Lays the `A2A_*` variables over the configuration of the file.
//!
//! A variable without a key warns when it is set, so that nobody relies on it unheard. Which
//! variables there are stands in `variables`.

mod variables;

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use indexmap::IndexMap;
use nuncio_gateway::config::{
    AgentConfig, BackendConfig, Config, ConfigError, ConfigErrors, Duration, ProviderConfig,
    Secret, SecretRef, WebUrl,
};

pub(crate) use self::variables::{Effect, Key, VARIABLES, Variable};

use super::Env;

/// What the environment did to a configuration.
pub(crate) struct Applied {
    /// Dotted key -> the variable that set it.
    pub(crate) origins: HashMap<String, String>,
    /// Variables that are set and do nothing.
    pub(crate) warnings: Vec<ConfigError>,
}

/// Lays the variables over `config`.
///
/// # Errors
///
/// Values that do not fit their key, and variables that contradict each other, by name.
pub(crate) fn apply(config: &mut Config, env: Env<'_>) -> Result<Applied, ConfigErrors> {
    let mut applied = Applied {
        origins: HashMap::new(),
        warnings: Vec::new(),
    };
    let mut values: IndexMap<Key, (&str, String)> = IndexMap::new();
    let mut errors = Vec::new();
    for Variable { name, effect } in VARIABLES {
        let Some(value) = env(name).filter(|value| !value.trim().is_empty()) else {
            continue;
        };
        match effect {
            Effect::None(why) => {
                applied.warnings.push(ConfigError::new(format!(
                    "{name} is set and ignored: {why}"
                )));
            }
            Effect::Sets(key, _) => {
                // `false` asks for nothing that would not be so anyway.
                if matches!(*name, "A2A_ALLOW_ALL_USERS" | "A2A_REQUIRE_AUTH") {
                    match flag(&value) {
                        Ok(true) => {}
                        Ok(false) => continue,
                        Err(error) => {
                            errors.push(ConfigError::new(format!("{name}: {error}")));
                            continue;
                        }
                    }
                }
                match values.insert(*key, (name, value.clone())) {
                    Some((other, before)) if before != value => {
                        let message = format!("{other} and {name} contradict each other");
                        errors.push(ConfigError::new(message).with_hint("set only one of them"));
                    }
                    _ => {}
                }
            }
        }
    }
    for (key, (name, value)) in &values {
        match set(config, *key, name, value.trim()) {
            Ok(()) => {
                let first = config.default_agent().map_or("", |(first, _)| first);
                let path = key.path().replace("FIRST", first);
                applied.origins.insert(path, (*name).to_owned());
            }
            Err(error) => errors.push(ConfigError::new(format!("{name}: {error}"))),
        }
    }
    if let Err(error) = set_provider(config, &values) {
        errors.push(ConfigError::new(error));
    }
    if errors.is_empty() {
        Ok(applied)
    } else {
        Err(ConfigErrors(errors))
    }
}

fn set(config: &mut Config, key: Key, name: &str, value: &str) -> Result<(), String> {
    match key {
        Key::ListenHost => {
            let ip = if value == "localhost" {
                IpAddr::V4(Ipv4Addr::LOCALHOST)
            } else {
                let bare = value.trim_start_matches('[').trim_end_matches(']');
                bare.parse()
                    .map_err(|_| format!("`{value}` is not an IP address"))?
            };
            let port = first_listen(config).port();
            config.server.listen = vec![SocketAddr::new(ip, port)];
        }
        Key::ListenPort => {
            let port = value
                .parse()
                .map_err(|_| format!("`{value}` is not a port"))?;
            config.server.listen = vec![SocketAddr::new(first_listen(config).ip(), port)];
        }
        Key::PublicUrl => config.server.public_url = Some(value.parse()?),
        Key::BearerToken => {
            config.security.bearer_token = Some(SecretRef::given(Secret::new(value), name));
        }
        Key::PushSecret => config.push.secret = Some(SecretRef::given(Secret::new(value), name)),
        Key::FleetWebhooks => {
            config.push.fleet_key = Some(SecretRef::given(Secret::new(value), name))
        }
        Key::PeerTokens => config.security.peer_tokens = peer_tokens(value, name)?,
        // Only set when true: everybody with a credential is trusted.
        Key::TrustedPeers if name == "A2A_ALLOW_ALL_USERS" => config.security.trusted_peers.clear(),
        Key::TrustedPeers => {
            config.security.trusted_peers = items(value).map(str::to_owned).collect();
        }
        Key::RequireToken => {
            let from_env = ["A2A_BEARER_TOKEN", "A2A_AUTH_TOKEN", "A2A_PEER_TOKENS"].join(", ");
            if !config.has_credentials() {
                return Err(format!("there is no token: set one of {from_env}"));
            }
        }
        Key::AgentName => default_agent(config).name = Some(value.to_owned()),
        Key::AgentDescription => default_agent(config).description = Some(value.to_owned()),
        Key::TurnTimeout => {
            let seconds: u64 = value
                .parse()
                .map_err(|_| format!("`{value}` is not a number of seconds"))?;
            for agent in config.agents.values_mut() {
                if let BackendConfig::Command(command) = &mut agent.backend {
                    command.turn_timeout = Duration::from_secs(seconds);
                }
            }
        }
        // The two make one value: see `set_provider`.
        Key::ProviderOrganization | Key::ProviderUrl => {}
    }
    Ok(())
}

fn set_provider(config: &mut Config, values: &IndexMap<Key, (&str, String)>) -> Result<(), String> {
    let of = |key: Key| values.get(&key).map(|(_, value)| value.trim());
    let (organization, url) = (of(Key::ProviderOrganization), of(Key::ProviderUrl));
    if organization.is_none() && url.is_none() {
        return Ok(());
    }
    let before = default_agent(config).provider.clone();
    let organization = organization
        .map(str::to_owned)
        .or_else(|| {
            before
                .as_ref()
                .map(|provider| provider.organization.clone())
        })
        .ok_or("A2A_PROVIDER_URL needs A2A_PROVIDER_ORG beside it")?;
    let url: WebUrl = match url {
        Some(url) => url
            .parse()
            .map_err(|error| format!("A2A_PROVIDER_URL: {error}"))?,
        None => before
            .map(|provider| provider.url)
            .or_else(|| config.server.public_url.clone())
            .ok_or("A2A_PROVIDER_ORG needs A2A_PROVIDER_URL beside it")?,
    };
    default_agent(config).provider = Some(ProviderConfig { organization, url });
    Ok(())
}

fn default_agent(config: &mut Config) -> &mut AgentConfig {
    config
        .agents
        .values_mut()
        .next()
        .expect("the built-in agent stands in where none is set")
}

fn first_listen(config: &Config) -> SocketAddr {
    config.server.listen.first().copied().unwrap_or_else(|| {
        let default = nuncio_gateway::config::DEFAULT_LISTEN;
        default.parse().expect("the default is an address")
    })
}

fn peer_tokens(value: &str, variable: &str) -> Result<IndexMap<String, SecretRef>, String> {
    let mut tokens = IndexMap::new();
    for item in items(value) {
        // The item may be a token: it is not repeated.
        let (name, token) = item
            .split_once(':')
            .filter(|(name, token)| !name.trim().is_empty() && !token.trim().is_empty())
            .ok_or("write NAME:TOKEN for each caller, with commas between them")?;
        let secret = SecretRef::given(Secret::new(token.trim()), variable);
        if tokens.insert(name.trim().to_owned(), secret).is_some() {
            return Err(format!("`{}` is there twice", name.trim()));
        }
    }
    Ok(tokens)
}

fn items(value: &str) -> impl Iterator<Item = &str> {
    value
        .split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
}

fn flag(value: &str) -> Result<bool, String> {
    match value.trim().to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Ok(true),
        "false" | "0" | "no" | "off" => Ok(false),
        _ => Err("must be true or false".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nuncio_gateway::config::{CommandConfig, EchoConfig};

    fn base() -> Config {
        let mut config = Config::default();
        let echo = AgentConfig::new(BackendConfig::Echo(EchoConfig {}));
        config.agents.insert("first".to_owned(), echo);
        let command = BackendConfig::Command(CommandConfig::new(vec!["cat".to_owned()]));
        config
            .agents
            .insert("second".to_owned(), AgentConfig::new(command));
        config
    }

    fn with(vars: &[(&str, &str)]) -> Result<(Config, Applied), String> {
        let env = |name: &str| {
            vars.iter()
                .find(|(n, _)| *n == name)
                .map(|(_, v)| (*v).to_owned())
        };
        let mut config = base();
        let applied = apply(&mut config, &env).map_err(|errors| errors.to_string())?;
        Ok((config, applied))
    }

    fn refused(vars: &[(&str, &str)]) -> String {
        with(vars).err().expect("refused")
    }

    #[test]
    fn the_table_is_in_order_and_has_no_doubles() {
        assert!(VARIABLES.is_sorted_by(|a, b| a.name < b.name));
    }

    #[test]
    fn host_and_port_make_one_address() {
        let listen = |vars: &[(&str, &str)]| with(vars).unwrap().0.server.listen[0].to_string();
        assert_eq!(listen(&[("A2A_HOST", "0.0.0.0")]), "0.0.0.0:8081");
        assert_eq!(listen(&[("A2A_PORT", "9900")]), "127.0.0.1:9900");
        assert_eq!(listen(&[("A2A_HOST", "::1"), ("A2A_PORT", "1")]), "[::1]:1");
        assert_eq!(listen(&[("A2A_HOST", "localhost")]), "127.0.0.1:8081");
        assert!(refused(&[("A2A_PORT", "70000")]).contains("A2A_PORT: `70000` is not a port"));
        assert!(refused(&[("A2A_HOST", "example.org")]).contains("is not an IP address"));
    }

    #[test]
    fn tokens_are_taken_and_never_shown() {
        let (config, _) = with(&[("A2A_PEER_TOKENS", "alice:hunter2, bob:swordfish:x,")]).unwrap();
        let tokens = &config.security.peer_tokens;
        assert_eq!(tokens["alice"].secret().unwrap().expose(), "hunter2");
        assert_eq!(tokens["bob"].secret().unwrap().expose(), "swordfish:x");
        assert!(!format!("{config:?}").contains("hunter2"));
        let error = refused(&[("A2A_PEER_TOKENS", "hunter2")]);
        assert!(
            error.contains("NAME:TOKEN") && !error.contains("hunter2"),
            "{error}"
        );
    }

    #[test]
    fn the_key_of_the_fleets_webhooks_is_taken() {
        let (config, applied) = with(&[("A2A_HMAC_KEY", "hunter2")]).unwrap();
        let key = config.push.fleet_key.as_ref().unwrap();
        assert_eq!(key.secret().unwrap().expose(), "hunter2");
        assert_eq!(applied.origins["push.fleet_key"], "A2A_HMAC_KEY");
        assert!(!format!("{config:?}").contains("hunter2"));
    }

    #[test]
    fn contradictions_name_both() {
        let error = refused(&[("A2A_AUTH_TOKEN", "a"), ("A2A_BEARER_TOKEN", "b")]);
        assert!(
            error.contains("A2A_AUTH_TOKEN and A2A_BEARER_TOKEN contradict"),
            "{error}"
        );
        assert!(with(&[("A2A_AUTH_TOKEN", "a"), ("A2A_BEARER_TOKEN", "a")]).is_ok());
        let error = refused(&[
            ("A2A_ALLOW_ALL_USERS", "true"),
            ("A2A_TRUSTED_PEERS", "bob"),
        ]);
        assert!(
            error.contains("A2A_ALLOW_ALL_USERS and A2A_TRUSTED_PEERS"),
            "{error}"
        );
        assert!(with(&[("A2A_ALLOW_ALL_USERS", "no"), ("A2A_TRUSTED_PEERS", "bob")]).is_ok());
    }

    #[test]
    fn the_default_agent_takes_name_and_provider() {
        let (config, applied) = with(&[
            ("A2A_AGENT_NAME", "Scout"),
            ("A2A_AGENT_DESCRIPTION", "Looks around"),
            ("A2A_PROVIDER_ORG", "Us"),
            ("A2A_PROVIDER_URL", "https://us.example"),
        ])
        .unwrap();
        let first = &config.agents["first"];
        assert_eq!(first.name.as_deref(), Some("Scout"));
        assert_eq!(first.description.as_deref(), Some("Looks around"));
        assert_eq!(first.provider.as_ref().unwrap().organization, "Us");
        assert_eq!(config.agents["second"].name, None);
        assert_eq!(applied.origins["agents.first.name"], "A2A_AGENT_NAME");
        assert!(refused(&[("A2A_PROVIDER_ORG", "Us")]).contains("A2A_PROVIDER_URL"));
    }

    #[test]
    fn reply_timeout_bounds_the_turns_of_programs() {
        let (config, _) = with(&[("A2A_REPLY_TIMEOUT", "300")]).unwrap();
        let BackendConfig::Command(command) = &config.agents["second"].backend else {
            panic!()
        };
        assert_eq!(command.turn_timeout, Duration::from_secs(300));
    }

    #[test]
    fn a_required_token_must_be_there() {
        assert!(refused(&[("A2A_REQUIRE_AUTH", "true")]).contains("there is no token"));
        assert!(with(&[("A2A_REQUIRE_AUTH", "true"), ("A2A_AUTH_TOKEN", "t")]).is_ok());
        assert!(with(&[("A2A_REQUIRE_AUTH", "false")]).is_ok());
        assert!(refused(&[("A2A_REQUIRE_AUTH", "perhaps")]).contains("true or false"));
    }

    #[test]
    fn variables_without_a_key_warn_and_empty_ones_count_as_absent() {
        let (_, applied) = with(&[("A2A_RATE_LIMIT", "60"), ("A2A_EXTENSIONS", "")]).unwrap();
        assert_eq!(applied.warnings.len(), 1);
        assert!(
            applied.warnings[0]
                .message
                .starts_with("A2A_RATE_LIMIT is set and ignored")
        );
        assert_eq!(
            with(&[("A2A_PORT", " ")]).unwrap().0.server.listen[0].port(),
            8081
        );
    }
}
