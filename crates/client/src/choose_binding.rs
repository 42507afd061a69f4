//! Which of a card's interfaces is called, in which order the others follow, and which are refused
//! (specification 5.2, 8.3.2; a2a-cli specification 13.1, 13.2). Sends nothing.

use std::fmt;
use std::str::FromStr;

use nuncio_wire::dialects::{CardGeneration, Dialect, hermes_fleet, openfang};
use nuncio_wire::{AgentCard, AgentInterface, Version};
use url::Url;

use crate::error::{ClientError, ClientErrorKind};
use crate::origin::Origin;

/// How operations are put on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binding {
    /// JSON-RPC over HTTP.
    JsonRpc,
    /// gRPC.
    Grpc,
    /// HTTP and JSON with a path per operation.
    Rest,
}

impl Binding {
    /// The name that cards use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::JsonRpc => "JSONRPC",
            Self::Grpc => "GRPC",
            Self::Rest => "HTTP+JSON",
        }
    }
}

impl fmt::Display for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The word names no binding.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown transport '{0}': use jsonrpc, grpc or rest")]
pub struct UnknownBinding(String);

/// Takes the names of cards and the short ones of the command line, in any case.
impl FromStr for Binding {
    type Err = UnknownBinding;

    fn from_str(word: &str) -> Result<Self, UnknownBinding> {
        match word.trim().to_ascii_lowercase().as_str() {
            "jsonrpc" | "json-rpc" => Ok(Self::JsonRpc),
            "grpc" => Ok(Self::Grpc),
            "rest" | "http+json" | "http-json" | "http_json" => Ok(Self::Rest),
            _ => Err(UnknownBinding(crate::plain(word))),
        }
    }
}

/// Which protocol versions the caller accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VersionWish {
    /// 1.x and nothing below: older versions need somebody's word.
    #[default]
    Current,
    /// Whatever the card offers, the newest first.
    Any,
    /// Exactly this one, announced on every request.
    Exactly(Version),
    /// The dialect of April 2025, which names no version.
    Legacy,
    /// The dialect of the Hermes fleet plugin, whose cards say 1.0.
    Fleet,
}

/// What the caller wants of the choice.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    /// Bindings, most wanted first; what the card lacks is skipped.
    pub bindings: Vec<Binding>,
    /// Protocol version.
    pub version: VersionWish,
    /// Origins that may be called. A card cannot add to them.
    pub origins: Vec<Origin>,
}

/// An address to call and how to speak there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Used exactly as the card has it.
    pub url: Url,
    /// How operations are put on the wire.
    pub binding: Binding,
    /// Which JSON is spoken.
    pub dialect: Dialect,
    /// Sent as `A2A-Version`.
    pub version: Version,
    /// Copied into every request.
    pub tenant: Option<String>,
    /// Where OpenFang's own REST interface would be, for cards that look like its.
    pub openfang: Option<Url>,
}

/// The interfaces of a card that can be called, the most wanted first. `card_url` is where the card
/// came from, if from the network.
///
/// # Errors
/// [`ClientErrorKind::NoInterface`] or [`ClientErrorKind::AddressRefused`], with what each
/// interface lacks.
pub fn choose(
    card: &AgentCard,
    generation: CardGeneration,
    card_url: Option<&Url>,
    wish: &Wish,
) -> Result<Vec<Endpoint>, ClientError> {
    let mut chosen = Vec::new();
    let mut reasons = Vec::new();
    for interface in &card.supported_interfaces {
        match endpoint(interface, generation, card_url, wish) {
            Ok(mut endpoint) => {
                endpoint.openfang = openfang_base(card, &endpoint, card_url);
                let callable = endpoint.openfang.as_ref().unwrap_or(&endpoint.url);
                match check_origin(callable, &wish.origins) {
                    Ok(()) => chosen.push((
                        rank(&endpoint, &offer(interface, generation), wish),
                        endpoint,
                    )),
                    Err(reason) => reasons.push(reason),
                }
            }
            Err(reason) => reasons.push(reason),
        }
    }
    if chosen.is_empty() {
        return Err(explain(card, reasons));
    }
    chosen.sort_by_key(|(rank, _)| *rank);
    Ok(chosen.into_iter().map(|(_, endpoint)| endpoint).collect())
}

/// Why an interface is not called.
enum Unfit {
    Binding(String),
    Version(String),
    Address(String),
    OtherOrigin(Origin),
}

