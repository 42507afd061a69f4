//! From a reference to a card: an address with all the places where the card may lie, or a file
//! (specification 8.2). Every try is kept, so that a failure can be understood.
//!
//! Which places there are stands in `places`, how one is fetched in `fetch`.

mod fetch;
mod places;

use std::fmt;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use nuncio_wire::AgentCard;
use nuncio_wire::dialects::{CardGeneration, read_card};
use url::Url;

use crate::credentials::Credentials;
use crate::error::{ClientError, ClientErrorKind, plain};
use crate::http_client::HttpClient;
use crate::limits::MAX_CARD_BYTES;
use crate::origin::Origin;

pub use places::{address_of, places};

/// A card and where it came from.
#[derive(Clone, Debug)]
pub struct Discovered {
    /// The card in today's form.
    pub card: AgentCard,
    /// The form it had.
    pub generation: CardGeneration,
    /// The bytes it came in: signatures cover these, not what was understood of them.
    pub received: Bytes,
    /// Where it was found.
    pub source: CardSource,
    /// Every place that was tried, in order, the successful one last.
    pub attempts: Vec<Attempt>,
}

/// Where a card was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CardSource {
    /// At this address, after redirects.
    Url(Url),
    /// In this file.
    File(PathBuf),
}

impl Discovered {
    /// The address the card came from, if from the network.
    #[must_use]
    pub fn url(&self) -> Option<&Url> {
        match &self.source {
            CardSource::Url(url) => Some(url),
            CardSource::File(_) => None,
        }
    }

    /// The origins it speaks for: where it came from, or, from a file, those it names.
    #[must_use]
    pub fn origins(&self) -> Vec<Origin> {
        match self.url() {
            Some(url) => Origin::of(url).into_iter().collect(),
            None => self.named_origins(),
        }
    }

    /// Origins that every interface of the card names. A card from a file is the operator's own
    /// word, so these may be called; a card from the network may only name its own origin.
    #[must_use]
    pub fn named_origins(&self) -> Vec<Origin> {
        let urls = self
            .card
            .supported_interfaces
            .iter()
            .filter_map(|it| Url::parse(&it.url).ok());
        urls.filter_map(|url| Origin::of(&url)).collect()
    }
}

/// One try to fetch a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The place.
    pub place: String,
    /// What came of it.
    pub outcome: String,
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.outcome)
    }
}

/// No card, with every try.
#[derive(Clone, Debug)]
pub struct DiscoverError {
    /// Why, for people and programs.
    pub error: ClientError,
    /// Every place that was tried, in order.
    pub attempts: Vec<Attempt>,
}

impl From<DiscoverError> for ClientError {
    fn from(failure: DiscoverError) -> Self {
        failure.error
    }
}

/// Looks for the card of the agent at `address`, in every place of [`places`].
///
/// Credentials are shown only where the server asks for them with 401, and only to the origins they
/// were set for.
///
/// # Errors
/// CardNotFound, CardInvalid, Unreachable, or a refusal, with every try.
pub async fn discover(
    http: &HttpClient,
    address: &Url,
    credentials: &Credentials,
) -> Result<Discovered, DiscoverError> {
    let mut attempts = Vec::new();
    let mut worst: Option<ClientError> = None;
    for place in places(address) {
        match fetch::fetch(http, &place.url, credentials).await {
            Ok((card, generation, received, url)) => {
                attempts.push(Attempt {
                    place: shown(&place.url),
                    outcome: "found".to_owned(),
                });
                let source = CardSource::Url(url);
                return Ok(Discovered {
                    card,
                    generation,
                    received,
                    source,
                    attempts,
                });
            }
            Err(error) => {
                tracing::debug!(place = %shown(&place.url), %error, "no card here");
                attempts.push(Attempt {
                    place: shown(&place.url),
                    outcome: error.to_string(),
                });
                // Every place lies on one server: without a connection the others need no try.
                let pointless =
                    error.is_unreachable() || error.kind == ClientErrorKind::AddressRefused;
                // What is no card at an address that need not be one says nothing.
                let counts = place.must_be_a_card || error.kind != ClientErrorKind::CardInvalid;
                if counts
                    && worst
                        .as_ref()
                        .is_none_or(|known| weight(&error) > weight(known))
                {
                    worst = Some(error);
                }
                if pointless {
                    break;
                }
            }
        }
    }
    let error = match worst {
        Some(error) if error.kind != ClientErrorKind::CardNotFound => error,
        _ => not_found(address, &attempts),
    };
    Err(DiscoverError { error, attempts })
}

/// Which of several failures says most about what is wrong.
fn weight(error: &ClientError) -> u8 {
    match error.kind {
        ClientErrorKind::CardNotFound => 0,
        ClientErrorKind::CardInvalid => 3,
        ClientErrorKind::AuthFailed | ClientErrorKind::CredentialsMissing => 4,
        ClientErrorKind::Unreachable(_) | ClientErrorKind::AddressRefused => 5,
        _ => 1,
    }
}

fn not_found(address: &Url, attempts: &[Attempt]) -> ClientError {
    let tried: Vec<&str> = attempts
        .iter()
        .map(|attempt| attempt.place.as_str())
        .collect();
    let text = format!(
        "no agent card at {} (tried {})",
        shown(address),
        tried.join(", ")
    );
    ClientError::new(ClientErrorKind::CardNotFound, text)
        .with_hint("give the card's full address, or check that an A2A agent runs there")
}

/// The address without its query, which may hold a key.
fn shown(url: &Url) -> String {
    let mut shown = url.clone();
    shown.set_query(None);
    shown.set_fragment(None);
    shown.to_string()
}

/// Reads a card from a file.
///
/// # Errors
/// CardNotFound when the file cannot be read, CardInvalid when it holds no card.
pub fn read_card_file(path: &Path) -> Result<Discovered, ClientError> {
    use std::io::Read as _;
    let shown = path.display();
    let missing = |error: std::io::Error| {
        ClientError::new(
            ClientErrorKind::CardNotFound,
            format!("cannot read {shown}: {error}"),
        )
    };
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(missing)?;
    file.take(MAX_CARD_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(missing)?;
    let (card, generation) = parse_card(&bytes, &shown.to_string())?;
    let attempts = vec![Attempt {
        place: shown.to_string(),
        outcome: "found".to_owned(),
    }];
    Ok(Discovered {
        card,
        generation,
        received: bytes.into(),
        source: CardSource::File(path.to_owned()),
        attempts,
    })
}

fn parse_card(bytes: &[u8], place: &str) -> Result<(AgentCard, CardGeneration), ClientError> {
    let invalid = |what: String| {
        ClientError::new(
            ClientErrorKind::CardInvalid,
            format!("the agent card at {place} {what}"),
        )
    };
    if bytes.len() > MAX_CARD_BYTES {
        return Err(invalid(format!(
            "is larger than {} KiB",
            MAX_CARD_BYTES / 1024
        )));
    }
    let (card, generation) = read_card(bytes)
        .map_err(|error| invalid(format!("cannot be read: {}", plain(&error.to_string()))))?;
    if card.name.is_empty() || card.supported_interfaces.is_empty() {
        return Err(invalid("lacks a name or an interface to call".to_owned()));
    }
    Ok((card, generation))
}
