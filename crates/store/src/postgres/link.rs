//! One connection: how it is made, its prepared statements, and many statements in one round trip.
//!
//! Owns nothing about tasks. The one connection that writes is kept by [`super::writer`], those
//! that read by [`super::readers`].

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::future::poll_fn;
use std::task::Poll;
use tokio::task::JoinHandle;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, NoTls, Row, Statement};

use super::address::Address;

/// What every session starts with. Limits are bounds of a single statement or pause, so that no
/// caller waits for ever; a database may be set up to acknowledge before it syncs, this one is not.
const SET_UP: &str = "SET search_path = nuncio; SET client_min_messages = warning; SET jit = off; \
    SET statement_timeout = '30s'; SET lock_timeout = '10s'; \
    SET idle_in_transaction_session_timeout = '60s'; \
    SELECT set_config('synchronous_commit', 'on', false) \
    WHERE current_setting('synchronous_commit') = 'off'";

/// A connection to the database.
pub(super) struct Link {
    client: Client,
    driver: JoinHandle<()>,
    statements: Mutex<HashMap<String, Statement>>,
}

impl Link {
    pub(super) async fn open(address: &Address) -> Result<Self, Error> {
        let (client, driver) = match &address.tls {
            None => {
                let (client, connection) = address.config.connect(NoTls).await?;
                (client, tokio::spawn(drive(connection)))
            }
            Some(tls) => {
                let (client, connection) = address.config.connect(tls.clone()).await?;
                (client, tokio::spawn(drive(connection)))
            }
        };
        let link = Self {
            client,
            driver,
            statements: Mutex::default(),
        };
        link.client.batch_execute(SET_UP).await?;
        Ok(link)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Runs statements without parameters and without answers.
    pub(super) async fn batch(&self, statements: &str) -> Result<(), Error> {
        self.client.batch_execute(statements).await
    }

    /// Prepares a statement, if this connection does not know it yet.
    pub(super) async fn prepare(&self, sql: &str) -> Result<Statement, Error> {
        if let Some(known) = self.statements.lock().get(sql) {
            return Ok(known.clone());
        }
        let statement = self.client.prepare(sql).await?;
        self.statements
            .lock()
            .insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    pub(super) async fn query(
        &self,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Error> {
        let statement = self.prepare(sql).await?;
        self.client.query(&statement, values).await
    }

    pub(super) async fn query_one(
        &self,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Row, Error> {
        let statement = self.prepare(sql).await?;
        self.client.query_one(&statement, values).await
    }
}

/// Carries a connection's bytes until it ends.
async fn drive(connection: impl Future<Output = Result<(), Error>>) {
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection to PostgreSQL ended");
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // Closes the socket, also of a server that says nothing any more.
        self.driver.abort();
    }
}

/// Runs steps on one connection without waiting for one before the next is sent: one round trip.
/// A step sends when it is first polled, and answers come in the order of the steps.
pub(super) async fn in_one_go<T>(mut steps: Vec<BoxFuture<'_, T>>) -> Vec<T> {
    let mut answers: Vec<T> = Vec::with_capacity(steps.len());
    let mut early: Vec<Option<T>> = Vec::new();
    poll_fn(|context| {
        if early.len() < steps.len() {
            for step in &mut steps {
                early.push(match step.as_mut().poll(context) {
                    Poll::Ready(answer) => Some(answer),
                    Poll::Pending => None,
                });
            }
        }
        while answers.len() < steps.len() {
            let next = answers.len();
            if let Some(answer) = early[next].take() {
                answers.push(answer);
                continue;
            }
            match steps[next].as_mut().poll(context) {
                Poll::Ready(answer) => answers.push(answer),
                Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Ready(())
    })
    .await;
    answers
}