fn endpoint(
    interface: &AgentInterface,
    generation: CardGeneration,
    card_url: Option<&Url>,
    wish: &Wish,
) -> Result<Endpoint, Unfit> {
    let binding = interface.protocol_binding.as_str();
    let binding: Binding = binding
        .parse()
        .map_err(|_| Unfit::Binding(crate::plain(binding)))?;
    let (version, dialect) = speech(interface, generation, wish.version)?;
    let parsed = match binding {
        Binding::Grpc => grpc_url(&interface.url, card_url),
        Binding::JsonRpc | Binding::Rest => Url::parse(&interface.url),
    };
    let url = parsed
        .map_err(|error| Unfit::Address(format!("{}: {error}", crate::plain(&interface.url))))?;
    Ok(Endpoint {
        url,
        binding,
        dialect,
        version,
        tenant: interface.tenant.clone(),
        openfang: None,
    })
}

/// The address of a gRPC interface, which is `host:port` (specification 10): with TLS if its card
/// came over TLS or the port says so; a card from elsewhere means TLS but for this machine itself.
/// Older cards name the scheme.
fn grpc_url(address: &str, card_url: Option<&Url>) -> Result<Url, url::ParseError> {
    if address.contains("://") {
        return Url::parse(address);
    }
    let plain = Url::parse(&format!("http://{address}"))?;
    let by_card = card_url.map(|url| url.scheme() == "https");
    let is_local = match plain.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    };
    if address.ends_with(":443") || by_card.unwrap_or(!is_local) {
        return Url::parse(&format!("https://{address}"));
    }
    Ok(plain)
}

/// What an interface speaks.
enum Offer {
    Version(Version),
    Legacy,
    Fleet,
}

/// Version and dialect for an interface, if the wish allows any.
fn speech(
    interface: &AgentInterface,
    generation: CardGeneration,
    wish: VersionWish,
) -> Result<(Version, Dialect), Unfit> {
    let unfit = || Err(Unfit::Version(interface.protocol_version.clone()));
    // The 2025-04 dialect has no version to announce; what is below 1.0 is 0.3 to everybody else.
    let legacy = Ok((Version::V0_3, Dialect::Legacy));
    match (offer(interface, generation), wish) {
        (Offer::Version(offered), VersionWish::Current | VersionWish::Any)
            if offered.major == 1 =>
        {
            Ok((Version::V1_0, Dialect::V1))
        }
        (Offer::Version(offered), VersionWish::Any) if offered.major == 0 => {
            Ok((offered, Dialect::V0_3))
        }
        (Offer::Fleet, VersionWish::Any | VersionWish::Fleet) => {
            Ok((Version::V1_0, Dialect::Fleet))
        }
        (Offer::Legacy, VersionWish::Any | VersionWish::Legacy) => legacy,
        (Offer::Legacy, VersionWish::Exactly(version)) if version.major == 0 => legacy,
        (Offer::Version(offered), VersionWish::Legacy)
            if offered.major == 0 && generation != CardGeneration::V1 =>
        {
            legacy
        }
        // A version on a card may be old: the caller's word counts.
        (Offer::Version(_), VersionWish::Exactly(version)) if version.major == 0 => {
            Ok((version, Dialect::V0_3))
        }
        (Offer::Version(_), VersionWish::Exactly(version)) => Ok((version, Dialect::V1)),
        _ => unfit(),
    }
}

/// The version an interface names; what a card of its generation means when it names none.
fn offer(interface: &AgentInterface, generation: CardGeneration) -> Offer {
    if interface.protocol_version == openfang::PROTOCOL_VERSION {
        return Offer::Legacy;
    }
    if interface.protocol_version == hermes_fleet::PROTOCOL_VERSION {
        return Offer::Fleet;
    }
    match (interface.protocol_version.parse(), generation) {
        (Ok(version), _) => Offer::Version(version),
        (Err(_), CardGeneration::V1) => Offer::Version(Version::V1_0),
        (Err(_), CardGeneration::V0_3) => Offer::Version(Version::V0_3),
        (Err(_), CardGeneration::Legacy) => Offer::Legacy,
    }
}

/// Sort key: the caller's order of bindings, then the wished version, then the card's own order.
fn rank(endpoint: &Endpoint, offer: &Offer, wish: &Wish) -> (usize, bool) {
    let place = wish
        .bindings
        .iter()
        .position(|binding| *binding == endpoint.binding);
    let major = match offer {
        Offer::Version(version) => version.major,
        Offer::Legacy | Offer::Fleet => 0,
    };
    let other_version = match wish.version {
        VersionWish::Exactly(version) => major != version.major,
        VersionWish::Any => major == 0,
        VersionWish::Current | VersionWish::Legacy | VersionWish::Fleet => false,
    };
    (place.unwrap_or(wish.bindings.len()), other_version)
}

