//! The `A2A_*` variables: each with its key in the configuration, or why it has none.
//!
//! Values are laid over the file's, with the names that the Hermes plugins use. A variable without
//! a key warns when it is set, so that nobody relies on it unheard. The table in
//! `docs/reference/environment.md` is made from [`VARIABLES`].

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use indexmap::IndexMap;
use nuncio_gateway::config::{
    AgentConfig, BackendConfig, Config, ConfigError, ConfigErrors, Duration, ProviderConfig,
    Secret, SecretRef, WebUrl,
};

use super::Env;

/// One variable.
pub(crate) struct Variable {
    pub(crate) name: &'static str,
    pub(crate) effect: Effect,
}

/// What setting a variable does.
pub(crate) enum Effect {
    /// Sets a key; the text says what the value means.
    Sets(Key, &'static str),
    /// Nothing; the text says why.
    None(&'static str),
}

/// A key of the configuration that variables can set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    ListenHost,
    ListenPort,
    PublicUrl,
    BearerToken,
    PeerTokens,
    TrustedPeers,
    RequireToken,
    AgentName,
    AgentDescription,
    ProviderOrganization,
    ProviderUrl,
    TurnTimeout,
}

impl Key {
    /// As it is written in `nuncio.toml`.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Key::ListenHost | Key::ListenPort => "server.listen",
            Key::PublicUrl => "server.public_url",
            Key::BearerToken => "security.bearer_token",
            Key::PeerTokens => "security.peer_tokens",
            Key::TrustedPeers => "security.trusted_peers",
            Key::RequireToken => "security",
            Key::AgentName => "agents.FIRST.name",
            Key::AgentDescription => "agents.FIRST.description",
            Key::ProviderOrganization => "agents.FIRST.provider.organization",
            Key::ProviderUrl => "agents.FIRST.provider.url",
            Key::TurnTimeout => "agents.*.turn_timeout",
        }
    }
}

const NO_RATE_LIMIT: &str = "this version does not limit the rate of requests; \
     `server.max_connections` and `agents.NAME.max_queued_turns` bound the load";
const NO_PUSH: &str = "this version sends no push notifications";
const NO_REGISTRY: &str = "this version keeps no registry of a fleet; use `nuncio peers`";
const NO_RELAY: &str = "this version relays no messages between sessions";
const NO_WAKING: &str = "nuncio runs its agents itself and wakes no gateway over a webhook";
const NO_METRICS_LOG: &str = "this version writes no metrics to its log";
const CLIENT_FLAG: &str = "client commands take `--timeout` and `--poll-interval`, or A2ACLI_TIMEOUT and \
     A2ACLI_POLL_INTERVAL";
const TELEGRAM: &str = "nuncio does not speak Telegram";

