//! A message comes in: a task is made, or one that waits goes on.
//!
//! Everything from the first write on happens in a task of its own: a caller that hangs up can
//! neither lose nor harm it (specification 3.5.2).

use nuncio_store::{Created, Durability, Include, ListQuery, NewTask, Repeat, Visibility};
use nuncio_wire::dialects::Dialect;
use nuncio_wire::operation::SendMessageRequest;
use nuncio_wire::{A2aError, ErrorKind, Message, Task, TaskState, TaskStatus};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::oneshot;

use super::encode;
use super::engine::{Engine, store_error};
use super::lanes::{LaneKey, Place};
use super::live::{Applied, LiveEvent, LiveTask, Verdict, Whose};
use crate::agents::{ServedAgent, Turn};
use crate::security::inbound;
use crate::{clock, ids};

/// How long an idempotency key is remembered: 24 h, in milliseconds.
const KEY_LIFE_MILLIS: i64 = 24 * 60 * 60 * 1000;

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
    /// The dialect the caller speaks.
    pub dialect: Dialect,
    /// The task id the caller chose (2025-04 dialect), kept as an alias.
    pub alias: Option<String>,
    /// SHA-256 of the parameters as received.
    pub payload_hash: [u8; 32],
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

    /// The context of a new task, and whether its id is new to us and the caller's own choice.
    async fn choose_context(&self, submission: &Submission) -> Result<(Arc<str>, bool), A2aError> {
        let Some(context_id) = &submission.request.message.context_id else {
            return Ok((ids::new_id().into(), false));
        };
        if !submission.agent.backend.asks_for_context_origin() {
            return Ok((context_id.as_str().into(), false));
        }
        let query = ListQuery {
            visibility: Visibility {
                agent: Some(submission.agent.name.clone()),
                owner: Some(submission.owner.clone()),
            },
            context_id: Some(context_id.clone()),
            state: None,
            status_from_millis: None,
            page_size: 1,
            after: None,
            include: Include::NOTHING,
        };
        let known = self
            .store
            .list_tasks(query)
            .await
            .map_err(store_error)?
            .total
            > 0;
        Ok((context_id.as_str().into(), !known))
    }

    async fn new_task(
        self: Arc<Self>,
        submission: Submission,
        (context_id, context_is_callers): (Arc<str>, bool),
        taken: Taken,
    ) {
        let (agent, history) = (submission.agent.clone(), submission.snapshot_history());
        let place = match self.enter_lane(&agent, &submission.owner, &context_id) {
            Ok(place) => place,
            Err(error) => return drop(taken.send(Err(error))),
        };
        let state = if place.is_ready() {
            TaskState::Working
        } else {
            TaskState::Submitted
        };
        let (new, live, turn) = self.prepare(submission, context_id, context_is_callers, state);
        match self.store.create_task(new).await {
            Ok(Created::New) => {}
            Ok(Created::Repeated(first)) => {
                let visibility = Visibility {
                    agent: Some(live.agent.clone()),
                    owner: Some(live.owner.clone()),
                };
                let joined = self.live_task(&first, &visibility).await;
                return drop(taken.send(joined.map(|live| Accepted::new(live, 0, history))));
            }
            Err(error) => return drop(taken.send(Err(store_error(error)))),
        }
        let live = self.live.insert(live);
        // The snapshot is taken before the turn can add to it: a stream begins at the beginning.
        drop(taken.send(Ok(Accepted::new(live.clone(), 1, history))));
        self.run_turn(live, agent, turn, place).await;
    }

    /// A place in the context's lane, if the agent's queue has room.
    pub(super) fn enter_lane(
        &self,
        agent: &Arc<ServedAgent>,
        owner: &Arc<str>,
        context_id: &Arc<str>,
    ) -> Result<Place, A2aError> {
        let key = LaneKey {
            agent: agent.name.clone(),
            owner: owner.clone(),
            context_id: context_id.clone(),
        };
        let place = self.lanes.enter(key, &agent.slots);
        let waiting = agent.waiting.load(Ordering::Relaxed);
        if !place.is_ready() && waiting >= agent.limits.max_queued_turns {
            let text = format!(
                "Agent '{}' has {waiting} messages waiting; try again later.",
                agent.name
            );
            let mut refused = A2aError::new(ErrorKind::ResourceExhausted, text);
            refused.retry_after = Some(QUEUE_RETRY_SECONDS);
            return Err(refused);
        }
        Ok(place)
    }

    /// The rows, the live task and the turn of a new task.
    fn prepare(
        &self,
        submission: Submission,
        context_id: Arc<str>,
        context_is_callers: bool,
        state: TaskState,
    ) -> (NewTask, Arc<LiveTask>, Turn) {
        let Submission {
            agent,
            owner,
            request,
            dialect,
            alias,
            payload_hash,
            ..
        } = submission;
        let task_id: Arc<str> = ids::new_id().into();
        let mut message = request.message;
        message.context_id = Some(context_id.to_string());
        message.task_id = Some(task_id.to_string());
        let now = clock::now();
        let status = TaskStatus {
            state,
            message: None,
            timestamp: Some(now),
        };
        let new = NewTask {
            id: task_id.clone(),
            agent: agent.name.clone(),
            owner: owner.clone(),
            context_id: context_id.clone(),
            dialect,
            alias,
            state,
            status: encode::json(&status),
            status_millis: now.as_millis(),
            message: encode::json(&message),
            metadata: None,
            repeat: Repeat {
                key: request.idempotency_key,
                key_expires_millis: now.as_millis() + KEY_LIFE_MILLIS,
                message_id: message.message_id.clone(),
                payload_hash,
            },
        };
        let task = Task {
            id: task_id.to_string(),
            context_id: context_id.to_string(),
            status,
            artifacts: None,
            history: vec![message.clone()],
            metadata: None,
        };
        let whose = Whose {
            agent: agent.name.clone(),
            owner: owner.clone(),
            dialect,
        };
        let live = Arc::new(LiveTask::new(&self.live, whose, task));
        let message = inbound::present(message);
        let turn = Turn {
            agent: agent.name.clone(),
            owner,
            task_id,
            context_id,
            opening: message.clone(),
            message,
            metadata: request.metadata,
            dialect,
            accepted_output_modes: request.configuration.accepted_output_modes,
            context_is_callers,
            cancel: live.begin_turn().expect("a new task has no turn yet"),
        };
        (new, live, turn)
    }

    async fn continue_task(self: Arc<Self>, submission: Submission, taken: Taken) {
        let history = submission.snapshot_history();
        match self.take_follow_up(submission).await {
            Ok(FollowUp {
                live,
                agent,
                turn,
                place,
                version,
            }) => {
                drop(taken.send(Ok(Accepted::new(live.clone(), version, history))));
                self.run_turn(live, agent, turn, place).await;
            }
            Err(error) => drop(taken.send(Err(error))),
        }
    }

    /// Adds the message to a task that waits for it (specification 3.4.3).
    async fn take_follow_up(&self, submission: Submission) -> Result<FollowUp, A2aError> {
        let Submission {
            agent,
            visibility,
            request,
            dialect,
            ..
        } = submission;
        let mut message = request.message;
        let id = message.task_id.clone().unwrap_or_default();
        let live = self.live_task(&id, &visibility).await?;
        if let Some(context_id) = &message.context_id
            && **context_id != *live.context_id
        {
            let text = "is not the context of the task named by message.taskId; leave it out";
            return Err(A2aError::invalid_field("message.contextId", text));
        }
        message.context_id = Some(live.context_id.to_string());
        refuse_unless_waiting(&live)?;
        let cancel = live.begin_turn().ok_or_else(|| not_waiting(&live))?;
        let started = self.start_follow_up(&agent, &live, &message).await;
        let (place, version) = match started {
            Ok(started) => started,
            Err(error) => {
                self.close_turn(&live).await;
                return Err(error);
            }
        };
        let message = inbound::present(message);
        let turn = Turn {
            agent: agent.name.clone(),
            owner: live.owner.clone(),
            task_id: live.id.clone(),
            context_id: live.context_id.clone(),
            opening: live.opening().map_or_else(|| message.clone(), Arc::new),
            message,
            metadata: request.metadata,
            dialect,
            accepted_output_modes: request.configuration.accepted_output_modes,
            context_is_callers: false,
            cancel,
        };
        Ok(FollowUp {
            live,
            agent,
            turn,
            place,
            version,
        })
    }

    /// Commits the message and the task's going on. From WORKING on a crash ends it as lost.
    async fn start_follow_up(
        &self,
        agent: &Arc<ServedAgent>,
        live: &Arc<LiveTask>,
        message: &Message,
    ) -> Result<(Place, u64), A2aError> {
        // Between the first look and `begin_turn` another turn may have come and gone.
        refuse_unless_waiting(live)?;
        let place = self.enter_lane(agent, &live.owner, &live.context_id)?;
        let status = TaskStatus {
            state: TaskState::Working,
            message: None,
            timestamp: Some(clock::now()),
        };
        let changes = vec![
            Applied::message(message.clone()),
            Applied::status(live, status, None),
        ];
        let version = self.commit_once(live, changes, Durability::Synced).await?;
        Ok((place, version))
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

type Taken = oneshot::Sender<Result<Accepted, A2aError>>;

/// A message was taken.
struct Accepted {
    live: Arc<LiveTask>,
    /// From this version on the answer to the message comes.
    version: u64,
    /// The task as it was then, for a stream.
    snapshot: Option<LiveEvent>,
}

impl Accepted {
    fn new(live: Arc<LiveTask>, version: u64, snapshot: Option<Option<u32>>) -> Self {
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
    fn snapshot_history(&self) -> Option<Option<u32>> {
        let length = self.request.configuration.history_length;
        self.streams
            .then(|| length.and_then(|length| u32::try_from(length).ok()))
    }
}

struct FollowUp {
    live: Arc<LiveTask>,
    agent: Arc<ServedAgent>,
    turn: Turn,
    place: Place,
    version: u64,
}

/// A caller refused for a full queue is asked to wait this long, in seconds.
const QUEUE_RETRY_SECONDS: u32 = 10;

/// Only a task that waits for its caller goes on; one at its end never does (3.1.1).
fn refuse_unless_waiting(live: &LiveTask) -> Result<(), A2aError> {
    if live.state().is_interrupted() {
        Ok(())
    } else {
        Err(not_waiting(live))
    }
}

fn not_waiting(live: &LiveTask) -> A2aError {
    let state = live.state();
    let text = if state.is_terminal() {
        format!(
            "Task {} is {state} and takes no further messages; start a new task, with the same contextId to refer to it.",
            live.id
        )
    } else {
        format!(
            "Task {} is {state}: it takes no message until it asks for one. Wait, cancel it, or start a new task.",
            live.id
        )
    };
    A2aError::new(ErrorKind::UnsupportedOperation, text).with("taskId", &*live.id)
}
