//! Rows of tasks: made by the writer, read by the readers.

use bytes::Bytes;
use nuncio_wire::TaskState;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OptionalExtension, Row, Statement, params};

use super::recent::RecentWriter;
use super::repeats::KeyRows;
use super::{events, push};
use crate::{Created, Include, NewTask, StoreError, TaskRecord, Visibility};

/// Columns that [`Head::of`] reads, in its order.
pub(super) const COLUMNS: &str = "row, id, agent, owner, context_id, dialect, alias, state, \
    version, lease_epoch, status_millis, status, metadata, messages, artifacts";

/// What making a task does to the rows.
pub(super) struct CreateRows<'c> {
    connection: &'c Connection,
    keys: KeyRows<'c>,
    running: Statement<'c>,
    aliased: Statement<'c>,
    insert: Statement<'c>,
    insert_message: Statement<'c>,
}

impl<'c> CreateRows<'c> {
    pub(super) fn new(connection: &'c Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            connection,
            keys: KeyRows::new(connection)?,
            // 1 and 2 are SUBMITTED and WORKING.
            running: connection.prepare(
                "SELECT id FROM tasks WHERE open_send = ?1 AND state IN (1, 2) ORDER BY row LIMIT 1",
            )?,
            aliased: connection
                .prepare("SELECT 1 FROM tasks WHERE alias = ?1 AND agent = ?2 AND owner = ?3")?,
            insert: connection.prepare(
                "INSERT INTO tasks (id, agent, owner, context_id, dialect, alias, state, version, \
                 lease_epoch, status_millis, open_send, messages, artifacts, status, metadata) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 1, 0, ?8, ?9, 1, 0, ?10, ?11)",
            )?,
            insert_message: connection.prepare(events::INSERT_MESSAGE)?,
        })
    }

    /// The outer error fails the whole batch, the inner one this job alone.
    pub(super) fn run(
        &mut self,
        new: Box<NewTask>,
        recent: &mut RecentWriter,
    ) -> rusqlite::Result<Result<Created, StoreError>> {
        let open_send = new.open_send();
        if new.repeat.key.is_some() {
            match self.keys.first_task(&new)? {
                Ok(Some(first)) => return Ok(Ok(Created::Repeated(first))),
                Ok(None) => {}
                Err(conflict) => return Ok(Err(conflict)),
            }
        }
        if new.alias_is_unique
            && self
                .aliased
                .exists(params![new.alias, &*new.agent, &*new.owner])?
        {
            return Ok(Err(StoreError::AliasTaken));
        }
        if new.repeat.key.is_none()
            && let Some(first) = self
                .running
                .query_row([&open_send], |row| row.get(0))
                .optional()?
        {
            return Ok(Ok(Created::Repeated(first)));
        }
        if new.push_config.is_some()
            && let Err(full) = push::check_first(self.connection, &new)?
        {
            return Ok(Err(full));
        }
        let row = match self.insert_row(&new, &open_send) {
            Ok(row) => row,
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
                return Ok(Err(StoreError::Damaged(format!(
                    "task {}: {error}",
                    new.id
                ))));
            }
            Err(error) => return Err(error),
        };
        self.insert_message
            .execute(params![row, 1, &*new.message])?;
        if new.repeat.key.is_some() {
            self.keys.insert(&new)?;
        }
        if let Some(config) = &new.push_config {
            push::insert_first(self.connection, row, &new, config)?;
        }
        recent.created(new, row);
        Ok(Ok(Created::New))
    }

    fn insert_row(&mut self, new: &NewTask, open_send: &[u8; 16]) -> rusqlite::Result<i64> {
        self.insert.insert(params![
            &*new.id,
            &*new.agent,
            &*new.owner,
            &*new.context_id,
            new.dialect.as_str(),
            new.alias,
            new.state.number(),
            new.status_millis,
            (!new.state.is_terminal()).then_some(open_send),
            &*new.status,
            new.metadata.as_deref(),
        ])
    }
}

/// A task's row, and how much belongs to it in other tables.
pub(super) struct Head {
    row: i64,
    messages: u32,
    artifacts: u32,
    record: TaskRecord,
}

