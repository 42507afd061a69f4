//! The JSON Schema of the configuration, and its keys as a list for generated documentation.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use super::Config;

/// One key of the configuration, as generated documentation shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyDocumentation {
    /// The table it stands in, such as `server` or `agents.NAME`; empty for the top.
    pub table: String,
    /// The key itself.
    pub key: String,
    /// What it means.
    pub text: String,
    /// Its default as JSON, if it has one.
    pub default: Option<Value>,
    /// A value to show, if the default shows too little.
    pub example: Option<Value>,
    /// Whether the table is incomplete without it.
    pub required: bool,
    /// For a key that only some tables of its kind have: which (`backend = "command"`).
    pub only_with: Option<String>,
}

/// The JSON Schema (draft 2020-12) of `nuncio.toml`. Nothing in it is a reference.
pub fn json_schema() -> Value {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<Config>();
    schema.insert("title".into(), "nuncio.toml".into());
    schema.to_value()
}

/// Every key, tables before the keys they hold; in each, required ones first, then by alphabet.
pub fn document_keys() -> Vec<KeyDocumentation> {
    let mut keys = Vec::new();
    walk("", &json_schema(), &mut keys);
    keys
}

fn walk(table: &str, schema: &Value, keys: &mut Vec<KeyDocumentation>) {
    add_properties(table, schema, None, keys);
    for variant in variants(schema) {
        let tag = properties(variant).and_then(|properties| {
            properties
                .iter()
                .find_map(|(key, schema)| Some((key, schema.get("const")?.as_str()?)))
        });
        if let Some((key, value)) = tag {
            add_properties(table, variant, Some(format!("{key} = \"{value}\"")), keys);
        }
    }
}

fn add_properties(
    table: &str,
    schema: &Value,
    only_with: Option<String>,
    keys: &mut Vec<KeyDocumentation>,
) {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required =
        |key: &str| required.is_some_and(|names| names.iter().any(|name| name == key));
    let mut properties: Vec<_> = properties(schema).into_iter().flatten().collect();
    properties.sort_by_key(|(key, _)| (!is_required(key), key.as_str()));
    for (key, property) in properties {
        keys.push(KeyDocumentation {
            table: table.to_owned(),
            key: key.clone(),
            text: description(property)
                .or_else(|| description(schema))
                .unwrap_or_default(),
            default: property
                .get("default")
                .filter(|value| !value.is_null())
                .cloned(),
            example: property
                .get("examples")
                .and_then(|examples| examples.get(0))
                .cloned(),
            required: is_required(key),
            only_with: only_with.clone(),
        });
        let below = if table.is_empty() {
            key.clone()
        } else {
            format!("{table}.{key}")
        };
        if let Some(values) = property
            .get("additionalProperties")
            .filter(|v| v.is_object())
        {
            walk(&format!("{below}.NAME"), values, keys);
        } else {
            walk(&below, non_null(property), keys);
        }
        if let Some(items) = property.get("items") {
            walk(&format!("{below}[]"), items, keys);
        }
    }
}

/// The properties of an object schema.
pub(super) fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties")?.as_object()
}

/// The alternatives of a tagged enum.
pub(super) fn variants(schema: &Value) -> &[Value] {
    schema
        .get("oneOf")
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// The schema inside an optional one (`anyOf` with null).
pub(super) fn non_null(schema: &Value) -> &Value {
    schema
        .get("anyOf")
        .and_then(Value::as_array)
        .and_then(|any| {
            any.iter()
                .find(|one| one.get("type").is_none_or(|kind| kind != "null"))
        })
        .unwrap_or(schema)
}

/// Doc comments wrap their lines; documentation wraps anew.
fn description(schema: &Value) -> Option<String> {
    let text = schema.get("description")?.as_str()?;
    Some(
        text.replace("\n\n", "\u{0}")
            .replace('\n', " ")
            .replace('\u{0}', "\n\n"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_a_value_to_show() {
        let keys = document_keys();
        for key in &keys {
            // The key above shows the whole table.
            let shown_above = |above: &KeyDocumentation| {
                key.table == format!("{}.{}", above.table, above.key) && above.example.is_some()
            };
            let table = key.default.is_none() && key.table.is_empty();
            let shown = key.example.is_some() || key.default.is_some();
            let nested = key.table.matches('.').count() > 1
                || key.table.contains("[]")
                || keys.iter().any(shown_above);
            let tag = key
                .only_with
                .as_deref()
                .is_some_and(|with| with.starts_with(&key.key));
            assert!(
                shown || table || nested || tag,
                "{}.{} shows no value",
                key.table,
                key.key
            );
        }
    }

    #[test]
    fn every_key_is_documented() {
        for key in document_keys() {
            assert!(
                !key.text.is_empty(),
                "{}.{} has no text",
                key.table,
                key.key
            );
        }
    }

    #[test]
    fn keys_of_backends_are_known_with_their_backend() {
        let keys = document_keys();
        let find = |table: &str, key: &str| {
            keys.iter()
                .find(|k| k.table == table && k.key == key)
                .expect("documented")
                .clone()
        };
        let command = find("agents.NAME", "command");
        assert_eq!(command.only_with.as_deref(), Some("backend = \"command\""));
        assert!(command.required);
        assert_eq!(
            find("server", "listen").default,
            Some(serde_json::json!(["127.0.0.1:8081"]))
        );
        assert_eq!(find("agents.NAME", "description").only_with, None);
    }
}
