//! Conversations as a record for people and programs: which there are, and what was said.
//!
//! What an entry says and how it is spelled is what users of Hermes know from its
//! `a2a_conversations` files: `ts`, `role`, `text`, `task_id`; the other members are ours.

use nuncio_store::{Conversation, Cursor, Include, ListQuery, Store, StoreError, Visibility};
use nuncio_wire::{Role, TaskState};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

use super::transcript::{self, Budget, Utterance};

/// Most conversations that one answer holds.
pub const MAX_CONVERSATIONS: usize = 1000;
/// Tasks looked at in one step.
const PAGE_SIZE: u32 = 100;
/// Where exported conversations stand below the directory that is named.
pub const EXPORT_DIR: &str = "a2a_conversations";

/// Which conversations, and how much of them.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Only in this context; with what was said.
    pub context_id: Option<String>,
    /// Only with this agent.
    pub agent: Option<String>,
    /// Only of this caller, as owners are written.
    pub owner: Option<String>,
    /// With what was said, also where no context is named.
    pub whole: bool,
    /// Most entries of each conversation, the newest.
    pub limit: Option<usize>,
}

impl Wanted {
    /// Reads what [`Wanted::to_query`] writes. What it does not know it passes over.
    #[must_use]
    pub fn of_query(query: &str) -> Self {
        let mut wanted = Self::default();
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "context" => wanted.context_id = Some(value.into_owned()),
                "agent" => wanted.agent = Some(value.into_owned()),
                "owner" => wanted.owner = Some(value.into_owned()),
                "whole" => wanted.whole = value == "true",
                "limit" => wanted.limit = value.parse().ok(),
                _ => {}
            }
        }
        wanted
    }

    /// The same as the query of a URL.
    #[must_use]
    pub fn to_query(&self) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        for (name, value) in [
            ("context", &self.context_id),
            ("agent", &self.agent),
            ("owner", &self.owner),
        ] {
            if let Some(value) = value {
                query.append_pair(name, value);
            }
        }
        if self.whole {
            query.append_pair("whole", "true");
        }
        if let Some(limit) = self.limit {
            query.append_pair("limit", &limit.to_string());
        }
        query.finish()
    }
}

/// Conversations, the one that moved last first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Conversations {
    /// Each of them.
    pub conversations: Vec<ConversationRecord>,
}

/// One conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConversationRecord {
    /// The context's id.
    pub context_id: String,
    /// With whom.
    pub agent: String,
    /// Whose it is.
    pub owner: String,
    /// How many tasks it has.
    pub tasks: usize,
    /// When it last moved, seconds since the epoch.
    pub last: f64,
    /// The name of its file when it is exported: a hash, so that no id becomes a path.
    pub file: String,
    /// What was said, oldest first, where it was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<Entry>,
}

/// One thing that was said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// When, seconds since the epoch.
    pub ts: f64,
    /// `user` or `agent`.
    pub role: String,
    /// What, with data as JSON and files by name.
    pub text: String,
    /// In which task.
    pub task_id: String,
    /// What the task became by an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}

impl From<&Utterance> for Entry {
    fn from(said: &Utterance) -> Self {
        let is_user = said.role == Role::User;
        Self {
            ts: seconds(said.millis),
            role: if is_user { "user" } else { "agent" }.to_owned(),
            text: said.text(),
            task_id: said.task_id.clone(),
            state: (!is_user && said.state != TaskState::Completed).then(|| said.state.to_string()),
        }
    }
}

/// Reads the conversations that are wanted, at most [`MAX_CONVERSATIONS`].
pub async fn read(store: &dyn Store, wanted: &Wanted) -> Result<Conversations, StoreError> {
    let mut conversations = find(store, wanted).await?;
    if wanted.whole || wanted.context_id.is_some() {
        let budget = Budget {
            utterances: wanted.limit.unwrap_or(usize::MAX),
            ..Budget::ALL
        };
        for record in &mut conversations {
            let of = Conversation {
                agent: record.agent.as_str().into(),
                owner: record.owner.as_str().into(),
                context_id: record.context_id.as_str().into(),
            };
            let said = transcript::read(store, &of, budget).await?;
            record.entries = said.iter().map(Entry::from).collect();
        }
    }
    Ok(Conversations { conversations })
}

/// Which conversations there are, in the order of their last task.
async fn find(store: &dyn Store, wanted: &Wanted) -> Result<Vec<ConversationRecord>, StoreError> {
    let mut found: Vec<ConversationRecord> = Vec::new();
    let mut places: HashMap<[u8; 32], usize> = HashMap::new();
    let mut after: Option<Cursor> = None;
    loop {
        let page = store.list_tasks(query(wanted, after)).await?;
        for task in &page.tasks {
            let of = Conversation {
                agent: task.agent.clone(),
                owner: task.owner.clone(),
                context_id: task.context_id.clone(),
            };
            match places.get(&of.hash()) {
                Some(place) => found[*place].tasks += 1,
                None if found.len() == MAX_CONVERSATIONS => {}
                None => {
                    places.insert(of.hash(), found.len());
                    found.push(record_of(&of, task.status_millis));
                }
            }
        }
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(found),
        }
    }
}

fn record_of(of: &Conversation, last_millis: i64) -> ConversationRecord {
    let file = format!("{}.jsonl", super::file_name(of));
    ConversationRecord {
        context_id: of.context_id.to_string(),
        agent: of.agent.to_string(),
        owner: of.owner.to_string(),
        tasks: 1,
        last: seconds(last_millis),
        file,
        entries: Vec::new(),
    }
}

fn query(wanted: &Wanted, after: Option<Cursor>) -> ListQuery {
    ListQuery {
        visibility: Visibility {
            agent: wanted.agent.as_deref().map(Into::into),
            owner: wanted.owner.as_deref().map(Into::into),
        },
        context_id: wanted.context_id.clone(),
        state: None,
        status_from_millis: None,
        page_size: PAGE_SIZE,
        after,
        include: Include::NOTHING,
    }
}

fn seconds(millis: i64) -> f64 {
    millis as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wanted_survives_a_query() {
        let wanted = Wanted {
            context_id: Some("a b&c".to_owned()),
            agent: Some("x".to_owned()),
            owner: Some("peer:ä".to_owned()),
            whole: true,
            limit: Some(7),
        };
        let again = Wanted::of_query(&wanted.to_query());
        assert_eq!(format!("{again:?}"), format!("{wanted:?}"));
    }
}
