//! Recognises the repeat of a send (rules at [`Repeat`](crate::Repeat)).

use rusqlite::{Connection, OptionalExtension, Statement, params};

use crate::clock::now_millis;
use crate::{NewTask, StoreError};

/// The table of idempotency keys, for the writer.
pub(super) struct KeyRows<'c> {
    select: Statement<'c>,
    insert: Statement<'c>,
}

impl<'c> KeyRows<'c> {
    pub(super) fn new(connection: &'c Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            select: connection.prepare(
                "SELECT task_id, payload_hash FROM idempotency \
                 WHERE agent = ?1 AND owner = ?2 AND key = ?3 AND expires_millis > ?4",
            )?,
            // One that expired is written over.
            insert: connection.prepare(
                "INSERT OR REPLACE INTO idempotency \
                 (agent, owner, key, task_id, payload_hash, expires_millis) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?,
        })
    }

    /// The task that this send's key made, if the key still counts.
    pub(super) fn first_task(
        &mut self,
        new: &NewTask,
    ) -> rusqlite::Result<Result<Option<String>, StoreError>> {
        let bind = params![&*new.agent, &*new.owner, new.repeat.key, now_millis()];
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let used: Option<(String, [u8; 32])> = self.select.query_row(bind, read).optional()?;
        Ok(match used {
            None => Ok(None),
            Some((_, payload)) if payload != new.repeat.payload_hash => {
                Err(StoreError::RepeatConflict)
            }
            Some((first, _)) => Ok(Some(first)),
        })
    }

    pub(super) fn insert(&mut self, new: &NewTask) -> rusqlite::Result<()> {
        self.insert.execute(params![
            &*new.agent,
            &*new.owner,
            new.repeat.key,
            &*new.id,
            new.repeat.payload_hash,
            new.repeat.key_expires_millis,
        ])?;
        Ok(())
    }
}
