//! User JSON as `google.protobuf.Struct` and `Value`, and back (specification 5.5).
//!
//! All numbers are doubles there. What a double would change, and what has no JSON form, is refused
//! and never bent.

use prost_types::value::Kind;
use prost_types::{ListValue, Struct, Value};
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use super::Wrong;
use crate::json::{Metadata, RawJson};

/// A JSON value for a protobuf peer.
pub(super) fn value_out(json: &RawJson) -> Result<Value, Wrong> {
    json.check_depth().map_err(Wrong::here)?;
    check_numbers(json.get())?;
    let parsed: Parsed = json
        .read()
        .map_err(|error| Wrong::here(error.to_string()))?;
    Ok(parsed.0)
}

/// A JSON object for a protobuf peer.
pub(super) fn struct_out(object: &Metadata) -> Result<Struct, Wrong> {
    let raw = RawJson::parse(object.get()).expect("an object is JSON");
    match value_out(&raw)?.kind {
        Some(Kind::StructValue(object)) => Ok(object),
        _ => Err(Wrong::here("must be a JSON object")),
    }
}

/// A protobuf peer's value as JSON.
pub(super) fn value_in(value: &Value) -> Result<RawJson, Wrong> {
    let mut text = String::new();
    write_value(value, &mut text)?;
    Ok(RawJson::parse(text).expect("what was just written is JSON"))
}

/// A protobuf peer's object as JSON.
pub(super) fn struct_in(object: &Struct) -> Result<Metadata, Wrong> {
    let mut text = String::new();
    write_object(&object.fields, &mut text)?;
    Ok(Metadata::parse(text).expect("what was just written is a JSON object"))
}

/// Digits of an integer that every double holds: 2^53 has sixteen.
const SAFE_DIGITS: usize = 15;
/// Doubles from here on are written with an exponent, as JavaScript does.
const LARGEST_PLAIN: f64 = 1e21;

/// Refuses numbers that would arrive as another number.
fn check_numbers(json: &str) -> Result<(), Wrong> {
    let bytes = json.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = after_string(bytes, at),
            b'-' | b'0'..=b'9' => {
                let length = bytes[at..].iter().position(|byte| !is_of_number(*byte));
                let end = length.map_or(bytes.len(), |length| at + length);
                check_number(&json[at..end])?;
                at = end;
            }
            _ => at += 1,
        }
    }
    Ok(())
}

fn after_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

fn is_of_number(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E')
}

fn check_number(text: &str) -> Result<(), Wrong> {
    if text.len() <= SAFE_DIGITS && !text.contains(['e', 'E']) {
        return Ok(());
    }
    let number: f64 = text.parse().expect("a JSON number is a number to Rust");
    // The shortest decimal stands for the double wherever JSON is read into doubles; the exact one
    // is for integers beyond 2^53 that a double happens to hold.
    let kept = number.is_finite()
        && (decimal(text) == decimal(&format!("{number:e}"))
            || decimal(text) == decimal(&format!("{number:.0}")));
    if kept {
        return Ok(());
    }
    let shown: String = text.chars().take(MAX_SHOWN_CHARS).collect();
    Err(Wrong::here(format!(
        "holds the number {shown}, which a double cannot: send it as text, or use JSON-RPC or HTTP+JSON"
    )))
}

/// Most characters of a number that an error repeats.
const MAX_SHOWN_CHARS: usize = 32;

/// Sign, significant digits and the exponent of the last one: equal for equal decimals.
fn decimal(text: &str) -> (bool, String, i64) {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let negative = mantissa.starts_with('-');
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut digits: String = [whole.trim_start_matches('-'), fraction].concat();
    let exponent: i64 = exponent.parse().unwrap_or(i64::MAX / 2);
    let mut last = exponent.saturating_sub(fraction.len() as i64);
    while digits.ends_with('0') {
        digits.pop();
        last += 1;
    }
    let digits = digits.trim_start_matches('0').to_owned();
    let last = if digits.is_empty() { 0 } else { last };
    (negative, digits, last)
}

/// A value read from JSON whose numbers have been checked.
struct Parsed(Value);