fn check_origin(url: &Url, allowed: &[Origin]) -> Result<(), Unfit> {
    let Some(origin) = Origin::of(url) else {
        return Err(Unfit::Address(format!(
            "{}: is not http or https",
            url.scheme()
        )));
    };
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Unfit::Address(format!(
            "{origin} carries a user name or password"
        )));
    }
    if allowed.iter().any(|it| it.covers(&origin)) {
        Ok(())
    } else {
        Err(Unfit::OtherOrigin(origin))
    }
}

/// Cards of OpenFang name an address `…/a2a` that does not exist, often with a host that only the
/// server itself knows; its REST interface lies beside its card.
fn openfang_base(card: &AgentCard, endpoint: &Endpoint, card_url: Option<&Url>) -> Option<Url> {
    if endpoint.dialect != Dialect::Legacy || !openfang::is_openfang(card) {
        return None;
    }
    // The card lies at `{base}/.well-known/agent.json`.
    card_url.and_then(|url| url.join("../a2a/").ok())
}

fn explain(card: &AgentCard, reasons: Vec<Unfit>) -> ClientError {
    let name = crate::plain(&card.name);
    if reasons.is_empty() {
        let text = format!("the card of '{name}' names no interface");
        return ClientError::new(ClientErrorKind::CardInvalid, text);
    }
    let mut hint = None;
    let mut kind = ClientErrorKind::NoInterface;
    let mut lines = Vec::new();
    for reason in reasons {
        lines.push(match reason {
            Unfit::Binding(name) => format!("the binding '{name}' is unknown"),
            Unfit::Version(version) => {
                let below = version.starts_with("0.") || version == openfang::PROTOCOL_VERSION;
                if below {
                    hint = Some(format!(
                        "to speak the older version, give --a2a-version {version}"
                    ));
                }
                if version == hermes_fleet::PROTOCOL_VERSION {
                    hint = Some(format!(
                        "to speak the dialect of a Hermes fleet, give --a2a-version {version}"
                    ));
                }
                format!("it speaks protocol version {version}")
            }
            Unfit::Address(what) => {
                kind = ClientErrorKind::AddressRefused;
                what
            }
            Unfit::OtherOrigin(origin) => {
                kind = ClientErrorKind::AddressRefused;
                hint = Some(format!(
                    "if you trust {origin} with this call, give --allow-origin {origin}"
                ));
                format!("{origin} is another origin than the card's")
            }
        });
    }
    lines.dedup();
    let text = format!(
        "no interface of '{name}' can be called: {}",
        lines.join("; ")
    );
    ClientError {
        hint,
        ..ClientError::new(kind, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nuncio_wire::dialects::read_card;

    const CARD_URL: &str = "https://h/x/.well-known/agent-card.json";

    fn chosen(card: &str, version: VersionWish) -> Result<Vec<String>, ClientError> {
        let (card, generation) = read_card(card.as_bytes()).unwrap();
        let card_url = Url::parse(CARD_URL).unwrap();
        let origins = vec![Origin::of(&card_url).unwrap()];
        let wish = Wish {
            bindings: Vec::new(),
            version,
            origins,
        };
        let endpoints = choose(&card, generation, Some(&card_url), &wish)?;
        let shown = |it: &Endpoint| {
            let at = it.openfang.as_ref().unwrap_or(&it.url);
            format!("{} {} {}", it.dialect, it.version, at.path())
        };
        Ok(endpoints.iter().map(shown).collect())
    }

    fn exactly(text: &str) -> VersionWish {
        VersionWish::Exactly(text.parse().unwrap())
    }

    const NEW: &str = r#"{"name":"n","supportedInterfaces":[{"url":"https://h/1","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}"#;
    const OLD: &str = r#"{"name":"n","protocolVersion":"0.3.0","url":"https://h/3","preferredTransport":"JSONRPC"}"#;
    const BOTH: &str = r#"{"name":"n","protocolVersion":"0.3.0","url":"https://h/3","preferredTransport":"JSONRPC","supportedInterfaces":[
        {"url":"https://h/1","protocolBinding":"JSONRPC","protocolVersion":"1.0"},
        {"url":"https://h/3","protocolBinding":"JSONRPC","protocolVersion":"0.3"}]}"#;
    const OPENFANG: &str = r#"{"name":"n","version":"0.1.0","url":"http://0.0.0.0:4200/a2a","capabilities":
        {"streaming":true,"pushNotifications":false,"stateTransitionHistory":true},"skills":[]}"#;

    #[test]
    fn the_version_is_the_newest_of_both_sides_and_older_ones_need_a_word() {
        assert_eq!(chosen(NEW, VersionWish::Current).unwrap(), ["v1 1.0 /1"]);
        assert_eq!(chosen(BOTH, VersionWish::Current).unwrap(), ["v1 1.0 /1"]);
        assert_eq!(
            chosen(BOTH, VersionWish::Any).unwrap(),
            ["v1 1.0 /1", "v0.3 0.3 /3"]
        );
        assert_eq!(chosen(BOTH, exactly("0.3")).unwrap()[0], "v0.3 0.3 /3");
        assert_eq!(chosen(OLD, VersionWish::Any).unwrap(), ["v0.3 0.3 /3"]);
        let error = chosen(OLD, VersionWish::Current).unwrap_err();
        assert_eq!(error.kind, ClientErrorKind::NoInterface);
        assert!(error.hint.unwrap().contains("--a2a-version 0.3"));
    }

    #[test]
    fn the_callers_word_on_the_version_counts_more_than_the_cards() {
        assert_eq!(chosen(NEW, exactly("1.7")).unwrap(), ["v1 1.7 /1"]);
        assert_eq!(chosen(NEW, exactly("0.3")).unwrap(), ["v0.3 0.3 /1"]);
        assert_eq!(chosen(OLD, exactly("1.0")).unwrap(), ["v1 1.0 /3"]);
        assert_eq!(chosen(OLD, VersionWish::Legacy).unwrap(), ["legacy 0.3 /3"]);
        assert!(chosen(NEW, VersionWish::Legacy).is_err());
    }

    #[test]
    fn openfang_is_called_beside_its_card() {
        for wish in [VersionWish::Any, VersionWish::Legacy, exactly("0.3")] {
            assert_eq!(chosen(OPENFANG, wish).unwrap(), ["legacy 0.3 /x/a2a/"]);
        }
        let error = chosen(OPENFANG, VersionWish::Current).unwrap_err();
        assert!(error.hint.unwrap().contains("--a2a-version 2025-04"));
    }

    #[test]
    fn a_fleet_agent_is_known_by_its_card_and_called_on_somebodys_word() {
        let card = r#"{"name":"n","agentId":"n","protocol":"a2a","protocolVersion":"1.0","url":"https://h/rpc",
            "supported_interfaces":[{"url":"https://h/rpc","protocol_binding":"http://a2a-protocol.hermes.ai","protocol_version":"1.0"}]}"#;
        for wish in [VersionWish::Any, VersionWish::Fleet] {
            assert_eq!(chosen(card, wish).unwrap(), ["fleet 1.0 /rpc"]);
        }
        for wish in [VersionWish::Current, VersionWish::Legacy, exactly("0.3")] {
            let error = chosen(card, wish).unwrap_err();
            assert!(error.hint.unwrap().contains("--a2a-version hermes-fleet"));
        }
        assert!(chosen(NEW, VersionWish::Fleet).is_err());
    }

    #[test]
    fn addresses_without_a_scheme_are_as_safe_as_their_card() {
        let url = |text: &str| Url::parse(text).unwrap();
        let (safe, plain) = (url("https://h/card"), url("http://h/card"));
        for (address, card, expected) in [
            ("h:50051", Some(&safe), "https://h:50051/"),
            ("h:50051", Some(&plain), "http://h:50051/"),
            ("h:443", Some(&plain), "https://h/"),
            ("h:50051", None, "https://h:50051/"),
            ("localhost:50051", None, "http://localhost:50051/"),
            ("[::1]:50051", None, "http://[::1]:50051/"),
            ("127.0.0.1:1", Some(&plain), "http://127.0.0.1:1/"),
            ("http://h:50051", Some(&safe), "http://h:50051/"),
        ] {
            assert_eq!(grpc_url(address, card).unwrap().as_str(), expected);
        }
        assert!(grpc_url("", None).is_err());
    }

    #[test]
    fn no_card_leads_to_another_origin() {
        for url in [
            "https://g/1",
            "http://h/1",
            "https://h:444/1",
            "https://u@h/1",
            "file:///1",
        ] {
            let error = chosen(&NEW.replace("https://h/1", url), VersionWish::Any).unwrap_err();
            assert_eq!(error.kind, ClientErrorKind::AddressRefused, "{url}");
        }
    }
}
