//! What a Hermes agent can do: its toolsets and its skills, as its API server lists them.

use http::Method;
use nuncio_wire::AgentSkill;
use serde_json::Value;

use super::api::{self, Api};
use super::in_full;

/// Asks for both. `advertised` names the toolsets that may be told of; `None`: all.
pub(super) async fn ask(
    api: &Api,
    advertised: Option<&[String]>,
) -> Result<Vec<AgentSkill>, String> {
    if advertised.is_some_and(<[_]>::is_empty) {
        return Ok(Vec::new());
    }
    let toolsets = list(api, "v1/toolsets").await?;
    let is_told = |item: &Value| {
        let is_enabled = item.get("enabled") != Some(&Value::Bool(false));
        is_enabled && advertised.is_none_or(|names| names.iter().any(|it| it == text(item, "name")))
    };
    let toolsets = toolsets.iter().filter(|it| is_told(it));
    let mut skills: Vec<_> = toolsets.filter_map(|item| skill(item, "toolset")).collect();
    let learned = list(api, "v1/skills").await?;
    skills.extend(learned.iter().filter_map(|item| skill(item, "skill")));
    Ok(skills)
}

async fn list(api: &Api, path: &str) -> Result<Vec<Value>, String> {
    let answer = api.ask(Method::GET, path, None).await.map_err(in_full)?;
    let mut body = api::json_of(&answer).map_err(in_full)?;
    match body.get_mut("data").map(Value::take) {
        Some(Value::Array(items)) => Ok(items),
        _ => Err(format!("{path} gave no list")),
    }
}

fn skill(item: &Value, kind: &str) -> Option<AgentSkill> {
    let name = text(item, "name");
    if name.is_empty() {
        return None;
    }
    let told = |key: &str| Some(text(item, key)).filter(|it| !it.is_empty());
    let label = told("label").unwrap_or(name);
    let mut tags = vec!["hermes".to_owned(), kind.to_owned()];
    tags.extend(told("category").map(str::to_owned));
    Some(AgentSkill {
        id: format!("hermes-{kind}-{name}"),
        name: label.to_owned(),
        description: told("description").unwrap_or(label).to_owned(),
        tags,
        ..AgentSkill::default()
    })
}

fn text<'a>(item: &'a Value, key: &str) -> &'a str {
    item.get(key).and_then(Value::as_str).unwrap_or_default()
}
