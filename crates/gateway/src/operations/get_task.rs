//! GetTask (specification 3.1.3).

use nuncio_wire::operation::GetTaskRequest;
use nuncio_wire::{A2aError, Response};

use super::{Asked, Operations, Reply, history_length};

impl Operations {
    pub(super) async fn get_task(
        &self,
        asked: &Asked,
        request: GetTaskRequest,
    ) -> Result<Reply, A2aError> {
        let visibility = asked.caller.visibility(&asked.agent.name);
        let (mut task, dialect) = self.engine.read_task(&request.id, &visibility).await?;
        task.limit_history(history_length(request.history_length));
        Ok(Reply::AnswerFrom(Response::Task(task), dialect))
    }
}
