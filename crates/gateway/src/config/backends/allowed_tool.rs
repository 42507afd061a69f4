//! What an agent may do without asking, as the configuration names it: a kind of tools, and if wanted
//! which calls of that kind, by the title that the agent gives them.

use std::fmt;
use std::str::FromStr;

use crate::config::schema_check::nearest;
use crate::config::text_setting::text_setting;

/// The kinds of tools that the Agent Client Protocol knows (`ToolKind`).
const KINDS: [&str; 10] = [
    "read",
    "edit",
    "delete",
    "move",
    "search",
    "execute",
    "think",
    "fetch",
    "switch_mode",
    "other",
];
/// Stands for any kind, and in a title for any characters.
const ANY: &str = "*";

/// Calls of tools that are allowed: `read`, `execute:git status`, `*:Read *`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedTool {
    kind: String,
    /// `None`: whatever the title.
    title: Option<String>,
}

impl AllowedTool {
    /// Whether a call of this kind with this title is among them.
    #[must_use]
    pub fn covers(&self, kind: &str, title: &str) -> bool {
        let is_kind = self.kind == ANY || self.kind == kind;
        is_kind && self.title.as_ref().is_none_or(|it| fits(it, title))
    }
}

/// Whether the title is what the pattern says, from its beginning to its end.
fn fits(pattern: &str, title: &str) -> bool {
    let Some((start, rest)) = pattern.split_once(ANY) else {
        return pattern == title;
    };
    let Some(mut title) = title.strip_prefix(start) else {
        return false;
    };
    let mut pieces: Vec<&str> = rest.split(ANY).collect();
    let end = pieces.pop().unwrap_or_default();
    for piece in pieces {
        match title.split_once(piece) {
            Some((_, after)) => title = after,
            None => return false,
        }
    }
    title.ends_with(end)
}

impl FromStr for AllowedTool {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, title) = match text.split_once(':') {
            Some((kind, title)) => (kind, Some(title)),
            None => (text, None),
        };
        if kind != ANY && !KINDS.contains(&kind) {
            let hint = nearest(kind, KINDS.into_iter())
                .map(|it| format!("did you mean `{it}`? "))
                .unwrap_or_default();
            return Err(format!(
                "`{kind}` is no kind of tools: {hint}The kinds are {} and `{ANY}` for all; a title goes \
                 after a colon, as in `execute:git status`",
                KINDS.join(", ")
            ));
        }
        if title.is_some_and(|it| it.trim().is_empty()) {
            return Err(format!(
                "`{text}` has a colon and no title after it: write `{kind}` for all of the kind"
            ));
        }
        Ok(Self {
            kind: kind.to_owned(),
            title: title.map(str::to_owned),
        })
    }
}

impl fmt::Display for AllowedTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        match &self.title {
            Some(title) => write!(f, ":{title}"),
            None => Ok(()),
        }
    }
}

text_setting!(AllowedTool, "allowed-tool");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_and_a_title_name_what_is_allowed() {
        for (allowed, kind, title, expected) in [
            ("read", "read", "Read a.txt", true),
            ("read", "edit", "Read a.txt", false),
            ("execute:git status", "execute", "git status", true),
            (
                "execute:git status",
                "execute",
                "git status; rm -r x",
                false,
            ),
            ("execute:git status", "execute", "x git status", false),
            ("execute:git status", "other", "git status", false),
            ("execute:git *", "execute", "git log", true),
            ("execute:git *", "execute", "git", false),
            ("execute:*test*", "execute", "cargo test -q", true),
            ("execute:*a*b", "execute", "xaxbxb", true),
            ("execute:*a*b", "execute", "xbxa", false),
            ("execute:a*a", "execute", "a", false),
            ("*:Read *", "other", "Read: b", false),
            ("*:Read: *", "other", "Read: b", true),
            ("*", "anything", "", true),
            ("fetch:https://a/*", "fetch", "https://a/b", true),
        ] {
            let tool: AllowedTool = allowed.parse().unwrap();
            assert_eq!(
                tool.covers(kind, title),
                expected,
                "{allowed} {kind} {title}"
            );
            assert_eq!(tool.to_string(), allowed);
        }
    }

    #[test]
    fn what_would_allow_nothing_is_refused_with_a_hint() {
        let refused = |text: &str| text.parse::<AllowedTool>().unwrap_err();
        assert!(refused("raed").contains("did you mean `read`?"));
        assert!(refused("Bash").contains("The kinds are read, edit"));
        assert!(refused("execute:").contains("write `execute`"));
        assert!(refused("").contains("no kind"));
    }
}
