//! Text mode, inward: the message as text on standard input.

use nuncio_wire::{Message, Part, PartContent};

/// The parts in their order, a line break between them and none at the end: text as it is, data as
/// JSON, addresses with name and type. Files (`raw`) come in a directory instead.
pub(super) fn message_text(message: &Message) -> String {
    let texts: Vec<_> = message.parts.iter().filter_map(part_text).collect();
    texts.join("\n")
}

fn part_text(part: &Part) -> Option<String> {
    match &part.content {
        PartContent::Text(text) => Some(text.clone()),
        PartContent::Data(data) => Some(data.get().to_owned()),
        PartContent::Url(url) => {
            let name = part.filename.as_deref().unwrap_or("unnamed");
            let media_type = part.media_type.as_deref().map(|t| format!(" ({t})"));
            Some(format!(
                "[file: {name}] {url}{}",
                media_type.unwrap_or_default()
            ))
        }
        PartContent::Raw(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nuncio_wire::{RawJson, Role};

    #[test]
    fn every_part_but_files_is_rendered_in_order() {
        let mut url = Part::new(PartContent::Url("https://example.org/r".to_owned()));
        url.filename = Some("r.pdf".to_owned());
        url.media_type = Some("application/pdf".to_owned());
        let parts = vec![
            Part::text("first "),
            Part::new(PartContent::Data(RawJson::parse(r#"{"n":1.0}"#).unwrap())),
            Part::new(PartContent::Raw(b"bytes".as_slice().into())),
            url,
        ];
        assert_eq!(
            message_text(&Message::new("m", Role::User, parts)),
            "first \n{\"n\":1.0}\n[file: r.pdf] https://example.org/r (application/pdf)"
        );
    }
}
