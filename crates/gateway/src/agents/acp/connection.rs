//! One running agent: JSON-RPC over its standard input and output, and who waits for what.
//!
//! Requests are answered to whoever asked; updates, permission requests and the end of a prompt go
//! to the session's [`Inbox`] in the order they came. A reader that does not keep up holds the pipe
//! back, not memory.

use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::permission::{Permission, cancelled};
use crate::agents::process::Lines;

/// Bytes of a session's messages that wait to be read (1 MiB); one bigger message alone may pass.
const INBOX_BYTES: usize = 1024 * 1024;
/// Messages that wait to be written to an agent.
const OUTBOX_MESSAGES: usize = 64;
/// JSON-RPC: the method is not known here.
const METHOD_NOT_FOUND: i64 = -32601;

/// Something for a session, in order.
#[derive(Debug)]
pub(super) enum Inbound {
    /// `session/update`: what happened.
    Update(Value),
    /// `session/request_permission`: its id and its parameters.
    Permission(Value, Value),
    /// The prompt is over: its result, or why there is none.
    Ended(Result<Value, RpcError>),
}

/// An agent's refusal, or its death.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RpcError {
    pub(super) code: i64,
    pub(super) message: String,
}

/// Where a session's messages wait.
pub(super) type Inbox = mpsc::UnboundedReceiver<(Inbound, Option<OwnedSemaphorePermit>)>;

/// The way into an inbox, bounded by bytes.
#[derive(Clone)]
struct Route {
    send: mpsc::UnboundedSender<(Inbound, Option<OwnedSemaphorePermit>)>,
    room: Arc<Semaphore>,
    /// Nobody reads for now: what does not fit is dropped.
    idle: Arc<watch::Sender<bool>>,
}

enum Waiting {
    Reply(oneshot::Sender<Result<Value, RpcError>>),
    Prompt(Route),
}

/// A request that is not waited for any longer once this is dropped, whether it was answered or not.
struct Forgotten<'a> {
    connection: &'a Connection,
    id: u64,
    /// It is waited for all the same.
    kept: bool,
}

impl Drop for Forgotten<'_> {
    fn drop(&mut self) {
        if !self.kept {
            self.connection.waiting.lock().remove(&self.id);
        }
    }
}

/// A running agent.
pub(super) struct Connection {
    outbox: mpsc::Sender<Vec<u8>>,
    waiting: Mutex<HashMap<u64, Waiting>>,
    routes: Mutex<HashMap<String, Route>>,
    next_id: AtomicU64,
    /// It has ended a prompt.
    worked: AtomicBool,
    /// Fires when the agent is gone.
    pub(super) gone: CancellationToken,
    ended_at: OnceLock<Instant>,
    /// The names and descriptions of the commands that it told of.
    commands: Mutex<Vec<(String, String)>>,
}

impl Connection {
    /// A connection over these pipes, and the work that keeps it going: it ends when the agent
    /// closes its output or `gone` fires.
    pub(super) fn over(
        stdin: impl AsyncWrite + Unpin + Send + 'static,
        stdout: impl AsyncRead + Unpin + Send + 'static,
    ) -> (Arc<Self>, impl Future<Output = ()> + Send) {
        let (outbox, outgoing) = mpsc::channel(OUTBOX_MESSAGES);
        let connection = Arc::new(Self {
            outbox,
            waiting: Mutex::default(),
            routes: Mutex::default(),
            next_id: AtomicU64::new(1),
            worked: AtomicBool::new(false),
            gone: CancellationToken::new(),
            ended_at: OnceLock::new(),
            commands: Mutex::default(),
        });
        let served = connection.clone();
        let work = async move {
            tokio::select! {
                () = served.read(Lines::new(stdout)) => {}
                () = write(stdin, outgoing) => {}
                () = served.gone.cancelled() => {}
            }
            served.close();
        };
        (connection, work)
    }

    /// Asks the agent and waits for its answer.
    pub(super) async fn call(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        let (reply, answer) = oneshot::channel();
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let _forgotten = self.forgotten(id);
        self.ask(id, method, params, Waiting::Reply(reply)).await?;
        answer.await.unwrap_or_else(|_| Err(gone()))
    }

