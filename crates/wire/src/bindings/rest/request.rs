//! Requests: the parts that stand in path, query and body, put together and taken apart.

use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;

use super::form::Form;
use super::path::{Resource, Verb, encode};
use super::query;
use crate::dialects::{Dialect, hermes_fleet, v0_3};
use crate::error::{A2aError, ErrorKind, FieldViolation};
use crate::json::is_deeper_than;
use crate::limits::MAX_JSON_DEPTH;
use crate::operation::{Method, Request, SendMessageConfiguration, SendMessageRequest};

/// Where the parameters are that the path does not hold.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// In the query of a GET or DELETE, without its question mark.
    Query(Option<&'a str>),
    /// In the body of a POST.
    Body(&'a [u8]),
}

/// Reads and validates a request in `dialect`, which is V1 or V0_3. What path and body both say must
/// agree; in 0.3, whose bodies name resources in several ways, the path has the word.
///
/// The form is that of the answer. Errors are those of [`Dialect::read_request`], and InvalidRequest
/// for a body that is JSON but no object.
pub fn read_request(
    dialect: Dialect,
    method: Method,
    resource: &Resource<'_>,
    tenant: Option<&str>,
    input: Input<'_>,
) -> Result<(Request, Form), A2aError> {
    read_request_with(dialect, method, resource, tenant, input, None)
}

/// The same, but a sent message without a `messageId` gets this one.
pub fn read_request_with(
    dialect: Dialect,
    method: Method,
    resource: &Resource<'_>,
    tenant: Option<&str>,
    input: Input<'_>,
    message_id: Option<&str>,
) -> Result<(Request, Form), A2aError> {
    let mut form = Form::of(dialect);
    let params = match input {
        Input::Query(query) => query.map(query::read).transpose()?.map(Cow::Owned),
        Input::Body(body) => read_body(method, body)?.map(Cow::Borrowed),
    };
    let params = params.as_deref();
    let mut request = dialect
        .read_partial(method, params)
        .map_err(|error| blame_the_worse(error, params))?;
    if dialect == Dialect::V0_3 && matches!(input, Input::Body(_)) {
        if params.is_some_and(v0_3::is_text_form) {
            form = Form::V0_3Text;
        } else {
            v0_3::settle_request(params.unwrap_or_default(), &mut request);
        }
    }
    let mut violations = Vec::new();
    let mut path = Path {
        wins: dialect == Dialect::V0_3,
        violations: &mut violations,
    };
    path.fill(&mut request, resource, tenant);
    if !violations.is_empty() {
        return Err(A2aError::invalid_params(violations));
    }
    request.offer_message_id(message_id);
    dialect.validate(&request)?;
    Ok((request, form))
}

/// The text of a body that must be one JSON object, or may be nothing where all parameters can
/// stand in the path.
fn read_body(method: Method, body: &[u8]) -> Result<Option<&str>, A2aError> {
    let refused = |what| {
        A2aError::new(
            ErrorKind::ParseError,
            format!("Invalid JSON payload: {what}"),
        )
    };
    let text = std::str::from_utf8(body).map_err(|_| refused("the body is not UTF-8"))?;
    let text = text.trim_ascii();
    if is_deeper_than(text, MAX_JSON_DEPTH) {
        return Err(refused("nested too deeply"));
    }
    match text.as_bytes().first() {
        Some(b'{') => Ok(Some(text)),
        None if matches!(method, Method::CancelTask | Method::SubscribeToTask) => Ok(None),
        None => Err(refused("the body is empty")),
        Some(_) if is_json(text) => {
            let text = "Invalid request: the body must be one JSON object";
            Err(A2aError::new(ErrorKind::InvalidRequest, text))
        }
        Some(_) => Err(refused("the body is not one JSON object")),
    }
}

/// The reader stops at the first wrong member; a body that is no JSON at all is the worse fault.
fn blame_the_worse(error: A2aError, params: Option<&str>) -> A2aError {
    if params.is_none_or(is_json) {
        return error;
    }
    let text = "Invalid JSON payload: the body is not one JSON object";
    A2aError::new(ErrorKind::ParseError, text)
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// What the path says.
struct Path<'a> {
    /// Over what else the request says, instead of having to agree with it.
    wins: bool,
    violations: &'a mut Vec<FieldViolation>,
}

impl Path<'_> {
    fn fill(&mut self, request: &mut Request, resource: &Resource<'_>, tenant: Option<&str>) {
        self.required("id", request_id(request), resource.task_id());
        self.optional("tenant", request.tenant_mut(), tenant);
        if let Request::CreateTaskPushNotificationConfig(config) = request {
            self.optional("taskId", &mut config.task_id, resource.task_id());
        }
        if let Request::ListTaskPushNotificationConfigs(list) = request {
            self.required("taskId", Some(&mut list.task_id), resource.task_id());
        }
        if let Request::GetTaskPushNotificationConfig(names)
        | Request::DeleteTaskPushNotificationConfig(names) = request
        {
            let config = match resource {
                Resource::PushConfig(_, config) => Some(&**config),
                _ => None,
            };
            self.required("taskId", Some(&mut names.task_id), resource.task_id());
            self.required("id", Some(&mut names.id), config);
        }
    }

    fn required(&mut self, field: &str, slot: Option<&mut String>, value: Option<&str>) {
        let (Some(slot), Some(value)) = (slot, value) else {
            return;
        };
        if !slot.is_empty() && slot != value && !self.wins {
            self.disagrees(field);
        }
        value.clone_into(slot);
    }

    fn optional(&mut self, field: &str, slot: &mut Option<String>, value: Option<&str>) {
        let Some(value) = value else {
            return;
        };
        if slot.as_deref().is_some_and(|said| said != value) && !self.wins {
            self.disagrees(field);
        }
        *slot = Some(value.to_owned());
    }

    fn disagrees(&mut self, field: &str) {
        let description = "must be the one that the path names";
        self.violations
            .push(FieldViolation::new(field, description));
    }
}

