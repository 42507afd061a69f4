//! Opens the store that a setting names.

use std::path::PathBuf;
use std::sync::Arc;

use crate::{MemoryOptions, MemoryStore, SqliteOptions, SqliteStore, Store, StoreError};

/// How each kind of store behaves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreOptions {
    /// Where a relative path of a file starts; empty: the working directory.
    pub directory: PathBuf,
    /// Of `memory:`.
    pub memory: MemoryOptions,
    /// Of `sqlite:PATH`.
    pub sqlite: SqliteOptions,
}

/// Opens the store with this URL: `memory:` or `sqlite:PATH`. Blocks while a file is opened.
///
/// Errors: [`StoreError::Open`] with the reason and what to do.
pub fn open(url: &str, options: &StoreOptions) -> Result<Arc<dyn Store>, StoreError> {
    match url.split_once(':') {
        Some(("memory", "")) => Ok(Arc::new(MemoryStore::new(options.memory.clone()))),
        Some(("sqlite", path)) if !path.trim_start_matches("//").is_empty() => {
            // `sqlite:///abs/path` and `sqlite://rel/path` are how others spell it.
            let path = options
                .directory
                .join(path.strip_prefix("//").unwrap_or(path));
            Ok(Arc::new(SqliteStore::open(path, options.sqlite.clone())?))
        }
        _ => Err(StoreError::Open(format!(
            "unknown store {:?}: [store] url must be memory: or sqlite:PATH",
            without_password(url)
        ))),
    }
}

/// A URL of a scheme that is not known here may carry a password: only the scheme is shown.
fn without_password(url: &str) -> String {
    url.split_once("://")
        .map_or_else(|| url.to_owned(), |(scheme, _)| format!("{scheme}://…"))
}
