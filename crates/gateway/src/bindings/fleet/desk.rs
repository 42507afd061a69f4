//! Where requests of this dialect are worked on. Answers name tasks by the id they were asked by.

use nuncio_wire::dialects::Dialect;
use nuncio_wire::dialects::hermes_fleet::{self, FleetSend};
use nuncio_wire::operation::{
    CancelTaskRequest, GetTaskRequest, ListTasksRequest, SendMessageResponse,
    SubscribeToTaskRequest,
};
use nuncio_wire::{
    A2aError, ErrorKind, Message, Part, Request, Response, Role, Task, TaskState, TaskStatus,
};
use std::sync::Arc;
use std::time::Duration;

use super::events::Opened;
use crate::agents::ServedAgent;
use crate::bindings::direct_answer::as_task;
use crate::bindings::request_head;
use crate::operations::{Asked, Located, Operations, Reply};
use crate::serve::service::Head;
use crate::tasks::ID_IN_USE;
use crate::{clock, ids};

/// A send is answered within this time, finished or not: clients give up after 120 s.
const ANSWER_WITHIN: Duration = Duration::from_secs(110);

/// One request of one caller to one agent.
pub(super) struct Desk<'a> {
    pub(super) operations: &'a Operations,
    pub(super) head: &'a Head<'a>,
    pub(super) agent: Arc<ServedAgent>,
}

