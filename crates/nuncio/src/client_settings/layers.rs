//! Where a setting's value comes from: flag, variable, local file, global file, built-in default,
//! in this order (a2a-cli specification 6.5, 8.3). Files are dotenv with the names of the variables.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::output::CliError;

/// Prefix of all names; what else stands in a `.env` belongs to other programs.
const PREFIX: &str = "A2ACLI_";
/// Largest file that is read, in bytes: one of settings has a few hundred.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Flag,
    Variable,
    File(PathBuf),
    BuiltIn,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => f.write_str("flag"),
            Self::Variable => f.write_str("environment"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::BuiltIn => f.write_str("built-in"),
        }
    }
}

/// Everything below the flags.
#[derive(Debug, Default)]
pub(crate) struct Layers {
    environment: BTreeMap<String, String>,
    files: Vec<(PathBuf, BTreeMap<String, String>)>,
}

impl Layers {
    /// Reads the environment and the files; `named` takes the place of the local file.
    pub(crate) fn read(named: Option<&Path>) -> Result<Self, CliError> {
        let environment = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(name, _)| name.starts_with(PREFIX))
            .collect();
        let mut files = Vec::new();
        if let Some(path) = named {
            let text = read_file(path).map_err(|error| {
                CliError::usage(format!(
                    "cannot read the settings file {}: {error}",
                    path.display()
                ))
            })?;
            files.push((path.to_owned(), parse(&text)));
        }
        let local = if named.is_none() {
            nearest_env_file()
        } else {
            None
        };
        for path in local.into_iter().chain(global_file()) {
            // A file that is not ours, or not readable, is no reason to stop.
            if let Ok(text) = read_file(&path) {
                files.push((path, parse(&text)));
            }
        }
        Ok(Self { environment, files })
    }

    /// The value of a setting by its long flag, such as `poll-interval`. An empty value is none.
    pub(crate) fn get(&self, flag: &str) -> Option<(&str, Source)> {
        let name = variable_name(flag);
        if let Some(value) = self
            .environment
            .get(&name)
            .filter(|value| !value.is_empty())
        {
            return Some((value, Source::Variable));
        }
        self.files.iter().find_map(|(path, values)| {
            let value = values.get(&name).filter(|value| !value.is_empty())?;
            Some((value.as_str(), Source::File(path.clone())))
        })
    }
}

/// `poll-interval` to `A2ACLI_POLL_INTERVAL`.
pub(crate) fn variable_name(flag: &str) -> String {
    format!("{PREFIX}{}", flag.replace('-', "_").to_ascii_uppercase())
}

fn read_file(path: &Path) -> std::io::Result<String> {
    use std::io::Read as _;
    let mut text = String::new();
    std::fs::File::open(path)?
        .take(MAX_FILE_BYTES)
        .read_to_string(&mut text)?;
    Ok(text)
}

/// The nearest `.env` from the working directory upwards.
fn nearest_env_file() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    here.ancestors()
        .map(|folder| folder.join(".env"))
        .find(|path| path.is_file())
}

/// `~/.config/a2a-cli/.env`, shared with other programs of the contract.
fn global_file() -> Option<PathBuf> {
    let home = std::env::home_dir()?;
    let path = home.join(".config").join("a2a-cli").join(".env");
    path.is_file().then_some(path)
}

/// Lines `NAME=value`; `export`, comments and quotes as shells write them.
fn parse(text: &str) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    for line in text.lines() {
        let line = line.trim();
        let line = line.strip_prefix("export ").unwrap_or(line);
        let Some((name, value)) = line.split_once('=').filter(|_| !line.starts_with('#')) else {
            continue;
        };
        if name.trim().starts_with(PREFIX) {
            values.insert(name.trim().to_owned(), unquote(value.trim()));
        }
    }
    values
}

fn unquote(value: &str) -> String {
    for quote in ['"', '\''] {
        if let Some(inner) = value
            .strip_prefix(quote)
            .and_then(|it| it.split_once(quote))
        {
            return inner.0.to_owned();
        }
    }
    // Unquoted, a comment begins at a blank and a number sign.
    value
        .split_once(" #")
        .map_or(value, |(value, _)| value.trim_end())
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_shells_write_them() {
        let values = parse(
            "# c\nexport A2ACLI_BEARER=\"a b\" # c\nA2ACLI_OUTPUT = json # c\nOTHER=x\nbroken\nA2ACLI_API_KEY='k#1'\n",
        );
        let pairs: Vec<(&str, &str)> = values
            .iter()
            .map(|(k, v)| (k.as_str(), v.as_str()))
            .collect();
        let wanted = [
            ("A2ACLI_API_KEY", "k#1"),
            ("A2ACLI_BEARER", "a b"),
            ("A2ACLI_OUTPUT", "json"),
        ];
        assert_eq!(pairs, wanted);
    }

    #[test]
    fn a_variable_beats_a_file_and_nothing_is_no_value() {
        let values = |value: &str| BTreeMap::from([("A2ACLI_OUTPUT".to_owned(), value.to_owned())]);
        let mut layers = Layers {
            environment: values("json"),
            files: vec![("f".into(), values("text"))],
        };
        assert_eq!(layers.get("output"), Some(("json", Source::Variable)));
        layers.environment = values("");
        assert_eq!(
            layers.get("output"),
            Some(("text", Source::File("f".into())))
        );
    }
}
