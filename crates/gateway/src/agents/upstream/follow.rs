//! How the events of a turn are got: its message sent, its task followed by stream or by asking, and
//! canceled when the turn is to stop. What becomes of them is `relay`'s business.

use nuncio_client::{Client, ClientError, ClientErrorKind, EventStream};
use nuncio_wire::operation::{CancelTaskRequest, GetTaskRequest, SendMessageResponse};
use nuncio_wire::{ErrorKind, Request, Response, StreamResponse, Task, TaskPushNotificationConfig};
use std::time::Duration;
use tokio::time::Instant;

use super::bell::Hook;
use super::letter;
use super::relay::{Halt, Relay, no_answer};
use crate::agents::TurnEnd;

/// How long the agent may take to cancel a task. Less than what the engine gives a turn to stop.
pub(super) const CANCEL_LIMIT: Duration = Duration::from_secs(10);
/// First pause between two questions after a task; grows by half up to the configured one.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// Shortest pause between two questions while the agent posts the news of the task: for what is lost on
/// the way.
const PAUSE_WHILE_TOLD: Duration = Duration::from_secs(60);
/// How often a stream that gives nothing is taken up again before the task is only asked for.
const MAX_IDLE_STREAMS: u32 = 3;

impl Relay<'_> {
    /// Has the turn done.
    pub(super) async fn converse(&mut self) -> Result<TurnEnd, Halt> {
        if self.turn.is_resumed {
            if self.task.is_none() {
                return Err(Halt::Lost);
            }
            if self.known.has_arrived(self.turn) {
                self.begin();
                self.hear_again();
                self.has_gap = true;
                return self.follow().await;
            }
        }
        let end = match self.send().await {
            Err(Halt::Client(error)) if self.is_lost(&error) => return Err(Halt::Lost),
            sent => sent?,
        };
        match end {
            Some(end) => Ok(end),
            None => self.follow().await,
        }
    }

    /// Sends the message and reads the answer as far as it goes.
    async fn send(&mut self) -> Result<Option<TurnEnd>, Halt> {
        let mut request = letter::request(self.turn, &self.known, self.task.as_deref());
        if self.client.can_stream() {
            let streaming = Request::SendStreamingMessage(request.clone());
            match self.client.stream(streaming).await {
                Ok(stream) => return self.listen(stream).await,
                Err(error) if is_no_stream(&error) => {
                    tracing::debug!(%error, "no stream after all");
                }
                Err(error) => return Err(error.into()),
            }
        }
        // The id of a new task is wanted early, for its cancel and for a restart. Where it is known, an
        // answer at once could still be about the question that is answered here.
        request.configuration.return_immediately = self.task.is_none();
        request.configuration.task_push_notification_config = self.wish_to_hear().await?;
        let answer = match self
            .client
            .call(Request::SendMessage(request.clone()))
            .await
        {
            Err(error) if self.bell.hangs() && may_mind_the_webhook(&error) => {
                tracing::debug!(%error, "no posts after all");
                self.bell.take_down();
                request.configuration.task_push_notification_config = None;
                self.client.call(Request::SendMessage(request)).await
            }
            answer => answer,
        };
        match answer? {
            Response::SendMessage(SendMessageResponse::Task(task)) | Response::Task(task) => {
                self.take(StreamResponse::Task(task)).await
            }
            Response::SendMessage(SendMessageResponse::Message(message)) => {
                self.take(StreamResponse::Message(message)).await
            }
            _ => Err(no_answer("another operation's answer")),
        }
    }

    /// Passes a stream on. `None`: it ended before the turn did.
    async fn listen(&mut self, mut stream: EventStream) -> Result<Option<TurnEnd>, Halt> {
        while let Some(event) = stream.next().await {
            match event {
                Ok(event) => {
                    if let Some(end) = self.take(event.event).await? {
                        return Ok(Some(end));
                    }
                }
                Err(error) if self.has_begun => {
                    tracing::debug!(%error, task = %self.turn.task_id, "the stream is lost");
                    break;
                }
                Err(error) => return Err(error.into()),
            }
        }
        if !self.has_begun {
            return Err(no_answer("a stream without an event"));
        }
        self.has_gap = true;
        Ok(None)
    }

    /// Goes on with a task whose stream is over, or that has none.
    async fn follow(&mut self) -> Result<TurnEnd, Halt> {
        let (mut pause, mut idle_streams) = (FIRST_PAUSE, 0);
        let mut away_since: Option<Instant> = None;
        loop {
            match self.ask().await {
                Ok(task) => {
                    away_since = None;
                    if let Some(end) = self.take_whole(task).await? {
                        return Ok(end);
                    }
                }
                Err(Halt::Client(error)) if is_passing(&error) => {
                    let since = *away_since.get_or_insert_with(Instant::now);
                    if since.elapsed() >= self.config.reconnect_for.get() {
                        return Err(Halt::Client(error));
                    }
                    tracing::debug!(%error, "asking again later");
                }
                Err(halt) => return Err(halt),
            }
            let may_stream = away_since.is_none() && idle_streams < MAX_IDLE_STREAMS;
            if may_stream && self.client.can_stream() {
                let before = self.count;
                if let Some(end) = self.attach().await? {
                    return Ok(end);
                }
                // The first event may only repeat where the task stands.
                let is_of_use = self.count > before + 1;
                idle_streams = if is_of_use { 0 } else { idle_streams + 1 };
            }
            let interval = self.config.poll_interval.get().max(FIRST_PAUSE);
            if self.bell.hangs() {
                pause = match self.bell.has_rung() {
                    true => interval.max(PAUSE_WHILE_TOLD),
                    false => interval,
                };
            }
            tokio::select! {
                () = self.bell.rung() => {}
                () = tokio::time::sleep(pause) => {}
            }
            pause = (pause * 3 / 2).min(interval);
        }
    }

    /// An address for the agent's news, if it may post them and cannot stream them. It is kept before it
    /// is told.
    async fn wish_to_hear(&mut self) -> Result<Option<TaskPushNotificationConfig>, Halt> {
        let can_post = self.client.card().capabilities.push_notifications == Some(true);
        if !can_post || self.client.can_stream() || !self.bell.can_ring() {
            return Ok(None);
        }
        let before = self.known.hook.as_ref();
        let hook = Hook::new(&self.turn.task_id, before);
        self.known.hook = Some(hook.clone());
        self.known.keep(&self.turn.session).await?;
        Ok(self.bell.hang(&hook))
    }

    /// Opens the address again that was told before a restart.
    fn hear_again(&mut self) {
        let hook = self.known.hook.as_ref();
        if let Some(hook) = hook.filter(|hook| hook.is_for(&self.turn.task_id)) {
            self.bell.hang(hook);
        }
    }

    /// Attaches to the task's stream, if the agent lets us.
    async fn attach(&mut self) -> Result<Option<TurnEnd>, Halt> {
        let theirs = self.task.clone().unwrap_or_default();
        self.has_gap = true;
        match self.client.subscribe(&theirs, None).await {
            Ok(stream) => self.listen(stream).await,
            Err(error) => {
                tracing::debug!(%error, "no stream for this task");
                Ok(None)
            }
        }
    }

    pub(super) async fn ask(&self) -> Result<Task, Halt> {
        let request = GetTaskRequest {
            tenant: None,
            id: self.task.clone().unwrap_or_default(),
            history_length: None,
        };
        match self.client.call(Request::GetTask(request)).await {
            Ok(Response::Task(task)) => Ok(task),
            Ok(_) => Err(no_answer("another operation's answer")),
            Err(error) if self.is_lost(&error) => Err(Halt::Lost),
            Err(error) => Err(error.into()),
        }
    }

    fn is_lost(&self, error: &ClientError) -> bool {
        self.task.is_some() && error.is_protocol(ErrorKind::TaskNotFound)
    }
}

