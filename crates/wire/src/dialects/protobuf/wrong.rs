//! A value that has no place on the other side, by the path to it.

use crate::error::A2aError;

/// A field that cannot be converted.
#[derive(Debug)]
pub(super) struct Wrong {
    /// Path from the message that was to be converted, in the JSON names of 1.0; empty: all of it.
    pub(super) field: String,
    /// What is wrong with it.
    pub(super) reason: String,
}

impl Wrong {
    /// The value itself is wrong.
    pub(super) fn here(reason: impl Into<String>) -> Self {
        Self {
            field: String::new(),
            reason: reason.into(),
        }
    }

    /// This field is required and missing.
    pub(super) fn missing(field: &str) -> Self {
        Self {
            field: field.to_owned(),
            reason: "is required".to_owned(),
        }
    }

    /// The same fault, seen from the message that holds the value in `field`.
    fn inside(mut self, field: &str) -> Self {
        self.field = match self.field.as_str() {
            "" => field.to_owned(),
            inner if inner.starts_with('[') => format!("{field}{inner}"),
            inner => format!("{field}.{inner}"),
        };
        self
    }
}

impl From<Wrong> for A2aError {
    fn from(wrong: Wrong) -> Self {
        let field = if wrong.field.is_empty() {
            "params"
        } else {
            &wrong.field
        };
        Self::invalid_field(field, wrong.reason)
    }
}

/// Adds where a value stands to what is wrong with it.
pub(super) trait InField<T> {
    /// The value stands in `field`.
    fn in_field(self, field: &str) -> Result<T, Wrong>;
}

impl<T> InField<T> for Result<T, Wrong> {
    fn in_field(self, field: &str) -> Self {
        self.map_err(|wrong| wrong.inside(field))
    }
}

/// Converts every entry of the list in `field`.
pub(super) fn each<A, B>(
    list: impl IntoIterator<Item = A>,
    field: &str,
    convert: impl Fn(A) -> Result<B, Wrong>,
) -> Result<Vec<B>, Wrong> {
    let entries = list.into_iter().enumerate();
    let converted = entries.map(|(index, entry)| convert(entry).in_field(&format!("[{index}]")));
    converted.collect::<Result<_, _>>().in_field(field)
}

/// Converts the value in `field`, if there is one.
pub(super) fn maybe<A, B>(
    value: Option<A>,
    field: &str,
    convert: impl FnOnce(A) -> Result<B, Wrong>,
) -> Result<Option<B>, Wrong> {
    value.map(convert).transpose().in_field(field)
}

/// The value of a field that must be there.
pub(super) fn required<T>(value: Option<T>, field: &str) -> Result<T, Wrong> {
    value.ok_or_else(|| Wrong::missing(field))
}

/// An empty string is proto3's absent one.
pub(super) fn given(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}
