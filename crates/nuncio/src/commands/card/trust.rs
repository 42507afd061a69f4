//! `card trust`: the local store of keys whose signatures count, by origin.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use nuncio_client::Origin;
use nuncio_client::discover::address_of;
use serde_json::{Value, json};

use crate::output::{CliError, Fields, Format, Output};
use crate::trusted_keys::{self, TrustedKey};

/// Keys whose signatures count.
#[derive(Debug, Subcommand)]
pub(crate) enum TrustCommand {
    /// Trust keys for the cards of one origin.
    Add(AddArgs),
    /// List the trusted keys.
    List(StoreArgs),
    /// Take trust back.
    Remove(RemoveArgs),
}

impl TrustCommand {
    pub(super) fn format(&self) -> Format {
        match self {
            Self::Add(args) => args.store.output,
            Self::List(store) => store.output,
            Self::Remove(args) => args.store.output,
        }
    }
}

/// Which store, and how it is printed.
#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    /// Data directory. Else NUNCIO_HOME, ~/.local/share/nuncio.
    #[arg(long, value_name = "DIRECTORY")]
    home: Option<PathBuf>,
    /// How results are printed.
    #[arg(short, long, value_enum, env = "A2ACLI_OUTPUT", default_value_t)]
    output: Format,
}

/// New trust.
#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    /// Whose cards the keys may sign: scheme, host and port, as https://agents.example.org
    #[arg(value_name = "ORIGIN")]
    origin: String,
    /// File of public keys: a JWK set or one JWK
    #[arg(value_name = "JWKS")]
    keys: PathBuf,
    #[command(flatten)]
    store: StoreArgs,
}

/// No more trust.
#[derive(Debug, Args)]
pub(crate) struct RemoveArgs {
    /// The origin the keys were trusted for
    #[arg(value_name = "ORIGIN")]
    origin: String,
    /// Only the key with this id
    #[arg(long, value_name = "KID")]
    kid: Option<String>,
    #[command(flatten)]
    store: StoreArgs,
}

/// Runs the command.
pub(super) fn run(command: &TrustCommand) -> Result<(), CliError> {
    match command {
        TrustCommand::Add(args) => {
            let keys = trusted_keys::read_key_file(&args.keys).map_err(CliError::usage)?;
            let added =
                trusted_keys::add(args.store.home.as_deref(), &origin(&args.origin)?, &keys);
            print(&args.store, &added.map_err(CliError::usage)?);
        }
        TrustCommand::List(store) => {
            let trusted = trusted_keys::all(store.home.as_deref());
            print(store, &trusted.map_err(CliError::usage)?);
        }
        TrustCommand::Remove(args) => {
            let origin = origin(&args.origin)?;
            let home = args.store.home.as_deref();
            let removed = trusted_keys::remove(home, &origin, args.kid.as_deref());
            let removed = removed.map_err(CliError::usage)?;
            if removed == 0 {
                let error = CliError::usage(format!("no such key is trusted for {origin}"));
                return Err(error.with_hint("see: nuncio card trust list"));
            }
            let mut fields = Fields::default();
            fields.field("Removed", &removed.to_string());
            output(&args.store).result(&json!({"removed": removed}), || fields.finish());
        }
    }
    Ok(())
}

fn origin(text: &str) -> Result<Origin, CliError> {
    let url = address_of(text)?;
    Origin::of(&url).ok_or_else(|| CliError::usage(format!("'{text}' is no origin of cards")))
}

fn output(store: &StoreArgs) -> Output {
    Output {
        format: store.output,
        verbose: false,
    }
}

fn print(store: &StoreArgs, keys: &[TrustedKey]) {
    let objects: Vec<Value> = keys
        .iter()
        .map(|it| {
            json!({
                "origin": it.origin, "kid": it.key.kid(), "alg": it.key.algorithm().as_str(),
            })
        })
        .collect();
    output(store).result(&json!({"keys": objects}), || {
        let mut fields = Fields::default();
        for it in keys {
            let line = format!("{} {} for {}", it.key.kid(), it.key.algorithm(), it.origin);
            fields.field("Key", &line);
        }
        fields.finish()
    });
}
