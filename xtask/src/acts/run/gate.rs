//! Which tests can run: step kinds, what the runner can do, what the card declares, which behaviours
//! the agent has. In this order.

use serde_json::Value;

use super::{Bench, Failure, Verdict};
use crate::acts::corpus::{Action, Preconditions, Test, Transport};
use crate::acts::sut::BEHAVIOURS;

/// What this runner can do.
const ABILITIES: [&str; 5] = [
    "webhook_endpoint",
    "concurrent_streams",
    "stream_disconnect",
    "auth_credentials",
    "header_inspection",
];

/// Whether `test` is for this binding at all.
#[must_use]
pub fn is_for(test: &Test, transport: Transport) -> bool {
    let lists = [&test.transport, &test.preconditions.transport];
    lists
        .into_iter()
        .flatten()
        .all(|list| list.contains(&transport))
}

/// The verdict on a test that cannot run; `None` when it can.
pub(super) fn check(bench: &Bench<'_>, test: &Test) -> Option<Verdict> {
    let raw = test
        .steps
        .iter()
        .any(|step| matches!(step.action, Action::Raw(_)));
    if raw && bench.peer.transport == Transport::Grpc {
        return Some(skip("raw steps speak HTTP"));
    }
    let ability = |wanted: &&String| !ABILITIES.contains(&wanted.as_str());
    if let Some(missing) = test.runner_requirements.iter().find(ability) {
        return Some(skip(&format!("the runner has no {missing}")));
    }
    if let Some(reason) = unmet(&test.preconditions, bench.card) {
        return Some(skip(&reason));
    }
    let behaviour = |wanted: &&String| !BEHAVIOURS.contains(&wanted.as_str());
    let missing = test.requires_behaviors.iter().find(behaviour)?;
    Some(Verdict::Fail(Failure {
        message: format!("the agent declares no behaviour {missing}"),
        ..Failure::default()
    }))
}

fn skip(reason: &str) -> Verdict {
    Verdict::Skip(reason.to_owned())
}

fn unmet(wanted: &Preconditions, card: &Value) -> Option<String> {
    for (name, expected) in &wanted.capabilities {
        let declared = card["capabilities"].get(name);
        if declared.unwrap_or(&Value::Bool(false)) != expected {
            return Some(format!("capabilities.{name} is not {expected}"));
        }
    }
    let holds = |list: &Value, key: &str, text: &str| {
        let all = list.as_array().into_iter().flatten();
        all.into_iter().any(|entry| entry[key] == text)
    };
    for skill in &wanted.skills {
        if !holds(&card["skills"], "id", &skill.id) {
            return Some(format!("no skill {}", skill.id));
        }
    }
    for uri in &wanted.extensions {
        if !holds(&card["capabilities"]["extensions"], "uri", uri) {
            return Some(format!("no extension {uri}"));
        }
    }
    let filled = |name: &str| match &card[name] {
        Value::Array(all) => !all.is_empty(),
        Value::Object(all) => !all.is_empty(),
        _ => false,
    };
    let authentication = filled("securitySchemes") && filled("securityRequirements");
    let wanted = wanted.authentication.unwrap_or(authentication);
    (wanted != authentication).then(|| format!("authentication on the card is {authentication}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_precondition_can_be_unmet() {
        let card = json!({
            "capabilities": {"streaming": true, "extensions": [{"uri": "u"}]},
            "skills": [{"id": "s"}],
            "securitySchemes": {"b": {}}, "securityRequirements": [{}],
        });
        let cases = [
            (
                json!({"capabilities": {"streaming": true}}),
                json!({"capabilities": {"streaming": false}}),
            ),
            (
                json!({"capabilities": {"pushNotifications": false}}),
                json!({"capabilities": {"pushNotifications": true}}),
            ),
            (
                json!({"skills": [{"id": "s"}]}),
                json!({"skills": [{"id": "t"}]}),
            ),
            (json!({"extensions": ["u"]}), json!({"extensions": ["v"]})),
            (
                json!({"authentication": true}),
                json!({"authentication": false}),
            ),
        ];
        for (met, not_met) in cases {
            let read = |form: Value| serde_json::from_value::<Preconditions>(form).unwrap();
            assert_eq!(unmet(&read(met), &card), None);
            assert!(unmet(&read(not_met.clone()), &card).is_some(), "{not_met}");
        }
    }
}
