//! Waits for a task: by its stream while there is one, by asking when there is none, until the task
//! is at its end or waits for somebody (a2a-cli specification 9).
//!
//! Never gives up on a task by a clock of its own: the caller may drop the wait at any time and
//! finds what is known so far in the [`TaskView`].

use std::time::Duration;

use nuncio_wire::operation::GetTaskRequest;
use nuncio_wire::{Request, Response, Task};

use crate::client::Client;
use crate::error::{ClientError, ClientErrorKind};
use crate::retry::growing_pause;
use crate::stream::{EventStream, StreamEvent};
use crate::task_view::TaskView;

/// Failures in a row after which the wait is given up; the pauses between them add up to a minute.
const MAX_FAILURES: u32 = 6;
/// First pause after a failure; doubled after each further one.
const FIRST_FAILURE_PAUSE: Duration = Duration::from_secs(1);
/// Longest pause after a failure.
const LONGEST_FAILURE_PAUSE: Duration = Duration::from_secs(30);
/// How often a broken stream is taken up again before the task is asked for instead.
const MAX_RESUBSCRIPTIONS: u32 = 3;
/// First pause of a ramp.
const RAMP_START: Duration = Duration::from_millis(250);

/// How often a task is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Pause between two questions.
    pub interval: Duration,
    /// Begin with shorter pauses, so that short tasks are seen early.
    pub ramp: bool,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(2),
            ramp: true,
        }
    }
}

impl Pace {
    fn pause(self, step: u32) -> Duration {
        if self.ramp {
            growing_pause(RAMP_START, self.interval, step)
        } else {
            self.interval
        }
    }
}

/// What a waiting caller may want to show.
#[derive(Debug)]
pub enum Progress<'a> {
    /// The next event of a stream.
    Event(&'a StreamEvent),
    /// The task as it was found when asked for, because it changed.
    Snapshot(&'a Task),
    /// A stream broke; the wait goes on by other means.
    StreamLost(&'a ClientError),
}

/// How a wait is to be done.
pub struct Follow<'a> {
    /// The agent.
    pub client: &'a Client,
    /// How often to ask.
    pub pace: Pace,
    /// Whether an error that the agent puts into the stream ends the wait.
    pub stream_errors_end: bool,
    /// Sees everything in order.
    pub observe: &'a mut (dyn FnMut(Progress<'_>, &TaskView) + Send),
}

