//! Holds parsed TOML against the JSON Schema, since serde loses places inside tagged tables.
//!
//! It knows what this configuration's schema uses, not all of JSON Schema: objects with known or
//! free keys, tagged alternatives, optional values, lists, words, numbers with bounds, formats.

use std::net::SocketAddr;
use std::ops::Range;
use std::str::FromStr;

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::documentation::{non_null, properties, variants};
use super::{
    AllowedAddress, AllowedTool, Cidr, ConfigError, Duration, SecretRef, StoreUrl, WebUrl,
};

/// A name this alike (Jaro-Winkler) is probably the one that was meant.
const ALIKE: f64 = 0.8;

/// One thing that is wrong, and where.
pub(super) struct Found {
    pub(super) span: Range<usize>,
    pub(super) error: ConfigError,
    /// The text there may be a secret and must not be shown.
    pub(super) hide: bool,
}

/// Everything in `table` that `schema` does not allow, with its place.
pub(super) fn check(table: &Spanned<DeTable<'_>>, schema: &Value) -> Vec<Found> {
    let mut check = Check { found: Vec::new() };
    check.table("", 0..0, table.get_ref(), schema);
    check.found
}

/// The name of `names` that `text` was probably meant to be.
pub(super) fn nearest<'a>(text: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    names
        .map(|name| (strsim::jaro_winkler(text, name), name))
        .filter(|(alike, _)| *alike > ALIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

struct Check {
    found: Vec<Found>,
}

impl Check {
    fn add(&mut self, span: Range<usize>, message: String, hint: Option<String>) {
        let error = ConfigError {
            position: None,
            message,
            hint,
        };
        self.found.push(Found {
            span,
            error,
            hide: false,
        });
    }

    /// `span` is where the table is named, `path` its dotted key.
    fn table(&mut self, path: &str, span: Range<usize>, table: &DeTable<'_>, schema: &Value) {
        // What is inside is somebody else's to say.
        if schema.get("additionalProperties") == Some(&Value::Bool(true)) {
            return;
        }
        let variant = match self.variant(path, &span, table, schema) {
            Ok(variant) => variant,
            Err(()) => return,
        };
        let known = |name: &str| {
            let own = properties(schema).and_then(|properties| properties.get(name));
            own.or_else(|| properties(variant?)?.get(name))
        };
        let free = schema
            .get("additionalProperties")
            .filter(|values| values.is_object());
        for (name, value) in table {
            let key = name.get_ref().as_ref();
            let below = if path.is_empty() {
                key.to_owned()
            } else {
                format!("{path}.{key}")
            };
            match known(key).or(free) {
                Some(schema) => self.value(&below, name.span(), value, schema),
                None => self.unknown_key(path, name.span(), key, schema, variant),
            }
        }
        for part in [Some(schema), variant].into_iter().flatten() {
            let required = part
                .get("required")
                .and_then(Value::as_array)
                .into_iter()
                .flatten();
            for name in required.filter_map(Value::as_str) {
                if !table.contains_key(name) {
                    self.add(
                        span.clone(),
                        format!("[{path}] needs the key `{name}`"),
                        None,
                    );
                }
            }
        }
    }

    /// The alternative that the table's tag chooses; `Err` when it chooses none.
    fn variant<'s>(
        &mut self,
        path: &str,
        span: &Range<usize>,
        table: &DeTable<'_>,
        schema: &'s Value,
    ) -> Result<Option<&'s Value>, ()> {
        let tagged = || {
            variants(schema)
                .iter()
                .filter_map(|one| Some((tag_of(one)?, one)))
        };
        let Some(((tag, _), _)) = tagged().next() else {
            return Ok(None);
        };
        let words = || tagged().map(|((_, word), _)| word);
        let Some(value) = table.get(tag) else {
            let hint = format!("write `{tag} = \"…\"` with one of {}", list(words()));
            self.add(
                span.clone(),
                format!("[{path}] needs the key `{tag}`"),
                Some(hint),
            );
            return Err(());
        };
        let chosen = value.get_ref().as_str().unwrap_or_default();
        match tagged().find(|((_, word), _)| *word == chosen) {
            Some((_, variant)) => Ok(Some(variant)),
            None => {
                self.not_a_word(&format!("{path}.{tag}"), value.span(), chosen, words());
                Err(())
            }
        }
    }

    fn unknown_key(
        &mut self,
        path: &str,
        span: Range<usize>,
        key: &str,
        schema: &Value,
        variant: Option<&Value>,
    ) {
        let message = if path.is_empty() {
            format!("unknown key `{key}` at the top of the file")
        } else {
            format!("unknown key `{key}` in [{path}]")
        };
        let elsewhere = variants(schema)
            .iter()
            .find(|one| properties(one).is_some_and(|properties| properties.contains_key(key)))
            .and_then(tag_of);
        let hint = if let Some((tag, word)) = elsewhere {
            format!("`{key}` needs `{tag} = \"{word}\"`")
        } else {
            let names = || {
                let parts = [Some(schema), variant].into_iter().flatten();
                parts
                    .filter_map(properties)
                    .flat_map(|p| p.keys().map(String::as_str))
            };
            match nearest(key, names()) {
                Some(name) => format!("did you mean `{name}`?"),
                None => format!("the keys here are {}", list(names())),
            }
        };
        self.add(span, message, Some(hint));
    }

    /// `name` is where the key stands, for tables; other values have a place of their own.
    fn value(
        &mut self,
        path: &str,
        name: Range<usize>,
        value: &Spanned<DeValue<'_>>,
        schema: &Value,
    ) {
        let schema = non_null(schema);
        let span = value.span();
        if let Some(expected) = wrong_kind(value.get_ref(), schema) {
            let found = kind_of(value.get_ref());
            self.add(
                span,
                format!("`{path}` must be {expected}, not {found}"),
                None,
            );
            return;
        }
        match value.get_ref() {
            DeValue::Table(table) => self.table(path, name, table, schema),
            DeValue::Array(items) => {
                if items.is_empty() && schema.get("minItems").is_some_and(|least| least != 0) {
                    self.add(span, format!("`{path}` must not be empty"), None);
                }
                let Some(schema) = schema.get("items") else {
                    return;
                };
                for (index, item) in items.iter().enumerate() {
                    self.value(&format!("{path}.{index}"), item.span(), item, schema);
                }
            }
            DeValue::String(text) => self.text(path, span, text, schema),
            DeValue::Integer(integer) => {
                let least = schema
                    .get("minimum")
                    .and_then(Value::as_i64)
                    .unwrap_or(i64::MIN);
                let most = schema
                    .get("maximum")
                    .and_then(Value::as_i64)
                    .unwrap_or(i64::MAX);
                match i64::from_str_radix(integer.as_str(), integer.radix()) {
                    Ok(number) if number < least => {
                        self.add(span, format!("`{path}` must be at least {least}"), None);
                    }
                    Ok(number) if number <= most => {}
                    _ => self.add(span, format!("`{path}` must be at most {most}"), None),
                }
            }
            _ => {}
        }
    }

    fn text(&mut self, path: &str, span: Range<usize>, text: &str, schema: &Value) {
        let words = words_of(schema);
        if !words.is_empty() && !words.contains(&text) {
            self.not_a_word(path, span, text, words.into_iter());
        } else if let Some(format) = schema.get("format").and_then(Value::as_str)
            && let Err(problem) = check_format(format, text)
        {
            let error = ConfigError::new(format!("`{path}`: {problem}"));
            let hide = format == "secret-reference" || (format == "web-url" && text.contains('@'));
            self.found.push(Found { span, error, hide });
        }
    }

    fn not_a_word<'a>(
        &mut self,
        path: &str,
        span: Range<usize>,
        text: &str,
        words: impl Iterator<Item = &'a str> + Clone,
    ) {
        let message = format!("`{path}` must be one of {}", list(words.clone()));
        let hint = nearest(text, words).map(|word| format!("did you mean `{word}`?"));
        self.add(span, message, hint);
    }
}

