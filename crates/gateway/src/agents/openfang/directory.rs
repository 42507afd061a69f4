//! Which agents an OpenFang has: ids change when an agent is made anew, names stay.

use http::{HeaderMap, Method};
use nuncio_client::HttpService;
use nuncio_wire::AgentSkill;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::time::Duration;

use crate::agents::completions::Halt;

/// How long a list may take: none of them waits for a model.
const LIST_LIMIT: Duration = Duration::from_secs(10);
/// Where agents are listed.
const AGENTS: &str = "api/agents";
/// Where their cards are, which tell of their tools.
const CARDS: &str = "a2a/agents";

/// An agent as it is listed.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Listed {
    pub(super) id: String,
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) state: String,
    #[serde(default)]
    pub(super) model_name: String,
    /// Whether it could answer: it runs, and its model's key is there.
    #[serde(default)]
    pub(super) ready: Option<bool>,
}

#[derive(Deserialize)]
struct Cards {
    agents: Vec<Card>,
}

#[derive(Deserialize)]
struct Card {
    name: String,
    #[serde(default)]
    skills: Vec<Skill>,
}

#[derive(Deserialize)]
struct Skill {
    id: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    description: String,
}

/// Looks for the agent with this name or id.
pub(super) async fn find(service: &HttpService, wanted: &str) -> Result<Listed, Halt> {
    let listed: Vec<Listed> = list(service, AGENTS).await?;
    let found = listed
        .iter()
        .find(|it| it.id == wanted || it.name == wanted);
    found.cloned().ok_or_else(|| {
        let names: Vec<_> = listed.iter().map(|it| it.name.as_str()).collect();
        let detail = format!(
            "there is no agent `{wanted}`; there are: {}",
            names.join(", ")
        );
        Halt::fault("the agent is not there", nuncio_client::plain(&detail))
    })
}

/// What the agent can do: its tools. `advertised` names those that may be told of; `None`: all.
pub(super) async fn skills(
    service: &HttpService,
    wanted: &str,
    advertised: Option<&[String]>,
) -> Result<Vec<AgentSkill>, Halt> {
    if advertised.is_some_and(<[_]>::is_empty) {
        return Ok(Vec::new());
    }
    let agent = find(service, wanted).await?;
    let cards: Cards = list(service, CARDS).await?;
    let card = cards
        .agents
        .into_iter()
        .find(|card| card.name == agent.name);
    let tools = card.map(|card| card.skills).unwrap_or_default();
    let is_told = |tool: &Skill| advertised.is_none_or(|names| names.contains(&tool.id));
    Ok(tools.into_iter().filter(is_told).map(skill).collect())
}

fn skill(tool: Skill) -> AgentSkill {
    let or_id = |text: String| {
        if text.is_empty() {
            tool.id.clone()
        } else {
            text
        }
    };
    AgentSkill {
        id: format!("openfang-{}", tool.id),
        name: or_id(tool.name),
        description: or_id(tool.description),
        tags: ["openfang", "tool"].map(str::to_owned).to_vec(),
        ..AgentSkill::default()
    }
}

async fn list<T: DeserializeOwned>(service: &HttpService, path: &str) -> Result<T, Halt> {
    let asked = service
        .call(Method::GET, path, HeaderMap::new(), None, LIST_LIMIT)
        .await;
    let answer = asked.map_err(super::unreachable)?;
    if !answer.status.is_success() {
        return Err(super::refused(&answer));
    }
    serde_json::from_slice(&answer.body).map_err(|error| super::unreadable(&error.to_string()))
}
