//! What a run found: the lines at the terminal and the JSON report of one binding.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use super::corpus::{Level, Test, Transport};
use super::errata::{self, Erratum};
use super::run::{Failure, Outcome, Verdict};
use super::sut::Profile;

/// One test with both verdicts.
#[derive(Debug)]
pub struct Judged {
    /// Which suite it belongs to, by id and name.
    pub suite: (String, String),
    /// Id, name and level.
    pub test: (String, String, Level),
    /// As the test should be.
    pub corrected: Outcome,
    /// As the test stands, where an erratum changes it.
    pub raw: Option<(Outcome, &'static Erratum)>,
    /// How the agent was started.
    pub profile: Profile,
}

impl Judged {
    /// A test without a run yet.
    #[must_use]
    pub fn new(suite: (&str, &str), test: &Test, profile: Profile, corrected: Outcome) -> Self {
        Self {
            suite: (suite.0.to_owned(), suite.1.to_owned()),
            test: (test.id.clone(), test.name.clone(), test.level),
            corrected,
            raw: None,
            profile,
        }
    }

    fn raw(&self) -> &Outcome {
        self.raw.as_ref().map_or(&self.corrected, |(raw, _)| raw)
    }

    fn differs(&self) -> bool {
        self.raw().verdict.word() != self.corrected.verdict.word()
    }

    /// Passed or does not apply.
    fn is_fine(&self) -> bool {
        matches!(self.corrected.verdict, Verdict::Pass | Verdict::Skip(_))
    }

    /// A line for people; several when it failed.
    #[must_use]
    pub fn lines(&self) -> String {
        let word = self.corrected.verdict.word();
        let (id, name, level) = &self.test;
        let mut text = format!("  {word:5} {level:6} {id:18} {name}");
        if let Some((raw, erratum)) = self.raw.as_ref().filter(|_| self.differs()) {
            let raw = raw.verdict.word();
            let _ = write!(text, "\n        as it stands: {raw}; {}", erratum.reason);
        }
        match &self.corrected.verdict {
            Verdict::Skip(reason) => {
                let _ = write!(text, "\n        {reason}");
            }
            Verdict::Fail(failure) | Verdict::Error(failure) => {
                let _ = write!(text, "\n        {}", told(failure));
            }
            Verdict::Pass => {}
        }
        text
    }

    /// Whether the line is shown without `--verbose`.
    #[must_use]
    pub fn is_worth_telling(&self) -> bool {
        !self.is_fine() || self.differs()
    }

    fn json(&self) -> Value {
        let (id, name, level) = &self.test;
        let verdict = &self.corrected.verdict;
        let mut entry = json!({
            "id": id,
            "name": name,
            "level": level.to_string(),
            "result": verdict.word(),
            "raw_result": self.raw().verdict.word(),
            "duration_ms": millis(self.corrected.took),
            "configuration": self.profile.backend(),
            "steps": self.corrected.steps.iter()
                .map(|(id, result)| json!({"id": id, "result": result}))
                .collect::<Vec<_>>(),
        });
        if let Some((_, erratum)) = &self.raw {
            entry["erratum"] = json!(erratum.reason);
        }
        match verdict {
            Verdict::Skip(reason) => entry["skip_reason"] = json!(reason),
            Verdict::Fail(failure) | Verdict::Error(failure) => {
                entry["failure"] = json!({
                    "message": failure.message,
                    "step_id": failure.step,
                    "assertion_path": failure.path,
                    "expected": failure.expected,
                    "actual": failure.actual,
                });
            }
            Verdict::Pass => {}
        }
        entry
    }
}

fn told(failure: &Failure) -> String {
    let mut text = failure.message.clone();
    if let Some(step) = &failure.step {
        text = format!("step {step}: {text}");
    }
    if !failure.path.is_empty() {
        let _ = write!(text, ", at {}", failure.path);
    }
    if !failure.expected.is_null() {
        let _ = write!(text, "; expected {}", failure.expected);
    }
    if let Some(actual) = &failure.actual {
        let _ = write!(text, "; there is {actual}");
    }
    text
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Passed, failed (errors among them) and skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    passed: usize,
    failed: usize,
    errors: usize,
    skipped: usize,
}

impl Count {
    fn of<'o>(outcomes: impl Iterator<Item = &'o Outcome>) -> Self {
        let mut count = Self::default();
        for outcome in outcomes {
            match outcome.verdict {
                Verdict::Pass => count.passed += 1,
                Verdict::Skip(_) => count.skipped += 1,
                Verdict::Fail(_) => count.failed += 1,
                Verdict::Error(_) => count.errors += 1,
            }
        }
        count
    }

    fn bad(self) -> usize {
        self.failed + self.errors
    }

    fn json(self) -> Value {
        json!({
            "total": self.passed + self.bad() + self.skipped,
            "passed": self.passed,
            "failed": self.failed,
            "skipped": self.skipped,
            "errors": self.errors,
        })
    }
}

/// Everything found over one binding.
#[derive(Debug)]
pub struct Report {
    /// Which binding.
    pub transport: Transport,
    /// In the order of the corpus.
    pub judged: Vec<Judged>,
    /// Of the whole run.
    pub took: Duration,
}

