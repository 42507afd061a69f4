//! New stores for tests.

use nuncio_store::{MemoryOptions, MemoryStore, SqliteOptions, SqliteStore, Store};
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

/// A store, and the directory that goes with it.
pub(crate) struct TestStore {
    store: Arc<dyn Store>,
    _directory: Option<TempDir>,
}

impl TestStore {
    pub(crate) fn memory() -> Self {
        Self::memory_for(10_000)
    }

    pub(crate) fn memory_for(max_tasks: usize) -> Self {
        let store = Arc::new(MemoryStore::new(MemoryOptions { max_tasks }));
        Self {
            store,
            _directory: None,
        }
    }

    pub(crate) fn sqlite() -> Self {
        Self::sqlite_with(SqliteOptions::default())
    }

    /// Reads only from the file.
    pub(crate) fn sqlite_file() -> Self {
        Self::sqlite_with(SqliteOptions {
            recent_bytes: 0,
            ..SqliteOptions::default()
        })
    }

    pub(crate) fn sqlite_with(options: SqliteOptions) -> Self {
        let directory = quick_directory();
        let store =
            Arc::new(SqliteStore::open(directory.path().join("nuncio.db"), options).unwrap());
        Self {
            store,
            _directory: Some(directory),
        }
    }

    pub(crate) fn shared(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store)
    }
}

impl Deref for TestStore {
    type Target = dyn Store;

    fn deref(&self) -> &Self::Target {
        &*self.store
    }
}

/// A directory whose syncs cost little, for tests that are not about the disk.
pub(crate) fn quick_directory() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        tempfile::tempdir_in(memory).unwrap()
    } else {
        tempfile::tempdir().unwrap()
    }
}
