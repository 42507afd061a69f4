//! The `conformance` backend: gives the outcomes that conformance kits ask for by name.
//!
//! Exists only where it is configured. It decides outcomes and nothing else: everything that is
//! protocol is done by the gateway in front of it, which never knows these names.
//! `tck` and `acts` hold one contract each; [`Conformance::contract`] says which one counts.

mod acts;
mod profile;
mod tck;
#[cfg(test)]
mod tests;

pub use profile::{INPUT_MODES, Profile, ProfileSwitches, token_suffices};

use async_trait::async_trait;
use nuncio_wire::dialects::Dialect;
use nuncio_wire::{A2aError, Artifact, ErrorKind, Message, Part, PartContent, RawJson, Role};
use std::time::Duration;

use super::{Agent, Turn, TurnEnd, TurnEvent, TurnEvents};
use crate::config::ConformanceConfig;
use crate::ids;
use crate::tasks::Stopped;

/// The unit of time of the TCK's long task, as the kit assumes it unless told otherwise.
pub const DEFAULT_STREAMING_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a task of the 0.3 contract works before it asks: the kit looks at it meanwhile.
const V0_3_WORK: Duration = Duration::from_millis(500);
/// How names of behaviours begin in both kits.
const BEHAVIOUR_PREFIX: &str = "tck-";

/// The agent that conformance kits are run against.
#[derive(Debug)]
pub struct Conformance {
    profile: Profile,
    streaming_timeout: Duration,
}

/// Whose rules a message is answered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Contract {
    LongTask,
    Tck,
    Itk,
    Acts,
    V0_3,
    Plain,
}

impl Conformance {
    /// The agent that `config` describes. The error names the profiles there are.
    pub fn new(config: &ConformanceConfig) -> Result<Self, String> {
        Ok(Self::with_profile(
            config.profile.parse()?,
            DEFAULT_STREAMING_TIMEOUT,
        ))
    }

    /// The agent with this profile. `streaming_timeout` is the kit's `TCK_STREAMING_TIMEOUT`.
    #[must_use]
    pub fn with_profile(profile: Profile, streaming_timeout: Duration) -> Self {
        Self {
            profile,
            streaming_timeout,
        }
    }

    /// The profile, for whoever builds the agent's card.
    #[must_use]
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// The first rule that matches counts.
    fn contract(turn: &Turn) -> Contract {
        let message = &turn.message;
        if message
            .message_id
            .starts_with("test-resubscribe-message-id")
        {
            Contract::LongTask
        } else if message.message_id.starts_with(BEHAVIOUR_PREFIX) {
            Contract::Tck
        } else if message.parts.first().is_some_and(is_instruction) {
            Contract::Itk
        } else if acts::behaviour(turn).is_some() {
            Contract::Acts
        } else if turn.dialect == Dialect::V0_3 {
            Contract::V0_3
        } else {
            Contract::Plain
        }
    }

    /// Why the profile refuses this message, if it does.
    fn refusal(&self, turn: &Turn) -> Option<A2aError> {
        let switches = self.profile.switches();
        if switches.refuses_other_media_types
            && let Some(media_type) = turn.message.parts.iter().find_map(foreign_media_type)
        {
            let text = format!("This agent does not take parts of type {media_type}.");
            return Some(
                A2aError::new(ErrorKind::ContentTypeNotSupported, text)
                    .with("mediaType", media_type),
            );
        }
        if switches.refuses_foreign_contexts && turn.context_is_callers {
            let text = "is not a context of this agent; leave it out to start a new one";
            return Some(A2aError::invalid_field("message.contextId", text));
        }
        None
    }
}

#[async_trait]
impl Agent for Conformance {
    fn answers_directly(&self) -> bool {
        true
    }

    fn asks_for_context_origin(&self) -> bool {
        self.profile.switches().refuses_foreign_contexts
    }

