//! Where the other agent is and how it is called: its card, kept while it answers and fetched anew when
//! it does not.
//!
//! Calls what the operator named and the origins of that, nothing that only a card names.

use http::HeaderMap;
use indexmap::IndexMap;
use nuncio_client::choose_binding::{Wish, choose};
use nuncio_client::discover::discover;
use nuncio_client::{
    AddressPolicy, CallSettings, Client, ClientError, ClientErrorKind, Credentials, HttpClient,
    Origin, TlsSettings,
};
use nuncio_wire::AgentCard;
use std::path::Path;
use tokio::sync::Mutex;
use tokio::time::Instant;
use url::Url;

use crate::config::{PeerConfig, PeerProtocol, UpstreamConfig};

/// The way to one agent.
pub(super) struct Link {
    http: HttpClient,
    url: Url,
    credentials: Credentials,
    wish: Wish,
    /// Held while the card is fetched, so that one turn fetches it for all.
    state: Mutex<State>,
}

/// What came of looking for the agent.
#[derive(Default)]
struct State {
    /// It remembers what the agent takes.
    found: Option<Client>,
    /// The last look that found nothing: when it began, and why.
    missed: Option<(Instant, ClientError)>,
}

impl Link {
    /// The way to the agent that `config` names; `peers` are those it may name.
    ///
    /// # Errors
    /// What is missing or cannot be used.
    pub(super) fn new(
        config: &UpstreamConfig,
        peers: &IndexMap<String, PeerConfig>,
    ) -> Result<Self, String> {
        let peer = match &config.peer {
            Some(name) => {
                let peer = peers.get(name);
                Some(peer.ok_or_else(|| format!("there is no table `[peers.{name}]`"))?)
            }
            None => None,
        };
        let url = config.url.as_ref().or(peer.map(|peer| &peer.url));
        let url = url.ok_or("it needs a `url` or a `peer`")?.url().clone();
        // A credential goes nowhere but where it was set for.
        let theirs = peer.filter(|_| config.url.is_none());
        let auth = config.auth.as_ref();
        let auth = auth.or(theirs.and_then(|peer| peer.auth.as_ref()));
        let version = config.a2a_version.or(peer.and_then(|it| it.a2a_version));
        // Its paths were made absolute when the configuration was read.
        let here = Path::new("");
        let tls = peer.map(|peer| peer.tls(here)).transpose()?;
        let tls = TlsSettings {
            identity: match auth {
                Some(auth) => auth.identity(here)?,
                None => None,
            },
            ..tls.unwrap_or_default()
        };
        let mut policy = AddressPolicy::public_only();
        let allowed = config.allow_origins.iter().map(|origin| origin.url());
        let named: Vec<&Url> = std::iter::once(&url).chain(allowed).collect();
        named.iter().for_each(|url| policy.allow(url));
        let origins: Vec<Origin> = named.into_iter().filter_map(Origin::of).collect();
        let credential = auth.and_then(|auth| auth.credential());
        Ok(Self {
            http: HttpClient::new(policy, tls),
            credentials: Credentials::new(credential.into_iter().collect(), origins.clone()),
            wish: Wish {
                bindings: config.transport.map(Into::into).into_iter().collect(),
                version: PeerProtocol::wish(version),
                origins,
            },
            url,
            state: Mutex::default(),
        })
    }

    /// A client of the agent, which is looked for if it was not found yet. Those who waited for a look
    /// that found nothing share its outcome: an agent that is away is not looked for once by each.
    pub(super) async fn client(&self, headers: HeaderMap) -> Result<Client, ClientError> {
        let since = Instant::now();
        let mut state = self.state.lock().await;
        if state.found.is_none() {
            if let Some((began, error)) = &state.missed
                && *began >= since
            {
                return Err(error.clone());
            }
            let began = Instant::now();
            match self.find().await {
                Ok(found) => state.found = Some(found),
                Err(error) => {
                    state.missed = Some((began, error.clone()));
                    return Err(error);
                }
            }
        }
        let found = state.found.as_ref().expect("it was found just now");
        Ok(found.with_headers(headers))
    }

    /// Fetches the card anew.
    pub(super) async fn look_again(&self) -> Result<AgentCard, ClientError> {
        let fresh = self.find().await?;
        let card = fresh.card().clone();
        let mut state = self.state.lock().await;
        if state
            .found
            .as_ref()
            .is_none_or(|found| *found.card() != card)
        {
            state.found = Some(fresh);
        }
        Ok(card)
    }

    /// What is known of the agent is not to be relied on; false: nothing was known.
    pub(super) async fn forget(&self) -> bool {
        self.state.lock().await.found.take().is_some()
    }

    async fn find(&self) -> Result<Client, ClientError> {
        let discovered = discover(&self.http, &self.url, &self.credentials).await?;
        let card_url = discovered.url().cloned();
        let (card, generation) = (discovered.card, discovered.generation);
        let chosen = choose(&card, generation, card_url.as_ref(), &self.wish);
        let endpoints = chosen.map_err(|error| match error.kind {
            ClientErrorKind::AddressRefused => {
                let text = format!("{}; `allow_origins` may name that origin", error.message);
                ClientError::new(error.kind, text)
            }
            _ => error,
        })?;
        let settings = CallSettings {
            credentials: self.credentials.clone(),
            ..CallSettings::default()
        };
        Client::new(self.http.clone(), card, endpoints, settings)
    }
}
