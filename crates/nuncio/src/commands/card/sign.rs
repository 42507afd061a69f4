//! `card sign`: a card from a file with signatures of one key or several, on standard output.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use clap::Args;
use indexmap::IndexMap;
use nuncio_client::discover::read_card_file;
use nuncio_gateway::config::SecretRef;
use nuncio_wire::AgentCardSignature;
use nuncio_wire::card_signature::{self, SigningKey};
use serde_json::value::RawValue;

use crate::load_config::process_env;
use crate::output::{CliError, write_stdout};

/// Sign a card in a file.
#[derive(Debug, Args)]
pub(crate) struct SignArgs {
    /// The card; it is printed with its signatures and otherwise unchanged
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// File of a private key, as `card keygen` makes it; may be repeated. Signatures of other keys
    /// on the card stay
    #[arg(long = "key", value_name = "FILE", required = true)]
    keys: Vec<PathBuf>,
}

/// Runs the command.
pub(super) fn run(args: &SignArgs) -> Result<(), CliError> {
    let card = read_card_file(&args.file)?;
    let keys: Vec<SigningKey> = args
        .keys
        .iter()
        .map(|key| read_key(key))
        .collect::<Result<_, _>>()?;
    let invalid = |error: &dyn std::fmt::Display| {
        CliError::card_invalid(format!("{}: {error}", args.file.display()))
    };
    let mut signatures: Vec<AgentCardSignature> = card.card.signatures.clone();
    let ours = |kid: &str| keys.iter().any(|key| key.public().kid() == kid);
    signatures.retain(|signature| !key_id(signature).is_some_and(|kid| ours(&kid)));
    for key in &keys {
        let made = card_signature::sign(&card.received, key);
        signatures.extend(made.map_err(|error| invalid(&error))?);
    }
    // The other members are copied as they stand.
    let mut members: IndexMap<String, Box<RawValue>> =
        serde_json::from_slice(&card.received).map_err(|error| invalid(&error))?;
    let signatures =
        serde_json::value::to_raw_value(&signatures).map_err(|error| invalid(&error))?;
    members.insert("signatures".to_owned(), signatures);
    let signed = serde_json::to_string(&members).map_err(|error| invalid(&error))?;
    write_stdout(&format!("{signed}\n"));
    Ok(())
}

fn read_key(file: &Path) -> Result<SigningKey, CliError> {
    let mut reference: SecretRef = format!("file:{}", file.display())
        .parse()
        .map_err(|error: String| CliError::usage(error))?;
    reference
        .resolve(&process_env, Path::new("."))
        .map_err(CliError::usage)?;
    let text = reference.secret().map_or("", |secret| secret.expose());
    SigningKey::read(text).map_err(|error| CliError::usage(format!("{}: {error}", file.display())))
}

/// Whose signature it says it is.
fn key_id(signature: &AgentCardSignature) -> Option<String> {
    let header = URL_SAFE_NO_PAD.decode(&signature.protected).ok()?;
    let header: serde_json::Value = serde_json::from_slice(&header).ok()?;
    Some(header["kid"].as_str()?.to_owned())
}
