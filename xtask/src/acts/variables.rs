//! References in a test: `{{step.name}}`, variables of the documents and the runner, `{{env.X}}`,
//! `{{$uuid}}`. A text that is one reference only becomes the value itself.

use std::collections::HashMap;

use serde_json::{Map, Value};

/// What references can name while one test runs.
#[derive(Debug, Default)]
pub struct Scope {
    variables: Map<String, Value>,
    captured: HashMap<(String, String), Value>,
}

impl Scope {
    /// A fresh scope over these variables.
    #[must_use]
    pub fn new(variables: Map<String, Value>) -> Self {
        Self {
            variables,
            captured: HashMap::new(),
        }
    }

    /// Keeps `value` as `{{step.name}}`.
    pub fn keep(&mut self, step: &str, name: &str, value: Value) {
        self.captured
            .insert((step.to_owned(), name.to_owned()), value);
    }

    /// What `{{step.name}}` holds.
    #[must_use]
    pub fn captured(&self, step: &str, name: &str) -> Option<&Value> {
        self.captured.get(&(step.to_owned(), name.to_owned()))
    }

    /// `value` with all references filled in; keys stay as they are.
    ///
    /// # Errors
    /// The reference that names nothing.
    pub fn fill(&self, value: &Value) -> Result<Value, String> {
        Ok(match value {
            Value::String(text) => self.fill_text(text)?,
            Value::Array(all) => {
                let all: Result<_, _> = all.iter().map(|value| self.fill(value)).collect();
                Value::Array(all?)
            }
            Value::Object(fields) => {
                let fields = fields.iter();
                let fields: Result<_, String> = fields
                    .map(|(key, value)| Ok((key.clone(), self.fill(value)?)))
                    .collect();
                Value::Object(fields?)
            }
            other => other.clone(),
        })
    }

    fn fill_text(&self, text: &str) -> Result<Value, String> {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            let Some((name, after)) = after.split_once("}}") else {
                break;
            };
            let value = self.look_up(name.trim())?;
            if before.is_empty() && filled.is_empty() && after.is_empty() {
                return Ok(value);
            }
            filled.push_str(before);
            match value {
                Value::String(text) => filled.push_str(&text),
                other => filled.push_str(&other.to_string()),
            }
            rest = after;
        }
        filled.push_str(rest);
        Ok(Value::String(filled))
    }

    fn look_up(&self, name: &str) -> Result<Value, String> {
        if name == "$uuid" {
            return Ok(Value::String(uuid::Uuid::new_v4().to_string()));
        }
        if let Some((step, captured)) = name.split_once('.')
            && let Some(value) = self.captured(step, captured)
        {
            return Ok(value.clone());
        }
        if let Some(value) = self.variables.get(name) {
            return self.fill(value);
        }
        let environment = name.strip_prefix("env.");
        environment
            .and_then(|variable| std::env::var(variable).ok())
            .map(Value::String)
            .ok_or_else(|| format!("`{{{{{name}}}}}` names nothing"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn references_are_filled_in_and_keep_their_type_when_alone() {
        let variables = json!({"url": "http://{{host}}/x", "host": "h"});
        let mut scope = Scope::new(variables.as_object().unwrap().clone());
        scope.keep("send-1", "n", json!(7));
        let filled = scope
            .fill(&json!({"{{host}}": ["{{send-1.n}}", "n={{ send-1.n }}!", "{{url}}", "{{"]}));
        assert_eq!(
            filled,
            Ok(json!({"{{host}}": [7, "n=7!", "http://h/x", "{{"]}))
        );
    }

    #[test]
    fn ids_are_new_each_time() {
        let scope = Scope::default();
        let two = scope.fill(&json!(["{{$uuid}}", "{{$uuid}}"])).unwrap();
        assert_ne!(two[0], two[1]);
    }

    #[test]
    fn what_names_nothing_is_an_error() {
        let scope = Scope::default();
        for text in ["{{x}}", "{{step.x}}", "{{env.NO_SUCH_VARIABLE_ACTS}}"] {
            assert!(scope.fill(&json!(text)).is_err(), "{text}");
        }
    }
}
