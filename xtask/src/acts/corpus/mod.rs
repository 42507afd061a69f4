//! The test cases as data: what a document of the suite says, checked while it is read. Owns the
//! grammar; knows no agent. `load` reads the files, `rewrite` mends what the grammar forbids.

mod expectation;
mod load;
mod rewrite;
mod step;

pub use expectation::*;
pub use load::{load, read_test};
pub use step::*;

use serde::Deserialize;
use serde_json::{Map, Value};
use std::fmt;

/// Everything one run can measure.
#[derive(Debug)]
pub struct Corpus {
    /// The `A2A-Version` of every operation.
    pub spec_version: String,
    /// Of the format.
    pub acts_version: String,
    /// In the order of the manifest.
    pub suites: Vec<Suite>,
    /// Of all documents together.
    pub variables: Map<String, Value>,
}

/// A named group of tests.
#[derive(Debug)]
pub struct Suite {
    /// Unique in the corpus.
    pub id: String,
    /// For people.
    pub name: String,
    /// In the order of the file.
    pub tests: Vec<Test>,
}

/// One case.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// Unique in the corpus.
    pub id: String,
    /// For people.
    pub name: String,
    /// How binding it is.
    pub level: Level,
    #[serde(default, rename = "description")]
    _description: Option<String>,
    #[serde(default, rename = "spec_ref")]
    _spec_ref: Option<String>,
    #[serde(default, rename = "origin")]
    _origin: Option<Value>,
    #[serde(default, rename = "tags")]
    _tags: Vec<String>,
    /// Bindings it is for; all when absent.
    #[serde(default)]
    pub transport: Option<Vec<Transport>>,
    /// What the agent has to declare; else the test is skipped.
    #[serde(default)]
    pub preconditions: Preconditions,
    /// Behaviours of the agent it calls by name.
    #[serde(default)]
    pub requires_behaviors: Vec<String>,
    /// What the runner has to be able to do.
    #[serde(default)]
    pub runner_requirements: Vec<String>,
    /// Run in order; the first that does not pass ends the test.
    pub steps: Vec<Step>,
    /// Run after the last step.
    #[serde(default)]
    pub assertions: Vec<Assertion>,
    /// The test as it stood after the rewrites, for errata to correct.
    #[serde(skip)]
    pub source: Value,
}

/// RFC 2119's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// A failure means that the agent does not conform.
    Must,
    /// Recommended.
    Should,
    /// Optional.
    May,
}

impl Level {
    /// In the order of the report.
    pub const ALL: [Self; 3] = [Self::Must, Self::Should, Self::May];
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Must => "must",
            Self::Should => "should",
            Self::May => "may",
        })
    }
}

/// A binding of A2A, by the suite's word for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// JSON-RPC 2.0 over HTTP.
    Jsonrpc,
    /// gRPC.
    Grpc,
    /// HTTP+JSON.
    Rest,
}

impl Transport {
    /// In the order they are run.
    pub const ALL: [Self; 3] = [Self::Jsonrpc, Self::Rest, Self::Grpc];

    /// Names of the binding on a card.
    #[must_use]
    pub fn card_names(self) -> &'static [&'static str] {
        match self {
            Self::Jsonrpc => &["JSONRPC"],
            Self::Grpc => &["GRPC"],
            Self::Rest => &["HTTP+JSON", "HTTP_JSON", "REST"],
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Jsonrpc => "jsonrpc",
            Self::Grpc => "grpc",
            Self::Rest => "rest",
        })
    }
}

/// What the agent's card has to say.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Preconditions {
    /// Expected values; a capability that the card does not name counts as false.
    pub capabilities: Map<String, Value>,
    /// Skills by id.
    pub skills: Vec<SkillWanted>,
    /// As the test's own `transport`.
    pub transport: Option<Vec<Transport>>,
    /// URIs.
    pub extensions: Vec<String>,
    /// Schemes and requirements are both on the card.
    pub authentication: Option<bool>,
    #[serde(rename = "description")]
    _description: Option<String>,
}

/// A skill a test needs.
#[derive(Clone, Debug, Deserialize)]
pub struct SkillWanted {
    /// As on the card.
    pub id: String,
}
