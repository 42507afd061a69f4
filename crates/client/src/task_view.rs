//! What is known of a task while its events come in: each event folded into one picture.
//!
//! Never asks the peer; [`crate::follow`] does.

use nuncio_wire::operation::SendMessageResponse;
use nuncio_wire::{
    Message, StreamResponse, Task, TaskArtifactUpdateEvent, TaskState, TaskStatus,
    TaskStatusUpdateEvent,
};

/// A task as far as its events have told, or the direct answer that came instead of one.
#[derive(Clone, Debug, Default)]
pub struct TaskView {
    task: Option<Task>,
    message: Option<Message>,
    has_gap: bool,
}

impl TaskView {
    /// A view that begins with a known task.
    #[must_use]
    pub fn of(task: Task) -> Self {
        Self {
            task: Some(task),
            message: None,
            has_gap: false,
        }
    }

    /// A view that begins with the answer to a send.
    #[must_use]
    pub fn of_answer(answer: SendMessageResponse) -> Self {
        match answer {
            SendMessageResponse::Task(task) => Self::of(task),
            SendMessageResponse::Message(message) => Self {
                task: None,
                message: Some(message),
                has_gap: false,
            },
        }
    }

    /// Takes the next event. A whole task replaces everything before it.
    pub fn apply(&mut self, event: &StreamResponse) {
        match event {
            StreamResponse::Task(task) => {
                self.task = Some(task.clone());
                self.has_gap = false;
            }
            StreamResponse::Message(message) => self.message = Some(message.clone()),
            StreamResponse::StatusUpdate(update) => self.apply_status(update),
            StreamResponse::ArtifactUpdate(update) => self.apply_artifact(update),
        }
    }

    /// Notes that events may have been missed: only the next whole task mends that.
    pub(crate) fn note_gap(&mut self) {
        self.has_gap = true;
    }

    /// Whether something of the task may be missing.
    pub(crate) fn has_gap(&self) -> bool {
        self.has_gap
    }

    fn apply_status(&mut self, update: &TaskStatusUpdateEvent) {
        let task = self.task_for(&update.task_id, &update.context_id);
        let before = std::mem::replace(&mut task.status, update.status.clone());
        // A status message that gives way to the next one was still said.
        if let Some(said) = before.message
            && !task
                .history
                .iter()
                .any(|message| message.message_id == said.message_id)
            && update.status.message.as_ref() != Some(&said)
        {
            task.history.push(said);
        }
    }

    fn apply_artifact(&mut self, update: &TaskArtifactUpdateEvent) {
        let task = self.task_for(&update.task_id, &update.context_id);
        let artifacts = task.artifacts.get_or_insert_default();
        let id = &update.artifact.artifact_id;
        match artifacts
            .iter_mut()
            .find(|artifact| artifact.artifact_id == *id)
        {
            Some(known) if update.append => known.append(update.artifact.clone()),
            Some(known) => *known = update.artifact.clone(),
            None => artifacts.push(update.artifact.clone()),
        }
    }

    fn task_for(&mut self, id: &str, context_id: &str) -> &mut Task {
        self.task.get_or_insert_with(|| Task {
            id: id.to_owned(),
            context_id: context_id.to_owned(),
            status: TaskStatus {
                state: TaskState::Unspecified,
                message: None,
                timestamp: None,
            },
            artifacts: None,
            history: Vec::new(),
            metadata: None,
        })
    }

    /// The task, once its id is known.
    #[must_use]
    pub fn task(&self) -> Option<&Task> {
        self.task.as_ref()
    }

    /// The direct answer, if one came.
    #[must_use]
    pub fn message(&self) -> Option<&Message> {
        self.message.as_ref()
    }

    /// Whether there is nothing left to wait for: a final or a waiting state, or a direct answer.
    /// An unspecified state is neither (a2a-cli specification 9.1).
    #[must_use]
    pub fn is_settled(&self) -> bool {
        match &self.task {
            Some(task) => task.status.state.is_terminal() || task.status.state.is_interrupted(),
            None => self.message.is_some(),
        }
    }

    /// The picture in the form of an answer to a send; `None` while nothing has come.
    #[must_use]
    pub fn into_answer(self) -> Option<SendMessageResponse> {
        match (self.task, self.message) {
            (Some(task), _) => Some(SendMessageResponse::Task(task)),
            (None, Some(message)) => Some(SendMessageResponse::Message(message)),
            (None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(events: &[&str]) -> TaskView {
        let mut view = TaskView::default();
        for event in events {
            view.apply(&serde_json::from_str(event).unwrap());
        }
        view
    }

    #[test]
    fn chunks_become_one_artifact_and_the_last_status_stands() {
        let view = view(&[
            r#"{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_SUBMITTED"}}}"#,
            r#"{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":"Hel"}]}}}"#,
            r#"{"artifactUpdate":{"taskId":"t","contextId":"c","append":true,"artifact":{"artifactId":"a","parts":[{"text":"lo"}]}}}"#,
            r#"{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}"#,
        ]);
        assert!(view.is_settled());
        let task = view.task().unwrap();
        assert_eq!(task.artifacts()[0].parts[0].as_text(), Some("Hello"));
        assert_eq!(task.status.state, TaskState::Completed);
    }

    #[test]
    fn a_stream_that_begins_with_an_update_still_names_its_task() {
        let event = r#"{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}"#;
        let view = view(&[event]);
        assert!(!view.is_settled());
        assert_eq!(
            (
                view.task().unwrap().id.as_str(),
                view.task().unwrap().context_id.as_str()
            ),
            ("t", "c")
        );
    }

    #[test]
    fn an_unspecified_state_is_waited_on() {
        assert!(
            !view(&[r#"{"task":{"id":"t","status":{"state":"TASK_STATE_UNSPECIFIED"}}}"#])
                .is_settled()
        );
        assert!(
            view(&[r#"{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}]}}"#])
                .is_settled()
        );
    }
}
