//! `jsonl` mode, outward: each line of standard output is one event of A2A 1.0.
//!
//! The program says what happens; whose task and context it is, is ours to say.

use bytes::BytesMut;

use super::Halt;
use super::output::Output;
use crate::agents::told::Told;
use crate::agents::{Turn, TurnEnd, TurnEvents};

/// Longest line, in bytes (16 MiB): the largest event there may be.
const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

/// Reads events from lines and gives them to the engine in batches.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    number: u64,
    pub(super) told: Told<'a>,
    /// What is wrong with a last line that has no line end.
    pub(super) cut_short: Option<String>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(turn: &'a Turn) -> Self {
        Self {
            number: 0,
            told: Told::new(turn),
            cut_short: None,
        }
    }

    /// Streams the events until the program says how the turn ends ([`Halt::Ended`]) or writes
    /// nothing more.
    pub(super) async fn stream(
        &mut self,
        output: &mut Output,
        events: &mut TurnEvents,
    ) -> Result<(), Halt> {
        let mut buffer = BytesMut::new();
        let mut searched = 0;
        while output.read(&mut buffer).await? {
            let end = loop {
                let Some(at) = memchr::memchr(b'\n', &buffer[searched..]) else {
                    searched = buffer.len();
                    break None;
                };
                let line = buffer.split_to(searched + at + 1);
                searched = 0;
                if let Some(end) = self.take(&line).transpose() {
                    break Some(end);
                }
            };
            self.flush(events).await?;
            if let Some(end) = end {
                return Err(self.halt(end));
            }
            if buffer.len() > MAX_LINE_BYTES {
                self.number += 1;
                return Err(self.halt(Err(format!("is longer than {MAX_LINE_BYTES} bytes"))));
            }
        }
        match self.take(&buffer).transpose() {
            Some(Ok(end)) => {
                self.flush(events).await?;
                Err(Halt::Ended(end))
            }
            // Half a line is what a crash leaves behind; the exit code then tells more.
            Some(Err(fault)) => {
                self.cut_short = Some(self.describe(&fault));
                Ok(())
            }
            None => self.flush(events).await,
        }
    }

    async fn flush(&mut self, events: &mut TurnEvents) -> Result<(), Halt> {
        Ok(self.told.emit(events).await?)
    }

    fn halt(&self, end: Result<TurnEnd, String>) -> Halt {
        match end {
            Ok(end) => Halt::Ended(end),
            Err(fault) => Halt::Fault(self.describe(&fault)),
        }
    }

    fn describe(&self, fault: &str) -> String {
        format!("line {} of the agent's output {fault}", self.number)
    }

    /// Takes one line; `Some` if it ends the turn. An error says what is wrong with it.
    fn take(&mut self, line: &[u8]) -> Result<Option<TurnEnd>, String> {
        self.number += u64::from(!line.is_empty());
        if line.trim_ascii().is_empty() {
            return Ok(None);
        }
        let event = serde_json::from_slice(line).map_err(|error| not_an_event(&error))?;
        self.told.take(event)
    }
}

fn not_an_event(error: &serde_json::Error) -> String {
    let text = error.to_string();
    // Each line is read for itself, so the reader's own count of lines would mislead.
    let position = format!(" at line {} column {}", error.line(), error.column());
    let reason = text.strip_suffix(&position).unwrap_or(&text);
    format!("is not an A2A event: {reason} (column {})", error.column())
}