impl Follow<'_> {
    /// Waits until `view` is settled, beginning with `stream` if there is one.
    ///
    /// # Errors
    /// When the task cannot be seen any more; `view` keeps what was known.
    pub async fn run(
        mut self,
        view: &mut TaskView,
        stream: Option<EventStream>,
    ) -> Result<(), ClientError> {
        if let Some(stream) = stream {
            self.by_stream(view, stream).await?;
        }
        if !view.is_settled() {
            return self.by_polling(view).await;
        }
        self.fill_gap(view).await;
        Ok(())
    }

    /// Asks once for a task whose stream began in the middle: what it missed is in the task.
    async fn fill_gap(&mut self, view: &mut TaskView) {
        let Some(id) = view.task().map(|task| task.id.clone()) else {
            return;
        };
        if !view.has_gap() {
            return;
        }
        match self.ask(id).await {
            Ok(Response::Task(task)) => {
                let whole = TaskView::of(task);
                if !whole.is_settled() {
                    return;
                }
                let results = |view: &TaskView| view.task().map_or(0, |it| it.artifacts().len());
                let is_news = results(view) == 0 && results(&whole) > 0;
                *view = whole;
                // Its events told nothing of this.
                if let Some(task) = view.task().filter(|_| is_news) {
                    (self.observe)(Progress::Snapshot(task), view);
                }
            }
            Ok(_) => {}
            Err(error) => tracing::debug!(%error, "the task cannot be seen whole"),
        }
    }

    async fn ask(&self, id: String) -> Result<Response, ClientError> {
        let request = GetTaskRequest {
            tenant: None,
            id,
            history_length: None,
        };
        self.client.call(Request::GetTask(request)).await
    }

    /// Reads the stream and its successors until the task is settled or streams are of no use.
    async fn by_stream(
        &mut self,
        view: &mut TaskView,
        first: EventStream,
    ) -> Result<(), ClientError> {
        let mut stream = first;
        let mut last_id = None;
        let mut tries = 0;
        loop {
            let ended = self
                .drain(view, &mut stream, &mut last_id, &mut tries)
                .await;
            let Some(task) = view.task().filter(|_| !view.is_settled()) else {
                return if view.is_settled() {
                    Ok(())
                } else {
                    Err(nothing_came(ended.err()))
                };
            };
            let error = match ended {
                Err(error) if error.as_protocol().is_some() && stream.is_refused() => {
                    tracing::debug!(%error, "no stream for this task; asking instead");
                    return Ok(());
                }
                Err(error) if error.as_protocol().is_some() && self.stream_errors_end => {
                    return Err(error);
                }
                Err(error) => error,
                Ok(()) => {
                    let text = "the stream ended before the task did";
                    ClientError::new(ClientErrorKind::ConnectionLost, text)
                }
            };
            tracing::debug!(%error, "the stream is lost");
            (self.observe)(Progress::StreamLost(&error), view);
            if tries >= MAX_RESUBSCRIPTIONS || !self.client.can_stream() {
                return Ok(());
            }
            tokio::time::sleep(growing_pause(RAMP_START, LONGEST_FAILURE_PAUSE, tries)).await;
            tries += 1;
            match self.client.subscribe(&task.id, last_id.as_deref()).await {
                Ok(next) => stream = next,
                Err(error) => {
                    tracing::debug!(%error, "the stream cannot be taken up again; asking instead");
                    return Ok(());
                }
            }
        }
    }

    /// Reads one stream until it ends or the task is settled.
    async fn drain(
        &mut self,
        view: &mut TaskView,
        stream: &mut EventStream,
        last_id: &mut Option<String>,
        tries: &mut u32,
    ) -> Result<(), ClientError> {
        let mut events = 0;
        while let Some(event) = stream.next().await {
            let event = event?;
            if events == 0 && stream.may_miss_something() {
                view.note_gap();
            }
            view.apply(&event.event);
            if event.id.is_some() {
                last_id.clone_from(&event.id);
            }
            // The first event of a resumed stream only repeats where the task stands.
            if events > 0 {
                *tries = 0;
            }
            events += 1;
            (self.observe)(Progress::Event(&event), view);
            if view.is_settled() {
                break;
            }
        }
        Ok(())
    }

    async fn by_polling(&mut self, view: &mut TaskView) -> Result<(), ClientError> {
        let Some(id) = view.task().map(|task| task.id.clone()) else {
            return Err(nothing_came(None));
        };
        let (mut step, mut failures) = (0, 0);
        loop {
            let pause = match failures {
                0 => self.pace.pause(step),
                n => growing_pause(FIRST_FAILURE_PAUSE, LONGEST_FAILURE_PAUSE, n - 1)
                    .max(self.pace.interval.min(LONGEST_FAILURE_PAUSE)),
            };
            tokio::time::sleep(pause).await;
            step += 1;
            match self.ask(id.clone()).await {
                Ok(Response::Task(task)) => {
                    failures = 0;
                    let changed = view.task() != Some(&task);
                    *view = TaskView::of(task);
                    if changed && let Some(task) = view.task() {
                        (self.observe)(Progress::Snapshot(task), view);
                    }
                    if view.is_settled() {
                        return Ok(());
                    }
                }
                Ok(_) => return Err(nothing_came(None)),
                Err(error) if failures < MAX_FAILURES && is_passing(&error) => {
                    tracing::debug!(%error, failures, "asking again later");
                    failures += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Whether the same question may be answered later.
fn is_passing(error: &ClientError) -> bool {
    matches!(
        error.kind,
        ClientErrorKind::Unreachable(_) | ClientErrorKind::ConnectionLost | ClientErrorKind::Busy
    ) || matches!(error.code, Some(502 | 504))
}

fn nothing_came(error: Option<ClientError>) -> ClientError {
    error.unwrap_or_else(|| {
        let text = "the stream ended before the agent named a task or answered";
        ClientError::new(ClientErrorKind::ConnectionLost, text)
    })
}
