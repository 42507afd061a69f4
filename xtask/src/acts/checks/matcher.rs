//! Matchers: a pattern of scalars, lists, fields and operators against a value that may be missing.
//!
//! A key is an operator when its name is known and its argument has the right form; otherwise it
//! is a field. All keys of a map must hold. Only `exists` and `absent` put up with nothing at all.

use regex::Regex;
use serde_json::{Map, Value};

use super::{Checked, Mismatch};

/// Checks `actual` against `pattern`; `path` is where it stands, for the complaint.
///
/// # Errors
/// The first thing that does not fit.
pub fn check(pattern: &Value, actual: Option<&Value>, path: &str) -> Checked {
    match (pattern, actual) {
        (Value::Object(keys), _) => check_keys(keys, actual, path),
        (_, None) => Err(Mismatch::new(path, "is missing", None).wanted(pattern)),
        (Value::Array(items), Some(actual)) => check_list(items, actual, path),
        (scalar, Some(actual)) if same(scalar, actual) => Ok(()),
        (scalar, actual) => Err(Mismatch::new(path, "is another value", actual).wanted(scalar)),
    }
}

fn check_keys(keys: &Map<String, Value>, actual: Option<&Value>, path: &str) -> Checked {
    if keys.is_empty() && actual.is_none() {
        return Err(Mismatch::new(path, "is missing", None));
    }
    for (key, argument) in keys {
        if is_operator(key, argument) {
            apply(key, argument, actual, path)?;
        } else {
            let member = actual.and_then(|value| value.get(key));
            check(argument, member, &below(path, key))?;
        }
    }
    Ok(())
}

fn check_list(items: &[Value], actual: &Value, path: &str) -> Checked {
    if !actual.is_array() {
        return Err(Mismatch::new(path, "is no list", Some(actual)));
    }
    for (index, item) in items.iter().enumerate() {
        check(item, actual.get(index), &format!("{path}[{index}]"))?;
    }
    Ok(())
}

/// Whether `key` with this argument is an operator and not the name of a field.
fn is_operator(key: &str, argument: &Value) -> bool {
    match key {
        "type" => argument.as_str().is_some_and(|name| TYPES.contains(&name)),
        "exists" | "absent" => argument.is_boolean(),
        "contains" => !argument.is_object() && !argument.is_array(),
        "matches" | "starts_with" | "ends_with" => argument.is_string(),
        "gt" | "gte" | "lt" | "lte" => argument.is_number(),
        "count" | "count_gte" | "count_lte" => argument.is_u64(),
        "one_of" | "all_of" | "any_of" => argument.as_array().is_some_and(|all| !all.is_empty()),
        "not" => true,
        "items" => argument.is_object() || argument.is_array(),
        _ => false,
    }
}

const TYPES: [&str; 6] = ["string", "number", "boolean", "array", "object", "null"];

fn apply(operator: &str, argument: &Value, actual: Option<&Value>, path: &str) -> Checked {
    let complain = |what: &str| {
        let text = format!("{what} ({operator})");
        Err(Mismatch::new(path, text, actual).wanted(argument))
    };
    let branches = || argument.as_array().into_iter().flatten();
    match operator {
        "exists" | "absent" => {
            let wanted = argument.as_bool() == Some(operator == "exists");
            return match (wanted, actual.is_some()) {
                (true, false) => complain("is missing"),
                (false, true) => complain("should not be there"),
                _ => Ok(()),
            };
        }
        "all_of" => return branches().try_for_each(|branch| check(branch, actual, path)),
        "any_of" | "one_of" => {
            if branches().any(|branch| check(branch, actual, path).is_ok()) {
                return Ok(());
            }
            return complain("fits none of them");
        }
        "not" => {
            let tolerates_nothing = argument.get("exists").or(argument.get("absent")).is_some();
            if check(argument, actual, path).is_ok() {
                return complain("fits what it should not");
            }
            if actual.is_none() && !tolerates_nothing {
                return complain("is missing");
            }
            return Ok(());
        }
        _ => {}
    }
    let Some(value) = actual else {
        return complain("is missing");
    };
    if operator == "items" {
        return check_items(argument, value, path);
    }
    if holds(operator, argument, value) {
        Ok(())
    } else {
        complain("does not hold")
    }
}

