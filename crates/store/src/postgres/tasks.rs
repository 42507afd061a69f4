//! Rows of tasks: made by the writer, read by the readers, each with one statement.

use bytes::Bytes;
use nuncio_wire::TaskState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row};

use super::link::Link;
use super::text::Text;
use crate::clock::now_millis;
use crate::push::check_counts;
use crate::{
    Created, Include, MAX_PUSH_CONFIGS_PER_OWNER, NewTask, Segment, StoreError, TaskRecord,
    Visibility,
};

/// Makes a task with its first message and its push configuration, unless `$known` holds the same send.
macro_rules! make_task {
    ($known:literal) => {
        concat!(
            "aliased AS ( \
                SELECT FROM tasks WHERE $18::boolean AND alias = $6 AND agent = $2 AND owner = $3 \
            ), made AS ( \
                INSERT INTO tasks (id, agent, owner, context_id, dialect, alias, state, status_millis, \
                    open_send, status, metadata, version, lease_epoch, messages, artifacts) \
                SELECT $1, $2, $3, $4, $5, $6, $7, $8, CASE WHEN $13 THEN NULL ELSE $9::bytea END, $10, \
                    $11, 1, 0, 1, 0 \
                WHERE NOT EXISTS (SELECT FROM ",
            $known,
            ") AND ($14::text IS NULL OR (SELECT count(*) FROM push_configs \
                    WHERE owner = $3 AND NOT done) < $17) \
                    AND NOT EXISTS (SELECT FROM aliased) \
                ON CONFLICT (id) DO NOTHING RETURNING row \
            ), told AS ( \
                INSERT INTO messages (task, number, payload) SELECT row, 1, $12 FROM made \
            ), pushed AS ( \
                INSERT INTO push_configs (task, id, owner, dialect, cursor_version, config, first_status) \
                SELECT row, $14, $3, $15, 0, $16, $10 FROM made WHERE $14 IS NOT NULL \
            )"
        )
    };
}

/// Makes a task unless one that runs was made by the same send (1 and 2 are SUBMITTED and WORKING).
/// Only this connection writes, so nobody can make it between the look and the insertion.
pub(super) const CREATE: &str = concat!(
    "WITH running AS ( \
        SELECT id FROM tasks WHERE open_send = $9 AND state IN (1, 2) ORDER BY row LIMIT 1 \
    ), ",
    make_task!("running"),
    " SELECT (SELECT id FROM running), EXISTS (SELECT FROM made), \
        EXISTS (SELECT FROM tasks WHERE id = $1), EXISTS (SELECT FROM aliased)"
);

/// The same for a send with a key, which names the first task whatever its state. A key that
/// expired is written over.
pub(super) const CREATE_WITH_KEY: &str = concat!(
    "WITH used AS ( \
        SELECT task_id, payload_hash FROM idempotency WHERE key_hash = $19 AND expires_millis > $22 \
    ), ",
    make_task!("used"),
    ", kept AS ( \
        INSERT INTO idempotency (key_hash, task_id, payload_hash, expires_millis) \
        SELECT $19, $1, $20, $21 FROM made \
        ON CONFLICT (key_hash) DO UPDATE SET task_id = excluded.task_id, \
            payload_hash = excluded.payload_hash, expires_millis = excluded.expires_millis \
    ) \
    SELECT (SELECT task_id FROM used), EXISTS (SELECT FROM made), \
        EXISTS (SELECT FROM tasks WHERE id = $1), EXISTS (SELECT FROM aliased), \
        (SELECT payload_hash FROM used)"
);

const IS_THERE: &str = "SELECT EXISTS (SELECT FROM tasks WHERE id = $1)";

/// Columns that [`record`] reads, in its order, of tasks `t` with [`PARTS`].
pub(super) const COLUMNS: &str = "t.id, t.agent, t.owner, t.context_id, t.dialect, t.alias, \
    t.state, t.version, t.lease_epoch, t.status_millis, t.status, t.metadata, h.messages, \
    s.appends, s.parts";

