//! The contract of ACTS: the text names the behaviour, which then belongs to the task.

use nuncio_wire::{Artifact, Part};
use std::time::Duration;

use super::{
    BEHAVIOUR_PREFIX, artifact, bare_message, data_part, first_text, pause, raw_file,
    start_working, url_file,
};
use crate::agents::{Turn, TurnEnd, TurnEvent, TurnEvents};
use crate::ids;
use crate::tasks::Stopped;

/// How long `tck-long-running` works: the suite polls at once and then every second until it has
/// seen WORKING.
const LONG_WORK: Duration = Duration::from_millis(1_500);

/// What ACTS can ask for. Where one name begins another, the longer one stands first.
const BEHAVIOURS: [(&str, Behaviour); 16] = [
    ("tck-complete-task", Behaviour::Complete),
    ("tck-long-running", Behaviour::LongRunning),
    ("tck-multi-turn", Behaviour::MultiTurn),
    ("tck-stream-basic", Behaviour::StreamBasic),
    ("tck-message-response", Behaviour::Message),
    ("tck-cancel", Behaviour::WaitForCancel),
    ("tck-task-failure", Behaviour::Fail),
    ("tck-stream-chunked", Behaviour::StreamChunked),
    ("tck-auth-required", Behaviour::AuthRequired),
    ("tck-artifact-text", Behaviour::Text),
    ("tck-artifact-data", Behaviour::Data),
    ("tck-artifact-file-url", Behaviour::FileUrl),
    ("tck-artifact-file", Behaviour::File),
    ("tck-input-required", Behaviour::InputRequired),
    ("tck-reject-task", Behaviour::Reject),
    // Parsing peers' answers is checked against the client itself, not through an agent.
    ("tck-client-parse", Behaviour::Unknown),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Behaviour {
    Complete,
    LongRunning,
    MultiTurn,
    StreamBasic,
    Message,
    WaitForCancel,
    Fail,
    StreamChunked,
    AuthRequired,
    Text,
    Data,
    File,
    FileUrl,
    InputRequired,
    Reject,
    Unknown,
}

/// The text that names the behaviour: this message's, else the one that opened the task.
pub(super) fn behaviour(turn: &Turn) -> Option<&str> {
    let named = |text: &&str| text.starts_with(BEHAVIOUR_PREFIX);
    let of_message = first_text(&turn.message).filter(named);
    of_message.or_else(|| first_text(&turn.opening).filter(named))
}

/// Answers by the behaviour that is named; one that ACTS does not know fails the task.
pub(super) async fn run(turn: &Turn, events: &mut TurnEvents) -> Result<TurnEnd, Stopped> {
    let name = behaviour(turn).unwrap_or_default();
    let found = BEHAVIOURS.iter().find(|(known, _)| name.starts_with(known));
    let part = match found.map_or(Behaviour::Unknown, |(_, behaviour)| *behaviour) {
        Behaviour::Complete => return Ok(completed(turn)),
        Behaviour::LongRunning => return long_running(turn, events).await,
        Behaviour::MultiTurn => return Ok(multi_turn(turn)),
        Behaviour::StreamBasic => return stream_basic(events).await,
        Behaviour::Message => return Ok(TurnEnd::Answered(bare_message("A direct message."))),
        Behaviour::WaitForCancel => return wait_for_cancel(turn, events).await,
        Behaviour::Fail => return Ok(TurnEnd::FailedWith(turn.reply_text("The task failed."))),
        Behaviour::StreamChunked => return stream_chunked(events).await,
        Behaviour::AuthRequired => {
            return Ok(TurnEnd::AuthRequired(
                turn.reply_text("Authorisation is required."),
            ));
        }
        Behaviour::InputRequired => {
            return Ok(TurnEnd::InputRequired(
                turn.reply_text("More input is required."),
            ));
        }
        Behaviour::Reject => return Ok(TurnEnd::Rejected(turn.reply_text("rejected"))),
        Behaviour::Unknown => {
            let named = name.split_whitespace().next().unwrap_or_default();
            return Ok(TurnEnd::Failed(format!(
                "There is no behaviour called {named}."
            )));
        }
        Behaviour::Text => Part::text("Generated text content"),
        Behaviour::Data => data_part(),
        Behaviour::File => raw_file(),
        Behaviour::FileUrl => url_file(),
    };
    events.push(artifact(part));
    Ok(TurnEnd::Completed(None))
}

fn completed(turn: &Turn) -> TurnEnd {
    TurnEnd::Completed(Some(turn.reply_text("The task is complete.")))
}

async fn long_running(turn: &Turn, events: &mut TurnEvents) -> Result<TurnEnd, Stopped> {
    start_working(events).await?;
    pause(turn, LONG_WORK).await?;
    events
        .emit(artifact(Part::text("The long work is done.")))
        .await?;
    Ok(TurnEnd::Completed(None))
}

fn multi_turn(turn: &Turn) -> TurnEnd {
    if first_text(&turn.message).is_some_and(|text| text.starts_with("done")) {
        completed(turn)
    } else {
        TurnEnd::InputRequired(turn.reply_text("Go on, or say done."))
    }
}

async fn stream_basic(events: &mut TurnEvents) -> Result<TurnEnd, Stopped> {
    start_working(events).await?;
    events
        .emit(artifact(Part::text("Streamed text content")))
        .await?;
    Ok(TurnEnd::Completed(None))
}

async fn stream_chunked(events: &mut TurnEvents) -> Result<TurnEnd, Stopped> {
    start_working(events).await?;
    let id = ids::new_id();
    let texts = ["chunk-1 ", "chunk-2 ", "chunk-3"];
    for (index, text) in texts.into_iter().enumerate() {
        let artifact = Artifact::new(id.clone(), vec![Part::text(text)]);
        let (append, last_chunk) = (index > 0, index + 1 == texts.len());
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

async fn wait_for_cancel(turn: &Turn, events: &mut TurnEvents) -> Result<TurnEnd, Stopped> {
    start_working(events).await?;
    turn.cancel.cancelled().await;
    Err(Stopped)
}
