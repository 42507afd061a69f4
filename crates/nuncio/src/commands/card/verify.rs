//! `card verify`: whether a trusted key signed an agent's card, as it was received.

use std::path::PathBuf;

use clap::Args;
use nuncio_wire::card_signature::{self, CanonicalForm, Unverified, Verified};
use serde_json::json;

use crate::agent::find_card;
use crate::client_settings::{AgentOptions, OutputOptions, agent_settings};
use crate::commands::session::Session;
use crate::exit_code::ExitCode;
use crate::output::{CliError, Fields};
use crate::trusted_keys;

/// Check who signed an agent's card.
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// The agent, as with -a
    #[arg(value_name = "REF", conflicts_with = "agent_card")]
    reference: Option<String>,
    /// File of the keys to trust, a JWK set or one JWK [default: those of `card trust`]
    #[arg(long, value_name = "JWKS")]
    trust: Option<PathBuf>,
    #[command(flatten)]
    agent: AgentOptions,
    #[command(flatten)]
    output: OutputOptions,
}

/// Runs the command.
pub(super) async fn run(args: VerifyArgs) -> ExitCode {
    let session = match Session::begin(&args.output) {
        Ok(session) => session,
        Err(code) => return code,
    };
    let result = check(&session, args).await;
    session.end(result)
}

async fn check(session: &Session, mut args: VerifyArgs) -> Result<(), CliError> {
    args.agent.agent_card = args.reference.take().or(args.agent.agent_card);
    let settings = agent_settings(&args.agent, &session.layers)?;
    let named = args.trust.as_deref().map(trusted_keys::read_key_file);
    let named = named.transpose().map_err(CliError::usage)?;
    let found = find_card(&settings)
        .await
        .map_err(|missing| missing.error)?;
    let card = &found.discovered;
    let checked = match &named {
        Some(keys) => card_signature::verify(&card.received, keys),
        None => trusted_keys::check(card).map_err(CliError::usage)?,
    };
    let verified = checked.map_err(|why| refused(&why, named.is_some()))?;
    let covers = match verified.form {
        CanonicalForm::Specification => "specification",
        CanonicalForm::Sdk => "sdk",
    };
    let object = json!({
        "signature": "verified", "kid": verified.kid, "alg": verified.algorithm.as_str(),
        "covers": covers, "uncovered": verified.uncovered,
    });
    session
        .output
        .result(&object, || text(&card.card.name, &verified));
    Ok(())
}

fn text(name: &str, verified: &Verified) -> String {
    let mut fields = Fields::default();
    fields
        .field("Name", name)
        .field("Signature", "verified")
        .field("Key", &verified.kid)
        .field("Algorithm", verified.algorithm.as_str());
    if verified.form == CanonicalForm::Sdk {
        fields.field("Covers", "what is not empty, as the official SDKs sign");
    }
    if !verified.uncovered.is_empty() {
        fields.field("Not Covered", &verified.uncovered.join(", "));
    }
    fields.finish()
}

fn refused(why: &Unverified, keys_were_named: bool) -> CliError {
    let error = CliError::card_unverified(format!("the card is not verified: {why}"));
    if keys_were_named || *why == Unverified::Absent {
        return error;
    }
    error.with_hint(
        "trust the agent's key, once you have it by a way you trust: nuncio card trust add ORIGIN FILE",
    )
}
