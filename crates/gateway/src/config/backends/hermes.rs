//! `backend = "hermes"`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::{Duration, SecretRef, WebUrl};

/// The word for a session of each conversation's own.
pub const PER_CONTEXT: &str = "per-context";
/// Characters of a session's id that Hermes takes.
const MAX_SESSION_CHARS: usize = 256;
/// Longest silence of an agent: its API server says `keepalive` every 30 seconds.
const DEFAULT_SILENCE_TIMEOUT: Duration = Duration::from_secs(2 * 60);

/// `backend = "hermes"`: a running Hermes agent.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct HermesConfig {
    /// Where Hermes listens: its API server, or nuncio's plugin in it.
    #[schemars(example = serde_json::json!("http://127.0.0.1:8642"))]
    pub base_url: WebUrl,
    /// The key of that door, by reference.
    #[schemars(example = serde_json::json!("env:API_SERVER_KEY"))]
    pub api_key: SecretRef,
    /// Which way turns take into Hermes.
    #[serde(default)]
    pub door: HermesDoor,
    /// `per-context`: every conversation has a session of its own. Else the one session that all
    /// callers join, a live one of yours: its id, or for the plugin `PLATFORM:TYPE:CHAT`.
    #[serde(default = "default_session")]
    #[schemars(example = serde_json::json!("telegram:dm:42"))]
    pub session: String,
    /// The profile to speak to, where Hermes serves several (`/p/NAME`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!("work"))]
    pub profile: Option<String>,
    /// What happens when Hermes wants a dangerous command approved. Only with the door `runs`;
    /// through the others nothing can be asked.
    #[serde(default)]
    pub approvals: HermesApprovals,
    /// The toolsets that the card tells of, by name. Without it, all that are enabled; an empty
    /// list tells of none, nor of skills.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!(["web", "files"]))]
    pub advertised_toolsets: Option<Vec<String>>,
    /// How long Hermes may say nothing at all before the turn fails.
    #[serde(default = "default_silence_timeout")]
    pub silence_timeout: Duration,
    /// How long a turn may take; then it is stopped and the task fails.
    #[serde(default = "super::default_turn_timeout")]
    pub turn_timeout: Duration,
    /// What a turn may say, in bytes; then it is stopped and the task fails.
    #[serde(default = "super::default_max_output_bytes")]
    #[schemars(range(min = 1))]
    pub max_output_bytes: usize,
}

/// Which way a turn takes into Hermes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum HermesDoor {
    /// `/v1/runs` of the API server: a cancel stops the turn at once, approvals are seen. Earlier
    /// turns are passed as text.
    #[default]
    Runs,
    /// `/v1/chat/completions` of the API server: Hermes reads its own record of the session, with
    /// the tool calls in it. A cancelled turn may still end there and leave its answer in the session.
    Completions,
    /// nuncio's plugin in Hermes: a true turn in a chat of its gateway, with everything that is set up
    /// there. Answers come whole, not piece by piece.
    Plugin,
}

/// What is done with a request for approval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum HermesApprovals {
    /// It is denied, and Hermes goes on without.
    #[default]
    Deny,
    /// The caller is asked.
    Ask,
}

impl HermesConfig {
    /// The operator's session that all callers join, if there is one.
    #[must_use]
    pub fn live_session(&self) -> Option<&str> {
        (self.session != PER_CONTEXT).then_some(self.session.as_str())
    }

    /// The key and the fault of what does not fit together.
    pub(super) fn problem(&self) -> Option<(&'static str, String)> {
        let is_name = |text: &str| {
            let is_safe = |c: char| !c.is_control() && !matches!(c, '/' | '\\');
            let length = text.chars().count();
            (1..=MAX_SESSION_CHARS).contains(&length)
                && text.chars().all(is_safe)
                && !text.contains("..")
        };
        if !is_name(&self.session) {
            let message = format!(
                "`session` must have 1 to {MAX_SESSION_CHARS} characters, without `/`, `\\`, `..` \
                 and control characters"
            );
            return Some(("session", message));
        }
        if self.door == HermesDoor::Plugin {
            if self.live_session().is_some_and(|chat| !is_chat(chat)) {
                let message = format!(
                    "`session` must be `{PER_CONTEXT}` or PLATFORM:TYPE:CHAT for the door `plugin`, \
                     for example `telegram:dm:42`"
                );
                return Some(("session", message));
            }
            if self.profile.is_some() {
                let message = "the door `plugin` leads to the one Hermes that the plugin is in; leave `profile` out";
                return Some(("profile", message.to_owned()));
            }
        }
        if self.profile.as_deref().is_some_and(|name| !is_name(name)) {
            return Some(("profile", "`profile` is no name of a profile".to_owned()));
        }
        if self.approvals == HermesApprovals::Ask && self.door != HermesDoor::Runs {
            let message = "only the door `runs` lets Hermes ask for approval".to_owned();
            return Some(("approvals", message));
        }
        None
    }
}

/// Whether this names a chat of a platform.
fn is_chat(name: &str) -> bool {
    let parts: Vec<_> = name.splitn(3, ':').collect();
    parts.len() == 3 && !parts.contains(&"")
}

fn default_session() -> String {
    PER_CONTEXT.to_owned()
}

fn default_silence_timeout() -> Duration {
    DEFAULT_SILENCE_TIMEOUT
}
