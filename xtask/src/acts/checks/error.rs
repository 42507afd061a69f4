//! Refusals: which error of A2A an answer names, and whether it is the one a test expects. Owns the
//! table of names, codes and reasons (specification 5.4); a status never identifies an error.

use serde_json::Value;

use super::{Checked, Mismatch, matcher};
use crate::acts::corpus::ExpectError;

/// A refusal as a binding shows it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Refusal {
    /// The error's name, where code or reason is known.
    pub name: Option<String>,
    /// For people.
    pub message: Option<String>,
    /// JSON-RPC's `error.data`, else the list of details.
    pub data: Option<Value>,
    /// Its ErrorInfo.
    pub details: Option<Value>,
}

/// Name, JSON-RPC code, ErrorInfo reason.
const ERRORS: [(&str, i64, &str); 14] = [
    ("TaskNotFoundError", -32001, "TASK_NOT_FOUND"),
    ("TaskNotCancelableError", -32002, "TASK_NOT_CANCELABLE"),
    (
        "PushNotificationNotSupportedError",
        -32003,
        "PUSH_NOTIFICATION_NOT_SUPPORTED",
    ),
    ("UnsupportedOperationError", -32004, "UNSUPPORTED_OPERATION"),
    (
        "ContentTypeNotSupportedError",
        -32005,
        "CONTENT_TYPE_NOT_SUPPORTED",
    ),
    (
        "InvalidAgentResponseError",
        -32006,
        "INVALID_AGENT_RESPONSE",
    ),
    (
        "ExtendedAgentCardNotConfiguredError",
        -32007,
        "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
    ),
    (
        "ExtensionSupportRequiredError",
        -32008,
        "EXTENSION_SUPPORT_REQUIRED",
    ),
    ("VersionNotSupportedError", -32009, "VERSION_NOT_SUPPORTED"),
    ("ParseError", -32700, "PARSE_ERROR"),
    ("InvalidRequestError", -32600, "INVALID_REQUEST"),
    ("MethodNotFoundError", -32601, "METHOD_NOT_FOUND"),
    ("InvalidParamsError", -32602, "INVALID_PARAMS"),
    ("InternalError", -32603, "INTERNAL_ERROR"),
];

/// Names that A2A does not have, and the errors that are meant.
const ALIASES: [(&str, &str); 2] = [
    (
        "ExtendedCardNotSupportedError",
        "ExtendedAgentCardNotConfiguredError",
    ),
    ("StreamingNotSupportedError", "UnsupportedOperationError"),
];

impl Refusal {
    /// Reads `error` of a JSON-RPC answer.
    #[must_use]
    pub fn of_jsonrpc(error: &Value) -> Self {
        let code = error["code"].as_i64();
        let name = ERRORS.iter().find(|(_, known, _)| Some(*known) == code);
        Self {
            name: name.map(|(name, ..)| (*name).to_owned()),
            message: error["message"].as_str().map(str::to_owned),
            data: error.get("data").cloned(),
            details: error.get("data").and_then(error_info),
        }
    }

    /// Reads a message and a list of `google.rpc` details, as HTTP+JSON and gRPC give them.
    #[must_use]
    pub fn of_status(message: Option<&str>, details: Option<&Value>) -> Self {
        let info = details.and_then(error_info);
        let reason = info.as_ref().and_then(|info| info["reason"].as_str());
        let name = ERRORS.iter().find(|(.., known)| Some(*known) == reason);
        Self {
            name: name.map(|(name, ..)| (*name).to_owned()),
            message: message.map(str::to_owned),
            data: details.cloned(),
            details: info,
        }
    }
}

fn error_info(details: &Value) -> Option<Value> {
    let is_info = |detail: &&Value| {
        let kind = detail["@type"].as_str();
        kind.is_some_and(|kind| kind.ends_with("google.rpc.ErrorInfo"))
    };
    details.as_array()?.iter().find(is_info).cloned()
}

