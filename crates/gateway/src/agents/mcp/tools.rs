//! Tools of an MCP server as skills of a card.

use nuncio_wire::AgentSkill;
use serde_json::Value;

/// Longest name of a tool that is told of, in bytes: the specification of MCP asks for at most 128.
const MAX_NAME_BYTES: usize = 128;
/// Longest description that is told, in bytes: those for models go on for pages, and a card has many.
const MAX_DESCRIPTION_BYTES: usize = 500;

/// The tools of `server` as skills. `advertised` names those that may be told of; `None`: all.
pub(super) fn skills(
    server: &str,
    tools: &[Value],
    advertised: Option<&[String]>,
) -> Vec<AgentSkill> {
    let is_told = |name: &str| advertised.is_none_or(|names| names.iter().any(|it| it == name));
    let skills = tools.iter().filter_map(|tool| {
        let name = text(&tool["name"])?;
        let fits = name.len() <= MAX_NAME_BYTES && is_told(name);
        fits.then(|| skill(server, name, tool))
    });
    skills.collect()
}

fn skill(server: &str, name: &str, tool: &Value) -> AgentSkill {
    let title = text(&tool["title"]).or_else(|| text(&tool["annotations"]["title"]));
    let title = cut(title.unwrap_or(name), MAX_NAME_BYTES);
    let description = text(&tool["description"]).map(str::trim);
    AgentSkill {
        id: format!("mcp-{server}-{name}"),
        description: cut(description.unwrap_or(&title), MAX_DESCRIPTION_BYTES),
        name: title,
        tags: ["mcp", server].map(str::to_owned).to_vec(),
        ..AgentSkill::default()
    }
}

fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.trim().is_empty())
}

/// The beginning of a text that is too long.
fn cut(text: &str, limit: usize) -> String {
    const MARK: &str = "…";
    if text.len() <= limit {
        return text.to_owned();
    }
    let mut end = limit - MARK.len();
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{MARK}", text[..end].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_tool_is_a_skill_with_a_name_for_people() {
        let tools = [
            json!({ "name": "search", "title": "Web search", "description": " Finds pages\n" }),
            json!({ "name": "fetch", "annotations": { "title": "Fetch" } }),
            json!({ "name": "bare" }),
        ];
        let skills = skills("web", &tools, None);
        let shown: Vec<_> = skills
            .iter()
            .map(|it| (it.id.as_str(), it.name.as_str(), it.description.as_str()))
            .collect();
        let expected = [
            ("mcp-web-search", "Web search", "Finds pages"),
            ("mcp-web-fetch", "Fetch", "Fetch"),
            ("mcp-web-bare", "bare", "bare"),
        ];
        assert_eq!(shown, expected);
        assert_eq!(skills[0].tags, ["mcp", "web"]);
    }

    #[test]
    fn only_advertised_tools_with_names_are_told_of() {
        let long = "n".repeat(MAX_NAME_BYTES + 1);
        let tools = [
            json!({ "name": "one" }),
            json!({ "name": "two" }),
            json!({ "name": "" }),
            json!({ "name": 3 }),
            json!("four"),
            json!({ "name": long }),
        ];
        assert_eq!(skills("s", &tools, None).len(), 2);
        let advertised = ["two".to_owned(), "nine".to_owned()];
        let told = skills("s", &tools, Some(&advertised));
        assert_eq!((told.len(), told[0].id.as_str()), (1, "mcp-s-two"));
    }

    #[test]
    fn a_long_description_is_cut_between_characters() {
        let tool = json!({ "name": "t", "description": "é".repeat(MAX_DESCRIPTION_BYTES) });
        let told = &skills("s", &[tool], None)[0].description;
        assert!(
            told.len() <= MAX_DESCRIPTION_BYTES && told.ends_with("é…"),
            "{told}"
        );
    }
}
