//! What `-a` may name: an address, a file, or a peer of the address book, told apart without asking
//! anybody.

use std::path::{Path, PathBuf};

use nuncio_client::discover::address_of;
use url::Url;

use crate::output::CliError;

/// What a reference means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reference {
    /// Somewhere on the network.
    Address(Url),
    /// A card on this machine.
    File(PathBuf),
    /// A word that may be a peer's name.
    Name(String),
}

impl Reference {
    /// Reads a reference: a URL or host, else a file that exists, else a name.
    pub(crate) fn read(text: &str) -> Result<Self, CliError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(CliError::usage("the agent's reference is empty"));
        }
        if let Some(url) = text
            .strip_prefix("file:")
            .and_then(|_| Url::parse(text).ok())
        {
            let path = url.to_file_path().map_err(|()| {
                CliError::usage(format!(
                    "'{text}' names no file; write file:///path/to/card.json"
                ))
            })?;
            return Ok(Self::File(path));
        }
        if text.contains("://") {
            return Ok(Self::Address(address_of(text)?));
        }
        let looks_like_a_file = text.starts_with(['/', '.', '~']) || text.ends_with(".json");
        if looks_like_a_file && !text.contains(':') {
            return Ok(Self::File(PathBuf::from(text)));
        }
        let host = text.split(['/', '?']).next().unwrap_or(text);
        if host.contains(['.', ':']) || host.eq_ignore_ascii_case("localhost") {
            return Ok(Self::Address(address_of(text)?));
        }
        if Path::new(text).is_file() {
            return Ok(Self::File(PathBuf::from(text)));
        }
        Ok(Self::Name(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_files_and_names_are_told_apart() {
        let address = |text: &str| Reference::Address(Url::parse(text).unwrap());
        for (text, wanted) in [
            ("https://h/a2a", address("https://h/a2a")),
            ("agents.example.org", address("https://agents.example.org/")),
            ("localhost", address("http://localhost/")),
            (
                "127.0.0.1:8081/agents/echo",
                address("http://127.0.0.1:8081/agents/echo"),
            ),
            (
                "file:///tmp/card.json",
                Reference::File("/tmp/card.json".into()),
            ),
            ("./card.json", Reference::File("./card.json".into())),
            ("card.json", Reference::File("card.json".into())),
            ("research", Reference::Name("research".into())),
        ] {
            assert_eq!(Reference::read(text).unwrap(), wanted, "{text}");
        }
        for wrong in ["", "ftp://h", "file://host/card.json"] {
            assert!(Reference::read(wrong).is_err(), "{wrong}");
        }
    }
}
