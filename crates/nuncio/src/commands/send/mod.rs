//! `send`: one message to an agent, and its answer: waited for, streamed, or left to itself.
//!
//! Keeps nothing between runs; ids come from flags and from the server, never from here.

mod parts;
pub(crate) mod push;

use std::sync::Arc;

use clap::Args;
use nuncio_client::{Client, Progress, TaskView, WebhookReceiver, new_message_id};
use nuncio_wire::operation::SendMessageRequest;
use nuncio_wire::{Message, Metadata, Role};

use crate::agent::connect;
use crate::client_settings::{
    AgentOptions, AgentSettings, OutputOptions, WaitOptions, WaitSettings, agent_settings, switch,
    text_setting, wait_settings,
};
use crate::commands::exchange::Exchange;
use crate::commands::session::Session;
use crate::commands::wait::{Final, Watcher, about, cut_short, show, within};
use crate::commands::webhook::{Registered, WebhookFlags, follow, tell_refused};
use crate::exit_code::ExitCode;
use crate::output::CliError;

/// Send a message to an agent and wait for its answer.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  nuncio send -a https://agents.example.org \"What is new?\"
  nuncio send -a localhost:8081 --text \"Review this\" --file main.rs -o json
  nuncio send -a localhost:8081 --task-id TASK \"Yes, go on\"
  nuncio send -a localhost:8081 --async --push-url https://hooks.example.org/a2a \"Report\"")]
pub(crate) struct SendArgs {
    #[command(flatten)]
    parts: parts::PartFlags,
    /// Begin a new task in this context [env: A2ACLI_CONTEXT_ID]
    #[arg(long, value_name = "ID")]
    context_id: Option<String>,
    /// Continue this task [env: A2ACLI_TASK_ID]
    #[arg(long, value_name = "ID")]
    task_id: Option<String>,
    /// Metadata of the request, a JSON object [env: A2ACLI_METADATA]
    #[arg(long, value_name = "JSON")]
    metadata: Option<String>,
    /// Return as soon as the task has an id [env: A2ACLI_ASYNC]
    #[arg(long = "async", aliases = ["return-immediately", "no-wait"], conflicts_with_all = ["wait", "stream"])]
    return_immediately: bool,
    #[command(flatten)]
    push: push::PushFlags,
    #[command(flatten)]
    webhook: WebhookFlags,
    #[command(flatten)]
    agent: AgentOptions,
    #[command(flatten)]
    wait: WaitOptions,
    #[command(flatten)]
    output: OutputOptions,
}

/// Everything that is known before the first byte is sent.
struct Plan {
    agent: AgentSettings,
    wait: WaitSettings,
    request: SendMessageRequest,
    /// Where the events come to, if not by a stream.
    receiver: Option<WebhookReceiver>,
}

impl Plan {
    fn exchange<'a>(&'a self, client: &'a Client, wants_stream: bool) -> Exchange<'a> {
        Exchange {
            client,
            request: &self.request,
            pace: self.wait.pace,
            wants_stream,
        }
    }
}

/// Runs the command.
pub(crate) async fn run(args: SendArgs) -> ExitCode {
    let session = match Session::begin(&args.output) {
        Ok(session) => session,
        Err(code) => return code,
    };
    let result = match plan(&args, &session).await {
        Ok(plan) => send(&session, plan).await,
        Err(error) => Err(error),
    };
    session.end(result)
}

