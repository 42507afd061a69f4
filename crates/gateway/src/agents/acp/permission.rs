//! A request of the agent to be allowed something: who decides, and how a caller says so.

use nuncio_wire::{Message, Part, PartContent, RawJson};
use serde_json::{Value, json};

use crate::config::{AcpPermissions, AllowedTool};

/// What an agent asks for.
#[derive(Clone, Debug)]
pub(super) struct Permission {
    /// The id of its request.
    pub(super) id: Value,
    title: String,
    kind: String,
    options: Vec<PermissionOption>,
}

#[derive(Clone, Debug)]
struct PermissionOption {
    id: String,
    name: String,
    kind: String,
}

/// What becomes of it.
#[derive(Debug)]
pub(super) enum Decision {
    /// This is answered at once.
    Answer(Value),
    /// The caller decides.
    Ask,
}

impl Permission {
    pub(super) fn read(id: Value, params: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let options = params["options"].as_array().into_iter().flatten();
        let tool = &params["toolCall"];
        Self {
            id,
            title: text(&tool["title"]),
            kind: tool["kind"].as_str().unwrap_or("other").to_owned(),
            options: options
                .map(|it| PermissionOption {
                    id: text(&it["optionId"]),
                    name: text(&it["name"]),
                    kind: text(&it["kind"]),
                })
                .collect(),
        }
    }

    /// What the configuration says of it.
    pub(super) fn decide(&self, rule: AcpPermissions, allowed: &[AllowedTool]) -> Decision {
        let is_allowed = allowed.iter().any(|it| it.covers(&self.kind, &self.title));
        if is_allowed && let Some(option) = self.of_kind("allow") {
            return Decision::Answer(selected(&option.id));
        }
        match rule {
            AcpPermissions::Ask if !self.options.is_empty() => Decision::Ask,
            _ => Decision::Answer(self.refused()),
        }
    }

    /// The answer that refuses it.
    pub(super) fn refused(&self) -> Value {
        match self.of_kind("reject") {
            Some(option) => selected(&option.id),
            None => cancelled(),
        }
    }

    /// An option of this kind, the one that holds once rather than always.
    fn of_kind(&self, kind: &str) -> Option<&PermissionOption> {
        let once = format!("{kind}_once");
        let exact = self.options.iter().find(|it| it.kind == once);
        exact.or_else(|| self.options.iter().find(|it| it.kind.starts_with(kind)))
    }

    /// The question that a caller is asked: as text, and as data for programs.
    pub(super) fn question(&self) -> Vec<Part> {
        let mut text = format!("The agent asks to be allowed: {}\n", self.title);
        for (number, option) in (1..).zip(&self.options) {
            text.push_str(&format!("{number}. {} [{}]\n", option.name, option.id));
        }
        text.push_str("Answer with a number, a name, or yes or no.");
        let options = self.options.iter();
        let options: Vec<Value> = options
            .map(|it| json!({ "optionId": it.id, "name": it.name, "kind": it.kind }))
            .collect();
        let data = json!({ "permission": {
            "title": self.title, "kind": self.kind, "options": options,
        } });
        let mut parts = vec![Part::text(text)];
        if let Ok(data) = RawJson::of(&data) {
            let mut part = Part::new(PartContent::Data(data));
            part.media_type = Some("application/json".to_owned());
            parts.push(part);
        }
        parts
    }

    /// The answer that a caller's message gives; `None`: it names no option.
    pub(super) fn answer(&self, message: &Message) -> Option<Value> {
        let data = message.parts.iter().find_map(|part| match &part.content {
            PartContent::Data(data) => data.read::<Value>().ok()?["optionId"]
                .as_str()
                .map(str::to_owned),
            _ => None,
        });
        let said = data.unwrap_or_else(|| message.text());
        let said = said.trim().trim_end_matches('.').to_lowercase();
        let number = said.parse::<usize>().ok().and_then(|it| it.checked_sub(1));
        let by_number = number.and_then(|it| self.options.get(it));
        let named =
            |it: &&PermissionOption| it.id.to_lowercase() == said || it.name.to_lowercase() == said;
        let by_word = || match &*said {
            "yes" | "y" | "allow" | "ok" => self.of_kind("allow"),
            "no" | "n" | "deny" | "reject" => self.of_kind("reject"),
            _ => None,
        };
        let option = by_number
            .or_else(|| self.options.iter().find(named))
            .or_else(by_word)?;
        Some(selected(&option.id))
    }
}

fn selected(option: &str) -> Value {
    json!({ "outcome": { "outcome": "selected", "optionId": option } })
}

/// The answer when the turn is over.
pub(super) fn cancelled() -> Value {
    json!({ "outcome": { "outcome": "cancelled" } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use nuncio_wire::Role;

    fn permission() -> Permission {
        let params = json!({
            "toolCall": { "title": "rm -r x", "kind": "delete" },
            "options": [
                { "optionId": "a1", "name": "Always", "kind": "allow_always" },
                { "optionId": "a2", "name": "Just now", "kind": "allow_once" },
                { "optionId": "r", "name": "Never", "kind": "reject_once" },
            ],
        });
        Permission::read(json!(7), &params)
    }

    #[test]
    fn the_configuration_decides_or_lets_the_caller() {
        let asked = permission();
        let answer = |rule, allowed: &[&str]| {
            let allowed: Vec<AllowedTool> = allowed.iter().map(|it| it.parse().unwrap()).collect();
            match asked.decide(rule, &allowed) {
                Decision::Answer(answer) => {
                    answer["outcome"]["optionId"].as_str().unwrap().to_owned()
                }
                Decision::Ask => "asks".to_owned(),
            }
        };
        assert_eq!(answer(AcpPermissions::Deny, &[]), "r");
        assert_eq!(answer(AcpPermissions::Deny, &["read"]), "r");
        assert_eq!(answer(AcpPermissions::Deny, &["delete"]), "a2");
        assert_eq!(answer(AcpPermissions::Deny, &["delete:rm -r x"]), "a2");
        assert_eq!(answer(AcpPermissions::Deny, &["delete:rm -r y"]), "r");
        assert_eq!(answer(AcpPermissions::Ask, &["delete:rm -r y"]), "asks");
        assert_eq!(answer(AcpPermissions::Ask, &[]), "asks");
    }

    #[test]
    fn a_caller_answers_by_number_name_id_or_word() {
        let asked = permission();
        for (said, option) in [
            ("1", Some("a1")),
            (" just NOW. ", Some("a2")),
            ("r", Some("r")),
            ("yes", Some("a2")),
            ("No", Some("r")),
            ("perhaps", None),
            ("0", None),
            ("4", None),
        ] {
            let message = Message::new("m", Role::User, vec![Part::text(said)]);
            let answer = asked.answer(&message);
            let found = answer
                .as_ref()
                .map(|it| it["outcome"]["optionId"].as_str().unwrap());
            assert_eq!(found, option, "{said}");
        }
    }
}
