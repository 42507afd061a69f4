//! `[store]`: where tasks are kept, and for how long.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SecretRef;
use super::text_setting::text_setting;

/// The database in the data directory.
const DEFAULT_SQLITE_FILE: &str = "nuncio.db";
/// Tasks the memory store holds: at about 1 kB for a small one, some megabytes.
const DEFAULT_MAX_TASKS: usize = 1000;
/// Finished tasks that a database keeps: at about 1 kB for a small one, some 100 MB.
const DEFAULT_MAX_FINISHED_TASKS: usize = 100_000;
/// A quarter of a year.
const DEFAULT_RETENTION_DAYS: u32 = 90;

/// Where tasks are kept, and for how long.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StoreConfig {
    /// `sqlite:PATH` (relative to the data directory), `memory:` (gone when the gateway stops) or
    /// `postgres://USER@HOST:PORT/DATABASE` (one gateway at a time; a Unix socket is written
    /// `postgres://USER@/DATABASE?host=/DIRECTORY`). With `?sslmode=verify-full` the connection to
    /// PostgreSQL is encrypted and the server's certificate checked, against the authorities of
    /// `&sslrootcert=/FILE` or the machine's.
    pub url: StoreUrl,
    /// The password of the PostgreSQL user, if the server asks for one.
    #[schemars(example = serde_json::json!("env:NUNCIO_DATABASE_PASSWORD"))]
    pub password: Option<SecretRef>,
    /// Tasks the memory store holds; the oldest finished ones go first, and when all are live new
    /// work is refused.
    #[schemars(range(min = 1))]
    pub max_tasks: usize,
    /// Finished tasks that a database keeps; the oldest go first. 0 keeps all.
    pub max_finished_tasks: usize,
    /// Days that a database keeps finished tasks. 0 keeps them for ever.
    pub retention_days: u32,
}

impl Default for StoreConfig {
    fn default() -> StoreConfig {
        StoreConfig {
            url: StoreUrl::Sqlite(PathBuf::from(DEFAULT_SQLITE_FILE)),
            password: None,
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
    /// A PostgreSQL database, by a URL without a password.
    Postgres(String),
}

impl FromStr for StoreUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<StoreUrl, String> {
        match text.split_once(':') {
            Some(("memory", "")) => Ok(StoreUrl::Memory),
            Some(("sqlite", path)) if !path.is_empty() => Ok(StoreUrl::Sqlite(PathBuf::from(
                path.strip_prefix("//").unwrap_or(path),
            ))),
            Some(("postgres" | "postgresql", _)) => postgres(text),
            _ if text == "memory" => Ok(StoreUrl::Memory),
            _ => Err(format!(
                "`{text}` is not a store: write `memory:`, `sqlite:PATH` or \
                 `postgres://USER@HOST:PORT/DATABASE`"
            )),
        }
    }
}

/// Takes a URL that holds no password: it is shown by commands and in logs.
fn postgres(text: &str) -> Result<StoreUrl, String> {
    let rest = text.split_once("://").map_or("", |(_, rest)| rest);
    let (place, parameters) = rest.split_once('?').unwrap_or((rest, ""));
    let has_password = place
        .rsplit_once('@')
        .is_some_and(|(user, _)| user.contains(':'));
    let names_password = parameters
        .split('&')
        .any(|parameter| parameter.starts_with("password"));
    if has_password || names_password {
        return Err(
            "a password is not written here but referred to: put it into an environment \
             variable and set `password` in [store] to `env:NAME`"
                .to_owned(),
        );
    }
    let options = nuncio_store::PostgresOptions {
        url: text.to_owned(),
        ..Default::default()
    };
    options.check().map_err(|error| error.to_string())?;
    Ok(StoreUrl::Postgres(text.to_owned()))
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreUrl::Memory => f.write_str("memory:"),
            StoreUrl::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            StoreUrl::Postgres(url) => f.write_str(url),
        }
    }
}

text_setting!(StoreUrl, "store-url");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_store() {
        assert_eq!("memory:".parse(), Ok(StoreUrl::Memory));
        assert_eq!(
            "sqlite:a/b.db".parse(),
            Ok(StoreUrl::Sqlite("a/b.db".into()))
        );
        assert_eq!(
            "sqlite:///var/n.db".parse(),
            Ok(StoreUrl::Sqlite("/var/n.db".into()))
        );
        for url in [
            "postgres://nuncio@db.example:5432/tasks",
            "postgresql://nuncio@/tasks?host=/run/postgresql",
            "postgres://nuncio@db.example/tasks?sslmode=verify-full",
        ] {
            assert_eq!(url.parse(), Ok(StoreUrl::Postgres(url.to_owned())));
            assert_eq!(StoreUrl::Postgres(url.to_owned()).to_string(), url);
        }
        for text in [
            "",
            "sqlite:",
            "nuncio.db",
            "mysql:x",
            "postgres:",
            "postgres://h/db",
            "postgres://u@/db",
            "postgres://u@h:port/db",
            "postgres://u@h/db?sslmode=verify-ca",
            "postgres://u@h/db?colour=red",
        ] {
            assert!(text.parse::<StoreUrl>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_password_in_the_url_is_refused_and_not_repeated() {
        for text in [
            "postgres://nuncio:hunter2@db/tasks",
            "postgres://nuncio@db/tasks?password=hunter2",
            "postgres://nuncio:hunter2@db:port/tasks",
        ] {
            let error = text.parse::<StoreUrl>().unwrap_err();
            assert!(
                error.contains("env:NAME") && !error.contains("hunter2"),
                "{error}"
            );
        }
    }
}