impl Head {
    /// Reads [`COLUMNS`].
    pub(super) fn of(row: &Row<'_>) -> Result<Self, StoreError> {
        let state: u8 = row.get(7)?;
        let dialect = text(row, 5)?;
        Ok(Self {
            row: row.get(0)?,
            messages: row.get(13)?,
            artifacts: row.get(14)?,
            record: TaskRecord {
                id: text(row, 1)?.into(),
                agent: text(row, 2)?.into(),
                owner: text(row, 3)?.into(),
                context_id: text(row, 4)?.into(),
                dialect: dialect
                    .parse()
                    .map_err(|_| StoreError::Damaged(format!("unknown dialect {dialect}")))?,
                alias: row.get(6)?,
                state: state_of(state)?,
                version: row.get(8)?,
                lease_epoch: row.get(9)?,
                status_millis: row.get(10)?,
                status: blob(row, 11)?,
                metadata: optional_blob(row, 12)?,
                history: Vec::new(),
                artifacts: None,
            },
        })
    }

    /// The task with what else was asked for.
    pub(super) fn complete(
        self,
        db: &Connection,
        include: Include,
    ) -> Result<TaskRecord, StoreError> {
        let mut record = self.record;
        let wanted = include
            .history
            .map_or(self.messages, |most| most.min(self.messages));
        if wanted > 0 {
            record.history = events::read_messages(db, self.row, self.messages - wanted)?;
        }
        if include.artifacts {
            let some = self.artifacts > 0;
            let segments = some
                .then(|| events::read_segments(db, self.row))
                .transpose()?;
            record.artifacts = Some(segments.unwrap_or_default());
        }
        Ok(record)
    }
}

pub(super) fn read_one(
    db: &Connection,
    id: &str,
    visibility: &Visibility,
    include: Include,
) -> Result<Option<TaskRecord>, StoreError> {
    // One snapshot for all tables.
    let snapshot = db.unchecked_transaction()?;
    let mut select = db.prepare_cached(&format!("SELECT {COLUMNS} FROM tasks WHERE id = ?1"))?;
    let mut rows = select.query([id])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let head = Head::of(row)?;
    drop(rows);
    if !visibility.covers(&head.record.agent, &head.record.owner) {
        return Ok(None);
    }
    let record = head.complete(db, include)?;
    snapshot.commit()?;
    Ok(Some(record))
}

pub(super) fn read_unfinished(db: &Connection) -> Result<Vec<TaskRecord>, StoreError> {
    let snapshot = db.unchecked_transaction()?;
    let mut select = db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM tasks WHERE open_send IS NOT NULL ORDER BY row"
    ))?;
    let mut rows = select.query(())?;
    let mut tasks = Vec::new();
    while let Some(row) = rows.next()? {
        let include = Include {
            history: None,
            artifacts: false,
        };
        tasks.push(Head::of(row)?.complete(db, include)?);
    }
    drop(rows);
    snapshot.commit()?;
    Ok(tasks)
}

pub(super) fn by_alias(
    db: &Connection,
    alias: &str,
    visibility: &Visibility,
) -> Result<Option<String>, StoreError> {
    let mut select = db.prepare_cached(
        "SELECT id FROM tasks WHERE alias = ?1 AND (?2 IS NULL OR agent = ?2) \
         AND (?3 IS NULL OR owner = ?3) ORDER BY row DESC LIMIT 1",
    )?;
    let bind = params![
        alias,
        visibility.agent.as_deref(),
        visibility.owner.as_deref()
    ];
    Ok(select.query_row(bind, |row| row.get(0)).optional()?)
}

/// The state with this number.
pub(super) fn state_of(number: u8) -> Result<TaskState, StoreError> {
    TaskState::from_number(number.into())
        .ok_or_else(|| StoreError::Damaged(format!("unknown state {number}")))
}

pub(super) fn text<'r>(row: &'r Row<'_>, column: usize) -> Result<&'r str, StoreError> {
    row.get_ref(column)?
        .as_str()
        .map_err(|error| StoreError::Damaged(error.to_string()))
}

/// The bytes of a column, copied once.
pub(super) fn blob(row: &Row<'_>, column: usize) -> Result<Bytes, StoreError> {
    let bytes = row.get_ref(column)?.as_blob();
    bytes
        .map(Bytes::copy_from_slice)
        .map_err(|error| StoreError::Damaged(error.to_string()))
}

pub(super) fn optional_blob(row: &Row<'_>, column: usize) -> Result<Option<Bytes>, StoreError> {
    match row.get_ref(column)? {
        ValueRef::Null => Ok(None),
        _ => blob(row, column).map(Some),
    }
}
