//! Rows of events and messages: the one way to change a task, and the log as read.

use std::ops::Range;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row};

use super::link::Link;
use super::tasks::{blob, int, state_of, version_of};
use super::text::Text;
use crate::{Append, Change, StoreError, StoredEvent};

/// Moves the task's row on if it is as the caller read it, and adds what the changes bring. A final
/// state, a newer version or another holder keep everything as it is. The last part sees the row
/// as it was before.
pub(super) const APPEND: &str = "\
    WITH moved AS ( \
        UPDATE tasks SET version = $4, messages = messages + cardinality($5::bytea[]), \
            artifacts = artifacts + $6, state = coalesce($7, state), \
            status_millis = coalesce($8, status_millis), status = coalesce($9, status), \
            open_send = CASE WHEN $10 THEN NULL ELSE open_send END \
        WHERE id = $1 AND version = $2 AND lease_epoch = $3 AND open_send IS NOT NULL \
        RETURNING row, messages \
    ), told AS ( \
        INSERT INTO messages (task, number, payload) \
        SELECT row, messages - cardinality($5::bytea[]) + added.number, added.payload \
        FROM moved, unnest($5::bytea[]) WITH ORDINALITY AS added (payload, number) \
    ), logged AS ( \
        INSERT INTO events (task, version, state, artifact_append, artifact_from, artifact_to, \
            artifact_id, payload) \
        SELECT row, $2 + number, added.state, append, start, stop, artifact, payload \
        FROM moved, unnest($11::smallint[], $12::boolean[], $13::integer[], $14::integer[], \
            $15::text[], $16::bytea[]) WITH ORDINALITY \
            AS added (state, append, start, stop, artifact, payload, number) \
    ) \
    SELECT version, state, EXISTS (SELECT FROM moved) FROM tasks WHERE id = $1";

const WAS_EVENT: &str = "SELECT EXISTS (SELECT FROM events WHERE version = $2 AND payload = $3 \
    AND task = (SELECT row FROM tasks WHERE id = $1))";

const WAS_MESSAGE: &str = "SELECT EXISTS (SELECT FROM messages WHERE payload = $2 \
    AND task = (SELECT row FROM tasks WHERE id = $1))";

pub(super) const READ: &str = "SELECT version, state, payload FROM events \
    WHERE task = (SELECT row FROM tasks WHERE id = $1) AND version > $2 ORDER BY version LIMIT $3";

const READ_STATUSES: &str = "\
    SELECT version, state, payload FROM events \
    WHERE task = (SELECT row FROM tasks WHERE id = $1) AND state IS NOT NULL ORDER BY version";

/// What changes bring, column by column.
#[derive(Default)]
struct Columns<'a> {
    messages: Vec<&'a [u8]>,
    artifacts: i32,
    /// State, time and JSON of the last status.
    state: Option<i16>,
    millis: Option<i64>,
    status: Option<&'a [u8]>,
    ends: bool,
    // One entry per event.
    states: Vec<Option<i16>>,
    appends: Vec<Option<bool>>,
    starts: Vec<Option<i32>>,
    stops: Vec<Option<i32>>,
    ids: Vec<Option<Text<'a>>>,
    payloads: Vec<&'a [u8]>,
}

impl<'a> Columns<'a> {
    fn of(changes: &'a [Change]) -> Self {
        let mut columns = Self::default();
        for change in changes {
            match change {
                Change::Message { message } => columns.messages.push(message),
                Change::Status {
                    state,
                    event,
                    status,
                    millis,
                } => {
                    let number = i16::from(state.number());
                    columns.state = Some(number);
                    columns.millis = Some(*millis);
                    columns.status = Some(&event[status.clone()]);
                    columns.ends = state.is_terminal();
                    columns.push_event(Some(number), None, event);
                }
                Change::Artifact {
                    artifact_id,
                    append,
                    event,
                    artifact,
                } => {
                    columns.artifacts += 1;
                    columns.push_event(None, Some((*append, artifact_id, artifact)), event);
                }
            }
        }
        columns
    }

    fn push_event(
        &mut self,
        state: Option<i16>,
        artifact: Option<(bool, &'a str, &Range<usize>)>,
        event: &'a [u8],
    ) {
        // PostgreSQL refuses a payload of more than 1 GB.
        let place = |at: usize| i32::try_from(at).unwrap_or(i32::MAX);
        self.states.push(state);
        self.appends.push(artifact.map(|(append, _, _)| append));
        self.starts
            .push(artifact.map(|(_, _, part)| place(part.start)));
        self.stops
            .push(artifact.map(|(_, _, part)| place(part.end)));
        self.ids.push(artifact.map(|(_, id, _)| Text::of(id)));
        self.payloads.push(event);
    }
}

/// The task's new version. The inner error changed nothing.
pub(super) async fn append(link: &Link, append: &Append) -> Result<Result<u64, StoreError>, Error> {
    let new = Columns::of(&append.changes);
    let next = append.version + new.payloads.len() as u64;
    let answer = link
        .query(
            APPEND,
            &[
                &Text::of(&append.task),
                &int(append.version),
                &int(append.lease_epoch),
                &int(next),
                &new.messages,
                &new.artifacts,
                &new.state,
                &new.millis,
                &new.status,
                &new.ends,
                &new.states,
                &new.appends,
                &new.starts,
                &new.stops,
                &new.ids,
                &new.payloads,
            ],
        )
        .await?;
    let Some(before) = answer.first() else {
        return Ok(Err(StoreError::NotFound));
    };
    if before.try_get(2)? {
        return Ok(Ok(next));
    }
    let version = version_of(before, 0)?;
    Ok(match state_of(before.try_get(1)?) {
        Ok(state) => Err(StoreError::Stale { version, state }),
        Err(damaged) => Err(damaged),
    })
}

/// The version that these changes made, if they are there.
pub(super) async fn was_appended(link: &Link, append: &Append) -> Result<Option<u64>, Error> {
    let events = append.changes.iter().filter(|change| change.is_event());
    let version = append.version + events.clone().count() as u64;
    let task = Text::of(&append.task);
    let row = if let Some(last) = events.last() {
        let values: [&(dyn ToSql + Sync); 3] = [&task, &int(version), &&**last.json()];
        link.query_one(WAS_EVENT, &values).await?
    } else if let Some(last) = append.changes.last() {
        link.query_one(WAS_MESSAGE, &[&task, &&**last.json()])
            .await?
    } else {
        return Ok(None);
    };
    Ok(row.try_get::<_, bool>(0)?.then_some(version))
}

/// Events above `after`, oldest first.
pub(super) async fn read(
    link: &Link,
    task: &str,
    after: u64,
    limit: usize,
) -> Result<Vec<StoredEvent>, StoreError> {
    let rows = link
        .query(READ, &[&Text::of(task), &int(after), &int(limit as u64)])
        .await?;
    rows.iter().map(read_row).collect()
}

/// Events that have a state, oldest first.
pub(super) async fn read_statuses(link: &Link, task: &str) -> Result<Vec<StoredEvent>, StoreError> {
    let rows = link.query(READ_STATUSES, &[&Text::of(task)]).await?;
    rows.iter().map(read_row).collect()
}

fn read_row(row: &Row) -> Result<StoredEvent, StoreError> {
    let state: Option<i16> = row.try_get(1)?;
    Ok(StoredEvent {
        version: version_of(row, 0)?,
        payload: blob(row, 2)?,
        state: state.map(state_of).transpose()?,
    })
}
