//! What an agent says as it says it: one streamed text, a question, or one JSON value.
//!
//! Which of them it is shows in the first bytes, so those are held back until it is decided. Where
//! the text comes from is a [`Source`]'s business. All that goes out counts against the limit of
//! [`Reply::within`].

use nuncio_wire::limits::MAX_USER_JSON_DEPTH;
use nuncio_wire::{Artifact, Metadata, Part, PartContent, RawJson};
use serde::de::IgnoredAny;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

use super::output_limit::{OutputLimit, TooMuch};
use super::{Turn, TurnEvent, TurnEvents};
use crate::ids;
use crate::tasks::Stopped;

/// How a reply begins that is a question to the caller, in any case.
pub const INPUT_REQUIRED_MARKER: &str = "[INPUT_REQUIRED]";
/// What a question says that is only the marker.
const EMPTY_QUESTION: &str = "The agent needs more input.";
/// Bytes of one chunk at most (64 KiB): what a pipe gives in one piece.
const CHUNK_BYTES: usize = 64 * 1024;
/// Blank bytes at the beginning after which a reply is taken as text (64 KiB).
const MAX_HELD_BLANKS: usize = 64 * 1024;
/// Bytes up to which a reply that looks like JSON is held back to be sent as data (1 MiB).
const MAX_HELD_JSON: usize = 1024 * 1024;

/// Where a reply comes from.
pub(crate) trait Source {
    /// Why it is not listened to any longer.
    type Halt: From<Stopped> + From<TooMuch>;

    /// Waits for what comes next. Text is added to `text`, which happens only when this returns:
    /// it may be dropped before and called again.
    fn hear(&mut self, text: &mut String)
    -> impl Future<Output = Result<Heard, Self::Halt>> + Send;
}

/// What came.
#[derive(Debug)]
pub(crate) enum Heard {
    /// Text, which was added.
    Text,
    /// Something else, which comes after the text so far.
    Event(TurnEvent),
    /// Nothing more comes.
    End,
}

/// What a reply turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Undecided,
    /// Begins with the marker.
    Question,
    /// Could be one JSON object or array; looked at again when it is this long.
    Json(usize),
    Text,
}

/// The reply as it grows.
#[derive(Debug)]
pub(crate) struct Reply {
    kind: Kind,
    json_wanted: bool,
    linger: Duration,
    /// Text that was not emitted yet.
    held: String,
    artifact_id: String,
    started: bool,
    limit: OutputLimit,
}

/// How a reply ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// Nothing, or only blanks.
    Nothing,
    /// An answer, which was handed over.
    Answer,
    /// A question, without its marker; nothing was handed over.
    Question(String),
}

impl Reply {
    /// A reply of a model: text only. A chunk goes out as soon as nothing more is there to be read;
    /// what comes while it is committed makes the next one.
    pub(crate) fn of_model() -> Self {
        Self {
            kind: Kind::Undecided,
            json_wanted: false,
            linger: Duration::ZERO,
            held: String::new(),
            artifact_id: ids::new_id(),
            started: false,
            limit: OutputLimit::none(),
        }
    }

    /// A reply of a program, which may be one JSON value if the caller takes that. `linger` is how
    /// long a chunk waits for more.
    pub(crate) fn of_program(turn: &Turn, linger: Duration) -> Self {
        let modes = &turn.accepted_output_modes;
        let takes_json = |mode: &String| {
            matches!(mode.as_str(), "*/*" | "application/*") || mode.starts_with("application/json")
        };
        Self {
            json_wanted: modes.is_empty() || modes.iter().any(takes_json),
            linger,
            ..Self::of_model()
        }
    }

    /// The same with so many bytes to be sent out at most, text and everything else; what is more ends the
    /// [`stream`](Self::stream) and is not sent.
    pub(crate) fn within(mut self, max_output_bytes: usize) -> Self {
        self.limit = OutputLimit::of(max_output_bytes);
        self
    }

    /// Counts a message with which the agent ends its turn for now.
    pub(crate) fn count(&mut self, parts: &[Part]) -> Result<(), TooMuch> {
        self.limit.message(parts)
    }

