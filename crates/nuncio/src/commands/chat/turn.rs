//! One line on its way to the agent and what comes of it, until it is answered, cancelled or left.

use std::sync::Mutex;
use std::time::Duration;

use nuncio_client::{Client, Follow, Progress, TaskView, new_message_id};
use nuncio_wire::operation::{CancelTaskRequest, GetTaskRequest, SendMessageRequest};
use nuncio_wire::{Message, Part, Request, Response, Role, Task};

use super::Chat;
use super::lines::Interrupts;
use super::screen::Screen;
use crate::commands::exchange::{Exchange, with_card};
use crate::commands::wait::{Ended, about, cut_short};
use crate::output::{self, CliError};

/// Whether the conversation goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turned {
    GoesOn,
    Left,
}

/// How the wait for a turn ended.
enum Waited {
    Done(Result<(), CliError>),
    /// By Ctrl-C; the agent has confirmed it.
    Canceled(Box<Task>),
    /// By Ctrl-C, before the agent had named a task that could be cancelled.
    GivenUp,
    TimedOut(Duration),
    Left,
}

impl Chat {
    /// Sends a line and shows what comes of it.
    pub(super) async fn say(&mut self, line: String) -> Turned {
        let mut message = Message::new(new_message_id(), Role::User, vec![Part::text(line)]);
        message.context_id.clone_from(&self.context_id);
        message.task_id.clone_from(&self.task_id);
        let mut request = SendMessageRequest::new(message);
        // Ctrl-C needs the id of a new task early. Where it is known, an answer at once could still be
        // about the question that is answered here.
        request.configuration.return_immediately =
            !self.client.can_stream() && self.task_id.is_none();
        let exchange = Exchange {
            client: &self.client,
            request: &request,
            pace: self.wait.pace,
            wants_stream: self.session.stream,
        };
        let mut screen = Screen::new(&self.session, self.is_on_terminal);
        let in_hand = Mutex::new(self.task_id.take());
        let mut view = TaskView::default();
        let waited = {
            let mut observe = |progress: Progress<'_>, view: &TaskView| {
                note(&in_hand, view);
                screen.observe(progress, view);
            };
            let work = exchange.run(&mut view, &mut observe);
            let budget = self.wait.timeout;
            attend(&self.client, &mut self.interrupts, budget, &in_hand, work).await
        };
        let answered = in_hand.into_inner().unwrap_or_default();
        self.take(waited, view, screen, answered)
    }

    /// Shows a task and goes on with it, or in its context.
    ///
    /// # Errors
    /// When the task cannot be seen.
    pub(super) async fn pick_up(&mut self, id: String) -> Result<Turned, CliError> {
        let request = GetTaskRequest {
            tenant: None,
            id: id.clone(),
            history_length: None,
        };
        let answer = self.client.call(Request::GetTask(request)).await;
        let Response::Task(task) = answer.map_err(|error| with_card(error, &self.client))? else {
            return Err(CliError::internal("the answer is of another call"));
        };
        let mut view = TaskView::of(task);
        let mut screen = Screen::new(&self.session, self.is_on_terminal);
        let mut waited = Waited::Done(Ok(()));
        let in_hand = Mutex::new(Some(id.clone()));
        if !view.is_settled() {
            let stream = match self.client.can_stream() {
                true => self.client.subscribe(&id, None).await.ok(),
                false => None,
            };
            let mut observe =
                |progress: Progress<'_>, view: &TaskView| screen.observe(progress, view);
            let follow = Follow {
                client: &self.client,
                pace: self.wait.pace,
                stream_errors_end: false,
                observe: &mut observe,
            };
            let work = async { follow.run(&mut view, stream).await.map_err(CliError::from) };
            let budget = self.wait.timeout;
            waited = attend(&self.client, &mut self.interrupts, budget, &in_hand, work).await;
        }
        Ok(self.take(waited, view, screen, Some(id)))
    }

    /// Cancels a task that waits for an answer.
    pub(super) async fn cancel(&mut self, id: &str) -> Turned {
        let canceled = tokio::select! {
            biased;
            () = self.interrupts.next() => return Turned::Left,
            canceled = cancel(&self.client, id) => canceled,
        };
        match canceled {
            Ok(task) => {
                let view = TaskView::of(*task);
                Screen::new(&self.session, self.is_on_terminal).close(
                    &self.session,
                    &view,
                    &self.agent,
                );
            }
            Err(error) => self.fail(&error),
        }
        Turned::GoesOn
    }

    /// Notes where the conversation stands after a turn. `task` is the one it was about.
    fn take(
        &mut self,
        waited: Waited,
        mut view: TaskView,
        mut screen: Screen,
        task: Option<String>,
    ) -> Turned {
        let ended = match waited {
            Waited::Left => return Turned::Left,
            Waited::Canceled(task) => {
                view = TaskView::of((*task).clone());
                screen.observe(Progress::Snapshot(&task), &view);
                Ok(())
            }
            Waited::Done(result) => {
                result.map_err(|error| {
                    // What the agent refuses about a task it refuses again.
                    if !error.is_protocol() {
                        self.task_id = task;
                    }
                    about(error, &view, &self.agent)
                })
            }
            Waited::TimedOut(budget) => cut_short(Ended::TimedOut(budget), &view, &self.agent),
            Waited::GivenUp => cut_short(Ended::Interrupted, &view, &self.agent),
        };
        if let Some(task) = view.task() {
            self.context_id = Some(task.context_id.clone()).filter(|id| !id.is_empty());
            let waits = task.status.state.is_interrupted();
            self.task_id = waits.then(|| task.id.clone());
        } else if let Some(context) = view.message().and_then(|said| said.context_id.as_ref()) {
            self.context_id = Some(context.clone());
        }
        match ended {
            Ok(()) => screen.close(&self.session, &view, &self.agent),
            Err(error) => self.fail(&error),
        }
        Turned::GoesOn
    }

    fn fail(&mut self, error: &CliError) {
        self.failed = Some(self.session.output.failure(error));
    }
}

