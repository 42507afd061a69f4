//! Where the agent behind us posts that a task of its has news: an address for one turn, which is kept, so
//! that it is still good after a restart.
//!
//! A post only rings: what the news are the agent is asked, so nobody can make up a task by a post.

use nuncio_wire::TaskPushNotificationConfig;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

use crate::agents::callbacks::{Callbacks, Opening, new_token};
use crate::card::BaseUrl;
use crate::config::Secret;
use crate::ids;

/// The addresses that the gateway can give.
pub(super) struct Doorbell {
    callbacks: Arc<Callbacks>,
    base: BaseUrl,
}

/// An address as it is kept.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Hook {
    /// The task here that it is for.
    task: String,
    id: String,
    token: String,
}

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hook")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// What rings in one turn, if anything does. It is closed with the turn; dropped without that the gateway
/// stops, and the turn goes on after its next start.
pub(super) struct Bell<'a> {
    doorbell: Option<&'a Doorbell>,
    open: Option<(Arc<str>, Opening)>,
    has_rung: bool,
}

impl Doorbell {
    pub(super) fn new(callbacks: &Arc<Callbacks>, base: BaseUrl) -> Self {
        Self {
            callbacks: callbacks.clone(),
            base,
        }
    }
}

impl Hook {
    /// A new address for a task here. The agent knows it by the id of the one `before` it, if that was for
    /// the same task, and so replaces that.
    pub(super) fn new(task: &str, before: Option<&Self>) -> Self {
        let before = before.filter(|hook| hook.is_for(task));
        Self {
            task: task.to_owned(),
            id: before.map_or_else(ids::new_id, |hook| hook.id.clone()),
            token: new_token(),
        }
    }

    pub(super) fn is_for(&self, task: &str) -> bool {
        self.task == task
    }
}

impl<'a> Bell<'a> {
    /// Nothing rings yet.
    pub(super) fn silent(doorbell: Option<&'a Doorbell>) -> Self {
        Self {
            doorbell,
            open: None,
            has_rung: false,
        }
    }

    /// Whether there is an address to give.
    pub(super) fn can_ring(&self) -> bool {
        self.doorbell.is_some()
    }

    /// Opens the address; what the agent is told of it.
    pub(super) fn hang(&mut self, hook: &Hook) -> Option<TaskPushNotificationConfig> {
        let doorbell = self.doorbell?;
        let (id, token) = (Arc::<str>::from(&*hook.id), Secret::new(hook.token.clone()));
        let opening = doorbell.callbacks.open(&id, &token);
        self.open = Some((id, opening));
        Some(TaskPushNotificationConfig {
            tenant: None,
            id: Some(hook.id.clone()),
            task_id: None,
            url: doorbell.base.callback_url(&hook.id, &token),
            token: None,
            authentication: None,
            metadata: None,
        })
    }

    /// Whether it hangs.
    pub(super) fn hangs(&self) -> bool {
        self.open.is_some()
    }

    /// Whether the agent was heard to use it.
    pub(super) fn has_rung(&self) -> bool {
        self.has_rung
    }

    /// Waits until it rings. Cancel-safe.
    pub(super) async fn rung(&mut self) {
        let Some((_, opening)) = &mut self.open else {
            return std::future::pending().await;
        };
        opening.next().await.noted();
        // One question answers all of them.
        while let Some(more) = opening.next_now() {
            more.noted();
        }
        self.has_rung = true;
    }

    /// The turn is over, or the agent does not ring.
    pub(super) fn take_down(&mut self) {
        if let (Some(doorbell), Some((id, opening))) = (self.doorbell, self.open.take()) {
            doorbell.callbacks.close(&id);
            drop(opening);
        }
    }
}
