//! Labels of files become safe names, and names tell media types.
//!
//! A label from a caller is never a path: what it would mean as one is lost on purpose.

use std::collections::HashSet;

use super::part_text::is_invisible;

/// Longest file name in bytes that every common file system takes.
const MAX_NAME_BYTES: usize = 255;
/// Room kept for the number that tells equal names apart.
const NUMBER_BYTES: usize = 8;
/// Longest extension that is kept when a name is cut, in bytes.
const MAX_EXTENSION_BYTES: usize = 16;

/// Extensions and their media types: what agents commonly hand over.
const MEDIA_TYPES: [(&str, &str); 36] = [
    ("txt", "text/plain"),
    ("log", "text/plain"),
    ("md", "text/markdown"),
    ("html", "text/html"),
    ("htm", "text/html"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("tsv", "text/tab-separated-values"),
    ("diff", "text/x-diff"),
    ("patch", "text/x-diff"),
    ("py", "text/x-python"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("jsonl", "application/jsonl"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("toml", "application/toml"),
    ("xml", "application/xml"),
    ("pdf", "application/pdf"),
    ("zip", "application/zip"),
    ("gz", "application/gzip"),
    ("tar", "application/x-tar"),
    ("sh", "application/x-sh"),
    (
        "docx",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ),
    (
        "xlsx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ),
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("svg", "image/svg+xml"),
    ("mp3", "audio/mpeg"),
    ("wav", "audio/wav"),
    ("ogg", "audio/ogg"),
    ("mp4", "video/mp4"),
    ("webm", "video/webm"),
];

/// The media type a file name stands for, if it is a common one.
pub(crate) fn media_type_of(name: &str) -> Option<&'static str> {
    let (_, extension) = name.rsplit_once('.')?;
    let found = MEDIA_TYPES
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(extension));
    found.map(|(_, media_type)| *media_type)
}

fn extension_of(media_type: &str) -> Option<&'static str> {
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    let found = MEDIA_TYPES
        .iter()
        .find(|(_, known)| known.eq_ignore_ascii_case(essence));
    found.map(|(extension, _)| *extension)
}

/// Gives out names that are safe and, even where case does not count, different.
#[derive(Debug, Default)]
pub(crate) struct FileNames {
    taken: HashSet<String>,
}

impl FileNames {
    /// A name of one path segment for a file with this label and media type.
    pub(crate) fn give(&mut self, label: Option<&str>, media_type: Option<&str>) -> String {
        let name = label.and_then(safe_name).unwrap_or_else(|| {
            let extension = media_type.and_then(extension_of).unwrap_or("bin");
            format!("file.{extension}")
        });
        let mut unique = name.clone();
        let mut number = 2u32;
        while !self.taken.insert(unique.to_lowercase()) {
            let (stem, extension) = split(&name);
            unique = format!("{stem}-{number}{extension}");
            number += 1;
        }
        unique
    }
}

/// The label as a name of one path segment; `None` if nothing of it is left.
fn safe_name(label: &str) -> Option<String> {
    let last = label
        .rsplit(['/', '\\'])
        .find(|segment| !segment.trim().is_empty())?;
    let cleaned: String = last
        .chars()
        .map(|c| if is_unsafe(c) { '_' } else { c })
        .collect();
    // Trailing dots and blanks vanish on some systems; a name of dots alone is a directory.
    let name = cleaned.trim().trim_end_matches(['.', ' ']);
    if name.is_empty() {
        return None;
    }
    // Neither hidden, nor an option when a program lists its directory.
    let guarded = if name.starts_with(['.', '-']) || is_reserved(name) {
        format!("_{name}")
    } else {
        name.to_owned()
    };
    Some(cut(&guarded))
}

/// Control characters, those with a meaning in paths or shells' patterns, and those that turn the
/// direction of writing, so that a name cannot show another extension than it has.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || is_invisible(c)
        || matches!(
            c,
            ':' | '*' | '?' | '"' | '<' | '>' | '|' | '$' | '`' | '\u{FFFD}'
        )
}

/// Names of devices on Windows, with any extension.
fn is_reserved(name: &str) -> bool {
    let stem = name
        .split('.')
        .next()
        .unwrap_or_default()
        .trim_end()
        .to_ascii_uppercase();
    matches!(stem.as_str(), "CON" | "PRN" | "AUX" | "NUL")
        || matches!(stem.strip_prefix("COM").or(stem.strip_prefix("LPT")), Some(digit)
            if digit.len() == 1 && digit != "0" && digit.bytes().all(|b| b.is_ascii_digit()))
}

/// Shortens to [`MAX_NAME_BYTES`], with room for a number, and keeps the extension.
fn cut(name: &str) -> String {
    let limit = MAX_NAME_BYTES - NUMBER_BYTES;
    if name.len() <= limit {
        return name.to_owned();
    }
    let (stem, extension) = split(name);
    let end = stem.floor_char_boundary(limit - extension.len());
    format!("{}{extension}", &stem[..end])
}

/// Stem and extension with its dot; a long "extension" counts as part of the stem.
fn split(name: &str) -> (&str, &str) {
    match name.rfind('.') {
        Some(dot) if dot > 0 && name.len() - dot <= MAX_EXTENSION_BYTES => name.split_at(dot),
        _ => (name, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_never_a_path() {
        for (label, name) in [
            ("report.pdf", "report.pdf"),
            ("../../.bashrc", "_.bashrc"),
            ("C:\\x\\y.txt", "y.txt"),
            ("/etc/passwd", "passwd"),
            ("a\0b\nc", "a_b_c"),
            ("CON.txt", "_CON.txt"),
            ("lpt1", "_lpt1"),
            ("COM0", "COM0"),
            ("-rf", "_-rf"),
            ("name. .", "name"),
            ("dir/", "dir"),
            ("\u{202E}fdp.exe", "_fdp.exe"),
            ("日本語.md", "日本語.md"),
            ("..", "file.bin"),
            (" ", "file.bin"),
            ("", "file.bin"),
        ] {
            assert_eq!(
                FileNames::default().give(Some(label), None),
                name,
                "{label:?}"
            );
        }
    }

    #[test]
    fn long_names_are_cut_at_a_character_and_keep_their_extension() {
        let mut names = FileNames::default();
        for _ in 0..3 {
            let name = names.give(Some(&format!("{}.png", "é".repeat(2048))), None);
            assert!(
                name.len() <= MAX_NAME_BYTES && name.ends_with(".png"),
                "{name}"
            );
        }
    }

    #[test]
    fn equal_names_are_told_apart_even_where_case_does_not_count() {
        let mut names = FileNames::default();
        let given: Vec<String> = ["a.txt", "A.TXT", "a.txt"]
            .iter()
            .map(|label| names.give(Some(label), None))
            .collect();
        assert_eq!(given, ["a.txt", "A-2.TXT", "a-3.txt"]);
    }

    #[test]
    fn a_file_without_a_label_is_named_by_its_media_type() {
        let mut names = FileNames::default();
        assert_eq!(names.give(None, Some("image/png; q=1")), "file.png");
        assert_eq!(names.give(None, Some("image/png")), "file-2.png");
        assert_eq!(media_type_of("x.PNG"), Some("image/png"));
        assert_eq!(media_type_of("Makefile"), None);
    }
}
