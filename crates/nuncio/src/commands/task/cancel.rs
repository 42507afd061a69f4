//! `task cancel`: asks the agent to stop, and shows what came of it.

use clap::Args;
use nuncio_client::TaskView;
use nuncio_wire::operation::CancelTaskRequest;
use nuncio_wire::{Metadata, Request, Response};

use crate::agent::connect;
use crate::client_settings::{
    AgentOptions, AgentSettings, OutputOptions, WaitOptions, agent_settings, text_setting,
    wait_settings,
};
use crate::commands::exchange::with_card;
use crate::commands::send::read_metadata;
use crate::commands::session::Session;
use crate::commands::wait::{Final, cut_short, show, within};
use crate::exit_code::ExitCode;
use crate::output::CliError;

/// Cancel a task.
#[derive(Debug, Args)]
pub(crate) struct CancelArgs {
    /// The task's id.
    #[arg(value_name = "TASK")]
    task_id: String,
    /// Metadata of the request, a JSON object [env: A2ACLI_METADATA]
    #[arg(long, value_name = "JSON")]
    metadata: Option<String>,
    #[command(flatten)]
    agent: AgentOptions,
    #[command(flatten)]
    wait: WaitOptions,
    #[command(flatten)]
    output: OutputOptions,
}

/// Runs the command.
pub(crate) async fn run(args: CancelArgs) -> ExitCode {
    // The result is one task, whether or not events are wanted.
    let session = match Session::begin(&args.output) {
        Ok(session) => Session {
            stream: false,
            ..session
        },
        Err(code) => return code,
    };
    let result = cancel(&session, &args).await;
    session.end(result)
}

async fn cancel(session: &Session, args: &CancelArgs) -> Result<(), CliError> {
    let agent = agent_settings(&args.agent, &session.layers)?;
    let wait = wait_settings(&args.wait, &session.layers)?;
    let metadata = text_setting(args.metadata.as_ref(), "metadata", &session.layers);
    let metadata = metadata.map(|text| read_metadata(&text)).transpose()?;
    let ended = within(wait.timeout, ask(args, &agent, metadata)).await;
    let view = cut_short(ended, &TaskView::default(), &agent)??;
    show(session, view, Final::Task, &agent);
    Ok(())
}

async fn ask(
    args: &CancelArgs,
    agent: &AgentSettings,
    metadata: Option<Metadata>,
) -> Result<TaskView, CliError> {
    let client = connect(agent).await?;
    let request = CancelTaskRequest {
        tenant: None,
        id: args.task_id.clone(),
        metadata,
    };
    match client.call(Request::CancelTask(request)).await {
        Ok(Response::Task(task)) => Ok(TaskView::of(task)),
        Ok(_) => Err(CliError::internal("the answer is of another call")),
        Err(error) => Err(with_card(error, &client)),
    }
}
