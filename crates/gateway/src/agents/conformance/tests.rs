//! The contracts of the kits, seen from behind the engine.

use nuncio_store::{MemoryOptions, MemoryStore, Visibility};
use nuncio_wire::dialects::Dialect;
use nuncio_wire::operation::SendMessageRequest;
use nuncio_wire::{
    A2aError, ErrorKind, Message, Metadata, Part, PartContent, RawJson, Role, StreamResponse, Task,
    TaskState,
};
use std::sync::Arc;

use crate::agents::Agents;
use crate::config::{AgentConfig, BackendConfig, Config, ConformanceConfig};
use crate::ids;
use crate::push::Push;
use crate::tasks::{Answer, Closes, Engine, Submission, Subscription};

struct Kit {
    engine: Arc<Engine>,
    agents: Arc<Agents>,
}

const EVERYTHING: Visibility = Visibility {
    agent: None,
    owner: None,
};

impl Kit {
    fn new(profile: &str) -> Self {
        let mut config = Config::default();
        let backend = BackendConfig::Conformance(ConformanceConfig {
            profile: profile.to_owned(),
        });
        config
            .agents
            .insert("kit".to_owned(), AgentConfig::new(backend));
        let agents = Arc::new(Agents::start(&config, std::path::Path::new("."), None).unwrap());
        let store = Arc::new(MemoryStore::new(MemoryOptions::default()));
        let (push, _) = Push::new(store.clone(), &config).unwrap();
        Self {
            engine: Engine::new(store, agents.clone(), push),
            agents,
        }
    }

    fn submission(&self, message: Message) -> Submission {
        Submission {
            agent: self.agents.default_agent().unwrap(),
            owner: "operator".into(),
            visibility: EVERYTHING,
            request: SendMessageRequest::new(message),
            hops: Default::default(),
            dialect: Dialect::V1,
            alias: None,
            payload_hash: [0; 32],
            task_metadata: None,
            push_config: None,
            streams: false,
        }
    }

    async fn answer(&self, message: Message) -> Result<Answer, A2aError> {
        self.engine
            .submit_and_wait(self.submission(message), None)
            .await
    }

    async fn send(&self, message: Message) -> Task {
        match self.answer(message).await.unwrap() {
            Answer::Task(live) => live.task(),
            Answer::Message(message) => panic!("{message:?}"),
        }
    }

    /// The names of the events after the task's creation: states and chunks of artifacts.
    async fn events(&self, message: Message) -> Vec<String> {
        let (answer, _) = self
            .engine
            .submit_and_watch(self.submission(message))
            .await
            .unwrap();
        let Answer::Task(live) = answer else {
            panic!("a message instead of a task")
        };
        let closes = Closes::WhenInputIsRequired;
        let mut reader = Subscription::after(self.engine.clone(), live, 1, closes);
        let mut names = Vec::new();
        while let Some((event, _)) = reader.next().await {
            names.push(match serde_json::from_slice(&event.payload).unwrap() {
                StreamResponse::StatusUpdate(update) => update.status.state.to_string(),
                StreamResponse::ArtifactUpdate(update) => {
                    let text = update.artifact.parts[0]
                        .as_text()
                        .unwrap_or("file")
                        .to_owned();
                    let last = if update.last_chunk { "." } else { "" };
                    format!("{}{text}{last}", if update.append { "+" } else { "" })
                }
                other => panic!("{other:?}"),
            });
        }
        names
    }
}

/// A message of the TCK: the id counts.
fn tck(id: &str) -> Message {
    Message::new(
        format!("{id}-0123abcd"),
        Role::User,
        vec![Part::text("whatever")],
    )
}

/// A message of ACTS: the text counts.
fn acts(text: &str) -> Message {
    Message::new(ids::new_id(), Role::User, vec![Part::text(text)])
}

fn status_text(task: &Task) -> String {
    task.status
        .message
        .as_ref()
        .map(Message::text)
        .unwrap_or_default()
}

