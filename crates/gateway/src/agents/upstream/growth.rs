//! What has come to an artifact between two looks at it: agents without streams are asked again and
//! again, and what they said already is not said twice.

use nuncio_wire::{Artifact, Part, PartContent};

/// The artifact with texts that follow each other made one, as chunks of it are put together.
pub(super) fn joined(artifact: &Artifact) -> Artifact {
    let mut whole = Artifact::new(&artifact.artifact_id, Vec::new());
    whole.append(artifact.clone());
    whole
}

/// What is to be appended to `known` to make it `now`; `None`: it has changed in another way. Both are
/// [`joined`].
pub(super) fn growth(known: &Artifact, now: &Artifact) -> Option<Artifact> {
    let has_same_labels = known.name == now.name
        && known.description == now.description
        && known.metadata == now.metadata
        && known.extensions == now.extensions;
    let kept = known.parts.len().checked_sub(1)?;
    if !has_same_labels || !now.parts.starts_with(&known.parts[..kept]) {
        return None;
    }
    let more = continuation(&known.parts[kept], now.parts.get(kept)?)?;
    let rest = now.parts[kept + 1..].iter().cloned();
    let mut growth = Artifact::new(&now.artifact_id, more.into_iter().chain(rest).collect());
    growth.name.clone_from(&now.name);
    Some(growth)
}

/// How `before` became `now`: nothing has come to it, or text has.
fn continuation(before: &Part, now: &Part) -> Option<Option<Part>> {
    if before == now {
        return Some(None);
    }
    let more = now.as_text()?.strip_prefix(before.as_text()?)?;
    let with = |text: &str| Part {
        content: PartContent::Text(text.to_owned()),
        ..now.clone()
    };
    // Text with user JSON is not joined, but would stand beside what it continues.
    let is_joined = with(before.as_text()?) == *before && now.metadata.is_none();
    is_joined.then(|| Some(with(more)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn artifact(parts: &str) -> Artifact {
        let json = format!(r#"{{"artifactId":"a","name":"n","parts":{parts}}}"#);
        joined(&serde_json::from_str(&json).unwrap())
    }

    #[test]
    fn what_was_known_and_what_has_come_make_what_is() {
        let file = r#"{"raw":"AA==","filename":"f"}"#;
        for (known, now) in [
            (
                r#"[{"text":"one "}]"#.to_owned(),
                r#"[{"text":"one two"}]"#.to_owned(),
            ),
            (
                r#"[{"text":"one "}]"#.to_owned(),
                r#"[{"text":"one "},{"text":"two"}]"#.to_owned(),
            ),
            (
                format!("[{file}]"),
                format!(r#"[{file},{{"text":"t"}},{file}]"#),
            ),
            (
                r#"[{"text":"a"}]"#.to_owned(),
                format!(r#"[{{"text":"ab"}},{file}]"#),
            ),
        ] {
            let (known, now) = (artifact(&known), artifact(&now));
            let more = growth(&known, &now).expect("it has grown");
            let mut whole = known.clone();
            whole.append(more);
            assert_eq!(whole, now);
        }
    }

    #[test]
    fn what_has_changed_is_no_growth() {
        let text = |text: &str| format!(r#"[{{"text":"{text}"}}]"#);
        for (known, now) in [
            (text("one"), text("two")),
            (text("longer"), text("long")),
            (
                text("one"),
                r#"[{"text":"one two","mediaType":"text/html"}]"#.to_owned(),
            ),
            (
                r#"[{"text":"a","metadata":{}}]"#.to_owned(),
                r#"[{"text":"ab","metadata":{}}]"#.to_owned(),
            ),
            (r#"[{"data":1}]"#.to_owned(), r#"[{"data":12}]"#.to_owned()),
            (r#"[{"text":"a"},{"data":1}]"#.to_owned(), text("a")),
        ] {
            assert_eq!(
                growth(&artifact(&known), &artifact(&now)),
                None,
                "{known} {now}"
            );
        }
        let mut renamed = artifact(&text("one two"));
        renamed.name = None;
        assert_eq!(growth(&artifact(&text("one")), &renamed), None);
    }
}
