//! Where a card may lie, given what somebody knows of the agent (specification 8.2).

use url::Url;

use crate::error::{ClientError, ClientErrorKind, plain};
use crate::origin::Origin;

/// Where cards lie since 0.3.
const CARD_PATH: &str = ".well-known/agent-card.json";
/// Where cards lay up to 0.2, and still do for servers of the first dialect.
const OLD_CARD_PATH: &str = ".well-known/agent.json";

/// A place to look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The address to fetch.
    pub url: Url,
    /// Whether what lies there is meant to be a card, so that anything else is a fault.
    pub must_be_a_card: bool,
}

/// All places for an address, the likeliest first: the address itself when it names more than a
/// host; then the well-known paths below it; then those of its origin.
#[must_use]
pub fn places(address: &Url) -> Vec<Place> {
    let path = address.path();
    let names_a_file = path.ends_with(".json") || path.contains("/.well-known/");
    let itself = Place {
        url: address.clone(),
        must_be_a_card: names_a_file,
    };
    if names_a_file {
        return vec![itself];
    }
    let mut places = Vec::new();
    let bare = path == "/" || path.is_empty();
    if !bare {
        places.push(itself);
    }
    let below = format!("{}/", path.trim_end_matches('/'));
    let bases: &[&str] = if bare { &["/"] } else { &[&below, "/"] };
    for base in bases {
        for card_path in [CARD_PATH, OLD_CARD_PATH] {
            let mut url = address.clone();
            url.set_path(&format!("{base}{card_path}"));
            url.set_query(None);
            url.set_fragment(None);
            places.push(Place {
                url,
                must_be_a_card: true,
            });
        }
    }
    places
}

/// The address that a text such as `agents.example.org`, `localhost:8081` or a full URL means.
/// Without a scheme it is https, but http for this machine's loopback.
///
/// # Errors
/// [`ClientErrorKind::Usage`] when the text is no http or https address.
pub fn address_of(text: &str) -> Result<Url, ClientError> {
    let wrong = |why: String| {
        let text = format!("'{}' is no address of an agent: {why}", plain(text));
        ClientError::new(ClientErrorKind::Usage, text)
            .with_hint("give a URL such as https://agents.example.org or a host")
    };
    let url = if text.contains("://") {
        Url::parse(text).map_err(|error| wrong(error.to_string()))?
    } else {
        let url =
            Url::parse(&format!("http://{text}")).map_err(|error| wrong(error.to_string()))?;
        if Origin::of(&url).is_some_and(|origin| origin.is_loopback()) {
            url
        } else {
            Url::parse(&format!("https://{text}")).map_err(|error| wrong(error.to_string()))?
        }
    };
    match url.scheme() {
        "http" | "https" => Ok(url),
        scheme => Err(wrong(format!("{scheme} is neither http nor https"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(address: &str) -> Vec<String> {
        places(&Url::parse(address).unwrap())
            .into_iter()
            .map(|it| it.url.path().to_owned())
            .collect()
    }

    #[test]
    fn a_host_has_two_places_and_a_path_five() {
        let origin = ["/.well-known/agent-card.json", "/.well-known/agent.json"];
        assert_eq!(paths("https://h"), origin);
        assert_eq!(paths("https://h/"), origin);
        let below = [
            "/a2a",
            "/a2a/.well-known/agent-card.json",
            "/a2a/.well-known/agent.json",
        ];
        assert_eq!(paths("https://h/a2a"), [&below[..], &origin[..]].concat());
        assert_eq!(
            paths("https://h/a2a/")[1..],
            [&below[1..], &origin[..]].concat()
        );
    }

    #[test]
    fn a_card_address_is_its_only_place() {
        for address in [
            "https://h/cards/one.json?v=2",
            "https://h/.well-known/agent-card",
        ] {
            assert_eq!(paths(address).len(), 1, "{address}");
        }
        assert_eq!(
            places(&Url::parse("https://h/c.json?v=2").unwrap())[0]
                .url
                .query(),
            Some("v=2")
        );
    }

    #[test]
    fn a_bare_host_is_https_unless_it_is_this_machine() {
        for (text, url) in [
            ("h.example", "https://h.example/"),
            ("h.example/a2a", "https://h.example/a2a"),
            ("localhost:8081", "http://localhost:8081/"),
            (
                "127.0.0.1:8081/agents/echo",
                "http://127.0.0.1:8081/agents/echo",
            ),
            ("[::1]:8081", "http://[::1]:8081/"),
            ("http://h.example", "http://h.example/"),
        ] {
            assert_eq!(address_of(text).unwrap().as_str(), url);
        }
        for wrong in ["ftp://h", "http://", "h h"] {
            assert!(address_of(wrong).is_err(), "{wrong}");
        }
    }
}
