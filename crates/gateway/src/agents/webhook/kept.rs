//! What must outlive the gateway while an agent is at work: where its answer goes, and whether it has
//! been asked. One turn of a conversation runs at a time, so there is one of these for each.

use serde::{Deserialize, Serialize};

use crate::agents::Turn;
use crate::agents::callbacks::new_token;
use crate::agents::completions::Halt;
use crate::config::Secret;
use crate::ids;

/// A turn that waits for its answer.
#[derive(Serialize, Deserialize)]
pub(super) struct Kept {
    task: String,
    message: String,
    token: String,
    /// The id of the post, the same for each try.
    pub(super) delivery: String,
    /// Whether the webhook has taken it.
    pub(super) is_posted: bool,
}

impl Kept {
    /// What is kept of the turn, if it goes on; else a new beginning, which is kept.
    pub(super) async fn of(turn: &Turn) -> Result<Self, Halt> {
        if turn.is_resumed
            && let Some(text) = turn.session.name().await.map_err(|error| lost(&error))?
            && let Ok(kept) = serde_json::from_str::<Self>(&text)
            && *kept.task == *turn.task_id
            && kept.message == turn.message.message_id
        {
            return Ok(kept);
        }
        let kept = Self {
            task: turn.task_id.to_string(),
            message: turn.message.message_id.clone(),
            token: new_token(),
            delivery: ids::new_id(),
            is_posted: false,
        };
        kept.keep(turn).await?;
        Ok(kept)
    }

    /// Keeps that the webhook has taken it.
    pub(super) async fn posted(&mut self, turn: &Turn) -> Result<(), Halt> {
        self.is_posted = true;
        self.keep(turn).await
    }

    /// What the agent shows with its answer.
    pub(super) fn token(&self) -> Secret {
        Secret::new(self.token.clone())
    }

    async fn keep(&self, turn: &Turn) -> Result<(), Halt> {
        let text = serde_json::to_string(self).expect("texts have a JSON form");
        turn.session.keep(&text).await.map_err(|error| lost(&error))
    }
}

fn lost(error: &nuncio_store::StoreError) -> Halt {
    Halt::fault("the turn could not be kept", error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sessions::Session;
    use nuncio_store::{Conversation, MemoryOptions, MemoryStore};
    use nuncio_wire::dialects::Dialect;
    use nuncio_wire::{Message, Part, Role};
    use std::sync::Arc;
    use tokio_util::sync::CancellationToken;

    fn turn(store: &Arc<MemoryStore>, message_id: &str, is_resumed: bool) -> Turn {
        let message = Message::new(message_id, Role::User, vec![Part::text("x")]);
        let message = Arc::new(message);
        let of = Conversation {
            agent: "a".into(),
            owner: "o".into(),
            context_id: "c".into(),
        };
        Turn {
            agent: of.agent.clone(),
            owner: of.owner.clone(),
            task_id: "t".into(),
            context_id: of.context_id.clone(),
            opening: message.clone(),
            message,
            metadata: None,
            hops: Default::default(),
            dialect: Dialect::V1,
            accepted_output_modes: Vec::new(),
            context_is_callers: false,
            is_resumed,
            session: Session::new(store.clone(), of),
            is_worker: false,
            cancel: CancellationToken::new(),
        }
    }

    #[tokio::test]
    async fn a_turn_that_goes_on_knows_its_address_and_whether_the_agent_was_asked() {
        let store = Arc::new(MemoryStore::new(MemoryOptions::default()));
        let of = async |turn: &Turn| match Kept::of(turn).await {
            Ok(kept) => kept,
            Err(halt) => panic!("{halt:?}"),
        };
        let begun = turn(&store, "m", false);
        let mut kept = of(&begun).await;
        assert!(!kept.is_posted);
        let again = of(&turn(&store, "m", true)).await;
        assert!(!again.is_posted && again.token() == kept.token());
        assert_eq!(again.delivery, kept.delivery);
        kept.posted(&begun)
            .await
            .unwrap_or_else(|halt| panic!("{halt:?}"));
        assert!(of(&turn(&store, "m", true)).await.is_posted);
        // Another message of the task, and the same one that had not begun, are asked anew.
        for other in [turn(&store, "n", true), turn(&store, "n", false)] {
            let new = of(&other).await;
            assert!(!new.is_posted && new.token() != kept.token());
        }
    }
}
