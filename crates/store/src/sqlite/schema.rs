//! The tables, and how older files become newer ones.
//!
//! `user_version` counts the migrations a file has seen. To change a table, add a migration at the
//! end of [`MIGRATIONS`]; never edit one that was released.

use rusqlite::Connection;

use crate::StoreError;

/// Marks a file as ours (`PRAGMA application_id`): "nunc".
const APPLICATION_ID: i32 = 0x6e75_6e63;

/// Each takes the schema one version up, in one transaction.
const MIGRATIONS: &[&str] = &[
    include_str!("schema_1.sql"),
    include_str!("schema_2.sql"),
    include_str!("schema_3.sql"),
    include_str!("schema_4.sql"),
];

/// Brings the file to this program's schema. Refuses files of other programs and of newer nuncios.
pub(super) fn migrate(connection: &mut Connection, path: &str) -> Result<(), StoreError> {
    let known = MIGRATIONS.len();
    let (application, version, tables) =
        identity(connection).map_err(|error| refuse(path, &error))?;
    if application != APPLICATION_ID && (application != 0 || version != 0 || tables > 0) {
        return Err(StoreError::Open(format!(
            "{path} is a database of another program; give nuncio a path of its own in [store] url"
        )));
    }
    let version = usize::try_from(version).unwrap_or(usize::MAX);
    if version > known {
        return Err(StoreError::Open(format!(
            "{path} was written by a newer nuncio (schema {version}, this one knows {known}); \
             run that nuncio, or restore a backup made by this one"
        )));
    }
    for (index, migration) in MIGRATIONS.iter().enumerate().skip(version) {
        apply(connection, migration, index + 1).map_err(|error| refuse(path, &error))?;
    }
    Ok(())
}

fn identity(connection: &Connection) -> rusqlite::Result<(i32, i64, i64)> {
    let application = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let version = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let tables =
        connection.query_row("SELECT count(*) FROM sqlite_schema", (), |row| row.get(0))?;
    Ok((application, version, tables))
}

fn apply(connection: &mut Connection, migration: &str, version: usize) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    transaction.execute_batch(migration)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", version as i64)?;
    transaction.commit()
}

/// Says why the file could not be opened and what to do.
pub(super) fn refuse(path: &str, error: &rusqlite::Error) -> StoreError {
    use rusqlite::ErrorCode::{CannotOpen, DatabaseCorrupt, DiskFull, NotADatabase, ReadOnly};
    let remedy = match error.sqlite_error_code() {
        Some(NotADatabase) => "it is no SQLite database; move it away or name another path",
        Some(DatabaseCorrupt) => "it is damaged; restore a backup, or move it away to start anew",
        Some(ReadOnly | CannotOpen) => {
            "the user that runs nuncio must be able to write it and its directory"
        }
        Some(DiskFull) => "make room on its disk",
        _ => "see that nothing else has it open and that its disk works",
    };
    StoreError::Open(format!("cannot open the store {path}: {error}; {remedy}"))
}
