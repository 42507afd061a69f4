//! Rows of sessions.

use tokio_postgres::Error;

use super::link::Link;
use super::tasks::string;
use super::text::Text;
use crate::clock::now_millis;
use crate::{Conversation, KeptSession, StoreError};

pub(super) const KEEP: &str = "\
    INSERT INTO sessions (context_hash, name, kept_millis) VALUES ($1, $2, $3) \
    ON CONFLICT (context_hash) DO UPDATE SET name = excluded.name, kept_millis = excluded.kept_millis";

const FORGET: &str = "DELETE FROM sessions WHERE context_hash = $1";

const READ: &str = "SELECT name, kept_millis FROM sessions WHERE context_hash = $1";

/// Keeps the session of a conversation, or forgets it. Doing so twice changes nothing more.
pub(super) async fn keep(link: &Link, of: &Conversation, name: Option<&str>) -> Result<(), Error> {
    let hash = &of.hash()[..];
    match name {
        Some(name) => {
            link.query(KEEP, &[&hash, &Text::of(name), &now_millis()])
                .await
        }
        None => link.query(FORGET, &[&hash]).await,
    }
    .map(drop)
}

/// The session of a conversation, if one is kept.
pub(super) async fn read(
    link: &Link,
    of: &Conversation,
) -> Result<Option<KeptSession>, StoreError> {
    let rows = link.query(READ, &[&&of.hash()[..]]).await?;
    rows.first()
        .map(|row| {
            Ok(KeptSession {
                name: string(row, 0)?,
                kept_millis: row.try_get(1)?,
            })
        })
        .transpose()
}
