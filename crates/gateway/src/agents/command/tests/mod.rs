//! Programs behind the whole engine: what a caller sees of what a program does.

mod files;
mod jsonl;
mod processes;
mod slow_disk;
mod text;

use nuncio_store::{MemoryOptions, MemoryStore, Store, Visibility};
use nuncio_wire::dialects::Dialect;
use nuncio_wire::operation::SendMessageRequest;
use nuncio_wire::{A2aError, Message, Part, Role, StreamResponse, Task, TaskState};
use std::sync::Arc;
use tempfile::TempDir;

use crate::agents::Agents;
use crate::config::{AgentConfig, BackendConfig, CommandConfig, CommandProtocol, Config};
use crate::ids;
use crate::push::Push;
use crate::tasks::{Answer, Closes, Engine, Submission, Subscription};

/// A gateway without its doors, with one agent called `agent`.
struct Gateway {
    engine: Arc<Engine>,
    agents: Arc<Agents>,
    dir: TempDir,
}

impl Gateway {
    /// Serves a shell script in text mode. It runs in the directory `dir`.
    fn sh(script: &str) -> Self {
        Self::with(script, |_| {})
    }

    /// Serves a shell script in `jsonl` mode.
    fn jsonl(script: &str) -> Self {
        Self::with(script, |command| command.protocol = CommandProtocol::Jsonl)
    }

    fn with(script: &str, set: impl FnOnce(&mut CommandConfig)) -> Self {
        let store = MemoryStore::new(MemoryOptions::default());
        Self::over(Arc::new(store), script, set)
    }

    /// Keeps its tasks in this store.
    fn over(store: Arc<dyn Store>, script: &str, set: impl FnOnce(&mut CommandConfig)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let command = ["sh", "-c", script].map(str::to_owned).to_vec();
        let mut command = CommandConfig::new(command);
        command.program.cwd = Some(dir.path().to_owned());
        set(&mut command);
        command.program.inherit(&|name| match name {
            "PATH" => Some("/usr/local/bin:/usr/bin:/bin".to_owned()),
            "OPERATOR_TOKEN" | "PASSED_ON" => Some(format!("value of {name}")),
            _ => None,
        });
        let mut config = Config::default();
        config.agents.insert(
            "agent".to_owned(),
            AgentConfig::new(BackendConfig::Command(command)),
        );
        let agents = Arc::new(Agents::start(&config, dir.path(), None).unwrap());
        let (push, _) = Push::new(store.clone(), &config).unwrap();
        Self {
            engine: Engine::new(store, agents.clone(), push),
            agents,
            dir,
        }
    }

    fn submission(&self, message: Message) -> Submission {
        Submission {
            agent: self.agents.default_agent().unwrap(),
            owner: "peer:alice".into(),
            visibility: Visibility {
                agent: None,
                owner: None,
            },
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

    /// The task after its turn.
    async fn send(&self, message: Message) -> Task {
        match self.answer(self.submission(message)).await.unwrap() {
            Answer::Task(live) => live.task(),
            Answer::Message(message) => panic!("a message instead of a task: {message:?}"),
        }
    }

    async fn send_text(&self, text: &str) -> Task {
        self.send(user(vec![Part::text(text)])).await
    }

    async fn answer(&self, submission: Submission) -> Result<Answer, A2aError> {
        self.engine.submit_and_wait(submission, None).await
    }

    /// The id of a new task, and a reader of every event that follows its creation.
    async fn watch(&self, message: Message) -> (Arc<str>, Subscription) {
        let (answer, _) = self
            .engine
            .submit_and_watch(self.submission(message))
            .await
            .unwrap();
        let Answer::Task(live) = answer else {
            panic!("a message instead of a task")
        };
        let (id, closes) = (live.id.clone(), Closes::WhenInputIsRequired);
        (
            id,
            Subscription::after(self.engine.clone(), live, 1, closes),
        )
    }

    /// All events of a task after its creation, and the task at its end.
    async fn stream(&self, message: Message) -> (Vec<StreamResponse>, Task) {
        let (id, mut reader) = self.watch(message).await;
        let mut events = Vec::new();
        while let Some((event, _)) = reader.next().await {
            events.push(serde_json::from_slice(&event.payload).unwrap());
        }
        let everything = Visibility {
            agent: None,
            owner: None,
        };
        let (task, _) = self.engine.read_task(&id, &everything).await.unwrap();
        (events, task)
    }

    /// What the script left in a file of its directory.
    fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.dir.path().join(name)).unwrap()
    }
}

fn user(parts: Vec<Part>) -> Message {
    Message::new(ids::new_id(), Role::User, parts)
}

/// The text of the task's only artifact.
fn only_text(task: &Task) -> &str {
    assert_eq!(task.artifacts().len(), 1, "{task:?}");
    assert_eq!(task.artifacts()[0].parts.len(), 1, "{task:?}");
    task.artifacts()[0].parts[0].as_text().unwrap()
}

fn status_text(task: &Task) -> String {
    task.status
        .message
        .as_ref()
        .map(Message::text)
        .unwrap_or_default()
}

/// Checks that the task failed for this reason, with an error id and nothing else.
fn assert_failed(task: &Task, reason: &str) {
    assert_eq!(task.status.state, TaskState::Failed, "{task:?}");
    let text = status_text(task);
    let rest = text
        .strip_prefix(reason)
        .unwrap_or_else(|| panic!("{text} for {reason}"));
    assert!(
        rest.starts_with(" (error id ") && rest.len() == " (error id )".len() + 12,
        "{text}"
    );
}
