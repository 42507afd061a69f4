//! Runs tests against one agent over one binding. `gate` says which can run, `step` does what a
//! step says, `special` what prose alone asks for. Owns verdicts; prints nothing.

mod gate;
mod special;
mod step;
#[cfg(test)]
mod tests;

pub use gate::is_for;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use super::bindings::{Answer, Peer, Trouble};
use super::checks::{Mismatch, assertion};
use super::corpus::{Assertion, Test};
use super::sut::{INSUFFICIENT_TOKEN, Profile};
use super::variables::Scope;
use super::webhook::Receiver;

/// A task that was never issued; the runner has no second user whose task it could name.
const OTHER_USERS_TASK: &str = "00000000-0000-0000-0000-0000000000ff";

/// How a test ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// As expected.
    Pass,
    /// Does not apply, and why.
    Skip(String),
    /// The agent answered wrongly.
    Fail(Failure),
    /// The run broke.
    Error(Failure),
}

impl Verdict {
    /// The report's word.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Skip(_) => "skip",
            Self::Fail(_) => "fail",
            Self::Error(_) => "error",
        }
    }
}

/// What went wrong and where.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Failure {
    /// For people.
    pub message: String,
    /// In which step.
    pub step: Option<String>,
    /// Where in its answer.
    pub path: String,
    /// What was asked for.
    pub expected: Value,
    /// What was there.
    pub actual: Option<Value>,
}

/// Why a test goes no further.
#[derive(Debug)]
enum Stop {
    Fail(Box<Failure>),
    Error(Box<Failure>),
}

impl From<Mismatch> for Stop {
    fn from(mismatch: Mismatch) -> Self {
        Self::Fail(Box::new(Failure {
            message: mismatch.message,
            path: mismatch.path,
            expected: mismatch.expected,
            actual: mismatch.actual,
            step: None,
        }))
    }
}

impl From<Trouble> for Stop {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Shape(text) => Self::fail(text),
            Trouble::Broken(text) => Self::error(text),
        }
    }
}

impl Stop {
    fn fail(message: impl Into<String>) -> Self {
        let message = message.into();
        Self::Fail(Box::new(Failure {
            message,
            ..Failure::default()
        }))
    }

    fn error(message: impl Into<String>) -> Self {
        let message = message.into();
        Self::Error(Box::new(Failure {
            message,
            ..Failure::default()
        }))
    }

    fn in_step(mut self, id: &str) -> Self {
        let (Self::Fail(failure) | Self::Error(failure)) = &mut self;
        failure.step.get_or_insert_with(|| id.to_owned());
        self
    }
}

/// One test that was run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it ended.
    pub verdict: Verdict,
    /// How long it took.
    pub took: Duration,
    /// The steps that were begun, with how they ended.
    pub steps: Vec<(String, &'static str)>,
}

/// Everything tests run against.
#[derive(Debug)]
pub struct Bench<'b> {
    /// The agent.
    pub peer: Peer,
    /// Its public card.
    pub card: &'b Value,
    /// How it was started.
    pub profile: Profile,
    /// Of all documents.
    pub variables: &'b Map<String, Value>,
    /// Where it may push to.
    pub receiver: &'b Receiver,
}

/// One test while it runs.
struct Scene<'b> {
    bench: &'b Bench<'b>,
    scope: Scope,
    answers: HashMap<String, Answer>,
    inbox: String,
}

impl Bench<'_> {
    /// Runs one test that is for this binding.
    pub async fn run(&self, test: &Test) -> Outcome {
        let began = Instant::now();
        let mut steps = Vec::new();
        let verdict = match gate::check(self, test) {
            Some(verdict) => verdict,
            None => match self.play(test, &mut steps).await {
                Ok(()) => Verdict::Pass,
                Err(Stop::Fail(failure)) => Verdict::Fail(*failure),
                Err(Stop::Error(failure)) => Verdict::Error(*failure),
            },
        };
        Outcome {
            verdict,
            took: began.elapsed(),
            steps,
        }
    }

    async fn play(&self, test: &Test, steps: &mut Vec<(String, &'static str)>) -> Result<(), Stop> {
        let mut scene = Scene::new(self, &test.id);
        special::before(&scene, test);
        for step in &test.steps {
            let done = scene.step(step).await;
            steps.push((step.id.clone(), if done.is_ok() { "pass" } else { "fail" }));
            done.map_err(|stop| stop.in_step(&step.id))?;
        }
        for assertion in &test.assertions {
            scene.assert(assertion)?;
        }
        special::after(&mut scene, test)
            .await
            .map_err(|stop| stop.in_step("special"))
    }
}

impl<'b> Scene<'b> {
    fn new(bench: &'b Bench<'b>, test: &str) -> Self {
        let inbox = format!("{test}-{}", uuid::Uuid::new_v4());
        let mut variables = bench.variables.clone();
        let own = [
            ("insufficientAuthToken", INSUFFICIENT_TOKEN.to_owned()),
            ("otherUserTaskId", OTHER_USERS_TASK.to_owned()),
            ("webhookUrl", bench.receiver.url(&inbox)),
        ];
        for (name, value) in own {
            variables.insert(name.to_owned(), Value::String(value));
        }
        Self {
            bench,
            scope: Scope::new(variables),
            answers: HashMap::new(),
            inbox,
        }
    }

    fn fill(&self, value: &Value) -> Result<Value, Stop> {
        self.scope.fill(value).map_err(Stop::error)
    }

    fn assert(&self, wanted: &Assertion) -> Result<(), Stop> {
        let source = self.fill(&wanted.source)?;
        let mut wanted = wanted.clone();
        if let Some(pattern) = &mut wanted.matches {
            *pattern = self.fill(pattern)?;
        }
        let collections = [&mut wanted.any, &mut wanted.all, &mut wanted.none];
        for collection in collections.into_iter().flatten() {
            collection.matches = self.fill(&collection.matches)?;
        }
        Ok(assertion::check(&wanted, &source)?)
    }
}
