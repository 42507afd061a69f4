//! `[store]`: where tasks are kept, and for how long.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text_setting::text_setting;

/// The database in the data directory.
const DEFAULT_SQLITE_FILE: &str = "nuncio.db";
/// Tasks the memory store holds: at about 1 kB for a small one, some megabytes.
const DEFAULT_MAX_TASKS: usize = 1000;
/// Finished tasks that SQLite keeps: at about 1 kB for a small one, some 100 MB.
const DEFAULT_MAX_FINISHED_TASKS: usize = 100_000;
/// A quarter of a year.
const DEFAULT_RETENTION_DAYS: u32 = 90;

/// Where tasks are kept, and for how long.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StoreConfig {
    /// `sqlite:PATH` (relative to the data directory) or `memory:` (gone when the gateway stops).
    pub url: StoreUrl,
    /// Tasks the memory store holds; the oldest finished ones go first, and when all are live new
    /// work is refused.
    #[schemars(range(min = 1))]
    pub max_tasks: usize,
    /// Finished tasks that SQLite keeps; the oldest go first. 0 keeps all.
    pub max_finished_tasks: usize,
    /// Days that SQLite keeps finished tasks. 0 keeps them for ever.
    pub retention_days: u32,
}

impl Default for StoreConfig {
    fn default() -> StoreConfig {
        StoreConfig {
            url: StoreUrl::Sqlite(PathBuf::from(DEFAULT_SQLITE_FILE)),
            max_tasks: DEFAULT_MAX_TASKS,
            max_finished_tasks: DEFAULT_MAX_FINISHED_TASKS,
            retention_days: DEFAULT_RETENTION_DAYS,
        }
    }
}

/// Which store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreUrl {
    /// In this process only.
    Memory,
    /// A SQLite file; a relative path is meant from the data directory.
    Sqlite(PathBuf),
}

impl FromStr for StoreUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<StoreUrl, String> {
        match text.split_once(':') {
            Some(("memory", "")) => Ok(StoreUrl::Memory),
            Some(("sqlite", path)) if !path.is_empty() => Ok(StoreUrl::Sqlite(PathBuf::from(
                path.strip_prefix("//").unwrap_or(path),
            ))),
            Some(("postgres" | "postgresql", _)) => {
                Err("this version has no PostgreSQL store: use `sqlite:PATH`".to_owned())
            }
            _ if text == "memory" => Ok(StoreUrl::Memory),
            _ => Err(format!(
                "`{text}` is not a store: write `memory:` or `sqlite:PATH`"
            )),
        }
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreUrl::Memory => f.write_str("memory:"),
            StoreUrl::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
        }
    }
}

text_setting!(StoreUrl, "store-url");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_both_stores() {
        assert_eq!("memory:".parse(), Ok(StoreUrl::Memory));
        assert_eq!(
            "sqlite:a/b.db".parse(),
            Ok(StoreUrl::Sqlite("a/b.db".into()))
        );
        assert_eq!(
            "sqlite:///var/n.db".parse(),
            Ok(StoreUrl::Sqlite("/var/n.db".into()))
        );
        for text in ["", "sqlite:", "nuncio.db", "postgres://h/db", "mysql:x"] {
            assert!(text.parse::<StoreUrl>().is_err(), "{text}");
        }
    }
}
