//! The 2025-04 dialect: what its clients send and accept, and what its servers answer.

use nuncio_wire::dialects::openfang;
use nuncio_wire::{
    Artifact, Dialect, ErrorKind, Message, Method, Part, Request, Role, Task, TaskState, TaskStatus,
};

/// What OpenFang sends, whole.
const SENT: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tasks/send","params":{"message":{"role":"user","parts":[{"type":"text","text":"hi"}]},"sessionId":null}}"#;

#[test]
fn a_sent_message_is_read_over_rest_and_json_rpc() {
    let rest = openfang::read_rest_send(SENT.as_bytes()).unwrap();
    assert_eq!(
        (
            rest.request.message.text().as_str(),
            rest.request.message.role
        ),
        ("hi", Role::User)
    );
    assert_eq!(
        (
            rest.request.message.context_id,
            rest.caller_task_id,
            rest.agent
        ),
        (None, None, None)
    );

    let params = r#"{"id":"mine","sessionId":"s-1","metadata":{"agent":"coder","n":1e400},"message":{"role":"captain","parts":[
        {"type":"text","text":"a"},{"kind":"text","text":"b"},
        {"type":"file","name":"x","mime_type":"a/b","data":"YQ=="},
        {"type":"file","file":{"name":"y","mimeType":"a/b","uri":"https://x"}},
        {"type":"data","mimeType":"application/json","data":[1]}]}}"#;
    let send = openfang::read_send(Some(params)).unwrap();
    assert_eq!(
        (send.caller_task_id.as_deref(), send.agent.as_deref()),
        (Some("mine"), Some("coder"))
    );
    let message = &send.request.message;
    assert_eq!(
        (message.parts.len(), message.parts[0].as_text()),
        (4, Some("a\nb"))
    );
    assert_eq!(
        (message.context_id.as_deref(), message.role),
        (Some("s-1"), Role::User)
    );
    assert_eq!(
        (
            message.message_id.as_str(),
            message.parts[1].filename.as_deref()
        ),
        ("", Some("x"))
    );

    let request = Dialect::Legacy.read_request_with(Method::SendMessage, Some(params), Some("m"));
    let Ok(Request::SendMessage(request)) = request else {
        panic!()
    };
    assert_eq!(request.message.message_id, "m");
}

