//! Rows of push configurations and their cursors.

use rusqlite::{Connection, OptionalExtension, Row, params};
use std::sync::Arc;

use super::tasks::{blob, optional_blob, state_of, text};
use crate::given_up::given_up_of;
use crate::push::check_counts;
use crate::{NewPushConfig, NewTask, PushAdvance, PushConfig, PushProgress, StoreError};

/// Columns that [`read_row`] reads, in its order.
const COLUMNS: &str = "t.id, p.id, p.owner, p.dialect, p.config, p.row, p.revision, \
    p.cursor_version, p.attempts, p.next_try_millis, p.failing_since_millis, p.off, \
    t.version, t.state, p.first_status, p.last_status, p.given_up";
const TABLES: &str = "push_configs p JOIN tasks t ON t.row = p.task";

/// Result of a job: the outer error fails the whole batch, the inner one this job alone.
type JobResult<T> = rusqlite::Result<Result<T, StoreError>>;

/// A task's row, as far as its configurations need it.
struct TaskRow {
    row: i64,
    owner: String,
    version: u64,
}

/// Keeps a configuration with a task, in place of the one it replaces or repeats.
pub(super) fn put(db: &Connection, task: &str, new: &NewPushConfig) -> JobResult<PushConfig> {
    let found = db
        .prepare_cached("SELECT row, owner, version FROM tasks WHERE id = ?1")?
        .query_row([task], |row| {
            Ok(TaskRow {
                row: row.get(0)?,
                owner: row.get(1)?,
                version: row.get(2)?,
            })
        })
        .optional()?;
    let Some(found) = found else {
        return Ok(Err(StoreError::NotFound));
    };
    let row = match same(db, &found, new)? {
        Some((row, true)) => {
            replace(db, row, found.version, new)?;
            row
        }
        Some((row, false)) => row,
        None => {
            if let Err(full) = check_counts(of_task(db, found.row)?, of_owner(db, &found.owner)?) {
                return Ok(Err(full));
            }
            insert(db, (found.row, &found.owner, found.version), None, new)?
        }
    };
    one(db, row)
}

/// Whether a new task may have a configuration: one of no other task stands against it.
pub(super) fn check_first(db: &Connection, new: &NewTask) -> JobResult<()> {
    Ok(check_counts(0, of_owner(db, &new.owner)?))
}

/// Keeps the configuration that a new task came with.
pub(super) fn insert_first(
    db: &Connection,
    row: i64,
    task: &NewTask,
    new: &NewPushConfig,
) -> rusqlite::Result<()> {
    insert(db, (row, &task.owner, 0), Some(&task.status), new).map(drop)
}

