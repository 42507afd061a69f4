//! A message to a task that waits for its caller: the task goes on (specification 3.4.3).

use nuncio_store::{Durability, NewPushConfig};
use nuncio_wire::{A2aError, ErrorKind, Message, TaskState, TaskStatus};
use std::sync::Arc;

use super::engine::{Engine, store_error};
use super::lanes::Place;
use super::live::LiveTask;
use super::submit::{Accepted, Submission, Taken};
use super::view::Applied;
use crate::agents::{ServedAgent, Turn};
use crate::clock;
use crate::security::inbound;

impl Engine {
    pub(super) async fn continue_task(self: Arc<Self>, submission: Submission, taken: Taken) {
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
            hops,
            dialect,
            push_config,
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
        let started = self
            .start_follow_up(&agent, &live, &message, push_config)
            .await;
        let (place, version) = match started {
            Ok(started) => started,
            Err(error) => {
                self.close_turn(&live).await;
                return Err(error);
            }
        };
        let message = inbound::present(message);
        let turn = Turn {
            session: self.session(&agent.name, &live.owner, &live.context_id),
            is_resumed: false,
            is_worker: live.is_worker(),
            agent: agent.name.clone(),
            owner: live.owner.clone(),
            task_id: live.id.clone(),
            context_id: live.context_id.clone(),
            opening: live.opening().map_or_else(|| message.clone(), Arc::new),
            message,
            metadata: request.metadata,
            hops,
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
        push_config: Option<NewPushConfig>,
    ) -> Result<(Place, u64), A2aError> {
        // Between the first look and `begin_turn` another turn may have come and gone.
        refuse_unless_waiting(live)?;
        let place = self.enter_lane(agent, &live.owner, &live.context_id)?;
        if let Some(config) = push_config {
            let kept = self.store.put_push_config(&live.id, config).await;
            kept.map_err(store_error)?;
            self.push.watch(&live.id);
        }
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

struct FollowUp {
    live: Arc<LiveTask>,
    agent: Arc<ServedAgent>,
    turn: Turn,
    place: Place,
    version: u64,
}

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
