//! Rules on text: relative links of Markdown files lead somewhere, and no file bears traces of the
//! machine it was written on.

use super::Finding;

/// Paths of one machine. Assembled, so that this file does not bear them itself.
const MACHINE_PATHS: [&str; 3] = [
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/Us", "ers/"),
];

/// Words that tie a lock or requirement file to one package mirror.
const REGISTRY_WORDS: [&str; 6] = [
    concat!("registry.", "npmjs"),
    concat!("files.python", "hosted"),
    concat!("index", "-url"),
    concat!("find", "-links"),
    concat!("\"resol", "ved\": \"http"),
    concat!("[source.", "crates-io]"),
];

pub(super) fn no_traces_of_a_machine(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for trace in MACHINE_PATHS
            .iter()
            .filter(|trace| begins_a_path(line, trace))
        {
            let rule = format!("`{trace}` is a path of one machine");
            findings.push(Finding::error(path, index + 1, rule));
        }
        for trace in REGISTRY_WORDS.iter().filter(|trace| line.contains(**trace)) {
            let rule = format!("`{trace}` ties the repository to one package mirror");
            findings.push(Finding::error(path, index + 1, rule));
        }
    }
    findings
}

/// Whether an absolute path begins with `trace`: it is not part of a longer path or URL.
fn begins_a_path(line: &str, trace: &str) -> bool {
    line.match_indices(trace).any(|(at, _)| {
        !line[..at].ends_with(|before: char| before.is_alphanumeric() || "}>*._-".contains(before))
    })
}

/// Checks the inline links of a Markdown file. `exists` is asked for paths from the root.
pub(super) fn links_resolve(path: &str, text: &str, exists: impl Fn(&str) -> bool) -> Vec<Finding> {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut findings = Vec::new();
    let mut in_code = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        for target in link_targets(line).filter(|target| is_relative(target)) {
            let file = target.split('#').next().unwrap_or_default();
            if !file.is_empty() && !exists(&resolve(folder, file)) {
                let rule = format!("the link to `{target}` leads nowhere");
                findings.push(Finding::error(path, index + 1, rule));
            }
        }
    }
    findings
}

/// The targets of `[text](target)` in one line.
fn link_targets(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices("](").filter_map(|(at, mark)| {
        let rest = &line[at + mark.len()..];
        let target = rest.split(')').next()?;
        target.split_whitespace().next()
    })
}

fn is_relative(target: &str) -> bool {
    !target.contains("://") && !target.starts_with("mailto:")
}

/// Joins a folder and a relative link; `..` leaves one folder.
fn resolve(folder: &str, link: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_links_are_found_from_the_files_own_folder() {
        let text =
            "[a](../LICENSE) [b](b.md#part) [c](https://a.example/x) [d](#d)\n[e](gone.md)\n";
        let exists = |path: &str| ["LICENSE", "docs/b.md"].contains(&path);
        let findings = links_resolve("docs/a.md", text, exists);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].line, 2);
        assert!(findings[0].message.contains("`gone.md`"));
    }

    #[test]
    fn links_in_code_blocks_are_text() {
        assert_eq!(
            links_resolve("a.md", "```\n[a](gone)\n```\n", |_| false),
            []
        );
    }

    #[test]
    fn traces_of_a_machine_are_found() {
        let trace = |text: &str| no_traces_of_a_machine("a.md", text).len();
        assert_eq!(trace(concat!("see /wo", "rk/x")), 1);
        assert_eq!(trace(concat!("see https://a.example/wo", "rk/x")), 0);
        assert_eq!(trace(concat!("pip --index", "-url x")), 1);
        assert_eq!(trace("nothing here"), 0);
    }
}