#[tokio::test]
async fn the_tcks_outcomes_are_named_by_the_message_id() {
    let kit = Kit::new("tck");
    for (id, state, text) in [
        ("tck-complete-task", TaskState::Completed, "Hello from TCK"),
        (
            "tck-input-required",
            TaskState::InputRequired,
            "Input required",
        ),
        ("tck-reject-task", TaskState::Rejected, "rejected"),
        ("tck-artifact-text", TaskState::Completed, ""),
        (
            "tck-transport-test-001",
            TaskState::Completed,
            "Hello from TCK",
        ),
        (
            "anything-else",
            TaskState::Completed,
            "The conformance agent is done.",
        ),
    ] {
        let task = kit.send(tck(id)).await;
        assert_eq!(
            (task.status.state, status_text(&task).as_str()),
            (state, text),
            "{id}"
        );
    }
    let Answer::Message(message) = kit.answer(tck("tck-message-response")).await.unwrap() else {
        panic!("a task")
    };
    assert_eq!(message.text(), "Direct message response");
}

#[tokio::test]
async fn the_tcks_artifacts_have_their_exact_content() {
    let kit = Kit::new("tck");
    let url = PartContent::Url("https://example.com/output.txt".to_owned());
    let data = RawJson::parse(r#"{"key":"value","count":42}"#).unwrap();
    for (id, content, name) in [
        (
            "tck-artifact-text",
            PartContent::Text("Generated text content".to_owned()),
            None,
        ),
        ("tck-artifact-file-url", url, Some("output.txt")),
        ("tck-artifact-data", PartContent::Data(data), None),
    ] {
        let task = kit.send(tck(id)).await;
        let part = &task.artifacts()[0].parts[0];
        assert_eq!(
            (&part.content, part.filename.as_deref()),
            (&content, name),
            "{id}"
        );
    }
    let file = kit.send(tck("tck-artifact-file")).await;
    let part = &file.artifacts()[0].parts[0];
    assert!(matches!(part.content, PartContent::Raw(_)));
    assert_eq!(part.media_type.as_deref(), Some("text/plain"));
}

#[tokio::test]
async fn the_tcks_streams_show_each_step() {
    let kit = Kit::new("tck");
    let (working, completed) = ("TASK_STATE_WORKING", "TASK_STATE_COMPLETED");
    for (id, steps) in [
        ("tck-stream-001", vec!["Stream hello from TCK."]),
        ("tck-stream-003", vec!["Stream task lifecycle."]),
        ("tck-stream-ordering-001", vec!["Ordered output."]),
        ("tck-stream-artifact-text", vec!["Streamed text content."]),
        ("tck-stream-artifact-file", vec!["file."]),
        ("tck-stream-artifact-chunked", vec!["chunk-1 ", "+chunk-2."]),
    ] {
        let expected = [vec![working], steps, vec![completed]].concat();
        assert_eq!(kit.events(tck(id)).await, expected, "{id}");
    }
    assert_eq!(kit.events(tck("tck-stream-002")).await, [completed]);
}

#[tokio::test(start_paused = true)]
async fn the_tcks_long_task_works_for_two_units() {
    let kit = Kit::new("tck");
    let began = tokio::time::Instant::now();
    let events = kit.events(tck("test-resubscribe-message-id")).await;
    assert_eq!(events, ["TASK_STATE_WORKING", "TASK_STATE_COMPLETED"]);
    assert_eq!(began.elapsed().as_secs(), 4);
}

#[tokio::test]
async fn a_follow_up_of_the_tck_counts_by_itself() {
    let kit = Kit::new("tck");
    let task = kit.send(tck("tck-input-required")).await;
    let mut next = tck("tck-complete-task");
    next.task_id = Some(task.id);
    assert_eq!(kit.send(next).await.status.state, TaskState::Completed);
}

#[tokio::test]
async fn what_acts_names_belongs_to_the_task() {
    let kit = Kit::new("acts");
    let task = kit.send(acts("tck-multi-turn please")).await;
    assert_eq!(task.status.state, TaskState::InputRequired);
    for (text, state) in [
        ("go on", TaskState::InputRequired),
        ("done now", TaskState::Completed),
    ] {
        let mut next = acts(text);
        next.task_id = Some(task.id.clone());
        assert_eq!(kit.send(next).await.status.state, state, "{text}");
    }
    let task = kit.send(acts("tck-input-required")).await;
    let mut next = acts("tck-reject-task");
    next.task_id = Some(task.id);
    assert_eq!(
        kit.send(next).await.status.state,
        TaskState::Rejected,
        "a new name wins"
    );
}

#[tokio::test]
async fn each_outcome_of_acts() {
    let kit = Kit::new("acts");
    for (text, state) in [
        ("tck-complete-task x", TaskState::Completed),
        ("tck-task-failure", TaskState::Failed),
        ("tck-auth-required", TaskState::AuthRequired),
        ("tck-artifact-file-url", TaskState::Completed),
        ("tck-no-such-thing", TaskState::Failed),
        ("hello", TaskState::Completed),
    ] {
        assert_eq!(kit.send(acts(text)).await.status.state, state, "{text}");
    }
    let chunks = [
        "TASK_STATE_WORKING",
        "chunk-1 ",
        "+chunk-2 ",
        "+chunk-3.",
        "TASK_STATE_COMPLETED",
    ];
    assert_eq!(kit.events(acts("tck-stream-chunked")).await, chunks);
    let Answer::Message(message) = kit.answer(acts("tck-message-response")).await.unwrap() else {
        panic!("a task")
    };
    assert_eq!((&message.task_id, &message.context_id), (&None, &None));
}

#[tokio::test(start_paused = true)]
async fn long_work_of_acts_shows_working_and_an_artifact() {
    let kit = Kit::new("acts");
    let events = kit.events(acts("tck-long-running")).await;
    assert_eq!(
        events,
        [
            "TASK_STATE_WORKING",
            "The long work is done..",
            "TASK_STATE_COMPLETED"
        ]
    );
}

#[tokio::test]
async fn a_task_that_waits_for_its_cancel_gets_it() {
    let kit = Kit::new("acts");
    let answer = kit
        .engine
        .submit_and_return(kit.submission(acts("tck-cancel")))
        .await
        .unwrap();
    let Answer::Task(live) = answer else {
        panic!("a message instead of a task")
    };
    let (task, _) = kit.engine.cancel_task(&live.id, &EVERYTHING).await.unwrap();
    assert_eq!(task.status.state, TaskState::Canceled);
}

#[tokio::test]
async fn acts_wants_foreign_contexts_and_types_refused_and_the_tck_does_not() {
    let mut foreign_context = acts("tck-complete-task");
    foreign_context.context_id = Some("made-up".to_owned());
    let mut part = Part::new(PartContent::Data(
        RawJson::parse(r#"{"value":"x"}"#).unwrap(),
    ));
    part.metadata =
        Metadata::parse(r#"{"contentType":"application/x-unsupported-type-12345"}"#).ok();
    let foreign_type = Message::new(ids::new_id(), Role::User, vec![part]);

    let kit = Kit::new("acts");
    let kind = |answer: Result<Answer, A2aError>| answer.err().map(|error| error.kind);
    assert_eq!(
        kind(kit.answer(foreign_context.clone()).await),
        Some(ErrorKind::InvalidParams)
    );
    let refused = kit.answer(foreign_type.clone()).await;
    assert_eq!(kind(refused), Some(ErrorKind::ContentTypeNotSupported));

    let kit = Kit::new("tck");
    assert_eq!(
        kit.send(foreign_context).await.status.state,
        TaskState::Completed
    );
    assert_eq!(
        kit.send(foreign_type).await.status.state,
        TaskState::Completed
    );
}

#[tokio::test(start_paused = true)]
async fn a_task_of_0_3_works_and_then_asks() {
    let kit = Kit::new("tck03");
    let mut submission = kit.submission(acts("hello"));
    submission.dialect = Dialect::V0_3;
    let Answer::Task(live) = kit.engine.submit_and_wait(submission, None).await.unwrap() else {
        panic!("a message instead of a task")
    };
    assert_eq!(live.state(), TaskState::InputRequired);
}
