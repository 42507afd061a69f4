//! Streams: counts, order of states, and matchers on events. An event is seen as the fields of its
//! payload together with its payload under its own name.

use serde_json::{Map, Value};

use super::{Checked, Mismatch, matcher};
use crate::acts::corpus::{ExpectStream, Ordering};

/// States after which nothing may come.
const TERMINAL: [&str; 4] = [
    "TASK_STATE_COMPLETED",
    "TASK_STATE_FAILED",
    "TASK_STATE_CANCELED",
    "TASK_STATE_REJECTED",
];

/// What the payload of an event can be, and the suite's word for it.
const PAYLOADS: [(&str, &str); 4] = [
    ("task", "task"),
    ("message", "message"),
    ("statusUpdate", "status_update"),
    ("artifactUpdate", "artifact_update"),
];

/// An event as tests look at it.
#[must_use]
pub fn view(event: &Value) -> Value {
    for (member, word) in PAYLOADS {
        let Some(payload) = event.get(member) else {
            continue;
        };
        let mut fields: Map<String, Value> = payload.as_object().cloned().unwrap_or_default();
        fields.insert(member.to_owned(), payload.clone());
        fields.insert(word.to_owned(), payload.clone());
        return Value::Object(fields);
    }
    event.clone()
}

/// The state an event tells of.
#[must_use]
pub fn state(event: &Value) -> Option<&str> {
    let payload = event.get("task").or_else(|| event.get("statusUpdate"))?;
    payload["status"]["state"].as_str()
}

/// Whether a task in this state is over.
#[must_use]
pub fn is_terminal(state: &str) -> bool {
    TERMINAL.contains(&state)
}

/// Checks a whole stream. `unwrapped`: the events of an operation; else those of a raw request,
/// which are looked at as they came.
///
/// # Errors
/// The first thing that does not fit.
pub fn check(expected: &ExpectStream, events: &[Value], unwrapped: bool) -> Checked {
    let seen: Vec<Value> = events
        .iter()
        .map(|event| {
            if unwrapped {
                view(event)
            } else {
                event.clone()
            }
        })
        .collect();
    let count = events.len();
    let all = || Value::Array(events.to_vec());
    if expected.min_count.is_some_and(|least| count < least) {
        let text = format!("only {count} events (min_count {:?})", expected.min_count);
        return Err(Mismatch::new("", text, Some(&all())));
    }
    if expected.max_count.is_some_and(|most| count > most) {
        let text = format!("{count} events (max_count {:?})", expected.max_count);
        return Err(Mismatch::new("", text, Some(&all())));
    }
    if expected.ordering == Some(Ordering::MonotonicState) {
        check_order(events)?;
    }
    if let Some(pattern) = &expected.each_event {
        if seen.is_empty() {
            return Err(Mismatch::new("", "no events (each_event)", None));
        }
        for (index, event) in seen.iter().enumerate() {
            matcher::check(pattern, Some(event), &format!("event[{index}]"))?;
        }
    }
    for (position, wanted) in expected.events.iter().enumerate() {
        check_event(wanted, position, &seen)?;
    }
    if let Some(pattern) = &expected.final_event {
        matcher::check(pattern, seen.last(), "final_event")?;
    }
    Ok(())
}

fn check_event(wanted: &Map<String, Value>, position: usize, seen: &[Value]) -> Checked {
    let mut pattern = wanted.clone();
    pattern.remove("description");
    let index = pattern.remove("index").and_then(|index| index.as_u64());
    let anywhere = pattern.get("match").and_then(Value::as_str) == Some("any_position");
    if anywhere {
        pattern.remove("match");
    }
    let pattern = Value::Object(pattern);
    if anywhere {
        let fits = |event| matcher::check(&pattern, Some(event), "").is_ok();
        if seen.iter().any(fits) {
            return Ok(());
        }
        let all = Value::Array(seen.to_vec());
        return Err(Mismatch::new("events", "no event fits", Some(&all)).wanted(&pattern));
    }
    let index = index.map_or(position, |index| {
        usize::try_from(index).unwrap_or(usize::MAX)
    });
    matcher::check(&pattern, seen.get(index), &format!("event[{index}]"))
}

