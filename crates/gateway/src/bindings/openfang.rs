//! The 2025-04 dialect at its own addresses: JSON-RPC (`tasks/send`, `tasks/get`, `tasks/cancel`)
//! and the REST paths under `/a2a/tasks`.
//!
//! Its callers give up after 30 s and cannot stream, so a long task is answered as `working` and
//! asked for again.

use http::StatusCode;
use nuncio_wire::bindings::jsonrpc::{self, Call};
use nuncio_wire::dialects::Dialect;
use nuncio_wire::dialects::openfang::{self, LegacySend};
use nuncio_wire::operation::{
    CancelTaskRequest, GetTaskRequest, ListTasksRequest, SendMessageResponse,
};
use nuncio_wire::{
    A2aError, ErrorKind, Message, Method, Part, Request, Response, Role, Task, TaskState,
};
use sha2::{Digest as _, Sha256};
use std::sync::Arc;
use std::time::Duration;

use super::answer;
use super::direct_answer::as_task;
use super::jsonrpc::error;
use super::request_head::idempotency_key;
use crate::agents::ServedAgent;
use crate::ids;
use crate::operations::{Asked, Operations, Reply};
use crate::security::Hops;
use crate::serve::HttpResponse;
use crate::serve::service::Head;

/// A send is answered within this time, finished or not.
const ANSWER_WITHIN: Duration = Duration::from_secs(25);

/// One JSON-RPC request to `agent`.
pub async fn serve(
    operations: &Operations,
    head: &Head<'_>,
    agent: Arc<ServedAgent>,
    body: &[u8],
) -> HttpResponse {
    let call = match jsonrpc::read_call(body) {
        Ok(call) => call,
        Err(refused) => return error(&refused.id, &refused.error, Dialect::Legacy),
    };
    let desk = Desk {
        operations,
        head,
        agent: Some(agent),
    };
    match desk.run(&call).await {
        Ok((task, id)) => {
            let mut body = Vec::with_capacity(512);
            jsonrpc::write_result(&call.id, &mut body, |out| {
                openfang::write_task(&task, &id, out)
            });
            answer::json(StatusCode::OK, body)
        }
        Err(refused) => error(&call.id, &refused, Dialect::Legacy),
    }
}

/// `POST /a2a/tasks/send`: the same request, a bare task back.
pub async fn send(operations: &Operations, head: &Head<'_>, body: &[u8]) -> HttpResponse {
    let desk = Desk {
        operations,
        head,
        agent: None,
    };
    match openfang::read_rest_send(body) {
        // The envelope's id is always the same in this dialect: the body is the payload.
        Ok(send) => bare(desk.send(send, std::str::from_utf8(body).ok()).await),
        Err(error) => answer::plain_error(&error),
    }
}

/// `GET /a2a/tasks/{id}`.
pub async fn get(operations: &Operations, head: &Head<'_>, id: &str) -> HttpResponse {
    bare(
        Desk {
            operations,
            head,
            agent: None,
        }
        .get(id)
        .await,
    )
}

/// `POST /a2a/tasks/{id}/cancel`.
pub async fn cancel(operations: &Operations, head: &Head<'_>, id: &str) -> HttpResponse {
    bare(
        Desk {
            operations,
            head,
            agent: None,
        }
        .cancel(id)
        .await,
    )
}

/// A bare task, 500 if it failed; errors as `{"error":"…"}`.
fn bare(outcome: Result<(Task, String), A2aError>) -> HttpResponse {
    let (task, id) = match outcome {
        Ok(found) => found,
        Err(error) if error.kind == ErrorKind::TaskNotCancelable => {
            let id = error
                .info
                .get("taskId")
                .map(String::as_str)
                .unwrap_or_default();
            return answer::refusal(
                StatusCode::CONFLICT,
                &format!("Task '{id}' cannot be cancelled"),
            );
        }
        Err(error) if error.kind == ErrorKind::TaskNotFound => {
            let id = error
                .info
                .get("taskId")
                .map(String::as_str)
                .unwrap_or_default();
            return answer::refusal(StatusCode::NOT_FOUND, &format!("Task '{id}' not found"));
        }
        Err(error) => return answer::plain_error(&error),
    };
    let mut body = Vec::with_capacity(512);
    openfang::write_task(&task, &id, &mut body);
    answer::json(StatusCode::OK, body)
}

/// Where a request of this dialect is worked on. Answers are a task and the id the caller knows it
/// by.
struct Desk<'a> {
    operations: &'a Operations,
    head: &'a Head<'a>,
    /// The agent the address names, if it does.
    agent: Option<Arc<ServedAgent>>,
}

