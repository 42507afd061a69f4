//! Parts: told apart by `kind`, by `type`, or by which members they have.

use serde::Deserialize;
use serde::de::{self, Deserializer};

use crate::json::{Metadata, RawJson, json_object};
use crate::part::{Part, PartContent, decode_base64};

/// Marks a 0.3 data part whose content is no object, where 0.3 allows nothing else. A convention of
/// the official SDKs.
pub(in crate::dialects) const DATA_PART_COMPAT: &str = "data_part_compat";
/// Where a text or data part of 0.3 keeps the media type it has no member for.
pub(in crate::dialects) const MEDIA_TYPE: &str = "mediaType";
/// Where a text or data part of 0.3 keeps the file name it has no member for.
pub(in crate::dialects) const FILENAME: &str = "filename";

/// The media type that goes without saying for a content that has no member for it in 0.3.
pub(in crate::dialects) fn implied_media_type(content: &PartContent) -> Option<&'static str> {
    match content {
        PartContent::Text(_) => Some("text/plain"),
        PartContent::Data(_) => Some("application/json"),
        PartContent::Raw(_) | PartContent::Url(_) => None,
    }
}

/// A part in any spelling.
pub(in crate::dialects) struct AnyPart(Part);

impl From<AnyPart> for Part {
    fn from(part: AnyPart) -> Self {
        part.0
    }
}

/// A string that may be empty, since in a part presence counts.
#[derive(Default)]
struct Text(Option<String>);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::<String>::deserialize(deserializer).map(Self)
    }
}

impl crate::json::Value<'_> for Text {}

#[derive(Default)]
struct Members {
    kind: Option<String>,
    old_kind: Option<String>,
    text: Text,
    raw: Text,
    url: Text,
    data: Option<RawJson>,
    file: Option<File>,
    filename: Option<String>,
    media_type: Option<String>,
    metadata: Option<Metadata>,
}

json_object!(Members {
    kind: "kind",
    old_kind: "type",
    text: "text",
    raw: "raw",
    url: "url",
    data: "data",
    file: "file" | "fileUrl" | "file_url",
    filename: "filename" | "name",
    media_type: "mediaType" | "media_type" | "mimeType" | "mime_type",
    metadata: "metadata",
});

struct File {
    bytes: Text,
    uri: Text,
    name: Option<String>,
    media_type: Option<String>,
}

json_object!(File {
    bytes: "bytes" | "data" | "fileWithBytes" | "file_with_bytes",
    uri: "uri" | "url" | "fileWithUri" | "file_with_uri",
    name: "name" | "filename",
    media_type: "mimeType" | "mime_type" | "mediaType" | "media_type",
});

const ONE_OF: &str = "a part must have exactly one of text, file, data (or of raw, url)";

impl<'de> Deserialize<'de> for AnyPart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut members = Members::deserialize(deserializer)?;
        let content = members.content().map_err(de::Error::custom)?;
        let mut part = Part {
            content,
            metadata: members.metadata,
            filename: members.filename,
            media_type: members.media_type,
        };
        take_labels(&mut part);
        Ok(Self(part))
    }
}

impl Members {
    fn content(&mut self) -> Result<PartContent, String> {
        self.kind = self.kind.take().or(self.old_kind.take());
        match self.kind.as_deref() {
            None | Some("text" | "file" | "data") => {}
            Some(other) => {
                return Err(format!(
                    "unknown kind of part `{other}`: text, file or data"
                ));
            }
        }
        self.flatten_file()?;
        let data = self.data.take();
        let data = data.map(|data| unwrap_data(&mut self.metadata, data));
        let raw = self
            .raw
            .0
            .take()
            .map(|text| decode_base64(&text))
            .transpose();
        let contents = [
            self.text.0.take().map(PartContent::Text),
            raw.map_err(|reason| format!("the bytes of a file {reason}"))?
                .map(PartContent::Raw),
            self.url.0.take().map(PartContent::Url),
            data.map(PartContent::Data),
        ];
        let mut set = contents.into_iter().flatten();
        let content = set.next().ok_or(ONE_OF)?;
        if set.next().is_some() {
            return Err(ONE_OF.to_owned());
        }
        let kind = match content {
            PartContent::Text(_) => "text",
            PartContent::Raw(_) | PartContent::Url(_) => "file",
            PartContent::Data(_) => "data",
        };
        if self.kind.as_deref().is_some_and(|named| named != kind) {
            return Err(format!(
                "a part of kind {} must have its content",
                self.kind.take().unwrap_or_default()
            ));
        }
        Ok(content)
    }

    /// Brings a file's members to where 1.0 has them. The dialect of April 2025 has its base64
    /// directly in `data`, which only the kind tells from a data part.
    fn flatten_file(&mut self) -> Result<(), String> {
        if let Some(file) = self.file.take() {
            if self.raw.0.is_some() || self.url.0.is_some() {
                return Err(ONE_OF.to_owned());
            }
            self.raw = file.bytes;
            self.url = file.uri;
            self.filename = file.name.or(self.filename.take());
            self.media_type = file.media_type.or(self.media_type.take());
        } else if self.kind.as_deref() == Some("file")
            && self.raw.0.is_none()
            && let Some(data) = self.data.take()
        {
            let text = data
                .read()
                .map_err(|_| "the data of a file must be base64".to_owned())?;
            self.raw = Text(Some(text));
        }
        Ok(())
    }
}

/// The content of a data part that 0.3 would not take as it is, without the mark in `metadata`.
pub(in crate::dialects) fn unwrap_data(metadata: &mut Option<Metadata>, data: RawJson) -> RawJson {
    let is_marked = metadata
        .as_ref()
        .and_then(|metadata| metadata.member(DATA_PART_COMPAT))
        .is_some_and(|mark| mark.get() == "true");
    let wrapped = Metadata::from_raw(data.clone()).ok().filter(|_| is_marked);
    let Some(inner) = wrapped.and_then(|object| object.member("value")) else {
        return data;
    };
    *metadata = metadata
        .take()
        .and_then(|metadata| metadata.without_member(DATA_PART_COMPAT));
    inner
}

/// Takes back what 0.3 keeps in the metadata of text and data parts. A media type that is implied
/// anyway was not put there by us and stays.
pub(in crate::dialects) fn take_labels(part: &mut Part) {
    let Some(implied) = implied_media_type(&part.content) else {
        return;
    };
    for key in [MEDIA_TYPE, FILENAME] {
        let Some(metadata) = &part.metadata else {
            return;
        };
        let label = if key == MEDIA_TYPE {
            &mut part.media_type
        } else {
            &mut part.filename
        };
        let stored = metadata
            .member(key)
            .and_then(|value| value.read::<String>().ok());
        let stored =
            stored.filter(|text| !text.is_empty() && (key != MEDIA_TYPE || text != implied));
        if label.is_none() && stored.is_some() {
            *label = stored;
            part.metadata = metadata.without_member(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_by_address_is_read_under_its_earlier_name() {
        let json = r#"{"fileUrl": {"url": "https://h/f.pdf", "name": "f.pdf", "mediaType": "application/pdf"}}"#;
        let part: Part = serde_json::from_str::<AnyPart>(json).unwrap().into();
        assert_eq!(part.content, PartContent::Url("https://h/f.pdf".to_owned()));
        assert_eq!(part.filename.as_deref(), Some("f.pdf"));
    }
}