#[test]
fn a_message_without_text_is_refused_and_never_invented() {
    for (params, field) in [
        (r#"{"message":{"parts":[]}}"#, "message.parts"),
        (
            r#"{"message":{"parts":[{"type":"data","data":1}]}}"#,
            "message.parts",
        ),
        (
            r#"{"message":{"parts":[{"type":"text"}]}}"#,
            "message.parts[0]",
        ),
        (r#"{"parts":[{"type":"text","text":"x"}]}"#, "message"),
        (
            r#"{"sessionId":"../x","message":{"parts":[{"text":"x"}]}}"#,
            "message.contextId",
        ),
    ] {
        let error = openfang::read_send(Some(params)).unwrap_err();
        assert_eq!(
            (error.kind, error.violations[0].field.as_str()),
            (ErrorKind::InvalidParams, field)
        );
    }
    for (body, kind) in [
        (&b"{"[..], ErrorKind::ParseError),
        (b"", ErrorKind::ParseError),
        (b"\xff", ErrorKind::ParseError),
        (b"[]", ErrorKind::InvalidParams),
        (b"{}", ErrorKind::InvalidParams),
        (br#"{"params":[]}"#, ErrorKind::InvalidParams),
    ] {
        assert_eq!(openfang::read_rest_send(body).unwrap_err().kind, kind);
    }
    let empty = r#"{"message":{"parts":[{"type":"text","text":""}]}}"#;
    assert_eq!(
        openfang::read_send(Some(empty))
            .unwrap()
            .request
            .message
            .text(),
        ""
    );
}

#[test]
fn only_three_methods_exist() {
    assert_eq!(openfang::method("tasks/send"), Ok(Method::SendMessage));
    assert_eq!(openfang::method("tasks/get"), Ok(Method::GetTask));
    assert_eq!(openfang::method("tasks/cancel"), Ok(Method::CancelTask));
    let code = |name| openfang::method(name).unwrap_err().kind.code();
    assert_eq!(
        (code("tasks/sendSubscribe"), code("message/send")),
        (-32004, -32601)
    );
    let error = Dialect::Legacy
        .read_request(Method::ListTasks, None)
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::UnsupportedOperation);
}

fn task(state: TaskState) -> Task {
    let mut said = Message::new("m-1", Role::User, vec![Part::text("hi")]);
    said.context_id = Some("s".to_owned());
    Task {
        id: "t".to_owned(),
        context_id: "s".to_owned(),
        status: TaskStatus {
            state,
            message: None,
            timestamp: None,
        },
        artifacts: None,
        history: vec![said],
        metadata: None,
    }
}

fn written(task: &Task) -> String {
    let mut out = Vec::new();
    openfang::write_task(task, "alias", &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn statuses_are_strings_that_its_readers_know() {
    for (state, name) in [
        (TaskState::Submitted, "submitted"),
        (TaskState::Working, "working"),
        (TaskState::InputRequired, "inputRequired"),
        (TaskState::AuthRequired, "inputRequired"),
        (TaskState::Completed, "completed"),
        (TaskState::Canceled, "cancelled"),
        (TaskState::Failed, "failed"),
        (TaskState::Rejected, "failed"),
    ] {
        let json = written(&task(state));
        assert!(
            json.starts_with(&format!(
                r#"{{"id":"alias","sessionId":"s","status":"{name}","messages":["#
            )),
            "{json}"
        );
        assert!(json.ends_with(r#""artifacts":[]}"#), "{json}");
    }
    assert!(written(&task(TaskState::AuthRequired)).contains("Authorisation is needed"));
    let mut without = task(TaskState::Working);
    without.context_id.clear();
    assert!(written(&without).contains(r#""sessionId":null"#));
}

#[test]
fn the_reply_is_the_last_message_and_stands_there_once() {
    let user = r#"{"role":"user","parts":[{"type":"text","text":"hi"}]}"#;
    let agent =
        |text: &str| format!(r#"{{"role":"agent","parts":[{{"type":"text","text":"{text}"}}]}}"#);
    let say = |text: &str| Some(Message::new("m-2", Role::Agent, vec![Part::text(text)]));
    let messages = |task: &Task, expected: &[String]| {
        let json = written(task);
        let list = format!(r#""messages":[{}],"artifacts""#, expected.join(","));
        assert!(json.contains(&list), "{json}\nlacks {list}");
    };
    let mut done = task(TaskState::Completed);
    done.artifacts = Some(vec![Artifact::new("a", vec![Part::text("HI")])]);
    messages(&done, &[user.to_owned(), agent("HI")]);
    done.status.message = say("HI");
    messages(&done, &[user.to_owned(), agent("HI")]);
    done.status.message = say("Done.");
    messages(&done, &[user.to_owned(), agent("Done."), agent("HI")]);

    let mut asks = task(TaskState::InputRequired);
    asks.status.message = say("Which?");
    messages(&asks, &[user.to_owned(), agent("Which?")]);
    asks.history.extend(say("Which?"));
    messages(&asks, &[user.to_owned(), agent("Which?")]);
}

#[test]
fn links_become_text_and_files_get_what_is_required() {
    use nuncio_wire::PartContent;
    let mut link = Part::new(PartContent::Url("https://x/a".to_owned()));
    let file = Part::new(PartContent::Raw((&b"a"[..]).into()));
    let write = |part: &Part| {
        let mut done = task(TaskState::Working);
        done.history[0].parts = vec![part.clone()];
        written(&done)
    };
    assert!(write(&link).contains(r#"[{"type":"text","text":"[file] https://x/a"}]"#));
    (link.filename, link.media_type) =
        (Some("a.pdf".to_owned()), Some("application/pdf".to_owned()));
    assert!(write(&link).contains(r#""text":"[file: a.pdf] https://x/a (application/pdf)""#));
    let expected =
        r#"{"type":"file","name":"file","mime_type":"application/octet-stream","data":"YQ=="}"#;
    assert!(write(&file).contains(expected));
}

#[test]
fn the_reply_of_such_a_server_is_found() {
    // As OpenFang answers.
    let json = r#"{"artifacts":[],"id":"u-1","messages":[{"parts":[{"text":"hi","type":"text"}],"role":"user"},{"parts":[{"text":"hello","type":"text"}],"role":"agent"}],"sessionId":"s-1","status":"completed"}"#;
    let task = openfang::read_task(json).unwrap();
    assert_eq!((task.id.as_str(), task.context_id.as_str()), ("u-1", "s-1"));
    assert_eq!(
        (task.status.state, task.status.message.is_none()),
        (TaskState::Completed, true)
    );
    assert_eq!(task.artifacts()[0].parts[0].as_text(), Some("hello"));
    assert_eq!((task.history.len(), task.history[0].role), (1, Role::User));
    assert_eq!(
        openfang::read_task(json).unwrap(),
        task,
        "the same on every reading"
    );

    let failed = json
        .replace("completed", "failed")
        .replace("hello", "Error: no");
    let task = openfang::read_task(&failed).unwrap();
    assert_eq!(task.status.message.unwrap().text(), "Error: no");

    let object = r#"{"id":"t","status":{"state":"inputRequired","message":"Which?"},"sessionId":null,"messages":[]}"#;
    let task = openfang::read_task(object).unwrap();
    assert_eq!(
        (
            task.status.state,
            task.status.message.unwrap().text().as_str()
        ),
        (TaskState::InputRequired, "Which?")
    );

    for bad in [
        r#"{"id":"t"}"#,
        r#"{"id":"t","status":"dancing"}"#,
        "[]",
        "null",
    ] {
        assert!(openfang::read_task(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_message_to_such_a_server_has_all_its_text_in_one_part() {
    let parts = vec![Part::text("a"), Part::text("b")];
    let mut message = Message::new("m", Role::User, parts);
    message.context_id = Some("s".to_owned());
    let request = Request::SendMessage(nuncio_wire::operation::SendMessageRequest::new(message));
    let mut out = Vec::new();
    Dialect::Legacy.write_params(&request, &mut out);
    let expected =
        r#"{"message":{"role":"user","parts":[{"type":"text","text":"a\nb"}]},"sessionId":"s"}"#;
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}