/// The newest `$1` messages, and, if `$2`, the segments of the artifacts: artifacts in the order
/// they were first started, each from its last start on.
pub(super) const PARTS: &str = "\
    LEFT JOIN LATERAL ( \
        SELECT array_agg(payload ORDER BY number) AS messages FROM messages \
        WHERE task = t.row AND number > t.messages - $1::bigint \
    ) h ON true \
    LEFT JOIN LATERAL ( \
        SELECT array_agg(artifact_append ORDER BY first, version) AS appends, \
            array_agg(substring(payload FROM artifact_from + 1 FOR artifact_to - artifact_from) \
                ORDER BY first, version) AS parts \
        FROM ( \
            SELECT version, artifact_append, artifact_from, artifact_to, payload, \
                min(version) OVER one AS first, \
                max(version) FILTER (WHERE NOT artifact_append) OVER one AS started \
            FROM events WHERE $2::boolean AND t.artifacts > 0 AND task = t.row \
                AND artifact_id IS NOT NULL \
            WINDOW one AS (PARTITION BY artifact_id) \
        ) chunks \
        WHERE version >= coalesce(started, 0) \
    ) s ON true";

/// The inner error made nothing.
pub(super) async fn create(
    link: &Link,
    new: &NewTask,
) -> Result<Result<Created, StoreError>, Error> {
    let (id, agent, owner) = (
        Text::of(&new.id),
        Text::of(&new.agent),
        Text::of(&new.owner),
    );
    let (context, dialect) = (Text::of(&new.context_id), new.dialect.as_str());
    let alias = new.alias.as_deref().map(Text::of);
    let (state, ended) = (i16::from(new.state.number()), new.state.is_terminal());
    let open_send = new.open_send();
    let (open_send, status, message) = (&open_send[..], &*new.status, &*new.message);
    let metadata = new.metadata.as_deref();
    let push = new.push_config.as_ref();
    let push_id = push.map(|push| Text::of(&push.id));
    let push_dialect = push.map(|push| push.dialect.as_str());
    let push_config = push.map(|push| &*push.config);
    let most = int(MAX_PUSH_CONFIGS_PER_OWNER as u64);
    let mut values: Vec<&(dyn ToSql + Sync)> = vec![
        &id,
        &agent,
        &owner,
        &context,
        &dialect,
        &alias,
        &state,
        &new.status_millis,
        &open_send,
        &status,
        &metadata,
        &message,
        &ended,
        &push_id,
        &push_dialect,
        &push_config,
        &most,
        &new.alias_is_unique,
    ];
    let Some(key) = &new.repeat.key else {
        return created(&link.query_one(CREATE, &values).await?, new);
    };
    let (key, payload) = (new.key_hash(key), &new.repeat.payload_hash[..]);
    let (key, now) = (&key[..], now_millis());
    values.extend_from_slice(&[&key, &payload, &new.repeat.key_expires_millis, &now]);
    let row = link.query_one(CREATE_WITH_KEY, &values).await?;
    let used: Option<&[u8]> = row.try_get(4)?;
    if used.is_some_and(|used| used != payload) {
        return Ok(Err(StoreError::RepeatConflict));
    }
    created(&row, new)
}

/// Reads the first task's id, whether the new one was made, whether its id was taken, whether the
/// caller's was. Only a repeat by its key counts before that.
fn created(row: &Row, new: &NewTask) -> Result<Result<Created, StoreError>, Error> {
    let first: Option<Text<'_>> = row.try_get(0)?;
    let aliased: bool = row.try_get(3)?;
    if aliased && (first.is_none() || new.repeat.key.is_none()) {
        return Ok(Err(StoreError::AliasTaken));
    }
    if let Some(first) = first {
        return Ok(Ok(Created::Repeated(first.0.into_owned())));
    }
    if row.try_get(1)? {
        return Ok(Ok(Created::New));
    }
    if row.try_get(2)? {
        let text = format!("there is a task {} already", new.id);
        return Ok(Err(StoreError::Damaged(text)));
    }
    let full = check_counts(0, MAX_PUSH_CONFIGS_PER_OWNER);
    Ok(full.map(|()| Created::New))
}

pub(super) async fn is_there(link: &Link, id: &str) -> Result<bool, Error> {
    link.query_one(IS_THERE, &[&Text::of(id)]).await?.try_get(0)
}

/// The messages that this wish asks for, as a parameter.
pub(super) fn most_messages(include: Include) -> i64 {
    include.history.map_or(i64::from(u32::MAX), i64::from)
}