/// Checks a refusal against what was expected of it.
///
/// # Errors
/// What does not fit. An expectation without keys takes any refusal.
pub fn check(expected: &ExpectError, refusal: &Refusal) -> Checked {
    let text = |text: &Option<String>| text.clone().map(Value::String);
    let parts = [
        ("error_type", &expected.error_type, text(&refusal.name)),
        ("message", &expected.message, text(&refusal.message)),
        ("data", &expected.data, refusal.data.clone()),
        ("details", &expected.details, refusal.details.clone()),
    ];
    for (key, pattern, actual) in parts {
        let Some(pattern) = pattern else { continue };
        let pattern = if key == "error_type" {
            with_real_names(pattern)
        } else {
            pattern.clone()
        };
        matcher::check(&pattern, actual.as_ref(), key).map_err(|mut mismatch| {
            mismatch.message = format!("{}; the refusal is {refusal:?}", mismatch.message);
            Mismatch { ..mismatch }
        })?;
    }
    Ok(())
}

fn with_real_names(pattern: &Value) -> Value {
    match pattern {
        Value::String(name) => {
            let alias = ALIASES.iter().find(|(alias, _)| alias == name);
            Value::String(alias.map_or(name.as_str(), |(_, real)| real).to_owned())
        }
        Value::Array(all) => all.iter().map(with_real_names).collect(),
        Value::Object(keys) => {
            let keys = keys.iter();
            keys.map(|(key, value)| (key.clone(), with_real_names(value)))
                .collect()
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn expect(expected: Value) -> ExpectError {
        serde_json::from_value(expected).unwrap()
    }

    fn not_found() -> Value {
        json!([{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "TASK_NOT_FOUND"}])
    }

    #[test]
    fn an_error_is_known_by_code_or_reason_and_never_by_status() {
        let rpc =
            Refusal::of_jsonrpc(&json!({"code": -32001, "message": "x", "data": not_found()}));
        let rest = Refusal::of_status(Some("x"), Some(&not_found()));
        assert_eq!(rpc.name.as_deref(), Some("TaskNotFoundError"));
        assert_eq!(rpc, rest);
        assert_eq!(Refusal::of_status(Some("Task not found"), None).name, None);
        assert_eq!(Refusal::of_jsonrpc(&json!({"code": -1})).name, None);
    }

    #[test]
    fn every_key_can_fail() {
        let refusal = Refusal::of_status(Some("no such task"), Some(&not_found()));
        let cases = [
            (
                json!({"error_type": "TaskNotFoundError"}),
                json!({"error_type": "InternalError"}),
            ),
            (
                json!({"error_type": {"one_of": ["TaskNotFoundError"]}}),
                json!({"error_type": {"one_of": ["A"]}}),
            ),
            (
                json!({"message": {"contains": "task"}}),
                json!({"message": {"contains": "Task"}}),
            ),
            (
                json!({"data": {"type": "array"}}),
                json!({"data": {"type": "object"}}),
            ),
            (
                json!({"details": {"reason": "TASK_NOT_FOUND"}}),
                json!({"details": {"reason": "X"}}),
            ),
        ];
        for (right, wrong) in cases {
            assert_eq!(check(&expect(right), &refusal), Ok(()));
            assert!(check(&expect(wrong.clone()), &refusal).is_err(), "{wrong}");
        }
        assert!(
            check(
                &expect(json!({"message": {"type": "string"}})),
                &Refusal::default()
            )
            .is_err()
        );
        assert_eq!(check(&expect(json!({})), &Refusal::default()), Ok(()));
    }

    #[test]
    fn names_that_a2a_does_not_have_stand_for_those_it_has() {
        let refusal = Refusal::of_jsonrpc(&json!({"code": -32004, "message": "x"}));
        let alias = expect(json!({"error_type": "StreamingNotSupportedError"}));
        assert_eq!(check(&alias, &refusal), Ok(()));
        let other = expect(json!({"error_type": "ExtendedCardNotSupportedError"}));
        assert!(check(&other, &refusal).is_err());
    }
}
