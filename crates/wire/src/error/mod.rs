//! A refused request: its kind, words for the caller, details for programs.
//!
//! What a kind means in each binding is the table in `kind`.

mod kind;

pub use kind::{ErrorKind, StatusTable};

use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Domain of the `ErrorInfo` of A2A errors.
pub const ERROR_DOMAIN: &str = "a2a-protocol.org";

/// A refused request: what is wrong, in words for the caller, with details for programs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct A2aError {
    /// What went wrong.
    pub kind: ErrorKind,
    /// For the caller: names the thing and says what to do. Never holds a secret.
    pub message: Cow<'static, str>,
    /// `metadata` of the `ErrorInfo`.
    pub info: BTreeMap<String, String>,
    /// Fields that are wrong, if the parameters are.
    pub violations: Vec<FieldViolation>,
    /// When to come back, in seconds, where waiting helps.
    pub retry_after: Option<u32>,
}

impl A2aError {
    /// An error of this kind with a text for the caller.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            kind,
            message: message.into(),
            info: BTreeMap::new(),
            violations: Vec::new(),
            retry_after: None,
        }
    }

    /// The one answer for tasks that do not exist and for those of other callers.
    #[must_use]
    pub fn task_not_found(id: &str) -> Self {
        let shown: String = id.chars().take(crate::limits::MAX_ID_CHARS).collect();
        Self::new(ErrorKind::TaskNotFound, format!("Task not found: {shown}")).with("taskId", shown)
    }

    /// Parameters with these wrong fields.
    #[must_use]
    pub fn invalid_params(violations: Vec<FieldViolation>) -> Self {
        let listed: Vec<String> = violations
            .iter()
            .map(|v| format!("{} {}", v.field, v.description))
            .collect();
        let message = format!("Invalid parameters: {}", listed.join("; "));
        Self {
            violations,
            ..Self::new(ErrorKind::InvalidParams, message)
        }
    }

    /// Parameters with one wrong field.
    #[must_use]
    pub fn invalid_field(field: impl Into<String>, description: impl Into<String>) -> Self {
        Self::invalid_params(vec![FieldViolation::new(field, description)])
    }

    /// Adds one entry to the `ErrorInfo` metadata.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<String>) -> Self {
        self.info.insert(key.to_owned(), value.into());
        self
    }

    /// The details as they go out: `ErrorInfo` first, then `BadRequest` if fields are wrong.
    #[must_use]
    pub fn details(&self) -> Vec<ErrorDetail<'_>> {
        let mut details = vec![ErrorDetail::ErrorInfo {
            reason: self.kind.reason(),
            domain: ERROR_DOMAIN,
            metadata: &self.info,
        }];
        if !self.violations.is_empty() {
            details.push(ErrorDetail::BadRequest {
                field_violations: &self.violations,
            });
        }
        if let Some(seconds) = self.retry_after {
            details.push(ErrorDetail::RetryInfo {
                retry_delay: Seconds(seconds),
            });
        }
        details
    }
}

/// One entry of `error.data` or `error.details` (specification 9.5, 11.6).
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(tag = "@type")]
pub enum ErrorDetail<'a> {
    /// Machine-readable reason.
    #[serde(rename = "type.googleapis.com/google.rpc.ErrorInfo")]
    ErrorInfo {
        /// UPPER_SNAKE_CASE name of the error.
        reason: &'a str,
        /// Who defined the reason.
        domain: &'a str,
        /// Further facts, text only.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        metadata: &'a BTreeMap<String, String>,
    },
    /// Which fields are wrong.
    #[serde(
        rename = "type.googleapis.com/google.rpc.BadRequest",
        rename_all = "camelCase"
    )]
    BadRequest {
        /// One entry per field.
        field_violations: &'a [FieldViolation],
    },
    /// When to come back.
    #[serde(
        rename = "type.googleapis.com/google.rpc.RetryInfo",
        rename_all = "camelCase"
    )]
    RetryInfo {
        /// Seconds to wait.
        retry_delay: Seconds,
    },
}

/// A duration as ProtoJSON writes it: `3s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seconds(pub u32);

impl Serialize for Seconds {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}s", self.0))
    }
}

/// A field that is wrong, by its path from the parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct FieldViolation {
    /// Path such as `message.parts[0].url`.
    #[serde(default)]
    pub field: String,
    /// What is wrong with it.
    #[serde(default)]
    pub description: String,
}

impl FieldViolation {
    /// A violation of `field`.
    #[must_use]
    pub fn new(field: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            description: description.into(),
        }
    }
}
