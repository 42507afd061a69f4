//! `cargo xtask tidy`: the rules of the repository that neither rustfmt nor clippy knows. Owns the
//! walk over the files and the verdict; the rules stand in `shape` (files and functions),
//! `boundaries` (what may appear where) and `documents` (links, traces of a machine).

mod boundaries;
mod documents;
mod shape;
mod source;

use std::fmt;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::process;
use source::Source;

const HELP: &str = "\
Checks the rules of the repository (CONTRIBUTING.md, \"Twelve habits\").

Usage: cargo xtask tidy
";

/// Folders that hold no source of ours.
const SKIPPED_FOLDERS: [&str; 5] = ["target", ".git", "node_modules", "__pycache__", ".venv"];

/// Endings of the text files that are read. Others may lie in the repository unread.
const TEXT_ENDINGS: [&str; 14] = [
    "rs", "toml", "md", "py", "js", "mjs", "json", "jsonl", "sh", "txt", "yml", "yaml", "lock",
    "sql",
];

/// One breach of a rule.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    path: String,
    line: usize,
    message: String,
    severity: Severity,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Severity {
    Warning,
    Error,
}

impl Finding {
    fn error(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            message: message.into(),
            severity: Severity::Error,
        }
    }

    fn warning(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(path, line, message)
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        write!(
            formatter,
            "{severity}: {}:{}: {}",
            self.path, self.line, self.message
        )
    }
}

/// The `tidy` task.
///
/// # Errors
/// When a file cannot be read or a rule is broken; each breach has been printed by then.
pub fn main(arguments: &[String]) -> Result<()> {
    match arguments {
        [] => check_repository(),
        [flag] if flag == "--help" || flag == "-h" => {
            print!("{HELP}");
            Ok(())
        }
        _ => bail!("xtask tidy: unknown arguments {arguments:?}\n\n{HELP}"),
    }
}

/// Reads every text file of the repository and prints each breach of a rule.
///
/// # Errors
/// When a file cannot be read or a rule is broken.
pub fn check_repository() -> Result<()> {
    let root = process::repository_root();
    let mut paths = Vec::new();
    walk(&root, "", &mut paths)?;
    paths.sort();
    let mut findings = shape::module_form(&paths);
    for path in &paths {
        let bytes =
            std::fs::read(root.join(path)).with_context(|| format!("cannot read {path}"))?;
        match String::from_utf8(bytes) {
            Ok(text) => findings.extend(check_file(path, &text, &root)),
            Err(_) => findings.push(Finding::error(path, 1, "is not UTF-8")),
        }
    }
    for finding in &findings {
        println!("{finding}");
    }
    let errors = findings
        .iter()
        .filter(|it| it.severity == Severity::Error)
        .count();
    if errors > 0 {
        bail!("tidy: {errors} breaches of the repository's rules, listed above");
    }
    println!("tidy: {} files keep the rules", paths.len());
    Ok(())
}

fn check_file(path: &str, text: &str, root: &Path) -> Vec<Finding> {
    let mut findings = documents::no_traces_of_a_machine(path, text);
    if path.ends_with(".md") {
        findings.extend(documents::links_resolve(path, text, |target| {
            root.join(target).exists()
        }));
    }
    if path.ends_with("Cargo.toml") {
        findings.extend(boundaries::dependencies(path, text));
    }
    if path.ends_with(".rs") {
        let source = Source::read(path, text);
        findings.extend(shape::check(&source));
        findings.extend(boundaries::check(&source));
    }
    findings
}

/// Collects the paths of all text files below `root`, relative and with `/` between the parts.
fn walk(root: &Path, folder: &str, paths: &mut Vec<String>) -> Result<()> {
    let directory = root.join(folder);
    let entries = std::fs::read_dir(&directory)
        .with_context(|| format!("cannot list {}", directory.display()))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if folder.is_empty() {
            name.clone()
        } else {
            format!("{folder}/{name}")
        };
        if entry.file_type()?.is_dir() {
            if !SKIPPED_FOLDERS.contains(&name.as_str()) {
                walk(root, &path, paths)?;
            }
        } else if is_text(&name) || folder == ".ci" {
            paths.push(path);
        }
    }
    Ok(())
}

fn is_text(name: &str) -> bool {
    name.rsplit_once('.')
        .is_some_and(|(_, ending)| TEXT_ENDINGS.contains(&ending))
}
