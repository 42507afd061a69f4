//! User JSON that is carried byte for byte, and the ProtoJSON reading rules of plain members.
//!
//! `data`, `metadata` and extension `params` belong to their sender: numbers, key order and doubled
//! names survive exactly, because nothing here ever turns them into a value (specification 5.5).

mod object;

pub(crate) use object::{Member, MemberSeed, Value, json_object};

use serde::de::{self, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use std::fmt;

use crate::limits::{MAX_METADATA_BYTES, MAX_METADATA_KEYS, MAX_USER_JSON_DEPTH};

/// Any JSON value, kept as the bytes it arrived in.
#[derive(Clone)]
pub struct RawJson(Box<RawValue>);

impl RawJson {
    /// Takes one JSON text; an error says what is malformed and where.
    pub fn parse(text: impl Into<String>) -> Result<Self, serde_json::Error> {
        RawValue::from_string(text.into()).map(Self)
    }

    /// The value of `source` as JSON. Fails only where `Serialize` itself fails.
    pub fn of<T: Serialize + ?Sized>(source: &T) -> Result<Self, serde_json::Error> {
        serde_json::value::to_raw_value(source).map(Self)
    }

    /// The JSON text, unchanged, without surrounding white space.
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
        depth_of(self.get())
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

/// Whether a JSON text is nested deeper than `limit`. Counting its brackets first is many times
/// faster than following them, and settles nearly every body.
pub(crate) fn is_deeper_than(text: &str, limit: usize) -> bool {
    let brackets = text
        .bytes()
        .filter(|byte| matches!(byte, b'{' | b'['))
        .count();
    brackets > limit && depth_of(text) > limit
}

/// Depth without recursion, so that no input can exhaust the stack.
fn depth_of(text: &str) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0usize, 0usize, false, false);
    for byte in text.bytes() {
        match (in_string, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (_, b'"') => in_string = !in_string,
            (false, b'{' | b'[') => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            (false, b'}' | b']') => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
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
        Box::<RawValue>::deserialize(deserializer).map(Self)
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
        struct Find<'k>(&'k str);
        impl<'de> Visitor<'de> for Find<'_> {
            type Value = Option<RawJson>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut found = None;
                while let Some(name) = map.next_key::<String>()? {
                    if found.is_none() && name == self.0 {
                        found = Some(map.next_value()?);
                    } else {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(found)
            }
        }
        let mut reader = serde_json::Deserializer::from_str(self.get());
        reader.deserialize_map(Find(key)).ok().flatten()
    }

    /// Says which bound the object exceeds, if any: bytes, members, depth.
    pub(crate) fn check_limits(&self) -> Result<(), String> {
        if self.get().len() > MAX_METADATA_BYTES {
            return Err(format!("must not exceed {MAX_METADATA_BYTES} bytes"));
        }
        self.0.check_depth()?;
        let members = count_members(self.get());
        if members > MAX_METADATA_KEYS {
            return Err(format!(
                "must not have more than {MAX_METADATA_KEYS} members"
            ));
        }
        Ok(())
    }
}

/// Members of the outermost object. Counts its colons, which stand once per member.
fn count_members(text: &str) -> usize {
    let (mut depth, mut members, mut in_string, mut escaped) = (0usize, 0usize, false, false);
    for byte in text.bytes() {
        match (in_string, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (_, b'"') => in_string = !in_string,
            (false, b'{' | b'[') => depth += 1,
            (false, b'}' | b']') => depth = depth.saturating_sub(1),
            (false, b':') if depth == 1 => members += 1,
            _ => {}
        }
    }
    members
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
    fn depth_and_members_ignore_what_stands_in_strings() {
        assert_eq!(
            RawJson::parse(r#"{"a":["[[\"{",{"b":1}]}"#)
                .unwrap()
                .depth(),
            3
        );
        assert_eq!(count_members(r#"{"a:b":{"c":1},"d":[":"]}"#), 2);
    }
}
