//! A failure that an agent tells as if it were its answer: Hermes does that when its model cannot be called.

use serde_json::Value;

use super::connection::RpcError;

/// What Hermes calls itself.
const HERMES: &str = "hermes-agent";
/// How its answers begin that are none; a number follows at once, and then one of these.
const BEGINNINGS: [(&str, [&str; 2]); 2] = [
    ("HTTP ", [":", " —"]),
    ("API call failed after ", [" retries", " attempts"]),
];
/// Most bytes of an answer's beginning that are looked at, and told to the operator.
const MAX_BYTES: usize = 200;
/// JSON-RPC: an error inside the agent.
const INTERNAL_ERROR: i64 = -32603;

/// The beginning of what an agent says in a turn.
#[derive(Debug)]
pub(super) struct Beginning {
    is_of_interest: bool,
    text: String,
}

impl Beginning {
    /// Nothing was said yet by the agent of this name, after which its version may stand.
    pub(super) fn of(agent: &str) -> Self {
        Self {
            is_of_interest: agent.split(' ').next() == Some(HERMES),
            text: String::new(),
        }
    }

    /// The agent says more.
    pub(super) fn hear(&mut self, text: &str) {
        if self.is_of_interest {
            let left = MAX_BYTES.saturating_sub(self.text.len());
            self.text.push_str(&text[..text.floor_char_boundary(left)]);
        }
    }

    /// The error that a turn with this result ended with in truth. A model that answers has used tokens;
    /// where its usage is told, what it says is its own, however it begins.
    pub(super) fn error(&self, result: &Value) -> Option<RpcError> {
        let has_usage = !result["usage"].is_null();
        let is_told = BEGINNINGS.iter().any(|(beginning, then)| {
            let rest = self.text.strip_prefix(beginning).unwrap_or_default();
            let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
            let is_number = after.len() < rest.len();
            is_number && (after.is_empty() || then.iter().any(|it| after.starts_with(it)))
        });
        (self.is_of_interest && !has_usage && is_told).then(|| RpcError {
            code: INTERNAL_ERROR,
            message: self.text.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn is_error(agent: &str, text: &str, result: &Value) -> bool {
        let mut beginning = Beginning::of(agent);
        text.split_inclusive(' ').for_each(|it| beginning.hear(it));
        beginning.error(result).is_some()
    }

    #[test]
    fn only_hermes_without_usage_and_in_its_words_has_failed() {
        let mute = json!({ "stopReason": "end_turn" });
        let used = json!({ "stopReason": "end_turn", "usage": { "totalTokens": 2 } });
        for text in [
            "HTTP 400: told to refuse",
            "HTTP 502",
            "API call failed after 3 retries: HTTP 500: no",
        ] {
            assert!(is_error("hermes-agent 0.19.0", text, &mute), "{text}");
            assert!(!is_error(HERMES, text, &used), "{text}");
            assert!(!is_error("OpenCode", text, &mute), "{text}");
        }
        let long = "ä".repeat(MAX_BYTES);
        for text in [
            "HTTP is a protocol",
            "HTTP 404 means that",
            "HTTP ",
            "It said HTTP 400: no",
            "",
            &long,
        ] {
            assert!(!is_error(HERMES, text, &mute), "{text}");
        }
    }
}
