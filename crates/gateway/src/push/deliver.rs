//! Looks at tasks that moved and keeps one courier per webhook with something to send.

use nuncio_store::PushConfig;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::Push;
use super::courier::Courier;

/// Pause before a store that is away is asked again.
pub(super) const STORE_PAUSE: Duration = Duration::from_secs(1);
/// From an event to the look at its webhooks: an answer that the same event completes is written
/// first, and what a quick turn commits meanwhile is looked at once.
const BREATH: Duration = Duration::from_millis(5);
/// Tasks that are taken up together after one breath.
const TASKS_AT_ONCE: usize = 1024;

impl Push {
    /// Serves tasks that moved until the gateway stops.
    pub(super) async fn deliver(self: Arc<Self>, mut woken: mpsc::UnboundedReceiver<Arc<str>>) {
        let mut moved = Vec::new();
        loop {
            let gathering = async {
                let count = woken.recv_many(&mut moved, TASKS_AT_ONCE).await;
                tokio::time::sleep(BREATH).await;
                count
            };
            let count = tokio::select! {
                () = self.closing.cancelled() => return,
                count = gathering => count,
            };
            if count == 0 {
                return;
            }
            for task in moved.drain(..) {
                self.look_until_seen(&task).await;
            }
        }
    }

    /// One look, again after a pause while the store is away.
    async fn look_until_seen(self: &Arc<Self>, task: &Arc<str>) {
        if let Err(error) = self.look_at(task).await {
            tracing::error!(%error, %task, "push notifications wait for the store");
            tokio::select! {
                () = self.closing.cancelled() => {}
                () = tokio::time::sleep(STORE_PAUSE) => self.moved(task),
            }
        }
    }

    /// Sends couriers for what is pending; stops watching a task that has nothing more to send.
    async fn look_at(self: &Arc<Self>, task: &Arc<str>) -> Result<(), nuncio_store::StoreError> {
        let Some(generation) = self.begin_look(task) else {
            return Ok(());
        };
        let departures = self.couriers.departures();
        let configs = self.store.push_configs(task).await?;
        if configs.iter().all(PushConfig::is_done) {
            self.unwatch(task, generation);
        }
        let mut engaged: Vec<_> = configs
            .into_iter()
            .filter(PushConfig::is_pending)
            .filter_map(|config| Some((self.engage(&config)?, config)))
            .collect();
        // A courier that left meanwhile may have moved a cursor after it was read. Nobody moves
        // those of the engaged.
        if !engaged.is_empty() && self.couriers.departures() != departures {
            let read = self.store.push_configs(task).await;
            if read.is_err() {
                let couriers = &self.couriers;
                engaged
                    .iter()
                    .for_each(|(_, config)| couriers.leave(config));
            }
            engaged = self.renew(engaged, read?);
        }
        for (cancel, config) in engaged {
            self.send_courier(cancel, config);
        }
        Ok(())
    }

    /// The engaged as they stand now; those that have nothing to send any more go home.
    fn renew(
        &self,
        engaged: Vec<(CancellationToken, PushConfig)>,
        now: Vec<PushConfig>,
    ) -> Vec<(CancellationToken, PushConfig)> {
        let renew = |(cancel, old): (_, PushConfig)| {
            let same = |new: &&PushConfig| new.id == old.id && new.revision == old.revision;
            let new = now.iter().find(same).filter(|new| new.is_pending());
            if new.is_none() {
                self.couriers.leave(&old);
            }
            Some((cancel, new?.clone()))
        };
        engaged.into_iter().filter_map(renew).collect()
    }

    /// From now on the task may be woken again.
    fn begin_look(&self, task: &str) -> Option<u64> {
        let mut watched = self.watched.lock();
        let watched = watched.get_mut(task)?;
        watched.woken = false;
        Some(watched.generation)
    }

    fn unwatch(&self, task: &str, generation: u64) {
        let mut watched = self.watched.lock();
        if watched
            .get(task)
            .is_some_and(|watched| watched.generation == generation)
        {
            watched.remove(task);
            self.count.store(watched.len(), Ordering::SeqCst);
        }
    }

    /// What stops the courier that is needed for this webhook; `None` if there is one.
    fn engage(&self, config: &PushConfig) -> Option<CancellationToken> {
        let cancel = self.stopping.child_token();
        let key = (config.task.clone(), config.id.clone());
        let is_needed = self.couriers.engage(key, config.revision, &cancel);
        is_needed.then_some(cancel)
    }

    fn send_courier(self: &Arc<Self>, cancel: CancellationToken, config: PushConfig) {
        let courier = Courier::new(self.clone(), config);
        self.tracker.spawn(async move {
            tokio::select! {
                () = cancel.cancelled() => {}
                () = courier.run() => {}
            }
        });
    }
}