/// Operators that say yes or no about a value that is there.
fn holds(operator: &str, argument: &Value, value: &Value) -> bool {
    let text = argument.as_str().unwrap_or_default();
    let starts = |test: fn(&str, &str) -> bool| value.as_str().is_some_and(|it| test(it, text));
    match operator {
        "type" => type_of(value) == text,
        "contains" => match value {
            Value::String(it) => argument.is_string() && it.contains(text),
            Value::Array(all) => all.iter().any(|element| same(argument, element)),
            _ => false,
        },
        "matches" => {
            starts(|it, pattern| Regex::new(pattern).is_ok_and(|it_is| it_is.is_match(it)))
        }
        "starts_with" => starts(|it, text| it.starts_with(text)),
        "ends_with" => starts(|it, text| it.ends_with(text)),
        "gt" => compare(value, argument, |a, b| a > b),
        "gte" => compare(value, argument, |a, b| a >= b),
        "lt" => compare(value, argument, |a, b| a < b),
        "lte" => compare(value, argument, |a, b| a <= b),
        "count" => counts(value, argument, |a, b| a == b),
        "count_gte" => counts(value, argument, |a, b| a >= b),
        "count_lte" => counts(value, argument, |a, b| a <= b),
        _ => false,
    }
}

fn check_items(argument: &Value, value: &Value, path: &str) -> Checked {
    let Value::Array(elements) = value else {
        return Err(Mismatch::new(path, "is no list (items)", Some(value)));
    };
    if let Value::Array(patterns) = argument {
        return check_list(patterns, value, path);
    }
    for (index, element) in elements.iter().enumerate() {
        check(argument, Some(element), &format!("{path}[{index}]"))?;
    }
    Ok(())
}

fn compare(value: &Value, argument: &Value, test: fn(f64, f64) -> bool) -> bool {
    matches!((value.as_f64(), argument.as_f64()), (Some(a), Some(b)) if test(a, b))
}

fn counts(value: &Value, argument: &Value, test: fn(u64, u64) -> bool) -> bool {
    matches!((value.as_array(), argument.as_u64()), (Some(all), Some(b)) if test(all.len() as u64, b))
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Equal as JSON, where 1 and 1.0 are the same number.
#[must_use]
pub fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (a, b) => a == b,
    }
}

