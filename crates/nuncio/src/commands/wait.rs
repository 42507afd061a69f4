//! Waiting for a task in a command: the time budget, Ctrl-C, what is shown meanwhile and at the end.
//!
//! A wait that ends early always says which task it was and how to take it up again.

use std::time::{Duration, Instant};

use nuncio_client::{Progress, TaskView};
use nuncio_wire::operation::SendMessageResponse;
use nuncio_wire::{StreamResponse, Task, TaskState};

use crate::client_settings::AgentSettings;
use crate::commands::session::Session;
use crate::output::{self, CliError, Fields, Output, TaskPrinter, message_text, task_text};

/// How a piece of work ended that somebody waits for.
pub(crate) enum Ended<T> {
    Done(T),
    TimedOut(Duration),
    Interrupted,
}

/// Runs the work until it is done, the budget is used up or Ctrl-C is pressed.
pub(crate) async fn within<T>(budget: Option<Duration>, work: impl Future<Output = T>) -> Ended<T> {
    let expiry = async {
        match budget {
            Some(budget) => tokio::time::sleep(budget).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        // Listened for before the work prints anything: who reads that may press Ctrl-C at once.
        biased;
        Ok(()) = tokio::signal::ctrl_c() => Ended::Interrupted,
        done = work => Ended::Done(done),
        () = expiry => Ended::TimedOut(budget.unwrap_or_default()),
    }
}

/// Shows the progress of a wait.
pub(crate) struct Watcher {
    output: Output,
    stream: bool,
    printer: TaskPrinter,
    announced: bool,
    /// Whether the last thing printed named task, context and state.
    named: bool,
    started: Instant,
}

impl Watcher {
    pub(crate) fn new(session: &Session) -> Self {
        Self {
            output: session.output,
            stream: session.stream,
            printer: TaskPrinter::new(session.output.verbose),
            announced: false,
            named: true,
            started: Instant::now(),
        }
    }

    /// Takes one step of a wait.
    pub(crate) fn observe(&mut self, progress: Progress<'_>, view: &TaskView) {
        match progress {
            Progress::Event(event) => self.event(&event.event, view),
            Progress::Snapshot(task) => self.event(&StreamResponse::Task(task.clone()), view),
            Progress::StreamLost(error) => {
                if self.output.verbose || self.stream {
                    output::warn(&format!("{error}; the wait goes on"));
                }
            }
        }
    }

    /// Shows the ids as soon as they are known: standard output carries one document only, and an
    /// interruption must not lose them.
    pub(crate) fn announce(&mut self, view: &TaskView) {
        if let Some(task) = view
            .task()
            .filter(|_| self.output.is_json() && !self.announced)
        {
            self.announced = true;
            let mut fields = Fields::default();
            fields
                .field("Task ID", &task.id)
                .field("Context ID", &task.context_id);
            output::write_stderr(&fields.finish());
        }
    }

    /// Shows one event.
    pub(crate) fn event(&mut self, event: &StreamResponse, view: &TaskView) {
        if !self.stream {
            self.announce(view);
            return;
        }
        self.named = !matches!(event, StreamResponse::ArtifactUpdate(_));
        if self.output.is_json() {
            output::print_json(event);
        } else {
            output::write_stdout(&self.printer.event(event, view.task()));
        }
        tracing::debug!(elapsed = ?self.started.elapsed(), "event");
    }

    /// Ends a streamed text: the last thing printed names task, context and state.
    pub(crate) fn close(&mut self, view: &TaskView) {
        if let Some(task) = view
            .task()
            .filter(|_| self.stream && !self.named && !self.output.is_json())
        {
            let state = task.status.state.as_str();
            let mut fields = Fields::default();
            fields
                .field("Task ID", &task.id)
                .field("Context ID", &task.context_id);
            fields.field("State", state);
            output::write_stdout(&fields.finish());
        }
    }
}

/// How the final object is printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Final {
    /// As the answer to a send.
    Answer,
    /// As a bare task.
    Task,
}

