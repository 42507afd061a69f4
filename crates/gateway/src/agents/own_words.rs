//! What an agent says of itself: asked for when a card is, believed for a while.
//!
//! A card never waits long for it: an agent that is slow or away is described as it was last known.

use nuncio_wire::AgentSkill;
use parking_lot::RwLock;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::Mutex;

use super::Agent;

/// How long an answer is believed: as long as readers may keep a card. After a failure it takes as long
/// until the next question.
const BELIEVED_FOR: Duration = Duration::from_secs(60);
/// How long a card waits for an answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);
/// Most skills that are taken from an agent: more than a reader of cards looks at.
const MAX_SKILLS: usize = 200;
/// Most media types that are taken from an agent, for the same reason.
const MAX_MODES: usize = 100;
/// Most characters of a description that are taken from an agent: it is to be a sentence or two.
const MAX_DESCRIPTION_CHARS: usize = 2000;

/// What an agent says of itself. What it leaves empty it says nothing of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct About {
    /// What it does.
    pub description: String,
    /// Media types it takes.
    pub input_modes: Vec<String>,
    /// Media types it gives.
    pub output_modes: Vec<String>,
    /// What it is good at.
    pub skills: Vec<AgentSkill>,
}

/// What an agent said, and when.
#[derive(Debug)]
pub struct OwnWords {
    known: RwLock<Known>,
    believed_for: Duration,
    /// Held by whoever asks, so that an agent is asked once at a time.
    asking: Mutex<()>,
}

/// What is known at one time.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// What it said.
    pub about: Arc<About>,
    /// Rises with every change.
    pub revision: u64,
    /// When it last changed; `None`: not since the start.
    pub changed: Option<SystemTime>,
    /// When to ask again; `None`: nobody has asked yet.
    until: Option<Instant>,
}

impl Known {
    /// This and more.
    pub(super) fn and(mut self, more: &Known) -> Self {
        if !more.about.skills.is_empty() {
            let about = Arc::make_mut(&mut self.about);
            about.skills.extend_from_slice(&more.about.skills);
        }
        self.revision += more.revision;
        self.changed = self.changed.max(more.changed);
        self
    }
}

impl Default for OwnWords {
    fn default() -> Self {
        Self::believed_for(BELIEVED_FOR)
    }
}

impl About {
    /// As much of it as a card has room for.
    fn bounded(mut self) -> Self {
        if let Some((end, _)) = self.description.char_indices().nth(MAX_DESCRIPTION_CHARS) {
            self.description.truncate(end);
        }
        self.input_modes.truncate(MAX_MODES);
        self.output_modes.truncate(MAX_MODES);
        self.skills.truncate(MAX_SKILLS);
        self
    }
}

impl OwnWords {
    /// Asks again after so long a time.
    pub(super) fn believed_for(believed_for: Duration) -> Self {
        Self {
            known: RwLock::default(),
            believed_for,
            asking: Mutex::default(),
        }
    }

    /// What is known now.
    pub fn known(&self) -> Known {
        self.known.read().clone()
    }

    /// Asks the agent if what is known is old, for a moment at most.
    pub async fn learn(&self, name: &str, agent: &dyn Agent) {
        if self.is_fresh() {
            return;
        }
        let ask = async {
            let _asking = self.asking.lock().await;
            if !self.is_fresh() {
                self.take(name, agent.about().await);
            }
        };
        if tokio::time::timeout(PATIENCE, ask).await.is_err() {
            self.take(
                name,
                Err(format!("no answer within {} s", PATIENCE.as_secs())),
            );
        }
    }

    pub(super) fn is_fresh(&self) -> bool {
        let until = self.known.read().until;
        until.is_some_and(|until| Instant::now() < until)
    }

    pub(super) fn take(&self, name: &str, answer: Result<About, String>) {
        let mut known = self.known.write();
        match answer {
            Err(reason) => {
                known.until = Some(Instant::now() + BELIEVED_FOR.min(self.believed_for));
                tracing::warn!(
                    agent = name,
                    reason,
                    "what an agent says of itself is not known now"
                );
            }
            Ok(about) => {
                known.until = Some(Instant::now() + self.believed_for);
                let about = about.bounded();
                if about != *known.about {
                    known.about = about.into();
                    known.revision += 1;
                    known.changed = Some(SystemTime::now());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::{Turn, TurnEnd, TurnEvents};

    /// Says each of these in turn; nothing after the last.
    struct Told(parking_lot::Mutex<Vec<Result<Option<Vec<AgentSkill>>, String>>>);

    #[async_trait::async_trait]
    impl Agent for Told {
        async fn skills(&self) -> Result<Option<Vec<AgentSkill>>, String> {
            let next = self.0.lock().pop();
            match next {
                Some(told) => told,
                None => std::future::pending().await,
            }
        }

        async fn run(&self, _: Turn, _: &mut TurnEvents) -> TurnEnd {
            TurnEnd::Canceled
        }
    }

    fn skill(id: &str) -> AgentSkill {
        AgentSkill {
            id: id.to_owned(),
            ..AgentSkill::default()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_known_stays_while_the_agent_is_away_or_silent() {
        let told = [
            Err("away".to_owned()),
            Ok(Some(vec![skill("one")])),
            Ok(Some(vec![skill("one")])),
        ];
        let agent = Told(parking_lot::Mutex::new(told.into()));
        let words = OwnWords::default();
        for revision in [1, 1, 1, 1] {
            words.learn("a", &agent).await;
            let known = words.known();
            assert_eq!(
                (known.revision, &*known.about.skills),
                (revision, &[skill("one")][..])
            );
            words.known.write().until = None;
        }
    }

    #[tokio::test]
    async fn an_answer_is_believed_for_a_while() {
        let told = [Ok(None), Ok(Some(vec![skill("one")]))];
        let agent = Told(parking_lot::Mutex::new(told.into()));
        let words = OwnWords::default();
        words.learn("a", &agent).await;
        words.learn("a", &agent).await;
        assert_eq!(words.known().about.skills.len(), 1);
        words.known.write().until = None;
        words.learn("a", &agent).await;
        assert_eq!(
            (words.known().about.skills.len(), words.known().revision),
            (0, 2)
        );
    }
}
