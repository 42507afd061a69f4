//! SubscribeToTask (specification 3.1.6).

use nuncio_wire::operation::SubscribeToTaskRequest;
use nuncio_wire::{A2aError, ErrorKind};

use super::send_message::require_streaming;
use super::{Asked, Operations, Reply};
use crate::tasks::{Closes, Subscription};

impl Operations {
    /// The task first, then its events; with a `Last-Event-ID` of this task and epoch only the
    /// events after it, also when the task has ended meanwhile.
    pub(super) async fn subscribe_to_task(
        &self,
        asked: &Asked,
        request: SubscribeToTaskRequest,
    ) -> Result<Reply, A2aError> {
        require_streaming(&asked.agent)?;
        let visibility = asked.caller.visibility(&asked.agent.name);
        let live = self.engine.watch_task(&request.id, &visibility).await?;
        let (engine, dialect, closes) = (self.engine.clone(), live.dialect, Closes::AtTheEnd);
        let version = live.version();
        let resumed = asked
            .last_event_id
            .filter(|id| id.epoch == engine.store().epoch() && (1..=version).contains(&id.version));
        let stream = match resumed {
            // At the end and with nothing left to send there is nothing to subscribe to.
            Some(id) if id.version < version || !live.state().is_terminal() => {
                Subscription::after(engine, live, id.version, closes)
            }
            _ if live.state().is_terminal() => return Err(at_its_end(&request.id)),
            _ => Subscription::starting_with(live.snapshot(None), engine, live, closes),
        };
        Ok(Reply::Stream(stream, dialect))
    }
}

fn at_its_end(id: &str) -> A2aError {
    let text =
        format!("Task {id} is in a final state and has no further events; read it with GetTask.");
    A2aError::new(ErrorKind::UnsupportedOperation, text).with("taskId", id)
}
