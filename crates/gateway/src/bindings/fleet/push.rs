//! Push configurations over REST, behind the key that the operator has set for them.

use http::StatusCode;
use nuncio_wire::dialects::hermes_fleet;
use nuncio_wire::operation::{
    GetTaskPushNotificationConfigRequest, ListTaskPushNotificationConfigsRequest,
};
use nuncio_wire::{A2aError, ErrorKind, Method, Request, Response};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::HMAC_KEY;
use super::desk::{Desk, unexpected};
use super::rest::answered;
use crate::bindings::answer;
use crate::operations::Reply;
use crate::serve::{Body, HttpResponse};

impl Desk<'_> {
    /// Refuses whoever does not show the key, on every operation; all may where there is none.
    pub(super) fn check_hmac_key(&self) -> Result<(), A2aError> {
        let key = self.operations.config().push.fleet_key.as_ref();
        let Some(expected) = key.and_then(|key| key.secret()) else {
            return Ok(());
        };
        let shown = self.head.headers.get(HMAC_KEY);
        // Hashes have one length, so the comparison tells nothing of the key's.
        let digest = |bytes: &[u8]| Sha256::digest(bytes);
        let matches = shown.is_some_and(|shown| {
            let (shown, expected) = (
                digest(shown.as_bytes()),
                digest(expected.expose().as_bytes()),
            );
            shown.ct_eq(&expected).into()
        });
        if matches {
            return Ok(());
        }
        let text = "Push configurations need the operator's key: send X-HMAC-Key.";
        Err(A2aError::new(ErrorKind::Unauthenticated, text))
    }

    /// One of the four operations on the webhooks of a task.
    pub(super) async fn push_configs(
        &self,
        method: Method,
        task: &str,
        config: Option<&str>,
        body: &str,
    ) -> Result<HttpResponse, A2aError> {
        self.check_hmac_key()?;
        let task_id = self.find(task).await?.id;
        let one = GetTaskPushNotificationConfigRequest {
            tenant: None,
            task_id: task_id.clone(),
            id: config.unwrap_or_default().to_owned(),
        };
        let request = match method {
            Method::CreateTaskPushNotificationConfig => {
                let config = hermes_fleet::read_push_config(Some(body), &task_id)?;
                Request::CreateTaskPushNotificationConfig(config)
            }
            Method::ListTaskPushNotificationConfigs => {
                Request::ListTaskPushNotificationConfigs(ListTaskPushNotificationConfigsRequest {
                    tenant: None,
                    task_id,
                    page_size: None,
                    page_token: None,
                })
            }
            Method::GetTaskPushNotificationConfig => Request::GetTaskPushNotificationConfig(one),
            Method::DeleteTaskPushNotificationConfig => {
                // One that is not there is an error here.
                let known = Request::GetTaskPushNotificationConfig(one.clone());
                self.run_push(known).await?;
                Request::DeleteTaskPushNotificationConfig(one)
            }
            _ => return Err(unexpected()),
        };
        let response = self.run_push(request).await?;
        if matches!(response, Response::Deleted) {
            let mut response = http::Response::new(Body::empty());
            *response.status_mut() = StatusCode::NO_CONTENT;
            let headers = response.headers_mut();
            headers.insert(answer::A2A_VERSION, answer::V1_0);
            return Ok(response);
        }
        let mut answer = answered(method, &under(task, response));
        if method == Method::CreateTaskPushNotificationConfig {
            *answer.status_mut() = StatusCode::CREATED;
        }
        Ok(answer)
    }

    async fn run_push(&self, request: Request) -> Result<Response, A2aError> {
        match self.operations.run(self.asked("")?, request).await? {
            Reply::Answer(response) => Ok(response),
            _ => Err(unexpected()),
        }
    }
}

/// The configurations under the id that their task was asked by.
fn under(task: &str, mut response: Response) -> Response {
    let configs = match &mut response {
        Response::PushConfig(config) => std::slice::from_mut(config),
        Response::PushConfigs(page) => &mut page.configs[..],
        _ => &mut [],
    };
    for config in configs {
        config.task_id = Some(task.to_owned());
    }
    response
}
