//! JSON-RPC of this dialect, at its own address and where it is recognised at one of 1.0.

use http::StatusCode;
use http::header::USER_AGENT;
use nuncio_wire::bindings::jsonrpc::{self, Call};
use nuncio_wire::dialects::Dialect;
use nuncio_wire::dialects::hermes_fleet;
use nuncio_wire::operation::SendMessageResponse;
use nuncio_wire::{A2aError, Method, Request, Response};
use std::sync::Arc;

use super::desk::{Desk, unexpected};
use super::error;
use super::events::Opened;
use crate::agents::ServedAgent;
use crate::bindings::answer;
use crate::ids;
use crate::operations::Operations;
use crate::serve::HttpResponse;
use crate::serve::service::{Head, header};

/// One JSON-RPC request to `agent`.
pub async fn serve(
    operations: &Operations,
    head: &Head<'_>,
    agent: Arc<ServedAgent>,
    body: &[u8],
) -> HttpResponse {
    match jsonrpc::read_call(body) {
        Ok(call) => serve_call(operations, head, agent, &call).await,
        Err(refused) => error(&refused.id, &refused.error),
    }
}

/// Whether a call to an address of 1.0 is of this dialect.
pub(in crate::bindings) fn is_asked(
    operations: &Operations,
    head: &Head<'_>,
    call: &Call<'_>,
) -> bool {
    let user_agent = header(head.headers, &USER_AGENT);
    operations.config().compat.fleet
        && hermes_fleet::is_spoken(&call.method, call.params, user_agent)
}

/// Answers a call that was read.
pub(in crate::bindings) async fn serve_call(
    operations: &Operations,
    head: &Head<'_>,
    agent: Arc<ServedAgent>,
    call: &Call<'_>,
) -> HttpResponse {
    let desk = Desk {
        operations,
        head,
        agent,
    };
    match desk.run(call).await {
        Ok(Answered::Result(method, response)) => {
            let mut body = Vec::with_capacity(512);
            jsonrpc::write_result(&call.id, &mut body, |out| {
                Dialect::Fleet.write_response(method, &response, out);
            });
            answer::json(StatusCode::OK, body)
        }
        Ok(Answered::Stream(opened)) => opened.into_response(),
        Err(refused) => error(&call.id, &refused),
    }
}

enum Answered {
    Result(Method, Response),
    Stream(Opened),
}

impl Desk<'_> {
    async fn run(&self, call: &Call<'_>) -> Result<Answered, A2aError> {
        let method = hermes_fleet::method(&call.method)?;
        call.refuse_notification()?;
        if method == Method::SendMessage {
            let send = hermes_fleet::read_send(call.params, &ids::new_id())?;
            let payload = call.params.unwrap_or_default();
            let task = self.send(send, payload).await?;
            let answer = Response::SendMessage(SendMessageResponse::Task(task));
            return Ok(Answered::Result(method, answer));
        }
        let response = match Dialect::Fleet.read_request(method, call.params)? {
            Request::GetTask(request) => Response::Task(self.get(&request.id).await?),
            Request::CancelTask(request) => Response::Task(self.cancel(&request.id).await?),
            Request::ListTasks(request) => self.list(request).await?,
            Request::SubscribeToTask(request) => {
                return Ok(Answered::Stream(self.subscribe(&request.id).await?));
            }
            _ => return Err(unexpected()),
        };
        Ok(Answered::Result(method, response))
    }
}
