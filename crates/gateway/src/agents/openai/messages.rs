//! A conversation in the shape of chat completions.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use nuncio_wire::{Message, Part, PartContent, Role};
use serde_json::{Value, json};

use crate::agents::part_text::{file_label, parts_text};
use crate::agents::prompt;
use crate::sessions::transcript::Utterance;

/// The `messages` of a request: instructions, what was said before, what is asked now.
pub(super) fn of_turn(system: &str, said: &[Utterance], message: &Message) -> Value {
    let mut messages = vec![json!({ "role": "system", "content": system })];
    messages.extend(said.iter().filter(|it| prompt::counts(it)).map(|it| {
        let role = match it.role {
            Role::User => "user",
            _ => "assistant",
        };
        json!({ "role": role, "content": it.text() })
    }));
    messages.push(json!({ "role": "user", "content": content(&message.parts) }));
    Value::Array(messages)
}

/// One text where there is nothing else, since that is what every endpoint takes; else a list.
fn content(parts: &[Part]) -> Value {
    let is_text = |part: &Part| !matches!(part.content, PartContent::Raw(_)) && !is_image(part);
    if parts.iter().all(is_text) {
        return parts_text(parts).into();
    }
    parts.iter().map(content_part).collect()
}

fn content_part(part: &Part) -> Value {
    let text = |text: String| json!({ "type": "text", "text": text });
    match &part.content {
        PartContent::Url(url) if is_image(part) => image(url),
        PartContent::Raw(bytes) if is_image(part) => image(&data_url(part, bytes)),
        PartContent::Raw(bytes) => match std::str::from_utf8(bytes) {
            Ok(content) => text(format!("{}\n{content}", file_label(part))),
            Err(_) => json!({ "type": "file", "file": {
                "filename": part.filename.as_deref().unwrap_or("file"),
                "file_data": data_url(part, bytes),
            } }),
        },
        _ => text(parts_text(std::slice::from_ref(part))),
    }
}

fn image(url: &str) -> Value {
    json!({ "type": "image_url", "image_url": { "url": url } })
}

fn is_image(part: &Part) -> bool {
    let media_type = part.media_type.as_deref().unwrap_or_default();
    media_type.starts_with("image/")
}

/// A file as an address of its own (RFC 2397).
fn data_url(part: &Part, bytes: &[u8]) -> String {
    let media_type = part.media_type.as_deref();
    let media_type = media_type.unwrap_or("application/octet-stream");
    format!("data:{media_type};base64,{}", STANDARD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_data_are_one_text_and_files_make_a_list() {
        let mut picture = Part::new(PartContent::Raw(b"\x89PNG".as_slice().into()));
        picture.media_type = Some("image/png".to_owned());
        let mut note = Part::new(PartContent::Raw(b"hi".as_slice().into()));
        note.filename = Some("note.txt".to_owned());
        let binary = Part::new(PartContent::Raw(b"\xFF".as_slice().into()));
        assert_eq!(content(&[Part::text("a"), Part::text("b")]), json!("a\nb"));
        assert_eq!(
            content(&[Part::text("look"), picture, note, binary]),
            json!([
                { "type": "text", "text": "look" },
                { "type": "image_url", "image_url": { "url": "data:image/png;base64,iVBORw==" } },
                { "type": "text", "text": "[file: note.txt (unknown type, 2 bytes)]\nhi" },
                { "type": "file", "file": { "filename": "file",
                    "file_data": "data:application/octet-stream;base64,/w==" } },
            ])
        );
    }
}
