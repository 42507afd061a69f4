//! `task subscribe`: attaches to a task's stream and stays until the task is settled; takes the
//! stream up again when it breaks.

use std::sync::Arc;

use clap::Args;
use nuncio_client::{Client, Follow, TaskView, WebhookReceiver};
use nuncio_wire::dialects::Dialect;
use nuncio_wire::{ErrorKind, Request, Response, StreamResponse, TaskPushNotificationConfig};

use crate::agent::connect;
use crate::client_settings::{
    AgentOptions, AgentSettings, OutputOptions, WaitOptions, WaitSettings, agent_settings,
    wait_settings,
};
use crate::commands::exchange::with_card;
use crate::commands::send::push::require;
use crate::commands::session::Session;
use crate::commands::wait::{Final, Watcher, about, cut_short, show, within};
use crate::commands::webhook::{self, Registered, WebhookFlags};
use crate::exit_code::ExitCode;
use crate::output::{self, CliError};

/// Attach to a running task until it is done or needs something.
#[derive(Debug, Args)]
pub(crate) struct SubscribeArgs {
    /// The task's id.
    #[arg(value_name = "TASK")]
    task_id: String,
    #[command(flatten)]
    webhook: WebhookFlags,
    #[command(flatten)]
    agent: AgentOptions,
    #[command(flatten)]
    wait: WaitOptions,
    #[command(flatten)]
    output: OutputOptions,
}

/// Runs the command.
pub(crate) async fn run(args: SubscribeArgs) -> ExitCode {
    let session = match Session::begin(&args.output) {
        Ok(session) => session,
        Err(code) => return code,
    };
    let settings = agent_settings(&args.agent, &session.layers)
        .and_then(|agent| Ok((agent, wait_settings(&args.wait, &session.layers)?)));
    let result = match settings {
        Ok((agent, wait)) => match args.webhook.listen(&session.layers).await {
            Ok(receiver) => subscribe(&session, &args.task_id, &agent, wait, receiver).await,
            Err(error) => Err(error),
        },
        Err(error) => Err(error),
    };
    session.end(result)
}

async fn subscribe(
    session: &Session,
    task_id: &str,
    agent: &AgentSettings,
    wait: WaitSettings,
    receiver: Option<WebhookReceiver>,
) -> Result<(), CliError> {
    let mut view = TaskView::default();
    let mut watcher = Watcher::new(session);
    let mut registered = None;
    let ended = match receiver {
        None => {
            let work = follow(session, task_id, agent, wait, &mut view, &mut watcher);
            within(wait.timeout, work).await
        }
        Some(mut receiver) => {
            let client = Arc::new(connect(agent).await?);
            let work = async {
                registered = register(&client, task_id, receiver.config()).await?;
                // What came before the registration is not posted.
                let task = StreamResponse::Task(webhook::look(&client, task_id).await?);
                view.apply(&task);
                watcher.event(&task, &view);
                let (view, watcher) = (&mut view, &mut watcher);
                webhook::follow(&client, &mut receiver, wait.pace, view, watcher).await
            };
            let ended = within(wait.timeout, work).await;
            webhook::tell_refused(receiver.refused());
            ended
        }
    };
    if let Some(registered) = registered {
        registered.delete().await;
    }
    watcher.close(&view);
    cut_short(ended, &view, agent)?.map_err(|error| about(error, &view, agent))?;
    show(session, view, Final::Task, agent);
    Ok(())
}

/// Has the agent post the task's events to our listener.
async fn register(
    client: &Arc<Client>,
    task_id: &str,
    config: &TaskPushNotificationConfig,
) -> Result<Option<Registered>, CliError> {
    require(client)?;
    let request = Request::CreateTaskPushNotificationConfig(TaskPushNotificationConfig {
        task_id: Some(task_id.to_owned()),
        ..config.clone()
    });
    match client.call(request).await {
        Ok(Response::PushConfig(kept)) => Ok(Registered::new(client, task_id, &kept)),
        Ok(_) => Err(CliError::internal("the answer is of another call")),
        Err(error) => Err(with_card(error, client)),
    }
}

async fn follow(
    session: &Session,
    task_id: &str,
    agent: &AgentSettings,
    wait: WaitSettings,
    view: &mut TaskView,
    watcher: &mut Watcher,
) -> Result<(), CliError> {
    let client = connect(agent).await?;
    // Streams of 0.3 need not begin with the task, and are refused in many ways at its end.
    if client.endpoint().dialect == Dialect::V0_3 {
        *view = TaskView::of(webhook::look(&client, task_id).await?);
    }
    let opened = if view.is_settled() {
        Ok(None)
    } else if client.can_stream() {
        client.subscribe(task_id, None).await.map(Some)
    } else {
        if session.stream {
            output::warn("the agent does not stream: asking for the task instead");
        }
        Ok(None)
    };
    let stream = match opened {
        Ok(stream) => stream,
        // A task at its end has no stream any more, but it can be looked at.
        Err(error) if error.is_protocol(ErrorKind::UnsupportedOperation) => None,
        Err(error) if error.as_protocol().is_some() && view.task().is_some() => None,
        Err(error) => return Err(with_card(error, &client)),
    };
    if stream.is_none() && view.task().is_none() {
        *view = TaskView::of(webhook::look(&client, task_id).await?);
    }
    if let Some(task) = view.task().cloned() {
        watcher.event(&StreamResponse::Task(task), view);
    }
    let follow = Follow {
        client: &client,
        pace: wait.pace,
        stream_errors_end: session.stream,
        observe: &mut |progress, view| watcher.observe(progress, view),
    };
    follow
        .run(view, stream)
        .await
        .map_err(|error| with_card(error, &client))
}