/// Reads [`COLUMNS`] from column `first` on.
pub(super) fn record(row: &Row, first: usize, include: Include) -> Result<TaskRecord, StoreError> {
    let text = |column: usize| string(row, first + column);
    let dialect = text(4)?;
    let alias: Option<Text<'_>> = row.try_get(first + 5)?;
    let history: Option<Vec<&[u8]>> = row.try_get(first + 12)?;
    Ok(TaskRecord {
        id: text(0)?.into(),
        agent: text(1)?.into(),
        owner: text(2)?.into(),
        context_id: text(3)?.into(),
        dialect: dialect
            .parse()
            .map_err(|_| StoreError::Damaged(format!("unknown dialect {dialect}")))?,
        alias: alias.map(|alias| alias.0.into_owned()),
        state: state_of(row.try_get(first + 6)?)?,
        version: version_of(row, first + 7)?,
        lease_epoch: version_of(row, first + 8)?,
        status_millis: row.try_get(first + 9)?,
        status: blob(row, first + 10)?,
        metadata: optional_blob(row, first + 11)?,
        history: history.unwrap_or_default().into_iter().map(owned).collect(),
        artifacts: include
            .artifacts
            .then(|| segments(row, first + 13))
            .transpose()?,
    })
}

fn segments(row: &Row, first: usize) -> Result<Vec<Segment>, StoreError> {
    let appends: Option<Vec<bool>> = row.try_get(first)?;
    let parts: Option<Vec<&[u8]>> = row.try_get(first + 1)?;
    let both = appends.unwrap_or_default().into_iter();
    let both = both.zip(parts.unwrap_or_default());
    Ok(both
        .map(|(append, part)| Segment {
            append,
            artifact: owned(part),
        })
        .collect())
}

pub(super) async fn read_one(
    link: &Link,
    id: &str,
    visibility: &Visibility,
    include: Include,
) -> Result<Option<TaskRecord>, StoreError> {
    let select = format!("SELECT {COLUMNS} FROM tasks t {PARTS} WHERE t.id = $3");
    let values: [&(dyn ToSql + Sync); 3] =
        [&most_messages(include), &include.artifacts, &Text::of(id)];
    let rows = link.query(&select, &values).await?;
    let found = rows
        .first()
        .map(|row| record(row, 0, include))
        .transpose()?;
    Ok(found.filter(|task| visibility.covers(&task.agent, &task.owner)))
}

pub(super) async fn read_unfinished(link: &Link) -> Result<Vec<TaskRecord>, StoreError> {
    let include = Include {
        history: None,
        artifacts: false,
    };
    let select = format!(
        "SELECT {COLUMNS} FROM tasks t {PARTS} WHERE t.open_send IS NOT NULL ORDER BY t.row"
    );
    let rows = link
        .query(&select, &[&most_messages(include), &include.artifacts])
        .await?;
    rows.iter().map(|row| record(row, 0, include)).collect()
}

pub(super) async fn by_alias(
    link: &Link,
    alias: &str,
    visibility: &Visibility,
) -> Result<Option<String>, StoreError> {
    let rows = link
        .query(
            "SELECT id FROM tasks WHERE alias = $1 AND ($2::text IS NULL OR agent = $2) \
             AND ($3::text IS NULL OR owner = $3) ORDER BY row DESC LIMIT 1",
            &[
                &Text::of(alias),
                &visibility.agent.as_deref().map(Text::of),
                &visibility.owner.as_deref().map(Text::of),
            ],
        )
        .await?;
    let id: Option<Text<'_>> = rows.first().map(|row| row.try_get(0)).transpose()?;
    Ok(id.map(|id| id.0.into_owned()))
}

/// A number as PostgreSQL has it; what is too big for it is as good as endless.
pub(super) fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A number that is never below 0.
pub(super) fn version_of(row: &Row, column: usize) -> Result<u64, Error> {
    let number: i64 = row.try_get(column)?;
    Ok(number.unsigned_abs())
}

/// The state with this number.
pub(super) fn state_of(number: i16) -> Result<TaskState, StoreError> {
    u64::try_from(number)
        .ok()
        .and_then(TaskState::from_number)
        .ok_or_else(|| StoreError::Damaged(format!("unknown state {number}")))
}

/// The text of a column.
pub(super) fn string(row: &Row, column: usize) -> Result<String, Error> {
    let text: Text<'_> = row.try_get(column)?;
    Ok(text.0.into_owned())
}

/// The bytes of a column that may have none.
pub(super) fn optional_blob(row: &Row, column: usize) -> Result<Option<Bytes>, Error> {
    let bytes: Option<&[u8]> = row.try_get(column)?;
    Ok(bytes.map(owned))
}

/// The bytes of a column, copied once.
pub(super) fn blob(row: &Row, column: usize) -> Result<Bytes, Error> {
    row.try_get::<_, &[u8]>(column).map(owned)
}

/// Copies bytes out of the connection's buffer.
fn owned(bytes: &[u8]) -> Bytes {
    Bytes::copy_from_slice(bytes)
}