    async fn run(&self, turn: Turn, events: &mut TurnEvents) -> TurnEnd {
        if let Some(error) = self.refusal(&turn) {
            return TurnEnd::Refused(error);
        }
        let end = match Self::contract(&turn) {
            Contract::LongTask => long_task(&turn, events, self.streaming_timeout * 2).await,
            Contract::Tck => tck::run(&turn, events).await,
            Contract::Acts => acts::run(&turn, events).await,
            Contract::V0_3 => ask_after_work(&turn, events).await,
            Contract::Itk | Contract::Plain => Ok(TurnEnd::Completed(Some(
                turn.reply_text("The conformance agent is done."),
            ))),
        };
        // Stopped: the turn is over already, whatever is said here.
        end.unwrap_or(TurnEnd::Canceled)
    }
}

/// An instruction of the integration test kit.
fn is_instruction(part: &Part) -> bool {
    part.media_type.as_deref() == Some("application/x-protobuf")
        || part.filename.as_deref() == Some("instruction.bin")
}

/// The part's type if it is declared and none of [`INPUT_MODES`]. Part of the ACTS corpus declares
/// it in the part's metadata.
fn foreign_media_type(part: &Part) -> Option<String> {
    let in_metadata = || {
        let member = part.metadata.as_ref()?.member("contentType")?;
        member.read::<String>().ok()
    };
    let declared = part.media_type.clone().or_else(in_metadata)?;
    let essence = declared.split(';').next().unwrap_or_default().trim();
    let taken = INPUT_MODES
        .iter()
        .any(|mode| mode.eq_ignore_ascii_case(essence));
    (!taken).then_some(declared)
}

/// WORKING for this long, then COMPLETED.
async fn long_task(
    turn: &Turn,
    events: &mut TurnEvents,
    work: Duration,
) -> Result<TurnEnd, Stopped> {
    start_working(events).await?;
    pause(turn, work).await?;
    Ok(TurnEnd::Completed(None))
}

/// The default of the 0.3 contract: tasks must not be over, so that they can be gone on with.
async fn ask_after_work(turn: &Turn, events: &mut TurnEvents) -> Result<TurnEnd, Stopped> {
    start_working(events).await?;
    pause(turn, V0_3_WORK).await?;
    Ok(TurnEnd::InputRequired(turn.reply_text("What next?")))
}

/// A visible WORKING event.
async fn start_working(events: &mut TurnEvents) -> Result<(), Stopped> {
    events
        .emit(TurnEvent::Progress {
            message: None,
            metadata: None,
        })
        .await
}

/// Waits, unless the turn is stopped first.
async fn pause(turn: &Turn, time: Duration) -> Result<(), Stopped> {
    tokio::select! {
        () = turn.cancel.cancelled() => Err(Stopped),
        () = tokio::time::sleep(time) => Ok(()),
    }
}

/// The first text of a message.
fn first_text(message: &Message) -> Option<&str> {
    message.parts.iter().find_map(Part::as_text)
}

/// A message that belongs to no task and no context, as both kits want direct answers.
fn bare_message(text: &str) -> Message {
    Message::new(ids::new_id(), Role::Agent, vec![Part::text(text)])
}

/// A whole artifact with this one part.
fn artifact(part: Part) -> TurnEvent {
    TurnEvent::artifact(Artifact::new(ids::new_id(), vec![part]))
}

/// The file of both kits, by value or by address.
fn file_part(content: PartContent) -> Part {
    let mut part = Part::new(content);
    part.filename = Some("output.txt".to_owned());
    part.media_type = Some("text/plain".to_owned());
    part
}

fn raw_file() -> Part {
    file_part(PartContent::Raw(
        b"Generated file content".as_slice().into(),
    ))
}

fn url_file() -> Part {
    file_part(PartContent::Url(
        "https://example.com/output.txt".to_owned(),
    ))
}

fn data_part() -> Part {
    let data = RawJson::parse(r#"{"key":"value","count":42}"#);
    Part::new(PartContent::Data(data.expect("the text is JSON")))
}
