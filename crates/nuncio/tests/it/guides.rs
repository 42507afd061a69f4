//! What the README and the guides show: their configurations are loaded, their commands and settings exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use nuncio_gateway::config::{Severity, parse};
use serde_json::Value;

use crate::program::Place;

/// The fewest that there must be: with none, a test would have looked at nothing.
const FEWEST: usize = 10;

/// A document: its name and its text.
struct Document {
    name: String,
    text: String,
}

/// A fenced block: its language, and the number of its first line.
struct Block<'a> {
    language: &'a str,
    line: usize,
    text: String,
}

impl Document {
    fn all() -> Vec<Document> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let guides = fs::read_dir(root.join("docs/guides")).expect("a folder");
        let guides = guides.map(|entry| entry.expect("an entry").path());
        let mut paths: Vec<PathBuf> = guides.chain([root.join("README.md")]).collect();
        paths.sort();
        let read = |path: PathBuf| Document {
            name: path.file_name().expect("a file").to_string_lossy().into(),
            text: fs::read_to_string(&path).expect("UTF-8"),
        };
        paths.into_iter().map(read).collect()
    }

    fn blocks(&self) -> Vec<Block<'_>> {
        let mut blocks = Vec::new();
        let mut open: Option<Block<'_>> = None;
        for (number, line) in self.text.lines().enumerate() {
            match (open.as_mut(), line.strip_prefix("```")) {
                (Some(_), Some(_)) => blocks.extend(open.take()),
                (Some(block), None) => block.text += &format!("{line}\n"),
                (None, Some(language)) => {
                    open = Some(Block {
                        language,
                        line: number + 2,
                        text: String::new(),
                    });
                }
                (None, None) => {}
            }
        }
        blocks
    }

    /// Every piece between single backticks outside of blocks.
    fn spans(&self) -> impl Iterator<Item = &str> {
        let mut is_inside = false;
        let lines = self.text.lines().filter(move |line| {
            let is_fence = line.starts_with("```");
            is_inside ^= is_fence;
            !is_inside && !is_fence
        });
        lines.flat_map(|line| line.split('`').skip(1).step_by(2))
    }

    /// Settings in the first column of tables that are about settings.
    fn listed_settings(&self) -> Vec<&str> {
        let mut is_listing = false;
        let mut listed = Vec::new();
        for line in self.text.lines() {
            let first = line
                .strip_prefix("| ")
                .and_then(|row| row.split(" | ").next());
            match first {
                None => is_listing = line.starts_with('|') && is_listing,
                Some("setting") => is_listing = true,
                Some(cell) if is_listing => listed.extend(cell.split('`').skip(1).step_by(2)),
                Some(_) => {}
            }
        }
        listed
    }
}

/// Words as a shell has them, without a comment at their end.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = line.trim();
    while !rest.is_empty() && !rest.starts_with('#') {
        let (word, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').expect("a closing quote"),
            None => rest.split_once(' ').unwrap_or((rest, "")),
        };
        words.push(word.to_owned());
        rest = after.trim_start();
    }
    words
}

/// Names of all keys, wherever they may stand; and `table.key` for those of the file's own tables.
fn known_keys(schema: &Value) -> BTreeSet<String> {
    fn collect(value: &Value, keys: &mut BTreeSet<String>) {
        if let Some(properties) = value["properties"].as_object() {
            keys.extend(properties.keys().cloned());
        }
        match value {
            Value::Object(members) => members.values().for_each(|it| collect(it, keys)),
            Value::Array(entries) => entries.iter().for_each(|it| collect(it, keys)),
            _ => {}
        }
    }
    let mut keys = BTreeSet::new();
    collect(schema, &mut keys);
    for (table, about) in schema["properties"].as_object().expect("tables") {
        let place = about["$ref"].as_str().map(|it| it.trim_start_matches('#'));
        let about = place.map_or(Some(about), |place| schema.pointer(place));
        let properties = about.and_then(|it| it["properties"].as_object());
        let properties = properties.into_iter().flat_map(|it| it.keys());
        keys.extend(properties.map(|key| format!("{table}.{key}")));
    }
    keys
}

