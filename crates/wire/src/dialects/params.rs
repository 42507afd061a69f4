//! Reads parameters fast, and only after a failure slowly enough to name the field at fault.

use serde::de::DeserializeOwned;
use serde_json::error::Category;

use crate::error::{A2aError, ErrorKind};

/// Reads `T` from the JSON text of an object; absent parameters are an empty object.
pub(super) fn read_params<T: DeserializeOwned>(params: Option<&str>) -> Result<T, A2aError> {
    let text = params.unwrap_or("{}");
    serde_json::from_str(text).map_err(|error| explain::<T>(text, &error))
}

fn explain<T: DeserializeOwned>(text: &str, error: &serde_json::Error) -> A2aError {
    let reason = reason_of(error);
    let malformed = matches!(
        error.classify(),
        Category::Syntax | Category::Eof | Category::Io
    );
    // A number that overflows is good JSON with a bad value, whatever the reader calls it.
    if malformed && !reason.starts_with("number out of range") {
        return A2aError::new(
            ErrorKind::ParseError,
            format!("Invalid JSON payload: {error}"),
        );
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    let path = match serde_path_to_error::deserialize::<_, T>(&mut reader) {
        Ok(_) => String::new(),
        Err(found) => found.path().to_string(),
    };
    let path = if path == "." { "" } else { path.as_str() };
    A2aError::invalid_field(field_of(path, &reason), description_of(reason))
}

/// The reader's words without its position, which counts bytes of a text the caller never saw.
fn reason_of(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

/// `missing field` and its like are reported at the object that lacks it: name the member itself.
fn field_of(path: &str, reason: &str) -> String {
    let named = ["missing field `", "duplicate field `"]
        .into_iter()
        .find_map(|start| reason.strip_prefix(start))
        .and_then(|rest| rest.split('`').next());
    match named {
        Some(name) if path.is_empty() => name.to_owned(),
        Some(name) if path.rsplit('.').next() == Some(name) => path.to_owned(),
        Some(name) => format!("{path}.{name}"),
        None if path.is_empty() => "params".to_owned(),
        None => path.to_owned(),
    }
}

fn description_of(reason: String) -> String {
    if reason.starts_with("missing field") {
        return "is required".to_owned();
    }
    if reason.starts_with("duplicate field") {
        return "must not stand there twice (camelCase and snake_case are the same member)"
            .to_owned();
    }
    reason
}
