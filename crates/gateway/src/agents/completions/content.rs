//! A message's parts as the `content` of a chat completion, and a conversation as its messages.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use nuncio_wire::{Part, PartContent, Role};
use serde_json::{Value, json};

use crate::agents::part_text::{file_label, is_link, media_type_of, name_or, parts_text};
use crate::agents::prompt;
use crate::sessions::transcript::Utterance;

/// How an address begins that is an image itself.
const INLINE_IMAGE: &str = "data:image/";

/// Which kinds of content an endpoint takes beside text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    /// Images at any address, and files.
    Files,
    /// Images that are in the request.
    Images,
}

/// What was said before, as messages of text.
pub(crate) fn of_history(said: &[Utterance]) -> impl Iterator<Item = Value> {
    said.iter().filter(|it| prompt::counts(it)).map(|it| {
        let role = match it.role {
            Role::User => "user",
            _ => "assistant",
        };
        json!({ "role": role, "content": it.text() })
    })
}

/// One text where there is nothing else, since that is what every endpoint takes; else a list.
pub(crate) fn of_parts(parts: &[Part], takes: Takes) -> Value {
    let is_text = |part: &Part| match &part.content {
        PartContent::Raw(_) => false,
        PartContent::Url(url) => !is_linked_image(part, url, takes),
        _ => true,
    };
    if parts.iter().all(is_text) {
        return parts_text(parts).into();
    }
    parts.iter().map(|part| of_part(part, takes)).collect()
}

/// The same as one text: files that are text with what is in them, others by name.
pub(crate) fn as_text(parts: &[Part]) -> String {
    let texts: Vec<_> = parts
        .iter()
        .map(|part| text_of_file(part).unwrap_or_else(|| parts_text(std::slice::from_ref(part))))
        .collect();
    texts.join("\n")
}

fn of_part(part: &Part, takes: Takes) -> Value {
    let text = |text: String| json!({ "type": "text", "text": text });
    match &part.content {
        PartContent::Url(url) if is_linked_image(part, url, takes) => image(url),
        PartContent::Raw(bytes) if is_image(part) => image(&data_url(part, bytes)),
        PartContent::Raw(bytes) => match text_of_file(part) {
            Some(content) => text(content),
            None if takes == Takes::Images => text(file_label(part)),
            None => json!({ "type": "file", "file": {
                "filename": name_or(part, "file"),
                "file_data": data_url(part, bytes),
            } }),
        },
        _ => text(parts_text(std::slice::from_ref(part))),
    }
}

/// A file that is text, under its name.
fn text_of_file(part: &Part) -> Option<String> {
    let PartContent::Raw(bytes) = &part.content else {
        return None;
    };
    let content = std::str::from_utf8(bytes).ok()?;
    Some(format!("{}\n{content}", file_label(part)))
}

fn image(url: &str) -> Value {
    json!({ "type": "image_url", "image_url": { "url": url } })
}

/// An image that is fetched by who answers, from the web or out of the address itself.
fn is_linked_image(part: &Part, url: &str, takes: Takes) -> bool {
    let is_fetched = is_link(url) || url.starts_with(INLINE_IMAGE);
    takes == Takes::Files && is_image(part) && is_fetched
}

fn is_image(part: &Part) -> bool {
    let media_type = part.media_type.as_deref().unwrap_or_default();
    media_type.starts_with("image/")
}

/// A file as an address of its own (RFC 2397).
fn data_url(part: &Part, bytes: &[u8]) -> String {
    let media_type = media_type_of(part);
    let media_type = media_type.as_deref().unwrap_or("application/octet-stream");
    format!("data:{media_type};base64,{}", STANDARD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(bytes: &'static [u8], name: Option<&str>, media_type: Option<&str>) -> Part {
        let mut part = Part::new(PartContent::Raw(bytes.into()));
        part.filename = name.map(str::to_owned);
        part.media_type = media_type.map(str::to_owned);
        part
    }

    #[test]
    fn text_and_data_are_one_text_and_files_make_a_list() {
        let parts = [
            Part::text("look"),
            file(b"\x89PNG", None, Some("image/png")),
            file(b"hi", Some("note.txt"), None),
            file(b"\xFF", None, None),
        ];
        let both = [Part::text("a"), Part::text("b")];
        assert_eq!(of_parts(&both, Takes::Files), json!("a\nb"));
        let mut expected = json!([
            { "type": "text", "text": "look" },
            { "type": "image_url", "image_url": { "url": "data:image/png;base64,iVBORw==" } },
            { "type": "text", "text": "[file: note.txt (unknown type, 2 bytes)]\nhi" },
            { "type": "file", "file": { "filename": "file",
                "file_data": "data:application/octet-stream;base64,/w==" } },
        ]);
        assert_eq!(of_parts(&parts, Takes::Files), expected);
        let unnamed = "[file: unnamed (unknown type, 1 bytes)]";
        expected[3] = json!({ "type": "text", "text": unnamed });
        assert_eq!(of_parts(&parts, Takes::Images), expected);
    }

    #[test]
    fn an_image_elsewhere_is_an_address_where_only_images_in_the_request_are_taken() {
        let mut part = Part::new(PartContent::Url("https://example.org/a.png".to_owned()));
        part.media_type = Some("image/png".to_owned());
        let listed = of_parts(std::slice::from_ref(&part), Takes::Files);
        assert_eq!(listed[0]["image_url"]["url"], "https://example.org/a.png");
        let text = "[file: unnamed] https://example.org/a.png (image/png)";
        assert_eq!(of_parts(std::slice::from_ref(&part), Takes::Images), text);
        assert_eq!(as_text(&[part]), text);
    }
    #[test]
    fn an_image_on_the_machine_of_the_model_is_no_more_than_text() {
        for (url, is_given) in [
            ("https://example.org/a.png", true),
            ("data:image/png;base64,iVBORw==", true),
            ("data:text/html,x", false),
            ("file:///home/me/a.png", false),
            ("/home/me/a.png", false),
        ] {
            let mut part = Part::new(PartContent::Url(url.to_owned()));
            part.media_type = Some("image/png".to_owned());
            let content = of_parts(&[Part::text("see"), part], Takes::Files);
            assert_eq!(content.is_array(), is_given, "{content}");
        }
    }
}
