//! Rows of events and messages: the one way to change a task, and the log as read.

use bytes::Bytes;
use nuncio_wire::TaskState;
use rusqlite::{Connection, OptionalExtension, Rows, Statement, params};

use super::recent::RecentWriter;
use super::tasks::{blob, state_of};
use crate::{Append, Change, Segment, StoreError, StoredEvent};

/// Inserts message number ?2 of task ?1.
pub(super) const INSERT_MESSAGE: &str =
    "INSERT INTO messages (task, number, payload) VALUES (?1, ?2, ?3)";

/// What changing a task does to the rows.
pub(super) struct AppendRows<'c> {
    select: Statement<'c>,
    insert_message: Statement<'c>,
    insert_status: Statement<'c>,
    insert_artifact: Statement<'c>,
    artifact_start: Statement<'c>,
    replace_artifact: Statement<'c>,
    /// Three ways to write the task's row, each touching no index that it need not.
    advance: Statement<'c>,
    set_status: Statement<'c>,
    finish: Statement<'c>,
}

/// A task's row as the writer needs it.
pub(super) struct Position {
    pub(super) row: i64,
    pub(super) version: u64,
    pub(super) lease_epoch: u64,
    pub(super) state: TaskState,
    pub(super) messages: u32,
    pub(super) artifacts: u32,
}

impl<'c> AppendRows<'c> {
    pub(super) fn new(connection: &'c Connection) -> rusqlite::Result<Self> {
        // A final state, a newer version or another holder keep the row as it is.
        let unmoved = "WHERE row = ?1 AND version = ?2 AND lease_epoch = ?3 \
                       AND open_send IS NOT NULL";
        let set = "UPDATE tasks SET version = ?4, messages = ?5, artifacts = ?6";
        Ok(Self {
            select: connection.prepare(
                "SELECT row, version, lease_epoch, state, messages, artifacts FROM tasks \
                 WHERE id = ?1",
            )?,
            insert_message: connection.prepare(INSERT_MESSAGE)?,
            insert_status: connection.prepare(
                "INSERT INTO events (task, version, state, payload) VALUES (?1, ?2, ?3, ?4)",
            )?,
            insert_artifact: connection.prepare(
                "INSERT INTO events (task, version, artifact_id, artifact_start, artifact_append, \
                 artifact_from, artifact_to, artifact_replaced, payload) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, ?8)",
            )?,
            artifact_start: connection.prepare(
                "SELECT artifact_start FROM events WHERE task = ?1 AND artifact_id = ?2 \
                 ORDER BY version DESC LIMIT 1",
            )?,
            replace_artifact: connection.prepare(
                "UPDATE events SET artifact_replaced = 1 \
                 WHERE task = ?1 AND artifact_id = ?2 AND artifact_replaced = 0",
            )?,
            advance: connection.prepare(&format!("{set} {unmoved}"))?,
            set_status: connection.prepare(&format!(
                "{set}, state = ?7, status_millis = ?8, status = ?9 {unmoved}"
            ))?,
            finish: connection.prepare(&format!(
                "{set}, state = ?7, status_millis = ?8, status = ?9, open_send = NULL {unmoved}"
            ))?,
        })
    }

    /// The outer error fails the whole batch, the inner one this job alone.
    pub(super) fn run(
        &mut self,
        append: Append,
        recent: &mut RecentWriter,
    ) -> rusqlite::Result<Result<u64, StoreError>> {
        let result = self.change(&append, recent);
        let changes = if matches!(result, Ok(Ok(_))) {
            append.changes
        } else {
            Vec::new()
        };
        recent.changed(append.task, changes);
        result
    }

    fn change(
        &mut self,
        append: &Append,
        recent: &RecentWriter,
    ) -> rusqlite::Result<Result<u64, StoreError>> {
        let mut now = match recent.begin_change(&append.task) {
            Some(position) => position,
            None => match self.find(&append.task)? {
                Some(Ok(position)) => position,
                Some(Err(damaged)) => return Ok(Err(damaged)),
                None => return Ok(Err(StoreError::NotFound)),
            },
        };
        if now.version != append.version
            || now.lease_epoch != append.lease_epoch
            || now.state.is_terminal()
        {
            return Ok(Err(StoreError::Stale {
                version: now.version,
                state: now.state,
            }));
        }
        let mut status = None;
        for change in &append.changes {
            now.version += u64::from(change.is_event());
            if let Some(reached) = self.insert(&mut now, change)? {
                status = Some(reached);
            }
        }
        self.write_row(&now, append.version, status)?;
        Ok(Ok(now.version))
    }

