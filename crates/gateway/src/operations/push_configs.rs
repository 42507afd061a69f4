//! The four operations on push configurations, and the one inside a send (specification 3.1.7 to
//! 3.1.10). What a caller entrusts to a configuration (token, credentials) is never told again.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use nuncio_store::{Include, NewPushConfig, PushConfig};
use nuncio_wire::dialects::Dialect;
use nuncio_wire::operation::{
    DeleteTaskPushNotificationConfigRequest, GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
};
use nuncio_wire::{A2aError, ErrorKind, Response, TaskPushNotificationConfig};
use std::sync::Arc;

use super::{Asked, Operations, Reply};
use crate::agents::ServedAgent;
use crate::ids;
use crate::tasks::store_error;

/// Where the configuration of a send stands in its parameters.
const INLINE: &str = "configuration.taskPushNotificationConfig.";

impl Operations {
    pub(super) async fn create_push_config(
        &self,
        asked: &Asked,
        config: TaskPushNotificationConfig,
    ) -> Result<Reply, A2aError> {
        require_push(&asked.agent)?;
        let task = config.task_id.clone().unwrap_or_default();
        let new = self.new_push_config(asked, config, "")?;
        self.require_task(asked, &task).await?;
        let store = self.engine.store();
        let kept = store.put_push_config(&task, new).await;
        let kept = kept.map_err(|error| match error {
            nuncio_store::StoreError::NotFound => A2aError::task_not_found(&task),
            error => store_error(error),
        })?;
        self.engine.push().watch(&kept.task);
        Ok(Reply::Answer(Response::PushConfig(shown(
            &kept,
            asked.dialect,
        )?)))
    }

    pub(super) async fn get_push_config(
        &self,
        asked: &Asked,
        request: GetTaskPushNotificationConfigRequest,
    ) -> Result<Reply, A2aError> {
        let mut configs = self.push_configs_of(asked, &request.task_id).await?;
        let found = if request.id.is_empty() {
            // 0.3 may leave the id out: the newest one is meant.
            configs.pop()
        } else {
            configs.into_iter().find(|config| *config.id == *request.id)
        };
        let found = found.ok_or_else(|| no_config(&request.task_id, &request.id))?;
        Ok(Reply::Answer(Response::PushConfig(shown(
            &found,
            asked.dialect,
        )?)))
    }

    pub(super) async fn list_push_configs(
        &self,
        asked: &Asked,
        request: ListTaskPushNotificationConfigsRequest,
    ) -> Result<Reply, A2aError> {
        let mut configs = self.push_configs_of(asked, &request.task_id).await?;
        if let Some(token) = request.page_token.filter(|token| !token.is_empty()) {
            let after = read_page_token(&token)?;
            configs.retain(|config| config.number > after);
        }
        let size = request
            .page_size
            .and_then(|size| usize::try_from(size).ok());
        let mut next_page_token = String::new();
        if let Some(size) = size.filter(|size| *size < configs.len()) {
            configs.truncate(size);
            next_page_token = configs.last().map(page_token).unwrap_or_default();
        }
        let configs = configs
            .iter()
            .map(|kept| shown(kept, asked.dialect))
            .collect::<Result<_, _>>()?;
        Ok(Reply::Answer(Response::PushConfigs(
            ListTaskPushNotificationConfigsResponse {
                configs,
                next_page_token,
            },
        )))
    }

    pub(super) async fn delete_push_config(
        &self,
        asked: &Asked,
        request: DeleteTaskPushNotificationConfigRequest,
    ) -> Result<Reply, A2aError> {
        require_push(&asked.agent)?;
        self.require_task(asked, &request.task_id).await?;
        let (task, id) = (&request.task_id, &request.id);
        let store = self.engine.store();
        // One that is gone already is as good as deleted (specification 3.1.10).
        let _ = store
            .delete_push_config(task, id)
            .await
            .map_err(store_error)?;
        self.engine.push().forget(task, id);
        Ok(Reply::Answer(Response::Deleted))
    }

