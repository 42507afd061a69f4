//! The agents served here: how they are, whether they answer, and the switch that closes them.

use http::StatusCode;
use nuncio_wire::dialects::Dialect;
use nuncio_wire::operation::{CancelTaskRequest, SendMessageRequest, SendMessageResponse};
use nuncio_wire::{A2aError, Message, Part, Request, Response, Role, Task, TaskState};
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::{ControlDesk, HttpResponse, json};
use crate::agents::{Gate, ServedAgent, parts_text};
use crate::bindings::answer;
use crate::fleet::workers;
use crate::ids;
use crate::operations::{Asked, Reply};
use crate::security::Caller;

/// How long an agent may take to be found.
const PROBE_LIMIT: Duration = Duration::from_secs(30);
/// How long an agent may take to answer a check.
const ANSWER_LIMIT: Duration = Duration::from_secs(120);
/// What an agent is asked.
const QUESTION: &str = "This is a check by your operator. Reply with one short sentence and do \
    nothing else.";
/// Characters of an answer that are shown.
const SHOWN_CHARS: usize = 200;

#[derive(Serialize)]
struct AgentStatus<'a> {
    name: &'a str,
    backend: &'static str,
    url: String,
    /// `open`, `draining` or `paused`.
    gate: &'static str,
    running_turns: usize,
    waiting_turns: usize,
}

/// Whether an agent answers.
#[derive(Serialize)]
struct Check {
    agent: String,
    ok: bool,
    /// What was found of it, or what is wrong.
    found: String,
    /// What it answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<String>,
    /// How long the answer took.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer_millis: Option<u128>,
}

impl ControlDesk {
    pub(super) fn agents(&self) -> HttpResponse {
        #[derive(Serialize)]
        struct Answer<'a> {
            agents: Vec<AgentStatus<'a>>,
            tasks_in_motion: usize,
        }
        let agents = self.operations.agents();
        json(&Answer {
            agents: agents.iter().map(|agent| self.status(agent)).collect(),
            tasks_in_motion: self.operations.engine().tasks_in_motion(),
        })
    }

    fn status<'a>(&self, agent: &'a ServedAgent) -> AgentStatus<'a> {
        let at_root = self.operations.agents().is_at_root(agent);
        AgentStatus {
            name: &agent.name,
            backend: agent.config.backend.kind(),
            url: self.base.of_agent(agent).agent_url(&agent.name, at_root),
            gate: agent.gate.now().as_str(),
            running_turns: agent.running.load(Ordering::Relaxed),
            waiting_turns: agent.waiting.load(Ordering::Relaxed),
        }
    }

    pub(super) async fn act_on(&self, agent: Arc<ServedAgent>, verb: &str) -> HttpResponse {
        let gate = match verb {
            "check" => return json(&self.check(agent).await),
            "pause" => Gate::Paused,
            "drain" => Gate::Draining,
            "resume" => Gate::Open,
            _ => {
                let text = "an agent can be checked, paused, drained and resumed";
                return answer::refusal(StatusCode::NOT_FOUND, text);
            }
        };
        tracing::info!(agent = %agent.name, %gate, "the operator set an agent's gate");
        if let Err(error) = agent.gate.set(gate) {
            let text = format!(
                "agent `{}` is {gate} now, but it will not be after a restart: {error}",
                agent.name
            );
            return answer::refusal(StatusCode::INTERNAL_SERVER_ERROR, &text);
        }
        json(&self.status(&agent))
    }

    /// Looks whether the agent is there, then asks it for a reply.
    async fn check(&self, agent: Arc<ServedAgent>) -> Check {
        let mut check = Check {
            agent: agent.name.to_string(),
            ok: false,
            found: String::new(),
            answer: None,
            answer_millis: None,
        };
        match tokio::time::timeout(PROBE_LIMIT, agent.backend.probe()).await {
            Ok(Ok(found)) => check.found = found,
            Ok(Err(wrong)) => check.found = wrong,
            Err(_) => check.found = format!("no answer within {} s", PROBE_LIMIT.as_secs()),
        }
        let started = Instant::now();
        match self.ask(&agent).await {
            Ok(answer) => {
                check.ok = true;
                check.answer_millis = Some(started.elapsed().as_millis());
                check.answer = Some(answer.chars().take(SHOWN_CHARS).collect());
            }
            Err(wrong) if check.found.is_empty() => check.found = wrong,
            Err(wrong) => check.found = format!("{}; {wrong}", check.found),
        }
        check
    }

    async fn ask(&self, agent: &Arc<ServedAgent>) -> Result<String, String> {
        let told = |error: A2aError| error.message.into_owned();
        let question = vec![Part::text(QUESTION)];
        let message = Message::new(ids::new_id(), Role::User, question);
        let asked = Asked {
            answer_within: Some(ANSWER_LIMIT),
            ..Asked::plain(Caller::operator(), agent.clone(), Dialect::V1)
        };
        let mut request = SendMessageRequest::new(message);
        // Its session goes when it has answered.
        request.metadata = Some(workers::local_metadata());
        let request = Request::SendMessage(request);
        match self.operations.run(asked, request).await.map_err(told)? {
            Reply::Answer(Response::SendMessage(SendMessageResponse::Message(message))) => {
                Ok(parts_text(&message.parts))
            }
            Reply::Answer(Response::SendMessage(SendMessageResponse::Task(task))) => {
                self.answer_of(agent, task).await
            }
            _ => Err("the agent gave no answer".to_owned()),
        }
    }

    async fn answer_of(&self, agent: &Arc<ServedAgent>, task: Task) -> Result<String, String> {
        let artifacts = task.artifacts.iter().flatten();
        let parts = artifacts.flat_map(|artifact| &artifact.parts);
        let said = task.status.message.iter().flat_map(|it| &it.parts);
        let parts: Vec<Part> = parts.chain(said).cloned().collect();
        match task.status.state {
            TaskState::Completed => Ok(parts_text(&parts)),
            state if state.is_terminal() => Err(format!("{state}: {}", parts_text(&parts))),
            state => {
                let cancel = Request::CancelTask(CancelTaskRequest {
                    id: task.id,
                    tenant: None,
                    metadata: None,
                });
                let asked = Asked::plain(Caller::operator(), agent.clone(), Dialect::V1);
                // A task that ended meanwhile needs no cancel.
                drop(self.operations.run(asked, cancel).await);
                match state {
                    TaskState::InputRequired => Ok(parts_text(&parts)),
                    _ => Err(format!("no answer within {} s", ANSWER_LIMIT.as_secs())),
                }
            }
        }
    }
}
