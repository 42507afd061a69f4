//! Builds the parameters of an operation from those of a step: where the format puts fields beside
//! the message they belong to, and what it leaves out.

use serde_json::{Map, Value};

use crate::acts::corpus::Operation;

/// The operation that is meant, and its parameters as A2A has them. `new_id` makes message ids.
pub fn prepare(
    operation: Operation,
    params: Value,
    new_id: impl FnOnce() -> String,
) -> (Operation, Value) {
    let Value::Object(mut params) = params else {
        return (operation, params);
    };
    match operation {
        Operation::SendMessage | Operation::SendStreamingMessage => {
            into_message(&mut params, new_id);
        }
        Operation::CreatePushConfig => {
            if let Some(Value::Object(config)) = params.remove("pushNotificationConfig") {
                params.extend(config);
            }
        }
        Operation::GetAgentCard if params.remove("extended") == Some(Value::Bool(true)) => {
            return (Operation::GetExtendedAgentCard, Value::Object(params));
        }
        _ => {}
    }
    (operation, Value::Object(params))
}

fn into_message(params: &mut Map<String, Value>, new_id: impl FnOnce() -> String) {
    let moved = ["taskId", "contextId"].map(|field| (field, params.remove(field)));
    let Some(Value::Object(message)) = params.get_mut("message") else {
        return;
    };
    for (field, value) in moved {
        if let Some(value) = value {
            message.entry(field).or_insert(value);
        }
    }
    message
        .entry("messageId")
        .or_insert_with(|| Value::String(new_id()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_go_where_a2a_has_them() {
        let id = || "new".to_owned();
        let sent =
            json!({"taskId": "t", "contextId": "c", "message": {"taskId": "own", "parts": []}});
        let (_, sent) = prepare(Operation::SendMessage, sent, id);
        let message = json!({"taskId": "own", "contextId": "c", "parts": [], "messageId": "new"});
        assert_eq!(sent, json!({ "message": message }));

        let config = json!({"taskId": "t", "pushNotificationConfig": {"url": "u"}});
        let (_, config) = prepare(Operation::CreatePushConfig, config, id);
        assert_eq!(config, json!({"taskId": "t", "url": "u"}));

        let extended = prepare(Operation::GetAgentCard, json!({"extended": true}), id);
        assert_eq!(extended, (Operation::GetExtendedAgentCard, json!({})));
        let public = prepare(Operation::GetAgentCard, json!({}), id);
        assert_eq!(public, (Operation::GetAgentCard, json!({})));
        let get = prepare(Operation::GetTask, json!({"id": "x"}), id);
        assert_eq!(get, (Operation::GetTask, json!({"id": "x"})));
    }
}
