//! `task list`: the caller's tasks at an agent, page by page.

use clap::Args;
use nuncio_client::TaskView;
use nuncio_wire::operation::{ListTasksRequest, ListTasksResponse};
use nuncio_wire::{Request, Response, TaskState, Timestamp};

use crate::agent::connect;
use crate::client_settings::{
    AgentOptions, AgentSettings, OutputOptions, WaitOptions, agent_settings, text_setting,
    wait_settings,
};
use crate::commands::exchange::with_card;
use crate::commands::session::Session;
use crate::commands::wait::{cut_short, within};
use crate::exit_code::ExitCode;
use crate::output::{self, CliError, Fields, task_line, task_text};

/// List tasks, the newest first.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only tasks of this context [env: A2ACLI_CONTEXT_ID]
    #[arg(long, alias = "context", value_name = "ID")]
    context_id: Option<String>,
    /// Only tasks in this state, such as working or TASK_STATE_WORKING
    #[arg(long, alias = "state", value_name = "STATE", value_parser = state)]
    status: Option<TaskState>,
    /// Tasks per page, 1 to 100 [default: the agent's choice]
    #[arg(long, alias = "limit", value_name = "N", value_parser = clap::value_parser!(i32).range(1..=100))]
    page_size: Option<i32>,
    /// Token of the page to show, from the page before
    #[arg(long, value_name = "TOKEN")]
    page_token: Option<String>,
    /// Only tasks whose status is not older than this (RFC 3339)
    #[arg(long, value_name = "TIME", value_parser = Timestamp::parse)]
    since: Option<Timestamp>,
    /// Most messages of history to show with each task
    #[arg(long, value_name = "N")]
    history: Option<u16>,
    /// Show the artifacts too
    #[arg(long, alias = "with-artifacts")]
    include_artifacts: bool,
    #[command(flatten)]
    agent: AgentOptions,
    #[command(flatten)]
    wait: WaitOptions,
    #[command(flatten)]
    output: OutputOptions,
}

/// The state with this name, with or without its prefix, in any case.
fn state(text: &str) -> Result<TaskState, String> {
    let name = text.to_ascii_uppercase().replace('-', "_");
    let full = if name.starts_with("TASK_STATE_") {
        name
    } else {
        format!("TASK_STATE_{name}")
    };
    TaskState::from_name(&full)
        .filter(|state| *state != TaskState::Unspecified)
        .ok_or_else(|| {
            let names = TaskState::ALL[1..]
                .iter()
                .map(|it| it.as_str().to_ascii_lowercase());
            let names: Vec<String> = names.map(|it| it.replace("task_state_", "")).collect();
            format!("use one of {}", names.join(", "))
        })
}

/// Runs the command.
pub(crate) async fn run(args: ListArgs) -> ExitCode {
    let session = match Session::begin(&args.output) {
        Ok(session) => session,
        Err(code) => return code,
    };
    let result = list(&session, &args).await;
    session.end(result)
}

async fn list(session: &Session, args: &ListArgs) -> Result<(), CliError> {
    let agent = agent_settings(&args.agent, &session.layers)?;
    let wait = wait_settings(&args.wait, &session.layers)?;
    let request = ListTasksRequest {
        context_id: text_setting(args.context_id.as_ref(), "context-id", &session.layers),
        status: args.status,
        page_size: args.page_size,
        page_token: args.page_token.clone(),
        history_length: args.history.map(i32::from),
        status_timestamp_after: args.since,
        include_artifacts: args.include_artifacts.then_some(true),
        ..ListTasksRequest::default()
    };
    let ended = within(wait.timeout, ask(&agent, request)).await;
    let page = cut_short(ended, &TaskView::default(), &agent)??;
    if session.stream && session.output.is_json() {
        page.tasks.iter().for_each(output::print_json);
    } else {
        session
            .output
            .result(&page, || page_text(&page, args.include_artifacts, session));
    }
    Ok(())
}

async fn ask(
    agent: &AgentSettings,
    request: ListTasksRequest,
) -> Result<ListTasksResponse, CliError> {
    let client = connect(agent).await?;
    match client.call(Request::ListTasks(request)).await {
        Ok(Response::ListTasks(page)) => Ok(page),
        Ok(_) => Err(CliError::internal("the answer is of another call")),
        Err(error) => Err(with_card(error, &client)),
    }
}

fn page_text(page: &ListTasksResponse, whole: bool, session: &Session) -> String {
    let verbose = session.output.verbose;
    let tasks = page.tasks.iter();
    let mut text: String = if whole || verbose {
        tasks.map(|task| task_text(task, verbose)).collect()
    } else {
        tasks.map(task_line).collect()
    };
    let mut fields = Fields::default();
    fields.field(
        "Tasks",
        &format!("{} of {}", page.tasks.len(), page.total_size),
    );
    if !page.next_page_token.is_empty() {
        fields.field("Next Page Token", &page.next_page_token);
    }
    text.push_str(&fields.finish());
    text
}
