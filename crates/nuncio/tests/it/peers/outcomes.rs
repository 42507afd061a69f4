//! What a client script printed: the outcome of each step, and what it found wrong on the wire.

use std::process::Command;

use serde_json::Value;

/// The one JSON object of a client script.
pub(super) struct Outcomes {
    printed: Value,
}

impl Outcomes {
    /// Runs the script to its end.
    pub(super) fn of(command: &mut Command) -> Outcomes {
        let output = command.output().expect("the script starts");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "{command:?}: {}\n{complaint}",
            output.status
        );
        let printed = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {:?}\n{complaint}", output.stdout));
        Outcomes { printed }
    }

    /// What a step gave; fails with the trace of what it raised.
    pub(super) fn step(&self, name: &str) -> &Value {
        let step = &self.printed["steps"][name];
        let gave = step.get("gave");
        gave.unwrap_or_else(|| match step["trace"].as_str() {
            Some(trace) => panic!("step `{name}`: {} at\n{trace}", step["raised"]),
            None => panic!("there was no step `{name}`: {}", self.printed),
        })
    }

    pub(super) fn has_step(&self, name: &str) -> bool {
        self.printed["steps"].get(name).is_some()
    }

    /// What was wrong with the raw answers.
    pub(super) fn complaints(&self) -> Vec<&str> {
        let complaints = self.printed["complaints"].as_array().expect("a list");
        complaints.iter().filter_map(Value::as_str).collect()
    }
}
