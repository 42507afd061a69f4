//! The operations of A2A, whoever asks and over whichever binding: policy exists once, here.
//!
//! [`Operations::run`] is the one match over [`Request`]; each operation has a file of its own. What
//! comes in has been parsed and authenticated; what goes out has no binding and no dialect yet.

mod cancel_task;
mod extensions;
mod get_extended_agent_card;
mod get_task;
mod list_tasks;
mod page_token;
mod push_configs;
mod send_message;
mod subscribe_to_task;

use nuncio_store::Include;
use nuncio_wire::bindings::sse::EventId;
use nuncio_wire::dialects::Dialect;
use nuncio_wire::{A2aError, Message, Request, Response, TaskState};
use std::sync::Arc;
use std::time::Duration;

use crate::agents::{Agents, ServedAgent};
use crate::card::{BaseUrl, CardMaker};
use crate::config::Config;
use crate::security::{Caller, Hops};
use crate::tasks::{Engine, Subscription, store_error};
use page_token::PageTokens;

/// Everything an operation needs.
pub struct Operations {
    engine: Arc<Engine>,
    agents: Arc<Agents>,
    config: Arc<Config>,
    cards: Arc<CardMaker>,
    page_tokens: PageTokens,
}

/// What is known of a request besides its parameters.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Who asks.
    pub caller: Caller,
    /// The agent the address names.
    pub agent: Arc<ServedAgent>,
    /// Whether the address itself names the agent, so that a tenant must agree with it.
    pub agent_is_named: bool,
    /// The dialect the caller speaks.
    pub dialect: Dialect,
    /// SHA-256 of the parameters as received: tells a repeat from another payload.
    pub payload_hash: [u8; 32],
    /// `Idempotency-Key` of the request.
    pub idempotency_key: Option<String>,
    /// The gateways that the request came through.
    pub hops: Hops,
    /// `Last-Event-ID` of the request, if it is one of ours.
    pub last_event_id: Option<EventId>,
    /// URIs of the extensions the caller supports.
    pub extensions: Vec<String>,
    /// The task id the caller chose (older dialects).
    pub alias: Option<String>,
    /// Where the gateway was called, for cards; `None` where the binding cannot say.
    pub base: Option<BaseUrl>,
    /// A send is answered within this time, with the task as it is then.
    pub answer_within: Option<Duration>,
}

impl Asked {
    /// A request that says nothing but who asks whom in which dialect.
    #[must_use]
    pub fn plain(caller: Caller, agent: Arc<ServedAgent>, dialect: Dialect) -> Self {
        Self {
            caller,
            agent,
            agent_is_named: true,
            dialect,
            payload_hash: [0; 32],
            idempotency_key: None,
            hops: Hops::default(),
            last_event_id: None,
            extensions: Vec::new(),
            alias: None,
            base: None,
            answer_within: None,
        }
    }
}

/// A task that was found by one of its ids.
#[derive(Clone, Debug)]
pub struct Located {
    /// Ours.
    pub id: String,
    /// The one its caller chose, if any.
    pub alias: Option<String>,
    /// Its state just now.
    pub state: TaskState,
    /// The dialect it was made in.
    pub dialect: Dialect,
}

/// An operation's result.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // moved once, never stored
pub enum Reply {
    /// One answer.
    Answer(Response),
    /// The same, read from a task that was made in this dialect.
    AnswerFrom(Response, Dialect),
    /// A stream of a task's events.
    Stream(Subscription, Dialect),
    /// A stream of one message.
    MessageStream(Arc<Message>),
}

impl Operations {
    /// The operations of these agents.
    #[must_use]
    pub fn new(engine: Arc<Engine>, cards: Arc<CardMaker>) -> Self {
        Self {
            engine,
            agents: cards.agents().clone(),
            config: cards.config().clone(),
            cards,
            page_tokens: PageTokens::new(),
        }
    }

    /// The engine behind the operations.
    #[must_use]
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The agents served here.
    #[must_use]
    pub fn agents(&self) -> &Arc<Agents> {
        &self.agents
    }

