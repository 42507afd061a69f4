//! What is shown of a turn: on a terminal what the agent says, as it says it; elsewhere the labelled
//! lines of `nuncio send`.

use std::collections::HashSet;

use nuncio_client::{Progress, TaskView};
use nuncio_wire::{Artifact, StreamResponse, Task, TaskState};

use crate::client_settings::AgentSettings;
use crate::commands::session::Session;
use crate::commands::wait::{Final, Watcher, show};
use crate::output::{self, parts_text, repeats_results};

/// Shows one turn.
pub(super) enum Screen {
    Terminal(Transcript),
    Plain(Watcher),
}

impl Screen {
    pub(super) fn new(session: &Session, is_on_terminal: bool) -> Self {
        match is_on_terminal {
            true => Self::Terminal(Transcript::default()),
            false => Self::Plain(Watcher::new(session)),
        }
    }

    /// Shows one step of the wait.
    pub(super) fn observe(&mut self, progress: Progress<'_>, view: &TaskView) {
        match self {
            Self::Plain(watcher) => watcher.observe(progress, view),
            Self::Terminal(transcript) => output::write_stdout(&transcript.step(progress)),
        }
    }

    /// Shows how the turn ended.
    pub(super) fn close(self, session: &Session, view: &TaskView, agent: &AgentSettings) {
        match self {
            Self::Plain(mut watcher) => {
                watcher.close(view);
                show(session, view.clone(), Final::Answer, agent);
            }
            Self::Terminal(transcript) => output::write_stdout(&transcript.end(view)),
        }
    }
}

/// What an agent says, as people read it.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    /// Artifacts that were shown piece by piece.
    told: HashSet<String>,
    /// Whether the last line has no end yet.
    is_open: bool,
}

impl Transcript {
    fn step(&mut self, progress: Progress<'_>) -> String {
        match progress {
            Progress::Event(event) => match &event.event {
                StreamResponse::ArtifactUpdate(update) => {
                    let is_new = self.told.insert(update.artifact.artifact_id.clone());
                    let begins = is_new || !update.append;
                    self.artifact(&update.artifact, begins)
                }
                StreamResponse::StatusUpdate(update)
                    if update.status.state == TaskState::Working =>
                {
                    let said = update.status.message.as_ref();
                    said.map_or_else(String::new, |said| {
                        let text = parts_text(&said.parts);
                        self.line(&format!("({})", text.trim_end()))
                    })
                }
                _ => String::new(),
            },
            Progress::StreamLost(_) => {
                // What was missed shows with the whole.
                self.told.clear();
                self.line("(the connection was lost; waiting for the whole answer)")
            }
            Progress::Snapshot(_) => String::new(),
        }
    }

    fn end(mut self, view: &TaskView) -> String {
        if let Some(message) = view.message().filter(|_| view.task().is_none()) {
            return self.line(&parts_text(&message.parts));
        }
        let Some(task) = view.task() else {
            return String::new();
        };
        let missing = task.artifacts().iter();
        let missing = missing.filter(|it| !self.told.contains(&it.artifact_id));
        let missing: Vec<&Artifact> = missing.collect();
        let mut text: String = missing.iter().map(|it| self.artifact(it, true)).collect();
        if let Some(said) = &task.status.message
            && !repeats_results(task)
        {
            text += &self.line(&parts_text(&said.parts));
        }
        text + &self.line(state_of(task))
    }

    /// A piece of an artifact; `begins` with a line of its own.
    fn artifact(&mut self, artifact: &Artifact, begins: bool) -> String {
        let mut text = match begins {
            true => self.break_line(),
            false => String::new(),
        };
        text += &parts_text(&artifact.parts);
        if !text.is_empty() {
            self.is_open = !text.ends_with('\n');
        }
        text
    }

    /// Whole lines.
    fn line(&mut self, text: &str) -> String {
        if text.is_empty() {
            return self.break_line();
        }
        let text = format!("{}{}\n", self.break_line(), text.trim_end_matches('\n'));
        self.is_open = false;
        text
    }

    fn break_line(&mut self) -> String {
        let text = if self.is_open { "\n" } else { "" };
        self.is_open = false;
        text.to_owned()
    }
}

/// What the text alone does not say of the end.
fn state_of(task: &Task) -> &'static str {
    match task.status.state {
        TaskState::Failed => "(failed)",
        TaskState::Rejected => "(rejected)",
        TaskState::Canceled => "(canceled)",
        TaskState::AuthRequired => "(it waits for an authorisation)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nuncio_client::StreamEvent;

    fn shown(events: &[&str]) -> String {
        let (mut transcript, mut view) = (Transcript::default(), TaskView::default());
        let mut text = String::new();
        for event in events {
            let event = serde_json::from_str(event).unwrap();
            let event = StreamEvent {
                id: None,
                event,
                last: false,
            };
            view.apply(&event.event);
            text += &transcript.step(Progress::Event(&event));
        }
        text + &transcript.end(&view)
    }

    const WORKING: &str = r#"{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING","message":{"messageId":"w","role":"ROLE_AGENT","parts":[{"text":"looking"}]}}}}"#;
    const DONE: &str = r#"{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED","message":{"messageId":"d","role":"ROLE_AGENT","parts":[{"text":"one two"}]}}}}"#;

    fn chunk(id: &str, part: &str, append: bool) -> String {
        format!(
            r#"{{"artifactUpdate":{{"taskId":"t","contextId":"c","append":{append},"artifact":{{"artifactId":"{id}","parts":[{part}]}}}}}}"#
        )
    }

    #[test]
    fn what_is_said_is_shown_once_and_in_one_piece() {
        let one = chunk("a", r#"{"text":"one "}"#, false);
        let two = chunk("a", r#"{"text":"two\u001b[2J"}"#, true);
        let file = chunk("b", r#"{"raw":"AAEC","filename":"f.bin"}"#, false);
        let events = [WORKING, &one, &two, &file, DONE];
        insta::assert_snapshot!(shown(&events), @r"
        (looking)
        one two�[2J
        File: f.bin (application/octet-stream, 3 bytes)
        one two
        ");
    }

    #[test]
    fn the_last_words_that_repeat_the_result_are_left_out() {
        let (one, two) = (
            chunk("a", r#"{"text":"one "}"#, false),
            chunk("a", r#"{"text":"two"}"#, true),
        );
        assert_eq!(shown(&[&one, &two, DONE]), "one two\n");
    }

    #[test]
    fn a_task_that_came_whole_is_shown_whole_with_its_state() {
        let task = r#"{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_FAILED","message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"no luck"}]}},"artifacts":[{"artifactId":"a","parts":[{"text":"half"}]}]}}"#;
        assert_eq!(shown(&[task]), "half\nno luck\n(failed)\n");
    }
}
