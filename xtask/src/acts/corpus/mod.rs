//! The test cases as data: what a document of the suite says, checked while it is read. Owns the
//! grammar; knows no agent. `load` reads the files, `rewrite` mends what the grammar forbids.

mod load;
mod rewrite;

pub use load::{load, read_test};

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

/// One thing to do or to look at.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "StepForm")]
pub struct Step {
    /// Unique in the test.
    pub id: String,
    /// What is done.
    pub action: Action,
    /// Of the answer.
    pub expect: Option<Expect>,
    /// The call must fail, and so.
    pub expect_error: Option<ExpectError>,
    /// Of the stream.
    pub expect_stream: Option<ExpectStream>,
    /// Name to path in the answer.
    pub capture: Map<String, Value>,
    /// Checked after the step.
    pub assertions: Vec<Assertion>,
    /// Asks again until a condition holds.
    pub repeat: Option<Repeat>,
    /// Pause before the step.
    pub delay_ms: u64,
}

/// The kinds of steps.
#[derive(Clone, Debug)]
pub enum Action {
    /// An operation of A2A, by whatever binding is measured.
    Operation(Operation, Value),
    /// Bytes over HTTP.
    Raw(RawRequest),
    /// nuncio's own client reads this.
    Client(ClientResponse),
    /// Looks at earlier answers only.
    Assertion(Assertion),
    /// Looks at what the webhook receiver got.
    Webhook(ExpectWebhook),
}

/// Everything a step may say.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StepForm {
    id: String,
    #[serde(default, rename = "description")]
    _description: Option<String>,
    #[serde(default)]
    operation: Option<Operation>,
    #[serde(default)]
    params: Option<Value>,
    #[serde(default)]
    raw: Option<RawRequest>,
    #[serde(default)]
    client_response: Option<ClientResponse>,
    #[serde(default)]
    expect_parsed: Option<Value>,
    #[serde(default)]
    assertion: Option<Assertion>,
    #[serde(default)]
    expect_webhook: Option<ExpectWebhook>,
    #[serde(default)]
    expect: Option<Expect>,
    #[serde(default)]
    expect_error: Option<ExpectError>,
    #[serde(default)]
    expect_stream: Option<ExpectStream>,
    #[serde(default)]
    capture: Map<String, Value>,
    #[serde(default)]
    assertions: Vec<Assertion>,
    #[serde(default)]
    repeat: Option<Repeat>,
    #[serde(default)]
    delay_ms: u64,
}

impl TryFrom<StepForm> for Step {
    type Error = String;

    fn try_from(form: StepForm) -> Result<Self, String> {
        let id = form.id;
        let mut actions = Vec::new();
        if let Some(operation) = form.operation {
            let params = form.params.unwrap_or_else(|| Value::Object(Map::new()));
            actions.push(Action::Operation(operation, params));
        }
        actions.extend(form.raw.map(Action::Raw));
        if let Some(mut client) = form.client_response {
            client.expect_parsed = form
                .expect_parsed
                .ok_or_else(|| format!("step {id}: client_response needs expect_parsed"))?;
            actions.push(Action::Client(client));
        }
        actions.extend(form.assertion.map(Action::Assertion));
        actions.extend(form.expect_webhook.map(Action::Webhook));
        if actions.len() != 1 {
            return Err(format!("step {id} does {} things, not one", actions.len()));
        }
        if form.expect_error.is_some() && form.expect.as_ref().is_some_and(|it| it.body.is_some()) {
            return Err(format!("step {id} expects both an error and a body"));
        }
        Ok(Self {
            id,
            action: actions.remove(0),
            expect: form.expect,
            expect_error: form.expect_error,
            expect_stream: form.expect_stream,
            capture: form.capture,
            assertions: form.assertions,
            repeat: form.repeat,
            delay_ms: form.delay_ms,
        })
    }
}

/// Operations by the suite's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // each is the operation of its name
pub enum Operation {
    SendMessage,
    SendStreamingMessage,
    GetTask,
    ListTasks,
    CancelTask,
    SubscribeToTask,
    GetAgentCard,
    GetExtendedAgentCard,
    CreatePushConfig,
    GetPushConfig,
    ListPushConfigs,
    DeletePushConfig,
}

impl Operation {
    /// Whether its answer is a stream.
    #[must_use]
    pub fn streams(self) -> bool {
        matches!(self, Self::SendStreamingMessage | Self::SubscribeToTask)
    }

