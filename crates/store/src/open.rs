//! Opens the store that a setting names.

use std::path::PathBuf;
use std::sync::Arc;

use crate::{
    MemoryOptions, MemoryStore, PostgresOptions, PostgresStore, SqliteOptions, SqliteStore, Store,
    StoreError,
};

/// How each kind of store behaves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreOptions {
    /// Where a relative path of a file starts; empty: the working directory.
    pub directory: PathBuf,
    /// Of `memory:`.
    pub memory: MemoryOptions,
    /// Of `sqlite:PATH`.
    pub sqlite: SqliteOptions,
    /// Of `postgres://…`; its URL is the one that is opened.
    pub postgres: PostgresOptions,
}

/// Opens the store with this URL: `memory:`, `sqlite:PATH` or `postgres://USER@HOST:PORT/DATABASE`.
///
/// Errors: [`StoreError::Open`] with the reason and what to do.
pub async fn open(url: &str, options: &StoreOptions) -> Result<Arc<dyn Store>, StoreError> {
    match url.split_once(':') {
        Some(("memory", "")) => Ok(Arc::new(MemoryStore::new(options.memory.clone()))),
        Some(("sqlite", path)) if !path.trim_start_matches("//").is_empty() => {
            // `sqlite:///abs/path` and `sqlite://rel/path` are how others spell it.
            let path = options
                .directory
                .join(path.strip_prefix("//").unwrap_or(path));
            let options = options.sqlite.clone();
            // Opening a file blocks.
            let opened = tokio::task::spawn_blocking(move || SqliteStore::open(path, options));
            let store = opened
                .await
                .map_err(|error| StoreError::Open(error.to_string()))??;
            Ok(Arc::new(store))
        }
        Some(("postgres" | "postgresql", _)) => {
            let options = PostgresOptions {
                url: url.to_owned(),
                ..options.postgres.clone()
            };
            Ok(Arc::new(PostgresStore::open(options).await?))
        }
        _ => Err(StoreError::Open(format!(
            "unknown store {:?}: [store] url must be memory: or sqlite:PATH or \
             postgres://USER@HOST:PORT/DATABASE",
            without_password(url)
        ))),
    }
}

/// A URL of a scheme that is not known here may carry a password: only the scheme is shown.
fn without_password(url: &str) -> String {
    url.split_once("://")
        .map_or_else(|| url.to_owned(), |(scheme, _)| format!("{scheme}://…"))
}
