//! Rows of push configurations and their cursors, each change one statement.

use std::sync::Arc;
use tokio_postgres::{Error, Row};

use super::link::Link;
use super::tasks::{blob, int, optional_blob, state_of, string, version_of};
use super::text::Text;
use crate::given_up::given_up_of;
use crate::push::check_counts;
use crate::{NewPushConfig, PushAdvance, PushConfig, PushProgress, StoreError};

/// Columns that [`read_row`] reads, in its order.
const COLUMNS: &str = "t.id, p.id, p.owner, p.dialect, p.config, p.row, p.revision, \
    p.cursor_version, p.attempts, p.next_try_millis, p.failing_since_millis, p.off, \
    t.version, t.state, p.first_status, p.last_status, p.given_up";

/// Replaces, repeats or makes a configuration, in this order. What was missed while one was off
/// stays missed. Only this connection writes, so the counts hold.
pub(super) const PUT: &str = "\
    WITH t AS ( \
        SELECT row, id, owner, version, state FROM tasks WHERE id = $1 \
    ), same AS ( \
        SELECT p.row FROM push_configs p JOIN t ON p.task = t.row \
        WHERE CASE WHEN $3 THEN p.id = $2 ELSE p.dialect = $4 AND p.config = $5 END \
        ORDER BY p.row LIMIT 1 \
    ), counts AS ( \
        SELECT (SELECT count(*) FROM push_configs p JOIN t ON p.task = t.row) AS of_task, \
            (SELECT count(*) FROM push_configs p JOIN t ON p.owner = t.owner WHERE NOT p.done) \
                AS of_owner \
    ), replaced AS ( \
        UPDATE push_configs p SET dialect = $4, config = $5, revision = p.revision + 1, \
            cursor_version = CASE WHEN p.off THEN t.version ELSE p.cursor_version END, \
            attempts = 0, next_try_millis = 0, failing_since_millis = NULL, off = false, \
            done = false, last_status = NULL, given_up = NULL, replaying = false \
        FROM t WHERE $3 AND p.row = (SELECT row FROM same) RETURNING p.* \
    ), made AS ( \
        INSERT INTO push_configs (task, id, owner, dialect, cursor_version, config) \
        SELECT t.row, $2, t.owner, $4, t.version, $5 FROM t, counts \
        WHERE NOT EXISTS (SELECT FROM same) AND of_task < $6 AND of_owner < $7 RETURNING * \
    ), p AS ( \
        SELECT * FROM replaced UNION ALL SELECT * FROM made UNION ALL \
        SELECT old.* FROM push_configs old JOIN same ON old.row = same.row WHERE NOT $3 \
    ) \
    SELECT t.id, p.id, p.owner, p.dialect, p.config, p.row, p.revision, p.cursor_version, \
        p.attempts, p.next_try_millis, p.failing_since_millis, p.off, t.version, t.state, \
        p.first_status, p.last_status, p.given_up, of_task, of_owner \
    FROM t CROSS JOIN counts LEFT JOIN p ON true";

pub(super) const DELETE: &str = "DELETE FROM push_configs WHERE id = $2 \
    AND task = (SELECT row FROM tasks WHERE id = $1) RETURNING 1";

/// A task without `open_send` is at its end.
pub(super) const ADVANCE: &str = "\
    UPDATE push_configs SET cursor_version = $4, attempts = $5, next_try_millis = $6, \
        failing_since_millis = $7, off = $8, \
        done = $8 OR (NOT $11 AND EXISTS (SELECT FROM tasks t \
            WHERE t.row = task AND t.open_send IS NULL AND t.version <= $4)), \
        last_status = $9, given_up = $10, replaying = $11, \
        revision = revision + CASE WHEN $12 THEN 1 ELSE 0 END \
    WHERE task = (SELECT row FROM tasks WHERE id = $1) AND id = $2 AND revision = $3 \
        AND (NOT $12 OR (cursor_version = $13 AND attempts = $14 AND off = $15 \
            AND given_up IS NOT DISTINCT FROM $16)) RETURNING 1";

const IS_THERE: &str = "SELECT EXISTS (SELECT FROM push_configs WHERE id = $2 \
    AND task = (SELECT row FROM tasks WHERE id = $1))";

const PUSHING: &str = "\
    SELECT t.id FROM ( \
        SELECT task, min(cursor_version) AS least, bool_or(replaying) AS replaying \
        FROM push_configs WHERE NOT done GROUP BY task \
    ) p JOIN tasks t ON t.row = p.task \
    WHERE t.open_send IS NOT NULL OR p.least < t.version OR p.replaying ORDER BY t.row";

