//! Deletes what need not be kept: old finished tasks, those beyond the count, expired keys.

use rusqlite::{Connection, Params, params};

use super::recent::RecentWriter;
use crate::StoreError;
use crate::clock::now_millis;

/// Rows that one call deletes: some milliseconds, in which other writers wait.
const BATCH: u64 = 128;
/// Of a task whose receivers have every event that they shall have.
const SENT: &str = "NOT EXISTS (SELECT 1 FROM push_configs p WHERE p.task = tasks.row \
    AND p.off = 0 AND (p.cursor_version < tasks.version OR p.replaying))";
const MILLIS_PER_DAY: i64 = 24 * 60 * 60 * 1000;

/// How many finished tasks there are beyond `keep`, without those that wait for a receiver.
pub(super) fn surplus(db: &Connection, keep: u64) -> Result<u64, StoreError> {
    let mut count = db.prepare_cached("SELECT count(*) FROM tasks WHERE open_send IS NULL")?;
    let finished: u64 = count.query_row((), |row| row.get(0))?;
    let mut count = db.prepare_cached(
        "SELECT count(DISTINCT p.task) FROM push_configs p JOIN tasks t ON t.row = p.task \
         WHERE p.done = 0 AND t.open_send IS NULL \
         AND (p.cursor_version < t.version OR p.replaying)",
    )?;
    let waiting: u64 = count.query_row((), |row| row.get(0))?;
    Ok(finished.saturating_sub(waiting).saturating_sub(keep))
}

/// Deletes a batch of tasks that are too old or, oldest first, `surplus`, of keys that have
/// expired and of sessions that are too old; returns how many rows went.
pub(super) fn retire(
    db: &Connection,
    surplus: u64,
    days: u32,
    recent: &mut RecentWriter,
) -> rusqlite::Result<usize> {
    let now = now_millis();
    let oldest = now.saturating_sub(i64::from(days) * MILLIS_PER_DAY);
    let too_old = delete(
        db,
        &format!(
            "DELETE FROM tasks WHERE row IN (SELECT row FROM tasks WHERE open_send IS NULL \
             AND status_millis < ?1 AND {SENT} ORDER BY status_millis LIMIT ?2) RETURNING id"
        ),
        params![oldest, BATCH],
        recent,
    )?;
    // Those that were too old were part of the surplus.
    let too_many = delete(
        db,
        &format!(
            "DELETE FROM tasks WHERE row IN (SELECT row FROM tasks WHERE open_send IS NULL \
             AND {SENT} ORDER BY status_millis LIMIT ?1) RETURNING id"
        ),
        params![surplus.min(BATCH).saturating_sub(too_old as u64)],
        recent,
    )?;
    let expired = db
        .prepare_cached(
            "DELETE FROM idempotency WHERE (agent, owner, key) IN (SELECT agent, owner, key \
             FROM idempotency WHERE expires_millis <= ?1 ORDER BY expires_millis LIMIT ?2)",
        )?
        .execute(params![now, BATCH])?;
    let unused = db
        .prepare_cached(
            "DELETE FROM sessions WHERE (agent, owner, context_id) IN (SELECT agent, owner, \
             context_id FROM sessions WHERE kept_millis < ?1 ORDER BY kept_millis LIMIT ?2)",
        )?
        .execute(params![oldest, BATCH])?;
    Ok(too_old + too_many + expired + unused)
}

/// Deletes one task and the key that made it.
pub(super) fn discard(
    db: &Connection,
    id: &str,
    recent: &mut RecentWriter,
) -> rusqlite::Result<()> {
    db.prepare_cached("DELETE FROM idempotency WHERE task_id = ?1")?
        .execute([id])?;
    delete(
        db,
        "DELETE FROM tasks WHERE id = ?1 RETURNING id",
        [id],
        recent,
    )?;
    Ok(())
}

/// Runs a statement that deletes tasks and returns their ids.
fn delete(
    db: &Connection,
    statement: &str,
    bind: impl Params,
    recent: &mut RecentWriter,
) -> rusqlite::Result<usize> {
    let mut statement = db.prepare_cached(statement)?;
    let mut rows = statement.query(bind)?;
    let mut deleted = 0;
    while let Some(row) = rows.next()? {
        recent.deleted(row.get_ref(0)?.as_str()?);
        deleted += 1;
    }
    Ok(deleted)
}
