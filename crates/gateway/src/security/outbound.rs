//! What leaves of an agent's text: checked before it is committed, so stored and sent are the same.
//!
//! Only string values are looked at, never names or structure.

use nuncio_wire::{Artifact, Message, Part, PartContent};

use crate::agents::TurnEvent;

/// An event as it may be stored and sent.
#[must_use]
pub fn release(event: TurnEvent) -> TurnEvent {
    match event {
        TurnEvent::Artifact {
            artifact,
            append,
            last_chunk,
            metadata,
        } => {
            let artifact = Artifact {
                parts: release_parts(artifact.parts),
                ..artifact
            };
            TurnEvent::Artifact {
                artifact,
                append,
                last_chunk,
                metadata,
            }
        }
        TurnEvent::Progress { message, metadata } => TurnEvent::Progress {
            message: message.map(release_message),
            metadata,
        },
    }
}

/// A message as it may be stored and sent.
#[must_use]
pub fn release_message(message: Message) -> Message {
    Message {
        parts: release_parts(message.parts),
        ..message
    }
}

fn release_parts(mut parts: Vec<Part>) -> Vec<Part> {
    for part in &mut parts {
        if let PartContent::Text(text) | PartContent::Url(text) = &mut part.content {
            replace_nul(text);
        }
        for label in [&mut part.filename, &mut part.media_type]
            .into_iter()
            .flatten()
        {
            replace_nul(label);
        }
    }
    parts
}

/// U+0000 cannot be stored by every store; an agent's output is kept all the same.
fn replace_nul(text: &mut String) {
    if memchr::memchr(0, text.as_bytes()).is_some() {
        *text = text.replace('\0', "\u{FFFD}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nul_in_an_agents_text_becomes_a_replacement_character() {
        let message = Message::new("m", nuncio_wire::Role::Agent, vec![Part::text("a\0b")]);
        assert_eq!(release_message(message).text(), "a\u{FFFD}b");
    }
}