/// Keeps a configuration with a task, in place of the one it replaces or repeats.
pub(super) async fn put(
    link: &Link,
    task: &str,
    new: &NewPushConfig,
) -> Result<Result<PushConfig, StoreError>, Error> {
    let rows = link
        .query(
            PUT,
            &[
                &Text::of(task),
                &Text::of(&new.id),
                &new.id_is_callers,
                &new.dialect.as_str(),
                &&*new.config,
                &int(crate::MAX_PUSH_CONFIGS_PER_TASK as u64),
                &int(crate::MAX_PUSH_CONFIGS_PER_OWNER as u64),
            ],
        )
        .await?;
    let Some(row) = rows.first() else {
        return Ok(Err(StoreError::NotFound));
    };
    let kept: Option<i64> = row.try_get(5)?;
    if kept.is_some() {
        return Ok(read_row(row));
    }
    let count = |column| Ok(usize::try_from(row.try_get::<_, i64>(column)?).unwrap_or_default());
    Ok(check_counts(count(17)?, count(18)?).and(Err(StoreError::NotFound)))
}

/// Deletes a configuration; false: there was none.
pub(super) async fn delete(link: &Link, task: &str, id: &str) -> Result<bool, Error> {
    let rows = link
        .query(DELETE, &[&Text::of(task), &Text::of(id)])
        .await?;
    Ok(!rows.is_empty())
}

pub(super) async fn is_there(link: &Link, task: &str, id: &str) -> Result<bool, Error> {
    let values: [&(dyn tokio_postgres::types::ToSql + Sync); 2] = [&Text::of(task), &Text::of(id)];
    link.query_one(IS_THERE, &values).await?.try_get(0)
}

/// Moves a cursor; false: the configuration is gone, another one, or not as the operator saw it.
pub(super) async fn advance(link: &Link, step: &PushAdvance) -> Result<bool, Error> {
    let progress = &step.progress;
    let read = step.instead_of.as_deref();
    let was = read.unwrap_or(progress);
    let rows = link
        .query(
            ADVANCE,
            &[
                &Text::of(&step.task),
                &Text::of(&step.id),
                &int(step.revision),
                &int(progress.delivered),
                &i64::from(progress.attempts),
                &progress.next_try_millis,
                &progress.failing_since_millis,
                &progress.off,
                &progress.last_status.map(i32::from),
                &progress.given_up_json(),
                &progress.is_replaying(),
                &read.is_some(),
                &int(was.delivered),
                &i64::from(was.attempts),
                &was.off,
                &was.given_up_json(),
            ],
        )
        .await?;
    Ok(!rows.is_empty())
}

/// Configurations of a task, in the order of their registration.
pub(super) async fn read(link: &Link, task: &str) -> Result<Vec<PushConfig>, StoreError> {
    let select = format!(
        "SELECT {COLUMNS} FROM push_configs p JOIN tasks t ON t.row = p.task WHERE t.id = $1 \
         ORDER BY p.row"
    );
    let rows = link.query(&select, &[&Text::of(task)]).await?;
    rows.iter().map(read_row).collect()
}

/// Tasks with a configuration that may still have something to send.
pub(super) async fn tasks(link: &Link) -> Result<Vec<Arc<str>>, StoreError> {
    let rows = link.query(PUSHING, &[]).await?;
    rows.iter().map(|row| Ok(string(row, 0)?.into())).collect()
}

/// Configurations that the operator has reason to look at, in the order of their registration.
pub(super) async fn troubled(
    link: &Link,
    after: u64,
    limit: usize,
) -> Result<Vec<PushConfig>, StoreError> {
    let select = format!(
        "SELECT {COLUMNS} FROM push_configs p JOIN tasks t ON t.row = p.task WHERE p.row > $1 \
         AND (p.off OR p.given_up IS NOT NULL OR p.failing_since_millis IS NOT NULL) \
         ORDER BY p.row LIMIT $2"
    );
    let (after, limit) = (int(after), int(limit as u64));
    let rows = link.query(&select, &[&after, &limit]).await?;
    rows.iter().map(read_row).collect()
}

fn read_row(row: &Row) -> Result<PushConfig, StoreError> {
    let dialect = string(row, 3)?;
    let attempts: i64 = row.try_get(8)?;
    let last_status: Option<i32> = row.try_get(15)?;
    Ok(PushConfig {
        task: string(row, 0)?.into(),
        id: string(row, 1)?.into(),
        owner: string(row, 2)?.into(),
        dialect: dialect
            .parse()
            .map_err(|_| StoreError::Damaged(format!("unknown dialect {dialect}")))?,
        config: blob(row, 4)?,
        number: version_of(row, 5)?,
        revision: version_of(row, 6)?,
        progress: PushProgress {
            delivered: version_of(row, 7)?,
            attempts: u32::try_from(attempts).unwrap_or(u32::MAX),
            next_try_millis: row.try_get(9)?,
            failing_since_millis: row.try_get(10)?,
            off: row.try_get(11)?,
            last_status: last_status.and_then(|status| status.try_into().ok()),
            given_up: given_up_of(optional_blob(row, 16)?.as_deref())?,
        },
        task_version: version_of(row, 12)?,
        task_state: state_of(row.try_get(13)?)?,
        first_status: optional_blob(row, 14)?,
    })
}
