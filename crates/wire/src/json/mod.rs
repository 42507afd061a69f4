//! User JSON that is carried byte for byte, and the ProtoJSON reading rules of plain members.
//!
//! `data`, `metadata` and extension `params` belong to their sender: numbers, key order and doubled
//! names survive exactly, because nothing here ever turns them into a value (specification 5.5).
//! Only line breaks go, which mean nothing in JSON and would break frames and JSON Lines.

mod object;
mod scan;
mod sorted;

pub(crate) use object::{Member, MemberSeed, Value, json_object};
pub(crate) use scan::is_deeper_than;
pub use sorted::sorted;

use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use std::fmt;

use crate::limits::{MAX_METADATA_BYTES, MAX_METADATA_KEYS, MAX_USER_JSON_DEPTH};

/// Any JSON value, kept as the bytes it arrived in, on one line.
#[derive(Clone)]
pub struct RawJson(Box<RawValue>);

impl RawJson {
    /// Takes one JSON text; an error says what is malformed and where.
    pub fn parse(text: impl Into<String>) -> Result<Self, serde_json::Error> {
        RawValue::from_string(text.into()).map(Self::on_one_line)
    }

    /// The value of `source` as JSON. Fails only where `Serialize` itself fails.
    pub fn of<T: Serialize + ?Sized>(source: &T) -> Result<Self, serde_json::Error> {
        serde_json::value::to_raw_value(source).map(Self::on_one_line)
    }

    /// Takes the line breaks out. None of them is part of a string, where JSON allows no raw one,
    /// and none alone keeps two tokens apart.
    fn on_one_line(raw: Box<RawValue>) -> Self {
        if memchr::memchr2(b'\n', b'\r', raw.get().as_bytes()).is_none() {
            return Self(raw);
        }
        let line = raw.get().replace(['\n', '\r'], "");
        Self(RawValue::from_string(line).expect("JSON without its line breaks is JSON"))
    }

    /// The JSON text, unchanged but for line breaks, without surrounding white space.
    #[must_use]
    pub fn get(&self) -> &str {
        self.0.get()
    }

    /// Reads the text as `T`. Numbers that `T` cannot hold are an error, not rounded.
    pub fn read<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.get())
    }

    /// Whether the text is a JSON object.
    #[must_use]
    pub fn is_object(&self) -> bool {
        self.get().starts_with('{')
    }

    /// Deepest nesting of arrays and objects; a scalar has depth 0.
    #[must_use]
    pub fn depth(&self) -> usize {
        scan::depth_of(self.get())
    }

    /// Says why the value is deeper than [`MAX_USER_JSON_DEPTH`], if it is.
    pub(crate) fn check_depth(&self) -> Result<(), String> {
        if self.depth() > MAX_USER_JSON_DEPTH {
            return Err(format!(
                "must not be nested deeper than {MAX_USER_JSON_DEPTH} levels"
            ));
        }
        Ok(())
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get())
    }
}

/// Same text; `1` and `1.0` differ, because the sender's spelling is part of what is carried.
impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for RawJson {}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self::on_one_line)
    }
}

/// A JSON object of the sender (`google.protobuf.Struct`), kept as the bytes it arrived in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata(RawJson);

impl Metadata {
    /// Takes one JSON object. Any other JSON value is an error.
    pub fn parse(text: impl Into<String>) -> Result<Self, serde_json::Error> {
        let raw = RawJson::parse(text)?;
        Self::from_raw(raw).map_err(de::Error::custom)
    }

