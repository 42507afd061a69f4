//! Extensions of the protocol: what an agent requires, what a request brings into force
//! (specification 3.3.4, 4.6).

use nuncio_wire::{A2aError, ErrorKind, Request};

use super::{Asked, Operations};

impl Operations {
    /// The extensions in force for a request: those it names that its agent has.
    #[must_use]
    pub fn activated_extensions(&self, asked: &Asked, request: &Request) -> Vec<String> {
        if asked.extensions.is_empty() {
            return Vec::new();
        }
        let of_tenant = request
            .tenant()
            .and_then(|tenant| self.agent_of_tenant(asked, tenant).ok());
        let agent = of_tenant.as_ref().unwrap_or(&asked.agent);
        let declared = &agent.config.capabilities.extensions;
        let named = asked.extensions.iter();
        named
            .filter(|uri| declared.iter().any(|extension| extension.uri == **uri))
            .cloned()
            .collect()
    }
}

/// Refuses a request that does not name an extension its agent requires; the 2025-04 dialect has no
/// way to name one.
pub(super) fn require(asked: &Asked) -> Result<(), A2aError> {
    let declared = &asked.agent.config.capabilities.extensions;
    let missing = declared
        .iter()
        .find(|extension| extension.required && !asked.extensions.contains(&extension.uri));
    match missing {
        None => Ok(()),
        Some(extension) => {
            let text = format!(
                "This agent requires the extension {0}: support it and send A2A-Extensions: {0}.",
                extension.uri
            );
            let error = A2aError::new(ErrorKind::ExtensionSupportRequired, text);
            Err(error.with("extension", extension.uri.clone()))
        }
    }
}
