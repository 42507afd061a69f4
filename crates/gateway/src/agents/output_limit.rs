//! How much a turn may send out, whatever it is made of: text, files, data, word of what is being done.

use nuncio_wire::{Metadata, Part, PartContent};

use super::TurnEvent;

/// Bytes that an event takes beside what it says: its ids, its time, its place in the store.
const EVENT_BYTES: usize = 256;

/// What is left of `max_output_bytes`.
#[derive(Clone, Debug)]
pub(crate) struct OutputLimit {
    most: usize,
    left: usize,
}

/// More was said than that; what was too much was not sent out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooMuch {
    most: usize,
}

impl TooMuch {
    /// In words for the caller.
    pub(crate) const REASON: &str = "the agent said more than it may and was stopped";

    /// More for the log.
    pub(crate) fn detail(self) -> String {
        format!("max_output_bytes = {}", self.most)
    }
}

impl OutputLimit {
    /// So many bytes.
    pub(crate) fn of(most: usize) -> Self {
        Self { most, left: most }
    }

    /// No limit: what is said is counted elsewhere.
    pub(crate) fn none() -> Self {
        Self::of(usize::MAX)
    }

    /// Counts text of an answer.
    pub(crate) fn text(&mut self, bytes: usize) -> Result<(), TooMuch> {
        let most = self.most;
        self.left = self.left.checked_sub(bytes).ok_or(TooMuch { most })?;
        Ok(())
    }

    /// Counts an event with all that is in it.
    pub(crate) fn event(&mut self, event: &TurnEvent) -> Result<(), TooMuch> {
        let about = |metadata: &Option<Metadata>| metadata.as_ref().map_or(0, |it| it.get().len());
        let bytes = match event {
            TurnEvent::Artifact {
                artifact, metadata, ..
            } => {
                let labels = [&artifact.name, &artifact.description];
                let labels = labels.into_iter().flatten().map(String::len);
                labels.sum::<usize>()
                    + weight(&artifact.parts)
                    + about(&artifact.metadata)
                    + about(metadata)
            }
            TurnEvent::Progress { message, metadata } => {
                message.as_ref().map_or(0, |it| weight(&it.parts)) + about(metadata)
            }
        };
        self.text(bytes + EVENT_BYTES)
    }

    /// Counts a message that ends the turn.
    pub(crate) fn message(&mut self, parts: &[Part]) -> Result<(), TooMuch> {
        self.text(weight(parts) + EVENT_BYTES)
    }
}

/// The bytes of parts with their labels. One without content takes its place, too.
pub(crate) fn weight(parts: &[Part]) -> usize {
    let weights = parts.iter().map(|part| {
        let content = match &part.content {
            PartContent::Text(text) | PartContent::Url(text) => text.len(),
            PartContent::Raw(bytes) => bytes.len(),
            PartContent::Data(data) => data.get().len(),
        };
        let labels = [&part.filename, &part.media_type].into_iter().flatten();
        let metadata = part.metadata.as_ref().map_or(0, |it| it.get().len());
        content + labels.map(String::len).sum::<usize>() + metadata + 1
    });
    weights.sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nuncio_wire::{Artifact, Message, Role};

    fn file(bytes: usize) -> TurnEvent {
        let mut part = Part::new(PartContent::Raw(vec![0; bytes].into()));
        part.filename = Some("f".to_owned());
        TurnEvent::artifact(Artifact::new("a", vec![part]))
    }

    fn progress(text: &str) -> TurnEvent {
        TurnEvent::Progress {
            message: Some(Message::new("m", Role::Agent, vec![Part::text(text)])),
            metadata: None,
        }
    }

    #[test]
    fn all_that_goes_out_counts_together() {
        let mut limit = OutputLimit::of(3000);
        limit.text(1000).unwrap();
        limit.event(&file(1000)).unwrap();
        limit.event(&progress(&"x".repeat(200))).unwrap();
        let too_much = limit.event(&file(1000)).unwrap_err();
        assert_eq!(too_much.detail(), "max_output_bytes = 3000");
        // What did not fit did not count.
        limit.text(280).unwrap();
        assert!(limit.text(10).is_err());
    }

    #[test]
    fn events_that_say_nothing_have_an_end_too() {
        let mut limit = OutputLimit::of(1000);
        let events = (0..10).take_while(|_| limit.event(&progress("")).is_ok());
        assert_eq!(events.count(), 3);
    }
}
