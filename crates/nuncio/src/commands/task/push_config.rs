//! `task push-config`: the webhooks of a task: register one, look at them, take one away.
//!
//! Tokens and credentials are sent and never shown.

use clap::{Args, Subcommand};
use nuncio_client::TaskView;
use nuncio_wire::operation::{
    DeleteTaskPushNotificationConfigRequest, GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest,
};
use nuncio_wire::{Request, Response, TaskPushNotificationConfig};
use serde_json::json;

use crate::agent::connect;
use crate::client_settings::{
    AgentOptions, OutputOptions, WaitOptions, agent_settings, wait_settings,
};
use crate::commands::exchange::with_card;
use crate::commands::send::push::{PushFlags, require};
use crate::commands::session::Session;
use crate::commands::wait::{cut_short, within};
use crate::exit_code::ExitCode;
use crate::output::{CliError, Fields};

/// The webhooks of a task.
#[derive(Debug, Subcommand)]
pub(crate) enum PushConfigCommand {
    /// Register a webhook: the agent posts the task's events there from now on.
    Create(CreateArgs),
    /// Show one webhook.
    Get(OneArgs),
    /// List the webhooks of a task.
    List(ListArgs),
    /// Take a webhook away: nothing more is posted there.
    Delete(OneArgs),
}

/// A new webhook.
#[derive(Debug, Args)]
pub(crate) struct CreateArgs {
    /// The task's id.
    #[arg(value_name = "TASK")]
    task_id: String,
    /// Id of the webhook; one that has it is replaced [default: the agent chooses]
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    #[command(flatten)]
    push: PushFlags,
    #[command(flatten)]
    common: CommonArgs,
}

/// One webhook.
#[derive(Debug, Args)]
pub(crate) struct OneArgs {
    /// The task's id.
    #[arg(value_name = "TASK")]
    task_id: String,
    /// The webhook's id.
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    common: CommonArgs,
}

/// The webhooks of a task.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// The task's id.
    #[arg(value_name = "TASK")]
    task_id: String,
    /// Webhooks on a page.
    #[arg(long, value_name = "NUMBER")]
    page_size: Option<i32>,
    /// The page to show: the token that the page before ended with.
    #[arg(long, value_name = "TOKEN")]
    page_token: Option<String>,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Debug, Args)]
struct CommonArgs {
    #[command(flatten)]
    agent: AgentOptions,
    #[command(flatten)]
    wait: WaitOptions,
    #[command(flatten)]
    output: OutputOptions,
}

/// Runs the command.
pub(crate) async fn run(command: PushConfigCommand) -> ExitCode {
    let common = match &command {
        PushConfigCommand::Create(args) => &args.common,
        PushConfigCommand::Get(args) | PushConfigCommand::Delete(args) => &args.common,
        PushConfigCommand::List(args) => &args.common,
    };
    let session = match Session::begin(&common.output) {
        Ok(session) => session,
        Err(code) => return code,
    };
    let result = match request(&command, &session) {
        Ok(request) => ask(&session, common, request).await,
        Err(error) => Err(error),
    };
    session.end(result)
}

fn request(command: &PushConfigCommand, session: &Session) -> Result<Request, CliError> {
    Ok(match command {
        PushConfigCommand::Create(args) => {
            let config = args.push.read(&session.layers)?;
            let config = config
                .ok_or_else(|| CliError::usage("no address to post to: give --push-url URL"))?;
            Request::CreateTaskPushNotificationConfig(TaskPushNotificationConfig {
                task_id: Some(args.task_id.clone()),
                id: args.id.clone(),
                ..config
            })
        }
        PushConfigCommand::Get(args) => {
            Request::GetTaskPushNotificationConfig(GetTaskPushNotificationConfigRequest {
                tenant: None,
                task_id: args.task_id.clone(),
                id: args.id.clone(),
            })
        }
        PushConfigCommand::Delete(args) => {
            Request::DeleteTaskPushNotificationConfig(DeleteTaskPushNotificationConfigRequest {
                tenant: None,
                task_id: args.task_id.clone(),
                id: args.id.clone(),
            })
        }
        PushConfigCommand::List(args) => {
            Request::ListTaskPushNotificationConfigs(ListTaskPushNotificationConfigsRequest {
                tenant: None,
                task_id: args.task_id.clone(),
                page_size: args.page_size,
                page_token: args.page_token.clone(),
            })
        }
    })
}

async fn ask(session: &Session, common: &CommonArgs, request: Request) -> Result<(), CliError> {
    let agent = agent_settings(&common.agent, &session.layers)?;
    let wait = wait_settings(&common.wait, &session.layers)?;
    let asking = async {
        let client = connect(&agent).await?;
        require(&client)?;
        let answer = client.call(request).await;
        answer.map_err(|error| with_card(error, &client))
    };
    let answer = within(wait.timeout, asking).await;
    let output = session.output;
    match cut_short(answer, &TaskView::default(), &agent)?? {
        Response::PushConfig(config) => {
            let config = without_secrets(config);
            output.result(&config, || as_text(&config));
        }
        Response::PushConfigs(mut page) => {
            page.configs = page.configs.into_iter().map(without_secrets).collect();
            output.result(&page, || {
                let mut text: String = page.configs.iter().map(|it| as_text(it) + "\n").collect();
                let mut fields = Fields::default();
                fields.field("Webhooks", &page.configs.len().to_string());
                if !page.next_page_token.is_empty() {
                    fields.field("Next Page Token", &page.next_page_token);
                }
                text.push_str(&fields.finish());
                text
            });
        }
        Response::Deleted => output.result(&json!({}), || "Deleted\n".to_owned()),
        _ => return Err(CliError::internal("the answer is of another call")),
    }
    Ok(())
}

/// What may stand on a screen and in a log.
fn without_secrets(config: TaskPushNotificationConfig) -> TaskPushNotificationConfig {
    const HIDDEN: &str = "[secret]";
    TaskPushNotificationConfig {
        token: config.token.map(|_| HIDDEN.to_owned()),
        authentication: config.authentication.map(|mut authentication| {
            authentication.credentials = authentication.credentials.map(|_| HIDDEN.to_owned());
            authentication
        }),
        ..config
    }
}

fn as_text(config: &TaskPushNotificationConfig) -> String {
    let mut fields = Fields::default();
    fields.optional("ID", config.id.as_deref());
    fields.optional("Task ID", config.task_id.as_deref());
    fields.field("URL", &config.url);
    let scheme = config.authentication.as_ref().map(|it| it.scheme.as_str());
    fields.optional("Authentication", scheme);
    fields.finish()
}