#[test]
fn every_configuration_is_loaded() {
    let mut count = 0;
    for document in Document::all() {
        let mut before = String::new();
        let blocks = document.blocks();
        for block in blocks.iter().filter(|block| block.language == "toml") {
            // Settings without a table belong to the one that was shown last.
            let begins = block.text.lines().find(|line| !line.starts_with('#'));
            let is_whole = begins.is_some_and(|line| line.starts_with('['));
            let text = if is_whole {
                block.text.clone()
            } else {
                before + &block.text
            };
            let place = format!("{}:{}", document.name, block.line);
            let config = parse(&text, Path::new("nuncio.toml"));
            let mut config = config.unwrap_or_else(|error| panic!("{place}: {error}"));
            config.add_profiles(&|_| None);
            let problems = config.problems();
            let errors = problems.iter().filter(|it| it.severity == Severity::Error);
            let errors: Vec<_> = errors.map(|it| (&it.key, &it.message)).collect();
            assert!(errors.is_empty(), "{place}: {errors:?}");
            before = text;
            count += 1;
        }
    }
    assert!(count >= FEWEST, "{count}");
}

/// A word that no command knows is refused before help is given.
#[test]
fn every_command_exists() {
    let mut count = 0;
    let place = Place::new();
    let mut check = |name: &str, line: &str| {
        let words = words(line);
        let begin = words.iter().position(|word| word == "nuncio");
        let arguments = begin.map(|at| &words[at + 1..]).unwrap_or_default();
        let arguments = arguments.iter().map(String::as_str).chain(["--help"]);
        let ended = place.run(&arguments.collect::<Vec<_>>());
        assert!(ended.status.success(), "{name}: {line}: {}", ended.stderr);
        count += 1;
    };
    for document in Document::all() {
        let blocks = document.blocks();
        let shells = blocks
            .iter()
            .filter(|block| ["sh", ""].contains(&block.language));
        let lines = shells.flat_map(|block| block.text.lines());
        let is_ours = |line: &&str| line.starts_with("nuncio ") || line.contains("= nuncio ");
        let in_blocks = lines.filter(|line| is_ours(line) || line.contains(" nuncio "));
        in_blocks.for_each(|line| check(&document.name, line));
        let spans = document.spans();
        let in_texts = spans.filter(|span| span.starts_with("nuncio ") && !span.contains('…'));
        in_texts.for_each(|span| check(&document.name, span));
    }
    assert!(count >= FEWEST, "{count}");
}

#[test]
fn every_setting_that_is_named_exists() {
    let place = Place::new();
    let schema = place.run(&["config", "schema"]).expect_success();
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    let known = known_keys(&schema);
    let tables = schema["properties"].as_object().expect("tables");
    let mut count = 0;
    for document in Document::all() {
        // `push.timeout`, `[push] timeout` and `stream = false` are told from other code by their form.
        let named = document.spans().filter_map(|span| {
            let span = span.trim_start_matches('[').replace("] ", ".");
            let (key, value) = span.split_once(" = ").unwrap_or((&span, ""));
            let plain = |c: char| c.is_ascii_lowercase() || matches!(c, '_' | '.');
            let table = key.split_once('.').map(|(table, _)| table);
            let is_path = table.is_some_and(|it| tables.contains_key(it));
            let is_ours = is_path || (table.is_none() && !value.is_empty());
            (is_ours && key.chars().all(plain)).then(|| key.to_owned())
        });
        let listed = document.listed_settings().into_iter().map(str::to_owned);
        for setting in named.chain(listed) {
            assert!(known.contains(&setting), "{}: `{setting}`", document.name);
            count += 1;
        }
    }
    assert!(count >= FEWEST, "{count}");
}
