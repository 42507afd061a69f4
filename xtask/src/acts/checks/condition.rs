//! The condition of `repeat`: `path == v`, `path != v` or `path in [a, b]`. Bare words are text; a
//! path that reaches nothing makes every condition false.

use anyhow::{Result, bail};
use serde_json::Value;

use super::matcher::same;
use super::path;

/// Whether `condition` holds of `value`.
///
/// # Errors
/// When the condition is none of the three.
pub fn holds(condition: &str, value: &Value) -> Result<bool> {
    let (place, wanted, within): (_, _, fn(&Value, &[Value]) -> bool) =
        if let Some((place, word)) = condition.split_once("==") {
            (place, vec![word], |it, all| {
                all.iter().any(|one| same(one, it))
            })
        } else if let Some((place, word)) = condition.split_once("!=") {
            (place, vec![word], |it, all| {
                !all.iter().any(|one| same(one, it))
            })
        } else if let Some((place, list)) = condition.split_once(" in ") {
            let inner = list
                .trim()
                .strip_prefix('[')
                .and_then(|it| it.strip_suffix(']'));
            let Some(inner) = inner else {
                bail!("`{condition}` has no list in brackets");
            };
            (place, inner.split(',').collect(), |it, all| {
                all.iter().any(|one| same(one, it))
            })
        } else {
            bail!("`{condition}` is no condition");
        };
    let wanted: Vec<Value> = wanted.into_iter().map(word).collect();
    Ok(path::get(place.trim(), value).is_some_and(|it| within(it, &wanted)))
}

/// JSON where it is JSON, else text.
fn word(text: &str) -> Value {
    let text = text.trim();
    serde_json::from_str(text).unwrap_or_else(|_| {
        let bare = text.strip_prefix('\'').and_then(|it| it.strip_suffix('\''));
        Value::String(bare.unwrap_or(text).to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn conditions_hold_and_fail() {
        let task = json!({"status": {"state": "WORKING"}, "n": 2});
        let cases = [
            ("status.state == WORKING", true),
            ("status.state == DONE", false),
            ("status.state == \"WORKING\"", true),
            ("status.state != DONE", true),
            ("status.state != WORKING", false),
            ("status.state in [DONE, WORKING]", true),
            ("status.state in [DONE, FAILED]", false),
            ("n == 2", true),
            ("n == \"2\"", false),
            ("missing != 1", false),
            ("missing == 1", false),
        ];
        for (condition, expected) in cases {
            assert_eq!(holds(condition, &task).unwrap(), expected, "{condition}");
        }
        assert!(holds("status.state", &task).is_err());
        assert!(holds("n in 1, 2", &task).is_err());
    }
}