impl Report {
    fn corrected(&self, level: Option<Level>) -> Count {
        let of_level = |it: &&Judged| level.is_none_or(|level| it.test.2 == level);
        Count::of(self.judged.iter().filter(of_level).map(|it| &it.corrected))
    }

    /// Whether every test passed or does not apply.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        !self.judged.is_empty() && self.judged.iter().all(Judged::is_fine)
    }

    /// The one line of the binding.
    #[must_use]
    pub fn line(&self) -> String {
        let mut text = format!("{:7}", self.transport);
        for level in Level::ALL {
            let count = self.corrected(Some(level));
            let (passed, bad, skipped) = (count.passed, count.bad(), count.skipped);
            let _ = write!(
                text,
                "  {level} {passed} passed, {bad} failed, {skipped} skipped;"
            );
        }
        let raw = Count::of(self.judged.iter().map(Judged::raw));
        let _ = write!(
            text,
            "  without errata {} of {} passed",
            raw.passed,
            self.judged.len()
        );
        text
    }

    /// The report as JSON. `versions`: of the format and the specification.
    #[must_use]
    pub fn json(&self, versions: (&str, &str), generated_at: &str) -> Value {
        let mut suites: Vec<Value> = Vec::new();
        for judged in &self.judged {
            let (id, name) = &judged.suite;
            if suites.last().is_none_or(|suite| suite["id"] != *id) {
                suites.push(json!({"id": id, "name": name, "tests": []}));
            }
            let tests = suites
                .last_mut()
                .and_then(|suite| suite["tests"].as_array_mut());
            tests.expect("a suite was just there").push(judged.json());
        }
        let mut summary = self.corrected(None).json();
        summary["duration_ms"] = json!(millis(self.took));
        for level in Level::ALL {
            summary["by_level"][level.to_string()] = self.corrected(Some(level)).json();
        }
        json!({
            "acts_version": versions.0,
            "spec_version": versions.1,
            "generated_at": generated_at,
            "sdk": {
                "name": "nuncio",
                "version": env!("CARGO_PKG_VERSION"),
                "language": "rust",
                "repository": env!("CARGO_PKG_REPOSITORY"),
            },
            "transport": self.transport.to_string(),
            "environment": {"os": std::env::consts::OS, "arch": std::env::consts::ARCH},
            "summary": summary,
            "raw_summary": Count::of(self.judged.iter().map(Judged::raw)).json(),
            "errata": errata::table(),
            "suites": suites,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(verdict: Verdict) -> Outcome {
        Outcome {
            verdict,
            took: Duration::from_millis(3),
            steps: vec![("s".to_owned(), "pass")],
        }
    }

    fn judged(id: &str, level: Level, verdict: Verdict) -> Judged {
        Judged {
            suite: ("a".to_owned(), "A".to_owned()),
            test: (id.to_owned(), "name".to_owned(), level),
            corrected: outcome(verdict),
            raw: None,
            profile: Profile::Default,
        }
    }

    fn report(judged: Vec<Judged>) -> Report {
        Report {
            transport: Transport::Rest,
            judged,
            took: Duration::from_secs(1),
        }
    }

    #[test]
    fn the_line_counts_by_level_and_a_failure_of_any_level_is_not_clean() {
        let mut corrected = judged("A", Level::Must, Verdict::Pass);
        corrected.raw = errata::about("CORE-ERR-007")
            .map(|erratum| (outcome(Verdict::Fail(Failure::default())), erratum));
        let skipped = judged("B", Level::Should, Verdict::Skip("no".to_owned()));
        let clean = report(vec![corrected, skipped]);
        assert!(clean.is_clean());
        let line = clean.line();
        assert!(
            line.contains("must 1 passed, 0 failed, 0 skipped"),
            "{line}"
        );
        assert!(
            line.contains("should 0 passed, 0 failed, 1 skipped"),
            "{line}"
        );
        assert!(line.contains("without errata 0 of 2 passed"), "{line}");
        for verdict in [
            Verdict::Fail(Failure::default()),
            Verdict::Error(Failure::default()),
        ] {
            assert!(!report(vec![judged("C", Level::May, verdict)]).is_clean());
        }
        assert!(!report(Vec::new()).is_clean(), "no test is no proof");
    }

    #[test]
    fn the_report_names_the_failure_and_both_verdicts() {
        let failure = Failure {
            message: "is missing".to_owned(),
            step: Some("s".to_owned()),
            path: "task.id".to_owned(),
            ..Failure::default()
        };
        let mut wrong = judged("A", Level::Must, Verdict::Fail(failure));
        wrong.raw = errata::about("CORE-ERR-007").map(|erratum| (outcome(Verdict::Pass), erratum));
        assert!(wrong.is_worth_telling());
        assert!(wrong.lines().contains("step s: is missing, at task.id"));
        let json = report(vec![wrong]).json(("1.0", "1.0"), "now");
        let test = &json["suites"][0]["tests"][0];
        assert_eq!(test["result"], "fail");
        assert_eq!(test["raw_result"], "pass");
        assert_eq!(test["failure"]["assertion_path"], "task.id");
        assert_eq!(json["summary"]["by_level"]["must"]["failed"], 1);
    }
}