/// Where a request keeps the task that stands in its path, if under the name `id`.
fn request_id(request: &mut Request) -> Option<&mut String> {
    match request {
        Request::GetTask(r) => Some(&mut r.id),
        Request::CancelTask(r) => Some(&mut r.id),
        Request::SubscribeToTask(r) => Some(&mut r.id),
        _ => None,
    }
}

/// A request on its way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// The verb.
    pub verb: Verb,
    /// To be appended to the interface's URL; begins with a slash.
    pub path: String,
    /// Without its question mark.
    pub query: Option<String>,
    /// JSON; `None` for verbs without a body.
    pub body: Option<Vec<u8>>,
}

/// Writes a request in `dialect`; `None` if it has no such operation on this binding.
#[must_use]
pub fn write_request(dialect: Dialect, request: &Request) -> Option<Outgoing> {
    match dialect {
        Dialect::Legacy => return None,
        Dialect::Fleet => return hermes_fleet::write_rest_request(request),
        Dialect::V1 | Dialect::V1Slash | Dialect::V0_3 => {}
    }
    let old = dialect == Dialect::V0_3;
    let resource = match request {
        Request::SendMessage(_) => Resource::Send,
        Request::SendStreamingMessage(_) => Resource::Stream,
        Request::GetTask(r) => Resource::Task(Cow::Borrowed(&r.id)),
        Request::ListTasks(_) if old => return None,
        Request::ListTasks(_) => Resource::Tasks,
        Request::CancelTask(r) => Resource::Cancel(Cow::Borrowed(&r.id)),
        Request::SubscribeToTask(r) => Resource::Subscribe(Cow::Borrowed(&r.id)),
        Request::CreateTaskPushNotificationConfig(r) => {
            Resource::PushConfigs(Cow::Borrowed(r.task_id.as_deref().unwrap_or_default()))
        }
        Request::ListTaskPushNotificationConfigs(r) => {
            Resource::PushConfigs(Cow::Borrowed(&r.task_id))
        }
        Request::GetTaskPushNotificationConfig(r)
        | Request::DeleteTaskPushNotificationConfig(r) => {
            Resource::PushConfig(Cow::Borrowed(&r.task_id), Cow::Borrowed(&r.id))
        }
        Request::GetExtendedAgentCard(_) => Resource::ExtendedCard,
    };
    let mut path = String::new();
    match request.tenant() {
        _ if old => path.push_str("/v1"),
        Some(tenant) => {
            path.push('/');
            path.push_str(&encode(tenant));
        }
        None => {}
    }
    if old && resource == Resource::ExtendedCard {
        path.push_str("/card");
    } else {
        resource.write(&mut path);
    }
    let body = if old {
        v0_3::write_proto_body(request)
    } else {
        body(request)
    };
    Some(Outgoing {
        verb: verb(request.method()),
        path,
        query: query_of(dialect, request),
        body,
    })
}

