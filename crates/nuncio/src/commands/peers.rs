//! `nuncio peers`: the address book, shown and changed.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use nuncio_gateway::config::{ConfigErrors, PeerAuth, PeerConfig, PeerProtocol, SecretRef, WebUrl};
use serde_json::{Value, json};

use crate::exit_code::ExitCode;
use crate::output::{CliError, Fields, Format, Output};
use crate::peers::{self, Peer};

/// What to do with the address book.
#[derive(Debug, Subcommand)]
pub(crate) enum PeersCommand {
    /// Add an agent: from then on `-a NAME` calls it.
    Add(Box<AddArgs>),
    /// List every peer, also those of nuncio.toml.
    List(BookArgs),
    /// Show one peer. Credentials show as references.
    Show(NameArgs),
    /// Take a peer out of the address book.
    Remove(NameArgs),
}

/// Which book, and how it is printed.
#[derive(Debug, Args)]
pub(crate) struct BookArgs {
    /// Data directory. Else NUNCIO_HOME, ~/.local/share/nuncio.
    #[arg(long, value_name = "DIRECTORY")]
    home: Option<PathBuf>,
    /// How results are printed.
    #[arg(short, long, value_enum, env = "A2ACLI_OUTPUT", default_value_t)]
    output: Format,
}

/// A peer of the book.
#[derive(Debug, Args)]
pub(crate) struct NameArgs {
    /// The peer's name.
    name: String,
    #[command(flatten)]
    book: BookArgs,
}

/// A new peer.
#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    /// Its name here: 1 to 64 of a-z 0-9 - _.
    name: String,
    /// Where its card is: the base address or the card itself.
    url: WebUrl,
    /// Bearer token, by reference: env:NAME or file:PATH.
    #[arg(long, value_name = "REFERENCE", group = "credential")]
    bearer: Option<String>,
    /// API key, by reference: env:NAME or file:PATH.
    #[arg(long, value_name = "REFERENCE", group = "credential")]
    api_key: Option<String>,
    /// Header of the API key. Without it the card decides, else X-API-Key.
    #[arg(long, value_name = "NAME", requires = "api_key")]
    api_key_header: Option<String>,
    /// User name for Basic.
    #[arg(long, value_name = "NAME", group = "credential", requires = "password")]
    username: Option<String>,
    /// Password for Basic, by reference: env:NAME or file:PATH.
    #[arg(long, value_name = "REFERENCE", requires = "username")]
    password: Option<String>,
    /// Client certificate to show in the TLS handshake, as a PEM file.
    #[arg(
        long,
        value_name = "FILE",
        group = "credential",
        requires = "client_key"
    )]
    client_cert: Option<PathBuf>,
    /// Its private key, as a PEM file that not everybody can read.
    #[arg(long, value_name = "FILE", requires = "client_cert")]
    client_key: Option<PathBuf>,
    /// Authorities that may have signed its TLS certificate, as a PEM file, in place of the machine's.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// What it is good at, besides the skills on its card; may be repeated.
    #[arg(long = "capability", value_name = "WORD")]
    capabilities: Vec<String>,
    /// The protocol to speak. Without it the card decides.
    #[arg(long, value_enum, value_name = "VERSION")]
    a2a_version: Option<Protocol>,
    /// A note for people.
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Replace the peer of that name.
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    book: BookArgs,
}

/// The generations of the protocol, as words of the command line.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Protocol {
    /// A2A 1.0.
    #[value(name = "1.0")]
    V1_0,
    /// A2A 0.3.
    #[value(name = "0.3")]
    V0_3,
    /// The dialect of April 2025, as OpenFang speaks it.
    #[value(name = "2025-04")]
    Legacy,
    /// The dialect of the Hermes fleet plugin.
    #[value(name = "hermes-fleet")]
    Fleet,
}

/// Runs the command.
pub(crate) fn run(command: PeersCommand) -> ExitCode {
    let (format, done) = match command {
        PeersCommand::Add(args) => (args.book.output, add(*args)),
        PeersCommand::List(book) => (book.output, list(&book)),
        PeersCommand::Show(args) => (args.book.output, show(&args)),
        PeersCommand::Remove(args) => (args.book.output, remove(&args)),
    };
    match done {
        Ok(()) => ExitCode::Success,
        Err(error) => Output {
            format,
            ..Output::default()
        }
        .failure(&error),
    }
}

fn add(args: AddArgs) -> Result<(), CliError> {
    let auth = args.auth()?;
    let peer = PeerConfig {
        url: args.url,
        auth,
        ca: args.ca.map(|ca| absolute("--ca", &ca)).transpose()?,
        capabilities: args.capabilities,
        a2a_version: args.a2a_version.map(|version| match version {
            Protocol::V1_0 => PeerProtocol::V1_0,
            Protocol::V0_3 => PeerProtocol::V0_3,
            Protocol::Legacy => PeerProtocol::Legacy,
            Protocol::Fleet => PeerProtocol::Fleet,
        }),
        description: args.description,
    };
    // What cannot be used is said now and not in the first call.
    peer.tls(Path::new("")).map_err(CliError::usage)?;
    let home = args.book.home.as_deref();
    peers::add(home, &args.name, peer, args.replace).map_err(refused)?;
    let added = peers::all(home)
        .map_err(refused)?
        .into_iter()
        .find(|peer| peer.name == args.name);
    if let Some(added) = added {
        print(args.book.output, &as_json(&added), || as_text(&added));
    }
    Ok(())
}

