//! One prompt under way: what comes of it, in order, with permissions decided on the way.

use serde_json::Value;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::calls::Calls;
use super::connection::{Connection, Inbound, Inbox, RpcError, gone};
use super::disguised::Beginning;
use super::permission::{Decision, Permission, cancelled};
use super::updates::{self, Meaning};
use crate::agents::TurnEvent;
use crate::agents::output_limit::TooMuch;
use crate::agents::place::Place;
use crate::agents::reply::{Heard, Source};
use crate::config::AcpConfig;
use crate::tasks::Stopped;

/// How long an agent may take to end a prompt that was cancelled; its process is ended after that.
const CANCEL_GRACE: Duration = Duration::from_secs(3);

/// Why a prompt is not listened to any longer.
#[derive(Debug)]
pub(super) enum Halt {
    /// The turn is over.
    Stopped,
    /// The caller has to decide.
    Asks(Box<Permission>),
    /// Something is wrong: in words for the caller, and more for the log.
    Fault(String, String),
    /// What the turn is to go on with died with the process.
    Lost,
}

impl From<Stopped> for Halt {
    fn from(_: Stopped) -> Self {
        Self::Stopped
    }
}

impl From<TooMuch> for Halt {
    fn from(too_much: TooMuch) -> Self {
        Self::Fault(TooMuch::REASON.to_owned(), too_much.detail())
    }
}

/// A prompt under way. Its session's inbox is closed with it.
pub(super) struct Talk {
    pub(super) connection: Arc<Connection>,
    pub(super) session: String,
    inbox: Inbox,
    config: Arc<AcpConfig>,
    calls: Calls,
    /// What was heard and not handed on yet.
    events: VecDeque<TurnEvent>,
    /// The id of a request for permission, and the answer that it gets.
    to_answer: Option<(Value, Value)>,
    has_spoken: bool,
    /// Something else came since the last text.
    interrupted: bool,
    /// It has handed over a file, which is an answer even without a word.
    pub(super) gave_file: bool,
    /// What is kept of the conversation says that it waits for its caller.
    pub(super) is_noted: bool,
    beginning: Beginning,
    ended: Option<Result<Value, RpcError>>,
    /// The session is this prompt's until it is dropped: one that is cancelled while it waits for its
    /// caller has no turn any more, and goes on until the agent has let go.
    _place: Place,
}

impl Talk {
    pub(super) fn new(
        connection: Arc<Connection>,
        session: String,
        inbox: Inbox,
        config: Arc<AcpConfig>,
        place: Place,
    ) -> Self {
        Self {
            _place: place,
            connection,
            session,
            inbox,
            has_spoken: false,
            config,
            calls: Calls::default(),
            events: VecDeque::new(),
            to_answer: None,
            interrupted: false,
            gave_file: false,
            is_noted: false,
            beginning: Beginning::of(""),
            ended: None,
        }
    }

    /// Hears what the agent says from this beginning on.
    pub(super) fn with(mut self, beginning: Beginning) -> Self {
        self.beginning = beginning;
        self
    }

    /// How the prompt ended, if it has.
    pub(super) fn ending(&mut self) -> Option<Result<Value, RpcError>> {
        self.ended.take()
    }

    /// Goes on with this answer to a request for permission.
    pub(super) fn go_on(&mut self, permission: &Permission, answer: Value) {
        self.to_answer = Some((permission.id.clone(), answer));
        self.connection.set_idle(&self.session, false);
    }

    /// Tells the agent to stop and waits until it has; ends its process if it does not.
    pub(super) async fn cancel(mut self, asked: Option<&Permission>) {
        if let Some(permission) = asked {
            drop(self.connection.answer(&permission.id, cancelled()).await);
        }
        let params = serde_json::json!({ "sessionId": self.session });
        let stopped = async {
            self.connection.notify("session/cancel", params).await?;
            while self.ended.is_none() {
                match self.inbox.recv().await {
                    Some((Inbound::Ended(result), _)) => self.ended = Some(result),
                    Some((Inbound::Permission(id, _), _)) => {
                        self.connection.answer(&id, cancelled()).await?;
                    }
                    Some((Inbound::Update(_), _)) => {}
                    None => return Err(gone()),
                }
            }
            Ok(())
        };
        if tokio::time::timeout(CANCEL_GRACE, stopped).await.is_err() {
            tracing::warn!("an agent does not stop its work: its process is ended");
            self.connection.gone.cancel();
        }
    }

    async fn take(&mut self, inbound: Inbound, text: &mut String) -> Result<Option<Heard>, Halt> {
        match inbound {
            Inbound::Update(params) => match self.read(&params) {
                Meaning::Text(chunk) => {
                    self.beginning.hear(&chunk);
                    // Nothing stands before the first words.
                    if std::mem::take(&mut self.interrupted) && self.has_spoken {
                        text.push_str("\n\n");
                    }
                    self.has_spoken |= !chunk.is_empty();
                    text.push_str(&chunk);
                    return Ok(Some(Heard::Text));
                }
                Meaning::Events(events) => {
                    self.interrupted = true;
                    self.gave_file |= events.iter().any(updates::is_result);
                    self.events.extend(events);
                }
                Meaning::Nothing => {}
            },
            Inbound::Permission(id, mut params) => {
                self.calls.complete(&mut params["toolCall"]);
                let permission = Permission::read(id, &params);
                match permission.decide(self.config.permissions, &self.config.allow) {
                    Decision::Answer(answer) => self.to_answer = Some((permission.id, answer)),
                    Decision::Ask => return Err(Halt::Asks(Box::new(permission))),
                }
            }
            Inbound::Ended(result) => {
                let error = result.as_ref().ok();
                let error = error.and_then(|result| self.beginning.error(result));
                self.ended = Some(error.map_or(result, Err));
                return Ok(Some(Heard::End));
            }
        }
        Ok(None)
    }

    fn read(&mut self, params: &Value) -> Meaning {
        self.calls.note(params);
        updates::read(params)
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        self.connection.shut(&self.session);
    }
}

impl Source for Talk {
    type Halt = Halt;

    async fn hear(&mut self, text: &mut String) -> Result<Heard, Halt> {
        loop {
            if let Some((id, answer)) = &self.to_answer {
                // If this is dropped while it waits, nothing was sent.
                let answered = self.connection.answer(id, answer.clone()).await;
                self.to_answer = None;
                answered.map_err(|error| died(&error))?;
            }
            if let Some(event) = self.events.pop_front() {
                return Ok(Heard::Event(event));
            }
            let Some((inbound, _room)) = self.inbox.recv().await else {
                return Err(died(&gone()));
            };
            if let Some(heard) = self.take(inbound, text).await? {
                return Ok(heard);
            }
        }
    }
}

/// The process is gone in the middle of a turn.
pub(super) fn died(error: &RpcError) -> Halt {
    let reason = "the agent's process ended in the middle of its work".to_owned();
    Halt::Fault(reason, error.message.clone())
}
