//! ListTasks (specification 3.1.4).

use nuncio_store::{Include, ListQuery};
use nuncio_wire::dialects::Dialect;
use nuncio_wire::operation::{ListTasksRequest, ListTasksResponse};
use nuncio_wire::{A2aError, Response, Timestamp};

use super::{Asked, Operations, Reply, history_length};
use crate::tasks::store_error;

impl Operations {
    pub(super) async fn list_tasks(
        &self,
        asked: &Asked,
        request: ListTasksRequest,
    ) -> Result<Reply, A2aError> {
        let page_size = request.effective_page_size();
        let include_artifacts = request.include_artifacts.unwrap_or(false);
        let query = ListQuery {
            visibility: asked.caller.visibility(&asked.agent.name),
            context_id: request.context_id,
            state: request.status,
            status_from_millis: request
                .status_timestamp_after
                .map(Timestamp::as_millis_ceil),
            page_size,
            after: None,
            include: Include {
                // A list is an overview: history only where it is asked for.
                history: history_length(request.history_length).or(Some(0)),
                artifacts: include_artifacts,
            },
        };
        let after = request
            .page_token
            .map(|token| self.page_tokens.read(&token, &query));
        let query = ListQuery {
            after: after.transpose()?,
            ..query
        };
        let page = self
            .engine
            .store()
            .list_tasks(query.clone())
            .await
            .map_err(store_error)?;
        // Callers of the fleet know their tasks by the ids they chose.
        let by_alias = asked.dialect == Dialect::Fleet;
        let tasks = page.tasks.iter().map(|record| {
            let mut task = record.to_task()?;
            if let Some(alias) = record.alias.as_ref().filter(|_| by_alias) {
                task.id.clone_from(alias);
            }
            Ok(task)
        });
        Ok(Reply::Answer(Response::ListTasks(ListTasksResponse {
            tasks: tasks.collect::<Result<_, _>>().map_err(store_error)?,
            next_page_token: page.next.map_or_else(String::new, |cursor| {
                self.page_tokens.write(&cursor, &query)
            }),
            page_size,
            total_size: u32::try_from(page.total).unwrap_or(u32::MAX),
        })))
    }
}
