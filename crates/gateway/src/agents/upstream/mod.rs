//! The `a2a` backend: another A2A agent, in any generation and over any binding that the client speaks.
//!
//! Our ids stay here and theirs stay there: `known` keeps which belongs to which, `letter` puts what is
//! said into the other side's terms, `follow`, `relay` and `growth` pass a task's events on, `link` finds
//! the agent, `bell` is where it posts that there are news.

mod bell;
mod follow;
mod growth;
mod known;
mod letter;
mod link;
mod relay;

use async_trait::async_trait;
use http::{HeaderMap, HeaderName, HeaderValue};
use indexmap::IndexMap;
use nuncio_client::ClientErrorKind;
use nuncio_wire::AgentSkill;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

use self::bell::Doorbell;
use self::follow::{CANCEL_LIMIT, cancel_there, within};
use self::known::Known;
use self::link::Link;
use self::relay::{Halt, Relay};
use super::callbacks::Callbacks;
use super::{About, Agent, Turn, TurnEnd, TurnEvents};
use crate::card::BaseUrl;
use crate::config::{PeerConfig, UpstreamConfig};
use crate::security::Hop;
use crate::sessions::Session;

/// How long a cancelled turn waits to learn which task it is there: the answer to a send that does not
/// wait comes at once. With [`follow::CANCEL_LIMIT`] less than what the engine allows.
const LEARN_LIMIT: Duration = Duration::from_secs(4);

/// Another A2A agent.
pub struct Upstream {
    config: UpstreamConfig,
    link: Link,
    /// Where it may post news, if that is wanted.
    doorbell: Option<Doorbell>,
    caller_header: Option<HeaderName>,
    /// What it is called on the way of a message.
    hop: Hop,
}

impl Upstream {
    /// The agent that `config` names, whose secrets have been resolved; `peers` are those it may name. It
    /// posts its news to addresses below `base`, where `callbacks` takes them.
    ///
    /// # Errors
    /// What is missing or cannot be used.
    pub fn new(
        config: &UpstreamConfig,
        peers: &IndexMap<String, PeerConfig>,
        callbacks: &Arc<Callbacks>,
        base: Option<&BaseUrl>,
    ) -> Result<Self, String> {
        let own = config.callback_base.as_ref();
        let base = own.map(|url| BaseUrl::told(url.as_str())).or(base.cloned());
        if config.push && base.is_none() {
            return Err(
                "there is no address that the agent could post to: set `callback_base` or \
                 `server.public_url`, or leave `push` out"
                    .to_owned(),
            );
        }
        let base = base.filter(|_| config.push);
        let header = config.caller_header.as_deref().map(str::parse);
        let caller_header: Option<HeaderName> = header
            .transpose()
            .map_err(|_| "`caller_header` is no name of a header".to_owned())?;
        Ok(Self {
            link: Link::new(config, peers)?,
            doorbell: base.map(|base| Doorbell::new(callbacks, base)),
            caller_header,
            hop: Hop::new(),
            config: config.clone(),
        })
    }

    /// What goes along with the calls of a turn.
    fn headers(&self, owner: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if let Some(name) = &self.caller_header
            && let Ok(value) = HeaderValue::from_str(owner)
        {
            headers.insert(name, value);
        }
        headers
    }

