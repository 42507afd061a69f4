//! The table of `A2A_*` variables: each with its key in the configuration, or why it has none.
//!
//! The names are those of the Hermes plugins. `docs/reference/environment.md` is made from it.

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
    PushSecret,
    FleetWebhooks,
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
            Key::PushSecret => "push.secret",
            Key::FleetWebhooks => "push.fleet_key",
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
    sets(
        "A2A_HMAC_KEY",
        Key::FleetWebhooks,
        "the key that callers of the fleet's dialect show in X-HMAC-Key to use push configurations",
    ),
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
    sets(
        "A2A_PUSH_SECRET",
        Key::PushSecret,
        "the key of the X-A2A-Signature header of push notifications",
    ),
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
