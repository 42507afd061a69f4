//! Tasks, messages and events as labelled text. No part is left out, whatever its kind
//! (a2a-cli specification 11.2).

use nuncio_wire::{
    Artifact, Message, Part, PartContent, Role, StreamResponse, Task, TaskState, TaskStatus,
};

use crate::output::fields::{Fields, printable};

/// A whole task.
pub(crate) fn task_text(task: &Task, verbose: bool) -> String {
    let mut fields = Fields::default();
    task_head(
        &mut fields,
        &task.id,
        &task.context_id,
        &task.status,
        verbose,
    );
    status_message(&mut fields, &task.status, &artifact_texts(task), verbose);
    for artifact in task.artifacts() {
        artifact_fields(&mut fields, artifact, verbose);
    }
    if verbose {
        history(&mut fields, &task.history);
        metadata(&mut fields, task.metadata.as_ref());
    }
    fields.finish()
}

/// The history of a task, which is shown when it is asked for.
pub(crate) fn history(fields: &mut Fields, history: &[Message]) {
    for message in history {
        let role = if message.role == Role::User {
            "user"
        } else {
            "agent"
        };
        fields.field("History", &format!("{role} ({})", message.message_id));
        for part in &message.parts {
            part_fields(fields, part);
        }
    }
}

/// One line about a task in a list.
pub(crate) fn task_line(task: &Task) -> String {
    let mut fields = Fields::default();
    let when = task
        .status
        .timestamp
        .map(|time| format!(" since {time}"))
        .unwrap_or_default();
    fields.field(
        "Task",
        &format!(
            "{} {}{when} (context {})",
            task.id, task.status.state, task.context_id
        ),
    );
    fields.finish()
}

/// A direct answer without a task.
pub(crate) fn message_text(message: &Message, verbose: bool) -> String {
    let mut fields = Fields::default();
    fields.field("Message ID", &message.message_id);
    fields.optional("Context ID", message.context_id.as_deref());
    fields.optional("Task ID", message.task_id.as_deref());
    for part in &message.parts {
        part_fields(&mut fields, part);
    }
    if verbose {
        metadata(&mut fields, message.metadata.as_ref());
    }
    fields.finish()
}

/// Parts as people read them: texts as they are, everything else on lines of its own.
pub(crate) fn parts_text(parts: &[Part]) -> String {
    let mut text = String::new();
    for part in parts {
        match part.as_text() {
            Some(said) => text += &printable(said),
            None => {
                if !text.is_empty() && !text.ends_with('\n') {
                    text.push('\n');
                }
                let mut fields = Fields::default();
                part_fields(&mut fields, part);
                text += &fields.finish();
            }
        }
    }
    text
}

/// Whether the task's last words only say again what its artifacts say.
pub(crate) fn repeats_results(task: &Task) -> bool {
    repeats(&task.status, &artifact_texts(task))
}

/// Prints the events of a stream, each in the form that a whole task has.
#[derive(Debug, Default)]
pub(crate) struct TaskPrinter {
    /// Text of all artifacts so far: a final status often repeats it.
    said: String,
    verbose: bool,
}

impl TaskPrinter {
    pub(crate) fn new(verbose: bool) -> Self {
        Self {
            said: String::new(),
            verbose,
        }
    }

    /// The text for the next event. `known` is the task with the event already in it.
    pub(crate) fn event(&mut self, event: &StreamResponse, known: Option<&Task>) -> String {
        match event {
            StreamResponse::Message(message) => message_text(message, self.verbose),
            StreamResponse::Task(task) => self.snapshot(task),
            StreamResponse::StatusUpdate(update) => {
                let mut fields = Fields::default();
                let (task, context) = (&update.task_id, &update.context_id);
                task_head(&mut fields, task, context, &update.status, self.verbose);
                let said = known.map(artifact_texts).unwrap_or_default();
                status_message(&mut fields, &update.status, &said, self.verbose);
                if self.verbose {
                    metadata(&mut fields, update.metadata.as_ref());
                }
                fields.finish()
            }
            StreamResponse::ArtifactUpdate(update) => {
                let mut fields = Fields::default();
                self.said = known.map(artifact_texts).unwrap_or_default();
                artifact_fields(&mut fields, &update.artifact, self.verbose);
                fields.finish()
            }
        }
    }

    /// A whole task in the middle of a stream repeats artifacts that were printed as chunks.
    pub(crate) fn snapshot(&mut self, task: &Task) -> String {
        let said = artifact_texts(task);
        if !self.said.is_empty() && said == self.said {
            let mut fields = Fields::default();
            task_head(
                &mut fields,
                &task.id,
                &task.context_id,
                &task.status,
                self.verbose,
            );
            status_message(&mut fields, &task.status, &said, self.verbose);
            return fields.finish();
        }
        self.said = said;
        task_text(task, self.verbose)
    }
}

fn task_head(fields: &mut Fields, id: &str, context_id: &str, status: &TaskStatus, verbose: bool) {
    fields.field("Task ID", id).field("Context ID", context_id);
    fields.field("State", status.state.as_str());
    if verbose {
        fields.optional(
            "Since",
            status.timestamp.map(|time| time.to_string()).as_deref(),
        );
    }
}

