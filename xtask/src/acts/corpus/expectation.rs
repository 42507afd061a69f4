//! What a step can expect: of an answer, a refusal, a stream, pushes, and of earlier answers.

use serde::Deserialize;
use serde_json::{Map, Value};

/// Of an answer.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// Matcher on the HTTP status.
    #[serde(default)]
    pub status: Option<Value>,
    /// Header to matcher.
    #[serde(default)]
    pub headers: Option<Map<String, Value>>,
    /// Matcher on the answer.
    #[serde(default)]
    pub body: Option<Value>,
}

/// Of a refusal.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExpectError {
    /// Matcher on the error's name.
    pub error_type: Option<Value>,
    /// Matcher on its message.
    pub message: Option<Value>,
    /// Matcher on JSON-RPC's `error.data`, else on the list of details.
    pub data: Option<Value>,
    /// Matcher on its ErrorInfo.
    pub details: Option<Value>,
}

/// Of a stream.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExpectStream {
    /// Fewest events.
    pub min_count: Option<usize>,
    /// Most events.
    pub max_count: Option<usize>,
    /// For the whole stream.
    pub timeout_ms: Option<u64>,
    /// A rule on the order of states.
    pub ordering: Option<Ordering>,
    /// Matchers with where they apply.
    pub events: Vec<Map<String, Value>>,
    /// Matcher on the last one.
    pub final_event: Option<Value>,
    /// Matcher on all of them.
    pub each_event: Option<Value>,
}

/// A rule on the order of states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ordering {
    /// Nothing moves back to SUBMITTED, nothing follows a terminal state.
    MonotonicState,
}

/// Of the webhook receiver.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectWebhook {
    /// Fewest deliveries.
    #[serde(default = "one")]
    pub min_count: usize,
    /// How long they may take.
    #[serde(default)]
    pub timeout_ms: Option<u64>,
    /// Matcher on each body.
    #[serde(default)]
    pub each_event: Option<Value>,
    /// Matcher on the last body.
    #[serde(default)]
    pub final_event: Option<Value>,
    /// Header to matcher, for each.
    #[serde(default)]
    pub headers: Option<Map<String, Value>>,
    /// Matcher on `X-A2A-Notification-Token`.
    #[serde(default)]
    pub token: Option<Value>,
}

fn one() -> usize {
    1
}

/// A look at an earlier answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assertion {
    /// A reference to the answer.
    pub source: Value,
    /// Where in it.
    #[serde(default)]
    pub path: Option<String>,
    /// Matcher on what is there.
    #[serde(default, rename = "match")]
    pub matches: Option<Value>,
    /// At least one of them.
    #[serde(default)]
    pub any: Option<Collection>,
    /// Each of them.
    #[serde(default)]
    pub all: Option<Collection>,
    /// None of them.
    #[serde(default)]
    pub none: Option<Collection>,
}

/// Values that a path reaches, and a matcher on them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Collection {
    /// May hold `[*]`.
    pub path: String,
    /// Matcher on one value.
    #[serde(rename = "match")]
    pub matches: Value,
}
