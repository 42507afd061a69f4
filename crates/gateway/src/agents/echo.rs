//! The built-in `echo` backend: gives back what it got, so that a fresh gateway can be tried.

use async_trait::async_trait;
use nuncio_wire::Artifact;

use super::{Agent, Turn, TurnEnd, TurnEvent, TurnEvents};

/// Answers each message with its own parts.
#[derive(Debug, Default)]
pub struct Echo;

#[async_trait]
impl Agent for Echo {
    async fn run(&self, turn: Turn, events: &mut TurnEvents) -> TurnEnd {
        let artifact = Artifact::new("echo", turn.message.parts.clone());
        events.push(TurnEvent::artifact(artifact));
        TurnEnd::Completed(None)
    }
}
