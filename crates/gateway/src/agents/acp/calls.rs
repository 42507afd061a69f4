//! What was told of the tools in use: a request for permission may name a call only by its id.

use serde_json::Value;
use std::collections::VecDeque;

/// Calls that are remembered; an agent asks about one of its last.
const MAX_CALLS: usize = 64;
/// Bytes of a title that is remembered (4 KiB).
const MAX_TITLE_BYTES: usize = 4 * 1024;
/// What is told of a call and may be left out later.
const MEMBERS: [&str; 2] = ["title", "kind"];

/// The last calls of a prompt, by their ids.
#[derive(Debug, Default)]
pub(super) struct Calls(VecDeque<(String, [Option<String>; 2])>);

impl Calls {
    /// Remembers what the parameters of a `session/update` tell of a call.
    pub(super) fn note(&mut self, params: &Value) {
        let update = &params["update"];
        let is_call = matches!(
            update["sessionUpdate"].as_str(),
            Some("tool_call" | "tool_call_update")
        );
        let Some(id) = update["toolCallId"].as_str().filter(|_| is_call) else {
            return;
        };
        let known = self.0.iter().position(|(it, _)| it == id);
        let known = known.and_then(|at| self.0.remove(at));
        let (id, mut told) = known.unwrap_or_else(|| (id.to_owned(), [None, None]));
        for (member, told) in MEMBERS.into_iter().zip(&mut told) {
            if let Some(text) = update[member].as_str() {
                *told = (text.len() <= MAX_TITLE_BYTES).then(|| text.to_owned());
            }
        }
        if self.0.len() >= MAX_CALLS {
            self.0.pop_front();
        }
        self.0.push_back((id, told));
    }

    /// Adds to a call what was told of it before and is not said again.
    pub(super) fn complete(&self, call: &mut Value) {
        let Some(call) = call.as_object_mut() else {
            return;
        };
        let id = call.get("toolCallId").and_then(Value::as_str);
        let Some((_, told)) = self.0.iter().find(|(it, _)| Some(&**it) == id) else {
            return;
        };
        for (member, told) in MEMBERS.into_iter().zip(told) {
            let is_said = call.get(member).is_some_and(|it| !it.is_null());
            if let Some(told) = told.as_ref().filter(|_| !is_said) {
                call.insert(member.to_owned(), told.as_str().into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(calls: &mut Calls, mut update: Value) {
        update["sessionUpdate"] = "tool_call".into();
        calls.note(&json!({ "update": update }));
    }

    fn completed(calls: &Calls, mut call: Value) -> Value {
        calls.complete(&mut call);
        call
    }

    #[test]
    fn what_is_not_said_again_is_known_from_before() {
        let mut calls = Calls::default();
        told(
            &mut calls,
            json!({ "toolCallId": "a", "title": "first", "kind": "execute" }),
        );
        told(
            &mut calls,
            json!({ "toolCallId": "a", "title": "git status" }),
        );
        told(
            &mut calls,
            json!({ "toolCallId": "b", "title": "x".repeat(MAX_TITLE_BYTES + 1) }),
        );
        assert_eq!(
            completed(&calls, json!({ "toolCallId": "a", "kind": null })),
            json!({ "toolCallId": "a", "title": "git status", "kind": "execute" })
        );
        let said = json!({ "toolCallId": "a", "title": "other", "kind": "read" });
        assert_eq!(completed(&calls, said.clone()), said);
        for unknown in [
            json!({ "toolCallId": "b" }),
            json!({ "toolCallId": "c" }),
            json!(1),
        ] {
            assert_eq!(completed(&calls, unknown.clone()), unknown);
        }
        for number in 0..MAX_CALLS {
            told(
                &mut calls,
                json!({ "toolCallId": number.to_string(), "kind": "read" }),
            );
        }
        let forgotten = json!({ "toolCallId": "a" });
        assert_eq!(completed(&calls, forgotten.clone()), forgotten);
    }
}
