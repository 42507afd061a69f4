//! Rules on the shape of a Rust file: its head, its length, the length of its functions, its name,
//! and macros that may not be committed.

use super::Finding;
use super::source::Source;

/// Lines before the tests at which a file should be split.
const LINES_WARNED: usize = 400;
/// Lines before the tests at which a file must be split.
const LINES_ALLOWED: usize = 500;
/// Lines of the head comment: one glance.
const HEAD_LINES: usize = 8;
/// Lines of a function from `fn` to its closing brace: one screen.
const FUNCTION_LINES: usize = 70;

/// Names that say nothing about what a module owns.
const EMPTY_NAMES: [&str; 8] = [
    "util", "utils", "common", "helper", "helpers", "manager", "managers", "types",
];

/// Code that is not finished or not meant to stay.
const UNFINISHED: [&str; 3] = ["todo!", "unimplemented!", "dbg!"];

pub(super) fn check(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(head(source));
    findings.extend(length(source));
    findings.extend(functions(source));
    findings.extend(name(source));
    findings.extend(unfinished(source));
    findings
}

fn head(source: &Source) -> Option<Finding> {
    let path = &source.path;
    let lines = source
        .lines
        .iter()
        .take_while(|line| line.starts_with("//!"))
        .count();
    if lines == 0 {
        let rule = "begins without a `//!` head: say what the file owns and what it never does";
        return Some(Finding::error(path, 1, rule));
    }
    let rule = || format!("has a head of {lines} lines; at most {HEAD_LINES}");
    (lines > HEAD_LINES).then(|| Finding::error(path, HEAD_LINES + 1, rule()))
}

fn length(source: &Source) -> Option<Finding> {
    let (path, lines) = (&source.path, source.product_lines);
    let rule = || format!("has {lines} lines before its tests: split it by what its parts own");
    if lines > LINES_ALLOWED {
        return Some(Finding::error(path, lines, rule()));
    }
    (lines > LINES_WARNED).then(|| Finding::warning(path, lines, rule()))
}

/// Finds functions by the indentation that rustfmt gives them.
fn functions(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    let code: Vec<(usize, &str)> = source.product_code().collect();
    for (at, (line, text)) in code.iter().enumerate() {
        if !begins_function(text) {
            continue;
        }
        let indent = text.len() - text.trim_start().len();
        let closing = format!("{}}}", " ".repeat(indent));
        let Some(length) = code[at..]
            .iter()
            .position(|(_, text)| text.trim_end() == closing)
        else {
            continue;
        };
        if length + 1 > FUNCTION_LINES {
            let rule = format!("has {} lines; at most {FUNCTION_LINES}", length + 1);
            findings.push(Finding::error(
                &source.path,
                *line,
                format!("this function {rule}"),
            ));
        }
    }
    findings
}

fn begins_function(line: &str) -> bool {
    let mut words = line.split_whitespace().take_while(|word| *word != "=");
    let before_name = [
        "pub",
        "pub(crate)",
        "pub(super)",
        "const",
        "async",
        "default",
    ];
    let is_function = words.find(|word| !before_name.contains(word)) == Some("fn");
    is_function && !line.trim_end().ends_with([';', '}'])
}

fn name(source: &Source) -> Option<Finding> {
    let path = source.path.strip_suffix(".rs").unwrap_or(&source.path);
    let part = path.split('/').find(|part| EMPTY_NAMES.contains(part))?;
    Some(Finding::error(
        &source.path,
        1,
        format!("`{part}` says nothing; name what it owns"),
    ))
}

fn unfinished(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in source.code.iter().enumerate() {
        for word in UNFINISHED.iter().filter(|word| holds_macro(line, word)) {
            findings.push(Finding::error(
                &source.path,
                index + 1,
                format!("has `{word}`"),
            ));
        }
        if line.contains("#[ignore]") {
            let rule = "skips a test without a reason: `#[ignore = \"why\"]`";
            findings.push(Finding::error(&source.path, index + 1, rule));
        }
    }
    findings
}

/// Whether `line` calls the macro itself and not one whose name only ends alike.
fn holds_macro(line: &str, call: &str) -> bool {
    line.match_indices(call).any(|(at, _)| {
        !line[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_')
    })
}

/// `foo/mod.rs`, not `foo.rs` beside `foo/`, so that a folder is complete in itself.
pub(super) fn module_form(paths: &[String]) -> Vec<Finding> {
    let rule = |folder: &str| format!("lies beside the folder `{folder}/`: make it its `mod.rs`");
    let mut findings = Vec::new();
    for path in paths {
        let Some(folder) = path.strip_suffix(".rs") else {
            continue;
        };
        let inside = format!("{folder}/");
        if paths
            .iter()
            .any(|other| other.starts_with(&inside) && other.ends_with(".rs"))
        {
            findings.push(Finding::error(path, 1, rule(folder)));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(path: &str, text: &str) -> Vec<String> {
        check(&Source::read(path, text))
            .into_iter()
            .map(|it| it.to_string())
            .collect()
    }

    #[test]
    fn a_file_in_good_shape_passes() {
        let text = "//! Owns a.\n\nfn a() {\n    b();\n}\n";
        assert_eq!(messages("src/a.rs", text), Vec::<String>::new());
    }

    #[test]
    fn the_head_must_exist_and_be_short() {
        assert!(messages("src/a.rs", "fn a() {}\n")[0].contains("begins without"));
        let long = "//! a\n".repeat(9);
        assert!(messages("src/a.rs", &long)[0].contains("head of 9 lines"));
    }

    #[test]
    fn only_lines_before_the_tests_count() {
        let body = format!("//! a\n{}", "const A: u8 = 0;\n".repeat(500));
        assert!(messages("src/a.rs", &body)[0].starts_with("error: src/a.rs:501: has 501 lines"));
        let body = format!("//! a\n{}", "const A: u8 = 0;\n".repeat(400));
        assert!(messages("src/a.rs", &body)[0].starts_with("warning: "));
        let tests = format!(
            "//! a\n#[cfg(test)]\nmod tests {{\n{}}}\n",
            "\n".repeat(600)
        );
        assert_eq!(messages("src/a.rs", &tests), Vec::<String>::new());
    }

    #[test]
    fn a_function_fits_a_screen() {
        let body =
            |lines: usize| format!("//! a\npub fn a() {{\n{}}}\n", "    b();\n".repeat(lines));
        assert_eq!(messages("src/a.rs", &body(68)), Vec::<String>::new());
        assert!(messages("src/a.rs", &body(69))[0].contains("this function has 71 lines"));
    }

    #[test]
    fn empty_names_and_unfinished_code_are_refused() {
        assert!(messages("src/util/a.rs", "//! a\n")[0].contains("`util` says nothing"));
        assert!(messages("src/a.rs", "//! a\nfn a() {\n    todo!()\n}\n")[0].contains("`todo!`"));
        assert_eq!(
            messages("src/a.rs", "//! a\nfn a() {\n    my_dbg!()\n}\n").len(),
            0
        );
        assert!(messages("tests/a.rs", "//! a\n#[ignore]\nfn a() {}\n")[0].contains("reason"));
        assert_eq!(
            messages("tests/a.rs", "//! a\n#[ignore = \"why\"]\nfn a() {}\n").len(),
            0
        );
    }

    #[test]
    fn a_folder_holds_its_own_module_file() {
        let paths = ["src/a.rs", "src/a/b.rs", "src/c/mod.rs"].map(str::to_owned);
        let findings = module_form(&paths);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].path, "src/a.rs");
    }
}