type Key = (Arc<str>, Arc<str>);

/// The couriers under way, by task and webhook.
#[derive(Default)]
pub(super) struct Couriers {
    engaged: Mutex<HashMap<Key, Engaged>>,
    departures: AtomicU64,
}

struct Engaged {
    revision: u64,
    /// There may be more to send than it has seen.
    again: bool,
    cancel: CancellationToken,
}

impl Couriers {
    /// How many have left so far.
    fn departures(&self) -> u64 {
        self.departures.load(Ordering::SeqCst)
    }

    /// Whether a new courier is needed: else the one under way looks again. One for a configuration
    /// that was replaced is dismissed.
    fn engage(&self, key: Key, revision: u64, cancel: &CancellationToken) -> bool {
        let mut couriers = self.engaged.lock();
        if let Some(engaged) = couriers.get_mut(&key) {
            if engaged.revision >= revision {
                engaged.again = true;
                return false;
            }
            engaged.cancel.cancel();
        }
        let engaged = Engaged {
            revision,
            again: false,
            cancel: cancel.clone(),
        };
        couriers.insert(key, engaged);
        true
    }

    /// Whether a courier that has nothing more to send may go home.
    pub(super) fn may_leave(&self, config: &PushConfig) -> bool {
        let mut couriers = self.engaged.lock();
        let key = (config.task.clone(), config.id.clone());
        match couriers.get_mut(&key) {
            Some(engaged) if engaged.revision == config.revision => {
                let again = std::mem::take(&mut engaged.again);
                if !again {
                    couriers.remove(&key);
                    self.departures.fetch_add(1, Ordering::SeqCst);
                }
                !again
            }
            _ => true,
        }
    }

    /// A courier whose configuration is gone, off or replaced leaves at once.
    pub(super) fn leave(&self, config: &PushConfig) {
        let mut couriers = self.engaged.lock();
        let key = (config.task.clone(), config.id.clone());
        if couriers
            .get(&key)
            .is_some_and(|engaged| engaged.revision == config.revision)
        {
            couriers.remove(&key);
            self.departures.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Stops the courier of a deleted configuration.
    pub(super) fn dismiss(&self, task: &str, id: &str) {
        let key = (Arc::from(task), Arc::from(id));
        if let Some(engaged) = self.engaged.lock().remove(&key) {
            engaged.cancel.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use nuncio_store::{
        Created, MemoryOptions, MemoryStore, NewPushConfig, NewTask, Repeat, Store,
    };
    use nuncio_wire::TaskState;
    use nuncio_wire::dialects::Dialect;

    fn task(id: &str, url: &str) -> NewTask {
        NewTask {
            id: id.into(),
            agent: "a".into(),
            owner: "o".into(),
            context_id: "c".into(),
            dialect: Dialect::V1,
            alias: None,
            alias_is_unique: false,
            state: TaskState::Working,
            status: r#"{"state":"TASK_STATE_WORKING"}"#.into(),
            status_millis: 0,
            message: r#"{"messageId":"m","role":"ROLE_USER","parts":[]}"#.into(),
            metadata: None,
            repeat: Repeat {
                key: None,
                key_expires_millis: 0,
                message_id: id.to_owned(),
                payload_hash: [0; 32],
            },
            push_config: Some(NewPushConfig {
                id: "p".into(),
                id_is_callers: true,
                dialect: Dialect::V1,
                config: format!(r#"{{"url":"{url}"}}"#).into(),
            }),
        }
    }

    #[tokio::test]
    async fn a_task_is_watched_for_as_long_as_it_has_something_to_send() {
        let store = Arc::new(MemoryStore::new(MemoryOptions::default()));
        let (push, woken) = Push::new(store.clone(), &Config::default()).unwrap();
        push.start(woken).await.unwrap();
        // An address that is no longer allowed switches its webhook off.
        for (id, url) in [("t1", "https://127.0.0.1:1/"), ("t2", "https://[::1]/")] {
            assert_eq!(store.create_task(task(id, url)).await, Ok(Created::New));
            push.watch_quietly(&id.into());
        }
        assert_eq!(push.watching(), 2);
        push.forget_task("t1");
        assert_eq!(push.watching(), 1);
        push.moved(&"t2".into());
        let idle = async {
            while push.watching() > 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), idle)
            .await
            .unwrap();
        assert!(store.push_configs("t2").await.unwrap()[0].progress.off);
        assert!(store.push_configs("t1").await.unwrap()[0].is_pending());
        push.stop().await;
    }
}
