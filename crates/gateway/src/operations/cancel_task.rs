//! CancelTask (specification 3.1.5).

use nuncio_wire::operation::CancelTaskRequest;
use nuncio_wire::{A2aError, Response};

use super::{Asked, Operations, Reply};

impl Operations {
    pub(super) async fn cancel_task(
        &self,
        asked: &Asked,
        request: CancelTaskRequest,
    ) -> Result<Reply, A2aError> {
        let visibility = asked.caller.visibility(&asked.agent.name);
        let (task, dialect) = self.engine.cancel_task(&request.id, &visibility).await?;
        Ok(Reply::AnswerFrom(Response::Task(task), dialect))
    }
}
