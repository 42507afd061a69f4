//! GetExtendedAgentCard (specification 3.1.11): what callers with a credential see.

use nuncio_wire::dialects::Dialect;
use nuncio_wire::{A2aError, ErrorKind, Response};

use super::{Asked, Operations, Reply};
use crate::card::BaseUrl;

impl Operations {
    pub(super) async fn get_extended_agent_card(&self, asked: &Asked) -> Result<Reply, A2aError> {
        // `capabilities.extendedAgentCard` is true where one is configured and nowhere else, so
        // ExtendedAgentCardNotConfigured cannot come about.
        if asked.agent.config.extended.is_none() {
            let text = "This agent has no extended card; its public card says all there is.";
            return Err(A2aError::new(ErrorKind::UnsupportedOperation, text));
        }
        asked.agent.admit_proven(&asked.caller)?;
        asked.agent.learn_about().await;
        let base = match (&asked.base, self.config.server.listen.first()) {
            (Some(base), _) => base.clone(),
            (None, Some(address)) => BaseUrl::of(&self.config, *address),
            (None, None) => BaseUrl::told("http://localhost"),
        };
        let mut card = self.cards.extended(&asked.agent, &base).ok_or_else(|| {
            let text =
                "This agent has no extended card just now; its public card says all there is.";
            A2aError::new(ErrorKind::ExtendedAgentCardNotConfigured, text)
        })?;
        if !matches!(asked.dialect, Dialect::V1 | Dialect::V1Slash) {
            // What is signed is the card of 1.0, and this one will be written otherwise.
            card.signatures.clear();
        }
        Ok(Reply::Answer(Response::AgentCard(Box::new(card))))
    }
}
