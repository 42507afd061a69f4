//! The `acp` backend: an agent that speaks the Agent Client Protocol, kept alive.
//!
//! One process, one of its sessions for each conversation. A session that the process has forgotten
//! is loaded again, or made anew with what was said before. A request for permission that the caller
//! is to decide suspends the turn: it goes on, in the same prompt, with the caller's answer. Start with
//! [`Acp::run`], then `talk`.

mod back_off;
mod blocks;
mod calls;
mod connection;
mod disguised;
mod host;
mod mcp_servers;
mod permission;
mod presets;
mod session;
mod talk;
mod updates;

use async_trait::async_trait;
use indexmap::IndexMap;
use nuncio_wire::AgentSkill;
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use self::connection::{Connection, RpcError};
use self::host::{Host, Launch};
use self::permission::Permission;
use self::talk::{Halt, Talk};
use super::conversation_dir::{ConversationDirs, absolute};
use super::process::check_program;
use super::reply::{Reply, Said};
use super::{Agent, Turn, TurnEnd, TurnEvents, fault};
use crate::config::{AcpConfig, AcpPreset, McpServerConfig};
use crate::sessions::Session;

/// What is said of a turn that waited and died with its process.
const LOST: &str = "The agent's process ended while the task waited, and the work was lost; send the \
    message again as a new task.";
/// Turns that wait for their callers' decision; more are refused for the agent.
const MAX_SUSPENDED: usize = 1000;

/// Variables of nuncio's own environment that a known agent gets.
#[must_use]
pub fn variables(preset: AcpPreset) -> &'static [&'static str] {
    presets::preset(preset).variables
}

/// An agent that is kept alive.
pub struct Acp {
    config: Arc<AcpConfig>,
    /// What each session is given besides.
    mcp_servers: IndexMap<String, McpServerConfig>,
    host: Host,
    dirs: ConversationDirs,
    /// Sessions that a running process has in memory.
    known: Mutex<HashMap<String, Weak<Connection>>>,
    /// Turns that wait for their caller's decision, by task.
    suspended: Mutex<HashMap<Arc<str>, Suspended>>,
}

/// A turn that waits for its caller.
struct Suspended {
    talk: Talk,
    reply: Reply,
    permission: Permission,
    session: Session,
}

impl Acp {
    /// The agent that `config` describes, with MCP servers to work with; directories of conversations go
    /// below `data_dir`.
    ///
    /// # Errors
    /// Why its program cannot be started, and what to do.
    pub fn new(
        name: &str,
        config: &AcpConfig,
        mcp_servers: &IndexMap<String, McpServerConfig>,
        data_dir: &Path,
    ) -> Result<Self, String> {
        let preset = config.preset.map(presets::preset);
        let command = match preset {
            Some(preset) if config.command.is_empty() => {
                preset.command.iter().map(|it| (*it).to_owned()).collect()
            }
            _ => config.command.clone(),
        };
        let launch = Launch {
            agent: name.into(),
            command,
            cwd: absolute(config.program.cwd.as_deref().unwrap_or(Path::new(".")))?,
            environment: config.program.environment(),
            start_timeout: config.start_timeout.get(),
            kill_grace: config.program.kill_grace.get(),
        };
        check_program(&launch.command, &launch.cwd, &launch.environment)?;
        Ok(Self {
            config: Arc::new(config.clone()),
            mcp_servers: mcp_servers.clone(),
            host: Host::new(launch),
            dirs: ConversationDirs::below(data_dir, config.context_dir)?,
            known: Mutex::default(),
            suspended: Mutex::default(),
        })
    }

    /// The directory that a turn works in.
    fn directory(&self, turn: &Turn) -> Result<PathBuf, String> {
        let own = self.dirs.make(turn)?;
        Ok(own.unwrap_or_else(|| self.host.launch().cwd.clone()))
    }

    /// The prompt that the turn is about: a new one, or the one that waits for it.
    async fn take_up(&self, turn: &Turn) -> Result<(Talk, Reply), Box<TurnEnd>> {
        let suspended = self.suspended.lock().remove(&turn.task_id);
        if let Some(suspended) = suspended {
            return self.go_on(suspended, turn);
        }
        if let Some(task) = self.waiting_in(&turn.session) {
            let text = format!("This conversation waits for an answer to task {task}.");
            return Err(Box::new(TurnEnd::Rejected(turn.reply_text(text))));
        }
        match self.begin(turn).await {
            Ok(talk) => {
                let reply = Reply::of_model().within(self.config.max_output_bytes);
                Ok((talk, reply))
            }
            Err(halt) => Err(Box::new(end_of(turn, halt))),
        }
    }

    fn go_on(&self, mut suspended: Suspended, turn: &Turn) -> Result<(Talk, Reply), Box<TurnEnd>> {
        if suspended.talk.connection.gone.is_cancelled() {
            return Err(Box::new(fault::lost(turn, LOST)));
        }
        let Some(answer) = suspended.permission.answer(&turn.message) else {
            let mut parts = suspended.permission.question();
            parts.insert(0, nuncio_wire::Part::text("That is none of the options."));
            let again = turn.reply(parts);
            self.suspended
                .lock()
                .insert(turn.task_id.clone(), suspended);
            return Err(Box::new(TurnEnd::InputRequired(again)));
        };
        suspended.talk.go_on(&suspended.permission, answer);
        Ok((suspended.talk, suspended.reply))
    }

    /// The task of this conversation that waits for a decision.
    fn waiting_in(&self, session: &Session) -> Option<Arc<str>> {
        let suspended = self.suspended.lock();
        let mut waiting = suspended.iter();
        let same = |it: &Suspended| it.session.conversation() == session.conversation();
        waiting
            .find(|(_, it)| same(it))
            .map(|(task, _)| task.clone())
    }

