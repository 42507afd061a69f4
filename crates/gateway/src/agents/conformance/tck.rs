//! The TCK's contract: the message's id names the behaviour, for this one message.

use nuncio_wire::{Artifact, Part};

use super::{artifact, bare_message, data_part, raw_file, start_working, url_file};
use crate::agents::{Turn, TurnEnd, TurnEvent, TurnEvents};
use crate::ids;
use crate::tasks::Stopped;

/// What the kit reads as the message of a completed task.
const GREETING: &str = "Hello from TCK";

/// Answers by the longest behaviour the id begins with; any other id completes the task.
pub(super) async fn run(turn: &Turn, events: &mut TurnEvents) -> Result<TurnEnd, Stopped> {
    let id = turn.message.message_id.as_str();
    let is = |behaviour: &str| id.starts_with(behaviour);
    // `tck-artifact-file-url` stands before `tck-artifact-file`, which is its beginning.
    if is("tck-artifact-text") {
        events.push(artifact(Part::text("Generated text content")));
    } else if is("tck-artifact-file-url") {
        events.push(artifact(url_file()));
    } else if is("tck-artifact-file") {
        events.push(artifact(raw_file()));
    } else if is("tck-artifact-data") {
        events.push(artifact(data_part()));
    } else if is("tck-message-response") {
        return Ok(TurnEnd::Answered(bare_message("Direct message response")));
    } else if is("tck-input-required") {
        return Ok(TurnEnd::InputRequired(turn.reply_text("Input required")));
    } else if is("tck-reject-task") {
        return Ok(TurnEnd::Rejected(turn.reply_text("rejected")));
    } else if is("tck-stream-") {
        return stream(id, events).await;
    } else {
        return Ok(TurnEnd::Completed(Some(turn.reply_text(GREETING))));
    }
    Ok(TurnEnd::Completed(None))
}

/// Behaviours whose events must be seen one by one.
async fn stream(id: &str, events: &mut TurnEvents) -> Result<TurnEnd, Stopped> {
    let part = match id {
        _ if id.starts_with("tck-stream-001") => Part::text("Stream hello from TCK"),
        _ if id.starts_with("tck-stream-003") => Part::text("Stream task lifecycle"),
        _ if id.starts_with("tck-stream-ordering-001") => Part::text("Ordered output"),
        _ if id.starts_with("tck-stream-artifact-text") => Part::text("Streamed text content"),
        _ if id.starts_with("tck-stream-artifact-file") => raw_file(),
        _ if id.starts_with("tck-stream-artifact-chunked") => return chunks(events).await,
        _ => return Ok(TurnEnd::Completed(None)),
    };
    start_working(events).await?;
    events.emit(artifact(part)).await?;
    Ok(TurnEnd::Completed(None))
}

async fn chunks(events: &mut TurnEvents) -> Result<TurnEnd, Stopped> {
    start_working(events).await?;
    let id = ids::new_id();
    for (text, last_chunk) in [("chunk-1 ", false), ("chunk-2", true)] {
        let artifact = Artifact::new(id.clone(), vec![Part::text(text)]);
        let append = last_chunk;
        events
            .emit(TurnEvent::Artifact {
                artifact,
                append,
                last_chunk,
                metadata: None,
            })
            .await?;
    }
    Ok(TurnEnd::Completed(None))
}