impl AddArgs {
    /// The credential, which the parser takes once at most.
    fn auth(&self) -> Result<Option<PeerAuth>, CliError> {
        if let Some(token) = &self.bearer {
            let token = reference("--bearer", token)?;
            return Ok(Some(PeerAuth::Bearer { token }));
        }
        if let Some(key) = &self.api_key {
            let (key, header) = (reference("--api-key", key)?, self.api_key_header.clone());
            return Ok(Some(PeerAuth::ApiKey { key, header }));
        }
        if let (Some(username), Some(password)) = (&self.username, &self.password) {
            return Ok(Some(PeerAuth::Basic {
                username: username.clone(),
                password: reference("--password", password)?,
            }));
        }
        if let (Some(certificate), Some(key)) = (&self.client_cert, &self.client_key) {
            return Ok(Some(PeerAuth::Mtls {
                certificate: absolute("--client-cert", certificate)?,
                key: absolute("--client-key", key)?,
            }));
        }
        Ok(None)
    }
}

/// As it is written into the book, which lies elsewhere.
fn absolute(flag: &str, path: &Path) -> Result<PathBuf, CliError> {
    std::path::absolute(path)
        .map_err(|error| CliError::usage(format!("{flag}: {}: {error}", path.display())))
}

/// Not read by the parser of arguments, which repeats what it refuses: it may be a secret.
fn reference(flag: &str, text: &str) -> Result<SecretRef, CliError> {
    text.parse()
        .map_err(|error| CliError::usage(format!("{flag}: {error}")))
}

fn list(book: &BookArgs) -> Result<(), CliError> {
    let peers = peers::all(book.home.as_deref()).map_err(refused)?;
    let object = json!({ "peers": peers.iter().map(as_json).collect::<Vec<_>>() });
    print(book.output, &object, || {
        if peers.is_empty() {
            return "No peers. Add one: nuncio peers add NAME URL\n".to_owned();
        }
        peers.iter().map(|peer| as_text(peer) + "\n").collect()
    });
    Ok(())
}

fn show(args: &NameArgs) -> Result<(), CliError> {
    let peers = peers::all(args.book.home.as_deref()).map_err(refused)?;
    let Some(peer) = peers.iter().find(|peer| peer.name == args.name) else {
        let error = CliError::internal(format!("there is no peer `{}`", args.name));
        return Err(error.with_hint("nuncio peers list"));
    };
    print(args.book.output, &as_json(peer), || as_text(peer));
    Ok(())
}

fn remove(args: &NameArgs) -> Result<(), CliError> {
    peers::remove(args.book.home.as_deref(), &args.name).map_err(refused)?;
    print(args.book.output, &json!({ "removed": args.name }), || {
        format!("Removed: {}\n", args.name)
    });
    Ok(())
}

fn print(format: Format, object: &Value, text: impl FnOnce() -> String) {
    Output {
        format,
        ..Output::default()
    }
    .result(object, text);
}

fn as_json(peer: &Peer) -> Value {
    let mut object = serde_json::to_value(&peer.config).unwrap_or_default();
    if let Value::Object(fields) = &mut object {
        fields.insert("name".to_owned(), json!(peer.name));
        fields.insert("file".to_owned(), json!(peer.file));
    }
    object
}

fn as_text(peer: &Peer) -> String {
    let config = &peer.config;
    let mut fields = Fields::default();
    fields
        .field("Name", &peer.name)
        .field("URL", config.url.as_str());
    fields.optional("Description", config.description.as_deref());
    if !config.capabilities.is_empty() {
        fields.field("Capabilities", &config.capabilities.join(", "));
    }
    let credential = match &config.auth {
        Some(PeerAuth::Bearer { token }) => Some(format!("bearer {token}")),
        Some(PeerAuth::ApiKey { key, header }) => {
            let header = header
                .as_deref()
                .map(|name| format!(" in {name}"))
                .unwrap_or_default();
            Some(format!("API key {key}{header}"))
        }
        Some(PeerAuth::Basic { username, password }) => {
            Some(format!("basic {username} with {password}"))
        }
        Some(PeerAuth::Mtls { certificate, .. }) => {
            Some(format!("client certificate {}", certificate.display()))
        }
        None => None,
    };
    fields.optional("Credential", credential.as_deref());
    fields.optional("A2A Version", config.a2a_version.map(PeerProtocol::as_str));
    fields.field("File", &peer.file.display().to_string());
    fields.finish()
}

fn refused(errors: ConfigErrors) -> CliError {
    match <[_; 1]>::try_from(errors.0) {
        Ok([error]) if error.position.is_none() => {
            let refused = CliError::internal(error.message);
            error.hint.into_iter().fold(refused, CliError::with_hint)
        }
        Ok([error]) => CliError::internal(error.to_string()),
        Err(errors) => CliError::internal(ConfigErrors(errors).to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_show_as_references() {
        let config = PeerConfig {
            url: "https://peer.example".parse().unwrap(),
            auth: Some(PeerAuth::Bearer {
                token: "env:TOKEN".parse().unwrap(),
            }),
            ca: None,
            capabilities: vec!["research".to_owned(), "maths".to_owned()],
            a2a_version: Some(PeerProtocol::V0_3),
            description: None,
        };
        let file = PathBuf::from("/home/me/peers.toml");
        let peer = Peer {
            name: "one".to_owned(),
            config,
            file,
            in_book: true,
        };
        assert_eq!(
            as_text(&peer),
            "Name: one\nURL: https://peer.example\nCapabilities: research, maths\n\
             Credential: bearer env:TOKEN\nA2A Version: 0.3\nFile: /home/me/peers.toml\n"
        );
        let object = as_json(&peer);
        assert_eq!(
            object["auth"],
            json!({ "type": "bearer", "token": "env:TOKEN" })
        );
        assert_eq!(object["name"], "one");
    }
}
