//! Calls in 1.0 about a task that was made in this dialect are answered in it, whatever the caller
//! shows: clients of the plugin read nothing else.

use http::StatusCode;
use nuncio_wire::bindings::jsonrpc::{self, Call};
use nuncio_wire::dialects::Dialect;
use nuncio_wire::{A2aError, ErrorKind, Method, Request, Response};
use std::sync::Arc;

use super::events::Opened;
use super::json_rpc::serve_call;
use crate::agents::ServedAgent;
use crate::bindings::answer;
use crate::operations::{Operations, Reply};
use crate::serve::HttpResponse;
use crate::serve::service::Head;

/// Looks at what a call in 1.0 led to.
pub(in crate::bindings) struct Follower<'a> {
    pub(in crate::bindings) operations: &'a Operations,
    pub(in crate::bindings) head: &'a Head<'a>,
    pub(in crate::bindings) agent: &'a Arc<ServedAgent>,
    pub(in crate::bindings) call: &'a Call<'a>,
}

/// A reply with the extensions in force for it, or a refusal.
type Served = Result<(Reply, Vec<String>), A2aError>;

impl Follower<'_> {
    /// The answer, if the call was about a task of this dialect; else what it led to.
    pub(in crate::bindings) async fn take(
        &self,
        method: Method,
        served: Served,
    ) -> Result<HttpResponse, Served> {
        match served {
            _ if !self.operations.config().compat.fleet => Err(served),
            Ok((Reply::AnswerFrom(Response::Task(mut task), Dialect::Fleet), _)) => {
                task.id = self.id_shown(task.id).await;
                let mut body = Vec::with_capacity(512);
                jsonrpc::write_result(&self.call.id, &mut body, |out| {
                    Dialect::Fleet.write_response(method, &Response::Task(task), out);
                });
                Ok(answer::json(StatusCode::OK, body))
            }
            Ok((Reply::Stream(subscription, Dialect::Fleet), _)) => {
                let id = self.id_shown(subscription.task().id).await;
                Ok(Opened::Live(subscription, id).into_response())
            }
            // Boxed, so that what succeeds does not carry room for it.
            Err(refused) => match Box::pin(self.ask_again(&refused)).await {
                Some(response) => Ok(response),
                None => Err(Err(refused)),
            },
            others => Err(others),
        }
    }

    /// What the caller calls a task of which the gateway's own id is known.
    async fn id_shown(&self, id: String) -> String {
        let found = self
            .operations
            .locate_at(&self.head.caller, self.agent, &id);
        let alias = found.await.ok().and_then(|located| located.alias);
        alias.unwrap_or(id)
    }

    /// Tasks of this dialect go by their callers' ids, which 1.0 does not find, and their errors
    /// have codes of their own.
    async fn ask_again(&self, refused: &A2aError) -> Option<HttpResponse> {
        let may_be = matches!(
            refused.kind,
            ErrorKind::TaskNotFound
                | ErrorKind::TaskNotCancelable
                | ErrorKind::UnsupportedOperation
        );
        if !may_be {
            return None;
        }
        let method = Method::from_name(&self.call.method)?;
        let id = match Dialect::V1.read_request(method, self.call.params).ok()? {
            Request::GetTask(request) => request.id,
            Request::CancelTask(request) => request.id,
            Request::SubscribeToTask(request) => request.id,
            _ => return None,
        };
        let found = self
            .operations
            .locate_at(&self.head.caller, self.agent, &id);
        if found.await.ok()?.dialect != Dialect::Fleet {
            return None;
        }
        let agent = self.agent.clone();
        Some(serve_call(self.operations, self.head, agent, self.call).await)
    }
}
