//! `cargo xtask docs`: the reference that comes from the code, written or compared. Owns the list
//! of generated files; what stands in them is printed by nuncio itself (`nuncio generate WHAT`).

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::process;

const HELP: &str = "\
Writes the reference that comes from the code.

Usage: cargo xtask docs [--check]

  --check    writes nothing; fails with the first difference when a file is not up to date
";

/// What `nuncio generate` is asked for, and the file that holds the answer.
const GENERATED: [(&str, &str); 4] = [
    ("config-example", "nuncio.example.toml"),
    ("environment", "docs/reference/environment.md"),
    ("cli", "docs/reference/cli.md"),
    ("config-schema", "docs/reference/nuncio.schema.json"),
];

/// A cold debug build of the whole tree on two cores takes about five minutes.
const BUILD_LIMIT: Duration = Duration::from_mins(20);

/// The `docs` task.
///
/// # Errors
/// When nuncio does not build, a file cannot be written, or `--check` finds an outdated file.
pub fn main(arguments: &[String]) -> Result<()> {
    match arguments {
        [] => write_all(),
        [flag] if flag == "--check" => check_all(),
        [flag] if flag == "--help" || flag == "-h" => {
            print!("{HELP}");
            Ok(())
        }
        _ => bail!("xtask docs: unknown arguments {arguments:?}\n\n{HELP}"),
    }
}

/// Compares every generated file with what nuncio prints now.
///
/// # Errors
/// When nuncio does not build or a file differs; the message shows the first difference.
pub fn check_all() -> Result<()> {
    let mut outdated = Vec::new();
    for (path, wanted) in generate_all()? {
        let found = std::fs::read_to_string(process::repository_root().join(path));
        match found {
            Ok(found) if found == wanted => println!("docs: {path} is up to date"),
            Ok(found) => outdated.push(format!("{path} {}", first_difference(&found, &wanted))),
            Err(error) => outdated.push(format!("{path} cannot be read: {error}")),
        }
    }
    if !outdated.is_empty() {
        bail!(
            "docs: {}\ndocs: run `cargo xtask docs` and commit",
            outdated.join("\ndocs: ")
        );
    }
    Ok(())
}

fn write_all() -> Result<()> {
    for (path, text) in generate_all()? {
        let file = process::repository_root().join(path);
        let folder = file.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&file, text))
            .with_context(|| format!("cannot write {}", file.display()))?;
        println!("docs: wrote {path}");
    }
    Ok(())
}

fn generate_all() -> Result<Vec<(&'static str, String)>> {
    process::run(
        &mut process::cargo(&["build", "--quiet", "-p", "nuncio"]),
        BUILD_LIMIT,
    )?;
    let generate = |what| {
        let arguments = [
            "run", "--quiet", "-p", "nuncio", "--bin", "nuncio", "--", "generate",
        ];
        process::output(process::cargo(&arguments).arg(what))
    };
    GENERATED
        .iter()
        .map(|(what, path)| Ok((*path, generate(what)?)))
        .collect()
}

/// The first line that differs, in both versions.
fn first_difference(found: &str, wanted: &str) -> String {
    let lines = found.lines().count().max(wanted.lines().count());
    let pairs = (0..lines).map(|line| (line, found.lines().nth(line), wanted.lines().nth(line)));
    let Some((line, found, wanted)) = pairs.into_iter().find(|(_, a, b)| a != b) else {
        return "differs in its line ends".to_owned();
    };
    let shown =
        |line: Option<&str>| line.map_or("(end of file)".to_owned(), |it| format!("`{it}`"));
    format!(
        "differs at line {}: has {}, should have {}",
        line + 1,
        shown(found),
        shown(wanted)
    )
}

#[cfg(test)]
mod tests {
    use super::first_difference;

    #[test]
    fn the_first_differing_line_is_named() {
        let hint = first_difference("a\nb\nc\n", "a\nB\nC\n");
        assert_eq!(hint, "differs at line 2: has `b`, should have `B`");
        let hint = first_difference("a\n", "a\nb\n");
        assert_eq!(
            hint,
            "differs at line 2: has (end of file), should have `b`"
        );
        assert_eq!(first_difference("a", "a\n"), "differs in its line ends");
    }
}
