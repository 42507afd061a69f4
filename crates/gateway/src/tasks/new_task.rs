//! A new task: its context, its place in the lane, its rows, its turn.

use nuncio_store::{Created, Include, ListQuery, NewTask, Repeat, Visibility};
use nuncio_wire::dialects::Dialect;
use nuncio_wire::{A2aError, ErrorKind, Message, Task, TaskState, TaskStatus};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::encode;
use super::engine::{Engine, store_error};
use super::lanes::{LaneKey, Place};
use super::live::{LiveTask, Whose};
use super::submit::{Accepted, Submission, Taken};
use crate::agents::{ServedAgent, Turn};
use crate::security::inbound;
use crate::{clock, ids};

/// How long an idempotency key is remembered: 24 h, in milliseconds.
const KEY_LIFE_MILLIS: i64 = 24 * 60 * 60 * 1000;
/// A caller refused for a full queue is asked to wait this long, in seconds.
const QUEUE_RETRY_SECONDS: u32 = 10;

impl Engine {
    /// The context of a new task, and whether its id is new to us and the caller's own choice.
    pub(super) async fn choose_context(
        &self,
        submission: &Submission,
    ) -> Result<(Arc<str>, bool), A2aError> {
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

    pub(super) async fn new_task(
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
        let pushes = submission.push_config.is_some();
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
        if pushes {
            self.watch_pushes(&live, &agent);
        }
        // The snapshot is taken before the turn can add to it: a stream begins at the beginning.
        drop(taken.send(Ok(Accepted::new(live.clone(), 1, history))));
        self.run_turn(live, agent, turn, place).await;
    }

    /// From now on the task's webhooks are served. Where a turn may end without a task, nothing is
    /// sent before its first event.
    fn watch_pushes(&self, live: &LiveTask, agent: &ServedAgent) {
        if agent.backend.answers_directly() {
            self.push.watch_quietly(&live.id);
        } else {
            self.push.watch(&live.id);
        }
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
            hops,
            dialect,
            alias,
            payload_hash,
            task_metadata,
            push_config,
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
            // In the other dialects an id names the newest of its tasks.
            alias_is_unique: dialect == Dialect::Fleet,
            state,
            status: encode::json(&status),
            status_millis: now.as_millis(),
            message: encode::json(&message),
            metadata: task_metadata.as_ref().map(encode::json),
            repeat: repeat_of(request.idempotency_key, &message, payload_hash),
            push_config,
        };
        let mut task = begun(status, message.clone());
        let is_worker = task_metadata.is_some();
        task.metadata = task_metadata;
        let live = Arc::new(LiveTask::new(&self.live, whose(&new), task));
        let message = inbound::present(message);
        let turn = Turn {
            session: self.session(&agent.name, &owner, &context_id),
            is_resumed: false,
            is_worker,
            agent: agent.name.clone(),
            owner,
            task_id,
            context_id,
            opening: message.clone(),
            message,
            metadata: request.metadata,
            hops,
            dialect,
            accepted_output_modes: request.configuration.accepted_output_modes,
            context_is_callers,
            cancel: live.begin_turn().expect("a new task has no turn yet"),
        };
        (new, live, turn)
    }
}

/// What makes a repeat of this send recognisable.
fn repeat_of(key: Option<String>, message: &Message, payload_hash: [u8; 32]) -> Repeat {
    Repeat {
        key,
        key_expires_millis: clock::now_millis() + KEY_LIFE_MILLIS,
        message_id: message.message_id.clone(),
        payload_hash,
    }
}

fn whose(new: &NewTask) -> Whose {
    Whose {
        agent: new.agent.clone(),
        owner: new.owner.clone(),
        dialect: new.dialect,
    }
}

/// The task as it begins. The message names its ids.
fn begun(status: TaskStatus, message: Message) -> Task {
    Task {
        id: message.task_id.clone().unwrap_or_default(),
        context_id: message.context_id.clone().unwrap_or_default(),
        status,
        artifacts: None,
        history: vec![message],
        metadata: None,
    }
}
