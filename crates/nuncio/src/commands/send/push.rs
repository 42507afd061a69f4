//! The push flags of `send`: where the agent is to post what becomes of the task. Whoever listens
//! there is no business of this command, which waits for its answer all the same.

use clap::Args;
use nuncio_client::Client;
use nuncio_wire::TaskPushNotificationConfig;
use url::Url;

use crate::client_settings::{Layers, text_setting};
use crate::output::CliError;

#[derive(Debug, Args)]
pub(crate) struct PushFlags {
    /// Have the agent post the task's events to this address, too [env: A2ACLI_PUSH_URL]
    #[arg(long, value_name = "URL")]
    push_url: Option<String>,
    /// What the agent shows there in X-A2A-Notification-Token. On a command line it is seen in the
    /// process table: prefer the variable [env: A2ACLI_PUSH_TOKEN]
    #[arg(long, value_name = "TOKEN", hide_env_values = true)]
    push_token: Option<String>,
}

impl PushFlags {
    /// The configuration that goes out with the message (specification 3.2.2).
    pub(crate) fn read(
        &self,
        layers: &Layers,
    ) -> Result<Option<TaskPushNotificationConfig>, CliError> {
        let Some(url) = text_setting(self.push_url.as_ref(), "push-url", layers) else {
            if self.push_token.is_some() {
                let error = CliError::usage("--push-token is for --push-url, which is missing");
                return Err(error.with_hint("give --push-url, the address to post to"));
            }
            return Ok(None);
        };
        Url::parse(&url).map_err(|error| CliError::usage(format!("--push-url {url}: {error}")))?;
        Ok(Some(TaskPushNotificationConfig {
            tenant: None,
            id: None,
            task_id: None,
            url,
            token: text_setting(self.push_token.as_ref(), "push-token", layers),
            authentication: None,
            metadata: None,
        }))
    }
}

/// Nothing is sent to an agent that would leave the address alone (a2a-cli specification 13.3).
pub(crate) fn require(client: &Client) -> Result<(), CliError> {
    if client.card().capabilities.push_notifications == Some(true) {
        return Ok(());
    }
    let text = "the agent sends no push notifications (capabilities.pushNotifications of its card)";
    let hint = "leave --push-url out: wait for the answer, or follow it with --stream";
    Err(CliError::usage(text).with_hint(hint))
}
