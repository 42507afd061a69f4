//! `nuncio.example.toml`: every key with its meaning and its default, from the schema.
//!
//! Keys stand behind `#` without a blank, their meaning behind `#` with one: taking the bare `#`
//! away gives a working configuration.

use nuncio_gateway::config::{KeyDocumentation, document_keys};
use serde_json::Value;

/// The tables in the order a reader wants them; a table that is not named here comes last.
const ORDER: [&str; 8] = [
    "server", "store", "agents", "peers", "security", "compat", "log", "a2a",
];
/// Columns of a line of text.
const WIDTH: usize = 96;

const HEAD: &str = "\
# Every key of nuncio.toml with its meaning and its default (or an example, where it has none).
# Made by `nuncio generate config-example`; change `crates/gateway/src/config`.
#
# Nothing here is set: a copy of this file is an empty configuration. Take away the `#` in front of
# what you want to set, and keep what you need. `nuncio config check FILE` looks at the result.
";

/// The file.
pub(super) fn text() -> String {
    let keys = document_keys();
    let mut tables: Vec<&KeyDocumentation> =
        keys.iter().filter(|key| key.table.is_empty()).collect();
    tables.sort_by_key(|table| {
        ORDER
            .iter()
            .position(|name| *name == table.key)
            .unwrap_or(ORDER.len())
    });
    let mut text = HEAD.to_owned();
    for table in tables {
        text.push('\n');
        comment(&mut text, "", &table.text);
        let named = format!("{}.NAME", table.key);
        if keys.iter().any(|key| key.table == named) {
            named_tables(&mut text, &keys, &table.key);
        } else {
            text.push_str(&format!("#[{}]\n", table.key));
            for key in keys.iter().filter(|key| key.table == table.key) {
                entry(&mut text, &keys, key);
            }
        }
    }
    text
}

/// `[agents.NAME]` and its like: one table for each alternative, the common keys in the first.
fn named_tables(text: &mut String, keys: &[KeyDocumentation], table: &str) {
    let path = format!("{table}.NAME");
    let own: Vec<&KeyDocumentation> = keys.iter().filter(|key| key.table == path).collect();
    let mut alternatives: Vec<&str> = Vec::new();
    for key in &own {
        if let Some(with) = key.only_with.as_deref()
            && !alternatives.contains(&with)
        {
            alternatives.push(with);
        }
    }
    if alternatives.is_empty() {
        text.push_str(&format!("#[{table}.research]\n"));
        for key in own {
            entry(text, keys, key);
        }
        return;
    }
    // The alternative with most keys is the one that readers look for.
    let count = |with: &str| {
        own.iter()
            .filter(|key| key.only_with.as_deref() == Some(with))
            .count()
    };
    alternatives.sort_by_key(|with| std::cmp::Reverse(count(with)));
    for (index, with) in alternatives.into_iter().enumerate() {
        let word = with.split('"').nth(1).unwrap_or(with);
        let of_this = |key: &&&KeyDocumentation| key.only_with.as_deref() == Some(with);
        let is_tag = |key: &KeyDocumentation| with.starts_with(&format!("{} =", key.key));
        if index > 0 {
            text.push('\n');
        }
        text.push_str(&format!("#[{table}.my-{word}]\n"));
        for key in own.iter().filter(of_this) {
            if is_tag(key) {
                comment(text, "", &key.text);
                text.push_str(&format!("#{with}\n"));
            } else {
                entry(text, keys, key);
            }
        }
        if index == 0 {
            for key in own.iter().filter(|key| key.only_with.is_none()) {
                entry(text, keys, key);
            }
        }
    }
}

fn entry(text: &mut String, keys: &[KeyDocumentation], key: &KeyDocumentation) {
    comment(text, "", &key.text);
    let path = format!("{}.{}", key.table, key.key);
    let items = format!("{path}[]");
    for part in keys
        .iter()
        .filter(|part| part.table == path || part.table == items)
    {
        let with = part
            .only_with
            .as_deref()
            .filter(|with| !with.starts_with(&part.key));
        let with = with
            .map(|with| format!(" (with {with})"))
            .unwrap_or_default();
        let word = part
            .only_with
            .as_deref()
            .filter(|with| with.starts_with(&part.key));
        comment(
            text,
            "  ",
            &format!("{}{with}: {}", word.unwrap_or(&part.key), part.text),
        );
    }
    let is_empty = |value: &&Value| match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    };
    let default = key.default.as_ref();
    let shown = default
        .filter(|value| !is_empty(value))
        .or(key.example.as_ref())
        .or(default);
    if let Some(value) = shown {
        text.push_str(&format!("#{} = {}\n", key.key, toml_value(value)));
    }
}

/// A value as TOML writes it on one line.
fn toml_value(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(toml_value).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(key, value)| format!("{key} = {}", toml_value(value)))
                .collect();
            format!("{{ {} }}", fields.join(", "))
        }
        // A JSON string without control characters is a TOML string too.
        other => other.to_string(),
    }
}

fn comment(text: &mut String, indent: &str, words: &str) {
    let mut line = format!("# {indent}");
    let mut is_empty = true;
    for word in words.split_whitespace() {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            text.push_str(&line);
            text.push('\n');
            line = format!("# {indent}{indent}");
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    text.push_str(&line);
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use nuncio_gateway::config::{Severity, parse};
    use std::path::Path;

    fn uncommented() -> String {
        let lines = text();
        let lines = lines.lines().map(|line| match line.strip_prefix('#') {
            Some(rest) if !rest.starts_with(' ') => rest,
            _ => line,
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn as_it_stands_it_sets_nothing() {
        let config = parse(&text(), Path::new("example")).unwrap();
        assert!(config.agents.is_empty() && config.peers.is_empty());
    }

    #[test]
    fn with_everything_set_it_works() {
        let mut config =
            parse(&uncommented(), Path::new("example")).unwrap_or_else(|e| panic!("{e}"));
        // One for each backend.
        let kinds = config.agents.values().map(|agent| agent.backend.kind());
        let kinds: std::collections::HashSet<_> = kinds.collect();
        assert_eq!(kinds.len(), config.agents.len());
        assert!(kinds.contains("command"));
        config.add_profiles(&|_| None);
        let errors = config
            .problems()
            .into_iter()
            .filter(|p| p.severity == Severity::Error);
        assert_eq!(errors.collect::<Vec<_>>(), []);
    }

    #[test]
    fn no_key_is_left_out() {
        let text = uncommented();
        let keys = document_keys();
        for key in &keys {
            let is_inline = |above: &nuncio_gateway::config::KeyDocumentation| {
                key.table == format!("{}.{}", above.table, above.key) && above.example.is_some()
            };
            let table = key.table.split('.').nth(2).is_some()
                || key.table.contains("[]")
                || keys.iter().any(is_inline);
            if !key.table.is_empty() && !table {
                // A small table within a table stands on one line.
                let found = ['\n', ' '].map(|begins| format!("{begins}{} = ", key.key));
                let is_there = found.iter().any(|member| text.contains(member));
                assert!(is_there, "{}.{} is missing", key.table, key.key);
            }
        }
    }
}
