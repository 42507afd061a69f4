//! Which binding a test speaks: an operation and its parameters as a request, and what comes back
//! in one shape for all of them, so that a behaviour is written down once.
//!
//! To add one: a variant here and an arm in each function.

use bytes::Bytes;
use http_body_util::Full;
use nuncio_wire::{ErrorKind, StatusTable};
use serde_json::{Value, json};

use crate::rig::Answer;

/// A binding of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    JsonRpc,
    Rest,
}

impl Binding {
    /// A request of 1.0 at the gateway `base`. `params` is the JSON text of an object.
    pub fn request(
        self,
        base: &str,
        headers: &[(&str, &str)],
        method: &str,
        params: &str,
    ) -> http::Request<Full<Bytes>> {
        let (verb, path, body) = match self {
            Self::JsonRpc => {
                let head = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":"#);
                ("POST", "/".to_owned(), Some(format!("{head}{params}}}")))
            }
            Self::Rest => rest_request(method, params),
        };
        let mut request = http::Request::builder()
            .method(verb)
            .uri(format!("{base}{path}"))
            .header("a2a-version", "1.0");
        if body.is_some() {
            request = request.header("content-type", "application/json");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = body.map_or_else(Full::default, |body| Full::new(Bytes::from(body)));
        request.body(body).unwrap()
    }

    /// An answer as `{"result": …}` or `{"error": {code, message, data}}`, as JSON-RPC has it.
    pub fn outcome(self, answer: &Answer) -> Value {
        match self {
            Self::JsonRpc => answer.json.clone(),
            Self::Rest if answer.status == 200 => json!({"result": answer.json}),
            Self::Rest => rest_error(answer),
        }
    }

    /// A frame of a stream as `{"result": …}`.
    pub fn frame(self, frame: Value) -> Value {
        match self {
            Self::JsonRpc => frame,
            Self::Rest => json!({"result": frame}),
        }
    }
}

fn rest_request(method: &str, params: &str) -> (&'static str, String, Option<String>) {
    // The text as it is: it may hold numbers that no reader here can.
    let as_it_is = |path: &str| ("POST", path.to_owned(), Some(params.to_owned()));
    match method {
        "SendMessage" => return as_it_is("/message:send"),
        "SendStreamingMessage" => return as_it_is("/message:stream"),
        _ => {}
    }
    let mut object: Value = serde_json::from_str(params).unwrap();
    let mut take = |name: &str| {
        let taken = object.as_object_mut().unwrap().remove(name);
        encode(taken.unwrap_or_default().as_str().unwrap_or_default())
    };
    let configs = "pushNotificationConfigs";
    match method {
        "ListTasks" => ("GET", format!("/tasks?{}", query(&object)), None),
        "GetTask" => {
            let path = format!("/tasks/{}", take("id"));
            ("GET", format!("{path}?{}", query(&object)), None)
        }
        "CancelTask" => {
            let path = format!("/tasks/{}:cancel", take("id"));
            ("POST", path, Some(object.to_string()))
        }
        "SubscribeToTask" => ("GET", format!("/tasks/{}:subscribe", take("id")), None),
        "CreateTaskPushNotificationConfig" => {
            let path = format!("/tasks/{}/{configs}", take("taskId"));
            ("POST", path, Some(object.to_string()))
        }
        "ListTaskPushNotificationConfigs" => {
            let path = format!("/tasks/{}/{configs}", take("taskId"));
            ("GET", format!("{path}?{}", query(&object)), None)
        }
        "GetTaskPushNotificationConfig" | "DeleteTaskPushNotificationConfig" => {
            let path = format!("/tasks/{}/{configs}/{}", take("taskId"), take("id"));
            let deletes = method.starts_with("Delete");
            (if deletes { "DELETE" } else { "GET" }, path, None)
        }
        "GetExtendedAgentCard" => ("GET", "/extendedAgentCard".to_owned(), None),
        other => panic!("{other} is no operation"),
    }
}

fn query(params: &Value) -> String {
    let pairs = params.as_object().unwrap().iter().map(|(name, value)| {
        let text = value.as_str().map_or(value.to_string(), str::to_owned);
        format!("{name}={}", encode(&text))
    });
    pairs.collect::<Vec<_>>().join("&")
}

fn encode(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

/// The error of a body, whose statuses must be those of its kind.
fn rest_error(answer: &Answer) -> Value {
    let error = &answer.json["error"];
    let reason = &error["details"][0]["reason"];
    let kind = ErrorKind::ALL
        .into_iter()
        .find(|kind| reason == kind.reason())
        .unwrap_or_else(|| panic!("{reason} is no reason: {answer:?}"));
    assert_eq!(
        answer.status,
        kind.http_status(StatusTable::V1_0_1),
        "{error}"
    );
    assert_eq!(error["code"], answer.status, "{error}");
    json!({"error": {
        "code": kind.code(), "message": error["message"], "data": error["details"]
    }})
}
