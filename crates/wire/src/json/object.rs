//! How JSON objects are read into structs: the ProtoJSON rules in one place (specification 5.5).
//!
//! serde's derive would also take an array for a struct and keep `null` apart from absent. The
//! [`json_object`] macro reads objects only, takes `null` as absent, refuses a member that stands
//! there twice (in camelCase and snake_case is twice) and ignores what it does not know.

use serde::de::{self, Deserialize, Deserializer, Visitor};
use std::collections::BTreeMap;
use std::fmt;

use super::{Metadata, RawJson};

/// What a member of an object may be, apart from absent.
pub(crate) trait Value<'de>: Deserialize<'de> {
    /// Reads the value; `None` if it says that there is none.
    fn read<D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        Option::<Self>::deserialize(deserializer)
    }
}

/// A field of a struct that is read from an object.
pub(crate) trait Member<'de>: Sized {
    /// Reads the member's value.
    fn read<D: Deserializer<'de>>(name: &'static str, deserializer: D) -> Result<Self, D::Error>;

    /// The field of an object without this member.
    fn absent<E: de::Error>(name: &'static str) -> Result<Self, E>;
}

/// Required in the proto or not: a value with a default is checked by `validate`, not here.
impl<'de, T: Value<'de> + Default> Member<'de> for T {
    fn read<D: Deserializer<'de>>(_: &'static str, deserializer: D) -> Result<Self, D::Error> {
        Ok(<T as Value>::read(deserializer)?.unwrap_or_default())
    }

    fn absent<E: de::Error>(_: &'static str) -> Result<Self, E> {
        Ok(Self::default())
    }
}

impl<'de, T: Value<'de>> Member<'de> for Option<T> {
    fn read<D: Deserializer<'de>>(_: &'static str, deserializer: D) -> Result<Self, D::Error> {
        <T as Value>::read(deserializer)
    }

    fn absent<E: de::Error>(_: &'static str) -> Result<Self, E> {
        Ok(None)
    }
}

impl<'de> Value<'de> for bool {}
impl<'de> Value<'de> for u32 {}
impl<'de> Value<'de> for Metadata {}
impl<'de> Value<'de> for crate::Timestamp {}
impl<'de> Value<'de> for crate::OAuthFlows {}
impl<'de> Value<'de> for crate::Role {}
impl<'de> Value<'de> for crate::TaskState {}
impl<'de, T: Deserialize<'de>> Value<'de> for Vec<T> {}
impl<'de, T: Deserialize<'de>> Value<'de> for BTreeMap<String, T> {}

/// `null` included: whoever reads user JSON as a member wants it as it is.
impl<'de> Value<'de> for RawJson {
    fn read<D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        Self::deserialize(deserializer).map(Some)
    }
}

/// An empty string is proto3's absent string.
impl<'de> Value<'de> for String {
    fn read<D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        Ok(Option::<Self>::deserialize(deserializer)?.filter(|text| !text.is_empty()))
    }
}

/// A ProtoJSON int32: a number with an integral value, or its decimal text.
impl<'de> Value<'de> for i32 {
    fn read<D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        deserializer.deserialize_any(Int32)
    }
}

struct Int32;

impl<'de> Visitor<'de> for Int32 {
    type Value = Option<i32>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number from -2147483648 to 2147483647")
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Self::Value, E> {
        let number = i32::try_from(value);
        number
            .map(Some)
            .map_err(|_| E::invalid_value(de::Unexpected::Signed(value), &self))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Self::Value, E> {
        let number = i32::try_from(value);
        number
            .map(Some)
            .map_err(|_| E::invalid_value(de::Unexpected::Unsigned(value), &self))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Self::Value, E> {
        let in_range = (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&value);
        if in_range && value.fract() == 0.0 {
            #[allow(clippy::cast_possible_truncation)] // checked on the line above
            return Ok(Some(value as i32));
        }
        Err(E::invalid_value(de::Unexpected::Float(value), &self))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Self::Value, E> {
        let number = value.parse();
        number
            .map(Some)
            .map_err(|_| E::invalid_value(de::Unexpected::Str(value), &self))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// Implements `Deserialize` for structs whose fields are the members listed, each under its names:
/// the first is the one errors show. `required` structs have no default: where a field of such a
/// type is missing or null, reading fails with "missing field".
macro_rules! json_object {
    (required $struct:ident { $($rest:tt)* }) => {
        $crate::json::json_object!($struct { $($rest)* });
        $crate::json::json_object!(required $struct);
    };
    (required $struct:ident) => {
        impl<'de> $crate::json::Member<'de> for $struct {
            fn read<D: serde::Deserializer<'de>>(name: &'static str, d: D) -> Result<Self, D::Error> {
                let value = <Self as $crate::json::Value>::read(d)?;
                value.ok_or_else(|| serde::de::Error::missing_field(name))
            }
            fn absent<E: serde::de::Error>(name: &'static str) -> Result<Self, E> {
                Err(E::missing_field(name))
            }
        }
    };
    ($struct:ident { $($field:ident: $name:literal $(| $alias:literal)*),+ $(,)? }) => {
        impl<'de> serde::Deserialize<'de> for $struct {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                #[derive(serde::Deserialize)]
                #[serde(field_identifier)]
                #[allow(non_camel_case_types)] // named as the fields are
                enum Key {
                    $(#[serde(rename = $name $(, alias = $alias)*)] $field,)+
                    #[serde(other)]
                    UnknownMember,
                }
                struct ObjectVisitor;
                impl<'de> serde::de::Visitor<'de> for ObjectVisitor {
                    type Value = $struct;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("an object")
                    }
                    fn visit_map<A: serde::de::MapAccess<'de>>(
                        self,
                        mut map: A,
                    ) -> Result<$struct, A::Error> {
                        $(let mut $field = None;)+
                        while let Some(key) = map.next_key::<Key>()? {
                            match key {
                                $(Key::$field => {
                                    if $field.is_some() {
                                        return Err(serde::de::Error::duplicate_field($name));
                                    }
                                    let seed = $crate::json::MemberSeed::new($name);
                                    $field = Some(map.next_value_seed(seed)?);
                                })+
                                Key::UnknownMember => {
                                    map.next_value::<serde::de::IgnoredAny>()?;
                                }
                            }
                        }
                        Ok($struct {
                            $($field: match $field {
                                Some(value) => value,
                                None => $crate::json::Member::absent($name)?,
                            },)+
                        })
                    }
                }
                deserializer.deserialize_map(ObjectVisitor)
            }
        }
        impl<'de> $crate::json::Value<'de> for $struct {}
    };
}
pub(crate) use json_object;

use crate::OAuthFlows;
json_object!(required OAuthFlows);

/// Reads one member by the rules of its type.
pub(crate) struct MemberSeed<T> {
    name: &'static str,
    value: std::marker::PhantomData<T>,
}

impl<T> MemberSeed<T> {
    pub(crate) fn new(name: &'static str) -> Self {
        Self {
            name,
            value: std::marker::PhantomData,
        }
    }
}

impl<'de, T: Member<'de>> de::DeserializeSeed<'de> for MemberSeed<T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        T::read(self.name, deserializer)
    }
}
