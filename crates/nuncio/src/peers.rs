//! The address book: `peers.toml` in the data directory, beside `[peers]` of `nuncio.toml`.
//!
//! The book has the form of `nuncio.toml`, so that entries can be moved by hand. Where both name a
//! peer, `nuncio.toml` counts. Commands that call agents look names up with [`find`].

use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use nuncio_client::TlsSettings;
use nuncio_gateway::config::{ConfigError, ConfigErrors, PeerAuth, PeerConfig, check_name, parse};
use serde::Serialize;

use crate::load_config::{Env, find_file, home, process_env};
use crate::private_file;

/// The address book's name in the data directory.
const FILE_NAME: &str = "peers.toml";

/// An agent elsewhere, as it was looked up.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) name: String,
    pub(crate) config: PeerConfig,
    /// The file it stands in.
    pub(crate) file: PathBuf,
    /// Whether it stands in the address book, where commands may change it.
    pub(crate) in_book: bool,
}

impl Peer {
    /// How handshakes with it go, as its entry says.
    ///
    /// # Errors
    ///
    /// A text that names the peer and what is wrong with which file.
    pub(crate) fn tls(&self) -> Result<TlsSettings, String> {
        let tls = self.config.tls(self.base());
        tls.map_err(|error| format!("the peer `{}`: {error}", self.name))
    }

    /// Follows the references to secrets in its credential; call it before the credential is used.
    ///
    /// # Errors
    ///
    /// A text that names the peer and what to do.
    pub(crate) fn resolve(&mut self) -> Result<(), String> {
        let base = self.base().to_owned();
        match self.config.auth.as_mut().and_then(PeerAuth::secret_mut) {
            Some(secret) => secret
                .resolve(&process_env, &base)
                .map_err(|error| format!("the credential of the peer `{}`: {error}", self.name)),
            None => Ok(()),
        }
    }

    /// Where relative paths of its entry are meant from.
    fn base(&self) -> &Path {
        self.file.parent().unwrap_or(Path::new("."))
    }
}

/// The peer of that name, in `nuncio.toml` or the address book.
///
/// # Errors
///
/// When one of the two files is there but cannot be read.
pub(crate) fn find(name: &str) -> Result<Option<Peer>, ConfigErrors> {
    let peers = all(None)?;
    Ok(peers.into_iter().find(|peer| peer.name == name))
}

/// Every peer, those of `nuncio.toml` first. `home` is the data directory, if a flag names one.
///
/// # Errors
///
/// As [`find`].
pub(crate) fn all(home: Option<&Path>) -> Result<Vec<Peer>, ConfigErrors> {
    all_in(home, &process_env)
}

fn all_in(home: Option<&Path>, env: Env<'_>) -> Result<Vec<Peer>, ConfigErrors> {
    let home = home::data_dir(home, env)?;
    let mut peers: Vec<Peer> = Vec::new();
    let book = home.join(FILE_NAME);
    let config = find_file(None, &home, env);
    for (file, in_book) in config
        .into_iter()
        .map(|file| (file, false))
        .chain([(book, true)])
    {
        for (name, config) in read(&file)? {
            if !peers.iter().any(|peer| peer.name == name) {
                peers.push(Peer {
                    name,
                    config,
                    file: file.clone(),
                    in_book,
                });
            }
        }
    }
    Ok(peers)
}

/// Writes a peer into the address book. `replace` allows that it is there already.
///
/// # Errors
///
/// A bad or taken name, or a book that cannot be read or written.
pub(crate) fn add(
    home: Option<&Path>,
    name: &str,
    peer: PeerConfig,
    replace: bool,
) -> Result<(), ConfigErrors> {
    check_name(name).map_err(ConfigError::new)?;
    let home = home::data_dir(home, &process_env)?;
    if let Some(config) = find_file(None, &home, &process_env)
        && read(&config)?.contains_key(name)
    {
        let shown = config.display();
        let error = ConfigError::new(format!("`{name}` is a peer in {shown} already"));
        return Err(error
            .with_hint("change it there, or take another name")
            .into());
    }
    change(&home, |peers| {
        if peers.insert(name.to_owned(), peer).is_some() && !replace {
            let error = ConfigError::new(format!("there is a peer `{name}` already"));
            return Err(error
                .with_hint("take another name, or replace it with --replace")
                .into());
        }
        Ok(())
    })
}