    fn forgotten(&self, id: u64) -> Forgotten<'_> {
        Forgotten {
            connection: self,
            id,
            kept: false,
        }
    }

    /// Opens the inbox of a session. Messages for a session without one are dropped.
    pub(super) fn open(&self, session: &str) -> Inbox {
        let (send, inbox) = mpsc::unbounded_channel();
        let route = Route {
            send,
            room: Arc::new(Semaphore::new(INBOX_BYTES)),
            idle: Arc::new(watch::Sender::new(false)),
        };
        self.routes.lock().insert(session.to_owned(), route);
        inbox
    }

    /// Closes the inbox of a session.
    pub(super) fn shut(&self, session: &str) {
        self.routes.lock().remove(session);
    }

    /// Says whether somebody reads the session's inbox now.
    pub(super) fn set_idle(&self, session: &str, idle: bool) {
        if let Some(route) = self.routes.lock().get(session) {
            route.idle.send_replace(idle);
        }
    }

    /// Starts a prompt: its end comes to the session's inbox.
    pub(super) async fn prompt(&self, session: &str, prompt: Value) -> Result<(), RpcError> {
        let route = self.routes.lock().get(session).cloned().ok_or_else(gone)?;
        let params = json!({ "sessionId": session, "prompt": prompt });
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        // Given up before it was written it has no end to wait for.
        let mut forgotten = self.forgotten(id);
        self.ask(id, "session/prompt", params, Waiting::Prompt(route))
            .await?;
        forgotten.kept = true;
        Ok(())
    }

    /// Tells the agent something that has no answer.
    pub(super) async fn notify(&self, method: &str, params: Value) -> Result<(), RpcError> {
        self.write(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
            .await
    }

    /// Answers a request of the agent.
    pub(super) async fn answer(&self, id: &Value, result: Value) -> Result<(), RpcError> {
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))
            .await
    }

    /// Whether it has ended a prompt: what ends after that did not die of its start.
    pub(super) fn has_worked(&self) -> bool {
        self.worked.load(Ordering::Relaxed)
    }

    /// When it ended, if it has.
    pub(super) fn ended_at(&self) -> Option<Instant> {
        self.ended_at.get().copied()
    }

    /// What the agent last told of its commands.
    pub(super) fn commands(&self) -> Vec<(String, String)> {
        self.commands.lock().clone()
    }

    async fn ask(
        &self,
        id: u64,
        method: &str,
        params: Value,
        waiting: Waiting,
    ) -> Result<(), RpcError> {
        self.waiting.lock().insert(id, waiting);
        // Whoever closes takes out what waits; what comes later finds it closed.
        if self.gone.is_cancelled() {
            self.waiting.lock().remove(&id);
            return Err(gone());
        }
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.write(&request).await
    }

    async fn write(&self, message: &Value) -> Result<(), RpcError> {
        let mut line = serde_json::to_vec(message).expect("JSON values have a JSON form");
        line.push(b'\n');
        tokio::select! {
            sent = self.outbox.send(line) => sent.map_err(|_| gone()),
            () = self.gone.cancelled() => Err(gone()),
        }
    }

    async fn read<R: AsyncRead + Unpin>(&self, mut lines: Lines<R>) {
        while let Some((message, length)) = lines.next().await {
            self.take(message, length).await;
        }
    }

    async fn take(&self, mut message: Value, length: usize) {
        let id = message.get("id").filter(|id| !id.is_null()).cloned();
        let method = message.get("method").and_then(Value::as_str);
        match (method.map(str::to_owned), id) {
            (Some(method), id) => {
                let params = message["params"].take();
                self.take_call(&method, id, params, length).await;
            }
            (None, Some(id)) => {
                let waiting = id.as_u64().and_then(|id| self.waiting.lock().remove(&id));
                let result = match message.get("error").filter(|error| !error.is_null()) {
                    Some(error) => Err(read_error(error)),
                    None => Ok(message["result"].take()),
                };
                match waiting {
                    Some(Waiting::Reply(reply)) => drop(reply.send(result)),
                    Some(Waiting::Prompt(route)) => {
                        self.worked.store(true, Ordering::Relaxed);
                        drop(route.send.send((Inbound::Ended(result), None)));
                    }
                    None => {}
                }
            }
            (None, None) => {}
        }
    }

    async fn take_call(&self, method: &str, id: Option<Value>, params: Value, length: usize) {
        let session = params.get("sessionId").and_then(Value::as_str);
        let route = session.and_then(|session| self.routes.lock().get(session).cloned());
        match (method, id) {
            ("session/update", _) => {
                self.note_commands(&params);
                if let Some(route) = route {
                    drop(route.deliver(Inbound::Update(params), length).await);
                }
            }
            ("session/request_permission", Some(id)) => {
                self.take_permission(route, id, params, length).await;
            }
            (method, Some(id)) => {
                let text = format!("{method} is not offered here");
                let error = json!({ "code": METHOD_NOT_FOUND, "message": text });
                let refusal = json!({ "jsonrpc": "2.0", "id": id, "error": error });
                drop(self.write(&refusal).await);
            }
            (_, None) => {}
        }
    }

    /// Passes a request for permission on, or answers it where nobody can: the agent would wait for ever.
    async fn take_permission(&self, route: Option<Route>, id: Value, params: Value, length: usize) {
        let answer = match route {
            None => cancelled(),
            Some(route) => match route
                .deliver(Inbound::Permission(id.clone(), params), length)
                .await
            {
                Err(Inbound::Permission(_, params)) => {
                    Permission::read(id.clone(), &params).refused()
                }
                _ => return,
            },
        };
        drop(self.answer(&id, answer).await);
    }

    fn note_commands(&self, params: &Value) {
        let update = &params["update"];
        if update["sessionUpdate"] != "available_commands_update" {
            return;
        }
        let commands = update["availableCommands"].as_array().into_iter().flatten();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        *self.commands.lock() = commands
            .map(|it| (text(&it["name"]), text(&it["description"])))
            .filter(|(name, _)| !name.is_empty())
            .collect();
    }

    /// Tells all who wait that nothing more comes. Doing so twice changes nothing more.
    pub(super) fn close(&self) {
        self.gone.cancel();
        self.ended_at.get_or_init(Instant::now);
        let waiting: Vec<Waiting> = self.waiting.lock().drain().map(|(_, it)| it).collect();
        for waiting in waiting {
            match waiting {
                Waiting::Reply(reply) => drop(reply.send(Err(gone()))),
                Waiting::Prompt(route) => {
                    drop(route.send.send((Inbound::Ended(Err(gone())), None)));
                }
            }
        }
        self.routes.lock().clear();
    }
}

