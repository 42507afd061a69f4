//! Rows of sessions.

use rusqlite::{Connection, OptionalExtension, params};

use super::tasks::text;
use crate::clock::now_millis;
use crate::{Conversation, KeptSession, StoreError};

/// Keeps the session of a conversation, or forgets it.
pub(super) fn keep(db: &Connection, of: &Conversation, name: Option<&str>) -> rusqlite::Result<()> {
    let (agent, owner, context) = (&*of.agent, &*of.owner, &*of.context_id);
    match name {
        Some(name) => db
            .prepare_cached(
                "INSERT INTO sessions (agent, owner, context_id, name, kept_millis) \
                 VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (agent, owner, context_id) \
                 DO UPDATE SET name = excluded.name, kept_millis = excluded.kept_millis",
            )?
            .execute(params![agent, owner, context, name, now_millis()]),
        None => db
            .prepare_cached(
                "DELETE FROM sessions WHERE agent = ?1 AND owner = ?2 AND context_id = ?3",
            )?
            .execute([agent, owner, context]),
    }
    .map(drop)
}

/// The session of a conversation, if one is kept.
pub(super) fn read(db: &Connection, of: &Conversation) -> Result<Option<KeptSession>, StoreError> {
    let found = db
        .prepare_cached(
            "SELECT name, kept_millis FROM sessions \
             WHERE agent = ?1 AND owner = ?2 AND context_id = ?3",
        )?
        .query_row([&*of.agent, &*of.owner, &*of.context_id], |row| {
            Ok((text(row, 0).map(str::to_owned), row.get(1)?))
        })
        .optional()?;
    found
        .map(|(name, kept_millis)| {
            Ok(KeptSession {
                name: name?,
                kept_millis,
            })
        })
        .transpose()
}