/// Takes a peer out of the address book.
///
/// # Errors
///
/// When the book has no such peer, or cannot be read or written.
pub(crate) fn remove(home: Option<&Path>, name: &str) -> Result<(), ConfigErrors> {
    let elsewhere = all(home)?
        .into_iter()
        .find(|peer| peer.name == name && !peer.in_book);
    let home = home::data_dir(home, &process_env)?;
    change(&home, |peers| match peers.shift_remove(name) {
        Some(_) => Ok(()),
        None => {
            let error = match &elsewhere {
                Some(peer) => {
                    ConfigError::new(format!("`{name}` stands in {}", peer.file.display()))
                        .with_hint("take it out there")
                }
                None => ConfigError::new(format!("there is no peer `{name}`"))
                    .with_hint("see `nuncio peers list`"),
            };
            Err(error.into())
        }
    })
}

fn read(file: &Path) -> Result<IndexMap<String, PeerConfig>, ConfigErrors> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(parse(&text, file)?.peers),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(IndexMap::new()),
        Err(error) => Err(failed("read", file, &error)),
    }
}

/// Reads, changes and rewrites the book; others who want to wait for their turn.
fn change(
    home: &Path,
    with: impl FnOnce(&mut IndexMap<String, PeerConfig>) -> Result<(), ConfigErrors>,
) -> Result<(), ConfigErrors> {
    home::create(home).map_err(ConfigError::new)?;
    let file = home.join(FILE_NAME);
    let _lock = private_file::lock(&file).map_err(|error| failed("lock", &file, &error))?;
    let mut peers = read(&file)?;
    with(&mut peers)?;
    write(&file, &peers).map_err(|error| failed("write", &file, &error))
}

fn write(file: &Path, peers: &IndexMap<String, PeerConfig>) -> std::io::Result<()> {
    #[derive(Serialize)]
    struct Book<'a> {
        peers: &'a IndexMap<String, PeerConfig>,
    }
    let text = toml::to_string_pretty(&Book { peers }).map_err(std::io::Error::other)?;
    let head = "# The address book of `nuncio peers`. Entries have the form of nuncio.toml.\n\n";
    private_file::replace(file, &format!("{head}{text}"))
}

fn failed(verb: &str, file: &Path, error: &std::io::Error) -> ConfigErrors {
    ConfigError::new(format!("cannot {verb} {}: {error}", file.display())).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn peer(url: &str) -> PeerConfig {
        let token = "env:TOKEN".parse().unwrap();
        PeerConfig {
            url: url.parse().unwrap(),
            auth: Some(PeerAuth::Bearer { token }),
            ca: None,
            capabilities: vec!["research".to_owned()],
            a2a_version: None,
            description: None,
        }
    }

    #[test]
    fn the_book_is_private_and_reads_back() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        add(Some(&home), "one", peer("https://one.example"), false).unwrap();
        add(Some(&home), "two", peer("https://two.example"), false).unwrap();
        assert!(add(Some(&home), "one", peer("https://other.example"), false).is_err());
        add(Some(&home), "one", peer("https://other.example"), true).unwrap();
        let mode = std::fs::metadata(home.join(FILE_NAME))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);

        let env = |_: &str| None;
        let found = all_in(Some(&home), &env).unwrap();
        let urls: Vec<_> = found.iter().map(|peer| peer.config.url.as_str()).collect();
        assert_eq!(urls, ["https://other.example", "https://two.example"]);
        assert!(found.iter().all(|peer| peer.in_book));

        remove(Some(&home), "one").unwrap();
        assert!(
            remove(Some(&home), "one")
                .unwrap_err()
                .to_string()
                .contains("no peer `one`")
        );
        assert_eq!(all_in(Some(&home), &env).unwrap().len(), 1);
    }

    #[test]
    fn the_configuration_counts_before_the_book() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path();
        add(Some(home), "one", peer("https://book.example"), false).unwrap();
        std::fs::write(
            home.join("nuncio.toml"),
            "[peers.one]\nurl = \"https://file.example\"\n",
        )
        .unwrap();
        let found = all_in(Some(home), &|_: &str| None).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].config.url.as_str(), "https://file.example");
        assert!(!found[0].in_book);
        assert!(add(Some(home), "one", peer("https://x.example"), true).is_err());
        assert!(
            remove(Some(home), "one").is_ok(),
            "the entry of the book can still go"
        );
    }

    #[test]
    fn a_name_must_be_a_name() {
        let dir = tempfile::tempdir().unwrap();
        assert!(
            add(
                Some(dir.path()),
                "Not A Name",
                peer("https://x.example"),
                false
            )
            .is_err()
        );
    }
}
