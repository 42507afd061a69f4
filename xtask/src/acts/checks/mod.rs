//! Judges answers: every way a test can say what it expects. Pure functions over JSON; nothing here
//! knows how an answer was fetched. Each returns a [`Mismatch`] that says where and why.

pub mod assertion;
pub mod condition;
pub mod error;
pub mod matcher;
pub mod path;
pub mod shape;
pub mod stream;

use serde_json::Value;

/// Why an answer is not what was expected.
#[derive(Clone, Debug, PartialEq)]
pub struct Mismatch {
    /// What is wrong, for people.
    pub message: String,
    /// Where in the answer; empty for the whole.
    pub path: String,
    /// What was asked for.
    pub expected: Value,
    /// What was there; `None`: nothing.
    pub actual: Option<Value>,
}

impl Mismatch {
    /// A mismatch at `path`.
    pub fn new(path: &str, message: impl Into<String>, actual: Option<&Value>) -> Self {
        Self {
            message: message.into(),
            path: path.to_owned(),
            expected: Value::Null,
            actual: actual.cloned(),
        }
    }

    /// The same with what was asked for.
    #[must_use]
    pub fn wanted(mut self, expected: &Value) -> Self {
        self.expected = expected.clone();
        self
    }
}

/// What a check ends with.
pub type Checked = Result<(), Mismatch>;
