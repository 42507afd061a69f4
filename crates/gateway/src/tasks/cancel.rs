//! CancelTask: the work stops before CANCELED is final (specification 3.1.5).

use nuncio_store::{Durability, Visibility};
use nuncio_wire::dialects::Dialect;
use nuncio_wire::{A2aError, ErrorKind, Task, TaskState, TaskStatus};
use std::sync::Arc;

use super::engine::Engine;
use super::live::LiveTask;
use super::view::Applied;
use crate::clock;

impl Engine {
    /// Cancels the task and returns it, CANCELED.
    ///
    /// Errors: TaskNotFound; TaskNotCancelable in a final state, CANCELED too. Calls that come in
    /// while a cancel is under way get its result.
    pub async fn cancel_task(
        self: &Arc<Self>,
        id: &str,
        visibility: &Visibility,
    ) -> Result<(Task, Dialect), A2aError> {
        let live = self.live_task(id, visibility).await?;
        live.announce();
        if live.state().is_terminal() {
            return Err(not_cancelable(&live));
        }
        if !live.request_cancel() {
            return self.cancel_at_rest(&live).await;
        }
        let mut progress = live.watch();
        // The sender lives in `live`, which we hold, so waiting cannot fail.
        let ended = progress
            .wait_for(|progress| progress.state.is_terminal())
            .await;
        drop(ended);
        match live.task() {
            task if task.status.state == TaskState::Canceled => Ok((task, live.dialect)),
            _ => Err(not_cancelable(&live)),
        }
    }

    /// Cancels a task that waits for its caller: there is no work to stop.
    async fn cancel_at_rest(
        self: &Arc<Self>,
        live: &Arc<LiveTask>,
    ) -> Result<(Task, Dialect), A2aError> {
        let status = TaskStatus {
            state: TaskState::Canceled,
            message: None,
            timestamp: Some(clock::now()),
        };
        let changes = vec![Applied::status(live, status, None)];
        match self.commit_once(live, changes, Durability::Synced).await {
            Ok(_) => {
                // Goes on when the caller hangs up: the task is cancelled.
                let abandoned = self.turns.spawn(self.clone().abandon(live.clone())).await;
                if let Err(error) = abandoned {
                    tracing::error!(%error, task = %live.id, "what a task left may still be there");
                }
                Ok((live.task(), live.dialect))
            }
            Err(error) if error.kind == ErrorKind::UnsupportedOperation => {
                Err(not_cancelable(live))
            }
            Err(error) => Err(error),
        }
    }

    /// Tells the backend that nobody comes back to the task.
    async fn abandon(self: Arc<Self>, live: Arc<LiveTask>) {
        if let Some(agent) = self.agents.get(&live.agent) {
            let session = self.session(&live.agent, &live.owner, &live.context_id);
            agent.backend.abandon(&session, &live.id).await;
        }
        if live.is_worker() {
            self.forget_worker(&live).await;
        }
    }
}

fn not_cancelable(live: &LiveTask) -> A2aError {
    let text = format!(
        "Task {} is {} and cannot be canceled.",
        live.id,
        live.state()
    );
    A2aError::new(ErrorKind::TaskNotCancelable, text).with("taskId", &*live.id)
}
