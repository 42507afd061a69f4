//! The id of a JSON-RPC request, repeated in its answers exactly as it was sent.

use std::fmt;
use std::sync::Arc;

use crate::limits::MAX_RPC_ID_BYTES;

/// A JSON string, number or null, kept as its JSON text. Cheap to clone: it stands in every frame
/// of a stream.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RequestId(Text);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Text {
    Null,
    Number(u64),
    Other(Arc<str>),
}

impl RequestId {
    /// The id of an answer whose request had none that could be read.
    #[must_use]
    pub fn null() -> Self {
        Self(Text::Null)
    }

    /// A number, as clients count them.
    #[must_use]
    pub fn number(number: u64) -> Self {
        Self(Text::Number(number))
    }

    /// Whether this is `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.0 == Text::Null
    }

    /// Takes one JSON text that is known to be well-formed, without surrounding white space.
    pub(super) fn from_json(json: &str) -> Result<Self, IdError> {
        match json.as_bytes().first() {
            _ if json == "null" => Ok(Self::null()),
            Some(b'"') if json.len() > MAX_RPC_ID_BYTES => Err(IdError::TooLong),
            Some(b'"') if !is_unicode(json) => Err(IdError::NotUnicode),
            Some(b'"') => Ok(Self(Text::Other(json.into()))),
            Some(b'-' | b'0'..=b'9') if json.len() > MAX_RPC_ID_BYTES => Err(IdError::TooLong),
            // Only what prints the same way again may be kept as a number.
            Some(b'0'..=b'9') if json.len() < 20 && json.bytes().all(|b| b.is_ascii_digit()) => {
                Ok(json
                    .parse()
                    .map_or_else(|_| Self(Text::Other(json.into())), Self::number))
            }
            Some(b'-' | b'0'..=b'9') => Ok(Self(Text::Other(json.into()))),
            _ => Err(IdError::WrongType),
        }
    }
}

/// Why a JSON value is no id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IdError {
    /// Longer than [`MAX_RPC_ID_BYTES`].
    TooLong,
    /// Holds a lone surrogate, which no answer could repeat.
    NotUnicode,
    /// An object, an array or a boolean.
    WrongType,
}

/// Only escapes can hide a lone surrogate.
fn is_unicode(json_string: &str) -> bool {
    !json_string.contains('\\') || serde_json::from_str::<String>(json_string).is_ok()
}

/// The JSON text.
impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Text::Null => f.write_str("null"),
            Text::Number(number) => write!(f, "{number}"),
            Text::Other(text) => f.write_str(text),
        }
    }
}

impl RequestId {
    /// Appends the JSON text.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        use std::io::Write as _;
        match &self.0 {
            Text::Null => out.extend_from_slice(b"null"),
            Text::Number(number) => {
                write!(out, "{number}").expect("a Vec takes all bytes");
            }
            Text::Other(text) => out.extend_from_slice(text.as_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_comes_back_as_it_was_spelled() {
        let cut = r#""a\u0062""#;
        for json in [
            "null",
            "0",
            "7",
            "-0",
            "1.5",
            "9007199254740993",
            "1e400",
            r#""""#,
            cut,
        ] {
            assert_eq!(RequestId::from_json(json).unwrap().to_string(), json);
        }
        let huge = "99999999999999999999999";
        assert_eq!(RequestId::from_json(huge).unwrap().to_string(), huge);
    }

    #[test]
    fn what_is_no_id_is_refused() {
        for json in ["{}", "[]", "true"] {
            assert_eq!(RequestId::from_json(json), Err(IdError::WrongType));
        }
        assert_eq!(
            RequestId::from_json(r#""\ud800""#),
            Err(IdError::NotUnicode)
        );
        let long = format!("\"{}\"", "a".repeat(MAX_RPC_ID_BYTES));
        assert_eq!(RequestId::from_json(&long), Err(IdError::TooLong));
    }
}
