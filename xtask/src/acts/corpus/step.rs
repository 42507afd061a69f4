//! Steps: the kinds of things a test does, with what it expects of each.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::expectation::{Assertion, Expect, ExpectError, ExpectStream, ExpectWebhook};

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
