//! Who a request comes from, as authenticated. Nothing in a body ever changes it.

use nuncio_store::Visibility;
use std::net::IpAddr;
use std::sync::Arc;

/// Who a request comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// `operator`, `peer:NAME`, `mtls:NAME` or `ip:ADDR`: the owner of what the caller makes.
    pub owner: Arc<str>,
    /// What stands behind it.
    pub standing: Standing,
}

/// What a caller has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// No credential; nobody needs one here.
    Anonymous,
    /// A credential that counts.
    Proven,
    /// A token that only agents of the conformance backend know, and whether it suffices there.
    Conformance {
        /// Whether it opens what needs a credential.
        suffices: bool,
    },
}

/// Owner of what the operator makes.
const OPERATOR: &str = "operator";

impl Caller {
    /// The one who runs this gateway, over its Unix socket.
    #[must_use]
    pub fn operator() -> Self {
        Self {
            owner: OPERATOR.into(),
            standing: Standing::Proven,
        }
    }

    /// A peer with a token of its own.
    #[must_use]
    pub fn peer(name: &str) -> Self {
        Self {
            owner: format!("peer:{name}").into(),
            standing: Standing::Proven,
        }
    }

    /// Whom a client certificate names.
    #[must_use]
    pub fn certified(name: &str) -> Self {
        Self {
            owner: format!("mtls:{name}").into(),
            standing: Standing::Proven,
        }
    }

    /// Whoever speaks from this address, with nothing shown.
    #[must_use]
    pub fn address(address: IpAddr) -> Self {
        Self {
            owner: format!("ip:{}", address.to_canonical()).into(),
            standing: Standing::Anonymous,
        }
    }

    /// The same caller with something shown.
    #[must_use]
    pub fn standing(self, standing: Standing) -> Self {
        Self { standing, ..self }
    }

    /// Whether this is the operator.
    #[must_use]
    pub fn is_operator(&self) -> bool {
        &*self.owner == OPERATOR
    }

    /// Which tasks of `agent` the caller may see: its own; the operator all.
    #[must_use]
    pub fn visibility(&self, agent: &Arc<str>) -> Visibility {
        Visibility {
            agent: Some(agent.clone()),
            ..self.visibility_everywhere()
        }
    }

    /// Which tasks of any agent the caller may see.
    #[must_use]
    pub fn visibility_everywhere(&self) -> Visibility {
        let owner = if self.is_operator() {
            None
        } else {
            Some(self.owner.clone())
        };
        Visibility { agent: None, owner }
    }
}
