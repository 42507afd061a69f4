//! What 0.3 callers and peers of every generation really send.

use nuncio_wire::operation::{SendMessageRequest, SendMessageResponse};
use nuncio_wire::{
    Dialect, ErrorKind, Method, PartContent, Request, Response, Role, StreamResponse, TaskState,
};

fn send_0_3(params: &str) -> Result<SendMessageRequest, String> {
    match Dialect::V0_3.read_request(Method::SendMessage, Some(params)) {
        Ok(Request::SendMessage(request)) => Ok(request),
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn kinds_may_be_missing_and_spellings_mixed() {
    let request = send_0_3(
        r#"{"message":{"role":"user","message_id":"m","context_id":"c","parts":[
            {"text":"a"},
            {"type":"text","kind":"text","text":"b"},
            {"file":{"mimeType":"text/plain","data":"YQ=="}},
            {"file":{"file_with_bytes":"YQ==","name":"a.txt"}},
            {"kind":"file","file":{"fileWithUri":"https://x"}},
            {"file":{"url":"https://x","mime_type":"a/b"}},
            {"data":{"k":1e400}}]},
          "configuration":{"historyLength":0,"push_notification_config":{"url":"https://h","authentication":{"schemes":["Bearer"]}}},
          "kind":"x"}"#,
    )
    .unwrap();
    let message = &request.message;
    assert_eq!(
        (message.message_id.as_str(), message.context_id.as_deref()),
        ("m", Some("c"))
    );
    assert_eq!(message.text(), "a\nb");
    let raw = |index: usize| matches!(&message.parts[index].content, PartContent::Raw(b) if &b[..] == b"a");
    assert!(raw(2) && raw(3));
    assert_eq!(message.parts[3].filename.as_deref(), Some("a.txt"));
    assert!(matches!(&message.parts[4].content, PartContent::Url(url) if url == "https://x"));
    assert_eq!(message.parts[5].media_type.as_deref(), Some("a/b"));
    assert!(
        matches!(&message.parts[6].content, PartContent::Data(d) if d.get() == r#"{"k":1e400}"#)
    );
    assert_eq!(request.configuration.history_length, None);
    assert!(!request.configuration.return_immediately);
    let push = request.configuration.task_push_notification_config.unwrap();
    assert_eq!(push.authentication.unwrap().scheme, "Bearer");
}

#[test]
fn a_send_may_have_the_names_of_the_proto_and_its_id_beside_the_message() {
    for params in [
        r#"{"request":{"message_id":"m","role":"ROLE_USER","content":[{"text":"hi"}]},"configuration":{"blocking":true}}"#,
        r#"{"messageId":"m","message":{"role":"user","parts":[{"kind":"text","text":"hi"}]}}"#,
    ] {
        let message = send_0_3(params).unwrap().message;
        assert_eq!(
            (message.message_id.as_str(), message.text().as_str()),
            ("m", "hi")
        );
    }
}