    /// Takes a value that is an object, else says what was found.
    pub fn from_raw(raw: RawJson) -> Result<Self, &'static str> {
        if raw.is_object() {
            Ok(Self(raw))
        } else {
            Err("must be a JSON object")
        }
    }

    /// The object's JSON text.
    #[must_use]
    pub fn get(&self) -> &str {
        self.0.get()
    }

    /// Reads the whole object as `T`.
    pub fn read<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        self.0.read()
    }

    /// The first member called `key`, if there is one.
    #[must_use]
    pub fn member(&self, key: &str) -> Option<RawJson> {
        let text = self.get();
        let span = scan::members(text).find(|span| span.is_named(text, key))?;
        RawJson::parse(span.value(text)).ok()
    }

    /// The same object with one more member at its end, or unchanged if it has one of that name.
    /// All other bytes stay.
    pub(crate) fn with_member(this: Option<&Self>, key: &str, value: &RawJson) -> Self {
        if let Some(taken) = this.filter(|metadata| metadata.member(key).is_some()) {
            return taken.clone();
        }
        let text = this.map_or("{}", Self::get);
        let end = text.rfind('}').expect("an object ends with a bracket");
        let comma = if scan::members(text).next().is_some() {
            ","
        } else {
            ""
        };
        let name = RawJson::of(key).expect("a string is always JSON");
        let longer = format!("{}{comma}{}:{}}}", &text[..end], name.get(), value.get());
        Self(RawJson::parse(longer).expect("a member was added to an object"))
    }

    /// The same object without the first member called `key`; `None` if nothing is left. All other
    /// bytes stay.
    pub(crate) fn without_member(&self, key: &str) -> Option<Self> {
        let text = self.get();
        let mut first = true;
        for span in scan::members(text) {
            if !span.is_named(text, key) {
                first = false;
                continue;
            }
            let is_last = text.as_bytes()[span.after] == b'}';
            if first && is_last {
                return None;
            }
            // One of the two commas around the member goes with it.
            let cut = if first {
                span.before + 1..span.after + 1
            } else {
                span.before..span.after
            };
            let shorter = format!("{}{}", &text[..cut.start], &text[cut.end..]);
            return Some(Self(
                RawJson::parse(shorter).expect("a whole member was cut out"),
            ));
        }
        Some(self.clone())
    }

    /// Says which bound the object exceeds, if any: bytes, members, depth.
    pub(crate) fn check_limits(&self) -> Result<(), String> {
        if self.get().len() > MAX_METADATA_BYTES {
            return Err(format!("must not exceed {MAX_METADATA_BYTES} bytes"));
        }
        self.0.check_depth()?;
        let members = scan::members(self.get()).count();
        if members > MAX_METADATA_KEYS {
            return Err(format!(
                "must not have more than {MAX_METADATA_KEYS} members"
            ));
        }
        Ok(())
    }
}

impl Serialize for Metadata {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Metadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_raw(RawJson::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

pub(crate) fn is_false(value: &bool) -> bool {
    !*value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_order_of_user_json_survive() {
        let text = r#"{"b":9007199254740993,"a":1e400,"c":3.0,"a":1}"#;
        let metadata: Metadata = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&metadata).unwrap(), text);
        assert_eq!(metadata.member("a").unwrap().get(), "1e400");
    }

    #[test]
    fn user_json_is_on_one_line() {
        let text = "{\r\n  \"a\": [\n1,\n-2e3 ,true\r],\n\n\"b\\n\":\"\\r\"\n}";
        let line = r#"{  "a": [1,-2e3 ,true],"b\n":"\r"}"#;
        let read: RawJson = serde_json::from_str(text).unwrap();
        let made = RawJson::of(&serde_json::value::RawValue::from_string(text.to_owned()).unwrap());
        for raw in [read, RawJson::parse(text).unwrap(), made.unwrap()] {
            assert_eq!(raw.get(), line);
        }
        assert_eq!(Metadata::parse(text).unwrap().get(), line);
        assert!(RawJson::parse("1\n2").is_err());
        assert!(RawJson::parse("\"a\nb\"").is_err());
    }

    #[test]
    fn a_member_comes_and_goes_without_a_trace() {
        for text in ["{}", r#"{ "a" : 1.0 }"#, r#"{"a":{"m":2},"b":[] }"#] {
            let before = Metadata::parse(text).unwrap();
            let marker = RawJson::parse("true").unwrap();
            let marked = Metadata::with_member(Some(&before), "m", &marker);
            assert_eq!(marked.member("m").unwrap().get(), "true");
            let after = marked.without_member("m");
            assert_eq!(after.as_ref().map_or("{}", Metadata::get), text);
        }
        let first = Metadata::parse(r#"{"m":1, "a":2}"#).unwrap();
        assert_eq!(first.without_member("m").unwrap().get(), r#"{ "a":2}"#);
        assert_eq!(first.without_member("x").unwrap(), first);
    }
}
