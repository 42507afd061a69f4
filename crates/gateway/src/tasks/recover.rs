//! After a start: what becomes of tasks that were not at their end.

use nuncio_store::{Durability, StoreError, TaskRecord};
use nuncio_wire::{Message, TaskState, TaskStatus};
use std::sync::Arc;

use super::engine::Engine;
use super::finish::said;
use super::live::LiveTask;
use super::view::Applied;
use crate::agents::{ServedAgent, Turn, WORKER_LOST};
use crate::clock;
use crate::security::{Hops, inbound};

/// What recovery did, for the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// SUBMITTED tasks that were queued again.
    pub queued: usize,
    /// Tasks that were being worked on and are taken up again by their agents.
    pub resumed: usize,
    /// Tasks that were being worked on and are FAILED now.
    pub lost: usize,
    /// Tasks that wait for their caller, untouched.
    pub waiting: usize,
}

impl Engine {
    /// Queues what had not begun, and what its agent can take up again; fails what else was being
    /// worked on with reason `worker_lost`; leaves what waits for its caller. Call once, before the first request.
    pub async fn recover(self: &Arc<Self>) -> Result<Recovered, StoreError> {
        let mut recovered = Recovered::default();
        for record in self.store.unfinished_tasks().await? {
            match record.state {
                TaskState::InputRequired | TaskState::AuthRequired => recovered.waiting += 1,
                TaskState::Working if self.resumes(&record) => match self.requeue(&record) {
                    Ok(()) => recovered.resumed += 1,
                    Err(reason) => {
                        self.fail(&record, WORKER_LOST, reason).await?;
                        recovered.lost += 1;
                    }
                },
                TaskState::Submitted => match self.requeue(&record) {
                    Ok(()) => recovered.queued += 1,
                    Err(reason) => {
                        self.fail(&record, "not_served", reason).await?;
                        recovered.lost += 1;
                    }
                },
                _ => {
                    let text = "The gateway stopped while the agent was at work, and the work was lost; send the message again.";
                    self.fail(&record, WORKER_LOST, text).await?;
                    recovered.lost += 1;
                }
            }
        }
        Ok(recovered)
    }

    /// Whether the agent of a task can take up its work again.
    fn resumes(&self, record: &TaskRecord) -> bool {
        let agent = self.agents.get(&record.agent);
        agent.is_some_and(|agent| agent.backend.resumes())
    }

    fn requeue(self: &Arc<Self>, record: &TaskRecord) -> Result<(), &'static str> {
        let gone = "The agent is no longer served by this gateway.";
        let agent: Arc<ServedAgent> = self.agents.get(&record.agent).ok_or(gone)?;
        let unreadable = "The stored message cannot be read.";
        let message = record.history.last().ok_or(unreadable)?;
        let message: Message = serde_json::from_slice(message).map_err(|_| unreadable)?;
        let live = LiveTask::from_record(&self.live, record).map_err(|_| unreadable)?;
        let live = self.live.insert(Arc::new(live));
        let cancel = live.begin_turn().ok_or("The task is queued already.")?;
        let message = inbound::present(message);
        let is_resumed = record.state == TaskState::Working;
        if is_resumed {
            agent.backend.will_resume(&record.id);
        }
        let turn = Turn {
            session: self.session(&agent.name, &record.owner, &record.context_id),
            is_worker: live.is_worker(),
            is_resumed,
            agent: agent.name.clone(),
            owner: record.owner.clone(),
            task_id: record.id.clone(),
            context_id: record.context_id.clone(),
            opening: message.clone(),
            message,
            metadata: None,
            hops: Hops::default(),
            dialect: record.dialect,
            accepted_output_modes: Vec::new(),
            context_is_callers: false,
            cancel,
        };
        let key = super::lanes::LaneKey {
            agent: agent.name.clone(),
            owner: record.owner.clone(),
            context_id: record.context_id.clone(),
        };
        let place = self.lanes.enter(key, &agent.slots);
        self.turns
            .spawn(self.clone().run_turn(live, agent, turn, place));
        Ok(())
    }

    async fn fail(
        self: &Arc<Self>,
        record: &TaskRecord,
        reason: &str,
        text: &str,
    ) -> Result<(), StoreError> {
        let live = LiveTask::from_record(&self.live, record)?;
        let message = said(&live, text.to_owned(), reason);
        let status = TaskStatus {
            state: TaskState::Failed,
            message: Some(message),
            timestamp: Some(clock::now()),
        };
        let change = vec![Applied::status(&live, status, None)];
        // A store that cannot take it now is tried again; a task that moved on needs nothing.
        self.commit(&live, change, Durability::Synced).await.ok();
        if live.is_worker() {
            // On its own, since the start does not wait for what an agent's server takes.
            let engine = self.clone();
            self.turns
                .spawn(async move { engine.forget_worker(&live).await });
        }
        Ok(())
    }
}