    async fn suspend(
        &self,
        turn: &Turn,
        mut talk: Talk,
        reply: Reply,
        asked: Permission,
    ) -> TurnEnd {
        if self.suspended.lock().len() >= MAX_SUSPENDED {
            talk.cancel(Some(&asked)).await;
            return fault::failed(
                turn,
                "too many questions of this agent wait for answers",
                "",
            );
        }
        talk.connection.set_idle(&talk.session, true);
        self.note_question(turn, &talk.session, true).await;
        talk.is_noted = true;
        let question = turn.reply(asked.question());
        let suspended = Suspended {
            talk,
            reply,
            permission: asked,
            session: turn.session.clone(),
        };
        self.suspended
            .lock()
            .insert(turn.task_id.clone(), suspended);
        TurnEnd::InputRequired(question)
    }

    /// Hears what comes of the prompt; one that has its caller's answer does not wait any longer.
    async fn hear(
        &self,
        turn: &Turn,
        talk: &mut Talk,
        reply: &mut Reply,
        events: &mut TurnEvents,
    ) -> Result<(), Halt> {
        if std::mem::take(&mut talk.is_noted) {
            self.note_question(turn, &talk.session, false).await;
        }
        reply.stream(talk, events).await
    }

    /// The end of a turn whose prompt has ended.
    fn conclude(
        turn: &Turn,
        ending: Result<Value, RpcError>,
        gave_file: bool,
        reply: Reply,
        events: &mut TurnEvents,
    ) -> TurnEnd {
        let result = match ending {
            Ok(result) => result,
            Err(error) => {
                reply.cut_off(events);
                return match error.code {
                    0 => fault::failed(turn, "the agent's process ended", &error.message),
                    _ => fault::failed(turn, "the agent reported an error", &error.message),
                };
            }
        };
        let reason = match result["stopReason"].as_str() {
            Some("end_turn") | None => {
                return match reply.said(events) {
                    Said::Answer => TurnEnd::Completed(None),
                    Said::Question(text) => TurnEnd::InputRequired(turn.reply_text(text)),
                    Said::Nothing if gave_file => TurnEnd::Completed(None),
                    Said::Nothing => fault::failed(turn, "the agent answered with nothing", ""),
                };
            }
            Some("refusal") => {
                reply.cut_off(events);
                return TurnEnd::Rejected(turn.reply_text("The agent refuses to go on."));
            }
            Some("max_tokens") => "the agent's answer was cut at its length limit",
            Some("max_turn_requests") => "the agent gave up after too many steps",
            Some("cancelled") => "the agent cancelled its work",
            Some(_) => "the agent stopped for a reason that is not known here",
        };
        reply.cut_off(events);
        fault::failed(turn, reason, &result.to_string())
    }
}

/// The end of a turn whose prompt is not listened to any longer.
fn end_of(turn: &Turn, halt: Halt) -> TurnEnd {
    match halt {
        Halt::Fault(reason, detail) => fault::failed(turn, &reason, &detail),
        Halt::Lost => fault::lost(turn, LOST),
        Halt::Stopped | Halt::Asks(_) => TurnEnd::Canceled,
    }
}

#[async_trait]
impl Agent for Acp {
    async fn skills(&self) -> Result<Option<Vec<AgentSkill>>, String> {
        let commands = self.host.commands().into_iter();
        let skills = commands.map(|(name, description)| AgentSkill {
            id: format!("command-{name}"),
            tags: vec!["command".to_owned()],
            description: if description.is_empty() {
                name.clone()
            } else {
                description
            },
            name,
            ..AgentSkill::default()
        });
        Ok(Some(skills.collect()))
    }

    async fn probe(&self) -> Result<String, String> {
        let about = self.host.running().await?.about;
        let name = if about.name.is_empty() {
            "it"
        } else {
            &about.name
        };
        Ok(format!("{name} speaks the Agent Client Protocol"))
    }

    async fn abandon(&self, _: &Session, task_id: &str) {
        let suspended = self.suspended.lock().remove(task_id);
        if let Some(suspended) = suspended {
            suspended.talk.cancel(Some(&suspended.permission)).await;
        }
    }

    async fn forget(&self, session: &Session) {
        self.dirs.remove(session).await;
    }

    async fn stop(&self) {
        self.suspended.lock().clear();
        self.host.stop().await;
    }

    async fn run(&self, turn: Turn, events: &mut TurnEvents) -> TurnEnd {
        let taken_up = tokio::select! {
            biased;
            () = turn.cancel.cancelled() => return TurnEnd::Canceled,
            taken_up = self.take_up(&turn) => taken_up,
        };
        let (mut talk, mut reply) = match taken_up {
            Ok(taken_up) => taken_up,
            Err(end) => return *end,
        };
        let heard = tokio::select! {
            biased;
            () = turn.cancel.cancelled() => Err(Halt::Stopped),
            heard = self.hear(&turn, &mut talk, &mut reply, events) => heard,
        };
        match heard {
            Ok(()) => {
                let ending = talk.ending().unwrap_or_else(|| Err(connection::gone()));
                Self::conclude(&turn, ending, talk.gave_file, reply, events)
            }
            Err(Halt::Asks(asked)) => {
                if let Err(too_much) = reply.count(&asked.question()) {
                    reply.cut_off(events);
                    talk.cancel(Some(&asked)).await;
                    return end_of(&turn, too_much.into());
                }
                reply.pause(events);
                self.suspend(&turn, talk, reply, *asked).await
            }
            Err(halt) => {
                if !matches!(halt, Halt::Stopped) {
                    reply.cut_off(events);
                }
                talk.cancel(None).await;
                end_of(&turn, halt)
            }
        }
    }
}
