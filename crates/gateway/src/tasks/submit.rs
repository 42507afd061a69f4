//! A message comes in: a task is made, or one that waits goes on.
//!
//! Everything from the first write on happens in a task of its own: a caller that hangs up can
//! neither lose nor harm it (specification 3.5.2).

use nuncio_store::{NewPushConfig, Visibility};
use nuncio_wire::dialects::Dialect;
use nuncio_wire::operation::SendMessageRequest;
use nuncio_wire::{A2aError, ErrorKind, Message, Metadata};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

use super::engine::Engine;
use super::live::{LiveEvent, LiveTask, Verdict};
use crate::agents::ServedAgent;
use crate::security::Hops;

/// A message to be answered, from a caller who may send it.
#[derive(Debug)]
pub struct Submission {
    /// The agent it is for.
    pub agent: Arc<ServedAgent>,
    /// Whose the task will be.
    pub owner: Arc<str>,
    /// What the caller may see: where a task to be continued is looked for.
    pub visibility: Visibility,
    /// The validated request.
    pub request: SendMessageRequest,
    /// The gateways that it came through.
    pub hops: Hops,
    /// The dialect the caller speaks.
    pub dialect: Dialect,
    /// The task id the caller chose (older dialects), kept as an alias.
    pub alias: Option<String>,
    /// SHA-256 of the parameters as received.
    pub payload_hash: [u8; 32],
    /// What the task says of itself: a worker's, for now.
    pub task_metadata: Option<Metadata>,
    /// Where the task's events are to be pushed to.
    pub push_config: Option<NewPushConfig>,
    /// Whether the answer is a stream.
    pub streams: bool,
}

impl Engine {
    /// Takes the message and returns the task in motion.
    ///
    /// Errors: TaskNotFound, UnsupportedOperation for a task that cannot be continued,
    /// InvalidParams for a context that is not the task's, ResourceExhausted, Unavailable.
    async fn submit(self: &Arc<Self>, submission: Submission) -> Result<Accepted, A2aError> {
        if self.turns.is_closed() {
            let text = "This gateway is shutting down; try again later.";
            return Err(A2aError::new(ErrorKind::Unavailable, text));
        }
        let (taken, outcome) = oneshot::channel();
        let engine = self.clone();
        if submission.request.message.task_id.is_some() {
            self.turns.spawn(engine.continue_task(submission, taken));
        } else {
            let context = self.choose_context(&submission).await?;
            self.turns
                .spawn(engine.new_task(submission, context, taken));
        }
        outcome.await.map_err(|_| {
            A2aError::new(
                ErrorKind::Internal,
                "The message was lost inside the gateway; send it again.",
            )
        })?
    }
}

/// How a message was answered.
pub enum Answer {
    /// By a task in motion, at this version or later.
    Task(Arc<LiveTask>),
    /// By a message, without a task.
    Message(Arc<Message>),
}

impl Answer {
    fn of(live: Arc<LiveTask>, verdict: Option<Verdict>) -> Result<Self, A2aError> {
        match verdict {
            None => Ok(Self::Task(live)),
            Some(Verdict::Answered(message)) => Ok(Self::Message(message)),
            Some(Verdict::Refused(error)) => Err(error),
        }
    }
}

/// How long an answer without a task is waited for before a stream opens with the task.
const DIRECT_ANSWER_WINDOW: Duration = Duration::from_millis(200);

impl Engine {
    /// Takes the message and waits until its task is in a final state or waits for somebody, or
    /// until `limit` is over: that ends the wait, never the task.
    pub async fn submit_and_wait(
        self: &Arc<Self>,
        submission: Submission,
        limit: Option<Duration>,
    ) -> Result<Answer, A2aError> {
        let Accepted { live, version, .. } = self.submit(submission).await?;
        let settled = live.settled(version);
        let verdict = match limit {
            None => settled.await,
            Some(limit) => match tokio::time::timeout(limit, settled).await {
                Ok(verdict) => verdict,
                Err(_) => live.announce(),
            },
        };
        Answer::of(live, verdict)
    }

    /// Takes the message and returns as soon as the task exists.
    pub async fn submit_and_return(
        self: &Arc<Self>,
        submission: Submission,
    ) -> Result<Answer, A2aError> {
        let live = self.submit(submission).await?.live;
        let verdict = live.announce();
        Answer::of(live, verdict)
    }

    /// Takes the message and returns as soon as it is clear what the stream's first event is; for a
    /// task with the snapshot that is it.
    pub async fn submit_and_watch(
        self: &Arc<Self>,
        submission: Submission,
    ) -> Result<(Answer, Option<LiveEvent>), A2aError> {
        let direct = submission.agent.backend.answers_directly();
        let Accepted { live, snapshot, .. } = self.submit(submission).await?;
        let verdict = if direct {
            live.first_sign(DIRECT_ANSWER_WINDOW).await
        } else {
            live.announce()
        };
        Ok((Answer::of(live, verdict)?, snapshot))
    }
}

pub(super) type Taken = oneshot::Sender<Result<Accepted, A2aError>>;

/// A message was taken.
pub(super) struct Accepted {
    pub(super) live: Arc<LiveTask>,
    /// From this version on the answer to the message comes.
    pub(super) version: u64,
    /// The task as it was then, for a stream.
    pub(super) snapshot: Option<LiveEvent>,
}

impl Accepted {
    pub(super) fn new(live: Arc<LiveTask>, version: u64, snapshot: Option<Option<u32>>) -> Self {
        let snapshot = snapshot.map(|history| live.snapshot(history));
        Self {
            live,
            version,
            snapshot,
        }
    }
}

impl Submission {
    /// How much history the snapshot of a stream has; `None`: no stream is asked for.
    pub(super) fn snapshot_history(&self) -> Option<Option<u32>> {
        let length = self.request.configuration.history_length;
        self.streams
            .then(|| length.and_then(|length| u32::try_from(length).ok()))
    }
}