/// Every variable that the seeds' plugins read, in alphabetical order.
pub(crate) const VARIABLES: &[Variable] = &[
    none(
        "A2A_ADVERTISED_TOOLSETS",
        "no backend of this version has toolsets; list `skills` instead",
    ),
    sets(
        "A2A_AGENT_DESCRIPTION",
        Key::AgentDescription,
        "what the default agent does, for its card",
    ),
    sets(
        "A2A_AGENT_NAME",
        Key::AgentName,
        "the name on the default agent's card",
    ),
    none(
        "A2A_ALLOWED_USERS",
        "it is the user list of Hermes' own gateway; use A2A_PEER_TOKENS",
    ),
    sets(
        "A2A_ALLOW_ALL_USERS",
        Key::TrustedPeers,
        "`true`: every caller with a credential may give work",
    ),
    sets(
        "A2A_AUTH_TOKEN",
        Key::BearerToken,
        "the token that callers share",
    ),
    sets(
        "A2A_BEARER_TOKEN",
        Key::BearerToken,
        "the token that callers share",
    ),
    none(
        "A2A_CORS_ORIGINS",
        "this version lets no pages of other sites in",
    ),
    none("A2A_DEFAULT_TIMEOUT", CLIENT_FLAG),
    none(
        "A2A_EXTENSIONS",
        "cards name the extensions that nuncio supports, and no others",
    ),
    none("A2A_HMAC_KEY", NO_PUSH),
    none(
        "A2A_HOME_CHANNEL",
        "nuncio begins no conversations by itself",
    ),
    sets(
        "A2A_HOST",
        Key::ListenHost,
        "the IP address to listen on; the list of the file becomes this one address",
    ),
    none(
        "A2A_MAX_PINGPONG_TURNS",
        "this version does not count the turns of a conversation",
    ),
    none(
        "A2A_MAX_RESPONSE_SIZE",
        "client commands print answers of any length",
    ),
    none("A2A_METRICS_COMMAND_ENABLED", NO_METRICS_LOG),
    none("A2A_METRICS_LOG_ENABLED", NO_METRICS_LOG),
    none("A2A_METRICS_LOG_INTERVAL", NO_METRICS_LOG),
    none("A2A_OWNER_CHAT_ID", TELEGRAM),
    sets(
        "A2A_PEER_TOKENS",
        Key::PeerTokens,
        "a token for each caller: `alice:TOKEN,bob:TOKEN`",
    ),
    none("A2A_POLL_INTERVAL", CLIENT_FLAG),
    none("A2A_POLL_MAX_ATTEMPTS", CLIENT_FLAG),
    sets(
        "A2A_PORT",
        Key::ListenPort,
        "the port to listen on; the list of the file becomes this one address",
    ),
    none(
        "A2A_PORT_RETRY_MAX",
        "an address that moves by itself would make cards wrong",
    ),
    sets(
        "A2A_PROVIDER_ORG",
        Key::ProviderOrganization,
        "who runs the default agent, for its card",
    ),
    sets("A2A_PROVIDER_URL", Key::ProviderUrl, "their web address"),
    sets(
        "A2A_PUBLIC_URL",
        Key::PublicUrl,
        "the address that cards give",
    ),
    none("A2A_PUSH_SECRET", NO_PUSH),
    none("A2A_RATE_LIMIT", NO_RATE_LIMIT),
    none("A2A_RATE_LIMIT_BURST", NO_RATE_LIMIT),
    none("A2A_RATE_LIMIT_CLEANUP", NO_RATE_LIMIT),
    none("A2A_RATE_LIMIT_ENABLED", NO_RATE_LIMIT),
    none("A2A_RATE_LIMIT_HEADER", NO_RATE_LIMIT),
    none("A2A_RATE_LIMIT_MAX_CALLS", NO_RATE_LIMIT),
    none("A2A_RATE_LIMIT_MAX_ENTRIES", NO_RATE_LIMIT),
    none("A2A_RATE_LIMIT_REQUESTS", NO_RATE_LIMIT),
    none("A2A_RATE_LIMIT_WINDOW", NO_RATE_LIMIT),
    none("A2A_REGISTRY_AUTH_TOKEN", NO_REGISTRY),
    none("A2A_REGISTRY_URL", NO_REGISTRY),
    sets(
        "A2A_REPLY_TIMEOUT",
        Key::TurnTimeout,
        "seconds that a turn of any `command` agent may take",
    ),
    sets(
        "A2A_REQUIRE_AUTH",
        Key::RequireToken,
        "`true`: do not start without a token. With a token, every caller needs it in any case",
    ),
    sets(
        "A2A_RESPONSE_TIMEOUT",
        Key::TurnTimeout,
        "seconds that a turn of any `command` agent may take",
    ),
    none("A2A_SSE_TIMEOUT", "a stream lives as long as its task"),
    none("A2A_TELEGRAM_BOT_TOKEN", TELEGRAM),
    sets(
        "A2A_TRUSTED_PEERS",
        Key::TrustedPeers,
        "callers that may give work: `alice,bob`",
    ),
    none("A2A_VAULT_PATH", NO_REGISTRY),
    none("A2A_VENV_PYTHON", "nuncio needs no Python"),
    none("A2A_WEBHOOK_BACKOFF", NO_WAKING),
    none("A2A_WEBHOOK_DELIVERY_BACKOFF", NO_RELAY),
    none("A2A_WEBHOOK_DELIVERY_RETRIES", NO_RELAY),
    none("A2A_WEBHOOK_DELIVERY_TIMEOUT", NO_RELAY),
    none("A2A_WEBHOOK_HOST", NO_WAKING),
    none("A2A_WEBHOOK_REACHABILITY_CHECK", NO_RELAY),
    none("A2A_WEBHOOK_REACHABILITY_TIMEOUT", NO_RELAY),
    none("A2A_WEBHOOK_RETRIES", NO_WAKING),
    none("A2A_WEBHOOK_SECRET", NO_WAKING),
    none(
        "HERMES_HOME",
        "it is Hermes' own directory; nuncio's is NUNCIO_HOME",
    ),
    none("WEBHOOK_PORT", NO_WAKING),
];

const fn sets(name: &'static str, key: Key, meaning: &'static str) -> Variable {
    Variable {
        name,
        effect: Effect::Sets(key, meaning),
    }
}

const fn none(name: &'static str, why: &'static str) -> Variable {
    Variable {
        name,
        effect: Effect::None(why),
    }
}

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
        let (_, applied) = with(&[("A2A_RATE_LIMIT", "60"), ("A2A_HMAC_KEY", "")]).unwrap();
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