/// The key and the word that mark an alternative of a tagged enum.
fn tag_of(variant: &Value) -> Option<(&str, &str)> {
    properties(variant)?
        .iter()
        .find_map(|(key, schema)| Some((key.as_str(), schema.get("const")?.as_str()?)))
}

/// The words that a string may be; none for a free one.
fn words_of(schema: &Value) -> Vec<&str> {
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        return words.iter().filter_map(Value::as_str).collect();
    }
    if let Some(word) = schema.get("const").and_then(Value::as_str) {
        return vec![word];
    }
    variants(schema)
        .iter()
        .filter_map(|one| one.get("const")?.as_str())
        .collect()
}

/// What the schema wants, in words, when the value is of another kind.
fn wrong_kind(value: &DeValue<'_>, schema: &Value) -> Option<&'static str> {
    let declared = schema.get("type");
    let allows = |kind: &str| match declared {
        Some(Value::String(one)) => one == kind,
        Some(Value::Array(any)) => any.iter().any(|one| one == kind),
        _ => false,
    };
    let (expected, fits) = if declared.is_none() {
        if words_of(schema).is_empty() {
            return None;
        }
        ("a string", matches!(value, DeValue::String(_)))
    } else if allows("string") {
        ("a string", matches!(value, DeValue::String(_)))
    } else if allows("integer") {
        ("a whole number", matches!(value, DeValue::Integer(_)))
    } else if allows("boolean") {
        ("true or false", matches!(value, DeValue::Boolean(_)))
    } else if allows("array") {
        ("a list", matches!(value, DeValue::Array(_)))
    } else {
        ("a table", matches!(value, DeValue::Table(_)))
    };
    (!fits).then_some(expected)
}

fn kind_of(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

fn check_format(format: &str, text: &str) -> Result<(), String> {
    fn parses<T: FromStr<Err = String>>(text: &str) -> Result<(), String> {
        text.parse::<T>().map(|_| ())
    }
    match format {
        "duration-text" => parses::<Duration>(text),
        "cidr" => parses::<Cidr>(text),
        "web-url" => parses::<WebUrl>(text),
        "allowed-address" => parses::<AllowedAddress>(text),
        "allowed-tool" => parses::<AllowedTool>(text),
        "store-url" => parses::<StoreUrl>(text),
        "secret-reference" => parses::<SecretRef>(text),
        "ip-port" => text.parse::<SocketAddr>().map(|_| ()).map_err(|_| {
            format!("`{text}` is not an address: write IP:PORT, such as 127.0.0.1:8081")
        }),
        _ => Ok(()),
    }
}

fn list<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words
        .map(|word| format!("`{word}`"))
        .collect::<Vec<_>>()
        .join(", ")
}
