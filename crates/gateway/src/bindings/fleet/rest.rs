//! REST of this dialect: a path per operation, errors in the envelope of its JSON-RPC.

use http::StatusCode;
use nuncio_wire::bindings::jsonrpc::RequestId;
use nuncio_wire::bindings::rest::Resource;
use nuncio_wire::dialects::Dialect;
use nuncio_wire::dialects::hermes_fleet;
use nuncio_wire::operation::ListTasksRequest;
use nuncio_wire::{A2aError, ErrorKind, Method, Response, Task};
use percent_encoding::percent_decode_str;
use std::sync::Arc;

use super::desk::{Desk, unexpected};
use super::error;
use crate::agents::ServedAgent;
use crate::bindings::answer;
use crate::ids;
use crate::operations::Operations;
use crate::serve::HttpResponse;
use crate::serve::service::Head;

/// Answers one operation; `body` is what was posted.
pub async fn serve_operation(
    operations: &Operations,
    head: &Head<'_>,
    agent: Arc<ServedAgent>,
    (method, resource): (Method, &Resource<'_>),
    body: &[u8],
) -> HttpResponse {
    let desk = Desk {
        operations,
        head,
        agent,
    };
    let served = desk.serve(method, resource, body).await;
    served.unwrap_or_else(|refused| error(&RequestId::null(), &refused))
}

impl Desk<'_> {
    async fn serve(
        &self,
        method: Method,
        resource: &Resource<'_>,
        body: &[u8],
    ) -> Result<HttpResponse, A2aError> {
        let text = || {
            let not_utf8 = |_| A2aError::new(ErrorKind::ParseError, "The body is not UTF-8.");
            std::str::from_utf8(body).map_err(not_utf8)
        };
        Ok(match (method, resource) {
            (Method::SendMessage, _) => {
                let payload = text()?;
                let send = hermes_fleet::read_send(Some(payload), &ids::new_id())?;
                bare(&self.send(send, payload).await?)
            }
            (Method::SendStreamingMessage, _) => {
                let payload = text()?;
                let send = hermes_fleet::read_send(Some(payload), &ids::new_id())?;
                self.stream(send, payload).await?.into_response()
            }
            (Method::GetTask, Resource::Task(id)) => {
                answered(method, &Response::Task(self.get(id).await?))
            }
            (Method::CancelTask, Resource::Cancel(id)) => {
                answered(method, &Response::Task(self.cancel(id).await?))
            }
            (Method::ListTasks, _) => {
                let page = list_request(self.head.query)?;
                answered(method, &self.list(page).await?)
            }
            (Method::SubscribeToTask, Resource::Subscribe(id)) => {
                self.subscribe(id).await?.into_response()
            }
            (Method::GetExtendedAgentCard, _) => answered(method, &self.extended_card().await?),
            (_, Resource::PushConfigs(task)) => {
                self.push_configs(method, task, None, text()?).await?
            }
            (_, Resource::PushConfig(task, config)) => {
                self.push_configs(method, task, Some(config), "").await?
            }
            _ => return Err(unexpected()),
        })
    }
}

fn bare(task: &Task) -> HttpResponse {
    let mut body = Vec::with_capacity(512);
    hermes_fleet::write_task(task, &mut body);
    answer::json(StatusCode::OK, body)
}

pub(super) fn answered(method: Method, response: &Response) -> HttpResponse {
    let mut body = Vec::with_capacity(512);
    Dialect::Fleet.write_response(method, response, &mut body);
    answer::json(StatusCode::OK, body)
}

/// The page that a query asks for. Sizes that are none mean the usual one, as the plugin has it.
fn list_request(query: Option<&str>) -> Result<ListTasksRequest, A2aError> {
    let (mut size, mut token) = (None, None);
    let pairs = query.unwrap_or_default().split('&');
    for (name, value) in pairs.filter_map(|pair| pair.split_once('=')) {
        let value = percent_decode_str(value).decode_utf8();
        let value = value.map_err(|_| A2aError::invalid_field(name, "is not UTF-8"))?;
        match name {
            "page_size" | "pageSize" => size = value.parse().ok(),
            "continuation_token" | "continuationToken" => token = Some(value.into_owned()),
            _ => {}
        }
    }
    Ok(hermes_fleet::list_request(size, token))
}
