//! The `webhook` backend: a message is posted to an agent's webhook, which posts its answer to an address
//! that is good for that turn alone; or the message is delivered, and that is all.
//!
//! `post` signs and repeats, `callbacks` beside this folder knows who waits, `answer` reads, `kept` outlives a restart.

mod answer;
mod kept;
mod letter;
mod post;

use async_trait::async_trait;
use nuncio_wire::Artifact;
use std::sync::Arc;
use tokio::sync::oneshot;

use self::answer::Answer;
use self::kept::Kept;
use self::post::Post;
use super::callbacks::{Callback, Callbacks, Opening, Verdict};
use super::completions::Halt;
use super::reply::{Reply, Said};
use super::told::Told;
use super::{Agent, Turn, TurnEnd, TurnEvent, TurnEvents, fault};
use crate::card::BaseUrl;
use crate::config::WebhookConfig;
use crate::ids;
use crate::sessions::Session;

/// What the caller of a delivery is told.
const DELIVERED: &str = "Delivered. The agent does not answer here.";

/// An agent behind a webhook.
pub struct Webhook {
    config: WebhookConfig,
    post: Post,
    callbacks: Arc<Callbacks>,
    /// Where agents reach the gateway.
    base: Option<BaseUrl>,
}

/// A turn on its way.
struct Talk<'a> {
    turn: &'a Turn,
    told: Told<'a>,
    /// Bytes that may still be said.
    left: usize,
}

impl Webhook {
    /// The agent that `config` names, whose secrets have been resolved. Answers are posted to addresses
    /// below `base`, where `callbacks` takes them.
    ///
    /// # Errors
    /// What is wrong with the secret, or that there is no address for answers.
    pub fn new(
        config: &WebhookConfig,
        callbacks: &Arc<Callbacks>,
        base: Option<BaseUrl>,
    ) -> Result<Self, String> {
        let own = config.callback_base.as_ref();
        let base = own.map(|url| BaseUrl::told(url.as_str())).or(base);
        if base.is_none() && !config.deliver_only {
            return Err(
                "there is no address that the agent could post its answers to: set `callback_base` \
                 or `server.public_url`, or `deliver_only = true` if it does not answer"
                    .to_owned(),
            );
        }
        Ok(Self {
            post: Post::new(config)?,
            config: config.clone(),
            callbacks: callbacks.clone(),
            base,
        })
    }

    async fn deliver(&self, turn: &Turn) -> Result<TurnEnd, Halt> {
        let mut kept = Kept::of(turn).await?;
        if !kept.is_posted {
            let body = letter::of_turn(turn, None);
            self.post.send(&kept.delivery, &body).await?;
            kept.posted(turn).await?;
        }
        Ok(TurnEnd::Completed(Some(turn.reply_text(DELIVERED))))
    }

    async fn converse(
        &self,
        turn: &Turn,
        opening: &mut Option<Opening>,
        events: &mut TurnEvents,
    ) -> Result<TurnEnd, Halt> {
        let mut kept = Kept::of(turn).await?;
        let token = kept.token();
        let opening = opening.insert(self.callbacks.open(&turn.task_id, &token));
        let url = self
            .base
            .as_ref()
            .map(|base| base.callback_url(&turn.task_id, &token));
        let body = letter::of_turn(turn, url.as_deref());
        let mut talk = Talk::new(turn, self.config.max_output_bytes);
        if !kept.is_posted {
            let delivery = kept.delivery.clone();
            let posting = self.post.send(&delivery, &body);
            tokio::pin!(posting);
            // An agent may answer before it has said that it took the message.
            loop {
                let callback = tokio::select! {
                    biased;
                    callback = opening.next() => callback,
                    posted = &mut posting => break posted?,
                };
                if let Some(end) = talk.take(callback, events).await? {
                    return Ok(end);
                }
            }
            kept.posted(turn).await?;
        }
        loop {
            let callback = opening.next().await;
            if let Some(end) = talk.take(callback, events).await? {
                return Ok(end);
            }
        }
    }
}

