//! Keys whose signatures on cards count: `trusted-keys.json` in the data directory.
//!
//! A key is bound to the origins it was trusted for and says nothing about any other. What a card
//! says of keys is never looked at; [`of_card`] gives the keys that may speak for a card.

use std::path::{Path, PathBuf};

use nuncio_client::{Discovered, Origin};
use nuncio_wire::card_signature::{PublicKey, Unverified, Verified, read_key_set, verify};
use serde::{Deserialize, Serialize};
use url::Url;

use crate::load_config::{home, process_env};
use crate::private_file;

/// The store's name in the data directory.
const FILE_NAME: &str = "trusted-keys.json";
/// 1 MiB, in bytes: room for thousands of keys.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// A key and the origin it speaks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TrustedKey {
    /// Scheme, host and port, as `https://agents.example.org`.
    pub(crate) origin: String,
    pub(crate) key: PublicKey,
}

#[derive(Default, Serialize, Deserialize)]
struct File {
    keys: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    origin: String,
    jwk: serde_json::Value,
}

/// Whether a card's signature is good by the trusted keys of its origin.
///
/// # Errors
///
/// When the store is there but cannot be read.
pub(crate) fn check(card: &Discovered) -> Result<Result<Verified, Unverified>, String> {
    Ok(verify(&card.received, &of_card(card)?))
}

/// The keys that may speak for a card: those bound to each of the origins it stands for.
fn of_card(card: &Discovered) -> Result<Vec<PublicKey>, String> {
    let origins = card.origins();
    let trusted = all(None)?;
    let speaks_for = |trusted: &TrustedKey, origin: &Origin| {
        let bound = Url::parse(&trusted.origin).ok();
        bound
            .and_then(|url| Origin::of(&url))
            .is_some_and(|bound| bound.covers(origin))
    };
    let bound_to_all = |candidate: &TrustedKey| {
        let same_key = trusted.iter().filter(|it| it.key == candidate.key);
        let same_key: Vec<_> = same_key.collect();
        !origins.is_empty()
            && origins
                .iter()
                .all(|origin| same_key.iter().any(|it| speaks_for(it, origin)))
    };
    Ok(trusted
        .iter()
        .filter(|it| bound_to_all(it))
        .map(|it| it.key.clone())
        .collect())
}

/// Every trusted key. `home` is the data directory, if a flag names one.
///
/// # Errors
///
/// A text that names the file and what is wrong with it.
pub(crate) fn all(home: Option<&Path>) -> Result<Vec<TrustedKey>, String> {
    read(&path(home)?)
}

/// Trusts keys for an origin; gives those that are new.
///
/// # Errors
///
/// A text that names the file and what is wrong with it.
pub(crate) fn add(
    home: Option<&Path>,
    origin: &Origin,
    keys: &[PublicKey],
) -> Result<Vec<TrustedKey>, String> {
    let mut added = Vec::new();
    change(home, |trusted| {
        for key in keys {
            let entry = TrustedKey {
                origin: origin.to_string(),
                key: key.clone(),
            };
            let same_id = |it: &&TrustedKey| it.origin == entry.origin && it.key.kid() == key.kid();
            match trusted.iter().find(same_id) {
                Some(known) if known.key != *key => {
                    return Err(format!(
                        "another key with the id {:?} is trusted for {origin} already: remove it first",
                        key.kid()
                    ));
                }
                Some(_) => {}
                None => {
                    trusted.push(entry.clone());
                    added.push(entry);
                }
            }
        }
        Ok(())
    })?;
    Ok(added)
}

/// Takes trust back from the keys of an origin, or from one of them; gives how many there were.
///
/// # Errors
///
/// A text that names the file and what is wrong with it.
pub(crate) fn remove(
    home: Option<&Path>,
    origin: &Origin,
    kid: Option<&str>,
) -> Result<usize, String> {
    let mut removed = 0;
    change(home, |trusted| {
        let before = trusted.len();
        let origin = origin.to_string();
        trusted.retain(|it| it.origin != origin || kid.is_some_and(|kid| it.key.kid() != kid));
        removed = before - trusted.len();
        Ok(())
    })?;
    Ok(removed)
}

