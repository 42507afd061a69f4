//! `nuncio history`: conversations with the agents served here, kept outside of any agent.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use nuncio_gateway::sessions::record::{
    self, ConversationRecord, Conversations, EXPORT_DIR, Wanted,
};
use nuncio_wire::Timestamp;

use super::agents::Desk;
use crate::control::{self, ControlError};
use crate::exit_code::ExitCode;
use crate::load_config::{Flags, load, process_env};
use crate::output::{CliError, Fields, Output};

/// Show what was said in a context, or which conversations there are.
///
/// Asks the running gateway; where none runs, the store itself. A context may hold several
/// conversations: two callers that name the same one never meet.
#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// The context's id. Without it, the conversations are listed.
    context: Option<String>,
    /// Only with this agent.
    #[arg(long)]
    agent: Option<String>,
    /// Only of this caller, such as `peer:alice`.
    #[arg(long)]
    owner: Option<String>,
    /// Only the newest so many entries of each conversation.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Write each conversation as JSON Lines below this directory instead of showing it.
    #[arg(long, value_name = "DIRECTORY")]
    export: Option<PathBuf>,
    /// Configuration file, for a store that no gateway has open. Else the one of `nuncio serve`.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    desk: Desk,
}

/// Runs the command.
pub(crate) async fn run(args: HistoryArgs) -> ExitCode {
    let output = args.desk.output();
    match show(&args, output).await {
        Ok(()) => ExitCode::Success,
        Err(error) => output.failure(&error),
    }
}

async fn show(args: &HistoryArgs, output: Output) -> Result<(), CliError> {
    let wanted = Wanted {
        context_id: args.context.clone(),
        agent: args.agent.clone(),
        owner: args.owner.clone(),
        whole: args.export.is_some(),
        limit: args.limit,
    };
    let found = read(args, &wanted).await?;
    if let (Some(context), true) = (&args.context, found.conversations.is_empty()) {
        let text = format!("there is no conversation in the context {context}");
        return Err(CliError::internal(text).with_hint("`nuncio history` lists all there are"));
    }
    match &args.export {
        Some(dir) => {
            let files = export(&found, dir)?;
            output.result(&files, || {
                files.iter().map(|it| format!("{it}\n")).collect()
            });
        }
        None => output.result(&found, || as_text(&found)),
    }
    Ok(())
}

/// Asks the gateway, or reads its store while it does not run.
async fn read(args: &HistoryArgs, wanted: &Wanted) -> Result<Conversations, CliError> {
    let home = args.desk.home()?;
    let path = format!("/admin/conversations?{}", wanted.to_query());
    match control::get(&home, &path).await {
        Ok(found) => return Ok(found),
        Err(ControlError::NoGateway(_)) => {}
        Err(error) => return Err(CliError::internal(error.into_text())),
    }
    let internal = |text: String| CliError::internal(text);
    let flags = Flags {
        config: args.config.clone(),
        home: Some(home),
        ..Flags::default()
    };
    let loaded = load(&flags, &process_env).map_err(|errors| internal(errors.to_string()))?;
    let store = nuncio_gateway::open_store(&loaded.config, &loaded.home)
        .await
        .map_err(|error| internal(error.to_string()))?;
    let found = record::read(&*store, wanted).await;
    let closed = store.close().await;
    let found = found.map_err(|error| internal(error.to_string()))?;
    closed.map_err(|error| internal(error.to_string()))?;
    Ok(found)
}

/// Writes one file for each conversation and names them.
fn export(found: &Conversations, dir: &Path) -> Result<Vec<String>, CliError> {
    let dir = dir.join(EXPORT_DIR);
    let failed = |path: &Path, error: std::io::Error| {
        CliError::internal(format!("cannot write {}: {error}", path.display()))
    };
    std::fs::create_dir_all(&dir).map_err(|error| failed(&dir, error))?;
    let mut files = Vec::with_capacity(found.conversations.len());
    for conversation in &found.conversations {
        let path = dir.join(&conversation.file);
        let lines: String = conversation
            .entries
            .iter()
            .filter_map(|entry| serde_json::to_string(entry).ok())
            .map(|line| line + "\n")
            .collect();
        std::fs::write(&path, lines).map_err(|error| failed(&path, error))?;
        files.push(path.display().to_string());
    }
    Ok(files)
}

fn as_text(found: &Conversations) -> String {
    let mut text: String = found.conversations.iter().map(conversation_text).collect();
    if found.conversations.iter().all(|it| it.entries.is_empty()) {
        let _ = writeln!(text, "Conversations: {}", found.conversations.len());
    }
    text
}

fn conversation_text(conversation: &ConversationRecord) -> String {
    let mut fields = Fields::default();
    fields
        .field("Context ID", &conversation.context_id)
        .field("Agent", &conversation.agent)
        .field("Owner", &conversation.owner)
        .field("Tasks", &conversation.tasks.to_string())
        .field("Last", &time(conversation.last));
    let head = fields.finish() + "\n";
    let said = conversation.entries.iter().map(|entry| {
        let mut fields = Fields::default();
        let state = entry.state.as_ref().map(|state| format!(" {state}"));
        let label = format!(
            "{} {}{}",
            time(entry.ts),
            entry.role,
            state.unwrap_or_default()
        );
        fields.block(&label, &entry.text);
        fields.finish()
    });
    head + &said.collect::<String>()
}

fn time(seconds: f64) -> String {
    Timestamp::from_millis((seconds * 1000.0) as i64).to_string()
}
