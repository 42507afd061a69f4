//! What the operator sees of webhooks that do not work, and the two remedies: to send again what was
//! given up, and to switch on again what was switched off.
//!
//! Never sends itself: it changes where a webhook stands and wakes its courier.

use nuncio_store::{PushAdvance, PushConfig, PushProgress, StoreError};
use nuncio_wire::{TaskPushNotificationConfig, Timestamp};
use serde::Serialize;
use url::Url;

use super::Push;
use super::sign::delivery_id;
use super::target::Target;

/// Webhooks that are told of at once: with all that they have given up, some megabytes of JSON.
const PAGE: usize = 500;
/// Looks at a webhook that moves while it is being changed. It moves with its tries, and each takes a
/// round trip to its receiver.
const LOOKS: usize = 16;

/// Webhooks that are off or failing or have given up a delivery.
#[derive(Debug, Serialize)]
pub struct Troubles {
    troubles: Vec<Trouble>,
    /// Where the next page begins; none: these were the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Trouble {
    task: String,
    config: String,
    owner: String,
    /// Scheme, host and port: paths and queries may hold secrets.
    receiver: String,
    /// `off`, `failing` or `gave up`.
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    failing_since: Option<String>,
    /// Failed tries of what comes next.
    tries: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_status: Option<u16>,
    /// The event that is to be sent next, and the newest one of its task.
    next_version: u64,
    task_version: u64,
    given_up: Vec<Missed>,
}

/// A delivery that was given up.
#[derive(Debug, Serialize)]
struct Missed {
    version: u64,
    webhook_id: String,
    given_up_at: String,
    tries: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_status: Option<u16>,
    /// It is to be sent again.
    queued: bool,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Send again what was given up.
    Replay,
    /// Switch on again, from where it stood.
    Enable,
}

/// Which webhooks; what is not named means all.
#[derive(Debug, Default)]
pub struct Which {
    /// The task.
    pub task: Option<String>,
    /// The configuration.
    pub config: Option<String>,
}

/// What became of it.
#[derive(Debug, Default, Serialize)]
pub struct Mended {
    /// Webhooks that were changed.
    pub changed: Vec<Named>,
    /// Webhooks that could not be.
    pub refused: Vec<Refused>,
}

/// A webhook.
#[derive(Debug, Serialize)]
pub struct Named {
    task: String,
    config: String,
}

/// A webhook that could not be changed.
#[derive(Debug, Serialize)]
pub struct Refused {
    #[serde(flatten)]
    webhook: Named,
    reason: String,
}

impl Push {
    /// One page of webhooks in trouble, those with a number above `after`.
    pub async fn troubles(&self, after: u64) -> Result<Troubles, StoreError> {
        let found = self.store.troubled_push_configs(after, PAGE).await?;
        let last = found.last().map(|config| config.number);
        Ok(Troubles {
            next: last.filter(|_| found.len() == PAGE),
            troubles: found.iter().map(Trouble::of).collect(),
        })
    }

    /// Does so with all of these webhooks that need it.
    pub async fn mend(&self, remedy: Remedy, which: &Which) -> Result<Mended, StoreError> {
        let mut mended = Mended::default();
        if let Some(task) = &which.task {
            let mut configs = self.store.push_configs(task).await?;
            if let Some(wanted) = &which.config {
                configs.retain(|config| *config.id == **wanted);
            }
            self.mend_all(remedy, configs, &mut mended).await?;
            return Ok(mended);
        }
        let mut after = 0;
        loop {
            let found = self.store.troubled_push_configs(after, PAGE).await?;
            let Some(last) = found.last() else {
                return Ok(mended);
            };
            after = last.number;
            self.mend_all(remedy, found, &mut mended).await?;
        }
    }

    async fn mend_all(
        &self,
        remedy: Remedy,
        configs: Vec<PushConfig>,
        mended: &mut Mended,
    ) -> Result<(), StoreError> {
        for config in configs {
            let webhook = Named {
                task: config.task.to_string(),
                config: config.id.to_string(),
            };
            match self.mend_one(remedy, config).await? {
                Ok(true) => mended.changed.push(webhook),
                Ok(false) => {}
                Err(reason) => mended.refused.push(Refused { webhook, reason }),
            }
        }
        Ok(())
    }

    /// Whether it was changed; the text says why it cannot be.
    async fn mend_one(
        &self,
        remedy: Remedy,
        mut config: PushConfig,
    ) -> Result<Result<bool, String>, StoreError> {
        for look in 0..LOOKS {
            let Some(progress) = remedy.of(&config.progress) else {
                // After a first step whose answer was lost it was changed by that.
                return Ok(Ok(look > 0 && !config.progress.off));
            };
            let target = match Target::of(&self.policy, &config) {
                Ok(target) => target,
                Err(reason) => return Ok(Err(reason)),
            };
            if progress.off {
                return Ok(Err("it is switched off: enable it first".to_owned()));
            }
            self.endpoints.forgive(target.url.as_str());
            let step = PushAdvance {
                task: config.task.clone(),
                id: config.id.clone(),
                revision: config.revision,
                progress,
                instead_of: Some(Box::new(config.progress.clone())),
            };
            if self.store.advance_push(step).await? {
                tracing::info!(task = %config.task, config = %config.id, ?remedy,
                    "the operator took a webhook in hand");
                self.watch(&config.task);
                return Ok(Ok(true));
            }
            let now = self.store.push_configs(&config.task).await?;
            match now.into_iter().find(|now| now.id == config.id) {
                Some(now) => config = now,
                None => return Ok(Ok(false)),
            }
        }
        Ok(Err("it is being sent to just now: try again".to_owned()))
    }
}

impl Remedy {
    /// Where a webhook stands afterwards; `None`: it needs no such thing.
    fn of(self, progress: &PushProgress) -> Option<PushProgress> {
        match self {
            Self::Replay => {
                let waits = progress.given_up.iter().any(|it| !it.again);
                waits.then(|| progress.replayed())
            }
            Self::Enable => progress.off.then(|| progress.switched_on()),
        }
    }
}

impl Trouble {
    fn of(config: &PushConfig) -> Self {
        let progress = &config.progress;
        let time = |millis| Timestamp::from_millis(millis).to_string();
        let missed = progress.given_up.iter().map(|it| Missed {
            version: it.version,
            webhook_id: delivery_id(&config.task, &config.id, config.number, it.version),
            given_up_at: time(it.millis),
            tries: it.tries,
            last_status: it.last_status,
            queued: it.again,
        });
        Self {
            task: config.task.to_string(),
            config: config.id.to_string(),
            owner: config.owner.to_string(),
            receiver: receiver(config),
            state: if progress.off {
                "off"
            } else if progress.failing_since_millis.is_some() {
                "failing"
            } else {
                "gave up"
            },
            failing_since: progress.failing_since_millis.map(time),
            tries: progress.attempts,
            last_status: progress.last_status,
            next_version: progress.next(),
            task_version: config.task_version,
            given_up: missed.collect(),
        }
    }
}

/// Scheme, host and port of a webhook's address.
fn receiver(config: &PushConfig) -> String {
    let read = serde_json::from_slice::<TaskPushNotificationConfig>(&config.config).ok();
    let url = read.and_then(|read| Url::parse(&read.url).ok());
    url.map_or_else(String::new, |url| url.origin().ascii_serialization())
}
