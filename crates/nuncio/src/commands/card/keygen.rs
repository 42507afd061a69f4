//! `card keygen`: a new key; the private half into a file for its owner, the public one shown.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use clap::Args;
use nuncio_wire::card_signature::{Algorithm, SigningKey};

use crate::output::{CliError, write_stdout};

/// Make a key that signs cards.
#[derive(Debug, Args)]
pub(crate) struct KeygenArgs {
    /// Algorithm: ES256 or EdDSA
    #[arg(long, value_name = "ALG", default_value = "ES256", value_parser = algorithm)]
    alg: Algorithm,
    /// Where the private key goes; a file that is there is never replaced
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

fn algorithm(text: &str) -> Result<Algorithm, String> {
    text.parse()
        .map_err(|error: nuncio_wire::card_signature::KeyError| error.to_string())
}

/// Runs the command.
pub(super) fn run(args: &KeygenArgs) -> Result<(), CliError> {
    let made = SigningKey::generate(args.alg);
    let (key, private) = made.map_err(|error| CliError::internal(error.to_string()))?;
    let shown = args.out.display();
    let written = std::fs::OpenOptions::new()
        .create_new(true)
        .write(true)
        .mode(0o600)
        .open(&args.out)
        .and_then(|mut file| {
            file.write_all(format!("{private}\n").as_bytes())?;
            file.sync_all()
        });
    written.map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => CliError::usage(format!("{shown} is there already"))
            .with_hint("take another name, or move the old key away first"),
        _ => CliError::usage(format!("cannot write {shown}: {error}")),
    })?;
    write_stdout(&format!("{}\n", key.public().to_jwk()));
    Ok(())
}
