//! The agent's session of a conversation: known to the process, loaded again, or made anew.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

use super::connection::{Inbox, RpcError};
use super::disguised::Beginning;
use super::host::Running;
use super::talk::{Halt, Talk};
use super::{Acp, blocks, mcp_servers};
use crate::agents::place::place;
use crate::agents::{Turn, prompt};
use crate::sessions::transcript::Budget;

/// Most earlier messages that a forgetful agent is told.
const MAX_HISTORY_MESSAGES: usize = 200;
/// Most sessions whose process is remembered; beyond it all are looked up again.
const MAX_KNOWN: usize = 10_000;
/// ACP: the agent wants its owner to log in first.
const AUTH_REQUIRED: i64 = -32000;

/// What is kept of a session.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    session: String,
    /// The task that waits for its caller's decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    asks: Option<String>,
}

impl Acp {
    /// Starts the prompt of a turn in the session of its conversation.
    pub(super) async fn begin(&self, turn: &Turn) -> Result<Talk, Halt> {
        let place = place(&format!("acp {}", turn.agent), &turn.session.file_name()).await;
        let kept = self.kept(turn).await?;
        if kept
            .as_ref()
            .is_some_and(|kept| kept.asks.as_deref() == Some(&*turn.task_id))
        {
            return Err(Halt::Lost);
        }
        let running =
            self.host.running().await.map_err(|reason| {
                Halt::Fault("the agent could not be started".to_owned(), reason)
            })?;
        let dir = self.directory(turn).map_err(|reason| {
            Halt::Fault("the agent has no place to work in".to_owned(), reason)
        })?;
        let known = match kept {
            Some(kept) => self.again(&running, kept.session, &dir).await,
            None => None,
        };
        let (session, inbox, is_new) = match known {
            Some((session, inbox)) => (session, inbox, false),
            None => {
                let session = self.make(&running, &dir).await?;
                let inbox = running.connection.open(&session);
                self.keep(turn, &session, None).await?;
                (session, inbox, true)
            }
        };
        let config = self.config.clone();
        let talk = Talk::new(running.connection.clone(), session, inbox, config, place)
            .with(Beginning::of(&running.about.name));
        let preamble = self.preamble(turn, is_new).await?;
        let blocks = blocks::prompt(&preamble, &turn.message, &running.about);
        let prompted = talk.connection.prompt(&talk.session, blocks).await;
        prompted.map_err(|error| super::talk::died(&error))?;
        Ok(talk)
    }

    /// Remembers whether the task waits: whoever answers after a restart learns that it is lost.
    pub(super) async fn note_question(&self, turn: &Turn, session: &str, waits: bool) {
        let asks = waits.then(|| turn.task_id.to_string());
        if let Err(Halt::Fault(reason, detail)) = self.keep(turn, session, asks).await {
            tracing::warn!(task = %turn.task_id, reason, detail, "a question is not noted");
        }
    }

    async fn kept(&self, turn: &Turn) -> Result<Option<Kept>, Halt> {
        let name = turn.session.name().await.map_err(|error| unkept(&error))?;
        Ok(name.and_then(|name| serde_json::from_str(&name).ok()))
    }

    async fn keep(&self, turn: &Turn, session: &str, asks: Option<String>) -> Result<(), Halt> {
        let kept = Kept {
            session: session.to_owned(),
            asks,
        };
        let name = serde_json::to_string(&kept).expect("two texts have a JSON form");
        turn.session
            .keep(&name)
            .await
            .map_err(|error| unkept(&error))
    }

    /// The session, if the process has it or can bring it back.
    async fn again(
        &self,
        running: &Running,
        session: String,
        dir: &Path,
    ) -> Option<(String, Inbox)> {
        let has_it = {
            let known = self.known.lock();
            let of = known.get(&session).and_then(std::sync::Weak::upgrade);
            of.is_some_and(|of| Arc::ptr_eq(&of, &running.connection))
        };
        let mut inbox = running.connection.open(&session);
        if has_it {
            return Some((session, inbox));
        }
        let about = &running.about;
        let ways = [
            ("session/resume", about.resumes_sessions),
            ("session/load", about.loads_sessions),
        ];
        let params =
            json!({ "sessionId": session, "cwd": dir, "mcpServers": self.offered(running) });
        for (method, is_offered) in ways {
            if is_offered && bring_back(running, method, params.clone(), &mut inbox).await {
                self.remember(running, &session);
                return Some((session, inbox));
            }
        }
        running.connection.shut(&session);
        None
    }

    fn offered(&self, running: &Running) -> Vec<Value> {
        let agent = &self.host.launch().agent;
        mcp_servers::offered(agent, &self.mcp_servers, &running.about)
    }

    async fn make(&self, running: &Running, dir: &Path) -> Result<String, Halt> {
        let params = json!({ "cwd": dir, "mcpServers": self.offered(running) });
        let made = running.connection.call("session/new", params).await;
        let made = made.map_err(|error| refused(&error, running))?;
        let session = made["sessionId"].as_str().unwrap_or_default().to_owned();
        if session.is_empty() {
            let reason = "the agent gave no session".to_owned();
            return Err(Halt::Fault(reason, made.to_string()));
        }
        self.remember(running, &session);
        Ok(session)
    }

    fn remember(&self, running: &Running, session: &str) {
        let mut known = self.known.lock();
        if known.len() >= MAX_KNOWN {
            known.clear();
        }
        known.retain(|_, of| of.strong_count() > 0);
        known.insert(session.to_owned(), Arc::downgrade(&running.connection));
    }

    /// What stands before a message; in a new session also what was said so far.
    async fn preamble(&self, turn: &Turn, is_new: bool) -> Result<String, Halt> {
        let headline = prompt::headline(turn);
        if !is_new {
            return Ok(headline);
        }
        let budget = Budget::of_tokens(self.config.history_tokens, MAX_HISTORY_MESSAGES);
        let said = turn.session.before(&turn.message.message_id, budget).await;
        let said = said.map_err(|error| unkept(&error))?;
        let about = prompt::about(turn);
        Ok(match said.is_empty() {
            true => format!("{about}\n\n{headline}"),
            false => format!("{about}\n\n{}\n{headline}", prompt::recall(&said)),
        })
    }
}

/// Asks for a session of an earlier process; false: it is not to be had that way.
async fn bring_back(
    running: &Running,
    method: &'static str,
    params: Value,
    inbox: &mut Inbox,
) -> bool {
    let asked = running.connection.call(method, params);
    tokio::pin!(asked);
    let answer = loop {
        tokio::select! {
            answer = &mut asked => break answer,
            // What was said before may be told again, and was sent out then.
            Some(_) = inbox.recv() => {}
        }
    };
    while inbox.try_recv().is_ok() {}
    if let Err(error) = &answer {
        tracing::info!(
            method,
            error = error.message,
            "a session was not brought back"
        );
    }
    answer.is_ok()
}

fn refused(error: &RpcError, running: &Running) -> Halt {
    if error.code == AUTH_REQUIRED {
        let logins = running.about.logins.join(", ");
        let reason = "the agent's owner has to log it in first".to_owned();
        return Halt::Fault(
            reason,
            format!("{}; ways to log in: {logins}", error.message),
        );
    }
    let reason = "the agent gave no session".to_owned();
    Halt::Fault(reason, error.message.clone())
}

fn unkept(error: &nuncio_store::StoreError) -> Halt {
    let reason = "the conversation could not be looked up".to_owned();
    Halt::Fault(reason, error.to_string())
}
