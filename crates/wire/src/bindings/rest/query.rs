//! Parameters that stand in a query, as the JSON object they would be elsewhere, and back
//! (specification 11.5).

use percent_encoding::percent_decode_str;
use serde_json::Value;
use std::borrow::Cow;

use super::path::encode;
use crate::error::A2aError;

/// How the text of a parameter becomes JSON.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// As a string: what reads an int32 takes its decimal text too.
    Text,
    Boolean,
    /// A name, or the number that ProtoJSON takes in its place.
    Enum,
    /// As a string in which a plus is a plus: people forget to encode that of an offset.
    Time,
}

/// Every parameter of an operation that has a query: its name in camelCase and in snake_case.
const PARAMETERS: [(&str, &str, Kind); 10] = [
    ("tenant", "tenant", Kind::Text),
    ("id", "id", Kind::Text),
    ("taskId", "task_id", Kind::Text),
    ("contextId", "context_id", Kind::Text),
    ("status", "status", Kind::Enum),
    ("pageSize", "page_size", Kind::Text),
    ("pageToken", "page_token", Kind::Text),
    ("historyLength", "history_length", Kind::Text),
    ("statusTimestampAfter", "status_timestamp_after", Kind::Time),
    ("includeArtifacts", "include_artifacts", Kind::Boolean),
];

/// The parameters of a query as the text of a JSON object. Unknown ones are left out, as unknown
/// members of a body are ignored; an empty value is an absent one; a parameter that stands there
/// twice does so in the object too, whose reader refuses it.
pub(super) fn read(query: &str) -> Result<String, A2aError> {
    let mut object = String::from("{");
    for pair in query.split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = percent_decode_str(name).decode_utf8_lossy();
        let known = PARAMETERS
            .iter()
            .find(|(camel, snake, _)| name == *camel || name == *snake);
        let Some((name, _, kind)) = known else {
            continue;
        };
        let value = decode(value, *kind)
            .ok_or_else(|| A2aError::invalid_field(*name, "must be percent-encoded UTF-8"))?;
        if value.is_empty() {
            continue;
        }
        if object.len() > 1 {
            object.push(',');
        }
        object.push('"');
        object.push_str(name);
        object.push_str("\":");
        object.push_str(&json(&value, *kind));
    }
    object.push('}');
    Ok(object)
}

fn decode(value: &str, kind: Kind) -> Option<Cow<'_, str>> {
    if kind != Kind::Time && value.contains('+') {
        let spaced = value.replace('+', "%20");
        let decoded = percent_decode_str(&spaced).decode_utf8().ok()?;
        return Some(Cow::Owned(decoded.into_owned()));
    }
    percent_decode_str(value).decode_utf8().ok()
}

fn json(value: &str, kind: Kind) -> String {
    let bare = match kind {
        Kind::Boolean => matches!(value, "true" | "false"),
        Kind::Enum => value.parse::<u32>().is_ok_and(|n| n.to_string() == value),
        Kind::Text | Kind::Time => false,
    };
    if bare {
        value.to_owned()
    } else {
        Value::from(value).to_string()
    }
}

/// The members of `params` as a query, without those called `left_out`; `None` if none is left.
pub(super) fn write(params: &Value, left_out: &[&str]) -> Option<String> {
    let pairs: Vec<String> = params
        .as_object()?
        .iter()
        .filter(|(name, _)| !left_out.contains(&name.as_str()))
        .map(|(name, value)| {
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            format!("{name}={}", encode(&text))
        })
        .collect();
    Some(pairs.join("&")).filter(|query| !query.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_becomes_the_object_it_stands_for() {
        for (query, object) in [
            ("", "{}"),
            (
                "pageSize=7&page_token=a%3D%3D&other=1&=&historyLength",
                r#"{"pageSize":"7","pageToken":"a=="}"#,
            ),
            (
                "include_artifacts=true&includeArtifacts=True",
                r#"{"includeArtifacts":true,"includeArtifacts":"True"}"#,
            ),
            (
                "status=TASK_STATE_WORKING&contextId=a+b%2Bc%2520",
                r#"{"status":"TASK_STATE_WORKING","contextId":"a b+c%20"}"#,
            ),
            (
                "statusTimestampAfter=2026-01-02T03:04:05+02:00&status=2",
                r#"{"statusTimestampAfter":"2026-01-02T03:04:05+02:00","status":2}"#,
            ),
            ("%63ontextId=%22", r#"{"contextId":"\""}"#),
        ] {
            assert_eq!(read(query).unwrap(), object, "{query}");
        }
        assert!(read("contextId=%FF").is_err());
    }
}