impl<'a> Talk<'a> {
    fn new(turn: &'a Turn, limit: usize) -> Self {
        let mut told = Told::new(turn);
        // What was given before a restart is not known here.
        told.gave_artifact = turn.is_resumed;
        Self {
            turn,
            told,
            left: limit,
        }
    }

    /// Takes what was posted; `Some` if it ends the turn. Its sender is told when it is stored.
    async fn take(
        &mut self,
        callback: Callback,
        events: &mut TurnEvents,
    ) -> Result<Option<TurnEnd>, Halt> {
        let Callback {
            media_type,
            body,
            reply,
        } = callback;
        self.left = self.left.checked_sub(body.len()).ok_or_else(|| {
            let reason = "the agent said more than it may and was stopped";
            Halt::fault(reason, "max_output_bytes")
        })?;
        let read = answer::read(media_type.as_deref(), &body).and_then(|answer| match answer {
            Answer::Text(text) => Ok(Some(self.said(&text, events))),
            Answer::Event(event) => self.told.take(*event),
        });
        // Nobody may wait for the verdict any longer; what was said counts all the same.
        match read {
            Err(reason) => {
                let _ = reply.send(Verdict::Unreadable(reason));
                Ok(None)
            }
            Ok(None) => {
                self.told.emit(events).await?;
                let _ = reply.send(Verdict::Stored);
                Ok(None)
            }
            Ok(Some(end)) => {
                self.told.push(events);
                let end = self.end(end, events);
                let (stored, told) = oneshot::channel();
                events.when_stored(stored);
                let _ = reply.send(Verdict::StoredWith(told));
                Ok(Some(end))
            }
        }
    }

    /// The end that a whole text is.
    fn said(&mut self, text: &str, events: &mut TurnEvents) -> TurnEnd {
        let mut reply = Reply::of_model();
        reply.hear(text);
        match reply.said(events) {
            Said::Question(text) => TurnEnd::InputRequired(self.turn.reply_text(text)),
            Said::Answer | Said::Nothing => {
                self.told.gave_artifact = true;
                TurnEnd::Completed(None)
            }
        }
    }

    /// The end as a task has it: there is one, and the agent knows of it.
    fn end(&self, end: TurnEnd, events: &mut TurnEvents) -> TurnEnd {
        match end {
            TurnEnd::Answered(message) => {
                let mut artifact = Artifact::new(ids::new_id(), message.parts);
                artifact.metadata = message.metadata;
                artifact.extensions = message.extensions;
                events.push(TurnEvent::artifact(artifact));
                TurnEnd::Completed(None)
            }
            TurnEnd::Completed(None) if !self.told.gave_artifact => {
                fault::failed(self.turn, "the agent answered with nothing", "")
            }
            end => end,
        }
    }
}

#[async_trait]
impl Agent for Webhook {
    fn resumes(&self) -> bool {
        true
    }

    fn will_resume(&self, task_id: &str) {
        if !self.config.deliver_only {
            self.callbacks.expect(task_id);
        }
    }

    async fn probe(&self) -> Result<String, String> {
        self.post.probe().await
    }

    async fn abandon(&self, _: &Session, task_id: &str) {
        self.callbacks.close(task_id);
    }

    async fn forget(&self, session: &Session) {
        if let Err(error) = session.forget().await {
            tracing::warn!(%error, "what was kept of a conversation stays");
        }
    }

    async fn run(&self, turn: Turn, events: &mut TurnEvents) -> TurnEnd {
        // Dropped with this where the gateway stops; the turn goes on at its next start.
        let mut opening = None;
        let work = async {
            match self.config.deliver_only {
                true => self.deliver(&turn).await,
                false => self.converse(&turn, &mut opening, events).await,
            }
        };
        let end = tokio::select! {
            biased;
            () = turn.cancel.cancelled() => Err(Halt::Stopped),
            end = work => end,
        };
        self.callbacks.close(&turn.task_id);
        match end {
            Ok(end) => end,
            Err(Halt::Stopped) => TurnEnd::Canceled,
            Err(Halt::Fault(reason, detail)) => fault::failed(&turn, &reason, &detail),
        }
    }
}
