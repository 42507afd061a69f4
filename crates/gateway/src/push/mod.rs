//! Push notifications: each event of a task to each of its webhooks, in order, at least once.
//!
//! A commit only says which task moved ([`Push::moved`]); everything else happens apart from it.
//! `deliver` wakes one `courier` per webhook with something to send, which reads the event log by
//! its cursor; `target`, `payload` and `sign` make the request, `schedule` and `endpoint` say when;
//! `troubles` is the operator's view.

mod courier;
mod deliver;
mod endpoint;
mod payload;
pub(crate) mod schedule;
mod sign;
mod target;
mod troubles;

use nuncio_client::{AddressPolicy, Webhooks};
use nuncio_store::{Store, StoreError};
use nuncio_wire::A2aError;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::agents::conformance::Profile;
use crate::config::{AgentConfig, BackendConfig, Config};
use deliver::Couriers;
use endpoint::Endpoints;
use schedule::Schedule;
use sign::Signer;
pub use troubles::{Remedy, Which};

/// Tries under way at once, to all receivers together: sockets are not for webhooks alone.
const MAX_TRIES: usize = 512;

/// How long a try under way may take when the gateway stops.
const LAST_TRY: Duration = Duration::from_secs(1);

/// The push notifications of one gateway.
pub struct Push {
    store: Arc<dyn Store>,
    webhooks: Webhooks,
    policy: AddressPolicy,
    signer: Signer,
    schedule: Schedule,
    timeout: Duration,
    tries: Semaphore,
    endpoints: Endpoints,
    couriers: Couriers,
    watched: Mutex<HashMap<Arc<str>, Watched>>,
    /// How many are watched: the one thing that a commit looks at where there are no webhooks.
    count: AtomicUsize,
    woken: mpsc::UnboundedSender<Arc<str>>,
    tracker: TaskTracker,
    /// No try begins any more.
    closing: CancellationToken,
    /// Tries under way are broken off.
    stopping: CancellationToken,
}

/// A task with webhooks.
#[derive(Default)]
struct Watched {
    /// Raised by each [`Push::watch`], so that an older look cannot undo it.
    generation: u64,
    /// It moved and was not looked at since.
    woken: bool,
}

/// Tasks that moved, for the one who looks at them.
pub struct Woken(mpsc::UnboundedReceiver<Arc<str>>);

impl Push {
    /// Push notifications as configured; [`Push::start`] sets them going.
    ///
    /// The error says which key of the configuration is no good.
    pub fn new(store: Arc<dyn Store>, config: &Config) -> Result<(Arc<Self>, Woken), String> {
        let policy = policy(config);
        let (woken, moved) = mpsc::unbounded_channel();
        let push = Self {
            store,
            webhooks: Webhooks::new(policy.clone()),
            policy,
            signer: Signer::new(config)?,
            schedule: Schedule::new(&config.push.retry_delays, config.push.slow_down),
            timeout: config.push.timeout.get(),
            tries: Semaphore::new(MAX_TRIES),
            endpoints: Endpoints::default(),
            couriers: Couriers::default(),
            watched: Mutex::default(),
            count: AtomicUsize::new(0),
            woken,
            tracker: TaskTracker::new(),
            closing: CancellationToken::new(),
            stopping: CancellationToken::new(),
        };
        Ok((Arc::new(push), Woken(moved)))
    }

    /// Takes up what an earlier process left unsent, and begins to deliver.
    pub async fn start(self: &Arc<Self>, woken: Woken) -> Result<(), StoreError> {
        for task in self.store.pushing_tasks().await? {
            self.watch(&task);
        }
        self.tracker.spawn(self.clone().deliver(woken.0));
        Ok(())
    }

    /// Lets tries under way end, but not for long: what is broken off is sent again after the next
    /// start.
    pub async fn stop(&self) {
        self.closing.cancel();
        self.tracker.close();
        let _ = tokio::time::timeout(LAST_TRY, self.tracker.wait()).await;
        self.stopping.cancel();
        self.tracker.wait().await;
    }

    /// Whether callers may register this address as a webhook. `field` is where it stands.
    pub fn check_url(&self, url: &str, field: &str) -> Result<(), A2aError> {
        target::parse_url(&self.policy, url)
            .map(drop)
            .map_err(|reason| A2aError::invalid_field(field, reason))
    }

    /// The task has a webhook from now on, and maybe something to send.
    pub fn watch(&self, task: &Arc<str>) {
        let mut watched = self.watched.lock();
        watched.entry(task.clone()).or_default().generation += 1;
        self.count.store(watched.len(), Ordering::SeqCst);
        drop(watched);
        self.moved(task);
    }

    /// The task has a webhook from now on, but nothing to send yet.
    pub fn watch_quietly(&self, task: &Arc<str>) {
        let mut watched = self.watched.lock();
        watched.entry(task.clone()).or_default().generation += 1;
        self.count.store(watched.len(), Ordering::SeqCst);
    }

    /// Something of the task was committed. Costs one look at a number where there are no webhooks.
    pub fn moved(&self, task: &Arc<str>) {
        if self.count.load(Ordering::SeqCst) == 0 {
            return;
        }
        if let Some(watched) = self.watched.lock().get_mut(task)
            && !std::mem::replace(&mut watched.woken, true)
        {
            // Fails only when the gateway stops.
            let _ = self.woken.send(task.clone());
        }
    }

    /// The webhook was deleted: what is under way and queued for it ends.
    pub fn forget(&self, task: &str, id: &str) {
        self.couriers.dismiss(task, id);
        // It may have been the last one.
        self.moved(&Arc::from(task));
    }

    /// The task turned out to be none, before anything of it was sent.
    pub fn forget_task(&self, task: &str) {
        let mut watched = self.watched.lock();
        watched.remove(task);
        self.count.store(watched.len(), Ordering::SeqCst);
    }

    /// How many tasks are watched.
    #[cfg(test)]
    fn watching(&self) -> usize {
        self.watched.lock().len()
    }
}

/// What callers' URLs may name: what is public, what the operator allows, and loopback where
/// nothing but the conformance kits' own agent is served.
fn policy(config: &Config) -> AddressPolicy {
    let mut policy = AddressPolicy::public_only();
    for allowed in &config.security.push_allow_addresses {
        policy.allow_address(allowed.get().clone());
    }
    let for_kits = |agent: &AgentConfig| {
        matches!(&agent.backend, BackendConfig::Conformance(kit)
            if kit.profile.parse().is_ok_and(|kit: Profile| kit.switches().loopback_push))
    };
    if !config.agents.is_empty() && config.agents.values().all(for_kits) {
        for loopback in ["127.0.0.0/8", "::1"] {
            policy.allow_address(loopback.parse().expect("a network in its usual spelling"));
        }
    }
    policy
}
