//! `discover`: looks for an agent's card in all places, says where it was, and can note the agent in
//! the address book.

use clap::Args;
use nuncio_client::CardSource;
use nuncio_gateway::config::PeerConfig;

use crate::agent::{Found, find_card};
use crate::client_settings::{AgentOptions, OutputOptions, agent_settings};
use crate::commands::session::Session;
use crate::exit_code::ExitCode;
use crate::output::{CliError, Fields, SignatureState, card_text, write_stderr, write_stdout};

/// Find an agent's card, wherever it may lie, and summarise it.
#[derive(Debug, Args)]
pub(crate) struct DiscoverArgs {
    /// Where the agent is: a URL or a host
    #[arg(value_name = "URL")]
    url: String,
    /// Note the agent in the address book under this name
    #[arg(long, value_name = "NAME")]
    register: Option<String>,
    /// With --register: replace an entry of this name
    #[arg(long, requires = "register")]
    replace: bool,
    #[command(flatten)]
    agent: AgentOptions,
    #[command(flatten)]
    output: OutputOptions,
}

/// Runs the command.
pub(crate) async fn run(args: DiscoverArgs) -> ExitCode {
    let session = match Session::begin(&args.output) {
        Ok(session) => session,
        Err(code) => return code,
    };
    let result = look(&session, args).await;
    session.end(result)
}

async fn look(session: &Session, mut args: DiscoverArgs) -> Result<(), CliError> {
    args.agent.agent_card = Some(args.url.clone());
    let settings = agent_settings(&args.agent, &session.layers)?;
    let tell = |attempts: &[nuncio_client::discover::Attempt]| {
        attempts
            .iter()
            .for_each(|it| write_stderr(&format!("Tried: {it}\n")));
    };
    let found = match find_card(&settings).await {
        Ok(found) => found,
        Err(missing) => {
            tell(&missing.attempts);
            return Err(missing.error);
        }
    };
    if session.output.verbose {
        tell(&found.discovered.attempts);
    }
    let card = &found.discovered.card;
    let signature = SignatureState::of(&found.discovered)?;
    session
        .output
        .result(card, || text(&found, &signature, session.output.verbose));
    match &args.register {
        Some(name) => register(name, &found, args.replace, session),
        None => Ok(()),
    }
}

fn text(found: &Found, signature: &SignatureState, verbose: bool) -> String {
    let mut fields = Fields::default();
    match &found.discovered.source {
        CardSource::Url(url) => fields.field("Card", url.as_str()),
        CardSource::File(path) => fields.field("Card", &path.display().to_string()),
    };
    fields.finish() + &card_text(&found.discovered.card, signature, verbose)
}

fn register(name: &str, found: &Found, replace: bool, session: &Session) -> Result<(), CliError> {
    let Some(url) = found.discovered.url() else {
        let error = CliError::usage("an agent known by a file cannot be noted in the address book");
        return Err(error.with_hint("give the address of its card"));
    };
    let peer = PeerConfig {
        url: url
            .as_str()
            .parse()
            .map_err(|error: String| CliError::usage(error))?,
        auth: None,
        ca: None,
        capabilities: Vec::new(),
        a2a_version: None,
        description: None,
    };
    crate::peers::add(None, name, peer, replace)
        .map_err(|error| CliError::usage(error.to_string()))?;
    let mut fields = Fields::default();
    fields.field("Registered", name);
    let text = fields.finish();
    if session.output.is_json() {
        write_stderr(&text)
    } else {
        write_stdout(&text)
    }
    Ok(())
}
