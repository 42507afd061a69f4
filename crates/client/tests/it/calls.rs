//! Calls: what is repeated and how, what is refused, what changes the way of calling.

use std::sync::atomic::{AtomicUsize, Ordering};

use nuncio_client::ClientErrorKind;
use nuncio_wire::operation::{GetTaskRequest, SendMessageResponse};
use nuncio_wire::{ErrorKind, Request, Response};
use serde_json::json;

use crate::agents::{client_of, send};
use crate::mock_agent::{MockAgent, Reply, card, task};

fn get() -> Request {
    Request::GetTask(GetTaskRequest {
        tenant: None,
        id: "task-1".to_owned(),
        history_length: None,
    })
}

#[tokio::test]
async fn a_busy_agent_is_asked_again_with_the_same_message_and_key() {
    for status in [429, 503] {
        let asked = AtomicUsize::new(0);
        let agent = MockAgent::with_card(
            |base| card(base, false),
            move |request| match asked.fetch_add(1, Ordering::Relaxed) {
                0 => Reply::http(status, &[("Retry-After", "0")], ""),
                _ => Reply::result(request, json!({"task": task("COMPLETED", "x")})),
            },
        )
        .await;
        let answer = client_of(&agent).await.call(send("hi")).await.unwrap();
        assert!(matches!(
            answer,
            Response::SendMessage(SendMessageResponse::Task(_))
        ));
        let calls = agent.calls();
        let key = |at: usize| calls[at].header("idempotency-key").map(str::to_owned);
        assert_eq!(calls.len(), 2);
        assert_eq!(key(0).as_deref(), Some("m-1"));
        assert_eq!((key(0), calls[0].params()), (key(1), calls[1].params()));
    }
}

#[tokio::test]
async fn a_long_refusal_is_reported_with_its_time() {
    let agent = MockAgent::with_card(
        |base| card(base, false),
        |_| {
            Reply::http(
                429,
                &[("Retry-After", "3600")],
                "{\"error\":\"Rate limit exceeded\"}",
            )
        },
    )
    .await;
    let error = client_of(&agent).await.call(send("hi")).await.unwrap_err();
    assert_eq!(
        (&error.kind, error.code),
        (&ClientErrorKind::Busy, Some(429))
    );
    assert!(error.message.contains("Rate limit exceeded"), "{error}");
    assert_eq!(error.retry_after.unwrap().as_secs(), 3600);
    assert_eq!(agent.calls().len(), 1);
}

#[tokio::test]
async fn a_call_follows_no_redirect() {
    let other = MockAgent::start(|_, _| Reply::not_found()).await;
    let target = other.base().to_owned();
    let agent = MockAgent::with_card(
        |base| card(base, false),
        move |_| Reply::http(307, &[("Location", &target)], ""),
    )
    .await;
    let error = client_of(&agent).await.call(send("hi")).await.unwrap_err();
    assert_eq!(error.kind, ClientErrorKind::InvalidAnswer);
    assert!(error.message.contains("redirects"), "{error}");
    assert!(other.seen().is_empty());
}

#[tokio::test]
async fn a_server_of_the_older_names_is_called_by_them() {
    let agent = MockAgent::with_card(
        |base| card(base, false),
        |request| match request.method() {
            "message/send" => Reply::result(request, task("COMPLETED", "x")),
            "tasks/get" => Reply::result(request, task("COMPLETED", "x")),
            _ => Reply::error(request, -32601, "Method not found", "METHOD_NOT_FOUND"),
        },
    )
    .await;
    let client = client_of(&agent).await;
    assert!(matches!(
        client.call(send("hi")).await,
        Ok(Response::SendMessage(_))
    ));
    assert!(matches!(client.call(get()).await, Ok(Response::Task(_))));
    let methods: Vec<String> = agent
        .calls()
        .iter()
        .map(|it| it.method().to_owned())
        .collect();
    assert_eq!(
        methods,
        ["SendMessage", "message/send", "tasks/get"],
        "learnt once"
    );
    assert_eq!(agent.calls()[1].params()["message"]["role"], "ROLE_USER");
}

#[tokio::test]
async fn a_method_that_nobody_knows_is_the_agents_answer() {
    let agent = MockAgent::with_card(
        |base| card(base, false),
        |request| Reply::error(request, -32601, "Method not found", "METHOD_NOT_FOUND"),
    )
    .await;
    let error = client_of(&agent).await.call(send("hi")).await.unwrap_err();
    assert!(error.is_protocol(ErrorKind::MethodNotFound), "{error}");
    assert_eq!(agent.calls().len(), 2);
}

#[tokio::test]
async fn errors_keep_the_codes_and_reasons_they_came_with() {
    for (code, reason, kind) in [
        (-32001, "TASK_NOT_FOUND", ErrorKind::TaskNotFound),
        (
            -32602,
            "IDEMPOTENCY_CONFLICT",
            ErrorKind::IdempotencyConflict,
        ),
        (-39004, "SOMETHING_OF_ITS_OWN", ErrorKind::Internal),
    ] {
        let agent = MockAgent::with_card(
            |base| card(base, false),
            move |request| Reply::error(request, code, "no", reason),
        )
        .await;
        let error = client_of(&agent).await.call(get()).await.unwrap_err();
        assert!(error.is_protocol(kind), "{error:?}");
        assert_eq!(error.code, Some(code));
    }
}

#[tokio::test]
async fn answers_beyond_all_measure_are_not_read() {
    let agent = MockAgent::with_card(
        |base| card(base, false),
        |_| Reply::http(200, &[], vec![b' '; 17 * 1024 * 1024]),
    )
    .await;
    let error = client_of(&agent).await.call(get()).await.unwrap_err();
    assert_eq!(error.kind, ClientErrorKind::InvalidAnswer);
    let packed = MockAgent::with_card(
        |base| card(base, false),
        |_| Reply::http(200, &[("Content-Encoding", "gzip")], vec![0x1f, 0x8b]),
    )
    .await;
    let error = client_of(&packed).await.call(get()).await.unwrap_err();
    assert!(error.message.contains("compressed"), "{error}");
}
