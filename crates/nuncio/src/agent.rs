//! From a reference on the command line to a client of that agent: the address book, the card, the
//! interface, the credentials. Shared by all commands that call.

use nuncio_client::choose_binding::{Wish, choose};
use nuncio_client::discover::{Attempt, DiscoverError, discover, read_card_file};
use nuncio_client::tls::Trust;
use nuncio_client::{
    AddressPolicy, CallSettings, Client, ClientErrorKind, Credential, Credentials, Discovered,
    HttpClient, Origin, TlsSettings, VersionWish,
};
use nuncio_gateway::config::{PeerAuth, PeerProtocol};
use nuncio_wire::{AgentCard, SecurityScheme};
use url::Url;

use crate::client_settings::AgentSettings;
use crate::output::{self, CliError};
use crate::reference::Reference;

/// Where a local gateway listens when nothing else is said.
const LOCAL_GATEWAY: &str = "http://127.0.0.1:8081";

/// A card that was found, and what is needed to call the agent behind it.
pub(crate) struct Found {
    pub(crate) discovered: Discovered,
    http: HttpClient,
    credentials: Credentials,
    origins: Vec<Origin>,
    version: VersionWish,
    /// Whether a client certificate is shown.
    shows_certificate: bool,
}

/// No card, with every place that was tried.
pub(crate) struct NotFound {
    pub(crate) error: CliError,
    pub(crate) attempts: Vec<Attempt>,
}

impl<E: Into<CliError>> From<E> for NotFound {
    fn from(error: E) -> Self {
        Self {
            error: error.into(),
            attempts: Vec::new(),
        }
    }
}

/// Finds the card that the settings name.
pub(crate) async fn find_card(settings: &AgentSettings) -> Result<Found, NotFound> {
    let reference = settings.reference.as_deref().ok_or_else(no_agent)?;
    let mut target = Target::new(settings);
    match Reference::read(reference)? {
        Reference::Address(url) => target.address(url),
        Reference::File(path) => return Ok(target.file(read_card_file(&path)?)),
        Reference::Name(name) => target.peer(&name)?,
    }
    target.look_up().await
}

/// Finds the card and makes a client of its agent.
pub(crate) async fn connect(settings: &AgentSettings) -> Result<Client, CliError> {
    let found = find_card(settings).await.map_err(|missing| missing.error)?;
    found.into_client(settings)
}

impl Found {
    fn into_client(self, settings: &AgentSettings) -> Result<Client, CliError> {
        let Discovered {
            card, generation, ..
        } = &self.discovered;
        let wish = Wish {
            bindings: settings.bindings.clone(),
            version: self.version,
            origins: self.origins,
        };
        let endpoints = choose(card, *generation, self.discovered.url(), &wish)?;
        let first = &endpoints[0];
        tracing::debug!(
            url = first.url.path(), binding = %first.binding, dialect = %first.dialect,
            version = %first.version, "interface chosen"
        );
        let headers = service_headers(&settings.service_parameters);
        let missing = self.credentials.missing(card);
        let shown = self.shows_certificate && takes_certificate(card);
        if !missing.is_empty() && !shown && !carries_credential(&headers, card) {
            let name = nuncio_client::plain(&card.name);
            let text = format!("'{name}' requires a credential ({})", missing.join(", "));
            return Err(CliError::credentials_missing(text).with_hint(credential_hint(card)));
        }
        let call = CallSettings {
            credentials: self.credentials,
            headers,
            stream_silence: None,
        };
        Ok(Client::new(
            self.http,
            self.discovered.card,
            endpoints,
            call,
        )?)
    }
}

/// What is gathered before anything is fetched.
struct Target<'a> {
    settings: &'a AgentSettings,
    url: Option<Url>,
    credentials: Vec<Credential>,
    /// As the settings say, and where they say nothing, the peer's entry.
    tls: TlsSettings,
    version: VersionWish,
}

impl<'a> Target<'a> {
    fn new(settings: &'a AgentSettings) -> Self {
        let credentials = settings.credentials.clone();
        Self {
            settings,
            url: None,
            credentials,
            tls: TlsSettings {
                trust: settings.authorities.clone().unwrap_or_default(),
                identity: settings.identity.clone(),
            },
            version: settings.version,
        }
    }

    fn address(&mut self, url: Url) {
        self.url = Some(url);
    }

    /// A peer's address, its credential unless another one was given, its version likewise.
    fn peer(&mut self, name: &str) -> Result<(), CliError> {
        let found = crate::peers::find(name).map_err(|error| CliError::usage(error.to_string()))?;
        let mut peer = found.ok_or_else(|| {
            let text = format!("'{name}' is no address, no file that exists and no known peer");
            CliError::card_not_found(text).with_hint(format!(
                "give a URL, or name the agent with: nuncio peers add {name} URL"
            ))
        })?;
        self.url = Some(peer.config.url.url().clone());
        let tls = peer.tls().map_err(CliError::usage)?;
        if self.settings.authorities.is_none() {
            self.tls.trust = tls.trust;
        }
        if self.credentials.is_empty() && self.tls.identity.is_none() {
            self.tls.identity = tls.identity;
            peer.resolve().map_err(CliError::usage)?;
            self.credentials
                .extend(peer.config.auth.as_ref().and_then(PeerAuth::credential));
        }
        if self.version == VersionWish::Current {
            self.version = PeerProtocol::wish(peer.config.a2a_version);
        }
        Ok(())
    }

