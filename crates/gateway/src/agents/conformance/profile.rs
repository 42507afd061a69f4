//! Profiles of the conformance agent: one set of switches per kit.

use nuncio_wire::StatusTable;
use std::str::FromStr;

/// Which kit the agent is there for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// The A2A TCK for 1.0.
    #[default]
    Tck,
    /// ACTS with every capability.
    Acts,
    /// ACTS without streaming, push and extended card.
    ActsReduced,
    /// ACTS with a bearer token for everything.
    ActsAuth,
    /// The A2A TCK for 0.3.
    Tck03,
    /// The integration test kit.
    Itk,
}

/// What a profile wants of card, listener and operations; the gateway does it, not the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProfileSwitches {
    /// HTTP and gRPC statuses of this edition.
    pub statuses: StatusTable,
    /// `capabilities.streaming` of the card.
    pub streaming: bool,
    /// `capabilities.pushNotifications` of the card.
    pub push_notifications: bool,
    /// Whether there is an extended card, for callers with a token only.
    pub extended_card: bool,
    /// Whether the card declares a bearer scheme and every operation needs a token.
    pub requires_bearer: bool,
    /// Whether a part of a type outside [`INPUT_MODES`] is refused.
    pub refuses_other_media_types: bool,
    /// Whether a context id that the caller made up is refused.
    pub refuses_foreign_contexts: bool,
    /// Whether a message without an id gets one instead of being refused.
    pub makes_message_ids: bool,
    /// Whether the card carries the members of 0.3 besides those of 1.0.
    pub merged_card: bool,
    /// Whether push notifications may go to loopback addresses.
    pub loopback_push: bool,
    /// The id of a push configuration that is set without one. The TCK for 0.3 asks for it by a
    /// name of its own, which the protocol does not know; `None` makes one up.
    pub push_config_id: Option<&'static str>,
    /// Whether a card gives the addresses of gRPC in 0.3 as URLs, as its text has it (0.3, 5.5.5).
    /// The SDKs of 0.3 open channels to what stands there, so everybody else gets `host:port`.
    pub grpc_urls: bool,
}

/// Media types the agent's card names where a profile refuses all others.
pub const INPUT_MODES: [&str; 2] = ["text/plain", "application/json"];

/// Whether this token opens what needs one; `None` if it is none of the kits' tokens.
#[must_use]
pub fn token_suffices(token: &[u8]) -> Option<bool> {
    match token {
        b"itk-valid-token" => Some(true),
        b"itk-insufficient-token" => Some(false),
        _ => None,
    }
}

impl Profile {
    /// Every profile, in the order of their names in the documentation.
    pub const ALL: [Self; 6] = [
        Self::Tck,
        Self::Acts,
        Self::ActsReduced,
        Self::ActsAuth,
        Self::Tck03,
        Self::Itk,
    ];

    /// The name in the configuration.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tck => "tck",
            Self::Acts => "acts",
            Self::ActsReduced => "acts-reduced",
            Self::ActsAuth => "acts-auth",
            Self::Tck03 => "tck03",
            Self::Itk => "itk",
        }
    }

    /// What the profile wants of the gateway.
    #[must_use]
    pub fn switches(self) -> ProfileSwitches {
        let acts = matches!(self, Self::Acts | Self::ActsReduced | Self::ActsAuth);
        let full = self != Self::ActsReduced;
        ProfileSwitches {
            statuses: if self == Self::Tck {
                StatusTable::V1_0_0
            } else {
                StatusTable::V1_0_1
            },
            streaming: full,
            push_notifications: full,
            extended_card: acts && full,
            requires_bearer: self == Self::ActsAuth,
            refuses_other_media_types: acts,
            refuses_foreign_contexts: acts,
            makes_message_ids: acts,
            merged_card: self == Self::Tck03,
            loopback_push: full,
            push_config_id: (self == Self::Tck03).then_some("default"),
            grpc_urls: self == Self::Tck03,
        }
    }
}

impl FromStr for Profile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|profile| profile.as_str() == text)
            .ok_or_else(|| {
                let names: Vec<_> = Self::ALL.iter().map(|profile| profile.as_str()).collect();
                format!(
                    "`{text}` is no conformance profile: use one of {}",
                    names.join(", ")
                )
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back_and_others_are_refused_with_a_list() {
        for profile in Profile::ALL {
            assert_eq!(profile.as_str().parse(), Ok(profile));
        }
        assert!(
            "acst"
                .parse::<Profile>()
                .unwrap_err()
                .contains("acts-reduced")
        );
    }
}
