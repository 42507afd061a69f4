//! JSON in the one form that is signed: names in order, `", "` and `": "`, nothing escaped that
//! need not be. Receivers that sign what they parsed and those that sign what came then agree.
//!
//! Numbers stay as they are written, doubled names stay both: user JSON is never changed.

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

use super::is_deeper_than;
use crate::limits::MAX_USER_JSON_DEPTH;

/// Deepest nesting that is followed: user JSON and the members of an event around it.
const MAX_DEPTH: usize = MAX_USER_JSON_DEPTH + 16;

/// `json` with names in order and one blank after each comma and colon; what is no JSON, or nested
/// deeper than any event, is given back as it is.
#[must_use]
pub fn sorted(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len() + json.len() / 8);
    match serde_json::from_slice::<&RawValue>(json) {
        Ok(value)
            if !is_deeper_than(value.get(), MAX_DEPTH) && write(value.get(), &mut out).is_ok() =>
        {
            out
        }
        _ => json.to_vec(),
    }
}

fn write(value: &str, out: &mut Vec<u8>) -> serde_json::Result<()> {
    match value.as_bytes().first() {
        Some(b'{') => write_object(serde_json::from_str(value)?, out),
        Some(b'[') => write_list(&serde_json::from_str::<Vec<&RawValue>>(value)?, out),
        Some(b'"') => {
            write_text(value, out);
            Ok(())
        }
        _ => {
            out.extend_from_slice(value.as_bytes());
            Ok(())
        }
    }
}

fn write_object(Members(mut members): Members<'_>, out: &mut Vec<u8>) -> serde_json::Result<()> {
    // Order of UTF-8 bytes is order of code points. The sort is stable.
    members.sort_by(|(a, _), (b, _)| a.cmp(b));
    out.push(b'{');
    for (index, (name, value)) in members.iter().enumerate() {
        if index > 0 {
            out.extend_from_slice(b", ");
        }
        serde_json::to_writer(&mut *out, name)?;
        out.extend_from_slice(b": ");
        write(value.get(), out)?;
    }
    out.push(b'}');
    Ok(())
}

fn write_list(values: &[&RawValue], out: &mut Vec<u8>) -> serde_json::Result<()> {
    out.push(b'[');
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            out.extend_from_slice(b", ");
        }
        write(value.get(), out)?;
    }
    out.push(b']');
    Ok(())
}

/// A text with no more escapes than it needs; one that is no Unicode keeps its own.
fn write_text(text: &str, out: &mut Vec<u8>) {
    let start = out.len();
    let written = serde_json::from_str::<std::borrow::Cow<'_, str>>(text)
        .and_then(|text| serde_json::to_writer(&mut *out, &text));
    if written.is_err() {
        out.truncate(start);
        out.extend_from_slice(text.as_bytes());
    }
}

/// Members of an object as they stand.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(json: &str) -> String {
        String::from_utf8(sorted(json.as_bytes())).unwrap()
    }

    #[test]
    fn names_are_in_order_and_separators_have_one_blank() {
        assert_eq!(
            form(r#" {"b":[1,{"z":true,"a":null}],"a":{ } ,"é":[],"B":"x"} "#),
            r#"{"B": "x", "a": {}, "b": [1, {"a": null, "z": true}], "é": []}"#
        );
    }

    #[test]
    fn texts_have_only_the_escapes_they_need() {
        assert_eq!(
            form(r#"["caf\u00e9","\/","\"\\\n\r\t\b\f","\u0001\u001f\u007f","\ud83d\ude00"]"#),
            "[\"café\", \"/\", \"\\\"\\\\\\n\\r\\t\\b\\f\", \"\\u0001\\u001f\u{7f}\", \"😀\"]"
        );
    }

    #[test]
    fn user_json_is_not_changed() {
        let odd = r#"[9007199254740993, 1e400, -0.0, 1.50, {"a": 2, "a": 1}, "\ud800"]"#;
        assert_eq!(form(odd), odd);
        assert_eq!(form("no json"), "no json");
    }

    #[test]
    fn what_is_too_deep_to_follow_is_left_alone() {
        let nested = |depth: usize| format!("{}1,2{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(
            form(&nested(MAX_DEPTH)),
            nested(MAX_DEPTH).replace(',', ", ")
        );
        for depth in [MAX_DEPTH + 1, 1_000_000] {
            assert_eq!(form(&nested(depth)), nested(depth));
        }
    }
}