/// Ends a task there.
pub(super) async fn cancel_there(client: &Client, theirs: &str) -> Result<(), ClientError> {
    let request = Request::CancelTask(CancelTaskRequest {
        tenant: None,
        id: theirs.to_owned(),
        metadata: None,
    });
    client.call(request).await.map(drop)
}

/// Has something done in time; the error in words for the log.
pub(super) async fn within(
    limit: Duration,
    work: impl Future<Output = Result<(), ClientError>>,
) -> Result<(), String> {
    match tokio::time::timeout(limit, work).await {
        Ok(done) => done.map_err(|error| error.message),
        Err(_) => Err(format!("no answer within {} s", limit.as_secs())),
    }
}

/// Whether a call refused only because it asked for a stream.
fn is_no_stream(error: &ClientError) -> bool {
    error.is_protocol(ErrorKind::MethodNotFound)
        || error.is_protocol(ErrorKind::UnsupportedOperation)
}

/// Whether a send may have been refused for the webhook in it.
fn may_mind_the_webhook(error: &ClientError) -> bool {
    error.is_protocol(ErrorKind::PushNotificationNotSupported)
        || error.is_protocol(ErrorKind::UnsupportedOperation)
        || error.is_protocol(ErrorKind::InvalidParams)
}

/// Whether the same question may be answered later.
fn is_passing(error: &ClientError) -> bool {
    matches!(
        error.kind,
        ClientErrorKind::Unreachable(_) | ClientErrorKind::ConnectionLost | ClientErrorKind::Busy
    ) || matches!(error.code, Some(502 | 504))
}
