//! Content blocks: a message as a prompt, and what an agent shows as parts.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use nuncio_wire::{Message, Part, PartContent};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::host::About;
use crate::agents::part_text::{file_label, is_link, media_type_of, name_or, parts_text};

/// What is escaped in the name of a file that is a part of an address.
const NAME: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'-').remove(b'_');

/// The prompt of a message: what comes first, then its parts as far as the agent takes them.
pub(super) fn prompt(preamble: &str, message: &Message, about: &About) -> Value {
    let mut blocks = vec![text(preamble)];
    blocks.extend(message.parts.iter().map(|part| block(part, about)));
    Value::Array(blocks)
}

fn block(part: &Part, about: &About) -> Value {
    let (media_type, name) = (media_type_of(part), name_or(part, "file"));
    match &part.content {
        PartContent::Raw(bytes) if is_image(part) && about.takes_images => {
            let media_type = media_type.as_deref().unwrap_or("image/png");
            json!({ "type": "image", "mimeType": media_type, "data": STANDARD.encode(bytes) })
        }
        PartContent::Raw(bytes) => match std::str::from_utf8(bytes) {
            Ok(content) if about.takes_resources => json!({ "type": "resource", "resource": {
                "uri": attachment(&name), "mimeType": media_type, "text": content,
            } }),
            Ok(content) => text(&format!("{}\n{content}", file_label(part))),
            Err(_) => text(&file_label(part)),
        },
        // Agents open other addresses themselves, as files of their own machine.
        PartContent::Url(url) if is_link(url) => {
            json!({ "type": "resource_link", "uri": url, "name": name, "mimeType": media_type })
        }
        _ => text(&parts_text(std::slice::from_ref(part))),
    }
}

/// The address of a file that is in the message: nothing is there to be opened.
fn attachment(name: &str) -> String {
    format!("attachment:///{}", utf8_percent_encode(name, NAME))
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn is_image(part: &Part) -> bool {
    let media_type = part.media_type.as_deref().unwrap_or_default();
    media_type.starts_with("image/")
}

/// What a content block of the agent is.
pub(super) enum Shown {
    Text(String),
    Part(Part),
    Nothing,
}

/// Reads a content block.
pub(super) fn read(block: &Value) -> Shown {
    let string = |value: &Value| value.as_str().map(str::to_owned);
    match block["type"].as_str() {
        Some("text") => string(&block["text"]).map_or(Shown::Nothing, Shown::Text),
        Some("image" | "audio") => file(&block["data"], string(&block["mimeType"]), None),
        Some("resource_link") => {
            let Some(uri) = string(&block["uri"]) else {
                return Shown::Nothing;
            };
            let mut part = Part::new(PartContent::Url(uri));
            part.media_type = string(&block["mimeType"]);
            part.filename = string(&block["name"]);
            Shown::Part(part)
        }
        Some("resource") => {
            let resource = &block["resource"];
            let name = string(&resource["uri"]);
            let name = name.and_then(|uri| uri.rsplit('/').next().map(str::to_owned));
            match string(&resource["text"]) {
                Some(text) => {
                    let mut part = Part::new(PartContent::Raw(Bytes::from(text)));
                    part.media_type = string(&resource["mimeType"]).or(Some("text/plain".into()));
                    part.filename = name;
                    Shown::Part(part)
                }
                None => file(&resource["blob"], string(&resource["mimeType"]), name),
            }
        }
        _ => Shown::Nothing,
    }
}

fn file(data: &Value, media_type: Option<String>, name: Option<String>) -> Shown {
    let data = data.as_str().and_then(|data| STANDARD.decode(data).ok());
    let Some(bytes) = data else {
        return Shown::Nothing;
    };
    let mut part = Part::new(PartContent::Raw(Bytes::from(bytes)));
    part.media_type = media_type;
    part.filename = name;
    Shown::Part(part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nuncio_wire::Role;

    fn raw(bytes: &'static [u8], media_type: &str, name: &str) -> Part {
        let mut part = Part::new(PartContent::Raw(bytes.into()));
        part.media_type = Some(media_type.to_owned());
        part.filename = Some(name.to_owned());
        part
    }

    #[test]
    fn parts_go_in_as_far_as_the_agent_takes_them() {
        let parts = vec![
            Part::text("look"),
            raw(b"\x89PNG", "image/png", "a.png"),
            raw(b"hi", "text/plain", "n.txt"),
        ];
        let message = Message::new("m", Role::User, parts);
        let all = About {
            takes_images: true,
            takes_resources: true,
            ..About::default()
        };
        let blocks = prompt("[first]", &message, &all);
        let kinds: Vec<_> = blocks
            .as_array()
            .unwrap()
            .iter()
            .map(|it| &it["type"])
            .collect();
        assert_eq!(kinds, ["text", "text", "image", "resource"]);
        let blocks = prompt("[first]", &message, &About::default());
        assert_eq!(blocks[2]["text"], "[file: a.png (image/png, 4 bytes)]");
        assert_eq!(blocks[3]["text"], "[file: n.txt (text/plain, 2 bytes)]\nhi");
    }

    #[test]
    fn an_agents_files_become_parts() {
        let image = json!({ "type": "image", "mimeType": "image/png", "data": "iVBORw==" });
        let Shown::Part(part) = read(&image) else {
            panic!("no part");
        };
        assert_eq!(part.media_type.as_deref(), Some("image/png"));
        assert!(matches!(part.content, PartContent::Raw(bytes) if bytes == b"\x89PNG"[..]));
        assert!(matches!(read(&json!({ "type": "novel" })), Shown::Nothing));
    }
}