/// `task`: its row, its owner and the version that counts as delivered.
fn insert(
    db: &Connection,
    task: (i64, &str, u64),
    first_status: Option<&[u8]>,
    new: &NewPushConfig,
) -> rusqlite::Result<i64> {
    let (row, owner, delivered) = task;
    db.prepare_cached(
        "INSERT INTO push_configs \
         (task, id, owner, dialect, cursor_version, config, first_status) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?
    .insert(params![
        row,
        &*new.id,
        owner,
        new.dialect.as_str(),
        delivered,
        &*new.config,
        first_status,
    ])
}

/// The row that this configuration replaces (true) or repeats (false).
fn same(
    db: &Connection,
    task: &TaskRow,
    new: &NewPushConfig,
) -> rusqlite::Result<Option<(i64, bool)>> {
    if new.id_is_callers {
        return db
            .prepare_cached("SELECT row FROM push_configs WHERE task = ?1 AND id = ?2")?
            .query_row(params![task.row, &*new.id], |row| Ok((row.get(0)?, true)))
            .optional();
    }
    db.prepare_cached(
        "SELECT row FROM push_configs WHERE task = ?1 AND dialect = ?2 AND config = ?3 \
         ORDER BY row LIMIT 1",
    )?
    .query_row(
        params![task.row, new.dialect.as_str(), &*new.config],
        |row| Ok((row.get(0)?, false)),
    )
    .optional()
}

fn replace(db: &Connection, row: i64, version: u64, new: &NewPushConfig) -> rusqlite::Result<()> {
    // What was missed while it was off stays missed.
    db.prepare_cached(
        "UPDATE push_configs SET dialect = ?2, config = ?3, revision = revision + 1, \
         cursor_version = CASE off WHEN 0 THEN cursor_version ELSE ?4 END, attempts = 0, \
         next_try_millis = 0, failing_since_millis = NULL, off = 0, done = 0, \
         last_status = NULL, given_up = NULL, replaying = 0 WHERE row = ?1",
    )?
    .execute(params![row, new.dialect.as_str(), &*new.config, version])
    .map(drop)
}

fn of_task(db: &Connection, task: i64) -> rusqlite::Result<usize> {
    db.prepare_cached("SELECT count(*) FROM push_configs WHERE task = ?1")?
        .query_row([task], |row| row.get(0))
}

fn of_owner(db: &Connection, owner: &str) -> rusqlite::Result<usize> {
    db.prepare_cached("SELECT count(*) FROM push_configs WHERE owner = ?1 AND done = 0")?
        .query_row([owner], |row| row.get(0))
}

fn one(db: &Connection, row: i64) -> JobResult<PushConfig> {
    db.prepare_cached(&format!("SELECT {COLUMNS} FROM {TABLES} WHERE p.row = ?1"))?
        .query_row([row], |row| Ok(read_row(row)))
}

/// Deletes a configuration; false: there was none.
pub(super) fn delete(db: &Connection, task: &str, id: &str) -> rusqlite::Result<bool> {
    let deleted = db
        .prepare_cached(
            "DELETE FROM push_configs WHERE id = ?2 \
             AND task = (SELECT row FROM tasks WHERE id = ?1)",
        )?
        .execute([task, id])?;
    Ok(deleted > 0)
}

/// Moves a cursor; false: the configuration is gone, another one, or not as the operator saw it.
pub(super) fn advance(db: &Connection, step: &PushAdvance) -> rusqlite::Result<bool> {
    let progress = &step.progress;
    let read = step.instead_of.as_deref();
    let was = read.unwrap_or(progress);
    // No row of `open_send`: the task is at its end.
    let moved = db
        .prepare_cached(
            "UPDATE push_configs SET cursor_version = ?4, attempts = ?5, next_try_millis = ?6, \
             failing_since_millis = ?7, off = ?8, done = ?8 OR (NOT ?11 AND EXISTS \
             (SELECT 1 FROM tasks t \
             WHERE t.row = task AND t.open_send IS NULL AND t.version <= ?4)), \
             last_status = ?9, given_up = ?10, replaying = ?11, revision = revision + ?12 \
             WHERE task = (SELECT row FROM tasks WHERE id = ?1) AND id = ?2 AND revision = ?3 \
             AND (NOT ?12 OR (cursor_version = ?13 AND attempts = ?14 AND off = ?15 \
             AND given_up IS ?16))",
        )?
        .execute(params![
            &*step.task,
            &*step.id,
            step.revision,
            progress.delivered,
            progress.attempts,
            progress.next_try_millis,
            progress.failing_since_millis,
            progress.off,
            progress.last_status,
            progress.given_up_json(),
            progress.is_replaying(),
            read.is_some(),
            was.delivered,
            was.attempts,
            was.off,
            was.given_up_json(),
        ])?;
    Ok(moved > 0)
}

/// Configurations of a task, in the order of their registration.
pub(super) fn read(db: &Connection, task: &str) -> Result<Vec<PushConfig>, StoreError> {
    let mut select = db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM {TABLES} WHERE t.id = ?1 ORDER BY p.row"
    ))?;
    let mut rows = select.query([task])?;
    let mut configs = Vec::new();
    while let Some(row) = rows.next()? {
        configs.push(read_row(row)?);
    }
    Ok(configs)
}

/// Tasks with a configuration that may still have something to send.
pub(super) fn tasks(db: &Connection) -> Result<Vec<Arc<str>>, StoreError> {
    let mut select = db.prepare_cached(&format!(
        "SELECT DISTINCT t.id FROM {TABLES} WHERE p.done = 0 \
         AND (t.open_send IS NOT NULL OR p.cursor_version < t.version OR p.replaying) \
         ORDER BY t.row"
    ))?;
    let ids = select.query_map((), |row| row.get::<_, String>(0))?;
    ids.map(|id| Ok(id?.into())).collect()
}

/// Configurations that the operator has reason to look at, in the order of their registration.
pub(super) fn troubled(
    db: &Connection,
    after: u64,
    limit: usize,
) -> Result<Vec<PushConfig>, StoreError> {
    let mut select = db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM {TABLES} WHERE p.row > ?1 AND (p.off OR p.given_up IS NOT NULL \
         OR p.failing_since_millis IS NOT NULL) ORDER BY p.row LIMIT ?2"
    ))?;
    let mut rows = select.query(params![after, limit])?;
    let mut configs = Vec::new();
    while let Some(row) = rows.next()? {
        configs.push(read_row(row)?);
    }
    Ok(configs)
}

fn read_row(row: &Row<'_>) -> Result<PushConfig, StoreError> {
    let dialect = text(row, 3)?;
    Ok(PushConfig {
        task: text(row, 0)?.into(),
        id: text(row, 1)?.into(),
        owner: text(row, 2)?.into(),
        dialect: dialect
            .parse()
            .map_err(|_| StoreError::Damaged(format!("unknown dialect {dialect}")))?,
        config: blob(row, 4)?,
        number: row.get(5)?,
        revision: row.get(6)?,
        progress: PushProgress {
            delivered: row.get(7)?,
            attempts: row.get(8)?,
            next_try_millis: row.get(9)?,
            failing_since_millis: row.get(10)?,
            off: row.get(11)?,
            last_status: row.get(15)?,
            given_up: given_up_of(optional_blob(row, 16)?.as_deref())?,
        },
        task_version: row.get(12)?,
        task_state: state_of(row.get(13)?)?,
        first_status: optional_blob(row, 14)?,
    })
}