fn below(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// For each way to say something: the pattern, a value that fits, values that must not.
    fn cases() -> Vec<(Value, Value, Vec<Value>)> {
        vec![
            (
                json!("a"),
                json!("a"),
                vec![json!("b"), json!(null), json!(["a"])],
            ),
            (
                json!(1),
                json!(1.0),
                vec![json!(true), json!("1"), json!(2)],
            ),
            (
                json!(true),
                json!(true),
                vec![json!(1), json!("true"), json!(false)],
            ),
            (
                json!(null),
                json!(null),
                vec![json!(0), json!(""), json!({})],
            ),
            (
                json!([1]),
                json!([1, 2]),
                vec![json!([]), json!([2]), json!({"0": 1})],
            ),
            (
                json!({"a": 1}),
                json!({"a": 1, "b": 2}),
                vec![json!({}), json!({"a": 2}), json!([1])],
            ),
            (
                json!({"type": "string"}),
                json!(""),
                vec![json!(1), json!(null), json!({})],
            ),
            (
                json!({"type": "number"}),
                json!(1.5),
                vec![json!("1"), json!(true)],
            ),
            (
                json!({"type": "boolean"}),
                json!(false),
                vec![json!(0), json!("false")],
            ),
            (
                json!({"type": "array"}),
                json!([]),
                vec![json!({}), json!("")],
            ),
            (
                json!({"type": "object"}),
                json!({}),
                vec![json!([]), json!(null)],
            ),
            (
                json!({"type": "null"}),
                json!(null),
                vec![json!(0), json!({})],
            ),
            (
                json!({"x": {"exists": true}}),
                json!({"x": null}),
                vec![json!({}), json!({"y": 1})],
            ),
            (
                json!({"x": {"exists": false}}),
                json!({}),
                vec![json!({"x": null})],
            ),
            (
                json!({"x": {"absent": true}}),
                json!({"y": 1}),
                vec![json!({"x": null}), json!({"x": 1})],
            ),
            (
                json!({"contains": "b"}),
                json!("abc"),
                vec![json!("ac"), json!(["abc"]), json!({"b": 1})],
            ),
            (
                json!({"contains": 2}),
                json!([1, 2]),
                vec![json!([1]), json!("2"), json!([true])],
            ),
            (
                json!({"matches": "^a+$"}),
                json!("aa"),
                vec![json!("ab"), json!(["aa"]), json!(1)],
            ),
            (
                json!({"starts_with": "1."}),
                json!("1.0"),
                vec![json!("0.3"), json!(1.0), json!("11.")],
            ),
            (
                json!({"ends_with": "z"}),
                json!("xyz"),
                vec![json!("zx"), json!(null)],
            ),
            (json!({"gt": 1}), json!(2), vec![json!(1), json!("2")]),
            (json!({"gte": 1}), json!(1), vec![json!(0.5), json!(null)]),
            (json!({"lt": 1}), json!(0), vec![json!(1), json!("0")]),
            (json!({"lte": 1}), json!(1), vec![json!(1.5), json!([])]),
            (
                json!({"count": 1}),
                json!([0]),
                vec![json!([]), json!([1, 2]), json!("x")],
            ),
            (
                json!({"count_gte": 1}),
                json!([0, 1]),
                vec![json!([]), json!({"a": 1}), json!("x")],
            ),
            (
                json!({"count_lte": 1}),
                json!([]),
                vec![json!([1, 2]), json!(null)],
            ),
            (
                json!({"one_of": ["a", {"type": "number"}]}),
                json!(3),
                vec![json!("b"), json!(null)],
            ),
            (
                json!({"any_of": [{"a": 1}, {"b": 1}]}),
                json!({"b": 1}),
                vec![json!({"a": 2}), json!({})],
            ),
            (
                json!({"all_of": [{"type": "string"}, {"matches": ".{3,}"}]}),
                json!("abc"),
                vec![json!("ab"), json!(3)],
            ),
            (
                json!({"not": {"type": "null"}}),
                json!(0),
                vec![json!(null)],
            ),
            (
                json!({"items": {"a": 1}}),
                json!([{"a": 1}]),
                vec![json!([{"a": 1}, {}]), json!({}), json!("x")],
            ),
            (
                json!({"items": [{"a": 1}]}),
                json!([{"a": 1}, {}]),
                vec![json!([]), json!([{"a": 2}])],
            ),
        ]
    }

    #[test]
    fn every_pattern_takes_what_fits_and_refuses_what_does_not() {
        for (pattern, right, wrong) in cases() {
            assert_eq!(check(&pattern, Some(&right), ""), Ok(()), "{pattern}");
            for value in wrong {
                let refused = check(&pattern, Some(&value), "");
                assert!(refused.is_err(), "{pattern} took {value}");
            }
        }
    }

    #[test]
    fn only_exists_and_absent_put_up_with_nothing() {
        for (pattern, ..) in cases() {
            let tolerates = pattern.get("x").is_some_and(|it| {
                it.get("absent").is_some() || it.get("exists") == Some(&json!(false))
            });
            assert_eq!(check(&pattern, None, "").is_ok(), tolerates, "{pattern}");
        }
        assert!(check(&json!({}), None, "").is_err());
        assert_eq!(
            check(
                &json!({"any_of": [{"absent": true}, {"count": 0}]}),
                None,
                ""
            ),
            Ok(())
        );
    }

    #[test]
    fn a_key_with_another_form_of_argument_is_a_field() {
        let pattern =
            json!({"type": {"type": "string"}, "count": "x", "matches": {"exists": true}});
        let value = json!({"type": "t", "count": "x", "matches": 1});
        assert_eq!(check(&pattern, Some(&value), ""), Ok(()));
        assert!(check(&pattern, Some(&json!({"type": 1})), "").is_err());
        let both = json!({"type": "array", "count_gte": 1, "items": {"type": "number"}});
        assert_eq!(check(&both, Some(&json!([1])), ""), Ok(()));
        assert!(check(&both, Some(&json!(["1"])), "").is_err());
    }

    #[test]
    fn a_complaint_names_the_place() {
        let wrong = check(
            &json!({"a": {"items": {"b": 1}}}),
            Some(&json!({"a": [{}]})),
            "body",
        );
        let wrong = wrong.unwrap_err();
        assert_eq!(
            (wrong.path.as_str(), wrong.message.as_str()),
            ("body.a[0].b", "is missing")
        );
    }
}
