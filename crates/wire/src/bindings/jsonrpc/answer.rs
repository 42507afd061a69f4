//! Answers: written with the caller's id, read from peers with all the shapes their errors have.

use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

use super::request_id::RequestId;
use crate::error::{A2aError, ErrorKind, FieldViolation};
use crate::json::is_deeper_than;
use crate::limits::MAX_JSON_DEPTH;

/// Appends an answer whose `result` is what `result` appends: one JSON value.
pub fn write_result(id: &RequestId, out: &mut Vec<u8>, result: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    id.write(out);
    out.extend_from_slice(br#","result":"#);
    result(out);
    out.push(b'}');
}

/// Appends an error answer with its details as an array in `error.data` (specification 9.5).
///
/// A parse error always has the id null: JSON-RPC 2.0 section 5 asks so, wherever in the body the
/// fault was found.
pub fn write_error(id: &RequestId, error: &A2aError, out: &mut Vec<u8>) {
    #[derive(serde::Serialize)]
    struct Body<'a> {
        code: i32,
        message: &'a str,
        data: Vec<crate::error::ErrorDetail<'a>>,
    }
    let body = Body {
        code: error.kind.code(),
        message: &error.message,
        data: error.details(),
    };
    write_error_object(id, error.kind, out, |out| {
        serde_json::to_writer(out, &body).expect("an error is always JSON");
    });
}

/// Appends an error answer whose `error` is what `object` appends: one JSON value.
pub(crate) fn write_error_object(
    id: &RequestId,
    kind: ErrorKind,
    out: &mut Vec<u8>,
    object: impl FnOnce(&mut Vec<u8>),
) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    if kind == ErrorKind::ParseError {
        out.extend_from_slice(b"null");
    } else {
        id.write(out);
    }
    out.extend_from_slice(br#","error":"#);
    object(out);
    out.push(b'}');
}

/// A peer's answer.
#[derive(Clone, Debug)]
pub struct Answer<'a> {
    /// `None` when the member is missing, null or no id.
    pub id: Option<RequestId>,
    /// JSON text of the result, or what the peer refused.
    pub outcome: Result<&'a str, A2aError>,
}

/// Reads an answer, or one frame of a stream. What is neither a result nor an error is an
/// InvalidAgentResponse.
pub fn read_answer(body: &[u8]) -> Result<Answer<'_>, A2aError> {
    read(body, None)
}

/// Reads the answer to an operation that returns nothing: where `result` is missing, it is `null`.
/// Servers of 0.3 drop the null from their answer to a deleted push configuration.
pub fn read_void_answer(body: &[u8]) -> Result<Answer<'_>, A2aError> {
    read(body, Some("null"))
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// `null` is a result too.
fn present<'de: 'a, 'a, D>(deserializer: D) -> Result<Option<&'a RawValue>, D::Error>
where
    D: serde::Deserializer<'de>,
{
    <&RawValue>::deserialize(deserializer).map(Some)
}

fn read<'a>(body: &'a [u8], missing: Option<&'a str>) -> Result<Answer<'a>, A2aError> {
    let wrong = |what: String| {
        A2aError::new(
            ErrorKind::InvalidAgentResponse,
            format!("The peer's answer {what}"),
        )
    };
    let text = std::str::from_utf8(body).map_err(|_| wrong("is not UTF-8".to_owned()))?;
    if is_deeper_than(text, MAX_JSON_DEPTH) {
        return Err(wrong("is nested too deeply".to_owned()));
    }
    let envelope: Envelope<'_> =
        serde_json::from_str(text).map_err(|e| wrong(format!("is no JSON-RPC answer: {e}")))?;
    let id = envelope
        .id
        .and_then(|id| RequestId::from_json(id.get()).ok());
    let outcome = match (
        envelope.error,
        envelope.result.map(RawValue::get).or(missing),
    ) {
        (Some(error), _) => Err(read_error(error.get())),
        (None, Some(result)) => Ok(result),
        (None, None) => return Err(wrong("has neither result nor error".to_owned())),
    };
    Ok(Answer { id, outcome })
}

#[derive(Default, Deserialize)]
struct ErrorBody<'a> {
    #[serde(default)]
    code: Option<serde_json::Number>,
    #[serde(default)]
    message: Option<String>,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
    #[serde(borrow, default)]
    details: Option<&'a RawValue>,
}

/// Members of all kinds of details that matter here (google.rpc ErrorInfo, BadRequest, RetryInfo).
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Detail {
    reason: Option<String>,
    metadata: Option<BTreeMap<String, Box<RawValue>>>,
    field_violations: Option<Vec<FieldViolation>>,
    retry_delay: Option<String>,
    retry_after: Option<u32>,
}

/// The error a peer meant. Free-form servers put a string where the object belongs, and anything
/// into `data`: nothing of that may hide the message.
pub(crate) fn read_error(json: &str) -> A2aError {
    if let Ok(message) = serde_json::from_str::<String>(json) {
        return A2aError::new(ErrorKind::Internal, message);
    }
    let body: ErrorBody<'_> = serde_json::from_str(json).unwrap_or_default();
    let details = read_details(body.data.or(body.details).map_or("[]", RawValue::get));
    let reason = details.iter().find_map(|detail| detail.reason.as_deref());
    let code = body
        .code
        .and_then(|code| code.as_i64())
        .and_then(|code| i32::try_from(code).ok());
    let kind = ErrorKind::recognise(code.unwrap_or_default(), reason);
    let message = body.message.filter(|message| !message.is_empty());
    let mut error = A2aError::new(kind, message.unwrap_or_else(|| kind.name().to_owned()));
    if let Some(code) = code.filter(|code| *code != kind.code()) {
        error.info.insert("code".to_owned(), code.to_string());
    }
    for detail in details {
        error
            .violations
            .extend(detail.field_violations.unwrap_or_default());
        let delay = detail.retry_delay.as_deref().and_then(read_seconds);
        error.retry_after = error.retry_after.or(delay).or(detail.retry_after);
        for (key, value) in detail.metadata.unwrap_or_default() {
            let text = serde_json::from_str(value.get()).unwrap_or_else(|_| value.get().to_owned());
            error.info.insert(key, text);
        }
    }
    let named = error
        .info
        .get("retryAfter")
        .and_then(|seconds| read_seconds(seconds));
    error.retry_after = error.retry_after.or(named);
    error
}

fn read_details(json: &str) -> Vec<Detail> {
    if json.starts_with('{') {
        return serde_json::from_str(json).map_or_else(|_| Vec::new(), |detail| vec![detail]);
    }
    let entries: Vec<&RawValue> = serde_json::from_str(json).unwrap_or_default();
    entries
        .into_iter()
        .filter_map(|entry| serde_json::from_str(entry.get()).ok())
        .collect()
}

/// Whole seconds, rounded up, of `3`, `3s` or `2.5s` (ProtoJSON Duration).
fn read_seconds(text: &str) -> Option<u32> {
    let (whole, fraction) = text
        .strip_suffix('s')
        .unwrap_or(text)
        .split_once('.')
        .unwrap_or((text.strip_suffix('s').unwrap_or(text), ""));
    let seconds: u32 = whole.parse().ok()?;
    let more = fraction.bytes().any(|digit| digit != b'0');
    Some(seconds.saturating_add(u32::from(more)))
}
