//! Streams: limits, splits, ends.

use std::time::Duration;

use nuncio_client::{
    CallSettings, Client, ClientError, ClientErrorKind, Follow, Pace, Progress, StreamEvent,
    TaskView, TlsSettings,
};
use nuncio_wire::TaskState;
use serde_json::json;

use crate::agents::{client_of, client_with, stream};
use crate::mock_agent::{MockAgent, Reply, card, chunk, frame, status, task};

async fn read_all(client: &Client) -> Vec<Result<StreamEvent, ClientError>> {
    let mut events = Vec::new();
    let mut stream = client.stream(stream("hi")).await.unwrap();
    while let Some(event) = stream.next().await {
        events.push(event);
    }
    events
}

#[tokio::test]
async fn an_event_beyond_the_limit_ends_the_stream_after_the_events_before_it() {
    let agent = MockAgent::with_card(
        |base| card(base, true),
        |request| {
            let first = frame(request, &json!({"task": task("WORKING", "")}));
            let mut huge = b"data: ".to_vec();
            huge.resize(17 * 1024 * 1024, b'x');
            Reply::stream(vec![first, huge])
        },
    )
    .await;
    let events = read_all(&client_of(&agent).await).await;
    assert!(events.len() == 2 && events[0].is_ok(), "{events:?}");
    assert_eq!(
        events[1].as_ref().unwrap_err().kind,
        ClientErrorKind::InvalidAnswer
    );
}

#[tokio::test]
async fn comments_without_end_are_read_past() {
    let agent = MockAgent::with_card(
        |base| card(base, true),
        |request| {
            let comments = b": ping\n\n".repeat(100_000);
            Reply::stream(vec![comments, frame(request, &status("COMPLETED"))])
        },
    )
    .await;
    assert_eq!(read_all(&client_of(&agent).await).await.len(), 1);
}

#[tokio::test]
async fn bytes_that_are_no_text_are_the_agents_fault() {
    let agent = MockAgent::with_card(
        |base| card(base, true),
        |request| {
            Reply::stream(vec![
                frame(request, &chunk("a", false)),
                b"data: \xff\xfe\n\n".to_vec(),
            ])
        },
    )
    .await;
    let events = read_all(&client_of(&agent).await).await;
    assert_eq!(events.len(), 2);
    assert_eq!(
        events[1].as_ref().unwrap_err().kind,
        ClientErrorKind::InvalidAnswer
    );
}

#[tokio::test]
async fn ids_of_events_are_kept_for_a_resume() {
    let agent = MockAgent::with_card(
        |base| card(base, true),
        |request| {
            let mut first = b"id: 1-1\n".to_vec();
            first.extend(frame(request, &chunk("a", false)));
            Reply::stream(vec![first, frame(request, &chunk("b", true))])
        },
    )
    .await;
    let events = read_all(&client_of(&agent).await).await;
    let ids: Vec<Option<&str>> = events
        .iter()
        .map(|event| event.as_ref().unwrap().id.as_deref())
        .collect();
    assert_eq!(ids, [Some("1-1"), Some("1-1")]);
}

#[tokio::test]
async fn a_silent_link_is_dropped_and_the_task_is_found_again() {
    let agent = MockAgent::with_card(
        |base| card(base, true),
        |request| match request.method() {
            "SendStreamingMessage" => {
                Reply::events(request, &[json!({"task": task("WORKING", "")})]).hold()
            }
            "SubscribeToTask" => Reply::events(request, &[status("COMPLETED")]),
            _ => Reply::not_found(),
        },
    )
    .await;
    let settings = CallSettings {
        stream_silence: Some(Duration::from_millis(50)),
        ..CallSettings::default()
    };
    let client = client_with(agent.base(), TlsSettings::default(), settings).await;
    let mut view = TaskView::default();
    let mut lost = Vec::new();
    let observe = &mut |progress: Progress<'_>, _: &TaskView| {
        if let Progress::StreamLost(error) = progress {
            lost.push(error.message.clone());
        }
    };
    let events = client.stream(stream("hi")).await.unwrap();
    let follow = Follow {
        client: &client,
        pace: Pace::default(),
        stream_errors_end: true,
        observe,
    };
    follow.run(&mut view, Some(events)).await.unwrap();
    assert_eq!(view.task().unwrap().status.state, TaskState::Completed);
    assert!(
        lost.len() == 1 && lost[0].contains("sent nothing for 0.05 s"),
        "{lost:?}"
    );
}

/// As the official Python SDK 0.3 does it: a subscription tells only what comes next.
#[tokio::test]
async fn what_a_stream_from_the_middle_missed_is_asked_for() {
    let agent = MockAgent::with_card(
        |base| card(base, true),
        |request| match request.method() {
            "GetTask" => Reply::result(request, task("COMPLETED", "all of it")),
            _ => Reply::events(request, &[chunk("it", true), status("COMPLETED")]),
        },
    )
    .await;
    let client = client_of(&agent).await;
    let mut view = TaskView::default();
    let events = client.subscribe("t1", None).await.unwrap();
    let follow = Follow {
        client: &client,
        pace: Pace::default(),
        stream_errors_end: true,
        observe: &mut |_, _| {},
    };
    follow.run(&mut view, Some(events)).await.unwrap();
    let artifacts = view.task().unwrap().artifacts.as_ref().unwrap();
    assert_eq!(artifacts[0].parts[0].as_text(), Some("all of it"));

    let events = client.stream(stream("hi")).await.unwrap();
    let follow = Follow {
        client: &client,
        pace: Pace::default(),
        stream_errors_end: true,
        observe: &mut |_, _| {},
    };
    let mut view = TaskView::default();
    follow.run(&mut view, Some(events)).await.unwrap();
    let asked = agent
        .calls()
        .iter()
        .filter(|it| it.method() == "GetTask")
        .count();
    assert_eq!(asked, 1, "the stream of a send has missed nothing");
}

/// As the official Python SDK 0.3 does it when a task is at its end.
#[tokio::test]
async fn a_refusal_within_a_stream_leads_to_asking() {
    let agent = MockAgent::with_card(
        |base| card(base, true),
        |request| match request.method() {
            "GetTask" => Reply::result(request, task("COMPLETED", "done")),
            _ => {
                let error = json!({"code": -32602, "message": "Task task-1 is in terminal state"});
                let frame = json!({"jsonrpc": "2.0", "id": request.body["id"], "error": error});
                Reply::stream(vec![format!("data: {frame}\n\n").into_bytes()])
            }
        },
    )
    .await;
    let client = client_of(&agent).await;
    let events = client.subscribe("task-1", None).await.unwrap();
    let working = serde_json::from_value(task("WORKING", "")).unwrap();
    let mut view = TaskView::of(working);
    let follow = Follow {
        client: &client,
        pace: Pace::default(),
        stream_errors_end: true,
        observe: &mut |_, _| {},
    };
    follow.run(&mut view, Some(events)).await.unwrap();
    assert_eq!(view.task().unwrap().status.state, TaskState::Completed);
}