async fn plan(args: &SendArgs, session: &Session) -> Result<Plan, CliError> {
    let layers = &session.layers;
    let agent = agent_settings(&args.agent, layers)?;
    let wait = wait_settings(&args.wait, layers)?;
    let mut message = Message::new(new_message_id(), Role::User, args.parts.read()?);
    message.context_id = text_setting(args.context_id.as_ref(), "context-id", layers);
    message.task_id = text_setting(args.task_id.as_ref(), "task-id", layers);
    let mut request = SendMessageRequest::new(message);
    let metadata = text_setting(args.metadata.as_ref(), "metadata", layers);
    request.metadata = metadata.map(|text| read_metadata(&text)).transpose()?;
    request.configuration.task_push_notification_config = args.push.read(layers)?;
    // A wait that a flag asks for beats a variable that asks for none.
    let leave = switch(args.return_immediately, "async", layers)? && !args.wait.wait;
    request.configuration.return_immediately =
        !session.stream && (leave || wait.wait == Some(false));
    let receiver = args.webhook.listen(layers).await?;
    if let Some(receiver) = &receiver {
        if leave
            || request
                .configuration
                .task_push_notification_config
                .is_some()
        {
            let text = "--webhook waits for what comes to a listener of its own";
            let error = CliError::usage(text);
            return Err(error.with_hint("leave --async and --push-url out, or --webhook"));
        }
        let config = receiver.config().clone();
        request.configuration.task_push_notification_config = Some(config);
        request.configuration.return_immediately = true;
    }
    Ok(Plan {
        agent,
        wait,
        request,
        receiver,
    })
}

pub(crate) fn read_metadata(text: &str) -> Result<Metadata, CliError> {
    Metadata::parse(text)
        .map_err(|error| CliError::usage(format!("--metadata must be a JSON object: {error}")))
}

async fn send(session: &Session, mut plan: Plan) -> Result<(), CliError> {
    let mut view = TaskView::default();
    let mut watcher = Watcher::new(session);
    let timeout = plan.wait.timeout;
    let mut registered = None;
    let ended = match plan.receiver.take() {
        None => within(timeout, exchange(session, &plan, &mut view, &mut watcher)).await,
        Some(mut receiver) => {
            let client = connect(&plan.agent).await?;
            let client = Arc::new(client);
            let work = async {
                push::require(&client)?;
                let mut observe =
                    |progress: Progress<'_>, view: &TaskView| watcher.observe(progress, view);
                let exchange = plan.exchange(&client, session.stream);
                exchange.ask(&mut view, &mut observe).await?;
                registered = view
                    .task()
                    .and_then(|task| Registered::new(&client, &task.id, receiver.config()));
                let pace = plan.wait.pace;
                follow(&client, &mut receiver, pace, &mut view, &mut watcher).await
            };
            let ended = within(timeout, work).await;
            tell_refused(receiver.refused());
            ended
        }
    };
    if let Some(registered) = registered {
        registered.delete().await;
    }
    watcher.close(&view);
    let sent = cut_short(ended, &view, &plan.agent)?;
    sent.map_err(|error| about(explain(error, &plan), &view, &plan.agent))?;
    show(session, view, Final::Answer, &plan.agent);
    Ok(())
}

/// Sends the message and waits for the end, as far as that was asked for.
async fn exchange(
    session: &Session,
    plan: &Plan,
    view: &mut TaskView,
    watcher: &mut Watcher,
) -> Result<(), CliError> {
    let client = connect(&plan.agent).await?;
    let configuration = &plan.request.configuration;
    if configuration.task_push_notification_config.is_some() {
        push::require(&client)?;
    }
    let exchange = plan.exchange(&client, session.stream);
    let mut observe = |progress: Progress<'_>, view: &TaskView| watcher.observe(progress, view);
    if configuration.return_immediately {
        return exchange.ask(view, &mut observe).await;
    }
    exchange.run(view, &mut observe).await
}

/// A refused id is shown as it came, with the way to see more (a2a-cli specification 8.1).
fn explain(error: CliError, plan: &Plan) -> CliError {
    let message = &plan.request.message;
    if error.is_protocol() && (message.task_id.is_some() || message.context_id.is_some()) {
        return error.or_hint(|| {
            "the agent refused the message, and no new task was made; run it again with --debug to see how"
                .to_owned()
        });
    }
    error
}
