//! `task get`: a task as it is now, or with `--wait` as it is in the end.

use clap::Args;
use nuncio_client::{Client, Follow, TaskView};
use nuncio_wire::operation::GetTaskRequest;
use nuncio_wire::{Request, Response, Task};

use crate::agent::connect;
use crate::client_settings::{
    AgentOptions, AgentSettings, OutputOptions, WaitOptions, WaitSettings, agent_settings,
    wait_settings,
};
use crate::commands::exchange::with_card;
use crate::commands::session::Session;
use crate::commands::wait::{Final, Watcher, about, cut_short, show, within};
use crate::exit_code::ExitCode;
use crate::output::{self, CliError, Fields, history};

/// Show a task: its state, its artifacts, its history.
#[derive(Debug, Args)]
pub(crate) struct GetArgs {
    /// The task's id.
    #[arg(value_name = "TASK")]
    task_id: String,
    /// Most messages of history to show [default: the agent's choice, shown with --verbose]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16))]
    history: Option<u16>,
    #[command(flatten)]
    agent: AgentOptions,
    #[command(flatten)]
    wait: WaitOptions,
    #[command(flatten)]
    output: OutputOptions,
}

/// Runs the command.
pub(crate) async fn run(args: GetArgs) -> ExitCode {
    // One task is one document, whether or not events are wanted.
    let session = match Session::begin(&args.output) {
        Ok(session) => Session {
            stream: false,
            ..session
        },
        Err(code) => return code,
    };
    let settings = agent_settings(&args.agent, &session.layers)
        .and_then(|agent| Ok((agent, wait_settings(&args.wait, &session.layers)?)));
    let result = match settings {
        Ok((agent, wait)) => get(&session, &args, &agent, wait).await,
        Err(error) => Err(error),
    };
    session.end(result)
}

async fn get(
    session: &Session,
    args: &GetArgs,
    agent: &AgentSettings,
    wait: WaitSettings,
) -> Result<(), CliError> {
    let mut view = TaskView::default();
    let mut watcher = Watcher::new(session);
    let work = look(args, agent, wait, &mut view, &mut watcher);
    let ended = within(wait.timeout, work).await;
    watcher.close(&view);
    cut_short(ended, &view, agent)?.map_err(|error| about(error, &view, agent))?;
    let asked = args.history.is_some() && !session.output.verbose && !session.output.is_json();
    let said = view
        .task()
        .filter(|_| asked)
        .map(|task| task.history.clone())
        .unwrap_or_default();
    show(session, view, Final::Task, agent);
    let mut fields = Fields::default();
    history(&mut fields, &said);
    output::write_stdout(&fields.finish());
    Ok(())
}

async fn look(
    args: &GetArgs,
    agent: &AgentSettings,
    wait: WaitSettings,
    view: &mut TaskView,
    watcher: &mut Watcher,
) -> Result<(), CliError> {
    let client = connect(agent).await?;
    *view = TaskView::of(get_task(&client, args).await?);
    if wait.wait != Some(true) || view.is_settled() {
        return Ok(());
    }
    watcher.announce(view);
    let follow = Follow {
        client: &client,
        pace: wait.pace,
        stream_errors_end: false,
        observe: &mut |progress, view| watcher.observe(progress, view),
    };
    follow
        .run(view, None)
        .await
        .map_err(|error| with_card(error, &client))?;
    if args.history.is_some() {
        *view = TaskView::of(get_task(&client, args).await?);
    }
    Ok(())
}

async fn get_task(client: &Client, args: &GetArgs) -> Result<Task, CliError> {
    let request = GetTaskRequest {
        tenant: None,
        id: args.task_id.clone(),
        history_length: args.history.map(i32::from),
    };
    match client.call(Request::GetTask(request)).await {
        Ok(Response::Task(task)) => Ok(task),
        Ok(_) => Err(CliError::internal("the answer is of another call")),
        Err(error) => Err(with_card(error, client)),
    }
}