/// Reads a key set that the user names.
///
/// # Errors
///
/// A text that names the file and what is wrong with it.
pub(crate) fn read_key_file(file: &Path) -> Result<Vec<PublicKey>, String> {
    let text =
        read_text(file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    read_key_set(&text).map_err(|error| format!("{}: {error}", file.display()))
}

fn path(home: Option<&Path>) -> Result<PathBuf, String> {
    let home = home::data_dir(home, &process_env).map_err(|error| error.to_string())?;
    Ok(home.join(FILE_NAME))
}

fn read_text(file: &Path) -> std::io::Result<String> {
    use std::io::Read as _;
    let mut text = String::new();
    let file = std::fs::File::open(file)?.take(MAX_FILE_BYTES);
    std::io::BufReader::new(file).read_to_string(&mut text)?;
    Ok(text)
}

fn read(file: &Path) -> Result<Vec<TrustedKey>, String> {
    let text = match read_text(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(format!("cannot read {}: {error}", file.display())),
    };
    let wrong = |what: &str| format!("{} is no list of trusted keys: {what}", file.display());
    let stored: File = serde_json::from_str(&text).map_err(|error| wrong(&error.to_string()))?;
    let keys = stored.keys.into_iter().map(|entry| {
        let key = PublicKey::from_jwk(&entry.jwk.to_string());
        Ok(TrustedKey {
            origin: entry.origin,
            key: key.map_err(|error| wrong(&error.to_string()))?,
        })
    });
    keys.collect()
}

/// Reads, changes and rewrites the store; others who want to wait for their turn.
fn change(
    home: Option<&Path>,
    with: impl FnOnce(&mut Vec<TrustedKey>) -> Result<(), String>,
) -> Result<(), String> {
    let file = path(home)?;
    let failed = |error: std::io::Error| format!("cannot write {}: {error}", file.display());
    home::create(file.parent().unwrap_or(Path::new(".")))?;
    let _lock = private_file::lock(&file).map_err(failed)?;
    let mut trusted = read(&file)?;
    with(&mut trusted)?;
    write(&file, &trusted).map_err(failed)
}

fn write(file: &Path, trusted: &[TrustedKey]) -> std::io::Result<()> {
    let keys = trusted.iter().map(|it| {
        Ok(Entry {
            origin: it.origin.clone(),
            jwk: serde_json::from_str(&it.key.to_jwk())?,
        })
    });
    let stored = File {
        keys: keys.collect::<Result<_, serde_json::Error>>()?,
    };
    let text = serde_json::to_string_pretty(&stored)?;
    private_file::replace(file, &format!("{text}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nuncio_wire::card_signature::{Algorithm, SigningKey};

    fn origin(text: &str) -> Origin {
        Origin::of(&Url::parse(text).unwrap()).unwrap()
    }

    #[test]
    fn keys_are_kept_by_origin_and_no_id_means_two_keys() {
        let dir = tempfile::tempdir().unwrap();
        let home = Some(dir.path());
        let key = || SigningKey::generate(Algorithm::EdDsa).unwrap().0;
        let (one, two) = (key(), key());
        let (a, b) = (
            origin("https://a.example"),
            origin("https://b.example:8443"),
        );
        let keys = [one.public().clone(), two.public().clone()];
        assert_eq!(add(home, &a, &keys).unwrap().len(), 2);
        assert_eq!(add(home, &a, &keys).unwrap().len(), 0);
        assert_eq!(add(home, &b, &keys[..1]).unwrap().len(), 1);
        assert_eq!(all(home).unwrap().len(), 3);
        let clash = two.public().to_jwk().replace(keys[1].kid(), keys[0].kid());
        let clash = PublicKey::from_jwk(&clash).unwrap();
        assert!(add(home, &a, &[clash]).unwrap_err().contains("remove it"));
        assert_eq!(remove(home, &a, Some(keys[0].kid())).unwrap(), 1);
        assert_eq!(remove(home, &a, None).unwrap(), 1);
        let left = all(home).unwrap();
        assert_eq!(left.len(), 1);
        assert_eq!(left[0].origin, "https://b.example:8443");
        std::fs::write(dir.path().join(FILE_NAME), "{").unwrap();
        assert!(all(home).unwrap_err().contains(FILE_NAME));
    }
}
