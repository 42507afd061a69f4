//! `--webhook`: a listener of this process that the agent posts a task's events to, and the wait
//! that is led by them. A post is a hint: the task is asked for when none comes, and at the end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use nuncio_client::{Client, Pace, RefusedPosts, TaskView, WebhookKeys, WebhookReceiver};
use nuncio_wire::operation::{DeleteTaskPushNotificationConfigRequest, GetTaskRequest};
use nuncio_wire::{Request, Response, StreamResponse, TaskPushNotificationConfig};
use url::Url;

use crate::client_settings::{Layers, repeated};
use crate::commands::exchange::with_card;
use crate::commands::wait::Watcher;
use crate::output::{self, CliError};

/// How long no post may come before the task is asked for, unless a pace is set.
const QUIET: Duration = Duration::from_secs(15);
/// How long the end of a command may take to delete what it registered.
const GOODBYE: Duration = Duration::from_secs(5);
/// The secrets, as the layers name them.
const SECRET_SETTING: &str = "webhook-secret";

#[derive(Debug, Args)]
#[command(next_help_heading = "Webhook")]
pub(crate) struct WebhookFlags {
    /// Have the agent post the task's events to this command, which listens there while it waits
    /// [default: a free port of 127.0.0.1]
    #[arg(long, value_name = "IP:PORT", num_args = 0..=1, require_equals = true,
        default_missing_value = "127.0.0.1:0")]
    webhook: Option<SocketAddr>,
    /// Where the agent reaches that listener, if a tunnel or a proxy stands in front of it
    #[arg(long, value_name = "URL", requires = "webhook")]
    webhook_url: Option<Url>,
    /// What the agent signs its posts with; others are refused. `whsec_…` or `whpk_…` for Standard
    /// Webhooks, anything else for X-A2A-Signature; repeatable. On a command line it is seen in the
    /// process table: prefer the variable [env: A2ACLI_WEBHOOK_SECRET]
    #[arg(
        long,
        value_name = "SECRET",
        requires = "webhook",
        hide_env_values = true
    )]
    webhook_secret: Vec<String>,
}

impl WebhookFlags {
    /// Begins to listen, if that is wanted.
    pub(crate) async fn listen(
        &self,
        layers: &Layers,
    ) -> Result<Option<WebhookReceiver>, CliError> {
        let Some(address) = self.webhook else {
            return Ok(None);
        };
        let mut keys = WebhookKeys::default();
        let take = |secret: &str| Ok(secret.to_owned());
        for secret in repeated(&self.webhook_secret, SECRET_SETTING, layers, take)? {
            keys.add(&secret).map_err(|error| {
                CliError::usage(format!("--{SECRET_SETTING}: {error}"))
                    .with_hint("an agent of nuncio signs with `push.signing_keys` or `push.secret`")
            })?;
        }
        let public = self.webhook_url.as_ref();
        if !address.ip().is_loopback() && public.is_none() {
            output::warn("--webhook: other machines can reach the listener, without TLS");
        }
        let receiver = WebhookReceiver::listen(address, public, keys).await;
        receiver.map(Some).map_err(|error| {
            CliError::usage(format!("--webhook: cannot listen at {address}: {error}"))
                .with_hint("give another address, or none for a free port")
        })
    }
}

/// A configuration that the agent keeps for us.
pub(crate) struct Registered {
    client: Arc<Client>,
    task_id: String,
    id: String,
}

impl Registered {
    /// What was registered with this task. The agent may have chosen another id than ours.
    pub(crate) fn new(
        client: &Arc<Client>,
        task_id: &str,
        config: &TaskPushNotificationConfig,
    ) -> Option<Self> {
        Some(Self {
            client: client.clone(),
            task_id: task_id.to_owned(),
            id: config.id.clone()?,
        })
    }

    /// Deletes it. Nobody listens there any more, whether or not that works.
    pub(crate) async fn delete(self) {
        let request = DeleteTaskPushNotificationConfigRequest {
            tenant: None,
            task_id: self.task_id,
            id: self.id,
        };
        let deleting = self
            .client
            .call(Request::DeleteTaskPushNotificationConfig(request));
        match tokio::time::timeout(GOODBYE, deleting).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::debug!(%error, "the webhook stays registered"),
            Err(_) => tracing::debug!("the webhook stays registered: no answer in time"),
        }
    }
}

/// Says that posts were refused: the events came to nothing, or somebody else posts.
pub(crate) fn tell_refused(refused: RefusedPosts) {
    let RefusedPosts {
        strange,
        unsigned,
        wrong,
        stale,
    } = refused;
    let reasons = [
        (strange, "without the token"),
        (unsigned, "without a signature"),
        (wrong, "signed with another key"),
        (stale, "not signed just now"),
    ];
    let reasons: Vec<_> = reasons.iter().filter(|(count, _)| *count > 0).collect();
    if reasons.is_empty() {
        return;
    }
    let all: u64 = reasons.iter().map(|(count, _)| count).sum();
    let listed = reasons.iter().map(|(count, why)| format!("{count} {why}"));
    let listed = listed.collect::<Vec<_>>().join(", ");
    output::warn(&format!("--webhook: {all} posts were refused ({listed})"));
}

/// Waits until the task is settled, led by what is posted.
pub(crate) async fn follow(
    client: &Client,
    receiver: &mut WebhookReceiver,
    pace: Pace,
    view: &mut TaskView,
    watcher: &mut Watcher,
) -> Result<(), CliError> {
    let Some(id) = view.task().map(|task| task.id.clone()) else {
        return Ok(());
    };
    let quiet = if pace.ramp { QUIET } else { pace.interval };
    while !view.is_settled() {
        match tokio::time::timeout(quiet, receiver.next()).await {
            Ok(event) if task_of(&event) == Some(&id) => take(&event, view, watcher),
            Ok(_) => tracing::debug!("something about another task was posted"),
            Err(_) => {
                let task = look(client, &id).await?;
                take(&StreamResponse::Task(task), view, watcher);
            }
        }
    }
    // Of what was posted, something may be missing.
    view.apply(&StreamResponse::Task(look(client, &id).await?));
    Ok(())
}

/// Takes an event into the picture and shows it, unless it says nothing new.
fn take(event: &StreamResponse, view: &mut TaskView, watcher: &mut Watcher) {
    let is_known = match (event, view.task()) {
        (StreamResponse::Task(new), Some(known)) => {
            new.status == known.status && new.artifacts == known.artifacts
        }
        _ => false,
    };
    view.apply(event);
    if !is_known {
        watcher.event(event, view);
    }
}

fn task_of(event: &StreamResponse) -> Option<&String> {
    match event {
        StreamResponse::Task(task) => Some(&task.id),
        StreamResponse::StatusUpdate(update) => Some(&update.task_id),
        StreamResponse::ArtifactUpdate(update) => Some(&update.task_id),
        StreamResponse::Message(message) => message.task_id.as_ref(),
    }
}

/// The task as the agent has it.
pub(crate) async fn look(client: &Client, task_id: &str) -> Result<nuncio_wire::Task, CliError> {
    let request = GetTaskRequest {
        tenant: None,
        id: task_id.to_owned(),
        history_length: None,
    };
    match client.call(Request::GetTask(request)).await {
        Ok(Response::Task(task)) => Ok(task),
        Ok(_) => Err(CliError::internal("the answer is of another call")),
        Err(error) => Err(with_card(error, client)),
    }
}
