//! New stores for tests.

use nuncio_store::{
    MemoryOptions, MemoryStore, PostgresOptions, PostgresStore, SqliteOptions, SqliteStore, Store,
};
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

use crate::postgres_server::Database;

/// A store, and the directory or database that goes with it.
pub(crate) struct TestStore {
    store: Arc<dyn Store>,
    _directory: Option<TempDir>,
    database: Option<Database>,
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
            database: None,
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
            database: None,
        }
    }

    pub(crate) async fn postgres() -> Self {
        Self::postgres_with(PostgresOptions::default()).await
    }

    pub(crate) async fn postgres_with(options: PostgresOptions) -> Self {
        let database = Database::new();
        let url = database.url();
        let store = PostgresStore::open(PostgresOptions { url, ..options }).await;
        Self {
            store: Arc::new(store.unwrap()),
            _directory: None,
            database: Some(database),
        }
    }

    /// The database of a store in PostgreSQL.
    pub(crate) fn database(&self) -> &Database {
        self.database.as_ref().expect("it has a database")
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
