//! Which binding a test speaks: an operation and its parameters as a request, and what comes back
//! in one shape for all of them, so that a behaviour is written down once.
//!
//! To add one: a variant here and an arm in each function.

use bytes::Bytes;
use http_body_util::Full;
use nuncio_wire::bindings::grpc::{self, FrameReader, GrpcStatus};
use nuncio_wire::dialects::protobuf::Package;
use nuncio_wire::{Dialect, ErrorKind, Method, Request, StatusTable};
use serde_json::{Value, json};

use crate::rig::Answer;

/// A binding of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    JsonRpc,
    Rest,
    Grpc,
}

impl Binding {
    /// Whether it carries JSON, so that user JSON passes as it is and anything can be said.
    pub fn is_json(self) -> bool {
        self != Self::Grpc
    }

    /// Whether there is a way to say this at all: protobuf has none for a value of another type.
    pub fn can_say(self, method: &str, params: &Value) -> bool {
        self.is_json() || grpc_message(method, &params.to_string()).is_some()
    }

    /// A request of 1.0 at the gateway `base`. `params` is the JSON text of an object.
    pub fn request(
        self,
        base: &str,
        headers: &[(&str, &str)],
        method: &str,
        params: &str,
    ) -> http::Request<Full<Bytes>> {
        let (verb, path, body) = match self {
            Self::Grpc => return grpc_request(base, headers, method, params),
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
    pub fn outcome(self, method: &str, answer: &Answer) -> Value {
        match self {
            Self::Grpc => grpc_outcome(method, answer),
            Self::JsonRpc => answer.json.clone(),
            Self::Rest if answer.status == 200 => json!({"result": answer.json}),
            Self::Rest => rest_error(answer),
        }
    }

    /// A frame of a stream as `{"result": …}`.
    pub fn frame(self, frame: Value) -> Value {
        match self {
            Self::JsonRpc => frame,
            Self::Rest | Self::Grpc => json!({"result": frame}),
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

/// The message that says the same as `params`, required fields or not; `None` if there is none.
fn grpc_message(method: &str, params: &str) -> Option<Vec<u8>> {
    let read = |request: serde_json::Result<Request>| request.ok();
    let from = serde_json::from_str::<Value>(params).unwrap();
    let asks = from.get("message").is_some();
    let request = match Method::from_name(method).unwrap() {
        // No message at all is a request, too.
        Method::SendMessage | Method::SendStreamingMessage if !asks => return Some(Vec::new()),
        Method::SendMessage | Method::SendStreamingMessage => {
            read(serde_json::from_str(params).map(Request::SendMessage))
        }
        Method::GetTask => read(serde_json::from_str(params).map(Request::GetTask)),
        Method::ListTasks => read(serde_json::from_str(params).map(Request::ListTasks)),
        Method::CancelTask => read(serde_json::from_str(params).map(Request::CancelTask)),
        Method::SubscribeToTask => read(serde_json::from_str(params).map(Request::SubscribeToTask)),
        Method::CreateTaskPushNotificationConfig => {
            read(serde_json::from_str(params).map(Request::CreateTaskPushNotificationConfig))
        }
        Method::GetTaskPushNotificationConfig | Method::DeleteTaskPushNotificationConfig => {
            read(serde_json::from_str(params).map(Request::GetTaskPushNotificationConfig))
        }
        Method::ListTaskPushNotificationConfigs => {
            read(serde_json::from_str(params).map(Request::ListTaskPushNotificationConfigs))
        }
        Method::GetExtendedAgentCard => {
            read(serde_json::from_str(params).map(Request::GetExtendedAgentCard))
        }
    };
    Package::V1.write_request(request?).ok()
}

fn grpc_request(
    base: &str,
    headers: &[(&str, &str)],
    method: &str,
    params: &str,
) -> http::Request<Full<Bytes>> {
    let message = grpc_message(method, params);
    let message = message.unwrap_or_else(|| panic!("protobuf cannot say {method} {params}"));
    let path = format!("/{}/{method}", Package::V1.service());
    grpc_call(
        base,
        &path,
        &message,
        &[&[("a2a-version", "1.0")], headers].concat(),
    )
}

/// A call of any method with this message.
pub fn grpc_call(
    base: &str,
    path: &str,
    message: &[u8],
    metadata: &[(&str, &str)],
) -> http::Request<Full<Bytes>> {
    let mut request = http::Request::post(format!("{base}{path}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers");
    for (name, value) in metadata {
        request = request.header(*name, *value);
    }
    request.body(Full::new(grpc::frame(message))).unwrap()
}

/// The messages of an answer.
pub fn grpc_messages(answer: &Answer) -> Vec<Bytes> {
    let mut reader = FrameReader::new(1 << 24);
    reader.feed(&answer.body);
    let mut messages = Vec::new();
    while let Some(message) = reader.next_message().unwrap() {
        messages.push(message);
    }
    assert!(!reader.is_inside());
    messages
}

/// How a call ended; trailers stand with the headers.
pub fn grpc_status(headers: &http::HeaderMap) -> GrpcStatus {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap());
    let status = text(grpc::STATUS).expect("a call ends with a status");
    GrpcStatus::read(status, text(grpc::MESSAGE), text(grpc::DETAILS)).unwrap()
}

/// An event as JSON.
pub fn grpc_event(message: Bytes) -> Value {
    let (event, _) = Package::V1.read_event(message).unwrap();
    let mut json = Vec::new();
    Dialect::V1.write_event(&event, false, &mut json);
    serde_json::from_slice(&json).unwrap()
}

fn grpc_outcome(method: &str, answer: &Answer) -> Value {
    assert_eq!(answer.status, 200, "{answer:?}");
    let status = grpc_status(&answer.headers);
    let messages = grpc_messages(answer);
    if status.code != 0 {
        let error = status.to_error();
        assert_eq!(
            error.kind.grpc_code(StatusTable::V1_0_1),
            status.code,
            "{status:?}"
        );
        return json!({"error": {
            "code": error.kind.code(), "message": error.message, "data": error.details()
        }});
    }
    let method = Method::from_name(method).unwrap();
    if method.is_streaming() {
        let events: Vec<Value> = messages.into_iter().map(grpc_event).collect();
        return json!({"result": events});
    }
    let [message] = <[Bytes; 1]>::try_from(messages).unwrap();
    let response = Package::V1.read_response(method, message).unwrap();
    let mut result = Vec::new();
    Dialect::V1.write_response(method, &response, &mut result);
    json!({"result": serde_json::from_slice::<Value>(&result).unwrap()})
}
