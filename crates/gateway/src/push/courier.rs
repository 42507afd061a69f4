//! Brings one webhook what its task has for it, one event after the other.
//!
//! The cursor moves only after a 2xx answer or when a delivery is given up, so that a process that
//! dies in between sends again, under the same `webhook-id`.

use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use nuncio_client::ClientError;
use nuncio_store::{PushAdvance, PushConfig, PushProgress, StoreError};
use std::sync::Arc;
use std::time::Duration;

use super::Push;
use super::deliver::STORE_PAUSE;
use super::endpoint::Endpoint;
use super::payload::{Folded, Payload, build};
use super::schedule::Plea;
use super::sign::delivery_id;
use super::target::Target;
use crate::clock;

const WEBHOOK_ID: HeaderName = HeaderName::from_static("webhook-id");
const WEBHOOK_TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const WEBHOOK_SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");
const BODY_SIGNATURE: HeaderName = HeaderName::from_static("x-a2a-signature");
const HUB_SIGNATURE: HeaderName = HeaderName::from_static("x-hub-signature-256");
/// The failed try after which the operator hears of a delivery; the last one is told, too.
const REPORTED_TRY: u32 = 4;

/// Serves one configuration for as long as there is something to send.
pub(super) struct Courier {
    push: Arc<Push>,
    config: PushConfig,
    progress: PushProgress,
    folded: Option<Folded>,
    /// What is being sent, or was sent last, tells of the task's end.
    last: bool,
}

/// What a step led to.
enum Step {
    /// There may be more.
    On,
    /// There is nothing more now.
    Idle,
    /// There will be nothing more: gone, off or replaced.
    End,
}

/// How a try ended.
enum Tried {
    Delivered,
    /// 410: the receiver wants nothing more, ever.
    Unwanted,
    /// Why, the status if there was an answer, and what the receiver asks for.
    Failed(String, Option<u16>, Plea),
}

impl Courier {
    pub(super) fn new(push: Arc<Push>, config: PushConfig) -> Self {
        let progress = config.progress.clone();
        Self {
            push,
            config,
            progress,
            folded: None,
            last: false,
        }
    }

    pub(super) async fn run(mut self) {
        let target = match Target::of(&self.push.policy, &self.config) {
            Ok(target) => target,
            Err(reason) => {
                // Only what the operator allows can have changed since it was registered.
                tracing::warn!(task = %self.config.task, config = %self.config.id, %reason,
                    "a webhook is switched off");
                self.switch_off();
                self.save().await;
                self.push.couriers.leave(&self.config);
                return self.push.moved(&self.config.task);
            }
        };
        let since = self.progress.failing_since_millis;
        let endpoint = self.push.endpoints.get(target.url.as_str(), since);
        loop {
            match self.step(&target, &endpoint).await {
                Step::On => {}
                Step::Idle if self.push.couriers.may_leave(&self.config) => break,
                Step::Idle => {}
                Step::End => {
                    self.push.couriers.leave(&self.config);
                    self.last = true;
                    break;
                }
            }
        }
        if self.last {
            // There may be nothing more to wait for.
            self.push.moved(&self.config.task);
        }
    }

    /// Sends the next event, if there is one.
    async fn step(&mut self, target: &Target, endpoint: &Endpoint) -> Step {
        let ready = async {
            self.wait_for_next_try().await;
            // A place first, so that nobody holds a body while it waits for one.
            endpoint.places.acquire().await.ok()
        };
        let place = tokio::select! {
            place = ready => place,
            () = self.push.closing.cancelled() => None,
        };
        let Some(place) = place else {
            return Step::End;
        };
        let version = self.progress.next();
        let again = self.progress.is_replaying();
        let (store, folded) = (self.push.store.as_ref(), &mut self.folded);
        let body = match build(store, &self.config, version, folded).await {
            Ok(Payload::Body(body, last)) => {
                // What is sent again may be all that there was left.
                self.last = last || again;
                Bytes::from(body)
            }
            Ok(Payload::Nothing) => return Step::Idle,
            Ok(Payload::Gone) => return Step::End,
            Err(StoreError::Damaged(error)) => {
                tracing::error!(%error, task = %self.config.task, version, "an event cannot be sent");
                self.progress.deliver_next();
                return if self.save().await {
                    Step::On
                } else {
                    Step::End
                };
            }
            Err(error) => {
                tracing::error!(%error, task = %self.config.task, "a push notification waits for the store");
                drop(place);
                tokio::time::sleep(STORE_PAUSE).await;
                return Step::On;
            }
        };
        let tried = self.attempt(target, version, body).await;
        drop(place);
        self.note(tried, target, endpoint);
        if self.save().await && !self.progress.off {
            Step::On
        } else {
            Step::End
        }
    }

