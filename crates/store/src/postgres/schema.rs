//! The tables, and how older databases become newer ones.
//!
//! The table `schema_version` has a row for each migration that a database has seen. To change a
//! table, add a migration at the end of [`MIGRATIONS`]; never edit one that was released.

use super::address::Address;
use super::error::{remedy, told};
use super::link::Link;
use super::lock::MIGRATION_LOCK;
use crate::StoreError;

/// Each takes the schema one version up; all that are missing run in one transaction.
const MIGRATIONS: &[&str] = &[
    include_str!("schema_1.sql"),
    include_str!("schema_2.sql"),
    include_str!("schema_3.sql"),
];

const FIND: &str = "SELECT to_regnamespace('nuncio') IS NOT NULL, \
    to_regclass('nuncio.schema_version') IS NOT NULL, \
    (SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace('nuncio'))";

/// Brings the database to this program's schema, one program at a time. Refuses databases that
/// newer nuncios have written and names that other programs use.
pub(super) async fn migrate(link: &Link, address: &Address) -> Result<(), StoreError> {
    let refused = |error| refuse(address, &error);
    let encoding = link.query_one("SHOW server_encoding", &[]).await;
    let encoding: String = encoding.and_then(|row| row.try_get(0)).map_err(refused)?;
    if encoding != "UTF8" {
        return Err(StoreError::Open(format!(
            "the database {} keeps text as {encoding}; make one that keeps any text: \
             `createdb -T template0 -E UTF8 NAME`",
            address.shown
        )));
    }
    let begin = format!(
        "BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0; \
        SELECT pg_advisory_xact_lock({MIGRATION_LOCK})"
    );
    link.batch(&begin).await.map_err(refused)?;
    let done = bring_up(link, address).await;
    let end = if done.is_ok() { "COMMIT" } else { "ROLLBACK" };
    let ended = link.batch(end).await.map_err(refused);
    done.and(ended)
}

async fn bring_up(link: &Link, address: &Address) -> Result<(), StoreError> {
    let refused = |error| refuse(address, &error);
    let found = link.query_one(FIND, &[]).await.map_err(refused)?;
    let (schema, version_table): (bool, bool) = (found.get(0), found.get(1));
    let tables: i64 = found.get(2);
    if !version_table {
        if tables > 0 {
            return Err(StoreError::Open(format!(
                "the schema `nuncio` in {} belongs to another program; give nuncio a database of \
                 its own in [store] url",
                address.shown
            )));
        }
        let make = "CREATE TABLE schema_version \
            (version integer PRIMARY KEY, applied timestamptz NOT NULL DEFAULT now())";
        let make = if schema {
            make.to_owned()
        } else {
            format!("CREATE SCHEMA nuncio; {make}")
        };
        link.batch(&make).await.map_err(refused)?;
    }
    let version = "SELECT coalesce(max(version), 0) FROM schema_version";
    let version = link.query_one(version, &[]).await.map_err(refused)?;
    let version: i32 = version.get(0);
    let version = usize::try_from(version).unwrap_or_default();
    if version > MIGRATIONS.len() {
        return Err(StoreError::Open(format!(
            "{} was written by a newer nuncio (schema {version}, this one knows {}); run that \
             nuncio, or restore a backup made by this one",
            address.shown,
            MIGRATIONS.len()
        )));
    }
    for (index, migration) in MIGRATIONS.iter().enumerate().skip(version) {
        let number = index + 1;
        let apply = format!("{migration}; INSERT INTO schema_version (version) VALUES ({number})");
        link.batch(&apply).await.map_err(refused)?;
    }
    Ok(())
}

/// Says why the database could not be opened and what to do.
pub(super) fn refuse(address: &Address, error: &tokio_postgres::Error) -> StoreError {
    StoreError::Open(format!(
        "cannot open the store {}: {}; {}",
        address.shown,
        told(error),
        remedy(error, &address.user, &address.database)
    ))
}
