//! Mechanical rewrites: what the May 2026 corpus says in words that the format's own grammar does
//! not have, said in those it has. Changes documents in memory only; judges nothing.

use serde_json::{Map, Value, json};

/// Operations by names that are not the format's.
const OPERATIONS: [(&str, &str); 4] = [
    ("set_push_notification_config", "create_push_config"),
    ("get_push_notification_config", "get_push_config"),
    ("list_push_notification_configs", "list_push_configs"),
    ("delete_push_notification_config", "delete_push_config"),
];

/// Rewrites one step; returns how many rewrites were needed.
pub(super) fn rewrite_step(step: &mut Map<String, Value>) -> usize {
    operation_name(step) + error_code(step) + error_as_expectation(step) + task_as_expectation(step)
}

fn operation_name(step: &mut Map<String, Value>) -> usize {
    let Some(Value::String(name)) = step.get_mut("operation") else {
        return 0;
    };
    let Some((_, right)) = OPERATIONS.iter().find(|(wrong, _)| wrong == name) else {
        return 0;
    };
    *name = (*right).to_owned();
    1
}

/// `expect_error.code` holds the name of an error, never a code.
fn error_code(step: &mut Map<String, Value>) -> usize {
    let Some(Value::Object(error)) = step.get_mut("expect_error") else {
        return 0;
    };
    let Some(name) = error.remove("code") else {
        return 0;
    };
    error.insert("error_type".to_owned(), name);
    1
}

/// `expect: {error: …}` means that any error will do.
fn error_as_expectation(step: &mut Map<String, Value>) -> usize {
    let says_error = step
        .get("expect")
        .is_some_and(|expect| expect.get("error").is_some());
    if !says_error {
        return 0;
    }
    step.remove("expect");
    step.insert("expect_error".to_owned(), json!({}));
    1
}

/// `expect: {task: …}` means the body's member.
fn task_as_expectation(step: &mut Map<String, Value>) -> usize {
    let Some(Value::Object(expect)) = step.get_mut("expect") else {
        return 0;
    };
    let Some(task) = expect.remove("task") else {
        return 0;
    };
    expect.insert("body".to_owned(), json!({ "task": task }));
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rewrite_changes_what_it_is_for_and_nothing_else() {
        let cases = [
            (
                json!({"operation": "set_push_notification_config"}),
                json!({"operation": "create_push_config"}),
                1,
            ),
            (
                json!({"expect_error": {"code": {"one_of": ["A", "B"]}, "message": {}}}),
                json!({"expect_error": {"error_type": {"one_of": ["A", "B"]}, "message": {}}}),
                1,
            ),
            (
                json!({"expect": {"status": "error", "error": {"exists": true}}}),
                json!({"expect_error": {}}),
                1,
            ),
            (
                json!({"expect": {"task": {"id": {"type": "string"}}}}),
                json!({"expect": {"body": {"task": {"id": {"type": "string"}}}}}),
                1,
            ),
            (
                json!({"operation": "get_task", "expect": {"body": {"error": 1}}}),
                json!({"operation": "get_task", "expect": {"body": {"error": 1}}}),
                0,
            ),
        ];
        for (before, after, count) in cases {
            let Value::Object(mut step) = before else {
                unreachable!("the cases are objects")
            };
            assert_eq!(rewrite_step(&mut step), count);
            assert_eq!(Value::Object(step), after);
        }
    }
}