/// Notes the task in hand as soon as it is known.
fn note(in_hand: &Mutex<Option<String>>, view: &TaskView) {
    if let (Some(task), Ok(mut in_hand)) = (view.task(), in_hand.lock()) {
        *in_hand = Some(task.id.clone());
    }
}

/// Waits for the work. Ctrl-C cancels the task in hand, a second one leaves it all.
async fn attend(
    client: &Client,
    interrupts: &mut Interrupts,
    budget: Option<Duration>,
    in_hand: &Mutex<Option<String>>,
    work: impl Future<Output = Result<(), CliError>>,
) -> Waited {
    let expiry = async {
        match budget {
            Some(budget) => tokio::time::sleep(budget).await,
            None => std::future::pending().await,
        }
    };
    tokio::pin!(work, expiry);
    let id = tokio::select! {
        biased;
        () = interrupts.next() => match in_hand.lock().ok().and_then(|id| id.clone()) {
            Some(id) => id,
            None => return Waited::GivenUp,
        },
        done = &mut work => return Waited::Done(done),
        () = &mut expiry => return Waited::TimedOut(budget.unwrap_or_default()),
    };
    output::write_stderr("Canceling; Ctrl-C once more leaves\n");
    let canceling = cancel(client, &id);
    tokio::pin!(canceling);
    let mut is_asked = false;
    loop {
        tokio::select! {
            biased;
            () = interrupts.next() => return Waited::Left,
            canceled = &mut canceling, if !is_asked => match canceled {
                Ok(task) => return Waited::Canceled(task),
                Err(error) => {
                    is_asked = true;
                    output::write_stderr(&error.text());
                }
            },
            done = &mut work => return Waited::Done(done),
        }
    }
}

async fn cancel(client: &Client, id: &str) -> Result<Box<Task>, CliError> {
    let request = CancelTaskRequest {
        tenant: None,
        id: id.to_owned(),
        metadata: None,
    };
    match client.call(Request::CancelTask(request)).await {
        Ok(Response::Task(task)) => Ok(Box::new(task)),
        Ok(_) => Err(CliError::internal("the answer is of another call")),
        Err(error) => Err(with_card(error, client)),
    }
}