fn check_order(events: &[Value]) -> Checked {
    let mut last: Option<&str> = None;
    for (index, event) in events.iter().enumerate() {
        let now = state(event);
        let place = format!("event[{index}]");
        match (last, now) {
            (Some(last), now) if is_terminal(last) && now != Some(last) => {
                let text = format!("something follows {last}");
                return Err(Mismatch::new(&place, text, Some(event)));
            }
            (Some(last), Some("TASK_STATE_SUBMITTED")) if last != "TASK_STATE_SUBMITTED" => {
                let text = format!("goes back from {last} to SUBMITTED");
                return Err(Mismatch::new(&place, text, Some(event)));
            }
            _ => {}
        }
        last = now.or(last);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn status(state: &str) -> Value {
        let state = format!("TASK_STATE_{state}");
        json!({"statusUpdate": {"taskId": "t", "status": {"state": state}}})
    }

    fn artifact() -> Value {
        json!({"artifactUpdate": {"taskId": "t", "artifact": {"artifactId": "a"}}})
    }

    fn fits(expected: Value, events: &[Value]) -> bool {
        check(&serde_json::from_value(expected).unwrap(), events, true).is_ok()
    }

    #[test]
    fn every_expectation_can_fail() {
        let good = [status("WORKING"), artifact(), status("COMPLETED")];
        let cases = [
            (json!({"min_count": 3}), json!({"min_count": 4})),
            (json!({"max_count": 3}), json!({"max_count": 2})),
            (
                json!({"final_event": {"status": {"state": "TASK_STATE_COMPLETED"}}}),
                json!({"final_event": {"status": {"state": "TASK_STATE_FAILED"}}}),
            ),
            (
                json!({"each_event": {"taskId": "t"}}),
                json!({"each_event": {"status": {"exists": true}}}),
            ),
            (
                json!({"events": [{"match": "any_position", "artifact": {"exists": true}}]}),
                json!({"events": [{"match": "any_position", "message": {"exists": true}}]}),
            ),
            (
                json!({"events": [{"index": 1, "description": "d", "artifact_update": {"exists": true}}]}),
                json!({"events": [{"index": 2, "artifact_update": {"exists": true}}]}),
            ),
            (
                json!({"events": [{"status_update": {}}, {"artifact": {}}]}),
                json!({"events": [{"artifact": {}}, {"status": {}}]}),
            ),
        ];
        for (right, wrong) in cases {
            assert!(fits(right.clone(), &good), "{right}");
            assert!(!fits(wrong.clone(), &good), "{wrong}");
        }
        assert!(!fits(json!({"each_event": {}}), &[]));
        assert!(!fits(json!({"final_event": {}}), &[]));
    }

    #[test]
    fn states_only_go_forward() {
        let ordered = json!({"ordering": "monotonic_state"});
        let good = [
            status("SUBMITTED"),
            status("SUBMITTED"),
            status("WORKING"),
            artifact(),
        ];
        assert!(fits(ordered.clone(), &good));
        assert!(fits(
            ordered.clone(),
            &[status("COMPLETED"), status("COMPLETED")]
        ));
        let bad = [
            [status("WORKING"), status("SUBMITTED")],
            [status("COMPLETED"), artifact()],
            [status("COMPLETED"), status("WORKING")],
        ];
        for events in bad {
            assert!(!fits(ordered.clone(), &events), "{events:?}");
        }
    }

    #[test]
    fn raw_events_are_not_unwrapped() {
        let expected = serde_json::from_value(json!({"each_event": {"jsonrpc": "2.0"}})).unwrap();
        let event = json!({"jsonrpc": "2.0", "result": {"task": {}}});
        assert_eq!(
            check(&expected, std::slice::from_ref(&event), false),
            Ok(())
        );
        assert!(check(&expected, &[json!({"task": {}})], false).is_err());
    }
}
