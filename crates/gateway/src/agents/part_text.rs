//! Parts as text, for agents and records that take nothing else.

use nuncio_wire::{Message, Part, PartContent};

/// The parts of a message in their order, a line break between them and none at the end: text as it
/// is, data as JSON, addresses with name and type. Files (`raw`) are left out: they come another way.
pub(crate) fn text_without_files(message: &Message) -> String {
    let texts: Vec<_> = message.parts.iter().filter_map(part_text).collect();
    texts.join("\n")
}

/// The same with files by name, type and size.
pub(crate) fn parts_text(parts: &[Part]) -> String {
    let texts: Vec<_> = parts
        .iter()
        .map(|part| part_text(part).unwrap_or_else(|| file_label(part)))
        .collect();
    texts.join("\n")
}

fn part_text(part: &Part) -> Option<String> {
    match &part.content {
        PartContent::Text(text) => Some(text.clone()),
        PartContent::Data(data) => Some(data.get().to_owned()),
        PartContent::Url(url) => {
            let media_type = part.media_type.as_deref().map(|it| format!(" ({it})"));
            let media_type = media_type.unwrap_or_default();
            Some(format!("[file: {}] {url}{media_type}", name_of(part)))
        }
        PartContent::Raw(_) => None,
    }
}

/// Says that there is a file without giving it.
pub(crate) fn file_label(part: &Part) -> String {
    let bytes = match &part.content {
        PartContent::Raw(bytes) => format!(", {} bytes", bytes.len()),
        _ => String::new(),
    };
    let media_type = part.media_type.as_deref().unwrap_or("unknown type");
    format!("[file: {} ({media_type}{bytes})]", name_of(part))
}

fn name_of(part: &Part) -> &str {
    part.filename.as_deref().unwrap_or("unnamed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use nuncio_wire::{RawJson, Role};

    #[test]
    fn every_part_is_rendered_in_order() {
        let mut url = Part::new(PartContent::Url("https://example.org/r".to_owned()));
        url.filename = Some("r.pdf".to_owned());
        url.media_type = Some("application/pdf".to_owned());
        let parts = vec![
            Part::text("first "),
            Part::new(PartContent::Data(RawJson::parse(r#"{"n":1.0}"#).unwrap())),
            Part::new(PartContent::Raw(b"bytes".as_slice().into())),
            url,
        ];
        let with_files = "first \n{\"n\":1.0}\n[file: unnamed (unknown type, 5 bytes)]\n\
            [file: r.pdf] https://example.org/r (application/pdf)";
        assert_eq!(parts_text(&parts), with_files);
        assert_eq!(
            text_without_files(&Message::new("m", Role::User, parts)),
            "first \n{\"n\":1.0}\n[file: r.pdf] https://example.org/r (application/pdf)"
        );
    }
}
