//! `card get`: an agent's card as it is read here, for people or as the protocol's object.

use clap::Args;
use nuncio_wire::AgentCard;

use crate::agent::find_card;
use crate::client_settings::{AgentOptions, OutputOptions, agent_settings};
use crate::commands::session::Session;
use crate::exit_code::ExitCode;
use crate::output::{CliError, SignatureState, card_text, write_stderr};

/// Fetch an agent's card and show it.
#[derive(Debug, Args)]
pub(crate) struct GetArgs {
    /// The agent, as with -a
    #[arg(value_name = "REF", conflicts_with = "agent_card")]
    reference: Option<String>,
    /// Refuse a card that lacks what the protocol requires
    #[arg(long)]
    validate: bool,
    #[command(flatten)]
    agent: AgentOptions,
    #[command(flatten)]
    output: OutputOptions,
}

/// Runs the command.
pub(super) async fn run(args: GetArgs) -> ExitCode {
    let session = match Session::begin(&args.output) {
        Ok(session) => session,
        Err(code) => return code,
    };
    let result = get(&session, args).await;
    session.end(result)
}

async fn get(session: &Session, mut args: GetArgs) -> Result<(), CliError> {
    args.agent.agent_card = args.reference.take().or(args.agent.agent_card);
    let settings = agent_settings(&args.agent, &session.layers)?;
    let verbose = session.output.verbose;
    let found = match find_card(&settings).await {
        Ok(found) => found,
        Err(missing) => {
            if verbose {
                missing
                    .attempts
                    .iter()
                    .for_each(|it| write_stderr(&format!("Tried: {it}\n")));
            }
            return Err(missing.error);
        }
    };
    let card = &found.discovered.card;
    if verbose {
        found
            .discovered
            .attempts
            .iter()
            .for_each(|it| write_stderr(&format!("Tried: {it}\n")));
    }
    let lacking = lacking(card);
    if args.validate && !lacking.is_empty() {
        let text = format!("the card of '{}' lacks {}", card.name, lacking.join(", "));
        return Err(CliError::card_invalid(text));
    }
    let signature = SignatureState::of(&found.discovered)?;
    session
        .output
        .result(card, || card_text(card, &signature, verbose));
    Ok(())
}

/// Required members that are not there (specification 4.4).
fn lacking(card: &AgentCard) -> Vec<String> {
    let mut lacking = Vec::new();
    let mut need = |name: String, present: bool| {
        if !present {
            lacking.push(name);
        }
    };
    need("name".to_owned(), !card.name.is_empty());
    need("description".to_owned(), !card.description.is_empty());
    need("version".to_owned(), !card.version.is_empty());
    need(
        "supportedInterfaces".to_owned(),
        !card.supported_interfaces.is_empty(),
    );
    for (at, interface) in card.supported_interfaces.iter().enumerate() {
        let path = |member| format!("supportedInterfaces[{at}].{member}");
        need(path("url"), !interface.url.is_empty());
        need(
            path("protocolBinding"),
            !interface.protocol_binding.is_empty(),
        );
        need(
            path("protocolVersion"),
            !interface.protocol_version.is_empty(),
        );
    }
    need(
        "defaultInputModes".to_owned(),
        !card.default_input_modes.is_empty(),
    );
    need(
        "defaultOutputModes".to_owned(),
        !card.default_output_modes.is_empty(),
    );
    need("skills".to_owned(), !card.skills.is_empty());
    for (at, skill) in card.skills.iter().enumerate() {
        let path = |member| format!("skills[{at}].{member}");
        need(path("id"), !skill.id.is_empty());
        need(path("name"), !skill.name.is_empty());
        need(path("description"), !skill.description.is_empty());
        need(path("tags"), !skill.tags.is_empty());
    }
    for name in card
        .security_requirements
        .iter()
        .flat_map(|it| it.schemes.keys())
    {
        need(
            format!("securitySchemes.{name}"),
            card.security_schemes.contains_key(name),
        );
    }
    lacking
}