impl<'de> Deserialize<'de> for Parsed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor).map(Self)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(of(Kind::NullValue(0)))
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
        Ok(of(Kind::BoolValue(value)))
    }

    #[allow(clippy::cast_precision_loss)] // `check_number` saw that there is none
    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        Ok(of(Kind::NumberValue(value as f64)))
    }

    #[allow(clippy::cast_precision_loss)] // likewise
    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        Ok(of(Kind::NumberValue(value as f64)))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Ok(of(Kind::NumberValue(value)))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
        Ok(of(Kind::StringValue(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(Parsed(value)) = list.next_element()? {
            values.push(value);
        }
        Ok(of(Kind::ListValue(ListValue { values })))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut fields = BTreeMap::new();
        while let Some((name, Parsed(value))) = map.next_entry::<String, Parsed>()? {
            if fields.contains_key(&name) {
                let text = format!("has the member '{name}' twice, which protobuf cannot carry");
                return Err(de::Error::custom(text));
            }
            fields.insert(name, value);
        }
        Ok(of(Kind::StructValue(Struct { fields })))
    }
}

fn of(kind: Kind) -> Value {
    Value { kind: Some(kind) }
}

fn write_value(value: &Value, out: &mut String) -> Result<(), Wrong> {
    match &value.kind {
        // A value that says nothing is what its absence would be.
        None | Some(Kind::NullValue(_)) => out.push_str("null"),
        Some(Kind::BoolValue(value)) => out.push_str(if *value { "true" } else { "false" }),
        Some(Kind::NumberValue(value)) => write_number(*value, out)?,
        Some(Kind::StringValue(value)) => write_text(value, out),
        Some(Kind::StructValue(object)) => write_object(&object.fields, out)?,
        Some(Kind::ListValue(list)) => {
            out.push('[');
            for (index, value) in list.values.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_value(value, out)?;
            }
            out.push(']');
        }
    }
    Ok(())
}

fn write_object(fields: &BTreeMap<String, Value>, out: &mut String) -> Result<(), Wrong> {
    out.push('{');
    for (index, (name, value)) in fields.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_text(name, out);
        out.push(':');
        write_value(value, out)?;
    }
    out.push('}');
    Ok(())
}

fn write_text(text: &str, out: &mut String) {
    out.push_str(&serde_json::to_string(text).expect("a string is always JSON"));
}

/// Integral doubles have no fraction, as ProtoJSON writes them.
fn write_number(number: f64, out: &mut String) -> Result<(), Wrong> {
    if !number.is_finite() {
        return Err(Wrong::here(
            "must not hold NaN or Infinity, which JSON has not",
        ));
    }
    if number.abs() < LARGEST_PLAIN && number.fract() == 0.0 {
        write!(out, "{number}").expect("a string takes all text");
    } else {
        let text = serde_json::to_string(&number).expect("a finite number is always JSON");
        out.push_str(&text);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(json: &str) -> Result<String, String> {
        let raw = RawJson::parse(json).unwrap();
        let value = value_out(&raw).map_err(|wrong| wrong.reason)?;
        Ok(value_in(&value)
            .map_err(|wrong| wrong.reason)?
            .get()
            .to_owned())
    }

    #[test]
    fn numbers_pass_unchanged_or_not_at_all() {
        for (json, back) in [
            ("3", "3"),
            ("3.0", "3"),
            ("-0.5", "-0.5"),
            ("0.1", "0.1"),
            ("1e2", "100"),
            ("0e5", "0"),
            ("1.50e-7", "1.5e-7"),
            ("9007199254740992", "9007199254740992"),
            ("18446744073709551616", "18446744073709552000"),
            ("123456789.123456", "123456789.123456"),
            ("1e300", "1e+300"),
        ] {
            assert_eq!(there_and_back(json).as_deref(), Ok(back), "{json}");
        }
        for json in [
            "9007199254740993",
            "-9007199254740993",
            "18446744073709551617",
            "1e400",
            "-1e400",
            "0.1000000000000000055",
            "1e99999999999999999999",
            r#"{"a":["9007199254740993",9007199254740993]}"#,
        ] {
            let reason = there_and_back(json).unwrap_err();
            assert!(reason.contains("a double cannot"), "{json}: {reason}");
        }
    }

    #[test]
    fn text_that_looks_like_a_number_is_no_number() {
        let json = r#"{"a":"\"9007199254740993","b":["1e400\\",null,true,{}]}"#;
        assert_eq!(there_and_back(json).as_deref(), Ok(json));
    }

    #[test]
    fn what_has_no_place_on_the_other_side_is_refused() {
        assert!(
            there_and_back(r#"{"a":1,"a":2}"#)
                .unwrap_err()
                .contains("'a' twice")
        );
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(value_in(&of(Kind::NumberValue(number))).is_err());
        }
        assert!(there_and_back(&format!("{}{}", "[".repeat(65), "]".repeat(65))).is_err());
    }
}