/// What the agent says about the state. On completion many agents repeat the result there: it is
/// shown once.
fn status_message(fields: &mut Fields, status: &TaskStatus, said: &str, verbose: bool) {
    let Some(message) = &status.message else {
        return;
    };
    if repeats(status, said) && !verbose {
        return;
    }
    for part in &message.parts {
        match part.as_text() {
            Some(text) => drop(fields.block("Status Message", text)),
            None => part_fields(fields, part),
        }
    }
}

fn repeats(status: &TaskStatus, said: &str) -> bool {
    let message = status.message.as_ref();
    status.state == TaskState::Completed
        && message.is_some_and(|message| {
            message.parts.iter().all(|part| part.as_text().is_some())
                && message.text().trim() == said.trim()
        })
}

fn artifact_fields(fields: &mut Fields, artifact: &Artifact, verbose: bool) {
    let label = match &artifact.name {
        Some(name) => format!("{} ({name})", artifact.artifact_id),
        None => artifact.artifact_id.clone(),
    };
    fields.field("Artifact", &label);
    fields.optional("Description", artifact.description.as_deref());
    for part in &artifact.parts {
        part_fields(fields, part);
    }
    if verbose {
        metadata(fields, artifact.metadata.as_ref());
    }
}

fn part_fields(fields: &mut Fields, part: &Part) {
    let media_type = part.media_type.as_deref();
    match &part.content {
        PartContent::Text(text) => {
            fields.optional("Media Type", media_type.filter(|it| *it != "text/plain"));
            fields.block("Text", text);
        }
        PartContent::Data(data) => {
            fields.optional(
                "Media Type",
                media_type.filter(|it| *it != "application/json"),
            );
            fields.block("Data", &pretty(data.get()));
        }
        PartContent::Raw(bytes) => {
            let name = part.filename.as_deref().unwrap_or("unnamed");
            let kind = media_type.unwrap_or("application/octet-stream");
            fields.field("File", &format!("{name} ({kind}, {} bytes)", bytes.len()));
        }
        PartContent::Url(url) => {
            let name = part.filename.as_deref().unwrap_or("unnamed");
            let kind = media_type.map(|it| format!(" ({it})")).unwrap_or_default();
            fields.field("File", &format!("{name}{kind} at {url}"));
        }
    }
}

fn metadata(fields: &mut Fields, metadata: Option<&nuncio_wire::Metadata>) {
    if let Some(metadata) = metadata {
        fields.block("Metadata", &pretty(metadata.get()));
    }
}

/// All artifact text, to recognise a repetition of it.
fn artifact_texts(task: &Task) -> String {
    let parts = task.artifacts().iter().flat_map(|artifact| &artifact.parts);
    parts
        .filter_map(Part::as_text)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Indented JSON; the text's numbers and order stay as they are. Deeper than a screen is wide it is
/// shown as it came.
fn pretty(json: &str) -> String {
    indent(json).unwrap_or_else(|| json.to_owned())
}

/// Deepest nesting that is indented.
const MAX_INDENT: usize = 32;

fn indent(json: &str) -> Option<String> {
    let (mut out, mut depth, mut in_string, mut escaped) = (String::new(), 0usize, false, false);
    let mut rest = json.chars().peekable();
    while let Some(c) = rest.next() {
        if in_string {
            out.push(c);
            in_string = escaped || c != '"';
            escaped = !escaped && c == '\\';
            continue;
        }
        match c {
            '"' => {
                in_string = true;
                out.push(c);
            }
            '{' | '[' => {
                out.push(c);
                while rest.next_if(|next| next.is_ascii_whitespace()).is_some() {}
                if let Some(end) = rest.next_if(|next| matches!(next, '}' | ']')) {
                    out.push(end);
                    continue;
                }
                depth += 1;
                new_line(&mut out, depth)?;
            }
            '}' | ']' => {
                depth = depth.checked_sub(1)?;
                new_line(&mut out, depth)?;
                out.push(c);
            }
            ',' => {
                out.push(c);
                new_line(&mut out, depth)?;
            }
            ':' => out.push_str(": "),
            c if c.is_ascii_whitespace() => {}
            c => out.push(c),
        }
    }
    Some(out)
}

fn new_line(out: &mut String, depth: usize) -> Option<()> {
    if depth > MAX_INDENT {
        return None;
    }
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(json: &str) -> Task {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn every_kind_of_part_is_shown() {
        let task = task(
            r#"{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[
            {"artifactId":"a","name":"out","parts":[{"text":"hi"},{"data":{"n":1.50,"l":[]}},
            {"raw":"AAEC","filename":"f.bin"},{"url":"https://h/f","mediaType":"text/csv"}]}]}"#,
        );
        insta::assert_snapshot!(task_text(&task, false), @r#"
        Task ID: t
        Context ID: c
        State: TASK_STATE_COMPLETED
        Artifact: a (out)
        Text:
        hi

        Data:
        {
          "n": 1.50,
          "l": []
        }

        File: f.bin (application/octet-stream, 3 bytes)
        File: unnamed (text/csv) at https://h/f
        "#);
    }

    #[test]
    fn a_result_that_the_final_status_repeats_is_shown_once() {
        let task = task(
            r#"{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED","message":
            {"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"Hello"}]}},
            "artifacts":[{"artifactId":"a","parts":[{"text":"Hello"}]}]}"#,
        );
        assert_eq!(task_text(&task, false).matches("Hello").count(), 1);
    }
}