    fn find(&mut self, id: &str) -> rusqlite::Result<Option<Result<Position, StoreError>>> {
        let read = |row: &rusqlite::Row<'_>| {
            let state = state_of(row.get(3)?);
            Ok(state.map(|state| Position {
                row: row.get_unwrap(0),
                version: row.get_unwrap(1),
                lease_epoch: row.get_unwrap(2),
                state,
                messages: row.get_unwrap(4),
                artifacts: row.get_unwrap(5),
            }))
        };
        self.select.query_row([id], read).optional()
    }

    /// Inserts one change; time and JSON of a status are returned for the task's row.
    fn insert<'a>(
        &mut self,
        now: &mut Position,
        change: &'a Change,
    ) -> rusqlite::Result<Option<(i64, &'a [u8])>> {
        match change {
            Change::Status {
                state,
                event,
                status,
                millis,
            } => {
                let bind = params![now.row, now.version, state.number(), &**event];
                self.insert_status.execute(bind)?;
                now.state = *state;
                return Ok(Some((*millis, &event[status.clone()])));
            }
            Change::Artifact {
                artifact_id,
                append,
                event,
                artifact,
            } => {
                let start = self.start_of(now, artifact_id, *append)?;
                now.artifacts += 1;
                self.insert_artifact.execute(params![
                    now.row,
                    now.version,
                    &**artifact_id,
                    start,
                    append,
                    artifact.start,
                    artifact.end,
                    &**event,
                ])?;
            }
            Change::Message { message } => {
                now.messages += 1;
                self.insert_message
                    .execute(params![now.row, now.messages, &**message])?;
            }
        }
        Ok(None)
    }

    /// The version that started this artifact, after replacing what was there if the coming event
    /// does not append.
    fn start_of(&mut self, now: &Position, artifact: &str, append: bool) -> rusqlite::Result<u64> {
        if now.artifacts == 0 {
            return Ok(now.version);
        }
        let bind = params![now.row, artifact];
        let start = self
            .artifact_start
            .query_row(bind, |row| row.get(0))
            .optional()?;
        if start.is_some() && !append {
            self.replace_artifact.execute(bind)?;
        }
        Ok(start.unwrap_or(now.version))
    }

    fn write_row(
        &mut self,
        now: &Position,
        version: u64,
        status: Option<(i64, &[u8])>,
    ) -> rusqlite::Result<()> {
        let Position {
            row,
            version: next,
            lease_epoch,
            state,
            messages,
            artifacts,
        } = now;
        let changed = match status {
            None => {
                let bind = params![row, version, lease_epoch, next, messages, artifacts];
                self.advance.execute(bind)?
            }
            Some((millis, status)) => {
                let update = if state.is_terminal() {
                    &mut self.finish
                } else {
                    &mut self.set_status
                };
                update.execute(params![
                    row,
                    version,
                    lease_epoch,
                    next,
                    messages,
                    artifacts,
                    state.number(),
                    millis,
                    status,
                ])?
            }
        };
        // Nobody else writes, so the row is as it was read.
        if changed == 1 {
            Ok(())
        } else {
            Err(rusqlite::Error::StatementChangedRows(changed))
        }
    }
}

/// Events above `after`, oldest first.
pub(super) fn read(
    db: &Connection,
    task: &str,
    after: u64,
    limit: usize,
) -> Result<Vec<StoredEvent>, StoreError> {
    let mut select = db.prepare_cached(
        "SELECT version, state, payload FROM events \
         WHERE task = (SELECT row FROM tasks WHERE id = ?1) AND version > ?2 \
         ORDER BY version LIMIT ?3",
    )?;
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    read_rows(select.query(params![task, after, limit])?)
}

/// Events that have a state, oldest first.
pub(super) fn read_statuses(db: &Connection, task: &str) -> Result<Vec<StoredEvent>, StoreError> {
    let mut select = db.prepare_cached(
        "SELECT version, state, payload FROM events \
         WHERE task = (SELECT row FROM tasks WHERE id = ?1) AND state IS NOT NULL \
         ORDER BY version",
    )?;
    read_rows(select.query([task])?)
}

fn read_rows(mut rows: Rows<'_>) -> Result<Vec<StoredEvent>, StoreError> {
    let mut events = Vec::new();
    while let Some(row) = rows.next()? {
        let state: Option<u8> = row.get(1)?;
        events.push(StoredEvent {
            version: row.get(0)?,
            payload: blob(row, 2)?,
            state: state.map(state_of).transpose()?,
        });
    }
    Ok(events)
}

/// Messages of a task above this number, oldest first.
pub(super) fn read_messages(
    db: &Connection,
    task: i64,
    above: u32,
) -> Result<Vec<Bytes>, StoreError> {
    let mut select = db.prepare_cached(
        "SELECT payload FROM messages WHERE task = ?1 AND number > ?2 ORDER BY number",
    )?;
    let mut rows = select.query(params![task, above])?;
    let mut messages = Vec::new();
    while let Some(row) = rows.next()? {
        messages.push(blob(row, 0)?);
    }
    Ok(messages)
}

/// Segments of artifacts that were not replaced, artifacts in the order they were started.
pub(super) fn read_segments(db: &Connection, task: i64) -> Result<Vec<Segment>, StoreError> {
    let mut select = db.prepare_cached(
        "SELECT artifact_start, artifact_append, artifact_from, artifact_to, payload FROM events \
         WHERE task = ?1 AND artifact_replaced = 0 ORDER BY version",
    )?;
    let mut rows = select.query([task])?;
    let mut segments: Vec<(u64, Segment)> = Vec::new();
    while let Some(row) = rows.next()? {
        let (from, to): (usize, usize) = (row.get(2)?, row.get(3)?);
        let payload = row
            .get_ref(4)?
            .as_blob()
            .ok()
            .and_then(|payload| payload.get(from..to));
        let artifact = payload.map(Bytes::copy_from_slice).ok_or_else(|| {
            StoreError::Damaged(format!(
                "an artifact at {from}..{to} lies outside its event"
            ))
        })?;
        segments.push((
            row.get(0)?,
            Segment {
                append: row.get(1)?,
                artifact,
            },
        ));
    }
    segments.sort_by_key(|(start, _)| *start);
    Ok(segments.into_iter().map(|(_, segment)| segment).collect())
}
