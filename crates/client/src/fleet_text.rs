//! The text of a finished task at an agent of a Hermes fleet: its GetTask leaves it out, its
//! ListTasks has it.

use nuncio_wire::dialects::hermes_fleet::READER_PAGE_SIZE;
use nuncio_wire::operation::ListTasksRequest;
use nuncio_wire::{Request, Response, Task, TaskState};

use crate::client::Client;

/// Most pages that are looked through, newest tasks first: a thousand tasks.
const MAX_PAGES: usize = 10;

/// The task with its text, if it is completed without one and can be found in the list.
pub(crate) async fn complete(client: &Client, task: Task) -> Task {
    let has_text = task.artifacts.is_some() || task.status.message.is_some();
    if task.status.state != TaskState::Completed || has_text {
        return task;
    }
    let mut token = None;
    for _ in 0..MAX_PAGES {
        let request = ListTasksRequest {
            page_size: Some(READER_PAGE_SIZE),
            page_token: token,
            ..ListTasksRequest::default()
        };
        let page = match client.call_once(Request::ListTasks(request)).await {
            Ok(Response::ListTasks(page)) => page,
            Ok(_) => return task,
            Err(error) => {
                tracing::debug!(%error, "the text of the task cannot be looked up");
                return task;
            }
        };
        if let Some(found) = page.tasks.into_iter().find(|it| it.id == task.id) {
            return found;
        }
        if page.next_page_token.is_empty() {
            break;
        }
        token = Some(page.next_page_token);
    }
    task
}