    async fn look_up(self) -> Result<Found, NotFound> {
        let url = self.url.as_ref().ok_or_else(no_agent)?;
        let origins: Vec<Origin> = self.origins(Origin::of(url));
        let http = self.http(Some(url));
        let credentials = self.credentials(origins.clone());
        let shows_certificate = self.tls.identity.is_some();
        match discover(&http, url, &credentials).await {
            Ok(discovered) => Ok(Found {
                discovered,
                http,
                credentials,
                origins,
                version: self.version,
                shows_certificate,
            }),
            Err(DiscoverError {
                mut error,
                attempts,
            }) => {
                // The place asked for a credential; whether one was there decides what it is.
                if error.kind == ClientErrorKind::AuthFailed && self.credentials.is_empty() {
                    error.kind = ClientErrorKind::CredentialsMissing;
                }
                Err(NotFound {
                    error: error.into(),
                    attempts,
                })
            }
        }
    }

    /// A card on disk is the operator's own word: what it names may be called.
    fn file(self, discovered: Discovered) -> Found {
        let origins = self.origins(discovered.named_origins());
        let mut policy = self.policy();
        for interface in &discovered.card.supported_interfaces {
            if let Ok(url) = Url::parse(&interface.url) {
                policy.allow(&url);
            }
        }
        let http = HttpClient::new(policy, self.tls());
        let credentials = self.credentials(origins.clone());
        Found {
            discovered,
            http,
            credentials,
            origins,
            version: self.version,
            shows_certificate: self.tls.identity.is_some(),
        }
    }

    fn origins(&self, named: impl IntoIterator<Item = Origin>) -> Vec<Origin> {
        let allowed = self.settings.allowed_origins.iter().filter_map(Origin::of);
        named.into_iter().chain(allowed).collect()
    }

    fn http(&self, url: Option<&Url>) -> HttpClient {
        let mut policy = self.policy();
        if let Some(url) = url {
            policy.allow(url);
            // Servers on a laptop mix the names of its loopback.
            if let Some(port) = url
                .port()
                .filter(|_| Origin::of(url).is_some_and(|it| it.is_loopback()))
            {
                for host in ["localhost", "127.0.0.1", "[::1]"] {
                    if let Ok(other) = Url::parse(&format!("{}://{host}:{port}", url.scheme())) {
                        policy.allow(&other);
                    }
                }
            }
        }
        HttpClient::new(policy, self.tls())
    }

    fn tls(&self) -> TlsSettings {
        let mut tls = self.tls.clone();
        if self.settings.insecure {
            tls.trust = Trust::Any;
        }
        tls
    }

    fn policy(&self) -> AddressPolicy {
        let mut policy = AddressPolicy::public_only();
        for url in &self.settings.allowed_origins {
            policy.allow(url);
        }
        policy
    }

    fn credentials(&self, origins: Vec<Origin>) -> Credentials {
        if self.settings.insecure {
            let what = if self.credentials.is_empty() {
                ""
            } else {
                ", and a credential is sent"
            };
            output::warn(&format!(
                "--insecure: the agent's TLS certificate is not verified{what}"
            ));
        }
        Credentials::new(self.credentials.clone(), origins)
    }
}

fn no_agent() -> CliError {
    CliError::usage("no agent named: give --agent-card (-a) or set A2ACLI_AGENT_CARD")
        .with_hint(format!("a gateway on this machine is -a {LOCAL_GATEWAY}"))
}

fn service_headers(parameters: &[(String, String)]) -> http::HeaderMap {
    let mut headers = http::HeaderMap::new();
    for (name, value) in parameters {
        let name = http::HeaderName::from_bytes(name.as_bytes());
        if let (Ok(name), Ok(mut value)) = (name, http::HeaderValue::from_str(value)) {
            // It may hold a credential of a scheme that we do not know.
            value.set_sensitive(true);
            headers.append(name, value);
        }
    }
    headers
}

/// Whether the service parameters hold what the card asks for.
fn carries_credential(headers: &http::HeaderMap, card: &AgentCard) -> bool {
    let api_key_header = card.security_schemes.values().any(|scheme| match scheme {
        SecurityScheme::ApiKeySecurityScheme(it) => headers.contains_key(it.name.as_str()),
        _ => false,
    });
    api_key_header || headers.contains_key(http::header::AUTHORIZATION)
}

/// Whether a client certificate alone is what the card asks for.
fn takes_certificate(card: &AgentCard) -> bool {
    let is_mtls = |name: &String| {
        let scheme = card.security_schemes.get(name);
        matches!(scheme, Some(SecurityScheme::MtlsSecurityScheme(_)))
    };
    let mut requirements = card.security_requirements.iter();
    requirements.any(|it| it.schemes.keys().all(is_mtls))
}

/// Which flag gives what the card wants.
pub(crate) fn credential_hint(card: &AgentCard) -> String {
    let required = card
        .security_requirements
        .iter()
        .flat_map(|it| it.schemes.keys());
    let mut schemes = required.filter_map(|name| card.security_schemes.get(name));
    match schemes.next() {
        Some(SecurityScheme::ApiKeySecurityScheme(_)) => "give --api-key KEY or set A2ACLI_API_KEY",
        Some(SecurityScheme::MtlsSecurityScheme(_)) => {
            "give --client-cert FILE and --client-key FILE"
        }
        _ => "give --bearer TOKEN or set A2ACLI_BEARER",
    }
    .to_owned()
}
