//! Steps that ask how a client reads an answer: nuncio's own readers get the payload, and what they
//! made of it is written down again as A2A 1.0 JSON.

use nuncio_wire::bindings::jsonrpc;
use nuncio_wire::dialects::{Dialect, read_card};
use nuncio_wire::{A2aError, Method, Response};
use serde_json::{Value, json};

use super::corpus::{ClientResponse, Operation};

/// What nuncio's client understands of the payload: task, message, card, or `{error: …}`.
///
/// # Errors
/// When it understands nothing.
pub fn parse(step: &ClientResponse) -> Result<Value, String> {
    let payload = step.wire_payload.to_string();
    if matches!(
        step.operation,
        Operation::GetAgentCard | Operation::GetExtendedAgentCard
    ) {
        let (card, _) = read_card(payload.as_bytes()).map_err(|error| error.to_string())?;
        return serde_json::to_value(card).map_err(|error| error.to_string());
    }
    let answer = jsonrpc::read_answer(payload.as_bytes()).map_err(|error| error.message)?;
    let method = match step.operation {
        Operation::SendMessage => Method::SendMessage,
        Operation::GetTask => Method::GetTask,
        other => return Err(format!("no client step knows {other:?}")),
    };
    let read = |result: &str| Dialect::V1.read_response(method, result);
    match answer.outcome.and_then(read) {
        Ok(response) => written(method, &response),
        Err(error) => Ok(refusal(&error)),
    }
}

fn written(method: Method, response: &Response) -> Result<Value, String> {
    let mut bytes = Vec::new();
    Dialect::V1.write_response(method, response, &mut bytes);
    serde_json::from_slice(&bytes).map_err(|error| error.to_string())
}

fn refusal(error: &A2aError) -> Value {
    json!({"error": {"code": error.kind.code(), "message": error.message}})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(operation: Operation, wire_payload: Value) -> ClientResponse {
        ClientResponse {
            operation,
            wire_payload,
            expect_parsed: Value::Null,
        }
    }

    #[test]
    fn what_the_client_reads_comes_back_and_what_it_cannot_read_does_not() {
        let task = json!({"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}});
        let good = json!({"jsonrpc": "2.0", "id": "1", "result": {"task": task}});
        let parsed = parse(&step(Operation::SendMessage, good)).unwrap();
        assert_eq!(parsed["task"]["status"]["state"], "TASK_STATE_WORKING");
        let broken = json!({"jsonrpc": "2.0", "id": "1", "result": {"task": 7}});
        let parsed = parse(&step(Operation::SendMessage, broken));
        assert!(parsed.is_err() || parsed.unwrap()["task"].is_null());
        assert!(parse(&step(Operation::GetTask, json!({"jsonrpc": "2.0"}))).is_err());
        assert!(parse(&step(Operation::GetAgentCard, json!([]))).is_err());
    }
}