impl Desk<'_> {
    async fn run(&self, call: &Call<'_>) -> Result<(Task, String), A2aError> {
        let method = openfang::method(&call.method)?;
        if method == Method::SendMessage {
            return self
                .send(openfang::read_send(call.params)?, call.params)
                .await;
        }
        match Dialect::Legacy.read_request(method, call.params)? {
            Request::GetTask(request) => self.get(&request.id).await,
            Request::CancelTask(request) => self.cancel(&request.id).await,
            _ => Err(unexpected()),
        }
    }

    async fn send(
        &self,
        send: LegacySend,
        payload: Option<&str>,
    ) -> Result<(Task, String), A2aError> {
        let LegacySend {
            mut request,
            caller_task_id,
            agent,
        } = send;
        let agent = self.choose_agent(agent.as_deref())?;
        // Messages of this dialect have no ids.
        request.message.message_id = ids::new_id();
        if asks_for_status(&request.message)
            && let Some(context_id) = &request.message.context_id
            && let Some(task) = self.newest_of(&agent, context_id).await?
        {
            let id = task.id.clone();
            return Ok((task, id));
        }
        if let Some(alias) = &caller_task_id {
            request.message.task_id = self.waiting_task(&agent, alias).await?;
        }
        let asked = Asked {
            payload_hash: Sha256::digest(payload.unwrap_or_default().as_bytes()).into(),
            idempotency_key: idempotency_key(self.head.headers)?,
            hops: Hops::of(self.head.headers),
            alias: caller_task_id.clone(),
            answer_within: Some(ANSWER_WITHIN),
            ..self.asked(agent)
        };
        let reply = self
            .operations
            .run(asked, Request::SendMessage(request))
            .await?;
        let Reply::Answer(Response::SendMessage(response)) = reply else {
            return Err(unexpected());
        };
        let task = match response {
            SendMessageResponse::Task(task) => explain_working(task),
            SendMessageResponse::Message(message) => as_task(message),
        };
        let id = caller_task_id.unwrap_or_else(|| task.id.clone());
        Ok((task, id))
    }

    async fn get(&self, id: &str) -> Result<(Task, String), A2aError> {
        let (found, agent) = self.locate(id).await?;
        let request = GetTaskRequest {
            tenant: None,
            id: found,
            history_length: None,
        };
        self.task(id, agent, Request::GetTask(request)).await
    }

    async fn cancel(&self, id: &str) -> Result<(Task, String), A2aError> {
        let (found, agent) = self.locate(id).await?;
        let request = CancelTaskRequest {
            tenant: None,
            id: found,
            metadata: None,
        };
        self.task(id, agent, Request::CancelTask(request))
            .await
            .map_err(|error| {
                // The caller knows the task by the id it asked with.
                if error.info.contains_key("taskId") {
                    error.with("taskId", id)
                } else {
                    error
                }
            })
    }

    async fn task(
        &self,
        id: &str,
        agent: Arc<ServedAgent>,
        request: Request,
    ) -> Result<(Task, String), A2aError> {
        match self.operations.run(self.asked(agent), request).await? {
            Reply::AnswerFrom(Response::Task(task), _) => Ok((task, id.to_owned())),
            _ => Err(unexpected()),
        }
    }

    fn asked(&self, agent: Arc<ServedAgent>) -> Asked {
        Asked::plain(self.head.caller.clone(), agent, Dialect::Legacy)
    }

    fn choose_agent(&self, named: Option<&str>) -> Result<Arc<ServedAgent>, A2aError> {
        if let Some(agent) = &self.agent {
            return Ok(agent.clone());
        }
        let agents = self.operations.agents();
        let in_query = self.head.query.and_then(|query| {
            query
                .split('&')
                .find_map(|pair| pair.strip_prefix("agent="))
        });
        let found = match in_query.or(named) {
            Some(name) => agents.get(name),
            None => self
                .head
                .host_agent
                .clone()
                .or_else(|| agents.default_agent()),
        };
        found.ok_or_else(|| {
            A2aError::invalid_field("agent", "is no agent of this gateway; see /a2a/agents")
        })
    }

    /// Our id of a task that the caller names by our id or its own, and the agent that has it.
    async fn locate(&self, id: &str) -> Result<(String, Arc<ServedAgent>), A2aError> {
        let located = self.operations.locate(&self.head.caller, id).await?;
        match &self.agent {
            Some(agent) if agent.name != located.1.name => Err(A2aError::task_not_found(id)),
            _ => Ok(located),
        }
    }

    /// Our id of the caller's task, if it waits for this message.
    async fn waiting_task(
        &self,
        agent: &Arc<ServedAgent>,
        alias: &str,
    ) -> Result<Option<String>, A2aError> {
        let (id, owner) = match self.operations.locate(&self.head.caller, alias).await {
            Ok(located) => located,
            Err(error) if error.kind == ErrorKind::TaskNotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if owner.name != agent.name {
            return Ok(None);
        }
        let request = GetTaskRequest {
            tenant: None,
            id: id.clone(),
            history_length: Some(0),
        };
        let (task, _) = self.task(alias, owner, Request::GetTask(request)).await?;
        Ok((!task.status.state.is_terminal()).then_some(id))
    }

    async fn newest_of(
        &self,
        agent: &Arc<ServedAgent>,
        context_id: &str,
    ) -> Result<Option<Task>, A2aError> {
        let request = ListTasksRequest {
            context_id: Some(context_id.to_owned()),
            page_size: Some(1),
            history_length: Some(i32::MAX),
            include_artifacts: Some(true),
            ..ListTasksRequest::default()
        };
        match self
            .operations
            .run(self.asked(agent.clone()), Request::ListTasks(request))
            .await?
        {
            Reply::Answer(Response::ListTasks(page)) => Ok(page.tasks.into_iter().next()),
            _ => Err(unexpected()),
        }
    }
}

/// A text that only asks how the session's task is getting on.
fn asks_for_status(message: &Message) -> bool {
    let text = message.text();
    text.trim().is_empty() || text.trim().eq_ignore_ascii_case("status")
}

/// Says in words that the answer is not there yet, since callers show nothing but words.
fn explain_working(mut task: Task) -> Task {
    let running = matches!(task.status.state, TaskState::Submitted | TaskState::Working);
    if running && task.status.message.is_none() {
        let text = "Still working. Ask again with the same session id and the text \"status\".";
        task.status.message = Some(Message::new("", Role::Agent, vec![Part::text(text)]));
    }
    task
}

fn unexpected() -> A2aError {
    A2aError::new(
        ErrorKind::Internal,
        "The gateway answered in a form this dialect does not know.",
    )
}