    /// The configuration that a send brings along, checked.
    pub(super) fn inline_push_config(
        &self,
        asked: &Asked,
        config: Option<TaskPushNotificationConfig>,
    ) -> Result<Option<NewPushConfig>, A2aError> {
        let Some(config) = config else {
            return Ok(None);
        };
        require_push(&asked.agent)?;
        self.new_push_config(asked, config, INLINE).map(Some)
    }

    fn new_push_config(
        &self,
        asked: &Asked,
        config: TaskPushNotificationConfig,
        path: &str,
    ) -> Result<NewPushConfig, A2aError> {
        let push = self.engine.push();
        push.check_url(&config.url, &format!("{path}url"))?;
        let id = config.id.filter(|id| !id.is_empty());
        let id = id.or_else(|| asked.agent.push_config_id());
        let id_is_callers = id.is_some();
        let content = TaskPushNotificationConfig {
            tenant: None,
            id: None,
            task_id: None,
            ..config
        };
        let mut json = Vec::new();
        Dialect::V1.write_response(
            nuncio_wire::operation::Method::GetTaskPushNotificationConfig,
            &Response::PushConfig(content),
            &mut json,
        );
        Ok(NewPushConfig {
            id: id.unwrap_or_else(ids::new_id).into(),
            id_is_callers,
            dialect: asked.dialect,
            config: json.into(),
        })
    }

    async fn push_configs_of(
        &self,
        asked: &Asked,
        task: &str,
    ) -> Result<Vec<PushConfig>, A2aError> {
        require_push(&asked.agent)?;
        self.require_task(asked, task).await?;
        let configs = self.engine.store().push_configs(task).await;
        configs.map_err(store_error)
    }

    /// A task that the caller may not see is not there.
    async fn require_task(&self, asked: &Asked, task: &str) -> Result<(), A2aError> {
        let visibility = asked.caller.visibility(&asked.agent.name);
        let store = self.engine.store();
        let found = store.task(task, &visibility, Include::NOTHING).await;
        match found.map_err(store_error)? {
            Some(_) => Ok(()),
            None => Err(A2aError::task_not_found(task)),
        }
    }
}

/// As callers of a dialect see it: without its secrets.
fn shown(kept: &PushConfig, dialect: Dialect) -> Result<TaskPushNotificationConfig, A2aError> {
    let mut config: TaskPushNotificationConfig =
        serde_json::from_slice(&kept.config).map_err(|error| {
            tracing::error!(%error, task = %kept.task, "a push configuration cannot be read");
            A2aError::new(
                ErrorKind::Internal,
                "This push configuration cannot be read.",
            )
        })?;
    config.id = Some(kept.id.to_string());
    config.task_id = Some(kept.task.to_string());
    config.token = None;
    config.metadata = config.metadata.filter(|_| dialect == Dialect::Fleet);
    if let Some(authentication) = &mut config.authentication {
        authentication.credentials = None;
        if dialect != Dialect::V0_3 {
            authentication.other_schemes.clear();
        }
    }
    Ok(config)
}

/// The one answer to everything about push where it is off, the inline configuration too.
fn require_push(agent: &Arc<ServedAgent>) -> Result<(), A2aError> {
    if agent.config.capabilities.push_notifications {
        return Ok(());
    }
    Err(A2aError::new(
        ErrorKind::PushNotificationNotSupported,
        "This agent sends no push notifications (capabilities.pushNotifications); stream or poll the task.",
    ))
}

fn no_config(task: &str, id: &str) -> A2aError {
    let text = format!("Task {task} has no push configuration '{id}': not found.");
    A2aError::new(ErrorKind::TaskNotFound, text).with("taskId", task)
}

/// A page begins after this configuration. There is nothing in it that its reader may not know.
fn page_token(last: &PushConfig) -> String {
    URL_SAFE_NO_PAD.encode(last.number.to_be_bytes())
}

fn read_page_token(token: &str) -> Result<u64, A2aError> {
    let bytes = URL_SAFE_NO_PAD.decode(token).ok();
    let bytes = bytes.and_then(|bytes| <[u8; 8]>::try_from(bytes).ok());
    bytes.map(u64::from_be_bytes).ok_or_else(|| {
        let text = "is not a token of this list: repeat the request that gave it";
        A2aError::invalid_field("pageToken", text)
    })
}
