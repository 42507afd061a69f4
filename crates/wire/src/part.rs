//! Parts: the pieces of content in messages and artifacts (specification 4.1.6).

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig, general_purpose};
use bytes::Bytes;
use serde::de::{self, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;

use crate::json::{Metadata, RawJson};

/// One piece of content with its label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The content itself: exactly one kind.
    pub content: PartContent,
    /// User JSON about this part.
    pub metadata: Option<Metadata>,
    /// A label such as `report.pdf`; never a place in a file system.
    pub filename: Option<String>,
    /// Media type of the content, such as `text/plain`.
    pub media_type: Option<String>,
}

/// What a part holds. Presence decides, not value: an empty text is a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartContent {
    /// Plain text.
    Text(String),
    /// Bytes, base64 in JSON.
    Raw(Bytes),
    /// Address of the content; nothing fetches it on its own word.
    Url(String),
    /// Any JSON value.
    Data(RawJson),
}

impl Part {
    /// A part with this content and no labels.
    #[must_use]
    pub fn new(content: PartContent) -> Self {
        Self {
            content,
            metadata: None,
            filename: None,
            media_type: None,
        }
    }

    /// A text part.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(PartContent::Text(text.into()))
    }

    /// The text, if this is a text part.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match &self.content {
            PartContent::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Standard alphabet with padding: the form that goes out (specification 5.5).
pub(crate) fn encode_base64(bytes: &[u8]) -> String {
    general_purpose::STANDARD.encode(bytes)
}

/// Standard or URL-safe alphabet, padded or not, and nothing else.
pub(crate) fn decode_base64(text: &str) -> Result<Bytes, String> {
    const LENIENT: GeneralPurposeConfig =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
    const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);
    let url_safe = memchr::memchr2(b'-', b'_', text.as_bytes()).is_some();
    let engine = if url_safe { URL_SAFE } else { STANDARD };
    engine
        .decode(text)
        .map(Bytes::from)
        .map_err(|_| "must be base64".to_owned())
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match &self.content {
            PartContent::Text(text) => map.serialize_entry("text", text)?,
            PartContent::Raw(bytes) => map.serialize_entry("raw", &encode_base64(bytes))?,
            PartContent::Url(url) => map.serialize_entry("url", url)?,
            PartContent::Data(data) => map.serialize_entry("data", data)?,
        }
        if let Some(metadata) = &self.metadata {
            map.serialize_entry("metadata", metadata)?;
        }
        if let Some(filename) = &self.filename {
            map.serialize_entry("filename", filename)?;
        }
        if let Some(media_type) = &self.media_type {
            map.serialize_entry("mediaType", media_type)?;
        }
        map.end()
    }
}

#[derive(Deserialize)]
#[serde(field_identifier)]
enum Field {
    #[serde(rename = "text")]
    Text,
    #[serde(rename = "raw")]
    Raw,
    #[serde(rename = "url")]
    Url,
    #[serde(rename = "data")]
    Data,
    #[serde(rename = "metadata")]
    Metadata,
    #[serde(rename = "filename")]
    Filename,
    #[serde(rename = "mediaType", alias = "media_type")]
    MediaType,
    #[serde(other)]
    Unknown,
}

#[derive(Default)]
struct PartReader {
    content: Option<PartContent>,
    metadata: Option<Metadata>,
    filename: Option<String>,
    media_type: Option<String>,
    seen: u8,
}

impl PartReader {
    fn take<'de, A: MapAccess<'de>>(&mut self, field: Field, map: &mut A) -> Result<(), A::Error> {
        let (name, bit) = match field {
            Field::Text => ("text", 1),
            Field::Raw => ("raw", 2),
            Field::Url => ("url", 4),
            Field::Data => ("data", 8),
            Field::Metadata => ("metadata", 16),
            Field::Filename => ("filename", 32),
            Field::MediaType => ("mediaType", 64),
            Field::Unknown => return map.next_value::<IgnoredAny>().map(drop),
        };
        if self.seen & bit != 0 {
            return Err(de::Error::duplicate_field(name));
        }
        self.seen |= bit;
        let content = match field {
            Field::Text => map.next_value::<Option<String>>()?.map(PartContent::Text),
            Field::Raw => match map.next_value::<Option<String>>()? {
                Some(text) => {
                    let bytes = decode_base64(&text);
                    Some(PartContent::Raw(
                        bytes.map_err(|e| de::Error::custom(format!("raw {e}")))?,
                    ))
                }
                None => None,
            },
            Field::Url => map.next_value::<Option<String>>()?.map(PartContent::Url),
            // `data: null` is a set part that holds null; elsewhere null means absent.
            Field::Data => Some(PartContent::Data(map.next_value()?)),
            Field::Metadata => {
                self.metadata = map.next_value()?;
                None
            }
            Field::Filename => {
                self.filename = map
                    .next_value::<Option<String>>()?
                    .filter(|name| !name.is_empty());
                None
            }
            _ => {
                self.media_type = map
                    .next_value::<Option<String>>()?
                    .filter(|name| !name.is_empty());
                None
            }
        };
        if content.is_some() && self.content.is_some() {
            return Err(de::Error::custom(ONE_OF));
        }
        self.content = self.content.take().or(content);
        Ok(())
    }
}

const ONE_OF: &str = "a part must have exactly one of text, raw, url, data";

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PartVisitor;
        impl<'de> Visitor<'de> for PartVisitor {
            type Value = Part;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a part object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Part, A::Error> {
                let mut reader = PartReader::default();
                while let Some(field) = map.next_key::<Field>()? {
                    reader.take(field, &mut map)?;
                }
                Ok(Part {
                    content: reader.content.ok_or_else(|| de::Error::custom(ONE_OF))?,
                    metadata: reader.metadata,
                    filename: reader.filename,
                    media_type: reader.media_type,
                })
            }
        }
        deserializer.deserialize_map(PartVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Part, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn presence_decides_which_kind_a_part_is() {
        assert_eq!(
            read(r#"{"text":""}"#).unwrap().content,
            PartContent::Text(String::new())
        );
        let null = read(r#"{"data":null}"#).unwrap();
        assert_eq!(serde_json::to_string(&null).unwrap(), r#"{"data":null}"#);
        assert!(matches!(
            read(r#"{"text":null,"data":{"k":1}}"#).unwrap().content,
            PartContent::Data(_)
        ));
        for wrong in [
            r#"{"text":"a","data":{}}"#,
            r#"{"text":"","data":{"k":1}}"#,
            "{}",
            r#"{"text":null}"#,
        ] {
            assert!(
                read(wrong).unwrap_err().contains("exactly one of"),
                "{wrong}"
            );
        }
    }

    #[test]
    fn base64_is_taken_in_both_alphabets_and_written_in_one() {
        for text in ["+/8=", "+/8", "-_8=", "-_8"] {
            let part = read(&format!(r#"{{"raw":"{text}"}}"#)).unwrap();
            assert_eq!(serde_json::to_string(&part).unwrap(), r#"{"raw":"+/8="}"#);
        }
        for text in ["+-8=", "a b=", "a", "====", "YQ\\n=="] {
            assert!(read(&format!(r#"{{"raw":"{text}"}}"#)).is_err(), "{text}");
        }
    }

    #[test]
    fn a_member_in_both_spellings_is_refused() {
        let error = read(r#"{"text":"a","mediaType":"a/b","media_type":"a/b"}"#).unwrap_err();
        assert!(error.contains("duplicate field `mediaType`"), "{error}");
    }
}