/// Prints what a wait came to, unless its events have been printed, and what the reader should know
/// besides. `continued` is the command line part that names the agent again.
pub(crate) fn show(session: &Session, view: TaskView, form: Final, agent: &AgentSettings) {
    let Some(answer) = view.into_answer() else {
        return;
    };
    let verbose = session.output.verbose;
    if !session.stream {
        match (&answer, form) {
            (SendMessageResponse::Task(task), Final::Task) => {
                session.output.result(task, || task_text(task, verbose));
            }
            (SendMessageResponse::Task(task), Final::Answer) => {
                session.output.result(&answer, || task_text(task, verbose));
            }
            (SendMessageResponse::Message(message), _) => {
                session
                    .output
                    .result(&answer, || message_text(message, verbose));
            }
        }
    }
    if let SendMessageResponse::Task(task) = &answer {
        remark(session.output, task, agent);
    }
}

/// What the exit status does not say: how the agent decided, and how to go on.
fn remark(output: Output, task: &Task, agent: &AgentSettings) {
    let state = task.status.state;
    match state {
        TaskState::Failed | TaskState::Rejected => {
            output::warn(&format!("the agent ended the task with {state}"));
        }
        TaskState::InputRequired | TaskState::AuthRequired => {
            output::warn(&format!("the task waits: {state}"));
            let command = format!(
                "nuncio send{} --context-id {} --task-id {} \"<reply>\"",
                agent_flags(agent),
                quoted(&task.context_id),
                quoted(&task.id)
            );
            let mut fields = Fields::default();
            fields.field("Continue", &command);
            if output.is_json() {
                output::write_stderr(&fields.finish());
            } else {
                output::write_stdout(&fields.finish());
            }
        }
        _ => {}
    }
}

/// The error of a wait that ended before the task did.
pub(crate) fn cut_short<T>(
    ended: Ended<T>,
    view: &TaskView,
    agent: &AgentSettings,
) -> Result<T, CliError> {
    let (make, what): (fn(String) -> CliError, String) = match ended {
        Ended::Done(done) => return Ok(done),
        Ended::TimedOut(budget) => (
            |text| CliError::timeout(text),
            format!("no result within {}", seconds(budget)),
        ),
        Ended::Interrupted => (|text| CliError::interrupted(text), "interrupted".to_owned()),
    };
    Err(match view.task() {
        Some(task) => {
            let text = format!("{what}: task {} is {}", task.id, task.status.state);
            make(text).with_hint(format!(
                "it goes on; to wait again: {}",
                resume(task, agent)
            ))
        }
        None => make(format!("{what}, and the agent has named no task yet")),
    })
}

/// Adds to an error which task it was about and how to look at it again.
pub(crate) fn about(error: CliError, view: &TaskView, agent: &AgentSettings) -> CliError {
    match view.task() {
        Some(task) if !error.is_protocol() => error.with_hint(format!(
            "the task may go on; to look: {}",
            resume(task, agent)
        )),
        _ => error,
    }
}

fn resume(task: &Task, agent: &AgentSettings) -> String {
    format!(
        "nuncio task get{} {} --wait",
        agent_flags(agent),
        quoted(&task.id)
    )
}

/// ` -a REF --a2a-version V`: what stood on the command line of it.
pub(crate) fn agent_flags(agent: &AgentSettings) -> String {
    let mut flags = String::new();
    if let Some(reference) = agent.reference.as_ref().filter(|_| agent.reference_by_flag) {
        flags += &format!(" -a {}", quoted(reference));
    }
    if let Some(version) = &agent.version_by_flag {
        flags += &format!(" --a2a-version {}", quoted(version));
    }
    flags
}

/// A word as a shell takes it.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn seconds(duration: Duration) -> String {
    format!("{} s", duration.as_secs_f64())
}