    /// Hands over all that `source` says. Returns when it has said its last word.
    pub(crate) async fn stream<S: Source>(
        &mut self,
        source: &mut S,
        events: &mut TurnEvents,
    ) -> Result<(), S::Halt> {
        let mut flush_at = None;
        loop {
            let linger = self.linger;
            let flush = async {
                match flush_at {
                    Some(_) if linger.is_zero() => {}
                    Some(at) => sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            let before = self.held.len();
            let heard = tokio::select! {
                biased;
                heard = source.hear(&mut self.held) => Some(heard?),
                () = flush => None,
            };
            match heard {
                Some(Heard::Text) => {
                    self.count_text(before)?;
                    self.decide(false);
                }
                Some(Heard::Event(event)) => {
                    self.limit.event(&event)?;
                    self.emit_before(event, events).await?;
                }
                Some(Heard::End) => break,
                None => self.emit(events).await?,
            }
            if self.held.len() >= CHUNK_BYTES && self.kind == Kind::Text {
                self.emit(events).await?;
            }
            flush_at = match (self.kind == Kind::Text && !self.held.is_empty(), flush_at) {
                (true, None) => Some(Instant::now() + linger),
                (true, at) => at,
                (false, _) => None,
            };
        }
        self.decide(true);
        Ok(())
    }

    /// Counts what was added to the text, and takes it away again if it is too much.
    fn count_text(&mut self, before: usize) -> Result<(), TooMuch> {
        let counted = self.limit.text(self.held.len() - before);
        counted.inspect_err(|_| self.held.truncate(before))
    }

    /// A reply that came whole.
    pub(crate) fn hear(&mut self, text: &str) {
        self.held.push_str(text);
        self.decide(true);
    }

    /// What was said, once the agent has ended well. The last chunk of an answer, or its data, is
    /// handed over with the end of the turn.
    pub(crate) fn said(self, events: &mut TurnEvents) -> Said {
        self.said_with(None, events)
    }

    /// The same with user JSON about the answer.
    pub(crate) fn said_with(mut self, metadata: Option<Metadata>, events: &mut TurnEvents) -> Said {
        match self.kind {
            Kind::Undecided => Said::Nothing,
            Kind::Question => Said::Question(after_marker(&self.held)),
            Kind::Json(_) if let Some(data) = self.data() => {
                events.push(TurnEvent::artifact(Artifact::new(
                    self.artifact_id,
                    vec![data],
                )));
                Said::Answer
            }
            Kind::Json(_) | Kind::Text => {
                let mut chunk = self.chunk(true);
                if let TurnEvent::Artifact {
                    metadata: about, ..
                } = &mut chunk
                {
                    *about = metadata;
                }
                events.push(chunk);
                Said::Answer
            }
        }
    }

    /// Hands over what is still held back of a reply whose agent failed: it may say why.
    pub(crate) fn cut_off(mut self, events: &mut TurnEvents) {
        if self.started || !self.held.trim().is_empty() {
            events.push(self.chunk(true));
        }
    }

    fn data(&self) -> Option<Part> {
        let data = RawJson::parse(self.held.trim()).ok()?;
        let mut part = Part::new(PartContent::Data(data));
        part.media_type = Some("application/json".to_owned());
        Some(part)
    }

    fn decide(&mut self, at_end: bool) {
        let reply = self.held.trim_start();
        self.kind = match self.kind {
            Kind::Text | Kind::Question => return,
            Kind::Json(look_at) if !at_end && self.held.len() < look_at => return,
            Kind::Undecided if reply.is_empty() => {
                if self.held.len() > MAX_HELD_BLANKS {
                    Kind::Text
                } else {
                    Kind::Undecided
                }
            }
            Kind::Undecided if begins(reply, INPUT_REQUIRED_MARKER) => Kind::Question,
            Kind::Undecided if !at_end && begins(INPUT_REQUIRED_MARKER, reply) => Kind::Undecided,
            _ if self.json_wanted && may_be_json(reply, at_end) => Kind::Json(self.held.len() * 2),
            _ => Kind::Text,
        };
    }

    async fn emit(&mut self, events: &mut TurnEvents) -> Result<(), Stopped> {
        events.emit(self.chunk(false)).await
    }

    /// Emits an event after the text that came before it, in one commit.
    async fn emit_before(
        &mut self,
        event: TurnEvent,
        events: &mut TurnEvents,
    ) -> Result<(), Stopped> {
        if self.kind == Kind::Text && !self.held.is_empty() {
            events.push(self.chunk(false));
        }
        events.emit(event).await
    }

    /// Emits the text so far: the reply goes on in another turn.
    pub(crate) fn pause(&mut self, events: &mut TurnEvents) {
        if self.kind == Kind::Text && !self.held.is_empty() {
            events.push(self.chunk(false));
        }
    }

    fn chunk(&mut self, last_chunk: bool) -> TurnEvent {
        let text = std::mem::take(&mut self.held);
        let artifact = Artifact::new(self.artifact_id.clone(), vec![Part::text(text)]);
        let append = std::mem::replace(&mut self.started, true);
        TurnEvent::Artifact {
            artifact,
            append,
            last_chunk,
            metadata: None,
        }
    }
}

/// Whether `text` begins with `start`, in any case.
fn begins(text: &str, start: &str) -> bool {
    text.as_bytes()
        .get(..start.len())
        .is_some_and(|head| head.eq_ignore_ascii_case(start.as_bytes()))
}

fn after_marker(reply: &str) -> String {
    let question = reply
        .trim_start()
        .get(INPUT_REQUIRED_MARKER.len()..)
        .unwrap_or_default();
    match question.trim() {
        "" => EMPTY_QUESTION.to_owned(),
        question => question.to_owned(),
    }
}

/// Whether this is one JSON object or array, or the beginning of one.
fn may_be_json(reply: &str, at_end: bool) -> bool {
    if !reply.starts_with(['{', '[']) || reply.len() > MAX_HELD_JSON {
        return false;
    }
    match serde_json::from_str::<IgnoredAny>(reply) {
        Ok(_) => RawJson::parse(reply.trim()).is_ok_and(|data| data.depth() <= MAX_USER_JSON_DEPTH),
        Err(error) => !at_end && error.is_eof(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply() -> Reply {
        Reply {
            json_wanted: true,
            ..Reply::of_model()
        }
    }

    fn read(pieces: &[&str]) -> Reply {
        let mut reply = reply();
        for piece in pieces {
            reply.held.push_str(piece);
            reply.decide(false);
        }
        reply.decide(true);
        reply
    }

    #[test]
    fn a_question_is_known_by_its_marker_in_any_case_and_piece() {
        for pieces in [
            ["[INPUT_REQUIRED] Which one?\n", "", ""],
            [" \n\t[inp", "ut_Req", "uired]Which one?"],
        ] {
            let reply = read(&pieces);
            assert_eq!(reply.kind, Kind::Question, "{pieces:?}");
            assert_eq!(after_marker(&reply.held), "Which one?");
        }
        assert_eq!(read(&["so [INPUT_REQUIRED] x"]).kind, Kind::Text);
        assert_eq!(read(&["[INPUT"]).kind, Kind::Text);
    }

    #[test]
    fn one_json_value_is_data_and_its_spelling_stays() {
        let reply = read(&[" {\"n\":", "9007199254740993,\"e\":1e400}\n"]);
        assert!(matches!(reply.kind, Kind::Json(_)));
        let json = serde_json::to_string(&reply.data().unwrap()).unwrap();
        assert!(
            json.starts_with(r#"{"data":{"n":9007199254740993,"e":1e400}"#),
            "{json}"
        );
        let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
        for text in [
            "{\"a\":1}\n{\"a\":2}",
            "{\"a\":",
            "[INFO] started",
            "42",
            "{} and more",
            &deep,
        ] {
            assert_eq!(read(&[text]).kind, Kind::Text, "{text}");
        }
    }

    #[test]
    fn text_is_let_go_as_soon_as_it_cannot_be_anything_else() {
        for (text, kind) in [
            ("[INFO", Kind::Text),
            ("[INP", Kind::Undecided),
            ("  ", Kind::Undecided),
            ("[1, 2", Kind::Json(10)),
            ("{\"a\":1} x", Kind::Text),
            ("héllo", Kind::Text),
            ("[é", Kind::Text),
        ] {
            let mut reply = reply();
            reply.held.push_str(text);
            reply.decide(false);
            assert_eq!(reply.kind, kind, "{text}");
        }
    }

    #[test]
    fn blanks_alone_say_nothing() {
        assert_eq!(read(&["\n", " \n"]).kind, Kind::Undecided);
        assert_eq!(read(&[]).kind, Kind::Undecided);
    }
}