    /// One try to have the turn done there.
    async fn attempt(&self, turn: &Turn, events: &mut TurnEvents) -> Attempt {
        let mut headers = self.headers(&turn.owner);
        match self.hop.passes_on(&turn.hops) {
            Ok((name, list)) => drop(headers.insert(name, list)),
            Err(circle) => {
                let told = turn.reply_text(circle.to_string());
                return Attempt::Ended(TurnEnd::Rejected(told));
            }
        }
        let found = tokio::select! {
            biased;
            () = turn.cancel.cancelled() => return Attempt::Ended(TurnEnd::Canceled),
            found = self.link.client(headers) => found,
        };
        let client = match found {
            Ok(client) => client,
            Err(error) => return Attempt::NotBegun(error.into()),
        };
        let learned = CancellationToken::new();
        let (config, doorbell) = (&self.config, self.doorbell.as_ref());
        let relay = Relay::new(turn, events, client, config, doorbell, learned.clone()).await;
        let mut relay = match relay {
            Ok(relay) => relay,
            Err(halt) => return Attempt::NotBegun(halt),
        };
        let outcome = {
            let talk = relay.converse();
            tokio::pin!(talk);
            tokio::select! {
                biased;
                () = turn.cancel.cancelled() => {
                    tokio::select! {
                        _ = &mut talk => {}
                        () = learned.cancelled() => {}
                        () = tokio::time::sleep(LEARN_LIMIT) => {}
                    }
                    None
                }
                outcome = &mut talk => Some(outcome),
            }
        };
        relay.bell.take_down();
        match outcome {
            Some(Ok(end)) => Attempt::Ended(end),
            Some(Err(halt)) if relay.has_begun() => {
                // Nobody would see what the work still comes to.
                if halt.leaves_work() {
                    relay.cancel().await;
                }
                Attempt::Ended(relay.end_of(halt))
            }
            Some(Err(halt)) => Attempt::NotBegun(halt),
            None => {
                relay.cancel().await;
                Attempt::Ended(TurnEnd::Canceled)
            }
        }
    }
}

/// What came of a try.
enum Attempt {
    Ended(TurnEnd),
    /// Nothing has come back yet.
    NotBegun(Halt),
}

#[async_trait]
impl Agent for Upstream {
    fn answers_directly(&self) -> bool {
        true
    }

    fn resumes(&self) -> bool {
        true
    }

    async fn about(&self) -> Result<About, String> {
        let card = self
            .link
            .look_again()
            .await
            .map_err(|error| error.message)?;
        let skills = card.skills.into_iter().map(|skill| AgentSkill {
            // The credentials it wants are ours; our callers show those that we want.
            security_requirements: Vec::new(),
            ..skill
        });
        Ok(About {
            description: card.description,
            input_modes: card.default_input_modes,
            output_modes: card.default_output_modes,
            skills: skills.collect(),
        })
    }

    async fn probe(&self) -> Result<String, String> {
        self.link
            .look_again()
            .await
            .map_err(|error| error.message)?;
        let client = self.link.client(HeaderMap::new()).await;
        let client = client.map_err(|error| error.message)?;
        let (name, endpoint) = (nuncio_client::plain(&client.card().name), client.endpoint());
        Ok(format!(
            "'{name}' offers {} {} at {}",
            endpoint.dialect, endpoint.binding, endpoint.url
        ))
    }

    async fn abandon(&self, session: &Session, task_id: &str) {
        let Ok(known) = Known::of(session).await else {
            return;
        };
        let Some(task) = known.task(task_id) else {
            return;
        };
        let headers = self.headers(&session.conversation().owner);
        let cancel = async {
            let client = self.link.client(headers).await?;
            cancel_there(&client, &task.theirs).await
        };
        if let Err(error) = within(CANCEL_LIMIT, cancel).await {
            tracing::warn!(
                error,
                task = task_id,
                "a canceled task may go on waiting there"
            );
        }
    }

    async fn run(&self, turn: Turn, events: &mut TurnEvents) -> TurnEnd {
        let mut is_second = false;
        loop {
            let halt = match self.attempt(&turn, events).await {
                Attempt::Ended(end) => return end,
                Attempt::NotBegun(halt) => halt,
            };
            // What was known of it may be old: it is looked for anew, and once more in this turn.
            let is_away = matches!(&halt, Halt::Client(error) if is_away(&error.kind));
            if is_away && self.link.forget().await && !is_second && !turn.cancel.is_cancelled() {
                is_second = true;
                continue;
            }
            return letter::end_of(&turn, halt, false, &[]);
        }
    }
}

/// Whether the agent cannot have seen the call, perhaps because it is elsewhere by now.
fn is_away(kind: &ClientErrorKind) -> bool {
    matches!(
        kind,
        ClientErrorKind::Unreachable(_)
            | ClientErrorKind::CardNotFound
            | ClientErrorKind::CardInvalid
            | ClientErrorKind::NoInterface
    )
}