fn verb(method: Method) -> Verb {
    match method {
        Method::SendMessage
        | Method::SendStreamingMessage
        | Method::CancelTask
        | Method::SubscribeToTask
        | Method::CreateTaskPushNotificationConfig => Verb::Post,
        Method::DeleteTaskPushNotificationConfig => Verb::Delete,
        Method::GetTask
        | Method::ListTasks
        | Method::GetTaskPushNotificationConfig
        | Method::ListTaskPushNotificationConfigs
        | Method::GetExtendedAgentCard => Verb::Get,
    }
}

fn query_of(dialect: Dialect, request: &Request) -> Option<String> {
    let params = |value: serde_json::Result<Value>| value.expect("parameters have a JSON form");
    match request {
        Request::GetTask(r) => {
            let mut r = r.clone();
            if dialect == Dialect::V0_3 {
                r.history_length = r.history_length.map(v0_3::at_least_one);
            }
            query::write(&params(serde_json::to_value(&r)), &["tenant", "id"])
        }
        Request::ListTasks(r) => query::write(&params(serde_json::to_value(r)), &["tenant"]),
        Request::ListTaskPushNotificationConfigs(r) if dialect != Dialect::V0_3 => {
            query::write(&params(serde_json::to_value(r)), &["tenant", "taskId"])
        }
        _ => None,
    }
}

/// The members that stand neither in the path nor in a header.
#[derive(Serialize)]
struct Sent<'a> {
    message: &'a crate::Message,
    #[serde(skip_serializing_if = "Option::is_none")]
    configuration: Option<&'a SendMessageConfiguration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a crate::Metadata>,
}

impl<'a> Sent<'a> {
    fn of(request: &'a SendMessageRequest) -> Self {
        let configuration = &request.configuration;
        Self {
            message: &request.message,
            configuration: Some(configuration).filter(|it| !it.is_default()),
            metadata: request.metadata.as_ref(),
        }
    }
}

fn body(request: &Request) -> Option<Vec<u8>> {
    #[derive(Serialize)]
    struct Canceled<'a> {
        #[serde(skip_serializing_if = "Option::is_none")]
        metadata: Option<&'a crate::Metadata>,
    }
    let written = match request {
        Request::SendMessage(r) | Request::SendStreamingMessage(r) => {
            serde_json::to_vec(&Sent::of(r))
        }
        Request::CancelTask(r) => serde_json::to_vec(&Canceled {
            metadata: r.metadata.as_ref(),
        }),
        Request::SubscribeToTask(_) => Ok(b"{}".to_vec()),
        Request::CreateTaskPushNotificationConfig(config) => {
            let mut config = config.clone();
            config.tenant = None;
            config.task_id = None;
            serde_json::to_vec(&config)
        }
        _ => return None,
    };
    Some(written.expect("the model is always JSON"))
}