    /// The configuration in force.
    #[must_use]
    pub fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// Runs one validated request.
    pub async fn run(&self, mut asked: Asked, request: Request) -> Result<Reply, A2aError> {
        if let Some(tenant) = request.tenant() {
            asked.agent = self.agent_of_tenant(&asked, tenant)?;
        }
        if asked.agent.requires_credential() {
            asked.agent.admit_proven(&asked.caller)?;
        }
        extensions::require(&asked)?;
        match request {
            Request::SendMessage(request) => self.send_message(asked, request).await,
            Request::SendStreamingMessage(request) => {
                self.send_streaming_message(asked, request).await
            }
            Request::GetTask(request) => self.get_task(&asked, request).await,
            Request::ListTasks(request) => self.list_tasks(&asked, request).await,
            Request::CancelTask(request) => self.cancel_task(&asked, request).await,
            Request::SubscribeToTask(request) => self.subscribe_to_task(&asked, request).await,
            Request::CreateTaskPushNotificationConfig(request) => {
                self.create_push_config(&asked, request).await
            }
            Request::GetTaskPushNotificationConfig(request) => {
                self.get_push_config(&asked, request).await
            }
            Request::ListTaskPushNotificationConfigs(request) => {
                self.list_push_configs(&asked, request).await
            }
            Request::DeleteTaskPushNotificationConfig(request) => {
                self.delete_push_config(&asked, request).await
            }
            Request::GetExtendedAgentCard(_) => self.get_extended_agent_card(&asked).await,
        }
    }

    /// A task of `agent` that the caller names by our id or by its own.
    ///
    /// Errors: TaskNotFound, also for what the caller may not see.
    pub async fn locate_at(
        &self,
        caller: &Caller,
        agent: &Arc<ServedAgent>,
        id: &str,
    ) -> Result<Located, A2aError> {
        let visibility = caller.visibility(&agent.name);
        let store = self.engine.store();
        let read = |id: String| {
            let visibility = &visibility;
            async move {
                let record = store.task(&id, visibility, Include::NOTHING).await;
                record.map_err(store_error)
            }
        };
        let mut record = read(id.to_owned()).await?;
        if record.is_none() {
            let known = store.task_by_alias(id, &visibility).await;
            if let Some(known) = known.map_err(store_error)? {
                record = read(known).await?;
            }
        }
        let record = record.ok_or_else(|| A2aError::task_not_found(id))?;
        Ok(Located {
            id: record.id.to_string(),
            alias: record.alias,
            state: record.state,
            dialect: record.dialect,
        })
    }

    /// The id and the agent of a task the caller names by our id or by its own.
    pub async fn locate(
        &self,
        caller: &Caller,
        id: &str,
    ) -> Result<(String, Arc<ServedAgent>), A2aError> {
        let not_found = || A2aError::task_not_found(id);
        let everywhere = caller.visibility_everywhere();
        let store = self.engine.store();
        let mut found = id.to_owned();
        let mut record = store
            .task(id, &everywhere, Include::NOTHING)
            .await
            .map_err(store_error)?;
        if record.is_none() {
            let known = store
                .task_by_alias(id, &everywhere)
                .await
                .map_err(store_error)?;
            found = known.ok_or_else(not_found)?;
            record = store
                .task(&found, &everywhere, Include::NOTHING)
                .await
                .map_err(store_error)?;
        }
        let record = record.ok_or_else(not_found)?;
        let agent = self.agents.get(&record.agent).ok_or_else(not_found)?;
        Ok((found, agent))
    }

    /// A tenant routes to its agent; where the address names one already, both must agree.
    fn agent_of_tenant(&self, asked: &Asked, tenant: &str) -> Result<Arc<ServedAgent>, A2aError> {
        let unknown = || A2aError::invalid_field("tenant", "is not a tenant of this address");
        let agent = self.agents.by_tenant(tenant).ok_or_else(unknown)?;
        if asked.agent_is_named && agent.name != asked.agent.name {
            return Err(unknown());
        }
        Ok(agent)
    }
}

/// A validated `historyLength`.
fn history_length(length: Option<i32>) -> Option<u32> {
    length.and_then(|length| u32::try_from(length).ok())
}
