//! The JSON Canonicalization Scheme (RFC 8785): one text for equal values.
//!
//! Reads strictly: a name that stands twice has no canonical form, because two readers could take
//! two values. All numbers are doubles, as the scheme wants it.

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use std::fmt::{self, Write as _};

/// A JSON value; an object keeps its members in the order they came in.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Json {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Whether it is what ProtoJSON leaves out: false, zero or empty.
    pub(super) fn is_default(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Bool(value) => !value,
            Self::Number(value) => *value == 0.0,
            _ => self.is_empty(),
        }
    }

    /// Whether it is null or empty.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Bool(_) | Self::Number(_) => false,
            Self::Text(text) => text.is_empty(),
            Self::List(items) => items.is_empty(),
            Self::Object(members) => members.is_empty(),
        }
    }

    /// The canonical text.
    pub(super) fn to_canonical(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Number(value) => write_number(*value, out),
            Self::Text(text) => write_text(text, out),
            Self::List(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    item.write(out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                let mut sorted: Vec<_> = members.iter().collect();
                // By UTF-16 code units (section 3.2.3), which is not the order of UTF-8.
                sorted.sort_by(|(one, _), (other, _)| one.encode_utf16().cmp(other.encode_utf16()));
                out.push('{');
                for (index, (name, value)) in sorted.into_iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    write_text(name, out);
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }
}

/// serde_json escapes exactly what section 3.2.2.2 wants escaped.
fn write_text(text: &str, out: &mut String) {
    out.push_str(&serde_json::to_string(text).expect("a text has a JSON form"));
}

/// As ECMAScript writes a number (section 3.2.2.3): the shortest digits that read back, plain from
/// 1e-6 up to but not including 1e21.
fn write_number(value: f64, out: &mut String) {
    if value == 0.0 {
        out.push('0');
        return;
    }
    if value < 0.0 {
        out.push('-');
    }
    let (digits, point) = shortest_digits(value.abs());
    let count = i32::try_from(digits.len()).expect("a double has few digits");
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or_default());
    match point {
        _ if count <= point && point <= 21 => {
            out.push_str(&digits);
            out.push_str(&zeros(point - count));
        }
        1..=21 => {
            let (whole, fraction) = digits.split_at(usize::try_from(point).unwrap_or_default());
            let _ = write!(out, "{whole}.{fraction}");
        }
        -5..=0 => {
            let _ = write!(out, "0.{}{digits}", zeros(-point));
        }
        _ => {
            let (first, rest) = digits.split_at(1);
            let dot = if rest.is_empty() { "" } else { "." };
            let _ = write!(out, "{first}{dot}{rest}e{:+}", point - 1);
        }
    }
}

/// The digits of a positive number, and where the decimal point stands, counted from the first.
/// serde_json's are the shortest that read back, and of two as short and as near the even one, as
/// ECMAScript has them; those of the standard library are not.
fn shortest_digits(value: f64) -> (String, i32) {
    let text = serde_json::to_string(&value).expect("a finite number has a JSON form");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().expect("the exponent is a number");
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let length = |text: &str| i32::try_from(text.len()).expect("a double has few digits");
    let all = format!("{whole}{fraction}");
    let significant = all.trim_start_matches('0');
    let zeros = length(&all) - length(significant);
    let digits = significant.trim_end_matches('0').to_owned();
    (digits, length(whole) + exponent - zeros)
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    #[allow(clippy::cast_precision_loss)] // the scheme knows doubles only
    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Number(value as f64))
    }

    #[allow(clippy::cast_precision_loss)] // the scheme knows doubles only
    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Number(value as f64))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Number(value))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Json, E> {
        Ok(Json::Text(text.to_owned()))
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<Json, E> {
        Ok(Json::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Json, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Json::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut names = std::collections::HashSet::new();
        let mut members = Vec::new();
        while let Some((name, value)) = map.next_entry::<String, Json>()? {
            if !names.insert(name.clone()) {
                let shown: String = name.chars().take(MAX_SHOWN_NAME).collect();
                return Err(de::Error::custom(format!(
                    "the member {shown:?} stands twice in one object"
                )));
            }
            members.push((name, value));
        }
        Ok(Json::Object(members))
    }
}

/// Characters of a member's name that an error shows.
const MAX_SHOWN_NAME: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> String {
        serde_json::from_str::<Json>(text).unwrap().to_canonical()
    }

    /// The numbers of RFC 8785 appendix B.
    #[test]
    fn numbers_are_written_as_ecmascript_writes_them() {
        for (bits, expected) in [
            (0x0000_0000_0000_0000_u64, "0"),
            (0x8000_0000_0000_0000, "0"),
            (0x0000_0000_0000_0001, "5e-324"),
            (0x8000_0000_0000_0001, "-5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x41b3_de43_5555_5553, "333333333.3333332"),
            (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
            (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
        ] {
            let mut out = String::new();
            write_number(f64::from_bits(bits), &mut out);
            assert_eq!(out, expected);
        }
        assert_eq!(
            canonical("[1.0,1e2,-0,0.1,9007199254740993]"),
            "[1,100,0,0.1,9007199254740992]"
        );
        assert_eq!(canonical("333333333.33333329"), "333333333.3333333");
    }

    /// The example of RFC 8785 section 3.2.3: the order of names, and what is escaped.
    #[test]
    fn names_are_sorted_by_utf_16() {
        let text = r#"{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}"#;
        let expected = "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}";
        assert_eq!(canonical(text), expected);
        assert_eq!(
            canonical(r#""\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/\b""#),
            "\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\\b\""
        );
    }

    #[test]
    fn a_doubled_name_has_no_canonical_form() {
        for text in [r#"{"a":1,"a":1}"#, r#"[{"b":{"c":1,"\u0063":2}}]"#, "1e400"] {
            assert!(serde_json::from_str::<Json>(text).is_err(), "{text}");
        }
    }
}
