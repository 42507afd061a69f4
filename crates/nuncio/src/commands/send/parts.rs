//! The part flags of `send`: repeatable, in the order of the command line, each with its own media
//! type (a2a-cli specification 8.1).

use std::io::Read as _;
use std::path::Path;

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use nuncio_wire::{Part, PartContent, RawJson};
use url::Url;

use crate::output::CliError;

/// Largest file that is sent inline, in bytes: base64 makes it a third longer, and a message ends
/// at 16 MiB.
const MAX_INLINE_BYTES: u64 = 11 * 1024 * 1024;

const FLAGS: [(&str, &str, &str, &str); 3] = [
    (
        "text",
        "text-part",
        "TEXT",
        "A part of text; repeatable, in order with --file and --data",
    ),
    (
        "file",
        "file-part",
        "PATH|URL",
        "A part from a file: a path is sent inline, a URL by reference",
    ),
    (
        "data",
        "data-part",
        "PATH|-",
        "A part of JSON from a file, or from standard input with -",
    ),
];

/// One part as it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PartFlag {
    flag: &'static str,
    value: String,
    media_type: Option<String>,
}

/// The parts of the message, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct PartFlags(Vec<PartFlag>);

impl Args for PartFlags {
    fn augment_args(command: Command) -> Command {
        let command = command.arg(
            Arg::new("message")
                .value_name("TEXT")
                .help("The message's text"),
        );
        let command = FLAGS
            .iter()
            .fold(command, |command, (name, alias, value, help)| {
                let arg = Arg::new(*name)
                    .long(*name)
                    .alias(*alias)
                    .value_name(*value)
                    .help(*help);
                command.arg(arg.action(ArgAction::Append).allow_hyphen_values(true))
            });
        command.arg(
            Arg::new("media-type")
                .long("media-type")
                .value_name("TYPE")
                .action(ArgAction::Append)
                .help("Media type of the part before it [default: guessed from a file's name]"),
        )
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for PartFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut found: Vec<(usize, &'static str, String)> = Vec::new();
        for name in ["message", "text", "file", "data", "media-type"] {
            let values = matches
                .get_many::<String>(name)
                .into_iter()
                .flatten()
                .cloned();
            let places = matches.indices_of(name).into_iter().flatten();
            found.extend(
                places
                    .zip(values)
                    .map(|(place, value)| (place, name, value)),
            );
        }
        found.sort_unstable_by_key(|(place, ..)| *place);
        let mut parts: Vec<PartFlag> = Vec::new();
        for (_, flag, value) in found {
            if flag != "media-type" {
                parts.push(PartFlag {
                    flag,
                    value,
                    media_type: None,
                });
                continue;
            }
            match parts
                .last_mut()
                .filter(|part| part.flag != "message" && part.media_type.is_none())
            {
                Some(part) => part.media_type = Some(value),
                None => {
                    let text =
                        "--media-type must follow the --text, --file or --data it belongs to";
                    return Err(clap::Error::raw(ErrorKind::ArgumentConflict, text));
                }
            }
        }
        Ok(Self(parts))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl PartFlags {
    /// Reads the files and makes the parts.
    pub(crate) fn read(&self) -> Result<Vec<Part>, CliError> {
        if self.0.is_empty() {
            let error = CliError::usage("nothing to send: the message has no part");
            return Err(error.with_hint("give a text, or --text, --file, --data"));
        }
        self.0.iter().map(read_part).collect()
    }
}

fn read_part(flag: &PartFlag) -> Result<Part, CliError> {
    let value = flag.value.as_str();
    let mut part = match flag.flag {
        "file" => file_part(value)?,
        "data" => Part::new(PartContent::Data(data(value)?)),
        _ => Part::text(value),
    };
    if flag.media_type.is_some() {
        part.media_type.clone_from(&flag.media_type);
    }
    Ok(part)
}

/// A URL goes by reference and is not fetched; a path goes inline.
fn file_part(value: &str) -> Result<Part, CliError> {
    if value.contains("://") {
        let url = Url::parse(value)
            .map_err(|error| CliError::usage(format!("--file {value}: {error}")))?;
        let mut part = Part::new(PartContent::Url(value.to_owned()));
        let name = url
            .path_segments()
            .and_then(|mut path| path.next_back().map(str::to_owned));
        part.filename = name.filter(|name| !name.is_empty());
        part.media_type = part.filename.as_deref().and_then(guessed_type);
        return Ok(part);
    }
    let unreadable =
        |error: std::io::Error| CliError::usage(format!("--file {value}: cannot be read: {error}"));
    let mut bytes = Vec::new();
    let file = std::fs::File::open(value).map_err(unreadable)?;
    file.take(MAX_INLINE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() as u64 > MAX_INLINE_BYTES {
        let mib = MAX_INLINE_BYTES / (1024 * 1024);
        let error = CliError::usage(format!("--file {value}: is larger than {mib} MiB"));
        return Err(error.with_hint("put it where the agent can fetch it and give its URL"));
    }
    let mut part = Part::new(PartContent::Raw(bytes.into()));
    part.filename = Path::new(value)
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let guessed = part.filename.as_deref().and_then(guessed_type);
    part.media_type = Some(guessed.unwrap_or_else(|| "application/octet-stream".to_owned()));
    Ok(part)
}

fn data(value: &str) -> Result<RawJson, CliError> {
    let (place, text) = match value {
        "-" => ("standard input", std::io::read_to_string(std::io::stdin())),
        path => (path, std::fs::read_to_string(path)),
    };
    let text = text.map_err(|error| {
        let error = CliError::usage(format!("--data {value}: cannot be read: {error}"));
        if value.trim_start().starts_with(['{', '[']) {
            error.with_hint(
                "--data takes a file's path; to give JSON directly, pipe it into --data -",
            )
        } else {
            error
        }
    })?;
    RawJson::parse(text.trim())
        .map_err(|error| CliError::usage(format!("--data: {place} is not JSON: {error}")))
}

/// Media types by the ends of names; what is not listed is not guessed.
const MEDIA_TYPES: [(&str, &str); 24] = [
    ("txt", "text/plain"),
    ("log", "text/plain"),
    ("md", "text/markdown"),
    ("csv", "text/csv"),
    ("html", "text/html"),
    ("htm", "text/html"),
    ("css", "text/css"),
    ("xml", "application/xml"),
    ("json", "application/json"),
    ("jsonl", "application/jsonl"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("pdf", "application/pdf"),
    ("zip", "application/zip"),
    ("gz", "application/gzip"),
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("svg", "image/svg+xml"),
    ("webp", "image/webp"),
    ("mp3", "audio/mpeg"),
    ("wav", "audio/wav"),
    ("mp4", "video/mp4"),
];

fn guessed_type(name: &str) -> Option<String> {
    let (_, ending) = name.rsplit_once('.')?;
    let known = MEDIA_TYPES
        .iter()
        .find(|(it, _)| it.eq_ignore_ascii_case(ending));
    known.map(|(_, media_type)| (*media_type).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(words: &[&str]) -> Result<PartFlags, clap::Error> {
        let command = PartFlags::augment_args(Command::new("send").no_binary_name(true));
        PartFlags::from_arg_matches(&command.try_get_matches_from(words)?)
    }

    #[test]
    fn parts_keep_their_order_and_each_its_media_type() {
        let words = [
            "--text",
            "a",
            "--media-type",
            "text/markdown",
            "--file",
            "https://h/x.pdf",
            "--text",
            "-b",
            "c",
        ];
        let parts = flags(&words).unwrap().read().unwrap();
        let json = serde_json::to_string(&parts).unwrap();
        assert_eq!(
            json,
            r#"[{"text":"a","mediaType":"text/markdown"},{"url":"https://h/x.pdf","filename":"x.pdf","mediaType":"application/pdf"},{"text":"-b"},{"text":"c"}]"#
        );
    }

    #[test]
    fn a_media_type_needs_a_part_before_it() {
        for words in [
            &["--media-type", "a/b", "--text", "x"][..],
            &["x", "--media-type", "a/b"],
            &["--text", "x", "--media-type", "a/b", "--media-type", "c/d"],
        ] {
            assert!(flags(words).is_err(), "{words:?}");
        }
    }
}