    /// Its name in JSON-RPC and gRPC. The public card is fetched over plain HTTP instead.
    #[must_use]
    pub fn method(self) -> &'static str {
        match self {
            Self::SendMessage => "SendMessage",
            Self::SendStreamingMessage => "SendStreamingMessage",
            Self::GetTask => "GetTask",
            Self::ListTasks => "ListTasks",
            Self::CancelTask => "CancelTask",
            Self::SubscribeToTask => "SubscribeToTask",
            Self::GetAgentCard | Self::GetExtendedAgentCard => "GetExtendedAgentCard",
            Self::CreatePushConfig => "CreateTaskPushNotificationConfig",
            Self::GetPushConfig => "GetTaskPushNotificationConfig",
            Self::ListPushConfigs => "ListTaskPushNotificationConfigs",
            Self::DeletePushConfig => "DeleteTaskPushNotificationConfig",
        }
    }
}

/// A request given in bytes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawRequest {
    /// GET, POST, …
    pub method: String,
    /// Relative to the binding's own URL.
    pub path: String,
    /// Sent as they stand.
    #[serde(default)]
    pub headers: Map<String, Value>,
    /// JSON.
    #[serde(default)]
    pub body: Option<Value>,
    /// Text, where JSON will not do.
    #[serde(default)]
    pub body_raw: Option<String>,
}

/// What a client is given to read.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientResponse {
    /// Which answer it is.
    pub operation: Operation,
    /// The answer.
    pub wire_payload: Value,
    /// What the client has to understand.
    #[serde(skip)]
    pub expect_parsed: Value,
}

/// Of an answer.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// Matcher on the HTTP status.
    #[serde(default)]
    pub status: Option<Value>,
    /// Header to matcher.
    #[serde(default)]
    pub headers: Option<Map<String, Value>>,
    /// Matcher on the answer.
    #[serde(default)]
    pub body: Option<Value>,
}

/// Of a refusal.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExpectError {
    /// Matcher on the error's name.
    pub error_type: Option<Value>,
    /// Matcher on its message.
    pub message: Option<Value>,
    /// Matcher on JSON-RPC's `error.data`, else on the list of details.
    pub data: Option<Value>,
    /// Matcher on its ErrorInfo.
    pub details: Option<Value>,
}

/// Of a stream.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExpectStream {
    /// Fewest events.
    pub min_count: Option<usize>,
    /// Most events.
    pub max_count: Option<usize>,
    /// For the whole stream.
    pub timeout_ms: Option<u64>,
    /// A rule on the order of states.
    pub ordering: Option<Ordering>,
    /// Matchers with where they apply.
    pub events: Vec<Map<String, Value>>,
    /// Matcher on the last one.
    pub final_event: Option<Value>,
    /// Matcher on all of them.
    pub each_event: Option<Value>,
}

/// A rule on the order of states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ordering {
    /// Nothing moves back to SUBMITTED, nothing follows a terminal state.
    MonotonicState,
}

/// Of the webhook receiver.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectWebhook {
    /// Fewest deliveries.
    #[serde(default = "one")]
    pub min_count: usize,
    /// How long they may take.
    #[serde(default)]
    pub timeout_ms: Option<u64>,
    /// Matcher on each body.
    #[serde(default)]
    pub each_event: Option<Value>,
    /// Matcher on the last body.
    #[serde(default)]
    pub final_event: Option<Value>,
    /// Header to matcher, for each.
    #[serde(default)]
    pub headers: Option<Map<String, Value>>,
    /// Matcher on `X-A2A-Notification-Token`.
    #[serde(default)]
    pub token: Option<Value>,
}

fn one() -> usize {
    1
}

/// A look at an earlier answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assertion {
    /// A reference to the answer.
    pub source: Value,
    /// Where in it.
    #[serde(default)]
    pub path: Option<String>,
    /// Matcher on what is there.
    #[serde(default, rename = "match")]
    pub matches: Option<Value>,
    /// At least one of them.
    #[serde(default)]
    pub any: Option<Collection>,
    /// Each of them.
    #[serde(default)]
    pub all: Option<Collection>,
    /// None of them.
    #[serde(default)]
    pub none: Option<Collection>,
}

/// Values that a path reaches, and a matcher on them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Collection {
    /// May hold `[*]`.
    pub path: String,
    /// Matcher on one value.
    #[serde(rename = "match")]
    pub matches: Value,
}

/// How often and how long something is asked again.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repeat {
    /// `path == v`, `path != v` or `path in [a, b]`.
    pub until: String,
    /// Then the step fails.
    #[serde(default = "ten")]
    pub max_attempts: u32,
    /// Between two of them.
    #[serde(default = "second")]
    pub delay_ms: u64,
    /// How the pause grows.
    #[serde(default)]
    pub backoff: Backoff,
}

/// How the pause between attempts grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backoff {
    /// Not at all.
    #[default]
    None,
    /// By its first length each time.
    Linear,
    /// Doubles.
    Exponential,
}

fn ten() -> u32 {
    10
}

fn second() -> u64 {
    1000
}