#[test]
fn what_is_ambiguous_or_empty_is_refused() {
    for part in [
        r#"{"kind":"text"}"#,
        r#"{"kind":"video","text":"x"}"#,
        r#"{"kind":"file","text":"x"}"#,
        r#"{"kind":"text","text":"x","data":{}}"#,
        r#"{"file":{"bytes":"YQ==","uri":"https://x"}}"#,
        r#"{"file":{}}"#,
        r#"{"file":{"bytes":"%"}}"#,
        r#"{"kind":"text","text":"x","text":"y"}"#,
        r#"[]"#,
    ] {
        let params = format!(r#"{{"message":{{"role":"user","messageId":"m","parts":[{part}]}}}}"#);
        let error = send_0_3(&params).unwrap_err();
        assert!(error.contains("message.parts[0]"), "{part}: {error}");
    }
    let none = send_0_3(r#"{"message":{"role":"user","messageId":"m","parts":[]}}"#).unwrap_err();
    assert!(none.contains("message.parts"), "{none}");
    let role = send_0_3(r#"{"message":{"role":"boss","messageId":"m","parts":[{"text":"x"}]}}"#);
    assert!(role.unwrap_err().contains("message.role"));
}

#[test]
fn without_a_config_id_the_newest_is_meant() {
    let read = |method| Dialect::V0_3.read_request(method, Some(r#"{"id":"t"}"#));
    let Ok(Request::GetTaskPushNotificationConfig(names)) =
        read(Method::GetTaskPushNotificationConfig)
    else {
        panic!()
    };
    assert_eq!((names.task_id.as_str(), names.id.as_str()), ("t", ""));
    assert!(read(Method::DeleteTaskPushNotificationConfig).is_err());
}

#[test]
fn a_client_that_wants_no_history_asks_0_3_for_the_least() {
    let params = r#"{"id":"t","historyLength":0}"#;
    let request = Dialect::V1
        .read_request(Method::GetTask, Some(params))
        .unwrap();
    let mut out = Vec::new();
    Dialect::V0_3.write_params(&request, &mut out);
    assert_eq!(out, br#"{"id":"t","historyLength":1}"#);
}

const TASK: &str = r#"{"id":"t","status":{"state":"TASK_STATE_WORKING"}}"#;

#[test]
fn an_answer_is_known_whatever_wraps_it() {
    let task_0_3 = TASK.replace("TASK_STATE_WORKING", "working");
    for dialect in [Dialect::V1, Dialect::V1Slash, Dialect::V0_3] {
        for result in [
            TASK.to_owned(),
            task_0_3.clone(),
            format!(r#"{{"task":{TASK}}}"#),
            format!(r#"{{"task":{task_0_3},"message":null}}"#),
            task_0_3.replace("{\"id\"", r#"{"kind":"task","id""#),
            r#"{"kind":"task","id":"t","status":"working"}"#.to_owned(),
            format!(r#"{{"jsonrpc":"2.0","id":"x","result":{TASK}}}"#),
        ] {
            let answer = dialect.read_response(Method::SendMessage, &result).unwrap();
            let Response::SendMessage(SendMessageResponse::Task(task)) = answer else {
                panic!()
            };
            assert_eq!(
                (task.id.as_str(), task.status.state),
                ("t", TaskState::Working)
            );
            let answer = dialect.read_response(Method::GetTask, &result).unwrap();
            assert_eq!(answer, Response::Task(task), "{result}");
        }
        for result in [
            r#"{"role":"agent","parts":[{"text":"x"}]}"#,
            r#"{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}],"createdAt":"now"}}"#,
            r#"{"kind":"message","role":"agent","parts":[{"kind":"text","text":"x"}]}"#,
            r#"{"role":"ROLE_AGENT","content":[{"text":"x"}]}"#,
        ] {
            let answer = dialect.read_response(Method::SendMessage, result).unwrap();
            let Response::SendMessage(SendMessageResponse::Message(message)) = answer else {
                panic!("{result}")
            };
            assert_eq!((message.role, message.text().as_str()), (Role::Agent, "x"));
            let error = dialect.read_response(Method::GetTask, result).unwrap_err();
            assert_eq!(error.kind, ErrorKind::InvalidAgentResponse);
        }
    }
}

#[test]
fn an_event_is_known_by_its_members() {
    let state = |json: &str| match Dialect::V0_3.read_event(json).unwrap() {
        (StreamResponse::StatusUpdate(event), last) => (event.status.state, last),
        other => panic!("{other:?}"),
    };
    let status = r#""taskId":"t","contextId":"c","status":{"state":"cancelled"}"#;
    assert_eq!(
        state(&format!("{{{status}}}")),
        (TaskState::Canceled, false)
    );
    assert_eq!(
        state(&format!(r#"{{{status},"final":true}}"#)),
        (TaskState::Canceled, true)
    );
    assert_eq!(
        state(&format!(r#"{{"statusUpdate":{{{status},"final":true}}}}"#)),
        (TaskState::Canceled, true)
    );
    let two_l = r#"{"status_update":{"task_id":"t","status":{"state":"TASK_STATE_CANCELLED"}}}"#;
    assert_eq!(state(two_l), (TaskState::Canceled, false));

    let artifact = r#"{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","index":0,"parts":[{"kind":"text","text":"x"}]},"append":null}"#;
    let (event, last) = Dialect::V1.read_event(artifact).unwrap();
    let StreamResponse::ArtifactUpdate(update) = event else {
        panic!("{event:?}")
    };
    assert!(!last && !update.append && update.artifact.parts[0].as_text() == Some("x"));

    let message =
        Dialect::V1.read_event(r#"{"message":{"role":"ROLE_AGENT","parts":[{"text":"x"}]}}"#);
    assert!(message.unwrap().1, "nothing follows a message");
}

#[test]
fn every_state_is_read_in_every_spelling() {
    for (state, spellings) in [
        (
            TaskState::Unspecified,
            vec!["unknown", "TASK_STATE_UNSPECIFIED"],
        ),
        (
            TaskState::Submitted,
            vec!["submitted", "TASK_STATE_SUBMITTED"],
        ),
        (
            TaskState::Canceled,
            vec![
                "canceled",
                "cancelled",
                "TASK_STATE_CANCELED",
                "TASK_STATE_CANCELLED",
            ],
        ),
        (
            TaskState::InputRequired,
            vec![
                "input-required",
                "inputRequired",
                "input_required",
                "TASK_STATE_INPUT_REQUIRED",
            ],
        ),
        (
            TaskState::AuthRequired,
            vec!["auth-required", "TASK_STATE_AUTH_REQUIRED"],
        ),
        (TaskState::Rejected, vec!["rejected"]),
        (TaskState::Failed, vec!["failed"]),
        (TaskState::Completed, vec!["completed"]),
    ] {
        for name in spellings {
            let json = format!(r#"{{"id":"t","status":{{"state":"{name}"}}}}"#);
            let Ok(Response::Task(task)) = Dialect::V1.read_response(Method::GetTask, &json) else {
                panic!("{name}")
            };
            assert_eq!(task.status.state, state, "{name}");
        }
    }
}

#[test]
fn push_answers_are_read_in_every_shape() {
    let read = |json: &str| match Dialect::V1
        .read_response(Method::GetTaskPushNotificationConfig, json)
        .unwrap()
    {
        Response::PushConfig(config) => config,
        other => panic!("{other:?}"),
    };
    let flat = read(r#"{"taskId":"t","id":"p","url":"https://h"}"#);
    assert_eq!(
        read(r#"{"taskId":"t","pushNotificationConfig":{"id":"p","url":"https://h"}}"#),
        flat
    );
    assert_eq!(
        read(
            r#"{"configId":"p","taskId":"t","createdAt":"now","pushNotificationConfig":{"url":"https://h"}}"#
        ),
        flat
    );
    let method = Method::DeleteTaskPushNotificationConfig;
    for result in ["null", "{}", r#"{"deleted":true}"#, "true"] {
        assert_eq!(
            Dialect::V1.read_response(method, result),
            Ok(Response::Deleted)
        );
    }
}

#[test]
fn what_is_no_answer_is_called_so() {
    for result in [
        "null",
        "5",
        "[]",
        "{}",
        "\"done\"",
        "[{\"id\":\"t\"}]",
        r#"{"task":{},"message":{}}"#,
        r#"{"id":"t","status":{"state":"dancing"}}"#,
        r#"{"statusUpdate":{"taskId":"t","status":{"state":"working"}}}"#,
    ] {
        for dialect in Dialect::ALL {
            let answer = dialect.read_response(Method::SendMessage, result);
            let kind = answer.map_err(|error| error.kind);
            assert_eq!(
                kind,
                Err(ErrorKind::InvalidAgentResponse),
                "{dialect}: {result}"
            );
        }
    }
}
