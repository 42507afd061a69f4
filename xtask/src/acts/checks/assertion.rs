//! Assertions over an earlier answer: one value, or some, all or none of those a path reaches.

use serde_json::Value;

use super::{Checked, Mismatch, matcher, path};
use crate::acts::corpus::{Assertion, Collection};

/// Checks `assertion` on `source`, its answer with all references filled in.
///
/// # Errors
/// What does not hold. Where nothing is reached, `any` and `all` fail and `none` holds.
pub fn check(assertion: &Assertion, source: &Value) -> Checked {
    let place = assertion.path.as_deref().unwrap_or_default();
    let root = if place.is_empty() {
        Some(source)
    } else {
        path::get(place, source)
    };
    if let Some(pattern) = &assertion.matches {
        matcher::check(pattern, root, place)?;
    }
    let Some(root) = root else {
        return Err(Mismatch::new(place, "is missing", None));
    };
    if let Some(any) = &assertion.any {
        let found = fits(any, root);
        if !found.contains(&true) {
            return Err(complaint(any, root, "no element fits (any)"));
        }
    }
    if let Some(all) = &assertion.all {
        let found = fits(all, root);
        if found.is_empty() || found.contains(&false) {
            return Err(complaint(all, root, "not every element fits (all)"));
        }
    }
    if let Some(none) = &assertion.none
        && fits(none, root).contains(&true)
    {
        return Err(complaint(none, root, "an element fits (none)"));
    }
    Ok(())
}

fn fits(collection: &Collection, root: &Value) -> Vec<bool> {
    let reached = path::reach(&collection.path, root).into_iter();
    reached
        .map(|value| matcher::check(&collection.matches, Some(value), &collection.path).is_ok())
        .collect()
}

fn complaint(collection: &Collection, root: &Value, text: &str) -> Mismatch {
    let reached = path::reach(&collection.path, root).into_iter().cloned();
    let reached = Value::Array(reached.collect());
    Mismatch::new(&collection.path, text, Some(&reached)).wanted(&collection.matches)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn verdict(assertion: Value, source: Value) -> bool {
        let mut assertion = assertion;
        assertion["source"] = json!("");
        check(&serde_json::from_value(assertion).unwrap(), &source).is_ok()
    }

    #[test]
    fn each_form_holds_and_fails() {
        let any = json!({"any": {"path": "a[*]", "match": {"x": 1}}});
        let all = json!({"all": {"path": "a[*]", "match": {"x": 1}}});
        let none = json!({"none": {"path": "a[*]", "match": {"x": 1}}});
        let one = json!({"path": "a[0]", "match": {"x": 1}});
        // columns: one of two fits, both fit, none fits, nothing there
        let answers = [
            json!({"a": [{"x": 1}, {"x": 2}]}),
            json!({"a": [{"x": 1}, {"x": 1}]}),
            json!({"a": [{"x": 2}]}),
            json!({}),
        ];
        let expected = [
            (any, [true, true, false, false]),
            (all, [false, true, false, false]),
            (none, [false, false, true, true]),
            (one, [true, true, false, false]),
        ];
        for (assertion, verdicts) in expected {
            for (answer, expected) in answers.iter().zip(verdicts) {
                let found = verdict(assertion.clone(), answer.clone());
                assert_eq!(found, expected, "{assertion} on {answer}");
            }
        }
    }
}
