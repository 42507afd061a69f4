//! Deletes what need not be kept: old finished tasks, those beyond the count, expired keys.

use tokio_postgres::Error;

use super::link::Link;
use super::text::Text;
use crate::StoreError;
use crate::clock::now_millis;

/// Rows that one call deletes: some milliseconds, in which other writers wait.
const BATCH: i64 = 128;
const MILLIS_PER_DAY: i64 = 24 * 60 * 60 * 1000;

/// How many finished tasks there are beyond `$1`, without those that wait for a receiver.
const SURPLUS: &str = "\
    SELECT greatest(count(*) - $1 - ( \
        SELECT count(DISTINCT p.task) FROM push_configs p JOIN tasks t ON t.row = p.task \
        WHERE NOT p.done AND t.open_send IS NULL \
            AND (p.cursor_version < t.version OR p.replaying) \
    ), 0) FROM tasks WHERE open_send IS NULL";

/// Deletes tasks from before `$1`, at most `$3`, or the oldest `$2`: both are taken from the oldest
/// on, so one is a part of the other. Tasks with a receiver that has yet to get an event stay. And
/// keys that have expired at `$4`, and sessions not kept since `$1`.
pub(super) const RETIRE: &str = "\
    WITH oldest AS ( \
        (SELECT row FROM tasks WHERE open_send IS NULL AND status_millis < $1 \
            AND NOT EXISTS (SELECT FROM push_configs p \
                WHERE p.task = tasks.row AND NOT p.off \
                    AND (p.cursor_version < tasks.version OR p.replaying)) \
            ORDER BY status_millis, row LIMIT $3) \
        UNION \
        (SELECT row FROM tasks WHERE open_send IS NULL \
            AND NOT EXISTS (SELECT FROM push_configs p \
                WHERE p.task = tasks.row AND NOT p.off \
                    AND (p.cursor_version < tasks.version OR p.replaying)) \
            ORDER BY status_millis, row LIMIT $2) \
    ), gone AS ( \
        DELETE FROM tasks WHERE row IN (SELECT row FROM oldest) RETURNING row \
    ), untold AS ( \
        DELETE FROM messages WHERE task IN (SELECT row FROM gone) \
    ), unlogged AS ( \
        DELETE FROM events WHERE task IN (SELECT row FROM gone) \
    ), unpushed AS ( \
        DELETE FROM push_configs WHERE task IN (SELECT row FROM gone) \
    ), expired AS ( \
        DELETE FROM idempotency WHERE key_hash IN (SELECT key_hash FROM idempotency \
            WHERE expires_millis <= $4 ORDER BY expires_millis LIMIT $3) RETURNING 1 \
    ), unused AS ( \
        DELETE FROM sessions WHERE context_hash IN (SELECT context_hash FROM sessions \
            WHERE kept_millis < $1 ORDER BY kept_millis LIMIT $3) RETURNING 1 \
    ) \
    SELECT (SELECT count(*) FROM gone) + (SELECT count(*) FROM expired) \
        + (SELECT count(*) FROM unused)";

pub(super) const DISCARD: &str = "\
    WITH gone AS ( \
        DELETE FROM tasks WHERE id = $1 RETURNING row \
    ), untold AS ( \
        DELETE FROM messages WHERE task IN (SELECT row FROM gone) \
    ), unlogged AS ( \
        DELETE FROM events WHERE task IN (SELECT row FROM gone) \
    ), unpushed AS ( \
        DELETE FROM push_configs WHERE task IN (SELECT row FROM gone) \
    ) \
    DELETE FROM idempotency WHERE task_id = $1";

/// How many finished tasks may go beyond `keep`.
pub(super) async fn surplus(link: &Link, keep: i64) -> Result<i64, StoreError> {
    Ok(link.query_one(SURPLUS, &[&keep]).await?.try_get(0)?)
}

/// Deletes a batch of tasks that are too old or, oldest first, `surplus`, and of keys that have
/// expired; returns how many rows went.
pub(super) async fn retire(link: &Link, surplus: i64, days: u32) -> Result<usize, Error> {
    let now = now_millis();
    let oldest = now.saturating_sub(i64::from(days) * MILLIS_PER_DAY);
    let row = link
        .query_one(RETIRE, &[&oldest, &surplus.min(BATCH), &BATCH, &now])
        .await?;
    let gone: i64 = row.try_get(0)?;
    Ok(usize::try_from(gone).unwrap_or_default())
}

/// Deletes one task and the key that made it.
pub(super) async fn discard(link: &Link, id: &str) -> Result<(), Error> {
    link.query(DISCARD, &[&Text::of(id)]).await.map(drop)
}
