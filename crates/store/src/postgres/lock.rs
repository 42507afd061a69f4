//! The one session that writes: it holds the lock that keeps other gateways away.
//!
//! The lock ends with its session and not before the session's last transaction has. Whoever has
//! it knows that nothing is under way any more.

use std::time::Duration;
use tokio::time::{Instant, sleep};
use tokio_postgres::Error;

use super::address::Address;
use super::error::told;
use super::link::Link;
use super::schema::refuse;
use super::{events, push, retention, sessions, tasks};
use crate::StoreError;

/// Advisory locks are named by two numbers: "nunc" for ours, and which.
const GATEWAY_LOCK: &str = "1853189731, 1";
pub(super) const MIGRATION_LOCK: &str = "1853189731, 2";

/// How long a gateway that was killed may still hold the lock: its session ends as soon as the
/// server notices.
const LOCK_PATIENCE: Duration = Duration::from_secs(3);
/// How long a server may be starting up or recovering.
const START_PATIENCE: Duration = Duration::from_secs(10);
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(50);

/// A session of the server, told apart from a later one with the same number.
#[derive(Clone)]
pub(super) struct Session {
    pid: i32,
    began: String,
}

/// The link that writes, with the lock.
pub(super) struct Held {
    pub(super) link: Link,
    pub(super) session: Session,
}

impl Held {
    /// Connects and takes the lock at the gateway's start.
    pub(super) async fn open(address: &Address) -> Result<Self, StoreError> {
        let link = connect_patiently(address).await?;
        let refused = |error| refuse(address, &error);
        let started = Instant::now();
        while !try_lock(&link).await.map_err(refused)? {
            if started.elapsed() > LOCK_PATIENCE {
                let holder = holder(&link).await.map_err(refused)?;
                return Err(StoreError::Open(format!(
                    "the database {} is in use by another nuncio{holder}; stop that one, or give \
                     this one another database in [store] url",
                    address.shown
                )));
            }
            sleep(PAUSE).await;
        }
        let session = session(&link).await.map_err(refused)?;
        Ok(Self { link, session })
    }

    /// Connects and takes the lock again after the connection broke. Ends the session that was
    /// ours if the server has not noticed.
    pub(super) async fn open_again(address: &Address, before: &Session) -> Result<Self, String> {
        let told = |error: Error| told(&error);
        let link = Link::open(address).await.map_err(told)?;
        if !try_lock(&link).await.map_err(told)? {
            let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                WHERE pid = $1 AND backend_start::text = $2";
            let values: [&(dyn tokio_postgres::types::ToSql + Sync); 2] =
                [&before.pid, &before.began];
            link.query(end, &values).await.map_err(told)?;
            let holder = holder(&link).await.map_err(told)?;
            return Err(format!("another session has the lock of the store{holder}"));
        }
        let session = session(&link).await.map_err(told)?;
        let held = Self { link, session };
        held.prepare().await.map_err(told)?;
        Ok(held)
    }

    /// Prepares what the writer needs, so that no job waits for it.
    pub(super) async fn prepare(&self) -> Result<(), Error> {
        for sql in [
            tasks::CREATE,
            tasks::CREATE_WITH_KEY,
            events::APPEND,
            retention::RETIRE,
            retention::DISCARD,
            push::PUT,
            push::DELETE,
            push::ADVANCE,
            sessions::KEEP,
        ] {
            self.link.prepare(sql).await?;
        }
        Ok(())
    }
}

/// Waits for a server that is starting up.
async fn connect_patiently(address: &Address) -> Result<Link, StoreError> {
    let started = Instant::now();
    loop {
        match Link::open(address).await {
            Ok(link) => return Ok(link),
            Err(error) => {
                let starting =
                    error.code() == Some(&tokio_postgres::error::SqlState::CANNOT_CONNECT_NOW);
                if !starting || started.elapsed() > START_PATIENCE {
                    return Err(refuse(address, &error));
                }
            }
        }
        sleep(PAUSE).await;
    }
}

async fn try_lock(link: &Link) -> Result<bool, Error> {
    let lock = format!("SELECT pg_try_advisory_lock({GATEWAY_LOCK})");
    link.query_one(&lock, &[]).await?.try_get(0)
}

async fn session(link: &Link) -> Result<Session, Error> {
    let own = "SELECT pid, backend_start::text FROM pg_stat_activity WHERE pid = pg_backend_pid()";
    let row = link.query_one(own, &[]).await?;
    Ok(Session {
        pid: row.try_get(0)?,
        began: row.try_get(1)?,
    })
}

/// Who has the lock, as far as this user may know.
async fn holder(link: &Link) -> Result<String, Error> {
    let find = "SELECT pid, coalesce(host(client_addr), 'a local socket') FROM pg_locks \
        JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory' AND granted \
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
        AND (classid::bigint, objid::bigint, objsubid) = (1853189731, 1, 2)";
    let rows = link.query(find, &[]).await?;
    let Some(row) = rows.first() else {
        return Ok(String::new());
    };
    let (pid, from): (i32, String) = (row.try_get(0)?, row.try_get(1)?);
    Ok(format!(" (server process {pid}, from {from})"))
}