impl Route {
    /// Puts a message into the inbox when there is room for it; gives it back where nobody makes room.
    async fn deliver(&self, message: Inbound, length: usize) -> Result<(), Inbound> {
        let wanted = length.clamp(1, INBOX_BYTES) as u32;
        let mut idle = self.idle.subscribe();
        let room = tokio::select! {
            biased;
            room = self.room.clone().acquire_many_owned(wanted) => room.ok(),
            // Whoever read is gone.
            () = self.send.closed() => None,
            // The others' messages come after this one: it cannot be waited for.
            _ = idle.wait_for(|idle| *idle) => None,
        };
        match room {
            Some(room) => {
                let sent = self.send.send((message, Some(room)));
                sent.map_err(|unread| unread.0.0)
            }
            None => Err(message),
        }
    }
}

async fn write(mut stdin: impl AsyncWrite + Unpin, mut outgoing: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = outgoing.recv().await {
        if stdin.write_all(&line).await.is_err() || stdin.flush().await.is_err() {
            return;
        }
    }
}

/// The agent's process is gone.
pub(super) fn gone() -> RpcError {
    RpcError {
        code: 0,
        message: "the agent's process ended".to_owned(),
    }
}

fn read_error(error: &Value) -> RpcError {
    let text = error["message"].as_str().unwrap_or("no reason given");
    let details = error["data"]["details"].as_str();
    RpcError {
        code: error["code"].as_i64().unwrap_or_default(),
        message: match details {
            Some(details) => format!("{text}: {details}"),
            None => text.to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test]
    async fn a_prompt_that_is_given_up_before_it_is_written_is_not_waited_for() {
        let (connection, _work) = Connection::over(tokio::io::sink(), tokio::io::empty());
        let _inbox = connection.open("s");
        for _ in 0..OUTBOX_MESSAGES {
            connection.notify("n", json!({})).await.unwrap();
        }
        let prompt = connection.prompt("s", json!([]));
        let given_up = tokio::time::timeout(Duration::ZERO, prompt).await;
        assert!(given_up.is_err(), "the outbox is not full");
        assert!(connection.waiting.lock().is_empty());
    }
}
