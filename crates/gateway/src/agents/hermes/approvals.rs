//! Turns that wait for the caller to approve a command: kept here, with their place in the session,
//! between the question and its answer. None survives a restart, and none waits for ever.

use nuncio_wire::{Message, Part, PartContent, RawJson, Role};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::record::ours;
use super::run::Run;
use crate::agents::Turn;
use crate::agents::completions::Halt;
use crate::agents::completions::content;
use crate::agents::place::Place;

/// How long a question may stay unanswered. Hermes itself waits a minute unless its operator lets it
/// wait longer, and then goes on without the command.
const WAIT_LIMIT: Duration = Duration::from_secs(10 * 60);
/// How long Hermes may take to stop what waits when the gateway stops.
const GIVE_UP: Duration = Duration::from_secs(10);
/// The member of a question's data by which it is known again.
const ABOUT: &str = "approval";
/// Words that approve; everything else denies.
const YES: [&str; 7] = ["approve", "approved", "allow", "once", "yes", "y", "ok"];

/// A turn that waits.
pub(super) struct Suspended {
    pub(super) run: Run,
    /// The session is the turn's until it is over.
    pub(super) _place: Place,
}

/// The turns that wait, by task, each with a number of its own.
type Waiting = HashMap<Arc<str>, (u64, Suspended)>;

/// The same, shared with those who watch over them.
#[derive(Clone, Default)]
pub(super) struct Suspensions {
    waiting: Arc<Mutex<Waiting>>,
    watchers: TaskTracker,
    stopping: CancellationToken,
    counter: Arc<Mutex<u64>>,
}

impl std::fmt::Debug for Suspensions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Suspensions").finish_non_exhaustive()
    }
}

impl Suspensions {
    /// Where what stops runs in the background is awaited.
    pub(super) fn tracker(&self) -> &TaskTracker {
        &self.watchers
    }

    /// Keeps a turn until its caller answers, for a while at most.
    pub(super) fn keep(&self, task: &Arc<str>, suspended: Suspended) {
        let number = {
            let mut counter = self.counter.lock();
            *counter += 1;
            *counter
        };
        self.waiting
            .lock()
            .insert(task.clone(), (number, suspended));
        let (all, task) = (self.clone(), task.clone());
        self.watchers.spawn(async move {
            tokio::select! {
                () = tokio::time::sleep(WAIT_LIMIT) => {}
                () = all.stopping.cancelled() => {}
            }
            let late = {
                let mut waiting = all.waiting.lock();
                let is_it = waiting.get(&task).is_some_and(|(kept, _)| *kept == number);
                if is_it { waiting.remove(&task) } else { None }
            };
            if let Some((_, mut suspended)) = late {
                suspended.run.stop().await;
            }
        });
    }

    /// The turn of this task that waits.
    pub(super) fn take(&self, task: &str) -> Option<Suspended> {
        self.waiting
            .lock()
            .remove(task)
            .map(|(_, suspended)| suspended)
    }

    /// Its caller does not want it any longer.
    pub(super) async fn abandon(&self, task: &str) {
        if let Some(mut suspended) = self.take(task) {
            suspended.run.stop().await;
        }
    }

    /// Stops all that wait.
    pub(super) async fn stop(&self) {
        self.stopping.cancel();
        self.watchers.close();
        let stopped = tokio::time::timeout(GIVE_UP, self.watchers.wait());
        if stopped.await.is_err() {
            tracing::warn!("Hermes did not stop its runs in time");
        }
    }
}

/// The question that a request for approval becomes.
pub(super) fn question(turn: &Turn, request: &Value) -> Message {
    let told = |key: &str| request.get(key).and_then(Value::as_str).unwrap_or_default();
    let (command, why) = (told("command"), told("description"));
    let mut text = "The agent asks to be allowed to run a command.".to_owned();
    for (label, told) in [("Command", command), ("Why it asks", why)] {
        if !told.is_empty() {
            text.push_str(&format!("\n{label}: {told}"));
        }
    }
    text.push_str("\nAnswer `approve` to allow it once, or `deny`.");
    let data = json!({ ABOUT: { "command": command, "choices": ["approve", "deny"] } });
    let data = RawJson::parse(data.to_string()).expect("JSON values have a JSON form");
    turn.reply(vec![Part::text(text), Part::new(PartContent::Data(data))])
}

/// Whether the caller's answer allows the command.
pub(super) fn is_yes(message: &Message) -> bool {
    let answer = content::as_text(&message.parts).trim().to_ascii_lowercase();
    YES.contains(&answer.trim_end_matches(['.', '!']))
}

/// Whether the turn answers a question for approval.
pub(super) async fn is_answer(turn: &Turn) -> Result<bool, Halt> {
    if turn.message.message_id == turn.opening.message_id {
        return Ok(false);
    }
    let said = ours(turn).await?;
    Ok(said.last().is_some_and(|last| {
        let is_question = |part: &Part| match &part.content {
            PartContent::Data(data) => data.get().starts_with(&format!("{{\"{ABOUT}\":")),
            _ => false,
        };
        last.role == Role::Agent
            && *last.task_id == *turn.task_id
            && last.parts.iter().any(is_question)
    }))
}
