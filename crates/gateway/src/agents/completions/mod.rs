//! Chat completions as a dialect: what a model's endpoint, or an agent that passes for one, is sent and
//! what it answers. Which endpoint that is and what goes before a request is the backends' business.

mod answer;
pub(super) mod content;

pub(super) use answer::{Answer, Ending, as_metadata, tool_in_use};

use super::output_limit::TooMuch;
use crate::tasks::Stopped;

/// Why an answer is not listened to any longer.
#[derive(Debug)]
pub(crate) enum Halt {
    /// The turn is over.
    Stopped,
    /// Something is wrong: in words for the caller, and more for the log.
    Fault(String, String),
}

impl Halt {
    /// A fault with a reason for the caller and a detail for the log.
    pub(super) fn fault(reason: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::Fault(reason.into(), detail.into())
    }
}

impl From<Stopped> for Halt {
    fn from(_: Stopped) -> Self {
        Self::Stopped
    }
}

impl From<TooMuch> for Halt {
    fn from(too_much: TooMuch) -> Self {
        Self::fault(TooMuch::REASON, too_much.detail())
    }
}