    async fn wait_for_next_try(&self) {
        if self.progress.attempts == 0 {
            return;
        }
        let wait = self
            .progress
            .next_try_millis
            .saturating_sub(clock::now_millis());
        let wait = Duration::from_millis(u64::try_from(wait).unwrap_or(0));
        tokio::time::sleep(wait.min(self.push.schedule.longest())).await;
    }

    /// One try.
    async fn attempt(&self, target: &Target, version: u64, body: Bytes) -> Tried {
        let config = &self.config;
        let id = delivery_id(&config.task, &config.id, config.number, version);
        let seconds = clock::now_millis() / 1000;
        let mut headers = target.headers.clone();
        let signatures = [
            (WEBHOOK_ID, HeaderValue::from_str(&id).ok()),
            (WEBHOOK_TIMESTAMP, Some(HeaderValue::from(seconds))),
            (
                WEBHOOK_SIGNATURE,
                self.push.signer.message_signature(&id, seconds, &body),
            ),
            (BODY_SIGNATURE, self.push.signer.body_signature(&body)),
            (
                HUB_SIGNATURE,
                target
                    .hub
                    .as_ref()
                    .and_then(|key| HeaderValue::from_str(&key.hub(&body)).ok()),
            ),
        ];
        for (name, value) in signatures {
            headers.extend(value.map(|value| (name, value)));
        }
        let Ok(_try) = self.push.tries.acquire().await else {
            return Tried::Failed("the gateway stops".to_owned(), None, Plea::default());
        };
        let webhooks = &self.push.webhooks;
        let answer = webhooks
            .post(&target.url, headers, body, self.push.timeout)
            .await;
        judge(answer)
    }

    /// Takes the end of a try into the progress.
    fn note(&mut self, tried: Tried, target: &Target, endpoint: &Endpoint) {
        let (reason, status, plea) = match tried {
            Tried::Delivered => {
                endpoint.succeeded();
                self.progress.deliver_next();
                return;
            }
            Tried::Unwanted => {
                self.report(
                    target,
                    "a webhook is switched off: its receiver answered 410",
                );
                self.progress.last_status = Some(http::StatusCode::GONE.as_u16());
                self.switch_off();
                return;
            }
            Tried::Failed(reason, status, plea) => (reason, status, plea),
        };
        // It is read again for the next try, which may be hours away.
        self.folded = None;
        let now = clock::now_millis();
        let (since, off) = endpoint.failed(now);
        self.progress.failing_since_millis = Some(since);
        self.progress.last_status = status;
        self.progress.attempts += 1;
        let (attempts, version) = (self.progress.attempts, self.progress.next());
        let peer = nuncio_client::http_client::peer_of(&target.url);
        tracing::debug!(task = %self.config.task, config = %self.config.id, %peer, version, attempts,
            %reason, "a push notification failed");
        if off {
            self.report(
                target,
                "a webhook is switched off: five days of nothing but failures",
            );
            self.progress.off = true;
        } else if let Some(wait) = self.push.schedule.wait(attempts, plea) {
            if attempts == REPORTED_TRY {
                self.report(target, "a webhook does not take its notification");
            }
            let wait = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
            self.progress.next_try_millis = now.saturating_add(wait);
        } else {
            self.report(target, "a push notification was given up");
            self.progress.give_up_next(now);
        }
    }

    fn switch_off(&mut self) {
        self.progress.off = true;
        let since = &mut self.progress.failing_since_millis;
        since.get_or_insert_with(clock::now_millis);
    }

    fn report(&self, target: &Target, what: &str) {
        let peer = nuncio_client::http_client::peer_of(&target.url);
        let attempts = self.progress.attempts;
        tracing::warn!(task = %self.config.task, config = %self.config.id, owner = %self.config.owner,
            %peer, attempts, "{what}");
    }

    /// Stores the progress, however long the store is away; false if the configuration is gone or
    /// another one.
    async fn save(&self) -> bool {
        loop {
            let step = PushAdvance {
                task: self.config.task.clone(),
                id: self.config.id.clone(),
                revision: self.config.revision,
                progress: self.progress.clone(),
                instead_of: None,
            };
            match self.push.store.advance_push(step).await {
                Ok(moved) => return moved,
                Err(error) => {
                    tracing::error!(%error, task = %self.config.task, "a push cursor waits for the store");
                    tokio::time::sleep(STORE_PAUSE).await;
                }
            }
        }
    }
}

/// What an answer means.
fn judge(answer: Result<nuncio_client::WebhookAnswer, ClientError>) -> Tried {
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => return Tried::Failed(error.message, None, Plea::default()),
    };
    match answer.status {
        200..=299 => Tried::Delivered,
        410 => Tried::Unwanted,
        status => {
            let plea = Plea {
                slow_down: matches!(status, 429 | 502 | 504),
                retry_after: answer.retry_after,
            };
            Tried::Failed(format!("it answered {status}"), Some(status), plea)
        }
    }
}
