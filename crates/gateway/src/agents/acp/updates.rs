//! What an agent tells of its work: text, progress, plans, changed files.

use bytes::Bytes;
use nuncio_wire::{Artifact, Message, Metadata, Part, PartContent, RawJson, Role};
use serde_json::{Value, json};

use super::blocks::{self, Shown};
use crate::agents::TurnEvent;
use crate::ids;

/// The artifact that holds the agent's plan, replaced whenever it changes.
const PLAN: &str = "plan";

/// What an update means to the caller.
pub(super) enum Meaning {
    Text(String),
    Events(Vec<TurnEvent>),
    /// Nothing that goes out: thoughts, modes, what is not known here.
    Nothing,
}

/// Whether an event hands over something that was asked for: a plan is only about it.
pub(super) fn is_result(event: &TurnEvent) -> bool {
    matches!(event, TurnEvent::Artifact { artifact, .. } if artifact.artifact_id != PLAN)
}

/// Reads the parameters of a `session/update`.
pub(super) fn read(params: &Value) -> Meaning {
    let update = &params["update"];
    match update["sessionUpdate"].as_str() {
        Some("agent_message_chunk") => match blocks::read(&update["content"]) {
            Shown::Text(text) => Meaning::Text(text),
            Shown::Part(part) => Meaning::Events(vec![file(part)]),
            Shown::Nothing => Meaning::Nothing,
        },
        Some("tool_call" | "tool_call_update") => tool_call(update),
        Some("plan") => plan(&update["entries"]),
        _ => Meaning::Nothing,
    }
}

fn tool_call(update: &Value) -> Meaning {
    let mut events = Vec::new();
    // Updates without a title only tell of a status that matters to nobody outside.
    if let Some(title) = update["title"].as_str() {
        events.push(progress(title, update));
    }
    for content in update["content"].as_array().into_iter().flatten() {
        match content["type"].as_str() {
            Some("diff") => events.extend(changed_file(content)),
            Some("content") => match blocks::read(&content["content"]) {
                Shown::Part(part) => events.push(file(part)),
                // What a tool printed is for the agent.
                Shown::Text(_) | Shown::Nothing => {}
            },
            _ => {}
        }
    }
    if events.is_empty() {
        Meaning::Nothing
    } else {
        Meaning::Events(events)
    }
}

fn progress(title: &str, update: &Value) -> TurnEvent {
    let message = Message::new(ids::new_id(), Role::Agent, vec![Part::text(title)]);
    let about = json!({ "toolCall": {
        "id": update["toolCallId"], "kind": update["kind"], "status": update["status"],
    } });
    TurnEvent::Progress {
        message: Some(message),
        metadata: Metadata::parse(about.to_string()).ok(),
    }
}

/// The new text of a file that the agent wrote, named as the agent names it.
fn changed_file(diff: &Value) -> Option<TurnEvent> {
    let (path, text) = (diff["path"].as_str()?, diff["newText"].as_str()?);
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let mut part = Part::new(PartContent::Raw(Bytes::from(text.to_owned())));
    part.media_type = Some("text/plain".to_owned());
    part.filename = Some(name.to_owned());
    Some(file(part))
}

fn file(part: Part) -> TurnEvent {
    let name = part.filename.clone();
    let mut artifact = Artifact::new(ids::new_id(), vec![part]);
    artifact.name = name;
    TurnEvent::artifact(artifact)
}

fn plan(entries: &Value) -> Meaning {
    let Ok(data) = RawJson::of(&json!({ "plan": entries })) else {
        return Meaning::Nothing;
    };
    let mut part = Part::new(PartContent::Data(data));
    part.media_type = Some("application/json".to_owned());
    let mut artifact = Artifact::new(PLAN, vec![part]);
    artifact.name = Some(PLAN.to_owned());
    Meaning::Events(vec![TurnEvent::artifact(artifact)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(update: Value) -> Vec<TurnEvent> {
        match read(&json!({ "update": update })) {
            Meaning::Events(events) => events,
            _ => Vec::new(),
        }
    }

    #[test]
    fn thoughts_and_what_is_new_stay_inside() {
        for kind in ["agent_thought_chunk", "user_message_chunk", "brand_new"] {
            let update =
                json!({ "sessionUpdate": kind, "content": { "type": "text", "text": "x" } });
            assert!(
                matches!(read(&json!({ "update": update })), Meaning::Nothing),
                "{kind}"
            );
        }
    }

    #[test]
    fn a_tool_call_is_progress_and_its_diff_a_file() {
        let update = json!({ "sessionUpdate": "tool_call", "toolCallId": "1", "title": "Edit a",
            "kind": "edit", "status": "pending",
            "content": [{ "type": "diff", "path": "/x/a.rs", "oldText": null, "newText": "new" }] });
        let events = events(update);
        assert_eq!(events.len(), 2);
        assert!(!is_result(&events[0]) && is_result(&events[1]));
        assert!(
            matches!(&events[0], TurnEvent::Progress { message: Some(message), .. }
            if message.text() == "Edit a")
        );
        assert!(matches!(&events[1], TurnEvent::Artifact { artifact, .. }
            if artifact.name.as_deref() == Some("a.rs")));
    }

    #[test]
    fn a_plan_replaces_the_one_before() {
        let update = json!({ "sessionUpdate": "plan", "entries": [{ "content": "one" }] });
        let plan = &events(update)[0];
        assert!(
            matches!(plan, TurnEvent::Artifact { artifact, append: false, .. }
            if artifact.artifact_id == PLAN)
        );
        assert!(!is_result(plan));
    }
}