impl Desk<'_> {
    /// Sends a message and waits for the task's end, or for as long as a client does.
    pub(super) async fn send(&self, send: FleetSend, payload: &str) -> Result<Task, A2aError> {
        if send.is_empty {
            return Ok(nothing_said(send.caller_task_id));
        }
        let id = send.caller_task_id.clone();
        let reply = self.submit(send, payload, Request::SendMessage).await?;
        let Reply::Answer(Response::SendMessage(answer)) = reply else {
            return Err(unexpected());
        };
        let mut task = match answer {
            SendMessageResponse::Task(task) => explain_working(task),
            SendMessageResponse::Message(message) => as_task(message),
        };
        task.id = id.unwrap_or(task.id);
        Ok(task)
    }

    /// Sends a message and streams what happens.
    pub(super) async fn stream(&self, send: FleetSend, payload: &str) -> Result<Opened, A2aError> {
        if send.is_empty {
            return Ok(Opened::Ended(nothing_said(send.caller_task_id)));
        }
        let id = send.caller_task_id.clone();
        let reply = self.submit(send, payload, Request::SendStreamingMessage);
        match reply.await? {
            Reply::Stream(subscription, _) => {
                let id = id.unwrap_or_else(|| subscription.task().id);
                Ok(Opened::Live(subscription, id))
            }
            Reply::MessageStream(message) => {
                let mut task = as_task(Message::clone(&message));
                task.id = id.unwrap_or(task.id);
                Ok(Opened::Ended(task))
            }
            _ => Err(unexpected()),
        }
    }

    /// Makes the task, or goes on with the one of this id if it waits for its caller: the plugin's
    /// client has no other way to answer a question.
    async fn submit(
        &self,
        send: FleetSend,
        payload: &str,
        operation: impl Fn(nuncio_wire::operation::SendMessageRequest) -> Request,
    ) -> Result<Reply, A2aError> {
        let FleetSend {
            mut request,
            caller_task_id,
            ..
        } = send;
        if let Some(config) = &mut request.configuration.task_push_notification_config {
            self.check_hmac_key()?;
            config.task_id = None;
        }
        let mut asked = self.asked(payload)?;
        if let Some(named) = request.message.task_id.take() {
            let found = self.find(&named).await?;
            request.message.task_id = Some(found.id);
            return self.operations.run(asked, operation(request)).await;
        }
        asked.alias.clone_from(&caller_task_id);
        let first = self
            .operations
            .run(asked.clone(), operation(request.clone()))
            .await;
        let Err(refused) = first else { return first };
        let (Some(id), true) = (caller_task_id, refused.info.contains_key(ID_IN_USE)) else {
            return Err(refused);
        };
        let found = self.find(&id).await?;
        if !found.state.is_interrupted() {
            return Err(refused);
        }
        request.message.task_id = Some(found.id);
        request.message.context_id = None;
        asked.alias = None;
        self.operations.run(asked, operation(request)).await
    }

    /// The task of this id, ours or the caller's.
    pub(super) async fn get(&self, id: &str) -> Result<Task, A2aError> {
        let request = Request::GetTask(GetTaskRequest {
            tenant: None,
            id: self.find(id).await?.id,
            history_length: Some(0),
        });
        self.task(id, request).await
    }

    pub(super) async fn cancel(&self, id: &str) -> Result<Task, A2aError> {
        let request = Request::CancelTask(CancelTaskRequest {
            tenant: None,
            id: self.find(id).await?.id,
            metadata: None,
        });
        // The caller knows the task by the id it asked with.
        self.task(id, request)
            .await
            .map_err(|error| match error.kind {
                ErrorKind::TaskNotCancelable => {
                    let text = format!("Task {id} has ended and cannot be canceled.");
                    A2aError::new(error.kind, text).with("taskId", id)
                }
                _ => error,
            })
    }

    async fn task(&self, id: &str, request: Request) -> Result<Task, A2aError> {
        match self.operations.run(self.asked("")?, request).await? {
            Reply::AnswerFrom(Response::Task(mut task), _) => {
                id.clone_into(&mut task.id);
                Ok(task)
            }
            _ => Err(unexpected()),
        }
    }

    pub(super) async fn list(&self, request: ListTasksRequest) -> Result<Response, A2aError> {
        let request = Request::ListTasks(request);
        match self.operations.run(self.asked("")?, request).await? {
            Reply::Answer(response) => Ok(response),
            _ => Err(unexpected()),
        }
    }

    /// The events of a task from now on; of one that has ended, its end.
    pub(super) async fn subscribe(&self, id: &str) -> Result<Opened, A2aError> {
        let found = self.find(id).await?;
        let request = SubscribeToTaskRequest {
            tenant: None,
            id: found.id,
        };
        let asked = self.asked("")?;
        let reply = self
            .operations
            .run(asked, Request::SubscribeToTask(request))
            .await;
        match reply {
            Ok(Reply::Stream(subscription, _)) => Ok(Opened::Live(subscription, id.to_owned())),
            Ok(_) => Err(unexpected()),
            Err(refused) if refused.kind == ErrorKind::UnsupportedOperation => {
                let task = self.get(id).await?;
                if task.status.state.is_terminal() {
                    Ok(Opened::Ended(task))
                } else {
                    Err(refused)
                }
            }
            Err(refused) => Err(refused),
        }
    }

    pub(super) async fn extended_card(&self) -> Result<Response, A2aError> {
        let request = nuncio_wire::operation::GetExtendedAgentCardRequest { tenant: None };
        let asked = Asked {
            base: Some(self.head.base(self.operations.config())),
            ..self.asked("")?
        };
        let reply = self
            .operations
            .run(asked, Request::GetExtendedAgentCard(request))
            .await;
        match reply {
            Ok(Reply::Answer(response)) => Ok(response),
            Ok(_) => Err(unexpected()),
            // There is nothing at this path.
            Err(error) if error.kind == ErrorKind::UnsupportedOperation => Err(A2aError::new(
                ErrorKind::ExtendedAgentCardNotConfigured,
                error.message,
            )),
            Err(error) => Err(error),
        }
    }

    /// A task that the caller may see, at this agent.
    pub(super) async fn find(&self, id: &str) -> Result<Located, A2aError> {
        self.operations
            .locate_at(&self.head.caller, &self.agent, id)
            .await
    }

    pub(super) fn asked(&self, payload: &str) -> Result<Asked, A2aError> {
        let agent = self.agent.clone();
        let asked = request_head::asked(self.head, agent, true, Dialect::Fleet, b"")?;
        Ok(Asked {
            payload_hash: hermes_fleet::payload_hash(payload),
            answer_within: Some(ANSWER_WITHIN),
            ..asked
        })
    }
}

/// What a message without anything in it leads to here: a task that failed at once and is nowhere
/// kept.
fn nothing_said(id: Option<String>) -> Task {
    let message = Message::new(
        ids::new_id(),
        Role::Agent,
        vec![Part::text("Empty message")],
    );
    let id = id.unwrap_or_else(ids::new_id);
    Task {
        context_id: id.clone(),
        id,
        status: TaskStatus {
            state: TaskState::Failed,
            message: Some(message),
            timestamp: Some(clock::now()),
        },
        artifacts: None,
        history: Vec::new(),
        metadata: None,
    }
}

/// Says in words that the answer is not there yet.
fn explain_working(mut task: Task) -> Task {
    let running = matches!(task.status.state, TaskState::Submitted | TaskState::Working);
    if running && task.status.message.is_none() {
        let text = "(processing — poll with GetTask)";
        task.status.message = Some(Message::new("", Role::Agent, vec![Part::text(text)]));
    }
    task
}

pub(super) fn unexpected() -> A2aError {
    A2aError::new(
        ErrorKind::Internal,
        "The gateway answered in a form this dialect does not know.",
    )
}
